//! An operator's visit to a cluster: to each of its masters, which have some of the keys each.

use super::{AdminClient, keys::Stored};
use crate::{
    configuration::KeyFormat,
    link::redis::{
        RedisUrl,
        cluster::{
            redirection::Redirection,
            slots::{SLOTS, ServerAddress, SlotMap, slot_of},
            watch::slots_of,
        },
        url::host_port,
    },
};
use leasehold_core::Resource;
use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};
use tokio::time::sleep;

/// A master of a cluster and its part of the slots.
pub(crate) struct ClusterShard {
    /// `host:port`.
    pub(crate) name: String,
    pub(crate) url: RedisUrl,
    /// The slots that it keeps, ascending.
    pub(crate) slots: Vec<RangeInclusive<u16>>,
}

/// All slots that there are.
pub(crate) const ALL_SLOTS: RangeInclusive<u16> = 0..=SLOTS - 1;

/// The masters of the cluster, in the order of their addresses. Asks where the slots are, and none of the masters anything else.
/// The error is a fragment for people, without the password.
pub(crate) async fn shards_of(url: &RedisUrl) -> Result<Vec<ClusterShard>, String> {
    let map = slots_of(url).await?;
    let mut kept: BTreeMap<ServerAddress, Vec<_>> = BTreeMap::new();
    for (from, to, at) in map.ranges {
        kept.entry(at).or_default().push(from..=to);
    }
    let shard = |((host, port), mut slots): (ServerAddress, Vec<RangeInclusive<u16>>)| {
        slots.sort_unstable_by_key(|range| *range.start());
        ClusterShard {
            name: host_port(&host, port),
            url: url.at(&host, port),
            slots,
        }
    };
    Ok(kept.into_iter().map(shard).collect())
}

/// The slot in which this key is in each cluster.
pub(crate) fn slot_of_key(key: &str) -> u16 {
    slot_of(key.as_bytes())
}

/// A visit that goes on.
pub(crate) struct ClusterClient {
    url: RedisUrl,
    node_key: String,
    /// How long a server may take to greet us, and to answer, if that was chosen.
    limit: Option<Duration>,
    map: SlotMap,
    visits: BTreeMap<ServerAddress, AdminClient>,
}

impl ClusterClient {
    /// Asks where the slots are. The error is a fragment for people, without the password.
    pub(crate) async fn visit(
        url: RedisUrl,
        node_key: String,
        limit: Option<Duration>,
    ) -> Result<Self, String> {
        let map = slots_of(&url).await?;
        Ok(Self {
            url,
            node_key,
            limit,
            map,
            visits: BTreeMap::new(),
        })
    }

    /// The visits to all masters, which have all keys together.
    pub(crate) async fn masters(&mut self) -> Result<Vec<&mut AdminClient>, String> {
        let span = |(from, to, _): &(u16, u16, _)| u32::from(to.saturating_sub(*from)) + 1;
        let kept: u32 = self.map.ranges.iter().map(span).sum();
        let unkept = u32::from(SLOTS).saturating_sub(kept);
        if unkept > 0 {
            return Err(format!(
                "nobody keeps {unkept} of the {SLOTS} slots of the cluster"
            ));
        }
        let masters: Vec<_> = self.map.ranges.iter().map(|(.., at)| at.clone()).collect();
        for at in masters {
            self.at(&at).await?;
        }
        Ok(self.visits.values_mut().collect())
    }

    /// What stands under the keys of these resources.
    pub(crate) async fn read(
        &mut self,
        format: &KeyFormat,
        resources: &[Resource],
    ) -> Result<Vec<Stored>, String> {
        let mut rows: BTreeMap<ServerAddress, Vec<usize>> = BTreeMap::new();
        for (row, resource) in resources.iter().enumerate() {
            let at = self.owner(&format.key(resource.as_str()))?;
            rows.entry(at).or_default().push(row);
        }
        let mut stored = vec![Stored::Nothing; resources.len()];
        for (at, rows) in rows {
            let wanted: Vec<_> = rows.iter().map(|row| &resources[*row]).collect();
            let visit = self.at(&at).await?;
            let told = visit.read_each(format, &wanted).await;
            let told = told.map_err(|why| by(&at, &why))?;
            for ((row, resource), told) in rows.into_iter().zip(wanted).zip(told) {
                stored[row] = match told {
                    Ok(stored) => stored,
                    Err(why) => self.follow(format, resource, at.clone(), why).await?,
                };
            }
        }
        Ok(stored)
    }

    /// Reads a key where it is, of which this server has said that it has not the slot, or not the key.
    async fn follow(
        &mut self,
        format: &KeyFormat,
        resource: &Resource,
        mut at: ServerAddress,
        mut why: String,
    ) -> Result<Stored, String> {
        for _ in 0..MOST_TRIES {
            let asked = match Redirection::of(&why, &at.0) {
                Some(Redirection::Moved(to)) => {
                    at = to;
                    false
                }
                Some(Redirection::Ask(to)) => {
                    at = to;
                    true
                }
                Some(Redirection::Later) => {
                    sleep(PAUSE).await;
                    false
                }
                None => break,
            };
            match self.at(&at).await?.read_one(format, resource, asked).await {
                Ok(stored) => return Ok(stored),
                Err(told) => why = told,
            }
        }
        Err(by(&at, &why))
    }

    fn owner(&self, key: &str) -> Result<ServerAddress, String> {
        let slot = slot_of(key.as_bytes());
        let mut ranges = self.map.ranges.iter();
        let range = ranges.find(|(from, to, _)| (*from..=*to).contains(&slot));
        let owner = range.map(|(.., at)| at.clone());
        owner.ok_or_else(|| format!("nobody keeps the slot {slot} of the cluster"))
    }

    /// The visit to this server.
    async fn at(&mut self, at: &ServerAddress) -> Result<&mut AdminClient, String> {
        if !self.visits.contains_key(at) {
            let (url, node_key) = (self.url.at(&at.0, at.1), self.node_key.clone());
            let visit = match self.limit {
                None => AdminClient::visit(url, node_key).await,
                Some(limit) => AdminClient::visit_briefly(url, node_key, limit).await,
            };
            let visit = visit.map_err(|why| by(at, &why))?;
            self.visits.insert(at.clone(), visit);
        }
        let visit = self.visits.get_mut(at);
        visit.ok_or_else(|| by(at, "is not connected"))
    }
}

fn by((host, port): &ServerAddress, why: &str) -> String {
    format!("{} of the cluster: {why}", host_port(host, *port))
}

/// How often a key is looked for whose slot moves.
const MOST_TRIES: usize = 16;

/// Between two tries, where nobody is named who could be asked.
const PAUSE: Duration = Duration::from_millis(20);
