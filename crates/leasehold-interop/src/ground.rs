//! The servers of a run.

use crate::{Fallible, ours};
use leasehold_servers::{Reply, Server, ServerSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    /// How many checks want the nodes to keep what they are asked.
    kept_for: Mutex<usize>,
}

/// As long as there is one, the nodes keep what they are asked.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    nodes: &'a NodeSet,
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
        let kept_for = Mutex::new(0);
        Ok(Self { servers, kept_for })
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.servers.urls()
    }

    /// From now on each node keeps what it is asked. Checks of other peers may want it at the same time.
    pub(crate) fn keep_commands(&self) -> Fallible<Kept<'_>> {
        let mut kept_for = self.kept_for();
        if *kept_for == 0 {
            self.set_keeping("0")?;
        }
        *kept_for += 1;
        Ok(Kept { nodes: self })
    }

    fn set_keeping(&self, least_us: &str) -> Fallible<()> {
        for server in self.servers.iter() {
            server.command(&["CONFIG", "SET", "slowlog-max-len", KEPT])?;
            server.command(&["CONFIG", "SET", "slowlog-log-slower-than", least_us])?;
        }
        Ok(())
    }

    fn kept_for(&self) -> MutexGuard<'_, usize> {
        self.kept_for.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Kept<'_> {
    /// The most keys of a call of a script, among the last commands that a node has kept.
    pub(crate) fn most_keys_of_a_call(&self) -> Fallible<usize> {
        let mut most = 0;
        for server in self.nodes.servers.iter() {
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
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        let mut kept_for = self.nodes.kept_for();
        *kept_for -= 1;
        if *kept_for == 0 {
            // Where it fails, a node keeps what nobody asks for.
            drop(self.nodes.set_keeping("-1"));
        }
    }
}

/// How many commands a node keeps.
const KEPT: &str = "2000";

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_servers::require_server;

    #[test]
    fn commands_are_kept_until_nobody_wants_them_any_more() {
        require_server();
        let nodes = NodeSet::start(1).unwrap();
        let least_us = || {
            let words = ["CONFIG", "GET", "slowlog-log-slower-than"];
            let told = nodes.servers[0].command(&words).unwrap();
            told.texts()[1].to_owned()
        };
        let one = nodes.keep_commands().unwrap();
        let other = nodes.keep_commands().unwrap();
        drop(one);
        assert_eq!(least_us(), "0");
        let sha = nodes.servers[0].command(&["SCRIPT", "LOAD", "return 1"]);
        let sha = sha.unwrap().text().unwrap().to_owned();
        let call = ["EVALSHA", &sha, "3", "a", "b", "c"];
        nodes.servers[0].command(&call).unwrap();
        assert_eq!(other.most_keys_of_a_call().unwrap(), 3);
        drop(other);
        assert_eq!(least_us(), "-1");
    }
}
