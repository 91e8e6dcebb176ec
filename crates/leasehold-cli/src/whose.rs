//! Whose locks are shown, and by which name.

use crate::peer;
use leasehold::{Holder, Owner};
use std::{fmt, time::Duration};

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

/// Who has signed a key, as messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Signer {
    /// One of ours, or another program's, of which nothing is shown.
    Holder(Holder),
    /// A program that locks with another library, by the beginning of what that has written.
    Peer { beginning: String },
    /// Readers share it: these processes, in a store on this machine. Servers tell of none.
    Readers { processes: Vec<String> },
}

impl Signer {
    /// The owner that signs with these bytes, if its locks are shown.
    pub(crate) fn of(owner: &[u8], whose: Whose) -> Self {
        let holder = Owner::from_bytes(owner).map_or(Holder::Stranger, |owner| Holder::of(&owner));
        match (&holder, whose) {
            (Holder::Stranger, Whose::Foreign) => peer::shortened(owner)
                .map_or(Self::Holder(holder), |beginning| Self::Peer { beginning }),
            _ => Self::Holder(holder),
        }
    }

    /// Whether it may be told who it is.
    pub(crate) fn is_shown(&self) -> bool {
        *self != Self::Holder(Holder::Stranger)
    }

    /// Whether somebody who asks for other libraries' locks is told more of the owner that signs with these bytes.
    pub(crate) fn has_more(owner: &[u8]) -> bool {
        !Self::of(owner, Whose::Ours).is_shown() && Self::of(owner, Whose::Foreign).is_shown()
    }

    /// Since when it has the lock, as time since 1970, if it tells.
    pub(crate) const fn since(&self) -> Option<Duration> {
        match self {
            Self::Holder(holder) => holder.since(),
            Self::Peer { .. } | Self::Readers { .. } => None,
        }
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holder(holder) => holder.fmt(out),
            Self::Peer { beginning } => write!(out, "owner {beginning}, of another library"),
            Self::Readers { processes } if processes.is_empty() => out.write_str("readers"),
            Self::Readers { processes } => {
                let shown = processes.iter().take(READERS).map(String::as_str);
                let shown = shown.collect::<Vec<_>>().join(", ");
                match processes.len().saturating_sub(READERS) {
                    0 => write!(out, "readers ({shown})"),
                    more => write!(out, "readers ({shown} and {more} more)"),
                }
            }
        }
    }
}

/// Of more readers nobody reads the names in one line.
const READERS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_readers_the_first_are_named_and_the_others_counted() {
        let readers = |count: u32| {
            let processes = (1..=count).map(|pid| format!("pid {pid}")).collect();
            Signer::Readers { processes }.to_string()
        };
        assert_eq!(readers(0), "readers");
        assert_eq!(readers(2), "readers (pid 1, pid 2)");
        let ten = readers(10);
        assert!(ten.ends_with(", pid 7, pid 8 and 2 more)"), "{ten}");
    }

    #[test]
    fn what_another_library_writes_is_shown_to_those_who_ask() {
        let digits = "9f3a1c".repeat(6);
        let shown = |owner: &str, whose| Signer::of(owner.as_bytes(), whose).to_string();
        assert_eq!(shown(&digits[..32], Whose::Ours), "another program");
        let foreign = |owner: &str| shown(owner, Whose::Foreign);
        assert_eq!(
            foreign(&digits[..32]),
            "owner 9f3a1c9f…, of another library"
        );
        assert_eq!(foreign("hunter2"), "another program");
    }
}
