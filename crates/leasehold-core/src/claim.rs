//! What may stand on the nodes under one owner.

use crate::{
    fence::FencingToken,
    node_set::{NodeId, NodeSet},
    owner::Owner,
    queue::{LEAVING, Place},
    quorum::Quorum,
    request::{AttemptId, Request, Tag, Vote},
    resource::Resource,
    terms::{Terms, Ttl},
    time::Instant,
};
use alloc::vec::Vec;

/// The keys that one attempt may have set: everything that is needed to take them back.
///
/// A claim begins with the attempt's first request and ends when every key is known to be gone or has
/// outlived its TTL (argument S5). A TTL begins when a request takes effect, not when it is sent: a
/// request that waits in the buffer of a hung node may set its key long after.
#[derive(Clone, Debug, Hash)]
pub struct Claim {
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
    terms: Terms,
    /// Those of the first request.
    first: Terms,
    nodes: NodeSet,
    /// Where the key was surely never set.
    untouched: NodeSet,
    /// Where the first request may still take effect, as far as we know.
    unanswered: NodeSet,
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
    terms: Terms,
    unanswered: NodeSet,
}

impl Claim {
    /// The step under which the keys are asked for first.
    pub const ACQUIRE_STEP: u32 = 0;

    /// The claim of an attempt whose acquire request leaves for all nodes now.
    #[must_use]
    pub fn new(
        id: AttemptId,
        resource: Resource,
        owner: Owner,
        terms: Terms,
        quorum: Quorum,
        now: Instant,
    ) -> Self {
        let nodes = quorum.nodes();
        let (untouched, unanswered) = (NodeSet::EMPTY, nodes);
        let steps = Self::ACQUIRE_STEP.saturating_add(1);
        Self {
            id,
            resource,
            owner,
            from: None,
            proposal: None,
            place: None,
            queued: NodeSet::EMPTY,
            terms,
            first: terms,
            nodes,
            untouched,
            unanswered,
            further: Vec::new(),
            steps,
            gone_by: terms.gone_by(now),
        }
    }

    /// The same, but of an attempt that takes the keys over from another owner.
    #[must_use]
    pub fn taking_over(self, from: Option<Owner>) -> Self {
        Self { from, ..self }
    }

    /// The same, with a proposal for the counters: of an attempt that is to have a fencing token.
    #[must_use]
    pub fn proposing(self, proposal: Option<FencingToken>) -> Self {
        Self { proposal, ..self }
    }

    /// The same, but of an attempt that is refused as long as others come first.
    #[must_use]
    pub fn queueing(self, place: Option<Place>) -> Self {
        Self { place, ..self }
    }

    /// The claim on the keys of another's attempt, of whose requests nothing is known.
    #[must_use]
    pub fn on_foreign(
        id: AttemptId,
        resource: Resource,
        owner: Owner,
        terms: Terms,
        quorum: Quorum,
        now: Instant,
    ) -> Self {
        let unanswered = NodeSet::EMPTY;
        let claim = Self::new(id, resource, owner, terms, quorum, now);
        Self {
            unanswered,
            ..claim
        }
    }

    /// Takes note of what a node answered to request number `step`. Answers to releases change nothing.
    pub fn settle(&mut self, now: Instant, node: NodeId, step: u32, vote: &Vote) {
        if queues(vote) {
            self.queued.insert(node);
        }
        let terms = if step == Self::ACQUIRE_STEP {
            self.unanswered.remove(node).then_some(self.first)
        } else {
            let mut further = self.further.iter_mut();
            let request = further.find(|request| request.step == step);
            request
                .filter(|request| request.unanswered.contains(node))
                .map(|request| {
                    request.unanswered.remove(node);
                    request.terms
                })
        };
        let Some(terms) = terms else {
            return;
        };
        self.further
            .retain(|request| !request.unanswered.is_empty());
        let effective = match vote {
            Vote::Granted { .. } => true,
            Vote::Unknown(fault) => fault.may_have_happened(),
            Vote::Refused(_) => false,
        };
        if effective {
            self.gone_by = self.gone_by.max(terms.gone_by(now));
        } else if step == Self::ACQUIRE_STEP && matches!(vote, Vote::Unknown(_)) {
            self.untouched.insert(node);
        }
    }

    /// The number of the next request under this owner.
    pub fn next_step(&mut self) -> u32 {
        let step = self.steps;
        self.steps = step.saturating_add(1);
        step
    }

    /// Takes note that request number `step`, which leaves for all nodes now, makes the keys live on for
    /// these terms.
    pub fn extended_at(&mut self, now: Instant, step: u32, terms: Terms) {
        self.terms = terms;
        self.gone_by = self.gone_by.max(terms.gone_by(now));
        self.further.push(Further {
            step,
            creates: false,
            terms,
            unanswered: self.nodes,
        });
    }

    /// Takes note that request number `step`, which leaves for `nodes` now, sets the key where there is
    /// none.
    pub fn repaired_at(&mut self, now: Instant, step: u32, nodes: NodeSet) {
        self.gone_by = self.gone_by.max(self.terms.gone_by(now));
        self.untouched = self.untouched.without(nodes);
        self.further.push(Further {
            step,
            creates: true,
            terms: self.terms,
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
            None => self.acquire_in_turn(self.place),
            Some(from) => Request::Transfer {
                resource: self.resource.clone(),
                from: from.clone(),
                owner: self.owner.clone(),
                ttl: self.terms.key_ttl(),
                proposal: self.proposal,
            },
        }
    }

    /// What tells a node that nobody waits any more, if it tells with this vote that it has put us into its queue: of a
    /// claim that was won before that was heard. Whoever had a ticket has told it already.
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

    /// The request that sets the keys where there are none. It waits for nobody: whoever has a lease does not queue for
    /// the keys that it has lost.
    #[must_use]
    pub fn acquire(&self) -> Request {
        self.acquire_in_turn(None)
    }

    fn acquire_in_turn(&self, place: Option<Place>) -> Request {
        Request::Acquire {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            ttl: self.terms.key_ttl(),
            proposal: self.proposal,
            place,
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
            ttl: self.terms.key_ttl(),
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

    /// The terms of the keys.
    #[must_use]
    pub const fn terms(&self) -> &Terms {
        &self.terms
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
mod tests {
    use super::*;
    use crate::{
        queue::Waiter,
        request::{Fault, FaultKind, OperationId},
        terms::{Drift, Ttl},
    };
    use core::time::Duration;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn node(index: usize) -> NodeId {
        NodeId::new(index).expect("below 32")
    }

    /// The claim of an attempt of which three nodes are asked at 0 ms. TTL 10 s, allowance 102 ms.
    fn claim() -> Claim {
        let operation = OperationId::new(0);
        let id = AttemptId {
            operation,
            number: 0,
        };
        Claim::new(
            id,
            Resource::new("r").expect("a name"),
            Owner::from_bytes(b"o").expect("a byte"),
            Terms::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("defaults fit"),
            Quorum::majority(3).expect("three nodes"),
            at(0),
        )
    }

    #[test]
    fn a_ttl_begins_when_a_hung_node_may_have_acted() {
        let mut claim = claim();
        claim.settle(at(1), node(0), 0, &Vote::GRANTED);
        claim.settle(at(1), node(1), 0, &Vote::GRANTED);
        assert!(!claim.is_answered());
        let cut = Vote::Unknown(Fault::new(FaultKind::Disconnected, "cut"));
        claim.settle(at(60_000), node(2), 0, &cut);
        assert!(claim.is_answered());
        assert_eq!(claim.gone_by(), at(60_000 + 10_000 + 102));
        assert!(claim.touched().contains(node(2)));
    }

    #[test]
    fn a_late_grant_sets_its_key_for_the_ttl_that_it_was_asked_for() {
        let mut claim = claim();
        let step = claim.next_step();
        let short = Ttl::new(Duration::from_secs(1)).expect("in range");
        let terms = claim.terms().with_ttl(short).expect("it fits");
        claim.extended_at(at(3_000), step, terms);
        claim.settle(at(20_000), node(0), 0, &Vote::GRANTED);
        assert_eq!(claim.gone_by(), at(20_000 + 10_000 + 102));
    }

    #[test]
    fn whoever_has_a_lease_queues_for_no_key_that_it_has_lost() {
        let place = Some(Place {
            waiter: Waiter::new(7),
            ticket: None,
        });
        let claim = claim().queueing(place);
        assert_eq!(claim.first().place(), place);
        assert_eq!(claim.acquire().place(), None);
    }

    #[test]
    fn a_node_that_gets_the_key_later_is_touched() {
        let mut claim = claim();
        let busy = Vote::Unknown(Fault::new(FaultKind::Busy, "full"));
        claim.settle(at(1), node(2), 0, &busy);
        assert!(!claim.touched().contains(node(2)));
        let step = claim.next_step();
        claim.repaired_at(at(3_000), step, NodeSet::from_iter([node(2)]));
        assert!(claim.touched().contains(node(2)));
        assert!(claim.creates(node(2), step));
        claim.settle(at(3_001), node(2), step, &Vote::GRANTED);
        assert!(!claim.creates(node(2), step), "it was told once");
    }

    #[test]
    fn an_extension_that_is_not_answered_may_take_effect_yet() {
        let mut claim = claim();
        for index in 0..3 {
            claim.settle(at(1), node(index), 0, &Vote::GRANTED);
        }
        let step = claim.next_step();
        claim.extended_at(at(3_000), step, *claim.clone().terms());
        claim.settle(at(3_001), node(0), step, &Vote::GRANTED);
        let busy = Vote::Unknown(Fault::new(FaultKind::Busy, "full"));
        claim.settle(at(3_002), node(1), step, &busy);
        assert!(!claim.is_answered());
        claim.settle(
            at(20_000),
            node(2),
            step,
            &Vote::Refused(Default::default()),
        );
        assert!(claim.is_answered());
        // What was refused had no effect, whenever that was told.
        assert_eq!(claim.gone_by(), at(3_001 + 10_000 + 102));
        // Nothing was sent to the full link, but the key is there from before.
        assert!(claim.touched().contains(node(1)));
    }
}
