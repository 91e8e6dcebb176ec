//! What became of a release.

use std::fmt;

/// What became of the release of a timestamp lock. None of these is an error of the caller; all but the first are worth
/// a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimestampReleaseOutcome {
    /// The key carried our value, whose time was not up, and is deleted.
    Released,
    /// The key carries our value still, and its time is up: the lock is free as it is, and the next holder overwrites
    /// the value. Nothing was deleted, as the published program does it.
    AlreadyExpired,
    /// There is no key: a program deleted it that had held the lock before us, or somebody else, or the node has lost
    /// it. Others may have had the lock at the same time.
    Gone,
    /// The key carries another value, and was left as it is. Either somebody took the lock over, which can be while we
    /// held it only if clocks differ; or a program that lost the race for it has moved its end, and nobody has the lock
    /// until that has passed. The value does not tell which.
    Overwritten {
        /// What the key carries.
        found: String,
    },
    /// The node did not say. A request that may have arrived is not sent again; a key that it did not reach stays
    /// until others find that its time is up.
    Unknown {
        /// Why, as a fragment for people.
        reason: String,
    },
}

impl TimestampReleaseOutcome {
    /// Whether the lock was ours by its value to the end, and is known to be given back.
    #[must_use]
    pub const fn is_released(&self) -> bool {
        matches!(self, Self::Released)
    }
}

impl fmt::Display for TimestampReleaseOutcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Released => out.write_str("released"),
            Self::AlreadyExpired => {
                out.write_str("the lock had expired already, and nobody has taken it since")
            }
            Self::Gone => out.write_str("the lock's key was gone: somebody had deleted it"),
            Self::Overwritten { found } => write!(
                out,
                "the lock's key carries {found:?} and was left: taken over, or moved by a program that lost the race \
                 for it"
            ),
            Self::Unknown { reason } => {
                write!(out, "unknown whether the lock was released: {reason}")
            }
        }
    }
}
