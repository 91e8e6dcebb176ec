//! What a caller wants, and how.

use crate::{
    owner::{Owner, OwnerSource},
    resource::Resource,
    retry::Retry,
    terms::Terms,
    upkeep::Upkeep,
};
use alloc::sync::Arc;
use core::{
    hash::{Hash, Hasher},
    time::Duration,
};

/// How a resource is to be acquired: the checked options of one lock.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the facade makes it, field by field"
)]
pub struct Plan {
    /// TTL, drift and the nodes' time limit.
    pub terms: Terms,
    /// How often to try.
    pub retry: Retry,
    /// Where owners come from.
    pub owners: OwnerSource,
    /// How the lease is kept.
    pub upkeep: Upkeep,
    /// Whether there is to be a fencing token.
    pub is_fenced: bool,
    /// Whether the acquisition waits for those before it that want the same here.
    pub queues: bool,
    /// Whether, once the resource was another's, one node is asked before the others.
    pub asks_one_first: bool,
    /// Whether the nodes serve those who want it in the order of their tickets.
    pub is_fair: bool,
}

/// What a caller wants: a resource, in some way, within some time.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the facade makes it, field by field"
)]
pub struct Wish {
    /// What is to be locked.
    pub resource: Resource,
    /// How.
    pub plan: Arc<Plan>,
    /// Whose keys are to be taken over, if the resource was handed over and is not free.
    pub from: Option<Owner>,
    /// For how long the caller waits at most, on top of the plan's tries.
    pub patience: Option<Duration>,
}

/// A plan has no hash of its own: it holds functions. It needs none either: an operation keeps the plan that
/// it was submitted with, so no two states of an engine differ in nothing else.
impl Hash for Plan {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
