//! Waiting by the bare wire: nobody can be woken much sooner.
//!
//! One thread that sleeps in a read. Each node tells a second connection when the key has changed (`CLIENT TRACKING ON
//! REDIRECT`). When a quorum has told, every node is asked, and the answers of a quorum are the end. No timer behind it,
//! no expiry, nobody else who waits: it serves for comparison and for nothing else.

use crate::{Fallible, moment::Moment};
use leasehold_servers::{Connection, Server, ServerSet};

/// Two connections to each node.
#[derive(Debug)]
pub(crate) struct BareWaiter {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    asks: Connection,
    is_told: Connection,
}

impl BareWaiter {
    pub(crate) fn connect(servers: &ServerSet) -> Fallible<Self> {
        let lines = servers.iter().map(Line::open);
        Ok(Self {
            lines: lines.collect::<Fallible<_>>()?,
        })
    }

    /// Waits for a key that somebody holds on all nodes, and deletes it again. Says when it had it.
    pub(crate) fn wait(&mut self, key: &str) -> Fallible<Moment> {
        for line in &mut self.lines {
            line.asks.command(&["GET", key])?;
        }
        // They tell in the order in which they are asked to delete it, near enough.
        let quorum = self.lines.len() / 2 + 1;
        for line in &mut self.lines[..quorum] {
            line.is_told.receive()?;
        }
        for line in &mut self.lines {
            line.asks.send(&["SET", key, "us", "NX", "PX", "10000"])?;
        }
        for line in &mut self.lines[..quorum] {
            line.asks.receive()?;
        }
        let had = Moment::now();
        for line in &mut self.lines[quorum..] {
            line.asks.receive()?;
            line.is_told.receive()?;
        }
        for line in &mut self.lines {
            line.asks.command(&["DEL", key])?;
        }
        Ok(had)
    }
}

impl Line {
    fn open(server: &Server) -> Fallible<Self> {
        let (mut asks, mut is_told) = (server.connect()?, server.connect()?);
        let id = is_told.command(&["CLIENT", "ID"])?.integer();
        let id = id.ok_or("the server gives its connections no numbers")?;
        is_told.command(&["SUBSCRIBE", "__redis__:invalidate"])?;
        let redirect = [
            "CLIENT",
            "TRACKING",
            "ON",
            "REDIRECT",
            &id.to_string(),
            "NOLOOP",
        ];
        asks.command(&redirect)?;
        Ok(Self { asks, is_told })
    }
}
