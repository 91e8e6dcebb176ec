//! Why nobody knows that work is done.

use super::{AcquireError, LeaseLost};
use std::{error::Error, fmt};

/// Work is done, but too few nodes know: it may be done again in the same period.
#[derive(Clone)]
#[non_exhaustive]
pub enum NotKept {
    /// The lease was lost before.
    Lost(LeaseLost),
    /// Too many nodes do not carry the lock's key any more, or too few answered.
    Failed(AcquireError),
}

impl fmt::Display for NotKept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the work is done, and may be done again in this period: ")?;
        match self {
            Self::Lost(lost) => lost.fmt(out),
            Self::Failed(error) => error.fmt(out),
        }
    }
}

impl Error for NotKept {
    /// What is behind the error in it, whose text this one's has.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Lost(lost) => lost.source(),
            Self::Failed(error) => error.source(),
        }
    }
}

leasehold_core::debug_by_sentence!(NotKept {
    Lost(inner),
    Failed(inner),
});
