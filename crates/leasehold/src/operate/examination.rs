//! Everything that a node tells of itself and that matters to locks.

mod cluster;

pub use cluster::{ClusterExamination, ShardExamination};

use super::{Membership, NodeAnswer, Survey, Told, at_once, survey_of};
use crate::{
    builder::{Operated, Spot},
    clock::Clock,
    configuration::Configuration,
    link::redis::{
        RedisUrl,
        admin_client::{
            AdminClient,
            checkup::{CheckedKind, CheckedLock, Checkup, Offset},
        },
    },
};
use leasehold_core::Resource;
use std::{collections::HashMap, path::PathBuf, time::Duration};
use tokio::time::timeout;

/// What a node tells of itself, as far as it does: what is none was not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Examination {
    /// How long answers took, from the shortest to the longest.
    pub round_trips: Vec<Duration>,
    /// Its wall clock beside ours.
    pub clock: Option<ClockOffset>,
    /// The process that runs there.
    pub run_id: Option<String>,
    /// The history of its data, which begins anew when the process starts or a replica is promoted.
    pub replication_id: Option<String>,
    /// The other processes that further connections to this address led to: it is a balancer's, and each of these servers
    /// votes for itself, so **two can hold a lock**. Empty if all led to one process, and if it was not asked.
    pub others: Vec<String>,
    /// Whether a proxy stands before it that hangs up at what it does not know, as twemproxy does. Then each lock is asked for
    /// alone, scripts go along with the first requests that need them, and nobody is told when a lock becomes free.
    pub is_proxied: bool,
    /// Which server it is: `Valkey 8.1.3`.
    pub version: Option<String>,
    /// `master` or `slave`, in its own words.
    pub role: Option<String>,
    /// For how long it has been running.
    pub uptime: Option<Duration>,
    /// How many replicas are connected.
    pub replicas: Option<u64>,
    /// Its memory.
    pub memory: Option<Memory>,
    /// How it keeps its data.
    pub persistence: Persistence,
    /// The rights that its user lacks, as `ACL SETUSER` has them; none if that could not be found out. Those on a lock's key
    /// are among them if it was asked [about](super::Operator::about) a lock.
    pub lacking: Option<Vec<String>>,
    /// The key of a lock that nobody has, if the user may not use it. So its keys are narrowed, and which locks it may have
    /// is not known; asked [about](super::Operator::about) a lock, the node tells. None if the key is in reach, and if a
    /// lock was asked about.
    pub out_of_reach: Option<String>,
    /// The rights that its user lacks, beside those, for [fair](crate::LockOptions::fair) locks, [readers](crate::RwLock) and
    /// [permits](crate::Semaphore); none if that could not be found out. Those on keys are for all three, and those on
    /// commands for the latter two.
    pub lacking_for_fair: Option<Vec<String>>,
    /// Why it refuses the votes of all clients, in its own words: its memory is full, its disk fails, or its replicas are
    /// away. None if it takes writes, which was tried without writing anything.
    pub refuses_writes: Option<String>,
    /// Whether it votes, and for which configuration; or why that could not be told. None where locks are
    /// [plain](crate::Plain): for these a server votes whenever it takes writes.
    pub survey: Option<NodeAnswer<Survey>>,
    /// Of a node that is a file: what is in it.
    pub file: Option<FileExamination>,
    /// Of a node that is a Redis Cluster: its masters, which have told all else.
    pub cluster: Option<ClusterExamination>,
}

/// A node's wall clock beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockOffset {
    /// Whether the node's clock is ahead of ours.
    pub is_ahead: bool,
    /// By how much they differ.
    pub by: Duration,
    /// They may differ by so much more or less: half the round trip.
    pub uncertainty: Duration,
}

/// A server's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// How many bytes its data take.
    pub used: u64,
    /// How many they may take; none without a limit.
    pub limit: Option<u64>,
    /// What happens at the limit: `noeviction`, in its own words.
    pub policy: String,
}

/// How a server keeps its data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Persistence {
    /// Whether it keeps an append-only file.
    pub has_log: Option<bool>,
    /// `appendfsync`, if we may ask.
    pub fsync: Option<String>,
    /// Whether it does so also while it rewrites that file (`no-appendfsync-on-rewrite no`).
    pub fsync_on_rewrite: Option<bool>,
    /// `save`: when it writes a snapshot; empty for never.
    pub snapshots: Option<String>,
    /// What it could not write the last time, if anything.
    pub failed: Option<String>,
}

/// A node that is a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileExamination {
    /// The file.
    pub path: PathBuf,
    /// How many bytes its keys take.
    pub used: u64,
    /// How many they may take.
    pub room: u64,
    /// The processes that hold something, by their numbers, and what.
    pub holders: Vec<(u32, String)>,
    /// Why no lock could be set in it, as a fragment for people; none if one could, which was tried.
    pub unusable: Option<String>,
}

impl Examination {
    /// The median of the round trips; none if none was measured.
    #[must_use]
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trips.get(self.round_trips.len() / 2).copied()
    }

    fn of(checkup: Checkup, survey: Option<NodeAnswer<Survey>>) -> Self {
        let config = checkup.config.unwrap_or_default();
        let info = checkup.info.unwrap_or_default();
        let said = |name: &str| info.get(name).filter(|value| !value.is_empty()).cloned();
        let number = |name: &str| info.get(name)?.parse::<u64>().ok();
        let version = said("valkey_version").map(|version| format!("Valkey {version}"));
        let of_redis = || Some(format!("Redis {}", said("redis_version")?));
        let memory = number("used_memory").map(|used| Memory {
            used,
            limit: number("maxmemory").filter(|limit| *limit > 0),
            policy: said("maxmemory_policy").unwrap_or_default(),
        });
        Self {
            round_trips: checkup.round_trips,
            clock: checkup.clock.map(ClockOffset::of),
            run_id: said("run_id"),
            replication_id: said("master_replid"),
            others: Vec::new(),
            is_proxied: false,
            version: version.or_else(of_redis),
            role: said("role"),
            uptime: number("uptime_in_seconds").map(Duration::from_secs),
            replicas: number("connected_slaves"),
            memory,
            persistence: Persistence::of(&info, &config),
            lacking: checkup.lacking,
            lacking_for_fair: checkup.lacking_for_fair,
            out_of_reach: checkup.out_of_reach,
            refuses_writes: checkup.refuses_writes,
            survey,
            file: None,
            cluster: None,
        }
    }
}

impl ClockOffset {
    const fn of(offset: Offset) -> Self {
        Self {
            is_ahead: offset.is_ahead,
            by: offset.by,
            uncertainty: offset.uncertainty,
        }
    }
}

impl Persistence {
    fn of(info: &HashMap<String, String>, config: &HashMap<String, String>) -> Self {
        let is_bad = |name: &str| info.get(name).is_some_and(|status| status != "ok");
        let failed = match (
            is_bad("aof_last_write_status"),
            is_bad("rdb_last_bgsave_status"),
        ) {
            (true, _) => Some("append-only file".to_owned()),
            (false, true) => Some("snapshot".to_owned()),
            (false, false) => None,
        };
        Self {
            has_log: info.get("aof_enabled").map(|enabled| enabled == "1"),
            fsync: config.get("appendfsync").cloned(),
            fsync_on_rewrite: config
                .get("no-appendfsync-on-rewrite")
                .map(|pauses| pauses == "no"),
            snapshots: config.get("save").cloned(),
            failed,
        }
    }
}

/// How much is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Everything,
    /// What decides whether a node votes.
    Votes,
}

/// How long a node has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// For all of it, if there is a limit.
    pub(super) whole: Option<Duration>,
    /// For each answer, if not five seconds.
    pub(super) answer: Option<Duration>,
}

/// Looks at all nodes at once, or at those that follow them if locks go by it. Without a lock, one that nobody has is asked
/// about.
pub(super) async fn examine(
    operated: Operated,
    extent: Extent,
    lock: Option<Resource>,
    limits: Limits,
) -> Vec<Told<Examination>> {
    let told = examine_these(operated.clone(), extent, lock.clone(), limits).await;
    let Some((place, followed)) = operated.followed(told.iter().filter_map(of_others)) else {
        return told;
    };
    let mut told = examine_these(followed, extent, lock, limits).await;
    if let (Some(told), Some((former, _))) = (told.get_mut(place), operated.nodes.get(place)) {
        told.former = Some(former.clone());
    }
    told
}

/// The configuration that a node votes for, if it is not ours.
fn of_others(told: &Told<Examination>) -> Option<&str> {
    let NodeAnswer::Told(seen) = &told.answer else {
        return None;
    };
    match &seen.survey {
        Some(NodeAnswer::Told(survey)) => match &survey.membership {
            Membership::Others { configuration } => Some(configuration),
            _ => None,
        },
        _ => None,
    }
}

async fn examine_these(
    operated: Operated,
    extent: Extent,
    lock: Option<Resource>,
    limits: Limits,
) -> Vec<Told<Examination>> {
    let kind = match operated.fenced() {
        Ok(_) => CheckedKind::Fenced {
            queues: operated.configuration.queues(),
        },
        Err(_) => CheckedKind::Plain,
    };
    let configuration = operated.configuration;
    let format = configuration.key_format();
    let lock = match lock {
        Some(lock) => CheckedLock::Named(format.key(lock.as_str()).into_owned()),
        None => CheckedLock::Nobodys(format.key("leasehold/doctor").into_owned()),
    };
    let jobs = operated.nodes.into_iter().map(|(node, spot)| {
        let look = NodeLook {
            extent,
            lock: lock.clone(),
            kind: kind.clone(),
            limit: limits.answer,
            configuration: configuration.clone(),
        };
        async move {
            let looking = look.at(spot);
            let answer = match limits.whole {
                None => looking.await,
                Some(limit) => timeout(limit, looking).await.unwrap_or_else(|_| {
                    NodeAnswer::Silent(format!("the node did not answer within {limit:?}"))
                }),
            };
            Told {
                node,
                former: None,
                answer,
            }
        }
    });
    at_once(jobs).await
}

/// How a node is looked at.
#[derive(Clone)]
struct NodeLook {
    extent: Extent,
    lock: CheckedLock,
    kind: CheckedKind,
    /// For each answer, if not five seconds.
    limit: Option<Duration>,
    configuration: Configuration,
}

impl NodeLook {
    async fn at(self, spot: Spot) -> NodeAnswer<Examination> {
        match spot {
            Spot::Elsewhere => NodeAnswer::NeedsNone,
            Spot::Server(url) if url.is_cluster() => self.at_cluster(&url).await,
            Spot::Server(url) => {
                let mut answer = self.at_server(&url).await;
                if let (Extent::Everything, NodeAnswer::Told(seen)) = (self.extent, &mut answer) {
                    self.look_behind(&url, seen).await;
                }
                answer
            }
            #[cfg(all(feature = "file", unix))]
            Spot::File(file) => match file.contents(Clock::system()) {
                Ok(contents) => {
                    let trial = file.try_out(Clock::system());
                    NodeAnswer::Told(of_file(contents, trial.err()))
                }
                Err(why) => NodeAnswer::Silent(why),
            },
        }
    }

    async fn visit(&self, url: &RedisUrl) -> Result<AdminClient, String> {
        let (url, node_key) = (url.clone(), self.configuration.node_key());
        match self.limit {
            Some(limit) => AdminClient::visit_briefly(url, node_key, limit).await,
            None => AdminClient::visit(url, node_key).await,
        }
    }

    async fn at_server(&self, url: &RedisUrl) -> NodeAnswer<Examination> {
        let mut admin_client = match self.visit(url).await {
            Ok(admin_client) => admin_client,
            Err(why) => return NodeAnswer::Silent(why),
        };
        let (lock, kind) = (&self.lock, &self.kind);
        let clock = Clock::system();
        let checkup = match self.extent {
            Extent::Everything => admin_client.check_up(clock, lock, kind).await,
            Extent::Votes => {
                // A node that answers later than a vote waits does not vote.
                let sent = clock.now();
                admin_client.run_id().await;
                let round_trips = vec![clock.now().saturating_since(sent)];
                let of_vote = admin_client.check_vote(lock, kind).await;
                Ok(Checkup {
                    round_trips,
                    ..of_vote
                })
            }
        };
        let checkup = match checkup {
            Ok(checkup) => checkup,
            Err(why) => return NodeAnswer::Silent(why),
        };
        let survey = match kind {
            CheckedKind::Fenced { .. } => {
                let survey = survey_of(&mut admin_client, &self.configuration).await;
                Some(survey.map_or_else(NodeAnswer::Silent, NodeAnswer::Told))
            }
            CheckedKind::Plain | CheckedKind::PlainInCluster => None,
        };
        NodeAnswer::Told(Examination {
            is_proxied: admin_client.is_proxied(),
            ..Examination::of(checkup, survey)
        })
    }

    /// Whether further connections lead to the same server.
    async fn look_behind(&self, url: &RedisUrl, seen: &mut Examination) {
        for _ in 0..FURTHER {
            // A connection that is not answered leads to no other server.
            let run_id = match self.visit(url).await {
                Ok(mut further) => further.run_id().await,
                Err(_) => None,
            };
            let is_known =
                run_id == seen.run_id || run_id.iter().any(|other| seen.others.contains(other));
            seen.others.extend(run_id.filter(|_| !is_known));
        }
    }
}

/// How many more connections are opened to an address, to see whether they lead to the same server. Balancers take turns.
const FURTHER: usize = 3;

#[cfg(all(feature = "file", unix))]
fn of_file(contents: crate::link::file::Contents, unusable: Option<String>) -> Examination {
    let holders = contents.held.into_iter().map(|held| {
        let name = held.resource.map(|resource| resource.as_str().to_owned());
        (held.process, name.unwrap_or_default())
    });
    let mut holders: Vec<_> = holders.collect();
    holders.sort_unstable();
    Examination {
        file: Some(FileExamination {
            path: contents.file,
            used: contents.used,
            room: contents.room,
            holders,
            unusable,
        }),
        ..Examination::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_does_not_tell_is_none() {
        let silent = NodeAnswer::Silent("x".to_owned());
        let told = Examination::of(Checkup::default(), Some(silent.clone()));
        let expected = Examination {
            survey: Some(silent),
            ..Examination::default()
        };
        assert_eq!(told, expected);
        assert_eq!(told.round_trip(), None);
    }

    #[test]
    fn what_a_server_tells_is_found() {
        let info = [
            ("redis_version", "7.2.4"),
            ("valkey_version", "8.1.3"),
            ("used_memory", "1000"),
            ("maxmemory", "0"),
            ("maxmemory_policy", "noeviction"),
            ("aof_enabled", "1"),
            ("rdb_last_bgsave_status", "err"),
            ("aof_last_write_status", "ok"),
        ];
        let pairs = info.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let millis = [1, 2, 9].map(Duration::from_millis);
        let checkup = Checkup {
            round_trips: millis.to_vec(),
            info: Some(HashMap::from(pairs)),
            ..Checkup::default()
        };
        let told = Examination::of(checkup, None);
        assert_eq!(told.round_trip(), Some(Duration::from_millis(2)));
        assert_eq!(told.version.as_deref(), Some("Valkey 8.1.3"));
        assert_eq!(told.memory.map(|memory| memory.limit), Some(None));
        assert_eq!(told.persistence.has_log, Some(true));
        assert_eq!(told.persistence.failed.as_deref(), Some("snapshot"));
    }
}
