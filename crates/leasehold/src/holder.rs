//! Who holds a lock, legibly: owners that carry machine and process.
//!
//! An owner is 40 hexadecimal digits, the host's name, and the process id with the time behind an `@`, with dots
//! between, and behind another dot a label if there is one. The digits alone tell owners apart; what follows is for
//! people, in messages and in `redis-cli get`. The time is that of the attempt, in Unix seconds by the holder's clock:
//! each attempt has an owner of its own, so it is since when the lock is held.

use crate::{clock::Clock, fork::Process};
use leasehold_core::{
    Owner, OwnerSource,
    owner::{DIGITS, digits},
};
use std::{fmt, sync::OnceLock, time::Duration};

/// Who holds a lock, as far as the [`Owner`] tells.
///
/// Its text is what messages say: `pid 4711 on db1`, `pid 4711 on db1 (nightly)`, the label of a program that chose one,
/// `owner 9f3a1c…` where it does not say, and `another program` where the owner is not made as ours are.
///
/// # Examples
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::{Holder, LockManager};
///
/// let manager = LockManager::builder().memory(3).build()?;
/// let guard = manager.mutex("report")?.acquire().await?;
/// let holder = Holder::of(guard.owner());
/// assert!(holder.to_string().starts_with(&format!("pid {} on ", std::process::id())));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// A process that locks with the default options, or a `leasehold` command.
    #[non_exhaustive]
    Process {
        /// The name of its machine, with `-` for what is neither letter, digit, `-` nor `_`.
        host: String,
        /// Its number there.
        pid: u32,
        /// Since when it has the lock, as time since 1970 by its own clock.
        since: Duration,
        /// What it says beside that.
        label: Option<String>,
    },
    /// A program with a [label](crate::LockOptions::label) of its own.
    #[non_exhaustive]
    Named {
        /// The label.
        name: String,
    },
    /// A program that does not say what it is called.
    #[non_exhaustive]
    Nameless {
        /// The digits of its owner.
        digits: String,
    },
    /// A program with other owners than [`LockOptions`](crate::LockOptions) makes: another library's, or a key that is no
    /// lock at all. What it has written may be anybody's data, which is not shown.
    Stranger,
}

impl Holder {
    /// The longest label beside host and process, in bytes.
    pub const LONGEST_LABEL: usize = 64;

    /// The holder that signs with this owner, or has left this [mark](Owner::done_until) of work that is done.
    #[must_use]
    pub fn of(owner: &Owner) -> Self {
        if let Some(by) = owner.done_by() {
            return Self::of(&by);
        }
        Self::process(owner)
            .or_else(|| Self::named(owner))
            .or_else(|| Self::nameless(owner))
            .unwrap_or(Self::Stranger)
    }

    /// Since when it holds the lock, as time since 1970; none if the owner does not tell.
    #[must_use]
    pub const fn since(&self) -> Option<Duration> {
        match self {
            Self::Process { since, .. } => Some(*since),
            Self::Named { .. } | Self::Nameless { .. } | Self::Stranger => None,
        }
    }

    /// Owners that tell host and process, and a label behind them: the default of
    /// [`LockOptions`](crate::LockOptions), with a label. The time in them is the wall clock's. A label that is none by
    /// [`is_label`](Self::is_label) is told in full, but not taken apart by [`of`](Self::of).
    ///
    /// # Examples
    /// ```
    /// use leasehold::{Holder, LockManager, LockOptions};
    ///
    /// let options = LockOptions::new().owner_source(Holder::owner_source(Some("nightly")));
    /// let manager = LockManager::builder().memory(3).defaults(options).build()?.blocking();
    /// let guard = manager.mutex("report")?.acquire()?;
    /// assert!(Holder::of(guard.owner()).to_string().ends_with(" (nightly)"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn owner_source(label: Option<&str>) -> OwnerSource {
        let label = label.map(str::to_owned);
        OwnerSource::written(move |random, owner| {
            let (now, label) = (Clock::system().wall(), label.as_deref());
            match HERE.get_or_init(|| (Process::this(), here())) {
                (process, here) if process.is_this() => sign(owner, random, here, now, label),
                // It was forked.
                _ => sign(owner, random, &here(), now, label),
            }
        })
    }

    /// Whether this can stand beside host and process and be read again: 1 to 64 ASCII letters, digits, spaces and
    /// `._-:/@+`. So nothing that needs quoting in a shell's double quotes or in JSON, and nothing that moves a
    /// terminal's cursor.
    #[must_use]
    pub fn is_label(text: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._-:/@+".contains(c);
        (1..=Self::LONGEST_LABEL).contains(&text.len()) && text.chars().all(is_plain)
    }

    fn named(owner: &Owner) -> Option<Self> {
        let name = owner.label()?;
        let is_plain = !name.contains(char::is_control);
        is_plain.then(|| Self::Named {
            name: name.to_owned(),
        })
    }

    fn nameless(owner: &Owner) -> Option<Self> {
        let is_ours = owner.is_usual() || owner.permit().is_some();
        let digits = is_ours.then(|| &owner.as_bytes()[..DIGITS])?;
        let digits = digits.escape_ascii().to_string();
        Some(Self::Nameless { digits })
    }

    fn process(owner: &Owner) -> Option<Self> {
        let mut parts = std::str::from_utf8(owner.as_bytes()).ok()?.splitn(4, '.');
        let (digits, host, pid) = (parts.next()?, parts.next()?, parts.next()?);
        // Without a time it is a label with dots of its own: an address, say.
        let (pid, since) = pid.split_once('@')?;
        let since = Duration::from_secs(since.parse().ok()?);
        let label = parts.next().map(str::to_owned);
        // Behind those of a permit, before the dot, stands which one it is.
        let has_digits = owner.permit().is_some()
            || digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let ours = label.as_deref().is_none_or(Self::is_label)
            && has_digits
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
            Self::Stranger => out.write_str("another program"),
        }
    }
}

/// Writes the owner that these random bytes make, and says how long it is. All of them go into it (argument
/// [S8](crate::safety#s8)). Without the standard library's formatting, which takes longer than a vote.
fn sign(
    owner: &mut [u8; Owner::LONGEST],
    random: &[u8; 20],
    here: &str,
    now: Duration,
    label: Option<&str>,
) -> usize {
    let mut end = 0;
    let mut put = |bytes: &[u8]| {
        let room = bytes.len().min(owner.len() - end);
        owner[end..end + room].copy_from_slice(&bytes[..room]);
        end += room;
    };
    put(&digits(random));
    put(here.as_bytes());
    put(decimal(&mut [0; 20], now.as_secs()));
    if let Some(label) = label {
        put(b".");
        put(label.as_bytes());
    }
    end
}

/// A number in decimal digits, at the end of `place`.
fn decimal(place: &mut [u8; 20], mut number: u64) -> &[u8] {
    let mut begin = place.len();
    loop {
        begin -= 2;
        let pair = u8::try_from(number % 100).unwrap_or_default();
        (place[begin], place[begin + 1]) = (b'0' + pair / 10, b'0' + pair % 10);
        number /= 100;
        if number == 0 {
            return &place[begin + usize::from(pair < 10)..];
        }
    }
}

/// The process that signed first, and its text.
static HERE: OnceLock<(Process, String)> = OnceLock::new();

/// The name of this machine, and the number of the process on it, as they stand between digits and time.
fn here() -> String {
    let (uname, pid) = (rustix::system::uname(), std::process::id());
    format!(".{}.{pid}@", plain(&uname.nodename().to_string_lossy()))
}

/// The dot separates the parts, so the host's own dots have to go.
fn plain(host: &str) -> String {
    host.chars()
        .take(LONGEST_HOST)
        .map(|c| if in_host(c) { c } else { '-' })
        .collect()
}

fn in_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// The longest host name that Linux knows; keeps the owner far from the longest that nodes take.
const LONGEST_HOST: usize = 64;

/// How many digits of an owner are shown.
const SHORT: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{Permit, PermitCount};

    fn owner(host: &str, pid: u32, label: Option<&str>) -> Owner {
        let now = Duration::from_millis(1_767_225_600_999);
        let mut owner = [0; Owner::LONGEST];
        let here = format!(".{}.{pid}@", plain(host));
        let length = sign(&mut owner, &[0xa7; 20], &here, now, label);
        read(&owner[..length])
    }

    fn read(bytes: &[u8]) -> Owner {
        Owner::from_bytes(bytes).expect("it is short enough")
    }

    #[test]
    fn an_owner_tells_where_its_process_runs() {
        let owner = owner("db1.example.com", 4711, None);
        let text = format!("{}.db1-example-com.4711@1767225600", "a7".repeat(20));
        assert_eq!(owner.to_string(), text);
        let since = Some(Duration::from_secs(1_767_225_600));
        assert_eq!(Holder::of(&owner).since(), since);
        let shown = "pid 4711 on db1-example-com";
        assert_eq!(Holder::of(&owner).to_string(), shown);
    }

    #[test]
    fn a_number_is_written_as_the_standard_library_has_it() {
        for number in [0, 9, 10, 4_711, 1_767_225_600, u64::MAX] {
            let written = decimal(&mut [0; 20], number).to_vec();
            assert_eq!(written, number.to_string().into_bytes());
        }
    }

    #[test]
    fn an_owner_that_is_too_long_is_cut_behind_its_random_part() {
        let label = "x".repeat(300);
        let owner = owner("db1", 7, Some(&label));
        assert_eq!(owner.as_bytes().len(), Owner::LONGEST);
        assert!(owner.as_bytes().starts_with("a7".repeat(20).as_bytes()));
        assert!(Holder::owner_source(Some(&label)).keeps_randomness());
    }

    #[test]
    fn an_owner_of_a_permit_tells_of_its_process_too() {
        let of = PermitCount::new(4).expect("in range");
        let permit = Permit::new(2, of).expect("a slot");
        let by = owner("db1", 7, Some("nightly v1.2"));
        let owner = Owner::of_permit(&[0xb8; 20], permit, &by);
        assert_eq!(Holder::of(&owner), Holder::of(&by));
        let digits = "9f3a1c".repeat(7);
        let nameless = read(&digits.as_bytes()[..40]);
        let owner = Owner::of_permit(&[0xb8; 20], permit, &nameless);
        assert_eq!(Holder::of(&owner).to_string(), "owner b8b8b8b8b8b8…");
    }

    #[test]
    fn a_label_stands_behind_the_process() {
        let owner = owner("db1", 7, Some("nightly v1.2"));
        assert!(
            owner
                .as_bytes()
                .ends_with(b".db1.7@1767225600.nightly v1.2")
        );
        let shown = "pid 7 on db1 (nightly v1.2)";
        assert_eq!(Holder::of(&owner).to_string(), shown);
    }

    #[test]
    fn a_label_with_dots_is_not_taken_for_a_process() {
        for label in ["10.0.0.7", "db1.7", "db1.7@noon"] {
            let owner = format!("{}.{label}", "a7".repeat(20));
            let name = label.to_owned();
            assert_eq!(Holder::of(&read(owner.as_bytes())), Holder::Named { name });
        }
    }

    #[test]
    fn a_host_of_any_length_fits() {
        let owner = owner(&"ü".repeat(999), u32::MAX, Some(&"x".repeat(64)));
        assert!(owner.as_bytes().len() < Owner::LONGEST);
        assert!(matches!(Holder::of(&owner), Holder::Process { .. }));
    }

    #[test]
    fn the_owners_of_this_process_keep_all_random_bytes() {
        assert!(Holder::owner_source(None).keeps_randomness());
        assert!(Holder::owner_source(Some("x")).keeps_randomness());
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
            ("tab\tin", "another program"),
        ];
        for (owner, shown) in owners {
            assert_eq!(Holder::of(&read(owner.as_bytes())).to_string(), shown);
        }
    }
}
