//! Why a lock was not acquired.

use super::{Faults, NodeFault, Span};
use leasehold_core::{Owner, Resource};
use std::{error::Error, fmt, time::Duration};

/// Why a lock was not acquired.
///
/// Every variant knows the resource; its text is a fragment that completes "cannot …" as in
/// `lock "orders/42": held elsewhere on 3 of 5 nodes (quorum 3) after 4 attempts in 1.2 s`. Of a fair lock it says as
/// well how many come first, and does not call held what is only kept for them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// Somebody else holds it, tried at the same time, or waits for it and comes first. Trying again later helps.
    Held(Held),
    /// Too few nodes answered. Trying again helps once the nodes are back.
    Unreachable(Unreachable),
    /// Too many nodes do not vote for a while, because they may have forgotten who holds what: they are new,
    /// were flushed, have restarted, or were replicas. Waiting helps; so does
    /// [`admit`](crate::ManagerBuilder::admit), for those who know that nothing was forgotten.
    Abstained(Abstained),
    /// Too many nodes are used by others with another configuration, whose quorums need not meet ours. Trying
    /// again does not help.
    Disagreement {
        /// What was to be locked.
        resource: Resource,
        /// What we want.
        ours: String,
        /// The nodes that did not vote, and why: what the others want.
        faults: Vec<NodeFault>,
    },
    /// A quorum granted, but so late that nothing was left of the TTL. A longer TTL helps.
    TooLate {
        /// What was to be locked.
        resource: Resource,
        /// How long it took until the lease could have been handed out.
        elapsed: Duration,
        /// The TTL.
        ttl: Duration,
    },
    /// The caller's patience ran out first.
    TimedOut {
        /// What was to be locked.
        resource: Resource,
        /// How long the caller waited.
        waited: Duration,
        /// Why the last attempt failed that is evidence: the silence of nodes that were given less than their time limit,
        /// because the patience was over before, is told only if nothing else is known.
        last: Box<Self>,
    },
    /// The manager was shut down, or its thread or runtime has ended.
    ShutDown {
        /// What was to be locked.
        resource: Resource,
    },
    /// The owner source gave no owner, or the same owner for two attempts: mutual exclusion would not
    /// have been safe.
    OwnerRepeated {
        /// What was to be locked.
        resource: Resource,
    },
}

/// The facts about a lock that is held by somebody else.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// What was to be locked.
    pub resource: Resource,
    /// How many nodes had refused when the vote was decided. Zero if no node did: then other callers of the same manager
    /// came first, until there was no time left in which the nodes could have answered.
    pub refused: usize,
    /// How many grants were needed.
    pub quorum: usize,
    /// How many nodes there are.
    pub nodes: usize,
    /// Who holds it, as most of the nodes that refused tell.
    pub holder: Option<Owner>,
    /// How long it is held at most if it is not extended; none if that is not known.
    pub remaining: Option<Duration>,
    /// On how many of the nodes that refused nobody held it, but others who wait for it come first. None unless the lock
    /// is [fair](crate::LockOptions::fair).
    pub free: u8,
    /// How many who wait for it come first, as far as the nodes that refused know; none if the lock is not fair. Whoever
    /// tries once is told how many would come before it if it waited. A node keeps 128 places; 255 stands for more.
    pub ahead: Option<u8>,
    /// The nodes that did not vote.
    pub faults: Vec<NodeFault>,
    /// How many attempts there were.
    pub attempts: u32,
    /// How long they took.
    pub waited: Duration,
}

/// The facts about a quorum that could not be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreachable {
    /// What was to be locked.
    pub resource: Resource,
    /// How many grants were needed.
    pub quorum: usize,
    /// How many nodes there are.
    pub nodes: usize,
    /// The nodes that had not voted when it was clear that no quorum would.
    pub faults: Vec<NodeFault>,
    /// How many attempts there were.
    pub attempts: u32,
    /// How long they took.
    pub waited: Duration,
}

/// The facts about nodes that do not vote for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Abstained {
    /// What was to be locked.
    pub resource: Resource,
    /// How long it takes until a quorum votes again.
    pub left: Duration,
    /// How many grants were needed.
    pub quorum: usize,
    /// How many nodes there are.
    pub nodes: usize,
    /// The nodes that did not vote, and why.
    pub faults: Vec<NodeFault>,
    /// How many attempts there were.
    pub attempts: u32,
    /// How long they took.
    pub waited: Duration,
}

impl AcquireError {
    /// What was to be locked.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        match self {
            Self::Held(held) => &held.resource,
            Self::Unreachable(unreachable) => &unreachable.resource,
            Self::Abstained(abstained) => &abstained.resource,
            Self::TooLate { resource, .. }
            | Self::Disagreement { resource, .. }
            | Self::TimedOut { resource, .. }
            | Self::ShutDown { resource }
            | Self::OwnerRepeated { resource } => resource,
        }
    }

    /// Whether somebody else's lock was the reason, at last.
    #[must_use]
    pub fn is_contention(&self) -> bool {
        self.held().is_some()
    }

    /// Whether too few nodes answering was the reason, at last.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::TimedOut { last, .. } => last.is_unreachable(),
            _ => false,
        }
    }

    /// How long it takes until a quorum votes again, if nodes that may have forgotten votes were the reason, at
    /// last.
    #[must_use]
    pub fn abstains(&self) -> Option<Duration> {
        match self {
            Self::Abstained(abstained) => Some(abstained.left),
            Self::TimedOut { last, .. } => last.abstains(),
            _ => None,
        }
    }

    /// The facts, if somebody else's lock was the reason, at last.
    #[must_use]
    pub fn held(&self) -> Option<&Held> {
        match self {
            Self::Held(held) => Some(held),
            Self::TimedOut { last, .. } => last.held(),
            _ => None,
        }
    }

    /// Who holds the lock, if the nodes told.
    #[must_use]
    pub fn holder(&self) -> Option<&Owner> {
        self.held()?.holder.as_ref()
    }

    /// How long the lock is held at most if nobody extends it, if the nodes told.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.held()?.remaining
    }

    /// The nodes that did not vote in the last attempt.
    #[must_use]
    pub fn faults(&self) -> &[NodeFault] {
        match self {
            Self::Held(held) => &held.faults,
            Self::Unreachable(unreachable) => &unreachable.faults,
            Self::Abstained(abstained) => &abstained.faults,
            Self::Disagreement { faults, .. } => faults,
            Self::TimedOut { last, .. } => last.faults(),
            Self::TooLate { .. } | Self::ShutDown { .. } | Self::OwnerRepeated { .. } => &[],
        }
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "lock {:?}: ", self.resource().as_str())?;
        self.write_reason(out)
    }
}

impl AcquireError {
    fn write_reason(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(held) => {
                held.write_facts(out)?;
                write_effort(out, held.attempts, held.waited)?;
            }
            Self::Unreachable(unreachable) => {
                unreachable.write_facts(out)?;
                write_effort(out, unreachable.attempts, unreachable.waited)?;
            }
            Self::Abstained(abstained) => {
                abstained.write_facts(out)?;
                write_effort(out, abstained.attempts, abstained.waited)?;
            }
            Self::Disagreement { ours, .. } => write!(
                out,
                "too many nodes are used with another configuration than ours, which is {ours}"
            )?,
            Self::TooLate { elapsed, ttl, .. } => write!(
                out,
                "the vote took {}, which leaves nothing of a TTL of {}",
                Span(*elapsed),
                Span(*ttl)
            )?,
            Self::TimedOut { waited, last, .. } => {
                write!(out, "gave up after {}: ", Span(*waited))?;
                match &**last {
                    Self::Held(held) => held.write_facts(out)?,
                    Self::Unreachable(unreachable) => unreachable.write_facts(out)?,
                    Self::Abstained(abstained) => abstained.write_facts(out)?,
                    other => other.write_reason(out)?,
                }
            }
            Self::ShutDown { .. } => out.write_str("the lock manager was shut down")?,
            Self::OwnerRepeated { .. } => {
                out.write_str("the owner source gave no owner, or the same one twice")?;
            }
        }
        match self.faults() {
            [] => Ok(()),
            faults => write!(out, ": {}", Faults(faults)),
        }
    }
}

impl Held {
    fn write_facts(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            refused,
            quorum,
            nodes,
            free,
            faults,
            ..
        } = self;
        if *refused == 0 {
            return out.write_str("other callers of this manager came first");
        }
        match (*nodes, refused.saturating_sub((*free).into()), *free) {
            (1, _, 0) => out.write_str("held elsewhere")?,
            (1, ..) => out.write_str("free")?,
            (_, held, 0) => write!(out, "held elsewhere on {held} of {nodes} nodes")?,
            (_, 0, free) => write!(out, "free on {free} of {nodes} nodes")?,
            (_, held, free) => write!(
                out,
                "held elsewhere on {held} of {nodes} nodes and free on {free}"
            )?,
        }
        match (*nodes, faults.len()) {
            (1, _) => {}
            (_, 0) => write!(out, " (quorum {quorum})")?,
            (_, silent) => write!(out, ", and {silent} did not vote (quorum {quorum})")?,
        }
        self.write_queue(out)
    }

    /// A node that has nobody's key and refuses does so for them, so there must be some.
    fn write_queue(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if self.free > 0 { "but" } else { "and" };
        match self.ahead {
            None | Some(0) => Ok(()),
            Some(1) => write!(out, ", {joint} another waits and comes first"),
            Some(ahead) => write!(out, ", {joint} {ahead} others wait and come first"),
        }
    }
}

impl Unreachable {
    /// The vote is over as soon as it is lost, so there may be more nodes than these.
    fn write_facts(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            quorum,
            nodes,
            faults,
            ..
        } = self;
        match (*nodes, faults.len()) {
            (1, _) => out.write_str("the node did not vote"),
            (_, silent) if silent == *nodes => {
                write!(
                    out,
                    "no quorum: none of {nodes} nodes voted (quorum {quorum})"
                )
            }
            (_, silent) => write!(
                out,
                "no quorum: at least {silent} of {nodes} nodes did not vote (quorum {quorum})"
            ),
        }
    }
}

impl Abstained {
    fn write_facts(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            left,
            quorum,
            nodes,
            ..
        } = self;
        match nodes {
            1 => write!(out, "the node votes again in {}", Span(*left)),
            _ => write!(
                out,
                "a quorum of {quorum} of {nodes} nodes votes again in {}",
                Span(*left)
            ),
        }
    }
}

fn write_effort(out: &mut fmt::Formatter<'_>, attempts: u32, waited: Duration) -> fmt::Result {
    let plural = if attempts == 1 { "" } else { "s" };
    write!(out, " after {attempts} attempt{plural} in {}", Span(waited))
}

impl Error for AcquireError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(nodes: usize, refused: usize, free: u8, ahead: Option<u8>) -> String {
        let held = Held {
            resource: Resource::new("r").expect("a name"),
            refused,
            quorum: nodes / 2 + 1,
            nodes,
            holder: None,
            remaining: None,
            free,
            ahead,
            faults: Vec::new(),
            attempts: 1,
            waited: Duration::from_millis(2),
        };
        AcquireError::Held(held).to_string()
    }

    #[test]
    fn what_is_kept_for_others_is_not_called_held() {
        for (facts, told) in [
            ((5, 0, 0, None), "other callers of this manager came first"),
            ((1, 1, 0, None), "held elsewhere"),
            ((1, 1, 0, Some(0)), "held elsewhere"),
            (
                (1, 1, 0, Some(1)),
                "held elsewhere, and another waits and comes first",
            ),
            ((1, 1, 1, Some(2)), "free, but 2 others wait and come first"),
            (
                (3, 2, 0, Some(0)),
                "held elsewhere on 2 of 3 nodes (quorum 2)",
            ),
            (
                (5, 3, 3, Some(1)),
                "free on 3 of 5 nodes (quorum 3), but another waits and comes first",
            ),
            (
                (5, 3, 2, Some(4)),
                "held elsewhere on 1 of 5 nodes and free on 2 (quorum 3), but 4 others wait and come first",
            ),
        ] {
            let (nodes, refused, free, ahead) = facts;
            let expected = format!("lock \"r\": {told} after 1 attempt in 2 ms");
            assert_eq!(held(nodes, refused, free, ahead), expected);
        }
    }
}
