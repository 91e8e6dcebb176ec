//! Why nothing is known about a lock.

use leasehold_core::ResourceError;
use std::{error::Error, fmt};

/// Why nothing is known about a lock.
#[derive(Clone)]
#[non_exhaustive]
pub enum InspectError {
    /// The resource's name cannot be used.
    Resource(ResourceError),
    /// The manager's thread has ended.
    ShutDown,
}

impl fmt::Display for InspectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("look at the lock: ")?;
        match self {
            Self::Resource(error) => error.fmt(out),
            Self::ShutDown => out.write_str("the lock manager was shut down"),
        }
    }
}

impl Error for InspectError {
    /// What is behind the error in it, whose text this one's has.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Resource(error) => error.source(),
            Self::ShutDown => None,
        }
    }
}

leasehold_core::debug_by_sentence!(InspectError {
    Resource(inner),
    ShutDown,
});
