//! All locks on the nodes.

use super::{NodeAnswer, Operator, Told, UNLISTED, at_once, elsewhere, in_time};
use crate::{
    builder::{Operated, Spot},
    clock::Clock,
    configuration::Configuration,
    error::{ConfigError, NodeFault},
    inspection::{HeldPermits, Inspection, Key, NodeKey},
    link::{
        NodeName,
        redis::{
            RedisUrl,
            admin_client::{
                AdminClient,
                cluster::ClusterClient,
                keys::{Sort, Stored},
            },
        },
    },
};
use leasehold_core::{Owner, Resource};
use std::{collections::BTreeSet, fmt, time::Duration};

/// All locks on the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// What came of asking each node.
    pub nodes: Vec<Told<Scanned>>,
    /// The locks, in the order of their names: whatever any node has, be it of a quorum or left over.
    pub locks: Vec<Inspection>,
    /// How many nodes must agree.
    pub quorum: usize,
}

/// How a node's keys were gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scanned {
    /// How many keys it had that may be locks.
    pub keys: usize,
    /// Whether it had more than were wanted, which were left out.
    pub has_more: bool,
}

/// `12 keys`.
impl fmt::Display for Scanned {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = if self.keys == 1 { "key" } else { "keys" };
        let more = if self.has_more {
            ", and more that were left out"
        } else {
            ""
        };
        write!(out, "{} {keys}{more}", self.keys)
    }
}

/// Which locks are listed, and how long the nodes have for it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Search {
    prefix: String,
    most: usize,
    hashes: bool,
    answer_within: Option<Duration>,
}

impl Search {
    /// For all locks whose names begin with `prefix`, 10,000 of each node at most. Each answer of a node may take five
    /// seconds.
    pub fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            most: 10_000,
            hashes: false,
            answer_within: None,
        }
    }

    /// Of each node at most so many keys are read.
    pub fn most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Hashes are gone through as well, for those in which Redisson keeps a lock.
    pub fn hashes(mut self) -> Self {
        self.hashes = true;
        self
    }

    /// A node that leaves anything unanswered for so long is [`Silent`](NodeAnswer::Silent). A large number of keys is gone
    /// through in many small steps, each of which has this time.
    pub fn answer_within(mut self, limit: Duration) -> Self {
        self.answer_within = Some(limit);
        self
    }

    async fn visit(&self, url: RedisUrl, configuration: &Configuration) -> Result<Visit, String> {
        let node_key = configuration.node_key();
        if url.is_cluster() {
            let client = ClusterClient::visit(url, node_key, self.answer_within).await?;
            return Ok(Visit::Cluster(client));
        }
        let admin_client = match self.answer_within {
            None => AdminClient::visit(url, node_key).await,
            Some(limit) => AdminClient::visit_briefly(url, node_key, limit).await,
        };
        Ok(Visit::Server(Box::new(admin_client?)))
    }

    /// The names of what may be a lock on these servers, and whether there are no more.
    async fn scan_all(
        &self,
        servers: Vec<&mut AdminClient>,
        configuration: &Configuration,
    ) -> Result<(BTreeSet<Resource>, bool), String> {
        let (mut names, mut is_all) = (BTreeSet::new(), true);
        for server in servers {
            let (more, is_all_more) = self.scan(server, configuration).await?;
            names.extend(more);
            is_all &= is_all_more;
        }
        is_all &= names.len() <= self.most;
        Ok((names.into_iter().take(self.most).collect(), is_all))
    }

    /// The names of what may be a lock on this server, and whether there are no more.
    async fn scan(
        &self,
        admin_client: &mut AdminClient,
        configuration: &Configuration,
    ) -> Result<(BTreeSet<Resource>, bool), String> {
        let (format, prefix) = (configuration.key_format(), self.prefix.as_str());
        let (mut names, mut is_all) = admin_client
            .scan(Sort::Texts, format, prefix, self.most)
            .await?;
        for sort in [Sort::SortedSets, Sort::Hashes] {
            if sort == Sort::Hashes && !self.hashes {
                continue;
            }
            let (more, is_all_more) = admin_client.scan(sort, format, prefix, self.most).await?;
            names.extend(more);
            is_all &= is_all_more;
        }
        Ok((names, is_all))
    }
}

/// Reads what all nodes have under one name.
pub(super) async fn look(operated: Operated, resource: Resource) -> Inspection {
    let (quorum, configuration) = (operated.quorum, operated.configuration);
    let search = Search::new(resource.as_str());
    let jobs = operated.nodes.into_iter().map(|(node, spot)| {
        let (configuration, search) = (configuration.clone(), search.clone());
        let names = [resource.clone()];
        async move {
            let visit = match spot {
                Spot::Server(url) => {
                    { search.visit(url, &configuration).await }.unwrap_or_else(Visit::Silent)
                }
                // There is little to go through.
                other => scan(other, &configuration, &search, None).await.0,
            };
            let key = match read(visit, &configuration, &names, None).await {
                Ok(keys) => keys.into_iter().next().unwrap_or(Key::Free),
                Err(why) => unknown(&node, why.as_deref().unwrap_or(UNLISTED)),
            };
            NodeKey {
                node,
                key,
                counter: None,
            }
        }
    });
    let keys = at_once(jobs).await;
    Inspection::of(resource, quorum, keys)
}

impl Operator {
    /// What was seen, and of the nodes that are `wanted` what they have under the name now, if they tell it: as
    /// [`look`](Self::look) does, but no others are asked. For nodes that are [`Unknown`](Key::Unknown) to a manager, since they
    /// answer and do not vote.
    ///
    /// # Errors
    /// [`ConfigError::Thread`] if there is no thread to be had.
    ///
    /// # Cancel safety
    /// Dropping the future loses the answers and nothing else.
    pub async fn look_at_these(
        &self,
        mut seen: Inspection,
        wanted: impl Fn(&NodeName) -> bool,
    ) -> Result<Inspection, ConfigError> {
        let mut operated = self.operated.clone();
        operated.nodes.retain(|(node, _)| wanted(node));
        let looked = elsewhere(look(operated, seen.resource().clone())).await?;
        for told in looked.nodes() {
            let number = seen.nodes().iter().position(|node| node.node == told.node);
            if let (Some(number), false) = (number, matches!(told.key, Key::Unknown(_))) {
                seen.note(number, Ok(told.key.clone()), told.counter);
            }
        }
        Ok(seen)
    }
}

/// A node whose names were read and whose keys are read next.
enum Visit {
    Server(Box<AdminClient>),
    Cluster(ClusterClient),
    /// What is there was read at once.
    #[cfg(all(feature = "file", unix))]
    Read(std::collections::BTreeMap<Resource, Key>),
    Silent(String),
    Unlisted,
}

impl Visit {
    /// The servers that have the keys.
    async fn servers(&mut self) -> Result<Vec<&mut AdminClient>, String> {
        match self {
            Self::Server(admin_client) => Ok(vec![admin_client]),
            Self::Cluster(client) => client.masters().await,
            _ => Ok(Vec::new()),
        }
    }
}

/// Reads all nodes' names, and then what every node has under any of them.
pub(super) async fn list(operated: Operated, search: Search, limit: Option<Duration>) -> Listing {
    let (quorum, configuration) = (operated.quorum, operated.configuration);
    let clock = Clock::system();
    let end = limit.map(|limit| clock.now().saturating_add(limit));
    let left = move || end.map(|end| end.saturating_since(clock.now()));
    let jobs = operated.nodes.into_iter().map(|(node, spot)| {
        let (configuration, search) = (configuration.clone(), search.clone());
        async move {
            let (visit, scanned, names) = scan(spot, &configuration, &search, left()).await;
            (node, visit, scanned, names)
        }
    });
    let (mut visits, mut nodes, mut all) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (node, visit, scanned, names) in at_once(jobs).await {
        all.extend(names);
        visits.push((node, visit, scanned));
    }
    let all: Vec<_> = all.into_iter().collect();
    let jobs = visits.into_iter().map(|(node, visit, scanned)| {
        let (configuration, all) = (configuration.clone(), all.clone());
        async move {
            let read = read(visit, &configuration, &all, left()).await;
            (node, scanned, read)
        }
    });
    let mut columns = Vec::new();
    for (node, scanned, read) in at_once(jobs).await {
        nodes.push(Told {
            node: node.clone(),
            former: None,
            answer: answer(&read, scanned),
        });
        columns.push((node, read));
    }
    let locks = all.into_iter().enumerate().map(|(row, resource)| {
        let keys = columns.iter().map(|(node, read)| NodeKey {
            counter: None,
            node: node.clone(),
            key: match read {
                Ok(keys) => keys[row].clone(),
                Err(why) => unknown(node, why.as_deref().unwrap_or(UNLISTED)),
            },
        });
        Inspection::of(resource, quorum, keys.collect())
    });
    let locks = locks.filter(is_lock).collect();
    let quorum = quorum.needed();
    Listing {
        nodes,
        locks,
        quorum,
    }
}

fn answer(
    read: &Result<Vec<Key>, Option<String>>,
    scanned: Option<Scanned>,
) -> NodeAnswer<Scanned> {
    match (read, scanned) {
        (Err(Some(why)), _) => NodeAnswer::Silent(why.clone()),
        (Err(None), _) | (Ok(_), None) => NodeAnswer::CannotBeListed,
        (Ok(_), Some(scanned)) => NodeAnswer::Told(scanned),
    }
}

async fn scan(
    spot: Spot,
    configuration: &Configuration,
    search: &Search,
    left: Option<Duration>,
) -> (Visit, Option<Scanned>, BTreeSet<Resource>) {
    let nothing = |visit| (visit, None, BTreeSet::new());
    match spot {
        Spot::Elsewhere => nothing(Visit::Unlisted),
        Spot::Server(url) => {
            let scanned = in_time(left, async {
                let mut visit = search.visit(url, configuration).await?;
                let found = search
                    .scan_all(visit.servers().await?, configuration)
                    .await?;
                Ok((visit, found))
            });
            match scanned.await {
                Err(why) => nothing(Visit::Silent(why)),
                Ok((visit, (names, is_all))) => {
                    let scanned = Scanned {
                        keys: names.len(),
                        has_more: !is_all,
                    };
                    (visit, Some(scanned), names)
                }
            }
        }
        #[cfg(all(feature = "file", unix))]
        Spot::File(file) => {
            let contents = match file.contents(Clock::system()) {
                Ok(contents) => contents,
                Err(why) => return nothing(Visit::Silent(why)),
            };
            let read = file_keys(contents.held, &search.prefix);
            let scanned = Scanned {
                keys: read.len(),
                has_more: read.len() > search.most,
            };
            let names = read.keys().take(search.most).cloned().collect();
            (Visit::Read(read), Some(scanned), names)
        }
    }
}

/// What a store has under the names that begin with `prefix`.
#[cfg(all(feature = "file", unix))]
pub(super) fn file_keys(
    held: Vec<crate::link::file::HeldKey>,
    prefix: &str,
) -> std::collections::BTreeMap<Resource, Key> {
    let mut keys = std::collections::BTreeMap::new();
    let mut permits: std::collections::BTreeMap<Resource, Vec<_>> = Default::default();
    for held in held {
        let name = held.resource;
        let Some(name) = name.filter(|name| name.as_str().starts_with(prefix)) else {
            continue;
        };
        if held.owner.permit().is_some() {
            let owners = permits.entry(name).or_default();
            owners.push((held.owner, held.remaining));
            continue;
        }
        let key = Key::Held {
            holder: held.owner,
            remaining: Some(held.remaining),
        };
        keys.insert(name, key);
    }
    let permits = permits.into_iter();
    keys.extend(permits.filter_map(|(name, owners)| {
        let permits = HeldPermits::of(owners)?;
        Some((name, Key::Permits(permits)))
    }));
    keys
}

/// What the node has under each name. The error is why that is not known; none if it cannot have a list.
async fn read(
    visit: Visit,
    configuration: &Configuration,
    names: &[Resource],
    left: Option<Duration>,
) -> Result<Vec<Key>, Option<String>> {
    match visit {
        Visit::Unlisted => Err(None),
        Visit::Silent(why) => Err(Some(why)),
        #[cfg(all(feature = "file", unix))]
        Visit::Read(mut keys) => {
            let key = |name| keys.remove(name).unwrap_or(Key::Free);
            Ok(names.iter().map(key).collect())
        }
        Visit::Cluster(mut client) => {
            let stored = in_time(left, client.read(configuration.key_format(), names));
            let stored = stored.await.map_err(Some)?;
            Ok(stored.into_iter().map(key).collect())
        }
        Visit::Server(mut admin_client) => {
            let stored = in_time(left, admin_client.read(configuration.key_format(), names));
            let stored = stored.await.map_err(Some)?;
            Ok(stored.into_iter().map(key).collect())
        }
    }
}

pub(super) fn key(stored: Stored) -> Key {
    match stored {
        Stored::Nothing => Key::Free,
        Stored::Permits(owners) => HeldPermits::of(owners).map_or(Key::Free, Key::Permits),
        Stored::Other {
            kind,
            remaining: Some(remaining),
            ..
        } if kind.as_deref() == Some("readers") => Key::Read { remaining },
        Stored::Other {
            kind,
            redisson,
            remaining,
        } => Key::Foreign {
            kind,
            redisson,
            remaining,
        },
        Stored::Value(value, remaining) => match Owner::from_bytes(&value) {
            Some(holder) => Key::Held { holder, remaining },
            // An empty text.
            None => Key::Foreign {
                kind: Some("string".to_owned()),
                redisson: None,
                remaining,
            },
        },
    }
}

fn unknown(node: &NodeName, why: &str) -> Key {
    Key::Unknown(NodeFault::down(node.clone(), why))
}

/// Whether any node has something that can be a lock: signed, and for a limited time.
fn is_lock(found: &Inspection) -> bool {
    found.nodes().iter().any(|node| {
        matches!(
            node.key,
            Key::Read { .. }
                | Key::Permits(_)
                | Key::Held {
                    remaining: Some(_),
                    ..
                }
                | Key::Foreign {
                    redisson: Some(_),
                    remaining: Some(_),
                    ..
                }
        )
    })
}
