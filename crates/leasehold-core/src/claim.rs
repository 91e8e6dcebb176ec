//! What may stand on the nodes under one owner.

use crate::{
    node_set::{NodeId, NodeSet},
    owner::Owner,
    quorum::Quorum,
    request::{AttemptId, Request, Tag, Vote},
    resource::Resource,
    terms::Terms,
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
    terms: Terms,
    nodes: NodeSet,
    /// Where the key was surely never set.
    untouched: NodeSet,
    /// Where the first request may still take effect, as far as we know.
    unanswered: NodeSet,
    /// Where extensions may still take effect, by the numbers of their requests.
    extensions: Vec<(u32, NodeSet)>,
    steps: u32,
    /// Every request that is not unanswered took effect at this time or earlier, or never will.
    effective_by: Instant,
}

impl Claim {
    /// The step under which the keys are asked for; it is the only one that can create them.
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
            terms,
            nodes,
            untouched,
            unanswered,
            extensions: Vec::new(),
            steps,
            effective_by: now,
        }
    }

    /// Takes note of what a node answered to request number `step`. Answers to releases change nothing.
    pub fn settle(&mut self, now: Instant, node: NodeId, step: u32, vote: &Vote) {
        let awaited = if step == Self::ACQUIRE_STEP {
            self.unanswered.remove(node)
        } else {
            let mut extensions = self.extensions.iter_mut();
            let extension = extensions.find(|(number, _)| *number == step);
            extension.is_some_and(|(_, unanswered)| unanswered.remove(node))
        };
        self.extensions
            .retain(|(_, unanswered)| !unanswered.is_empty());
        if !awaited {
            return;
        }
        match vote {
            Vote::Granted => self.effective_by = self.effective_by.max(now),
            Vote::Unknown(fault) if fault.may_have_happened() => {
                self.effective_by = self.effective_by.max(now);
            }
            Vote::Unknown(_) if step == Self::ACQUIRE_STEP => {
                self.untouched.insert(node);
            }
            Vote::Refused(_) | Vote::Unknown(_) => {}
        }
    }

    /// The number of the next request under this owner.
    pub fn next_step(&mut self) -> u32 {
        let step = self.steps;
        self.steps = step.saturating_add(1);
        step
    }

    /// Takes note that request number `step`, which leaves for all nodes now, makes the keys live on.
    pub fn extended_at(&mut self, now: Instant, step: u32) {
        self.extensions.push((step, self.nodes));
        self.effective_by = self.effective_by.max(now);
    }

    /// The tag of request number `step`.
    #[must_use]
    pub const fn tag(&self, step: u32) -> Tag {
        Tag {
            attempt: self.id,
            step,
        }
    }

    /// The request that sets the keys.
    #[must_use]
    pub fn acquire(&self) -> Request {
        Request::Acquire {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            ttl: self.terms.ttl(),
        }
    }

    /// The request that makes the keys live on.
    #[must_use]
    pub fn extend(&self) -> Request {
        Request::Extend {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            ttl: self.terms.ttl(),
        }
    }

    /// The request that deletes the keys.
    #[must_use]
    pub fn release(&self) -> Request {
        Request::Release {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
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
        self.unanswered.is_empty() && self.extensions.is_empty()
    }

    /// From when on the keys are gone by themselves, where every request was answered.
    #[must_use]
    pub const fn gone_by(&self) -> Instant {
        self.terms.gone_by(self.effective_by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
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
        claim.settle(at(1), node(0), 0, &Vote::Granted);
        claim.settle(at(1), node(1), 0, &Vote::Granted);
        assert!(!claim.is_answered());
        let cut = Vote::Unknown(Fault::new(FaultKind::Disconnected, "cut"));
        claim.settle(at(60_000), node(2), 0, &cut);
        assert!(claim.is_answered());
        assert_eq!(claim.gone_by(), at(60_000 + 10_000 + 102));
        assert!(claim.touched().contains(node(2)));
    }

    #[test]
    fn an_extension_that_is_not_answered_may_take_effect_yet() {
        let mut claim = claim();
        for index in 0..3 {
            claim.settle(at(1), node(index), 0, &Vote::Granted);
        }
        let step = claim.next_step();
        claim.extended_at(at(3_000), step);
        claim.settle(at(3_001), node(0), step, &Vote::Granted);
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
