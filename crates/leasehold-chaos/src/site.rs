//! Where a scenario takes place: servers, proxies before them, and clients.

use crate::{
    bell::Bell,
    chronicle::Chronicle,
    client::Orders,
    cluster,
    draw::Draw,
    group::Group,
    pair::Pair,
    scenario::{Between, Node, Scenario, Strike},
    store::{Store, Write},
    worker::Worker,
};
use leasehold_servers::{
    Keeper, Nutcracker, Proxy, RedisCluster, Sentinel, Server, ServerBinary, ServerSet,
};
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
    keepers: Vec<Keeper>,
    nutcracker: Option<Nutcracker>,
    nodes: Nodes,
    /// What the clients write to. Nobody disturbs it.
    store: Option<Server>,
    /// Held while a server is down, so that two strikes do not start it twice.
    restarts: Vec<Mutex<()>>,
}

/// The servers, alone or each with a replica.
#[derive(Debug)]
enum Nodes {
    /// Which of the servers each node is: there may be others.
    Single(ServerSet, Mutex<Vec<usize>>),
    Pairs(Vec<Pair>),
    /// One node, whichever of these servers is the master.
    Group(Box<Group>),
    Clusters(Vec<RedisCluster>),
}

impl Nodes {
    fn start(scenario: &Scenario, binary: &ServerBinary) -> Result<Self, String> {
        match scenario.node {
            Node::Server => Self::start_single(scenario, binary),
            Node::Pair => {
                let pairs = (0..scenario.nodes).map(|_| Pair::start(binary));
                pairs.collect::<Result<_, _>>().map(Self::Pairs)
            }
            Node::Cluster => cluster::start(binary, scenario.nodes).map(Self::Clusters),
            Node::Group => {
                let is_split = scenario.strikes.contains(&Strike::IsolateSentinel);
                Group::start(binary, is_split).map(|group| Self::Group(Box::new(group)))
            }
        }
    }

    fn start_single(scenario: &Scenario, binary: &ServerBinary) -> Result<Self, String> {
        let count = scenario.nodes + scenario.spares();
        let servers = ServerSet::start_with(count, |_, builder| {
            let builder = builder.binary(binary);
            if scenario.durable {
                let builder = builder.option("appendonly", &["yes"]);
                builder.option("appendfsync", &["always"])
            } else {
                builder
            }
        });
        let list = Mutex::new((0..scenario.nodes).collect());
        let servers = servers.map_err(|error| error.to_string())?;
        Ok(Self::Single(servers, list))
    }

    /// Where clients find them: the servers, or the sentinels that tell of them.
    fn ports(&self) -> Vec<u16> {
        match self {
            Self::Single(servers, list) => {
                let list = lock(list);
                list.iter().map(|server| servers[*server].port()).collect()
            }
            Self::Pairs(pairs) => pairs.iter().map(|pair| pair.master().port()).collect(),
            Self::Group(group) => group.sentinels.iter().map(Sentinel::port).collect(),
            Self::Clusters(clusters) => {
                let masters = |cluster: &RedisCluster| {
                    let ports = cluster.iter().take(cluster::MASTERS).map(Server::port);
                    ports.collect::<Vec<_>>()
                };
                clusters.iter().flat_map(masters).collect()
            }
        }
    }
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
        let nodes = Nodes::start(scenario, binary)?;
        let ports = nodes.ports();
        let mut places = Vec::new();
        let count = 2 * usize::from(scenario.between == Between::Proxies);
        for _ in 0..count {
            let proxies = ports.iter().map(|&port| Proxy::start(port));
            places.push(proxies.collect::<Result<Vec<_>, _>>().map_err(told)?);
        }
        let kept: &[u16] = if scenario.between == Between::Keepers {
            &ports
        } else {
            &[]
        };
        let keepers = kept.iter().map(|&port| Keeper::start(port));
        let keepers = keepers.collect::<Result<_, _>>().map_err(told)?;
        let nutcracker =
            (scenario.between == Between::Nutcracker).then(|| Nutcracker::start(&ports));
        let store = scenario.clients.writes().then(|| {
            let store = Server::builder().binary(binary).start();
            store.map_err(|error| error.to_string())
        });
        let mut site = Self {
            scenario,
            bell: Bell::default(),
            chronicle: Chronicle::create(folder).map_err(told)?,
            workers: Vec::new(),
            places,
            keepers,
            nutcracker: nutcracker.transpose().map_err(told)?,
            restarts: (0..scenario.nodes).map(|_| Mutex::new(())).collect(),
            nodes,
            store: store.transpose()?,
        };
        let mut draw = Draw::named(seed, "clients");
        for number in 0..CLIENTS {
            let orders = Orders {
                kind: scenario.clients,
                journal: folder.to_owned(),
                ports: site.ports(number),
                node: scenario.node,
                copies: scenario.copies,
                store: site.store.as_ref().map_or(0, Server::port),
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
        let place = self.places.get(number % self.places.len().max(1));
        match (self.scenario.between, place, &self.nutcracker) {
            (_, Some(proxies), _) => proxies.iter().map(Proxy::port).collect(),
            (Between::Keepers, ..) => self.keepers.iter().map(Keeper::port).collect(),
            (_, _, Some(nutcracker)) => nutcracker.ports().to_vec(),
            _ => self.nodes.ports(),
        }
    }

    pub(crate) const fn nodes(&self) -> usize {
        self.scenario.nodes
    }

    /// The server that is node `number` now; of a group, this one; of a cluster, its first.
    pub(crate) fn server(&self, number: usize) -> &Server {
        match &self.nodes {
            Nodes::Single(servers, list) => {
                let server = lock(list)[number];
                &servers[server]
            }
            Nodes::Pairs(pairs) => pairs[number].master(),
            Nodes::Group(group) => &group.servers()[number],
            Nodes::Clusters(clusters) => &clusters[number][0],
        }
    }

    /// The group that is the only node.
    ///
    /// # Panics
    /// If there is none: then the scenario asks for what it does not provide.
    pub(crate) fn group(&self) -> &Group {
        match &self.nodes {
            Nodes::Group(group) => group,
            _ => panic!("only sentinels depose masters"),
        }
    }

    /// The server that is no node.
    ///
    /// # Panics
    /// If there is none: then the scenario asks for what it does not provide.
    pub(crate) fn spare(&self) -> &Server {
        let Nodes::Single(servers, list) = &self.nodes else {
            panic!("only single servers are replaced");
        };
        let list = lock(list);
        let spare = (0..servers.len()).find(|server| !list.contains(server));
        &servers[spare.expect("there is one more than nodes")]
    }

    /// From now on the server that is no node is node `number`: for all clients that start.
    pub(crate) fn take_spare(&self, number: usize) {
        if let Nodes::Single(servers, list) = &self.nodes {
            let mut list = lock(list);
            let spare = (0..servers.len()).find(|server| !list.contains(server));
            list[number] = spare.expect("there is one more than nodes");
        }
        for number in 0..self.workers.len() {
            let ports = self.ports(number);
            self.worker(number).go_to(ports);
        }
    }

    /// Node `number` and its replica.
    ///
    /// # Panics
    /// If it has none: then the scenario asks for what it does not provide.
    pub(crate) fn pair(&self, number: usize) -> &Pair {
        match &self.nodes {
            Nodes::Pairs(pairs) => &pairs[number],
            _ => panic!("only nodes with replicas fail over"),
        }
    }

    /// The cluster that is node `number`.
    ///
    /// # Panics
    /// If it is none: then the scenario asks for what it does not provide.
    pub(crate) fn cluster(&self, number: usize) -> &RedisCluster {
        match &self.nodes {
            Nodes::Clusters(clusters) => &clusters[number],
            _ => panic!("only clusters move slots"),
        }
    }

    /// Gives the addresses of node `number` to the server on this port.
    pub(crate) fn lead_to(&self, number: usize, port: u16) {
        for proxies in &self.places {
            proxies[number].retarget(port);
        }
    }

    /// What was written to the store up to now.
    pub(crate) fn writes(&self) -> Result<Vec<Write>, String> {
        let Some(store) = &self.store else {
            return Ok(Vec::new());
        };
        let writes = Store::open(store.port()).and_then(|mut store| store.writes());
        writes.map_err(|error| format!("the store: {error}"))
    }

    /// How often a proxy hid from a client that a server had restarted. None if there is no way to know.
    pub(crate) fn hidden(&self) -> Option<usize> {
        let is_known = self.scenario.between == Between::Keepers;
        is_known.then(|| self.keepers.iter().map(Keeper::hidden).sum())
    }

    pub(crate) fn places(&self) -> &[Vec<Proxy>] {
        &self.places
    }

    pub(crate) const fn clients(&self) -> usize {
        CLIENTS
    }

    pub(crate) fn worker(&self, number: usize) -> MutexGuard<'_, Worker> {
        lock(&self.workers[number])
    }

    /// The right to kill and start this server.
    pub(crate) fn restart_of(&self, number: usize) -> MutexGuard<'_, ()> {
        lock(&self.restarts[number])
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
