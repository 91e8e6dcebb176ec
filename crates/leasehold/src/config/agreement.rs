//! What all who use the same nodes must agree on.

use super::{NodeUrls, Waited};
use crate::{
    builder::ManagerBuilder,
    configuration::{KeyFormat, RestartGuard},
    disks::Disks,
    manager::LockManager,
    options::LockOptions,
};
use std::time::Duration;

/// What all who use the same nodes must agree on, as far as it was said. None is the default of [`ManagerBuilder`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a program that reads options elsewhere makes one"
)]
pub struct Agreement {
    /// [`ManagerBuilder::max_ttl`].
    pub max_ttl: Option<Duration>,
    /// [`ManagerBuilder::restart_guard`].
    pub restart_guard: Option<RestartGuard>,
    /// [`ManagerBuilder::namespace`].
    pub namespace: Option<String>,
    /// [`ManagerBuilder::cluster`].
    pub cluster: Option<String>,
    /// [`ManagerBuilder::key_format`].
    pub key_format: Option<KeyFormat>,
    /// [`ManagerBuilder::tolerate_forgetful`].
    pub tolerate_forgetful: Option<u8>,
    /// [`ManagerBuilder::clock_skew`].
    pub clock_skew: Option<Duration>,
    /// [`ManagerBuilder::replicated`].
    pub replicated: Option<Waited<u32>>,
    /// [`ManagerBuilder::on_disk`].
    pub on_disk: Option<Waited<Disks>>,
    /// Which part of which file said it, for people.
    pub origin: Option<String>,
}

impl Agreement {
    /// What was said here, and where nothing was, what `other` says.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            max_ttl: self.max_ttl.or(other.max_ttl),
            restart_guard: self.restart_guard.or(other.restart_guard),
            namespace: self.namespace.or(other.namespace),
            cluster: self.cluster.or(other.cluster),
            key_format: self.key_format.or(other.key_format),
            tolerate_forgetful: self.tolerate_forgetful.or(other.tolerate_forgetful),
            clock_skew: self.clock_skew.or(other.clock_skew),
            replicated: self.replicated.or(other.replicated),
            on_disk: self.on_disk.or(other.on_disk),
            origin: self.origin.or(other.origin),
        }
    }

    /// How long a vote may wait for one kind of copies: the node limit of the default options, or half of it if there are two.
    fn node_limit(&self) -> Duration {
        let usual = LockOptions::new().lifetime();
        let ttl = self.max_ttl.map_or(usual, |max_ttl| max_ttl.min(usual));
        let limit = LockOptions::usual_node_limit(ttl);
        match (&self.replicated, &self.on_disk) {
            (Some(_), Some(_)) => limit / 2,
            _ => limit,
        }
    }

    /// Options for a manager of these nodes. Where the longest TTL is below the default one, it is the default.
    pub fn builder(&self, nodes: &NodeUrls) -> ManagerBuilder {
        let mut builder = LockManager::builder();
        if let Some(max_ttl) = self.max_ttl {
            let usual = LockOptions::new();
            let ttl = max_ttl.min(usual.lifetime());
            builder = builder.max_ttl(max_ttl).defaults(usual.ttl(ttl));
        }
        let limit = self.node_limit();
        if let Some(replicated) = &self.replicated {
            let within = replicated.within_or(limit);
            builder = builder.replicated(replicated.what, within);
        }
        if let Some(on_disk) = &self.on_disk {
            let within = on_disk.within_or(limit);
            builder = builder.on_disk(on_disk.what, within);
        }
        if let Some(guard) = self.restart_guard {
            builder = builder.restart_guard(guard);
        }
        if let Some(servers) = self.tolerate_forgetful {
            builder = builder.tolerate_forgetful(servers.into());
        }
        if let Some(skew) = self.clock_skew {
            builder = builder.clock_skew(skew);
        }
        if let Some(namespace) = &self.namespace {
            builder = builder.namespace(namespace);
        }
        if let Some(cluster) = &self.cluster {
            builder = builder.cluster(cluster);
        }
        if let Some(format) = &self.key_format {
            builder = builder.key_format(format.clone());
        }
        match nodes.folder() {
            #[cfg(feature = "file")]
            Some(folder) => builder.file(folder),
            _ => builder.nodes(nodes.urls()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_without_a_time_are_waited_for_as_long_as_the_node_limit_lets_them() {
        let nodes = NodeUrls(vec!["redis://127.0.0.1:1".into()]);
        for max_ttl_ms in [100, 500, 1_000, 2_500, 10_000] {
            let agreement = Agreement {
                max_ttl: Some(Duration::from_millis(max_ttl_ms)),
                replicated: Some("1".parse().expect("a number")),
                ..Agreement::default()
            };
            let built = agreement.builder(&nodes).build();
            assert!(built.is_ok(), "{max_ttl_ms} ms: {:?}", built.err());
        }
    }
}
