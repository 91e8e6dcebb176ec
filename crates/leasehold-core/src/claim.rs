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

/// The keys that one attempt may have set: everything that is needed to take them back.
///
/// A claim begins with the attempt's first request and ends when every key is known to be gone or has
/// outlived its TTL (argument S5).
#[derive(Clone, Debug)]
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
    steps: u32,
    last_sent: Instant,
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
            steps,
            last_sent: now,
        }
    }

    /// Takes note of what a node answered to the acquire request.
    pub fn settle(&mut self, node: NodeId, vote: &Vote) {
        self.unanswered.remove(node);
        if let Vote::Unknown(fault) = vote
            && !fault.may_have_happened()
        {
            self.untouched.insert(node);
        }
    }

    /// The number of the next request under this owner.
    pub fn next_step(&mut self) -> u32 {
        let step = self.steps;
        self.steps = step.saturating_add(1);
        step
    }

    /// Takes note that the keys may have been extended at `now`.
    pub fn extended_at(&mut self, now: Instant) {
        self.last_sent = self.last_sent.max(now);
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

    /// Where the acquire request has not been answered.
    #[must_use]
    pub const fn unanswered(&self) -> NodeSet {
        self.unanswered
    }

    /// From when on the keys are gone by themselves.
    #[must_use]
    pub const fn gone_by(&self) -> Instant {
        self.terms.gone_by(self.last_sent)
    }
}
