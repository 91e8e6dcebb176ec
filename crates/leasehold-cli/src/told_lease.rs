//! A lease as scripts are told of it: lines for the shell, or one JSON object.

use crate::{failure::Failure, held_lease::HeldLease, output};
use leasehold::{FencingToken, Owner, Resource, clock::Clock};
use std::{fmt::Write, time::Duration};

/// What there is to tell.
#[derive(Debug)]
pub(crate) struct ToldLease {
    pub(crate) resource: Resource,
    pub(crate) owner: Owner,
    pub(crate) token: ToldToken,
    /// As time since 1970.
    pub(crate) valid_until: Duration,
}

/// What there is to tell of its fencing token.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ToldToken {
    Is(FencingToken),
    /// It has none: a share, and a plain lock.
    None,
    /// Only who acquired the lease knows.
    Unknown,
}

impl ToldLease {
    /// What there is to tell of this lease, now.
    pub(crate) fn of(guard: &HeldLease, clock: Clock) -> Self {
        Self {
            resource: guard.resource().clone(),
            owner: guard.owner().clone(),
            token: guard.token().map_or(ToldToken::None, ToldToken::Is),
            valid_until: wall_time(clock, || guard.remaining()),
        }
    }

    /// Prints it, all at once, so that a reader of the first line finds the last. Says whether anybody can read it:
    /// a lock of which nobody knows the owner is of no use.
    pub(crate) fn print(&self, json: bool) -> Result<(), Failure> {
        let mut text = if json { self.json() } else { self.lines() };
        text.push('\n');
        output::write(text.as_bytes()).map_err(|error| {
            Failure::own(format!(
                "cannot print whose lock {} is: {error}",
                self.resource.quoted()
            ))
        })
    }

    fn lines(&self) -> String {
        let mut lines = format!(
            "LEASEHOLD_RESOURCE={}\nLEASEHOLD_OWNER={}\n",
            of_names(&self.resource),
            quoted(&self.owner.to_string())
        );
        match self.token {
            ToldToken::Is(token) => {
                lines.push_str(&format!("LEASEHOLD_FENCING_TOKEN={token}\n"));
            }
            // A script may have one of another lock.
            ToldToken::None => lines.push_str("unset LEASEHOLD_FENCING_TOKEN\n"),
            ToldToken::Unknown => {}
        }
        lines.push_str(&format!(
            "LEASEHOLD_VALID_UNTIL={}",
            seconds(self.valid_until)
        ));
        // The last: who takes the lines one by one finds the others where they always are.
        if let Some(permit) = self.owner.permit() {
            lines.push_str(&format!("\nLEASEHOLD_SLOT={}", permit.slot()));
        }
        lines
    }

    fn json(&self) -> String {
        let (resource, owner) = (
            json_text(self.resource.as_str()),
            json_text(&self.owner.to_string()),
        );
        let token = match self.token {
            ToldToken::Is(token) => format!("\"fencing_token\":{token},"),
            ToldToken::None | ToldToken::Unknown => String::new(),
        };
        let until = self.valid_until.as_millis();
        let shared = match self.resource.is_shared() {
            true => "\"shared\":true,",
            false => "",
        };
        let permit = match self.owner.permit() {
            Some(permit) => format!("\"slot\":{},\"permits\":{},", permit.slot(), permit.of()),
            None => String::new(),
        };
        format!(
            "{{\"resource\":{resource},\"owner\":{owner},{shared}{permit}{token}\"valid_until_unix_ms\":{until}}}"
        )
    }
}

/// The end of a lease of which so much is left, as time since 1970.
pub(crate) fn wall_time(clock: Clock, remaining: impl FnOnce() -> Duration) -> Duration {
    // The wall clock is read first: what passes until the lease is asked makes the sum earlier, never
    // later.
    clock.wall() + remaining()
}

/// Unix seconds with three digits behind the point, as a shell is told.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{}.{:03}", time.as_secs(), time.subsec_millis())
}

/// A word of the shell that is this text, whatever is in it.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:/@+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A word of the shell that is these names, one a line. It has no line's end in it, so that a reader who takes these lines
/// one by one finds each at its place.
fn of_names(resource: &Resource) -> String {
    if !resource.is_several() {
        return quoted(resource.as_str());
    }
    let names: Vec<_> = resource.names().map(quoted).collect();
    format!("\"$(printf '%s\\n' {})\"", names.join(" "))
}

/// A string of JSON that is this text.
pub(crate) fn json_text(text: &str) -> String {
    let mut string = String::with_capacity(text.len() + 2);
    string.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => string.extend(['\\', c]),
            // Writing into a string does not fail.
            c if c.is_control() => drop(write!(string, "\\u{:04x}", u32::from(c))),
            c => string.push(c),
        }
    }
    string.push('"');
    string
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(resource: &str) -> ToldLease {
        ToldLease {
            resource: Resource::several(resource.split('\n')).expect("good names"),
            owner: Owner::from_bytes(b"aa11.db1.7.nightly run").expect("a few bytes"),
            token: ToldToken::Unknown,
            valid_until: Duration::from_millis(17_125),
        }
    }

    #[test]
    fn a_shell_can_read_any_name() {
        let lines = told("it's $(date)").lines();
        assert_eq!(
            lines,
            "LEASEHOLD_RESOURCE='it'\\''s $(date)'\nLEASEHOLD_OWNER='aa11.db1.7.nightly run'\n\
             LEASEHOLD_VALID_UNTIL=17.125"
        );
        assert!(told("a/b").lines().starts_with("LEASEHOLD_RESOURCE=a/b\n"));
        let several = told("it's\n-n\n%s").lines();
        let names = r#"LEASEHOLD_RESOURCE="$(printf '%s\n' '%s' -n 'it'\''s')""#;
        assert_eq!(several.lines().next(), Some(names));
    }

    #[test]
    fn a_permit_is_told_by_its_slot() {
        let owner = format!("{}+permit2/4.db1.7", "a7".repeat(20));
        let told = ToldLease {
            owner: Owner::from_bytes(owner.as_bytes()).expect("a few bytes"),
            token: FencingToken::new(9).map_or(ToldToken::None, ToldToken::Is),
            ..told("gpu")
        };
        let lines = told.lines();
        let behind = "\nLEASEHOLD_FENCING_TOKEN=9\nLEASEHOLD_VALID_UNTIL=17.125\nLEASEHOLD_SLOT=2";
        assert!(lines.ends_with(behind), "{lines}");
        let behind = ",\"slot\":2,\"permits\":4,\"fencing_token\":9,\"valid_until_unix_ms\":17125}";
        assert!(told.json().ends_with(behind), "{}", told.json());
    }

    #[test]
    fn a_program_can_read_any_name() {
        assert_eq!(
            told("a\"b\\\nü").json(),
            "{\"resource\":\"a\\\"b\\\\\\u000aü\",\"owner\":\"aa11.db1.7.nightly run\",\"valid_until_unix_ms\":17125}"
        );
    }
}
