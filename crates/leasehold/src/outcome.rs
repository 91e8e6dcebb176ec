//! What became of a release.

use crate::{
    error::{Faults, NodeFault, name_faults},
    holder::Holder,
    link::NodeName,
};
use leasehold_core::Owner;
use std::{fmt, sync::Arc};

/// What became of a release. None of these is an error of the caller; all but the first are worth a
/// line in the log: `TakenByAnother` says that two may have worked at the same time. Those who do not want to know drop the
/// guard, which releases it as well.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it may say that somebody else had the lock; drop the guard to release it without knowing"]
#[non_exhaustive]
pub enum ReleaseOutcome {
    /// The lock was ours to the end and is given back.
    Released,
    /// The lease was over before its release began, or its keys were gone; nobody else has the lock.
    AlreadyExpired,
    /// The lease was over, and a quorum of nodes carries another's key.
    TakenByAnother {
        /// Who has it now.
        holder: Owner,
    },
    /// Too few nodes answered to say. The release goes on in the background; a key that it does not reach
    /// ends with its TTL, which on a node that hangs begins when the node wakes.
    Unknown {
        /// What is known about the nodes that did not answer.
        faults: Vec<NodeFault>,
    },
}

impl ReleaseOutcome {
    /// Whether the lock was ours to the end and is known to be given back.
    #[must_use]
    pub const fn is_released(&self) -> bool {
        matches!(self, Self::Released)
    }

    pub(crate) fn from_core(
        outcome: Option<leasehold_core::ReleaseOutcome>,
        nodes: impl FnOnce() -> Arc<[NodeName]>,
    ) -> Self {
        use leasehold_core::ReleaseOutcome as Core;
        match outcome {
            Some(Core::Released) => Self::Released,
            Some(Core::AlreadyExpired) => Self::AlreadyExpired,
            Some(Core::TakenByAnother { holder }) => Self::TakenByAnother { holder },
            Some(Core::Unknown { faults, .. }) => Self::Unknown {
                faults: name_faults(&nodes(), faults),
            },
            // No thread, no answer: nothing is known about any node.
            Some(_) | None => Self::Unknown { faults: Vec::new() },
        }
    }
}

impl fmt::Display for ReleaseOutcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Released => out.write_str("released"),
            Self::AlreadyExpired => out.write_str("the lock was over already"),
            Self::TakenByAnother { holder } => {
                write!(
                    out,
                    "the lock was over already and is now held by {}",
                    Holder::of(holder)
                )
            }
            Self::Unknown { faults } if faults.is_empty() => {
                out.write_str("unknown whether the lock was released")
            }
            Self::Unknown { faults } => {
                write!(
                    out,
                    "unknown whether the lock was released: {}",
                    Faults(faults)
                )
            }
        }
    }
}
