//! Why a lease was not taken over.

use super::{AcquireError, ConfigError, Gone};
use leasehold_core::{Owner, Resource};
use std::{error::Error, fmt};

/// Why a lease that was handed over was not taken over.
#[derive(Clone)]
#[non_exhaustive]
pub enum AdoptError {
    /// The text is none that a hand-over makes.
    Malformed,
    /// The resource's name or the options cannot be used.
    Config(ConfigError),
    /// Too many nodes do not carry the lease's key: it has ended, or somebody else took it over.
    Gone {
        /// What was to be taken over.
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
    /// No lease came of it. What had been taken over is released.
    Failed(AcquireError),
}

impl fmt::Display for AdoptError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => {
                out.write_str("take over a lease: the text is not that of a hand-over")
            }
            Self::Config(error) => write!(out, "take over a lease: {error}"),
            Self::Failed(error) => write!(out, "take over: {error}"),
            Self::Gone {
                resource,
                refused,
                quorum,
                nodes,
                holder,
            } => {
                let resource = resource.quoted();
                let gone = Gone {
                    refused: *refused,
                    quorum: *quorum,
                    nodes: *nodes,
                    holder: holder.as_ref(),
                };
                write!(out, "take over the lock {resource}: {gone}")
            }
        }
    }
}

impl Error for AdoptError {
    /// What is behind the error in it, whose text this one's has.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(error) => error.source(),
            Self::Failed(error) => error.source(),
            Self::Malformed | Self::Gone { .. } => None,
        }
    }
}

leasehold_core::debug_by_sentence!(AdoptError {
    Malformed,
    Config(inner),
    Gone { resource, refused, quorum, nodes, holder },
    Failed(inner),
});
