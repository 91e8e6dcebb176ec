//! Why a lease was not extended.

use super::{Faults, NodeFault};
use leasehold_core::{Owner, Resource};
use std::{error::Error, fmt};

/// Why a lease was not extended. Unless it is [`Lost`](Self::Lost), it is as valid as it was, and
/// another try may succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtendError {
    /// The lease was over before a quorum had confirmed. It does not come back.
    Lost {
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
            Self::Lost { resource }
            | Self::Gone { resource, .. }
            | Self::Unreachable { resource, .. }
            | Self::ShutDown { resource } => resource,
        }
    }

    /// Whether the lease is over for good.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

impl fmt::Display for ExtendError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "extend the lock {:?}: ", self.resource().as_str())?;
        match self {
            Self::Lost { .. } => out.write_str("it was lost before a quorum had confirmed"),
            Self::Gone {
                refused,
                quorum,
                nodes,
                holder,
                ..
            } => {
                write!(
                    out,
                    "{refused} of {nodes} nodes do not carry it any more (quorum {quorum})"
                )?;
                match holder {
                    Some(holder) => write!(out, "; it is now held by {holder}"),
                    None => Ok(()),
                }
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
                    write!(out, ", {refused} do not carry it any more")?;
                }
                write!(out, " (quorum {quorum}): {}", Faults(faults))
            }
            Self::ShutDown { .. } => out.write_str("the lock manager was shut down"),
        }
    }
}

impl Error for ExtendError {}
