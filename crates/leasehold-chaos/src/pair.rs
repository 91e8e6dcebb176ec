//! A node with a replica that can take its place.

use leasehold_servers::{Mode, Proxy, Server, ServerBinary};
use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Two servers, of which one is the master of the other.
#[derive(Debug)]
pub(crate) struct Pair {
    /// Between the replica and its master: where the replica falls behind.
    pub(crate) cable: Proxy,
    servers: [Server; 2],
    master: AtomicUsize,
}

/// What becomes of a master whose place is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Killed,
    Demoted,
}

impl Pair {
    pub(crate) fn start(binary: &ServerBinary) -> Result<Self, String> {
        let start = || {
            let builder = Server::builder().binary(binary);
            let builder = builder.option("repl-diskless-sync-delay", &["0"]);
            builder.start().map_err(|error| error.to_string())
        };
        let servers = [start()?, start()?];
        let cable = Proxy::start(servers[0].port()).map_err(|error| error.to_string())?;
        let pair = Self {
            cable,
            servers,
            master: AtomicUsize::new(0),
        };
        pair.follow().map_err(|error| error.to_string())?;
        Ok(pair)
    }

    pub(crate) fn master(&self) -> &Server {
        &self.servers[self.master.load(Ordering::SeqCst)]
    }

    fn replica(&self) -> &Server {
        &self.servers[1 - self.master.load(Ordering::SeqCst)]
    }

    /// Whether the replica has heard everything up to now, but for what is on its way.
    pub(crate) fn is_in_step(&self) -> bool {
        let info = self.replica().command(&["INFO", "replication"]);
        info.is_ok_and(|info| {
            let lines = info.text().unwrap_or_default().lines();
            lines
                .map(str::trim)
                .any(|line| line == "master_link_status:up")
        })
    }

    /// Kills the master or leaves it alive, promotes the replica, lets `lead_to` give it the master's address, and
    /// makes the old master the new replica. One that lived on is the same process when its turn comes again.
    ///
    /// # Errors
    /// If a server does not do as it is told.
    pub(crate) fn fail_over(&self, end: End, lead_to: impl FnOnce(u16)) -> Result<(), String> {
        let told = |error: io::Error| error.to_string();
        let (old, new) = (self.master(), self.replica());
        if end == End::Killed {
            old.kill().map_err(told)?;
        }
        new.command(&["REPLICAOF", "NO", "ONE"]).map_err(told)?;
        self.master.fetch_xor(1, Ordering::SeqCst);
        // Before it is mended: what was held back never arrives.
        self.cable.retarget(new.port());
        self.cable.set(Mode::Pass);
        lead_to(new.port());
        if end == End::Killed {
            old.restart_empty().map_err(|error| error.to_string())?;
        }
        self.follow().map_err(told)
    }

    fn follow(&self) -> io::Result<()> {
        let port = self.cable.port().to_string();
        let words = ["REPLICAOF", "127.0.0.1", &port];
        self.replica().command(&words).map(drop)
    }
}
