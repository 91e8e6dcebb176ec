//! Where a scenario takes place: servers, proxies before them, and clients.

use crate::{
    bell::Bell, chronicle::Chronicle, client::Orders, draw::Draw, scenario::Scenario,
    worker::Worker,
};
use leasehold_servers::{Proxy, Server, ServerBinary, ServerSet};
use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// All that there is to disturb. Dropping it ends every process.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) scenario: &'static Scenario,
    pub(crate) bell: Bell,
    pub(crate) chronicle: Chronicle,
    // Clients go first, proxies next: nobody is to complain of servers that are gone.
    workers: Vec<Mutex<Worker>>,
    /// One proxy for each node in each of two places, so that a network can be bad for some clients only.
    places: Vec<Vec<Proxy>>,
    servers: ServerSet,
    /// Held while a server is down, so that two strikes do not start it twice.
    restarts: Vec<Mutex<()>>,
}

impl Site {
    /// Starts servers, proxies and clients; their journals go to `folder`.
    pub(crate) fn start(
        scenario: &'static Scenario,
        binary: &ServerBinary,
        seed: u64,
        folder: &Path,
    ) -> Result<Self, String> {
        let told = |error: std::io::Error| error.to_string();
        let servers = ServerSet::start_with(scenario.nodes, |_, builder| {
            let builder = builder.binary(binary);
            if scenario.durable {
                let builder = builder.option("appendonly", &["yes"]);
                builder.option("appendfsync", &["always"])
            } else {
                builder
            }
        });
        let servers = servers.map_err(|error| error.to_string())?;
        let mut places = Vec::new();
        for _ in 0..if scenario.proxied { 2 } else { 0 } {
            let proxies = servers.iter().map(|server| Proxy::start(server.port()));
            places.push(proxies.collect::<Result<Vec<_>, _>>().map_err(told)?);
        }
        let mut site = Self {
            scenario,
            bell: Bell::default(),
            chronicle: Chronicle::create(folder).map_err(told)?,
            workers: Vec::new(),
            places,
            restarts: servers.iter().map(|_| Mutex::new(())).collect(),
            servers,
        };
        let mut draw = Draw::named(seed, "clients");
        for number in 0..CLIENTS {
            let orders = Orders {
                kind: scenario.clients,
                journal: folder.to_owned(),
                ports: site.ports(number),
                ttl: scenario.ttl,
                seed: draw.next(),
            };
            let mut worker = Worker::new(number, folder, orders);
            worker.start().map_err(told)?;
            site.workers.push(Mutex::new(worker));
        }
        Ok(site)
    }

    /// Where client `number` finds the nodes.
    fn ports(&self, number: usize) -> Vec<u16> {
        match self.places.get(number % self.places.len().max(1)) {
            Some(proxies) => proxies.iter().map(Proxy::port).collect(),
            None => self.servers.iter().map(Server::port).collect(),
        }
    }

    pub(crate) const fn servers(&self) -> &ServerSet {
        &self.servers
    }

    pub(crate) fn places(&self) -> &[Vec<Proxy>] {
        &self.places
    }

    pub(crate) const fn clients(&self) -> usize {
        CLIENTS
    }

    pub(crate) fn worker(&self, number: usize) -> MutexGuard<'_, Worker> {
        let worker = self.workers[number].lock();
        worker.unwrap_or_else(PoisonError::into_inner)
    }

    /// The right to kill and start this server.
    pub(crate) fn restart_of(&self, number: usize) -> MutexGuard<'_, ()> {
        let restart = self.restarts[number].lock();
        restart.unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all clients, whatever they are doing.
    pub(crate) fn kill_clients(&self) {
        for number in 0..self.workers.len() {
            self.worker(number).kill(&self.chronicle);
        }
    }
}

/// Enough that somebody always waits.
const CLIENTS: usize = 5;
