//! What the masters of a Redis Cluster tell, each of itself.

use super::{CheckedKind, CheckedLock, Examination, NodeLook};
use crate::{
    configuration::KeyFormat,
    link::redis::{
        RedisUrl,
        admin_client::cluster::{ALL_SLOTS, ClusterShard, shards_of, slot_of_key},
    },
    operate::{NodeAnswer, at_once},
};
use std::ops::RangeInclusive;

/// What the masters of a Redis Cluster tell, each of itself. A lock has the vote of the one master that keeps its slot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterExamination {
    /// The slots that were asked about: all, or that of the lock that was asked [about](super::super::Operator::about). Those
    /// of them that no master keeps have no vote.
    pub slots: RangeInclusive<u16>,
    /// The masters that keep these, each with what it keeps, in the order of their addresses.
    pub shards: Vec<ShardExamination>,
}

/// A master of a Redis Cluster and its part of the slots.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardExamination {
    /// Where it is, as the cluster says: `host:port`.
    pub address: String,
    /// The slots that it keeps, ascending.
    pub slots: Vec<RangeInclusive<u16>>,
    /// What it told of itself.
    pub answer: NodeAnswer<Examination>,
}

impl NodeLook {
    /// Looks at all masters at once, or at the one that keeps the lock in mind.
    pub(super) async fn at_cluster(self, url: &RedisUrl) -> NodeAnswer<Examination> {
        let mut shards = match shards_of(url).await {
            Ok(shards) => shards,
            Err(why) => return NodeAnswer::Silent(why),
        };
        let slots = match &self.lock {
            CheckedLock::Nobodys(_) => ALL_SLOTS,
            CheckedLock::Named(key) => {
                let slot = slot_of_key(key);
                shards.retain(|shard| keeps(shard, slot));
                slot..=slot
            }
        };
        let jobs = shards.into_iter().map(|shard| {
            let look = self.clone();
            async move { look.at_shard(shard).await }
        });
        NodeAnswer::Told(Examination {
            cluster: Some(ClusterExamination {
                slots,
                shards: at_once(jobs).await,
            }),
            ..Examination::default()
        })
    }

    async fn at_shard(mut self, shard: ClusterShard) -> ShardExamination {
        if let CheckedLock::Nobodys(_) = self.lock {
            let format = self.configuration.key_format();
            if let Some(key) = key_of_nobody(format, |slot| keeps(&shard, slot)) {
                self.lock = CheckedLock::Nobodys(key);
            }
        }
        self.kind = CheckedKind::PlainInCluster;
        let answer = self.at_server(&shard.url).await;
        ShardExamination {
            address: shard.name,
            slots: shard.slots,
            answer,
        }
    }
}

fn keeps(shard: &ClusterShard, slot: u16) -> bool {
    shard.slots.iter().any(|range| range.contains(&slot))
}

/// The key of a lock that nobody has, in such a slot; none where a key format has all keys in other slots, or the master keeps
/// next to nothing.
fn key_of_nobody(format: &KeyFormat, is_kept: impl Fn(u16) -> bool) -> Option<String> {
    let keys = (0..MOST_KEYS).map(|number| {
        let name = format!("leasehold/doctor/{number}");
        format.key(&name).into_owned()
    });
    { keys }.find(|key| is_kept(slot_of_key(key)))
}

/// Nine of ten masters that keep a single slot are found a key for by so many.
const MOST_KEYS: u32 = 40_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_master_is_asked_about_a_key_that_it_keeps() {
        let format = KeyFormat::default();
        for kept in [0..=5_460, 5_461..=10_922, 10_923..=16_383] {
            let key = key_of_nobody(&format, |slot| kept.contains(&slot)).expect("there are many");
            assert!(kept.contains(&slot_of_key(&key)), "{key}");
        }
        assert_eq!(key_of_nobody(&format, |_| false), None);
    }
}
