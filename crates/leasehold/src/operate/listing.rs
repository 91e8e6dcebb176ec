//! All locks on the nodes.

use super::{Answer, Told, at_once, in_time};
use crate::{
    builder::{Operated, Spot},
    clock::Clock,
    configuration::Configuration,
    error::NodeFault,
    inspection::{Inspection, Key, NodeKey},
    link::{
        NodeName,
        redis::steward::{Steward, keys::Stored},
    },
};
use leasehold_core::{Owner, Resource};
use std::{collections::BTreeSet, time::Duration};

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

/// A node whose names were read and whose keys are read next.
enum Visit {
    Server(Box<Steward>),
    /// What is there was read at once.
    #[cfg(all(feature = "file", unix))]
    Read(std::collections::BTreeMap<Resource, Key>),
    Silent(String),
    NeedsNone,
}

/// Reads all nodes' names, and then what every node has under any of them.
pub(super) async fn list(
    operated: Operated,
    prefix: String,
    most: usize,
    limit: Option<Duration>,
) -> Listing {
    let (quorum, configuration) = (operated.quorum, operated.configuration);
    let clock = Clock::system();
    let end = limit.map(|limit| clock.now().saturating_add(limit));
    let left = move || end.map(|end| end.saturating_since(clock.now()));
    let jobs = operated.nodes.into_iter().map(|(node, spot)| {
        let (configuration, prefix) = (configuration.clone(), prefix.clone());
        async move {
            let scan = scan(spot, &configuration, &prefix, most, left());
            let (visit, scanned, names) = scan.await;
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
                Err(why) => unknown(node, why.as_deref().unwrap_or("it cannot be listed")),
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

fn answer(read: &Result<Vec<Key>, Option<String>>, scanned: Option<Scanned>) -> Answer<Scanned> {
    match (read, scanned) {
        (Err(Some(why)), _) => Answer::Silent(why.clone()),
        (Err(None), _) | (Ok(_), None) => Answer::NeedsNone,
        (Ok(_), Some(scanned)) => Answer::Told(scanned),
    }
}

async fn scan(
    spot: Spot,
    configuration: &Configuration,
    prefix: &str,
    most: usize,
    left: Option<Duration>,
) -> (Visit, Option<Scanned>, BTreeSet<Resource>) {
    let nothing = |visit| (visit, None, BTreeSet::new());
    match spot {
        Spot::Elsewhere => nothing(Visit::NeedsNone),
        Spot::Server(url) => {
            let scanned = in_time(left, async {
                let mut steward = Steward::visit(url, configuration.node_key()).await?;
                let found = steward.scan(configuration.key_format(), prefix, most);
                let found = found.await?;
                Ok((steward, found))
            });
            match scanned.await {
                Err(why) => nothing(Visit::Silent(why)),
                Ok((steward, (names, is_all))) => {
                    let scanned = Scanned {
                        keys: names.len(),
                        has_more: !is_all,
                    };
                    (Visit::Server(Box::new(steward)), Some(scanned), names)
                }
            }
        }
        #[cfg(all(feature = "file", unix))]
        Spot::File(file) => {
            let contents = match file.contents(Clock::system()) {
                Ok(contents) => contents,
                Err(why) => return nothing(Visit::Silent(why)),
            };
            let mut read = std::collections::BTreeMap::new();
            for held in contents.held {
                let key = Key::Held {
                    holder: held.owner,
                    remaining: Some(held.remaining),
                };
                let resource = held
                    .resource
                    .filter(|name| name.as_str().starts_with(prefix));
                read.extend(resource.map(|resource| (resource, key)));
            }
            let scanned = Scanned {
                keys: read.len(),
                has_more: read.len() > most,
            };
            let names = read.keys().take(most).cloned().collect();
            (Visit::Read(read), Some(scanned), names)
        }
    }
}

/// What the node has under each name. The error is why that is not known; none if it cannot have a list.
async fn read(
    visit: Visit,
    configuration: &Configuration,
    names: &[Resource],
    left: Option<Duration>,
) -> Result<Vec<Key>, Option<String>> {
    match visit {
        Visit::NeedsNone => Err(None),
        Visit::Silent(why) => Err(Some(why)),
        #[cfg(all(feature = "file", unix))]
        Visit::Read(mut keys) => {
            let key = |name| keys.remove(name).unwrap_or(Key::Free);
            Ok(names.iter().map(key).collect())
        }
        Visit::Server(mut steward) => {
            let stored = in_time(left, steward.read(configuration.key_format(), names));
            let stored = stored.await.map_err(Some)?;
            Ok(stored.into_iter().map(key).collect())
        }
    }
}

pub(super) fn key(stored: Stored) -> Key {
    match stored {
        Stored::Nothing => Key::Free,
        Stored::Other => Key::Foreign { remaining: None },
        Stored::Value(value, remaining) => match Owner::from_bytes(&value) {
            Some(holder) => Key::Held { holder, remaining },
            None => Key::Foreign { remaining },
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
            Key::Held {
                remaining: Some(_),
                ..
            }
        )
    })
}
