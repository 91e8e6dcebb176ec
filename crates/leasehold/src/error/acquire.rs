//! Why a lock was not acquired.

mod held;

pub use held::Held;

use super::{Faults, NodeFault, Span};
use leasehold_core::{Owner, Resource};
use std::{error::Error, fmt, time::Duration};

/// Why a lock was not acquired.
///
/// Every variant knows the resource; its text is a fragment that completes "cannot …" as in
/// `lock "orders/42": held by pid 4711 on app1, whose lease ends in 8.2 s unless extended, on db1:6379, db2:6379 and db3:6379 of 5
/// nodes (quorum 3) after 4 attempts in 1.2 s`. Of a fair lock it says as well how many come first, and does not call held
/// what is only kept for them. `{:?}` is that text too, since that is what an error that leaves `main` is shown by;
/// `{:#?}` shows the fields.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// Somebody else holds it, tried at the same time, or waits for it and comes first. Trying again later helps.
    Held(Box<Held>),
    /// The work that it is for was [done](crate::OnceGuard::done) in this period. Trying again helps when the next one has
    /// begun. Only [`OncePer`](crate::OncePer) tells this.
    AlreadyDone(Box<Held>),
    /// Too few nodes answered. Trying again helps once the nodes are back.
    Unreachable(Unreachable),
    /// Too many nodes do not vote for a while, because they may have forgotten who holds what: they are new,
    /// were flushed, have restarted, or were replicas. Waiting helps; so does
    /// `admit` of [operators](crate::ManagerBuilder::operator), for those who know that nothing was forgotten.
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
    /// Others have permits of this name that are more or fewer than those that were wanted. All must say the same number. Trying again
    /// helps when none of theirs is left.
    OtherPermits {
        /// What was to be locked.
        resource: Resource,
        /// How many permits there were to be.
        ours: usize,
        /// How many there are, as those say who have one.
        theirs: usize,
        /// How long the last of theirs is held at most if nobody extends it.
        remaining: Duration,
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
    /// The manager was shut down, or its thread or task has ended.
    ShutDown {
        /// What was to be locked.
        resource: Resource,
    },
    /// This process is a fork of the one that has the manager's thread and connections. Make a manager in this one.
    Forked {
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
            Self::Held(held) | Self::AlreadyDone(held) => &held.resource,
            Self::Unreachable(unreachable) => &unreachable.resource,
            Self::Abstained(abstained) => &abstained.resource,
            Self::TooLate { resource, .. }
            | Self::OtherPermits { resource, .. }
            | Self::Disagreement { resource, .. }
            | Self::TimedOut { resource, .. }
            | Self::ShutDown { resource }
            | Self::Forked { resource }
            | Self::OwnerRepeated { resource } => resource,
        }
    }

    /// Whether somebody else's lock was the reason, at last. Also if it is only kept, because the work is done.
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
            Self::Held(held) | Self::AlreadyDone(held) => Some(held),
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
            Self::Held(held) | Self::AlreadyDone(held) => &held.faults,
            Self::Unreachable(unreachable) => &unreachable.faults,
            Self::Abstained(abstained) => &abstained.faults,
            Self::Disagreement { faults, .. } => faults,
            Self::TimedOut { last, .. } => last.faults(),
            Self::TooLate { .. }
            | Self::OtherPermits { .. }
            | Self::ShutDown { .. }
            | Self::Forked { .. }
            | Self::OwnerRepeated { .. } => &[],
        }
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "lock {}: ", self.resource().quoted())?;
        self.write_reason(out)
    }
}

impl AcquireError {
    fn write_reason(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(held) => {
                held.write_facts(out)?;
                if held.nodes == 1 && held.remaining.is_some() {
                    out.write_str(",")?;
                }
                write_effort(out, held.attempts, held.waited)?;
            }
            // That is certain, whatever some nodes did not say.
            Self::AlreadyDone(held) => return held.write_done(out),
            Self::Unreachable(unreachable) => {
                unreachable.write_facts(out)?;
                write_effort(out, unreachable.attempts, unreachable.waited)?;
            }
            Self::Abstained(abstained) => {
                abstained.write_facts(out)?;
                abstained.write_tries(out)?;
            }
            Self::Disagreement { ours, .. } => write!(
                out,
                "too many nodes are used with another configuration than ours, which is {ours}"
            )?,
            Self::OtherPermits {
                ours,
                theirs,
                remaining,
                ..
            } => write_other_permits(out, (*ours, *theirs), *remaining)?,
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
            Self::Forked { .. } => out.write_str(
                "this process is a fork of the one that has the lock manager: make a manager after the fork",
            )?,
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
    fn write_tries(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.attempts, Span(self.waited)) {
            (1, _) => out.write_str(" (tried once)"),
            (attempts, waited) => write!(out, " (tried {attempts} times in {waited})"),
        }
    }

    fn write_facts(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            left,
            quorum,
            nodes,
            ..
        } = self;
        match nodes {
            1 => write!(out, "the node does not vote for {}", Span(*left)),
            _ => write!(
                out,
                "a quorum of {quorum} of {nodes} nodes does not vote for {}",
                Span(*left)
            ),
        }
    }
}

fn write_other_permits(
    out: &mut fmt::Formatter<'_>,
    (ours, theirs): (usize, usize),
    remaining: Duration,
) -> fmt::Result {
    write!(
        out,
        "a permit of {ours} was wanted, but others have permits of {theirs}, for at most {} unless extended: all must say the same number",
        Span(remaining)
    )
}

fn write_effort(out: &mut fmt::Formatter<'_>, attempts: u32, waited: Duration) -> fmt::Result {
    let plural = if attempts == 1 { "" } else { "s" };
    write!(out, " after {attempts} attempt{plural} in {}", Span(waited))
}

impl Error for AcquireError {}

leasehold_core::debug_by_sentence!(AcquireError {
    Held(inner),
    AlreadyDone(inner),
    Unreachable(inner),
    Abstained(inner),
    Disagreement { resource, ours, faults },
    OtherPermits { resource, ours, theirs, remaining },
    TooLate { resource, elapsed, ttl },
    TimedOut { resource, waited, last },
    ShutDown { resource },
    Forked { resource },
    OwnerRepeated { resource },
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::NodeName;

    fn names(nodes: std::ops::Range<usize>) -> Vec<NodeName> {
        nodes
            .map(|node| NodeName::new(&format!("n{node}")))
            .collect()
    }

    /// Held on the first nodes, and kept for others on the next.
    fn facts(nodes: usize, held: usize, kept: usize, ahead: Option<u8>) -> Held {
        Held {
            resource: Resource::new("r").expect("a name"),
            refused: held + kept,
            quorum: nodes / 2 + 1,
            nodes,
            holder: None,
            remaining: None,
            held_on: names(0..held),
            kept_on: names(held..held + kept),
            granted_on: Vec::new(),
            ahead,
            permits: None,
            faults: Vec::new(),
            attempts: 1,
            waited: Duration::from_millis(2),
        }
    }

    fn told(held: Held) -> String {
        let text = AcquireError::Held(Box::new(held)).to_string();
        let text = text.strip_prefix("lock \"r\": ").expect("it begins so");
        let text = text.strip_suffix(" after 1 attempt in 2 ms");
        text.expect("it ends so").to_owned()
    }

    #[test]
    fn what_is_kept_for_others_is_not_called_held() {
        for (nodes, held, kept, ahead, text) in [
            (5, 0, 0, None, "other callers of this manager came first"),
            (1, 1, 0, None, "held elsewhere"),
            (1, 1, 0, Some(0), "held elsewhere"),
            (
                1,
                1,
                0,
                Some(1),
                "held elsewhere, and another waits and comes first",
            ),
            (1, 0, 1, Some(2), "free, but 2 others wait and come first"),
            (
                3,
                2,
                0,
                Some(0),
                "held elsewhere on n0 and n1 of 3 nodes (quorum 2)",
            ),
            (
                5,
                0,
                3,
                Some(1),
                "free on n0, n1 and n2 of 5 nodes (quorum 3), but another waits and comes first",
            ),
            (
                5,
                1,
                2,
                Some(4),
                "held elsewhere on n0 and free on n1 and n2 of 5 nodes (quorum 3), but 4 others wait and come first",
            ),
            (
                9,
                7,
                0,
                None,
                "held elsewhere on n0, n1, n2, n3 and 3 more of 9 nodes (quorum 5)",
            ),
        ] {
            assert_eq!(self::told(facts(nodes, held, kept, ahead)), text);
        }
    }

    #[test]
    fn a_node_that_is_down_is_no_part_of_what_is_told_of_work_that_is_done() {
        let mut done = facts(3, 2, 0, None);
        done.faults = vec![NodeFault::down(NodeName::new("n2"), "connection refused")];
        let error = AcquireError::AlreadyDone(Box::new(done));
        assert_eq!(error.to_string(), "lock \"r\": done in this period");
        assert_eq!(error.faults().len(), 1);
    }

    #[test]
    fn who_holds_it_and_for_how_long_is_told_with_the_nodes() {
        let owner = format!("{}.db1.4711@1767225600", "a7".repeat(20));
        let held = Held {
            holder: Owner::from_bytes(owner.as_bytes()),
            remaining: Some(Duration::from_millis(8_200)),
            ..facts(3, 2, 0, None)
        };
        assert_eq!(
            told(held),
            "held by pid 4711 on db1, whose lease ends in 8.2 s unless extended, on n0 and n1 of 3 nodes (quorum 2)"
        );
    }

    #[test]
    fn those_who_read_are_told_as_such_and_for_how_long_at_most() {
        for (nodes, held, behind) in [(1, 1, ","), (3, 2, ", on n0 and n1 of 3 nodes (quorum 2)")] {
            let held = Held {
                remaining: Some(Duration::from_millis(8_200)),
                ..facts(nodes, held, 0, None)
            };
            let text = "held elsewhere, by readers, permits or another program, for at most 8.2 s unless extended";
            assert_eq!(told(held), format!("{text}{behind}"));
        }
    }

    #[test]
    fn an_error_that_leaves_main_is_its_sentence() {
        let error = AcquireError::Held(Box::new(facts(1, 1, 0, None)));
        assert_eq!(format!("{error:?}"), error.to_string());
        let structure = format!("{error:#?}");
        assert!(structure.contains("quorum: 1,"), "{structure}");
    }
}
