//! An attempt: everything that is done under one owner, from its first request to its last confirmed release.

use crate::{
    fence::FencingToken,
    node_set::{NodeId, NodeSet},
    owner::Owner,
    queue::{LEAVING, Place},
    quorum::Quorum,
    request::{AttemptId, FaultKind, Request, Tag, Vote},
    resource::Resource,
    round::Round,
    time::Instant,
    timing::{Timing, Ttl},
};
use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;

/// Everything that is done under one owner: which keys it may have set, and what is needed to take them back.
///
/// An attempt begins with its first request and ends when every key is known to be gone or has
/// outlived its TTL (argument S5). A TTL begins when a request takes effect, not when it is sent: a
/// request that waits in the buffer of a hung node may set its key long after.
///
/// It stays where it is while it goes from the acquisition to the lease and to its release.
#[derive(Clone, Debug, Hash)]
pub struct Attempt {
    id: AttemptId,
    resource: Resource,
    owner: Owner,
    /// From whom the keys were taken over, if they were.
    from: Option<Owner>,
    /// What the counters shall become at least with a grant, if there is to be a fencing token.
    proposal: Option<FencingToken>,
    /// Who asks, if the lock is fair.
    place: Option<Place>,
    /// Where it was put into the queue.
    queued: NodeSet,
    timing: Timing,
    /// The vote of the attempt, on its first request or on its release.
    pub(crate) round: Round,
    /// For how long a key of the first request may be there.
    first: Duration,
    nodes: NodeSet,
    /// Where the key was surely never set.
    untouched: NodeSet,
    /// The nodes that have not set the key when they were asked to: if it is there, another address of theirs has.
    outside: NodeSet,
    /// Those of them that have said so.
    twins: NodeSet,
    /// Where the first request may still take effect, as far as we know.
    unanswered: NodeSet,
    /// Where the key was to be set again.
    repaired: NodeSet,
    /// Later requests that may still take effect.
    further: Vec<Further>,
    steps: u32,
    /// Whatever the requests that are answered have set is gone by then.
    gone_by: Instant,
}

/// A request after the first that sets keys or lets them live on.
#[derive(Clone, Debug, Hash)]
struct Further {
    step: u32,
    /// Whether it sets keys where there are none.
    creates: bool,
    /// For how long its keys may be there.
    gone_after: Duration,
    unanswered: NodeSet,
}

impl Attempt {
    /// The step under which the keys are asked for first.
    pub const ACQUIRE_STEP: u32 = 0;

    /// An attempt whose first request leaves for all nodes now.
    #[must_use]
    pub fn new(
        id: AttemptId,
        resource: Resource,
        owner: Owner,
        timing: Timing,
        quorum: Quorum,
        now: Instant,
    ) -> Box<Self> {
        let nodes = quorum.nodes();
        let (untouched, unanswered) = (NodeSet::EMPTY, nodes);
        let steps = Self::ACQUIRE_STEP.saturating_add(1);
        Box::new(Self {
            round: Round::new(quorum, Self::ACQUIRE_STEP, now, Instant::NEVER),
            id,
            resource,
            owner,
            from: None,
            proposal: None,
            place: None,
            queued: NodeSet::EMPTY,
            timing,
            first: timing.gone_after(),
            nodes,
            untouched,
            outside: NodeSet::EMPTY,
            twins: NodeSet::EMPTY,
            unanswered,
            repaired: NodeSet::EMPTY,
            further: Vec::new(),
            steps,
            gone_by: timing.gone_by(now),
        })
    }

    /// The same, but of an attempt that takes the keys over from another owner.
    #[must_use]
    pub fn taking_over(mut self: Box<Self>, from: Option<Owner>) -> Box<Self> {
        self.from = from;
        self
    }

    /// The same, with a proposal for the counters: of an attempt that is to have a fencing token.
    #[must_use]
    pub fn proposing(mut self: Box<Self>, proposal: Option<FencingToken>) -> Box<Self> {
        self.proposal = proposal;
        self
    }

    /// The same, but of an attempt that is refused as long as others come first.
    #[must_use]
    pub fn queueing(mut self: Box<Self>, place: Option<Place>) -> Box<Self> {
        self.place = place;
        self
    }

    /// Another client's attempt, of whose requests nothing is known.
    #[must_use]
    pub fn on_foreign(
        id: AttemptId,
        resource: Resource,
        owner: Owner,
        timing: Timing,
        quorum: Quorum,
        now: Instant,
    ) -> Box<Self> {
        let mut attempt = Self::new(id, resource, owner, timing, quorum, now);
        attempt.unanswered = NodeSet::EMPTY;
        attempt
    }

    /// Takes note of what a node answered to request number `step`. Answers to releases change nothing.
    #[inline]
    pub fn settle(&mut self, now: Instant, node: NodeId, step: u32, vote: &Vote) {
        if queues(vote) {
            self.queued.insert(node);
        }
        let asked = if step == Self::ACQUIRE_STEP {
            let first = (self.first, true);
            self.unanswered.remove(node).then_some(first)
        } else {
            self.settle_further(node, step)
        };
        let Some((gone_after, creates)) = asked else {
            return;
        };
        if creates {
            self.learn_whose(node, step, vote);
        }
        let effective = match vote {
            Vote::Granted { .. } => true,
            Vote::Unknown(fault) => fault.may_have_happened(),
            Vote::Refused(_) => false,
        };
        if effective {
            self.gone_by = self.gone_by.max(now.saturating_add(gone_after));
        } else if step == Self::ACQUIRE_STEP && matches!(vote, Vote::Unknown(_)) {
            self.untouched.insert(node);
        }
    }

    /// Takes note that a node has answered a request after the first, if it is awaited. Says for how long the keys of that
    /// may be there, and whether it sets any.
    fn settle_further(&mut self, node: NodeId, step: u32) -> Option<(Duration, bool)> {
        let mut further = self.further.iter_mut();
        let request = further.find(|request| request.step == step)?;
        let asked = (request.gone_after, request.creates);
        let was_awaited = request.unanswered.remove(node);
        self.further
            .retain(|request| !request.unanswered.is_empty());
        was_awaited.then_some(asked)
    }

    /// Takes note of whether the key on a node is the node's own, by its answer to request number `step`, which sets it.
    fn learn_whose(&mut self, node: NodeId, step: u32, vote: &Vote) {
        let is_first = step == Self::ACQUIRE_STEP;
        match vote {
            Vote::Granted { .. } => {
                self.outside.remove(node);
            }
            Vote::Refused(_) => {
                self.outside.insert(node);
            }
            Vote::Unknown(fault) if fault.kind() == FaultKind::SameNode => {
                self.twins.insert(node);
            }
            // Argument S7: the first request did nothing there, so a key of ours is not this node's, until a repair sets it.
            Vote::Unknown(fault) if is_first && !fault.may_have_happened() => {
                self.outside.insert(node);
            }
            // Argument S7: a repair leaves for a node that has no key. A key of ours that is there later, it has set.
            Vote::Unknown(fault) if !is_first && fault.may_have_happened() => {
                self.outside.remove(node);
            }
            Vote::Unknown(_) => {}
        }
    }

    /// The nodes on which no lease of this attempt stands, even if they find its key there: they are other addresses of
    /// servers that have set it.
    pub(crate) const fn strangers(&self) -> NodeSet {
        self.outside.union(self.twins)
    }

    /// The nodes that have said that they are other addresses of servers that have voted.
    pub(crate) const fn twins(&self) -> NodeSet {
        self.twins
    }

    /// The number of the next request under this owner.
    pub fn next_step(&mut self) -> u32 {
        let step = self.steps;
        self.steps = step.saturating_add(1);
        step
    }

    /// Takes note that request number `step`, which leaves for all nodes now, makes the keys live on for
    /// this timing.
    pub fn extended_at(&mut self, now: Instant, step: u32, timing: Timing) {
        self.timing = timing;
        self.gone_by = self.gone_by.max(timing.gone_by(now));
        self.further.push(Further {
            step,
            creates: false,
            gone_after: timing.gone_after(),
            unanswered: self.nodes,
        });
    }

    /// Takes note that request number `step`, which leaves for `nodes` now, sets the key where there is
    /// none.
    pub fn repaired_at(&mut self, now: Instant, step: u32, nodes: NodeSet) {
        self.gone_by = self.gone_by.max(self.timing.gone_by(now));
        self.untouched = self.untouched.without(nodes);
        self.repaired = self.repaired.union(nodes);
        self.further.push(Further {
            step,
            creates: true,
            gone_after: self.timing.gone_after(),
            unanswered: nodes,
        });
    }

    /// Whether request number `step` sets keys where there are none, and a node has not answered it.
    #[must_use]
    pub fn creates(&self, node: NodeId, step: u32) -> bool {
        let awaited = |request: &Further| {
            request.creates && request.step == step && request.unanswered.contains(node)
        };
        step == Self::ACQUIRE_STEP || self.further.iter().any(awaited)
    }

    /// Where more than one request sets the key: a release may delete what one of them has set, and come before another.
    pub(crate) const fn repaired(&self) -> NodeSet {
        self.repaired
    }

    /// The tag of request number `step`.
    #[must_use]
    pub const fn tag(&self, step: u32) -> Tag {
        Tag {
            attempt: self.id,
            step,
        }
    }

    /// The attempt's first request: sets the keys, or takes them over.
    #[must_use]
    pub fn first(&self) -> Request {
        match &self.from {
            None => Request::Acquire {
                resource: self.resource.clone(),
                owner: self.owner.clone(),
                ttl: self.timing.key_ttl(),
                proposal: self.proposal,
                place: self.place,
            },
            Some(from) => Request::Transfer {
                resource: self.resource.clone(),
                from: from.clone(),
                owner: self.owner.clone(),
                ttl: self.timing.key_ttl(),
                proposal: self.proposal,
            },
        }
    }

    /// What tells a node that nobody waits any more, if it tells with this vote that it has put us into its queue: of an
    /// attempt that was won before that was heard. A caller that had a ticket has told it already.
    pub(crate) fn leaving(&self, vote: &Vote) -> Option<(Tag, Request)> {
        let place = self
            .place
            .filter(|place| queues(vote) && place.ticket.is_none());
        let waiter = place?.waiter;
        let attempt = AttemptId {
            number: LEAVING,
            ..self.id
        };
        let resource = self.resource.clone();
        Some((
            Tag { attempt, step: 0 },
            Request::Leave { resource, waiter },
        ))
    }

    /// Where it was put into the queue.
    pub(crate) const fn queued(&self) -> NodeSet {
        self.queued
    }

    /// The request that sets the keys again where they were lost. It waits for nobody: a lease does not queue for the
    /// keys that it has lost.
    #[must_use]
    pub fn repair(&self) -> Request {
        Request::Repair {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            ttl: self.timing.key_ttl(),
            proposal: self.proposal,
        }
    }

    /// The request that raises the counters of nodes that carry the keys.
    #[must_use]
    pub fn raise(&self, token: FencingToken) -> Request {
        Request::Raise {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            token,
        }
    }

    /// The request that makes the keys live on.
    #[must_use]
    pub fn extend(&self) -> Request {
        Request::Extend {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            ttl: self.timing.key_ttl(),
        }
    }

    /// The request that deletes the keys, or lets them live for a last time.
    #[must_use]
    pub fn release(&self, keep: Option<Ttl>) -> Request {
        Request::Release {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            keep,
        }
    }

    /// The attempt.
    #[must_use]
    pub const fn id(&self) -> AttemptId {
        self.id
    }

    /// The resource.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The owner.
    #[must_use]
    pub const fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The timing of the keys.
    #[must_use]
    pub const fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Where a key may have been set.
    #[must_use]
    pub const fn touched(&self) -> NodeSet {
        self.nodes.without(self.untouched)
    }

    /// Whether every request that sets keys has been answered by every node.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        self.unanswered.is_empty() && self.further.is_empty()
    }

    /// From when on the keys are gone by themselves, where every request was answered.
    #[must_use]
    pub const fn gone_by(&self) -> Instant {
        self.gone_by
    }
}

/// Whether it tells of a place in a queue.
const fn queues(vote: &Vote) -> bool {
    matches!(vote, Vote::Refused(refusal) if refusal.queued.is_some())
}

#[cfg(test)]
mod tests;
