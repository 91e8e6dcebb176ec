//! The servers of a run.

use crate::{Fallible, ours};
use leasehold_servers::{Reply, Server, ServerSet};

/// Everything that is started for a run, and ends with it.
#[derive(Debug)]
pub(crate) struct Ground {
    /// Three nodes, for who locks by quorum.
    pub(crate) three: NodeSet,
    /// Three nodes, of which one is dead.
    pub(crate) two_of_three: NodeSet,
    /// Five nodes, for ourselves.
    pub(crate) five: NodeSet,
    /// One node, for who knows no more.
    pub(crate) one: NodeSet,
    /// Where the counter is.
    pub(crate) counter: Server,
}

/// Nodes that locks are on.
#[derive(Debug)]
pub(crate) struct NodeSet {
    servers: ServerSet,
}

impl Ground {
    pub(crate) fn start() -> Fallible<Self> {
        let two_of_three = NodeSet::start(3)?;
        two_of_three.servers[2].kill()?;
        Ok(Self {
            three: NodeSet::start(3)?,
            five: NodeSet::start(5)?,
            two_of_three,
            one: NodeSet::start(1)?,
            counter: Server::start()?,
        })
    }

    /// Ends the servers, for a run that ends before its time.
    pub(crate) fn stop(&self) {
        let sets = [&self.three, &self.two_of_three, &self.five, &self.one];
        let servers = sets.into_iter().flat_map(|nodes| nodes.servers.iter());
        for server in servers.chain([&self.counter]) {
            // Nobody is left who could be told.
            drop(server.kill());
        }
    }
}

impl NodeSet {
    /// New nodes, which vote for everybody.
    fn start(count: usize) -> Fallible<Self> {
        let servers = ServerSet::start(count)?;
        ours::admit(&servers.urls())?;
        Ok(Self { servers })
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.servers.urls()
    }

    /// From now on each node keeps what it is asked, or does not any more.
    pub(crate) fn keep_commands(&self, keeps: bool) -> Fallible<()> {
        for server in self.servers.iter() {
            let least_us = if keeps { "0" } else { "-1" };
            server.command(&["CONFIG", "SET", "slowlog-max-len", KEPT])?;
            server.command(&["CONFIG", "SET", "slowlog-log-slower-than", least_us])?;
        }
        Ok(())
    }

    /// The most keys of a call of a script, among the last commands that a node has kept.
    pub(crate) fn most_keys_of_a_call(&self) -> Fallible<usize> {
        let mut most = 0;
        for server in self.servers.iter() {
            let Reply::Array(kept) = server.command(&["SLOWLOG", "GET", KEPT])? else {
                return Err("a node does not tell what it was asked".into());
            };
            for entry in kept {
                let words = match &entry {
                    Reply::Array(parts) => parts.get(3).map(Reply::texts),
                    _ => None,
                };
                if let Some(["EVALSHA", _, keys, ..]) = words.as_deref() {
                    most = most.max(keys.parse()?);
                }
            }
        }
        Ok(most)
    }

    /// What stands under a key on each node that lives: the value, or of a hash its first field.
    pub(crate) fn values(&self, key: &str) -> Fallible<Vec<Option<String>>> {
        let living = self.servers.iter().filter(|server| server.pid().is_some());
        living
            .map(|server| {
                let value = match server.command(&["GET", key]) {
                    Err(error) if error.to_string().starts_with("WRONGTYPE") => {
                        let fields = server.command(&["HKEYS", key])?;
                        return Ok(fields.texts().first().map(|&field| field.to_owned()));
                    }
                    other => other?,
                };
                Ok(value.text().map(str::to_owned))
            })
            .collect()
    }
}

/// How many commands a node keeps.
const KEPT: &str = "2000";
