//! A lease that was just won.

use crate::{
    claim::Claim, fence::FencingToken, lease::Lease, node_set::NodeSet, owner::Seed, plan::Plan,
    steps::Steps, time::Instant,
};
use alloc::{boxed::Box, sync::Arc};

/// What a lease is, and what is needed to keep it.
#[derive(Debug)]
pub(crate) struct Won {
    pub(crate) claim: Box<Claim>,
    pub(crate) token: Option<FencingToken>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) seed: Seed,
    /// The nodes whose keys the lease stands on.
    pub(crate) standing: NodeSet,
    /// By how much their clocks were set forward since.
    pub(crate) steps: Steps,
    /// Before the first request of the attempt left.
    pub(crate) begun: Instant,
    pub(crate) valid_until: Instant,
}

impl Won {
    /// What its holder is told of it.
    pub(crate) fn lease(&self) -> Lease {
        Lease {
            resource: self.claim.resource().clone(),
            owner: self.claim.owner().clone(),
            token: self.token,
            valid_until: self.valid_until,
        }
    }
}
