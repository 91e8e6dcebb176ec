//! Why a lease was not extended.

use super::{Faults, Gone, LossCause, NodeFault, Nodes, Span, name_faults};
use leasehold_core::{ExtendFailure, Owner, Resource, TimingError};
use std::{error::Error, fmt, time::Duration};

/// Why a lease was not extended. Unless it is lost (see [`is_lost`](Self::is_lost)), it is as valid as it
/// was, and, but for a limit or a wrong TTL, another try may succeed.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtendError {
    /// The lease was over before a quorum had confirmed. It does not come back.
    Lost {
        /// What was held.
        resource: Resource,
        /// What ended it, where that is known.
        cause: Option<LossCause>,
    },
    /// The holder has released it.
    Released {
        /// What was held.
        resource: Resource,
    },
    /// Too many nodes do not carry our key any more.
    Gone {
        /// What is held.
        resource: Resource,
        /// How many nodes refused.
        refused: usize,
        /// How many confirmations were needed.
        quorum: usize,
        /// How many nodes there are.
        nodes: usize,
        /// Whose key most of them carry instead.
        holder: Option<Owner>,
    },
    /// Too few nodes confirmed, without so many having lost the key that it is gone.
    Unreachable {
        /// What is held.
        resource: Resource,
        /// How many nodes do not carry our key any more.
        refused: usize,
        /// How many confirmations were needed.
        quorum: usize,
        /// How many nodes there are.
        nodes: usize,
        /// The nodes that did not vote.
        faults: Vec<NodeFault>,
    },
    /// The lease has been extended as often, or is held for as long, as its options allow.
    Limit {
        /// What is held.
        resource: Resource,
    },
    /// The lease was extended, but does not last as long as was asked for.
    TooShort {
        /// What is held.
        resource: Resource,
        /// How long it lasts.
        left: Duration,
    },
    /// No lease can have the TTL that was asked for.
    Timing {
        /// What is held.
        resource: Resource,
        /// What is wrong with the TTL.
        wrong: TimingError,
    },
    /// The manager's thread has ended. The lease is as valid as it was, and runs out.
    ShutDown {
        /// What is held.
        resource: Resource,
    },
}

impl ExtendError {
    /// What is, or was, held.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        match self {
            Self::Lost { resource, .. }
            | Self::Released { resource }
            | Self::Gone { resource, .. }
            | Self::Unreachable { resource, .. }
            | Self::Limit { resource }
            | Self::TooShort { resource, .. }
            | Self::Timing { resource, .. }
            | Self::ShutDown { resource } => resource,
        }
    }

    /// Whether the lease is over for good: its time is up, its keys are gone, or it was released.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(
            self,
            Self::Lost { .. } | Self::Released { .. } | Self::Gone { .. }
        )
    }

    pub(crate) fn from_core(failure: ExtendFailure, resource: &Resource, names: &Nodes) -> Self {
        let resource = resource.clone();
        let (quorum, nodes) = (names.quorum.needed(), names.names.len());
        match failure {
            ExtendFailure::Gone(opposition) => Self::Gone {
                resource,
                refused: opposition.refused,
                quorum,
                nodes,
                holder: opposition.holder,
            },
            ExtendFailure::Unreachable {
                refused, faults, ..
            } => Self::Unreachable {
                resource,
                refused,
                quorum,
                nodes,
                faults: name_faults(&names.names, faults),
            },
            ExtendFailure::Released => Self::Released { resource },
            ExtendFailure::Limit => Self::Limit { resource },
            ExtendFailure::Timing(wrong) => Self::Timing { resource, wrong },
            _ => Self::Lost {
                resource,
                cause: None,
            },
        }
    }
}

impl fmt::Display for ExtendError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "extend the lock {}: ", self.resource().quoted())?;
        self.write_reason(out)
    }
}

impl ExtendError {
    /// The sentence without the name of the lock, for sentences that have named it.
    pub(super) fn write_reason(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost {
                cause: Some(cause), ..
            } => write!(out, "it is lost: {cause}"),
            Self::Lost { cause: None, .. } => {
                out.write_str("it was lost before a quorum had confirmed")
            }
            Self::Released { .. } => out.write_str("it was released"),
            Self::Gone {
                refused,
                quorum,
                nodes,
                holder,
                ..
            } => {
                let holder = holder.as_ref();
                let (refused, quorum, nodes) = (*refused, *quorum, *nodes);
                let gone = Gone {
                    refused,
                    quorum,
                    nodes,
                    holder,
                };
                write!(out, "{gone}")
            }
            Self::Unreachable {
                refused,
                quorum,
                nodes,
                faults,
                ..
            } => {
                write!(
                    out,
                    "no quorum: {} of {nodes} nodes did not vote",
                    faults.len()
                )?;
                if *refused > 0 {
                    write!(out, ", {refused} no longer have it")?;
                }
                write!(out, " (quorum {quorum}): {}", Faults(faults))
            }
            Self::Limit { .. } => {
                out.write_str("it has been extended or held for as long as it may be")
            }
            Self::TooShort { left, .. } => {
                write!(out, "it lasts for {} only; take a longer TTL", Span(*left))
            }
            Self::Timing { wrong, .. } => write!(out, "{wrong}"),
            Self::ShutDown { .. } => out.write_str("the lock manager was shut down"),
        }
    }
}

impl Error for ExtendError {}

leasehold_core::debug_by_sentence!(ExtendError {
    Lost { resource, cause },
    Released { resource },
    Gone { resource, refused, quorum, nodes, holder },
    Unreachable { resource, refused, quorum, nodes, faults },
    Limit { resource },
    TooShort { resource, left },
    Timing { resource, wrong },
    ShutDown { resource },
});
