//! What a request wants: as much of it as is needed to understand its answer.

use leasehold_core::Request;

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Acquire,
    Repair,
    Raise,
    Extend,
    Transfer,
    Inspect,
    Release,
    Leave,
}

impl Kind {
    pub(super) const fn of(request: &Request) -> Self {
        match request {
            Request::Acquire { .. } => Self::Acquire,
            Request::Repair { .. } => Self::Repair,
            Request::Raise { .. } => Self::Raise,
            Request::Extend { .. } => Self::Extend,
            Request::Transfer { .. } => Self::Transfer,
            Request::Inspect { .. } => Self::Inspect,
            Request::Release { .. } => Self::Release,
            Request::Leave { .. } => Self::Leave,
        }
    }
}
