//! A lease that was just won.

use crate::{
    claim::Claim, lease::Lease, node_set::NodeSet, owner::Seed, plan::Plan, servers::Servers,
    steps::Steps, time::Instant,
};
use alloc::{boxed::Box, sync::Arc};

/// A lease, and what is needed to keep it.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Won {
    pub(crate) lease: Lease,
    pub(crate) claim: Box<Claim>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) seed: Seed,
    /// The nodes whose keys the lease stands on.
    pub(crate) standing: NodeSet,
    /// Which servers have granted, as far as that is known.
    pub(crate) servers: Servers,
    /// By how much their clocks were set forward since.
    pub(crate) steps: Steps,
    /// Before the first request of the attempt left.
    pub(crate) begun: Instant,
}
