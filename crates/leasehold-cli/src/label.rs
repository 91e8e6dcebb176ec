//! Who holds a lock, legibly: owners that carry machine and process.
//!
//! An owner is 40 hexadecimal digits, the host's name, and the process id with the time behind an `@`, with dots
//! between, and behind another dot what the user has to say. The digits alone tell owners apart; what follows is for
//! people, in the messages here and in `redis-cli get`. The time is that of the attempt, in Unix seconds by the holder's
//! clock: each attempt has an owner of its own, so it is since when the lock is held.

use crate::peer;
use leasehold::{Owner, clock::Clock};
use std::{fmt, time::Duration};

/// Where this process runs.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    host: String,
    pid: u32,
    text: Option<String>,
}

impl Label {
    /// The label of this process, with what the user has to say.
    pub(crate) fn of_this_process(text: Option<String>) -> Self {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy().into_owned();
        Self::new(&host, std::process::id(), text)
    }

    fn new(host: &str, pid: u32, text: Option<String>) -> Self {
        let host = host
            .chars()
            .take(LONGEST_HOST)
            // The dot separates the parts, so the host's own dots have to go as well.
            .map(|c| if in_host(c) { c } else { '-' })
            .collect();
        Self { host, pid, text }
    }

    /// The owner that these random bytes make.
    pub(crate) fn owner(&self, random: &[u8; 20]) -> Vec<u8> {
        self.owner_at(Clock::system().wall(), random)
    }

    fn owner_at(&self, now: Duration, random: &[u8; 20]) -> Vec<u8> {
        let mut owner = String::with_capacity(DIGITS + 2 + self.host.len() + 24);
        for byte in random {
            owner.extend([digit(byte >> 4), digit(byte & 15)]);
        }
        owner.push_str(&format!(".{}.{}@{}", self.host, self.pid, now.as_secs()));
        if let Some(text) = &self.text {
            owner.push('.');
            owner.push_str(text);
        }
        owner.into_bytes()
    }
}

/// A holder as messages name it: `pid 4711 on db1`; what a program of the library calls itself, or `owner 9f3a1c…` if it
/// does not say; and `another program` if the owner is not made as ours are. That may be anybody's data, which is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    /// A `leasehold` command.
    Process {
        host: String,
        pid: u32,
        /// Since when, as time since 1970; commands of before did not tell.
        since: Option<Duration>,
        /// What its user has to say.
        label: Option<String>,
    },
    /// A program that says what it is called.
    Named { name: String },
    /// A program that does not say what it is called, by the digits of its owner.
    Nameless { digits: String },
    /// A program that locks with another library, by the beginning of what that has written.
    Peer { beginning: String },
    /// Anything else.
    Stranger,
}

/// Whose locks are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Those of leasehold.
    Ours,
    /// Those of other libraries, too.
    Foreign,
}

impl Whose {
    /// As `--foreign` says.
    pub(crate) const fn with(foreign: bool) -> Self {
        match foreign {
            true => Self::Foreign,
            false => Self::Ours,
        }
    }
}

impl Holder {
    /// The holder that signs with this owner, if it is one of ours.
    pub(crate) fn of(owner: &[u8]) -> Self {
        Self::shown(owner, Whose::Ours)
    }

    /// The holder that signs with this owner, if its locks are shown.
    pub(crate) fn shown(owner: &[u8], whose: Whose) -> Self {
        let peer = || {
            let beginning = peer::shortened(owner).filter(|_| whose == Whose::Foreign);
            beginning.map_or(Self::Stranger, |beginning| Self::Peer { beginning })
        };
        Self::labelled(owner)
            .or_else(|| Self::named(owner))
            .or_else(|| Self::nameless(owner))
            .unwrap_or_else(peer)
    }

    /// Since when it holds the lock, as time since 1970.
    pub(crate) const fn since(&self) -> Option<Duration> {
        match self {
            Self::Process { since, .. } => *since,
            _ => None,
        }
    }

    fn named(owner: &[u8]) -> Option<Self> {
        let owner = Owner::from_bytes(owner)?;
        let name = owner.label()?;
        let is_plain = !name.contains(char::is_control);
        is_plain.then(|| Self::Named {
            name: name.to_owned(),
        })
    }

    fn nameless(owner: &[u8]) -> Option<Self> {
        let owner = Owner::from_bytes(owner).filter(Owner::is_usual)?;
        let digits = owner.as_bytes()[..DIGITS].escape_ascii().to_string();
        Some(Self::Nameless { digits })
    }

    fn labelled(owner: &[u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(owner).ok()?.splitn(4, '.');
        let (digits, host, pid) = (parts.next()?, parts.next()?, parts.next()?);
        // Commands of before told no time.
        let (pid, since) = match pid.split_once('@') {
            Some((pid, since)) => (pid, Some(Duration::from_secs(since.parse().ok()?))),
            None => (pid, None),
        };
        let label = parts.next().map(str::to_owned);
        let ours = label.as_deref().is_none_or(is_label)
            && digits.len() == DIGITS
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !host.is_empty()
            && host.chars().all(in_host);
        let (host, pid) = (host.into(), pid.parse().ok()?);
        ours.then_some(Self::Process {
            host,
            pid,
            since,
            label,
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process {
                host,
                pid,
                label: Some(label),
                ..
            } => write!(out, "pid {pid} on {host} ({label})"),
            Self::Process { host, pid, .. } => write!(out, "pid {pid} on {host}"),
            Self::Named { name } => out.write_str(name),
            Self::Nameless { digits } => write!(out, "owner {}…", &digits[..SHORT]),
            Self::Peer { beginning } => write!(out, "owner {beginning}, of another library"),
            Self::Stranger => out.write_str("another program"),
        }
    }
}

/// How many digits sign an owner.
const DIGITS: usize = 40;

/// The longest host name that Linux knows; keeps the owner far from the longest that nodes take.
const LONGEST_HOST: usize = 64;

/// The longest that a user may have to say.
pub(crate) const LONGEST_LABEL: usize = 64;

/// How many digits of an owner are shown.
const SHORT: usize = 12;

/// Whether this may be what a user has to say: nothing that needs quoting in a shell's double quotes or in JSON,
/// and nothing that moves a terminal's cursor.
pub(crate) fn is_label(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._-:/@+".contains(c);
    (1..=LONGEST_LABEL).contains(&text.len()) && text.chars().all(is_plain)
}

fn in_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).expect("half a byte is one hexadecimal digit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_tells_where_its_process_runs() {
        let now = Duration::from_millis(1_767_225_600_999);
        let owner = Label::new("db1.example.com", 4711, None).owner_at(now, &[0xa7; 20]);
        let text = format!("{}.db1-example-com.4711@1767225600", "a7".repeat(20));
        assert_eq!(owner, text.as_bytes());
        let since = Some(Duration::from_secs(1_767_225_600));
        assert_eq!(Holder::of(&owner).since(), since);
        // As commands of before signed.
        let before = text.rsplit_once('@').expect("there is one").0;
        assert_eq!(Holder::of(before.as_bytes()).since(), None);
        assert_eq!(
            Holder::of(&owner).to_string(),
            "pid 4711 on db1-example-com"
        );
    }

    #[test]
    fn what_the_user_has_to_say_stands_behind_the_process() {
        let label = Label::new("db1", 7, Some("nightly v1.2".to_owned()));
        let owner = label.owner_at(Duration::from_secs(9), &[0xa7; 20]);
        assert!(owner.ends_with(b".db1.7@9.nightly v1.2"));
        assert_eq!(
            Holder::of(&owner).to_string(),
            "pid 7 on db1 (nightly v1.2)"
        );
    }

    #[test]
    fn a_host_of_any_length_fits() {
        let owner = Label::new(&"ü".repeat(999), u32::MAX, Some("x".repeat(64))).owner(&[0; 20]);
        assert!(owner.len() < 255);
        assert!(matches!(Holder::of(&owner), Holder::Process { .. }));
    }

    #[test]
    fn an_owner_is_shown_shortened_and_other_peoples_data_not_at_all() {
        let digits = "9f3a1c".repeat(7);
        let owners = [
            ("hunter2", "another program"),
            (&digits[..32], "another program"),
            (&digits[..40], "owner 9f3a1c9f3a1c…"),
            (&format!("{}.", &digits[..40]), "owner 9f3a1c9f3a1c…"),
            (&format!("{}.a\tb", &digits[..40]), "owner 9f3a1c9f3a1c…"),
            (
                &format!("{}.a.7.\u{1b}[2J", &digits[..40]),
                "owner 9f3a1c9f3a1c…",
            ),
            // What a program of the library calls itself.
            (&format!("{}.db1.x", &digits[..40]), "db1.x"),
            (&format!("{}.a.7x.b", &digits[..40]), "a.7x.b"),
            (
                &format!("{}.nightly report", &digits[..40]),
                "nightly report",
            ),
        ];
        for (owner, shown) in owners {
            assert_eq!(Holder::of(owner.as_bytes()).to_string(), shown);
        }
        let foreign = |owner: &str| Holder::shown(owner.as_bytes(), Whose::Foreign).to_string();
        assert_eq!(
            foreign(&digits[..32]),
            "owner 9f3a1c9f…, of another library"
        );
        assert_eq!(foreign("hunter2"), "another program");
    }
}
