//! A lease that was just won.

use crate::{
    attempt::Attempt, fence::FencingToken, lease::Lease, lock_config::LockConfig,
    node_set::NodeSet, owner::Seed, steps::Steps, time::Instant,
};
use alloc::{boxed::Box, sync::Arc};

/// What a lease is, and what is needed to keep it.
#[derive(Debug)]
pub(crate) struct Won {
    pub(crate) attempt: Box<Attempt>,
    pub(crate) token: Option<FencingToken>,
    pub(crate) config: Arc<LockConfig>,
    pub(crate) seed: Seed,
    /// The nodes whose keys the lease stands on.
    pub(crate) confirmed: NodeSet,
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
            resource: self.attempt.resource().clone(),
            owner: self.attempt.owner().clone(),
            token: self.token,
            valid_until: self.valid_until,
        }
    }
}
