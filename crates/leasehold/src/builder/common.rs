//! What all links of one manager have in common.

use crate::configuration::Configuration;
#[cfg(feature = "redis")]
use crate::{
    clock::Clock,
    link::redis::{Encoder, RedisLink, RedisUrl},
};
use std::time::Duration;

/// How many replicas must have heard of a vote, and within what time.
#[derive(Clone, Copy)]
pub(super) struct ReplicaOptions {
    pub(super) count: u32,
    pub(super) within: Duration,
}

/// What links to servers say, and for whom they wait. Others need nothing.
pub(super) struct Common {
    /// Of which each link has a clone: so what is said to several nodes is put into words once.
    #[cfg(feature = "redis")]
    encoder: Encoder,
    #[cfg(feature = "redis")]
    replicas: Option<ReplicaOptions>,
}

impl Common {
    #[cfg(feature = "redis")]
    pub(super) fn new(configuration: &Configuration, replicas: Option<ReplicaOptions>) -> Self {
        let encoder = Encoder::new(configuration);
        Self { encoder, replicas }
    }

    #[cfg(not(feature = "redis"))]
    pub(super) const fn new(_: &Configuration, _: Option<ReplicaOptions>) -> Self {
        Self {}
    }

    #[cfg(feature = "redis")]
    pub(super) fn link_to(&self, url: RedisUrl, clock: Clock) -> RedisLink {
        let link = RedisLink::speaking(url, clock, self.encoder.clone());
        match self.replicas {
            Some(ReplicaOptions { count, within }) => link.replicated(count, within),
            None => link,
        }
    }
}
