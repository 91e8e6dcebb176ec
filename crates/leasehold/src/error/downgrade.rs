//! Why a write lock did not become a read lock.

use super::{AcquireError, Gone, LeaseLost};
use leasehold_core::{Owner, Resource};
use std::{error::Error, fmt};

/// Why a write lock did not become a read lock. Whatever the reason, its caller holds nothing afterwards, and what is left of the
/// write lock is released in the background.
#[derive(Clone)]
#[non_exhaustive]
pub enum DowngradeError {
    /// The write lock was lost before.
    Lost(LeaseLost),
    /// Too many nodes do not carry the writer's key any more.
    Gone {
        /// What was held.
        resource: Resource,
        /// How many nodes refused.
        refused: usize,
        /// How many would have had to agree.
        quorum: usize,
        /// How many nodes there are.
        nodes: usize,
        /// Whose key most of them carry instead.
        holder: Option<Owner>,
    },
    /// Too few nodes answered, or too late.
    Failed(AcquireError),
}

impl From<AcquireError> for DowngradeError {
    fn from(error: AcquireError) -> Self {
        match error {
            // Fewer that refused prove nothing, together with others that were late.
            AcquireError::Held(held) if held.refused + held.quorum > held.nodes => Self::Gone {
                resource: held.resource,
                refused: held.refused,
                quorum: held.quorum,
                nodes: held.nodes,
                holder: held.holder,
            },
            error => Self::Failed(error),
        }
    }
}

impl fmt::Display for DowngradeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(lost) => write!(out, "downgrade: {lost}"),
            Self::Failed(error) => write!(out, "downgrade: {error}"),
            Self::Gone {
                resource,
                refused,
                quorum,
                nodes,
                holder,
            } => {
                let gone = Gone {
                    refused: *refused,
                    quorum: *quorum,
                    nodes: *nodes,
                    holder: holder.as_ref(),
                };
                write!(out, "downgrade the lock {}: {gone}", resource.quoted())
            }
        }
    }
}

impl Error for DowngradeError {
    /// What is behind the error in it, whose text this one's has.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Lost(lost) => lost.source(),
            Self::Failed(error) => error.source(),
            Self::Gone { .. } => None,
        }
    }
}

leasehold_core::debug_by_sentence!(DowngradeError {
    Lost(inner),
    Gone { resource, refused, quorum, nodes, holder },
    Failed(inner),
});
