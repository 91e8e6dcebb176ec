//! What a caller wants, and how.

use crate::{
    owner::{Owner, OwnerSource},
    renewal_policy::RenewalPolicy,
    resource::Resource,
    retry::Retry,
    timing::Timing,
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
pub struct LockConfig {
    /// TTL, drift and the nodes' time limit.
    pub timing: Timing,
    /// How often to try.
    pub retry: Retry,
    /// Where owners come from.
    pub owners: OwnerSource,
    /// How the lease is kept.
    pub policy: RenewalPolicy,
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
pub struct AcquireRequest {
    /// What is to be locked.
    pub resource: Resource,
    /// How.
    pub config: Arc<LockConfig>,
    /// Whose keys are to be taken over, if the resource was handed over and is not free.
    pub from: Option<Owner>,
    /// For how long the caller waits at most, on top of the config's tries.
    pub patience: Option<Duration>,
}

/// A config has no hash of its own: it holds functions. It needs none either: an operation keeps the config that
/// it was submitted with, so no two states of an engine differ in nothing else.
impl Hash for LockConfig {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
