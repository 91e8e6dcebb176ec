//! Why a lock was not acquired or not extended.

use crate::{
    node_set::{NodeId, NodeSet},
    owner::Owner,
    permit::TakenPermits,
    queue::Barrier,
    quorum::Quorum,
    request::{Fault, FaultKind, Refusal},
    round::Round,
    timing::TimingError,
};
use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;

/// Why an acquisition ended without a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AcquireFailure {
    /// Why the last attempt failed that is evidence. Silence is none if the nodes were given less than their time limit,
    /// since the caller's patience was over before; then the reason of an attempt before stays.
    pub cause: Cause,
    /// Why there was no further attempt.
    pub ended: Ended,
    /// How many attempts there were.
    pub attempts: u32,
    /// How long it all took.
    pub waited: Duration,
}

/// What an attempt failed of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// Nodes refused that could not be spared, beside those that did not answer: somebody else holds the
    /// resource, or tried at the same time. If no node refused, other callers of this engine came first for so long that
    /// no node was given the time to answer.
    Held(Opposition),
    /// Too few nodes answered.
    Unreachable {
        /// How many nodes granted.
        granted: usize,
        /// How many nodes refused.
        refused: usize,
        /// What is known about the others.
        faults: Vec<(NodeId, Fault)>,
    },
    /// Too many nodes do not vote for a while, because they may have forgotten votes (argument S9).
    Abstained {
        /// How long it takes until a quorum votes again.
        left: Duration,
        /// How many nodes granted.
        granted: usize,
        /// How many nodes refused.
        refused: usize,
        /// What is known about the others.
        faults: Vec<(NodeId, Fault)>,
    },
    /// Too many nodes are used by others with another configuration. Trying again does not help.
    Disagreement {
        /// What is known about the nodes that did not vote.
        faults: Vec<(NodeId, Fault)>,
    },
    /// Others have permits of this name that are more or fewer than those that were wanted: all must say the same. Trying again
    /// helps when none of theirs is left.
    OtherPermits(TakenPermits),
    /// A quorum granted when the validity was over already.
    TooLate {
        /// How long the vote took.
        elapsed: Duration,
    },
    /// The caller gave up.
    Cancelled,
    /// The owner source gave no owner, or the same one twice.
    OwnerRepeated,
}

/// What the nodes that refused told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Opposition {
    /// How many nodes had refused when the vote was decided.
    pub refused: usize,
    /// Whose key most of them carry, if any of them told.
    pub holder: Option<Owner>,
    /// How long those keys live at most if nobody extends them; none if some may live for ever, or there are none.
    pub remaining: Option<Duration>,
    /// The nodes that refused because they carry somebody's key.
    pub held: NodeSet,
    /// The nodes that refused though nobody has it there, since others who wait for it come first. None unless the lock is
    /// fair.
    pub kept: NodeSet,
    /// The nodes that granted, before the others made it pointless.
    pub granted: NodeSet,
    /// How many who wait for it come first, as the node says that knows of most; none if the lock is not fair.
    pub ahead: Option<u32>,
    /// Which permits are taken, as the node says that knows of most; none if it was not a permit that was wanted, or nobody has
    /// one.
    pub permits: Option<Box<TakenPermits>>,
    /// What is known about the nodes that did not answer.
    pub faults: Vec<(NodeId, Fault)>,
}

/// Why there was no further attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// All tries were used up.
    Tries,
    /// The caller's patience ran out.
    Patience,
    /// No quorum had been reachable for too long.
    Unreachable,
    /// The work that the resource is for is done, for as long as the caller wants to know of.
    Done,
    /// The caller gave up.
    Cancelled,
    /// Something about the options made a further attempt unsafe.
    Misuse,
}

/// Why an extension changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExtendFailure {
    /// The lease was not valid any more.
    Lost,
    /// Too many nodes do not carry our key any more.
    Gone(Opposition),
    /// Too few nodes answered, or too few of them still carried our key.
    Unreachable {
        /// How many nodes extended.
        granted: usize,
        /// How many nodes do not carry our key.
        refused: usize,
        /// What is known about the others.
        faults: Vec<(NodeId, Fault)>,
    },
    /// The lease was released meanwhile.
    Released,
    /// The lease has been extended as often, or is held for as long, as it may be.
    Limit,
    /// No lease can have the TTL that was asked for.
    Timing(TimingError),
}

impl Cause {
    /// Other callers of the same engine came first.
    pub(crate) const IN_LINE: Self = Self::Held(Opposition {
        refused: 0,
        holder: None,
        remaining: None,
        held: NodeSet::EMPTY,
        kept: NodeSet::EMPTY,
        granted: NodeSet::EMPTY,
        ahead: None,
        permits: None,
        faults: Vec::new(),
    });

    /// The cause of a vote that was lost: silence, if the silent nodes alone were too many, else those
    /// that refused.
    pub(crate) fn of_lost(quorum: Quorum, round: Round) -> Self {
        let tally = round.tally();
        let (granted, refused) = (tally.granted().len(), tally.refused().len());
        let (unknown, spare) = (tally.unknown().len(), quorum.spare());
        if unknown > spare {
            let faults = round.into_faults();
            let is_disagreement = |fault: &Fault| fault.kind() == FaultKind::Disagrees;
            if count(&faults, is_disagreement) > spare {
                return Self::Disagreement { faults };
            }
            match abstains(&faults, unknown.saturating_sub(spare)) {
                Some(left) => Self::Abstained {
                    left,
                    granted,
                    refused,
                    faults,
                },
                None => Self::Unreachable {
                    granted,
                    refused,
                    faults,
                },
            }
        } else {
            Self::Held(Opposition::of(round))
        }
    }

    /// The cause of a vote that ended with a refusal.
    pub(crate) fn of_refusal(round: Round) -> Self {
        Self::Held(Opposition::of(round))
    }

    /// Whether too few nodes answered.
    #[must_use]
    pub const fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

impl Cause {
    /// Whether too few nodes answered, and the silence of some made them too few.
    pub(crate) fn is_silence(&self, quorum: Quorum) -> bool {
        let is_told = |fault: &Fault| fault.kind() != FaultKind::TimedOut;
        let Self::Unreachable { faults, .. } = self else {
            return false;
        };
        count(faults, is_told) <= quorum.spare()
    }
}

impl ExtendFailure {
    /// The cause of a vote that was lost: the key is gone only if the nodes that said so were too many;
    /// together with others that were late, a few of them prove nothing.
    pub(crate) fn of_lost(quorum: Quorum, round: Round) -> Self {
        let tally = round.tally();
        let (granted, refused) = (tally.granted().len(), tally.refused().len());
        if refused > quorum.spare() {
            Self::Gone(Opposition::of(round))
        } else {
            let faults = round.into_faults();
            Self::Unreachable {
                granted,
                refused,
                faults,
            }
        }
    }
}

fn count(faults: &[(NodeId, Fault)], is_so: impl Fn(&Fault) -> bool) -> usize {
    faults.iter().filter(|(_, fault)| is_so(fault)).count()
}

/// How long it takes until so many of these nodes vote again; none if fewer of them will by themselves.
fn abstains(faults: &[(NodeId, Fault)], nodes: usize) -> Option<Duration> {
    let left = faults.iter().filter_map(|(_, fault)| fault.abstains());
    let mut left: Vec<_> = left.collect();
    left.sort_unstable();
    left.get(nodes.checked_sub(1)?).copied()
}

impl Opposition {
    fn of(round: Round) -> Self {
        let holder = most_frequent_holder(round.refusals()).map(|(holder, _)| holder);
        let refusals = || round.refusals().iter().map(|(_, refusal)| refusal);
        // The time that it tells is a place's, and no key's.
        let is_free = |refusal: &Refusal| {
            let queued = refusal.queued;
            queued.is_some_and(|queued| queued.barrier == Barrier::Queue)
        };
        let remaining = refusals()
            .filter(|refusal| refusal.holder == holder && !is_free(refusal))
            .map(|refusal| refusal.remaining)
            // One key that may live for ever outlives all others.
            .reduce(|one, other| Some(one?.max(other?)))
            .flatten();
        let refused = round.tally().refused();
        let kept = round
            .refusals()
            .iter()
            .filter_map(|(node, refusal)| is_free(refusal).then_some(*node))
            .collect();
        let told = refusals().filter_map(|refusal| refusal.queued);
        let ahead = told.map(|queued| queued.ahead).max();
        let permits = refusals().filter_map(|refusal| refusal.permits.as_ref());
        let permits = permits.max_by_key(|taken| taken.slots.len()).cloned();
        Self {
            refused: refused.len(),
            holder,
            remaining,
            held: refused.without(kept),
            kept,
            granted: round.tally().granted(),
            ahead,
            permits,
            faults: round.into_faults(),
        }
    }
}

/// Whether all nodes that refused carry marks of work that is done, for so long at least.
pub(crate) fn is_done(refusals: &[(NodeId, Refusal)], until: Duration) -> bool {
    let done_until = |refusal: &Refusal| refusal.holder.as_ref().and_then(Owner::done_until);
    !refusals.is_empty()
        && refusals
            .iter()
            .all(|(_, refusal)| done_until(refusal) >= Some(until))
}

/// Whose keys most of the nodes that refused carry, and how many do.
pub(crate) fn most_frequent_holder(refusals: &[(NodeId, Refusal)]) -> Option<(Owner, usize)> {
    let holders = || {
        refusals
            .iter()
            .filter_map(|(_, refusal)| refusal.holder.as_ref())
    };
    holders()
        .map(|one| (one, holders().filter(|other| *other == one).count()))
        .max_by_key(|(_, count)| *count)
        .map(|(holder, count)| (holder.clone(), count))
}
