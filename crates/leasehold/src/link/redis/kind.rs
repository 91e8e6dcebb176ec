//! What a request wants: as much of it as is needed to understand its answer.

use leasehold_core::Request;

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Acquire,
    /// Of several names: by a script, wherever locks are kept.
    AcquireSeveral,
    Repair,
    RepairSeveral,
    Raise,
    Extend,
    /// Of a share: of those, nobody is told who comes and goes.
    ExtendShare,
    Transfer,
    Inspect,
    Release,
    Leave,
}

impl Kind {
    pub(super) fn of(request: &Request) -> Self {
        match request {
            Request::Acquire { resource, .. } if resource.is_several() => Self::AcquireSeveral,
            Request::Acquire { .. } => Self::Acquire,
            Request::Repair { resource, .. } if resource.is_several() => Self::RepairSeveral,
            Request::Repair { .. } => Self::Repair,
            Request::Raise { .. } => Self::Raise,
            Request::Extend { resource, .. } if resource.is_part() => Self::ExtendShare,
            Request::Extend { .. } => Self::Extend,
            Request::Transfer { .. } => Self::Transfer,
            Request::Inspect { .. } => Self::Inspect,
            Request::Release { .. } => Self::Release,
            Request::Leave { .. } => Self::Leave,
        }
    }
}
