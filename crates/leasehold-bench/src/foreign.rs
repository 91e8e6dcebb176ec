//! Another program that uses the same keys, by the bare wire.

use crate::{Fallible, moment::Moment};
use leasehold_servers::{Connection, ServerSet};
use std::time::Duration;

/// Its connections, one per node.
#[derive(Debug)]
pub(crate) struct Foreign {
    connections: Vec<Connection>,
}

impl Foreign {
    pub(crate) fn connect(servers: &ServerSet) -> Fallible<Self> {
        let connections = servers.iter().map(leasehold_servers::Server::connect);
        Ok(Self {
            connections: connections.collect::<Result<_, _>>()?,
        })
    }

    /// Holds a key on all nodes for so long. Returns the moment at which the last one has it.
    pub(crate) fn hold(&mut self, key: &str, ttl: Duration) -> Fallible<Moment> {
        let ttl = ttl.as_millis().to_string();
        self.all(&["SET", key, "somebody-else", "PX", &ttl])?;
        Ok(Moment::now())
    }

    /// Deletes a key on all nodes. Returns the moment before the first one heard it.
    pub(crate) fn delete(&mut self, key: &str) -> Fallible<Moment> {
        let before = Moment::now();
        self.all(&["DEL", key])?;
        Ok(before)
    }

    /// Sets so many other keys on every node, to live for a while.
    pub(crate) fn fill(&mut self, keys: usize, ttl: Duration) -> Fallible<()> {
        for number in 0..keys {
            // Not all to expire together.
            let ttl = ttl + Duration::from_millis(number as u64 % 10_000);
            let (key, ttl) = (format!("other:{number}"), ttl.as_millis().to_string());
            let is_pause = number % BATCH == BATCH - 1 || number == keys - 1;
            let batch = number % BATCH + 1;
            for connection in &mut self.connections {
                connection.send(&["SET", &key, "x", "PX", &ttl])?;
                for _ in 0..if is_pause { batch } else { 0 } {
                    connection.receive()?;
                }
            }
        }
        Ok(())
    }

    /// One round trip to one node.
    pub(crate) fn ping(&mut self) -> Fallible<Duration> {
        let started = Moment::now();
        self.connections[0].command(&["PING"])?;
        Ok(started.elapsed())
    }

    fn all(&mut self, words: &[&str]) -> Fallible<()> {
        for connection in &mut self.connections {
            connection.send(words)?;
        }
        for connection in &mut self.connections {
            connection.receive()?;
        }
        Ok(())
    }
}

const BATCH: usize = 100;
