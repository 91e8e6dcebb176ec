//! Real servers, each behind a network that can be made bad.

use leasehold::{LockManager, LockOptions, RestartGuard};
use leasehold_servers::{Proxy, Server, ServerSet, require_server};

pub(crate) struct Cluster {
    pub(crate) servers: ServerSet,
    pub(crate) proxies: Vec<Proxy>,
}

impl Cluster {
    pub(crate) fn start(count: usize) -> Self {
        require_server();
        let servers = ServerSet::start(count).expect("the servers start");
        let proxy = |server: &Server| Proxy::start(server.port()).expect("the proxy starts");
        let proxies = servers.iter().map(proxy).collect();
        Self { servers, proxies }
    }

    /// A manager that goes through the proxies.
    pub(crate) fn manager(&self, defaults: LockOptions) -> LockManager {
        manager(self.proxies.iter().map(Proxy::url), defaults)
    }

    /// A manager that goes to the servers themselves.
    pub(crate) fn direct(&self, defaults: LockOptions) -> LockManager {
        manager(self.servers.urls(), defaults)
    }

    /// On how many servers that answer the key is.
    pub(crate) fn copies(&self, key: &str) -> usize {
        let has = |server: &&Server| {
            server
                .command(&["EXISTS", key])
                .is_ok_and(|reply| reply.integer() == Some(1))
        };
        self.servers.iter().filter(has).count()
    }
}

pub(crate) fn manager(
    urls: impl IntoIterator<Item = String>,
    defaults: LockOptions,
) -> LockManager {
    // Servers that were just started forget nothing, and behind proxies they are the same.
    LockManager::builder()
        .restart_guard(RestartGuard::Off)
        .cluster("suite")
        .nodes(urls)
        .defaults(defaults)
        .build()
        .expect("good addresses")
}

/// How many scripts the servers were asked to run.
pub(crate) fn calls(servers: &ServerSet) -> usize {
    servers.iter().map(calls_of).sum()
}

/// How many scripts this server was asked to run.
pub(crate) fn calls_of(server: &Server) -> usize {
    let info = server
        .command(&["INFO", "commandstats"])
        .expect("it answers");
    let text = info.text().expect("a text").to_owned();
    let mut line = text
        .lines()
        .filter_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    let count = line
        .next()
        .and_then(|rest| rest.split(',').next().map(str::to_owned));
    count.map_or(0, |count| count.parse::<usize>().expect("a number"))
}
