//! What all links of one manager have in common.

use super::copies::CopyOptions;
use crate::configuration::Configuration;
#[cfg(feature = "redis")]
use crate::{
    clock::Clock,
    link::{
        Link,
        redis::{ClusterLink, Encoder, RedisLink, RedisUrl, succession::Succession},
    },
};

/// What links to servers say, and for whom they wait. Others need nothing.
pub(super) struct Common {
    /// Of which each link has a clone: so what is said to several nodes is put into words once.
    #[cfg(feature = "redis")]
    encoder: Encoder,
    #[cfg(feature = "redis")]
    copies: CopyOptions,
}

impl Common {
    #[cfg(feature = "redis")]
    pub(super) fn new(
        configuration: &Configuration,
        copies: CopyOptions,
        blocking: Option<usize>,
    ) -> Self {
        let mut encoder = Encoder::new(configuration);
        if let Some(blocking) = blocking {
            encoder = encoder.followed(Succession::new(configuration, blocking));
        }
        Self { encoder, copies }
    }

    #[cfg(not(feature = "redis"))]
    pub(super) const fn new(_: &Configuration, _: CopyOptions, _: Option<usize>) -> Self {
        Self {}
    }

    #[cfg(feature = "redis")]
    pub(super) fn link_to(&self, url: RedisUrl, clock: Clock) -> Box<dyn Link> {
        let mut encoder = self.encoder.clone();
        if let Some((count, within)) = self.copies.replicas {
            encoder = encoder.heard_by(count, within);
        }
        if let Some((disks, within)) = self.copies.disks {
            encoder = encoder.written_to(disks, within);
        }
        match url.is_cluster() {
            true => Box::new(ClusterLink::speaking(url, clock, encoder)),
            false => Box::new(RedisLink::speaking(url, clock, encoder)),
        }
    }
}
