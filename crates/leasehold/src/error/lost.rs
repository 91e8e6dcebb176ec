//! Why a lease is over.

use super::{ExtendError, Faults, Gone, NodeFault, Nodes, Span};
use crate::link::NodeName;
use leasehold_core::{Instant, Owner, Resource};
use std::{error::Error, fmt, time::Duration};

/// Why a lease is over against the will of its holder. It does not come back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseLost {
    /// What was held.
    pub resource: Resource,
    /// Why it is over.
    pub cause: LossCause,
}

/// What ended a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossCause {
    /// Its time was up before a quorum confirmed it.
    TimedOut {
        /// What was wrong with the extensions; none if none was tried, or none failed.
        trouble: Option<Trouble>,
    },
    /// Too many nodes do not carry its key any more: somebody deleted it, the nodes forgot it, or it is
    /// another's.
    Gone {
        /// How many nodes do not carry it.
        refused: usize,
        /// How many nodes would have to.
        quorum: usize,
        /// How many nodes there are.
        nodes: usize,
        /// Whose key most of them carry instead.
        holder: Option<Owner>,
    },
    /// The clocks of nodes were set forward, so that too few of its keys live on.
    ClockStepped {
        /// The last of these nodes.
        node: NodeName,
        /// By how much its clock was set forward at least.
        step: Duration,
    },
    /// It had been extended as often as its options allow.
    ExtensionLimit {
        /// How often.
        extensions: u32,
    },
    /// It had been held for as long as its options allow.
    HoldLimit {
        /// For how long.
        held: Duration,
    },
    /// It was not extended because the holder reported no progress.
    NoProgress {
        /// For how long.
        silent: Duration,
    },
    /// Its holder had released it in place before the work began, which would be a bug of the program.
    Released,
    /// This process is a fork of the one that holds it, which goes on holding it.
    Forked,
    /// The manager's thread or task has ended, which would be a bug: nobody extends the lease,
    /// and nobody watches it.
    Stopped,
}

/// Extensions that failed, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trouble {
    /// For how long they have failed: since the first of them began.
    pub lasting: Duration,
    /// Why the last of them failed.
    pub last: Box<ExtendError>,
}

/// Why a lease is in danger, while it is still valid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Danger {
    /// How much was left when this was told.
    pub remaining: Duration,
    /// What is wrong with the extensions; none if none was tried, or none failed.
    pub trouble: Option<Trouble>,
}

impl LossCause {
    pub(crate) fn from_core(
        loss: leasehold_core::Loss,
        now: Instant,
        resource: &Resource,
        names: &Nodes,
    ) -> Self {
        use leasehold_core::Loss as Core;
        match loss {
            Core::Gone(opposition) => Self::Gone {
                refused: opposition.refused,
                quorum: names.quorum.needed(),
                nodes: names.names.len(),
                holder: opposition.holder,
            },
            Core::ClockStepped { node, step } => Self::ClockStepped {
                node: names.names[node.index()].clone(),
                step,
            },
            Core::ExtensionLimit { extensions } => Self::ExtensionLimit { extensions },
            Core::HoldLimit { held } => Self::HoldLimit { held },
            Core::NoProgress { heard } => Self::NoProgress {
                silent: now.saturating_since(heard),
            },
            Core::TimedOut {
                trouble: Some(trouble),
            } => Self::TimedOut {
                trouble: Some(Trouble::from_core(trouble, now, resource, names)),
            },
            _ => Self::TimedOut { trouble: None },
        }
    }
}

impl Trouble {
    fn from_core(
        trouble: leasehold_core::Trouble,
        now: Instant,
        resource: &Resource,
        names: &Nodes,
    ) -> Self {
        Self {
            lasting: now.saturating_since(trouble.since),
            last: Box::new(ExtendError::from_core(trouble.failure, resource, names)),
        }
    }
}

impl Danger {
    pub(crate) fn from_core(
        danger: leasehold_core::Danger,
        now: Instant,
        resource: &Resource,
        names: &Nodes,
    ) -> Self {
        let trouble = danger.trouble;
        Self {
            remaining: danger.valid_until.saturating_since(now),
            trouble: trouble.map(|trouble| Trouble::from_core(trouble, now, resource, names)),
        }
    }

    /// What is wrong with the extensions `now`, if the first of them was `tried` then.
    pub(crate) fn trouble_at(&self, now: Instant, tried: Option<Instant>) -> Option<Trouble> {
        let mut trouble = self.trouble.clone()?;
        if let Some(tried) = tried {
            trouble.lasting = trouble.lasting.max(now.saturating_since(tried));
        }
        Some(trouble)
    }

    /// The nodes that did not answer to the last extension.
    #[must_use]
    pub fn faults(&self) -> &[NodeFault] {
        match self.trouble.as_ref().map(|trouble| &*trouble.last) {
            Some(ExtendError::Unreachable { faults, .. }) => faults,
            _ => &[],
        }
    }
}

impl fmt::Display for LeaseLost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "lost the lock {}: {}",
            self.resource.quoted(),
            self.cause
        )
    }
}

impl Error for LeaseLost {}

leasehold_core::debug_by_sentence!(struct LeaseLost { resource, cause });

impl fmt::Display for LossCause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut { trouble: None } => {
                out.write_str("its time was up, and it was not extended")
            }
            Self::TimedOut {
                trouble: Some(trouble),
            } => write!(out, "its time was up, and {trouble}"),
            Self::Gone {
                refused,
                quorum,
                nodes,
                holder,
            } => Gone {
                refused: *refused,
                quorum: *quorum,
                nodes: *nodes,
                holder: holder.as_ref(),
            }
            .fmt(out),
            Self::ClockStepped { node, step } => write!(
                out,
                "the clock of {node} was set forward by {} or more, so that its keys end early",
                Span(*step)
            ),
            Self::ExtensionLimit { extensions } => {
                write!(
                    out,
                    "it had been extended {extensions} times, as often as it may be"
                )
            }
            Self::HoldLimit { held } => {
                write!(
                    out,
                    "it had been held for {}, as long as it may be",
                    Span(*held)
                )
            }
            Self::NoProgress { silent } => {
                write!(out, "its holder reported no progress for {}", Span(*silent))
            }
            Self::Released => out.write_str("it was released"),
            Self::Forked => out.write_str(
                "this process is a fork of the one that holds it, which goes on holding it",
            ),
            Self::Stopped => out.write_str("the lock manager has ended"),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lasting = Span(self.lasting);
        write!(out, "it could not be extended for {lasting}: ")?;
        self.last.write_reason(out)
    }
}

impl fmt::Display for Danger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} left", Span(self.remaining))?;
        match &self.trouble {
            None => Ok(()),
            Some(trouble) if self.faults().is_empty() => write!(out, ", {trouble}"),
            Some(trouble) => write!(
                out,
                ", for {} no quorum answered: {}",
                Span(trouble.lasting),
                Faults(self.faults())
            ),
        }
    }
}
