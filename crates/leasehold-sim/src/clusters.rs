//! Another smaller world: nodes that are Redis Clusters, whose slots move while clients lock.
//!
//! The clients run the production engine and, in their links, the production rule of which request is given where, and
//! again; the servers run the production table. A cluster is a model: each server keeps some slots by what it knows, and says
//! MOVED, ASK and TRYAGAIN as Redis does before it runs a command. Keys move one by one. Connections to single servers
//! break, and may still act, servers hang and are replaced by replicas that have everything, processes stand still, what is told
//! of the slots is old.
//!
//! Nobody may hold what another holds, no key is set when its release has been, and when all is well somebody must get it.

mod client;
mod link;
mod server;

use crate::{
    check::{Property, Violation, exclusion::Exclusion},
    rng::Rng,
    time::{MILLISECOND, Moment, SECOND},
    trace::Trace,
    world::Report,
};
use client::Client;
use leasehold_core::{Drift, Owner, Resource, Ttl};
use server::Cluster;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// What a seed has drawn.
#[derive(Clone, Debug)]
pub(crate) struct Clusters {
    nodes: usize,
    servers: usize,
    clients: usize,
    ttl: Ttl,
    weakness: Weakness,
    /// How long something stays as it is before the next fault.
    calm_ns: u64,
    /// How long a message travels at most.
    delay_ns: u64,
}

/// What a cluster does that it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weakness {
    None,
    /// A replica that takes a server's place has not heard of the last keys.
    Lags,
    /// A slot is assigned before its keys have moved.
    AssignsEarly,
}

impl Clusters {
    pub(crate) fn draw(rng: &mut Rng, weakness: Weakness) -> Self {
        let ttl_ms = rng.pick(&[500, 1_000, 3_000]);
        Self {
            nodes: rng.pick(&[1, 3, 3, 3]),
            servers: rng.pick(&[2, 3, 3]),
            clients: rng.pick(&[2, 3, 4]),
            ttl: Ttl::new(Duration::from_millis(ttl_ms)).expect("some seconds"),
            weakness,
            calm_ns: rng.pick(&[20, 100, 500]) * MILLISECOND,
            delay_ns: rng.pick(&[1, 5, 30]) * MILLISECOND,
        }
    }
}

/// Which server of which node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    node: usize,
    server: usize,
}

/// A connection of a client to a server.
#[derive(Clone, Copy, Debug)]
struct Lane {
    client: usize,
    spot: Spot,
    /// Which of those that it has had, one after the other: what belongs to an earlier one is void.
    epoch: u32,
}

/// Something that happens at a moment.
#[derive(Debug)]
enum Event {
    /// The first request on the way arrives.
    Request(Lane),
    /// The first answer on the way arrives.
    Reply(Lane),
    /// A server carries out what stood in the buffer of a connection that is no more.
    Ghost(Spot, Box<link::Asked>),
    /// A connection stands again.
    Connect(Lane),
    /// A request has rested.
    Resume {
        client: usize,
        node: usize,
        number: u64,
    },
    /// A client is told where the slots are.
    Learn {
        client: usize,
        node: usize,
    },
    /// A timer of a client's engine.
    Wake {
        client: usize,
    },
    /// A client's application does the next thing.
    Act {
        client: usize,
        ticket: u32,
    },
    /// A slot that moves goes on to do so.
    Move {
        node: usize,
        slot: usize,
    },
    /// A server hears where a slot is by now.
    Hear {
        spot: Spot,
        slot: usize,
    },
    /// The replicas have what their masters have.
    Copy,
    Fault,
    /// The faults are over.
    Heal,
    End,
}

/// Clusters, and all who have to do with them.
#[derive(Debug)]
pub(crate) struct Clustered {
    setting: Clusters,
    now: Moment,
    planned: BTreeMap<(Moment, u64), Event>,
    /// How many events were ever planned.
    plans: u64,
    events: u64,
    rng: Rng,
    trace: Trace,
    clients: Vec<Client>,
    nodes: Vec<Cluster>,
    exclusion: Exclusion,
    /// Whose requests were carried out after their connection had died.
    haunted: BTreeSet<Owner>,
    leases: u64,
    /// Whether somebody has acquired since the faults were over.
    has_recovered: bool,
    is_healed: bool,
    violation: Option<Violation>,
}

impl Clustered {
    pub(crate) fn new(setting: Clusters, mut rng: Rng, trace: Trace) -> Self {
        let nodes = (0..setting.nodes).map(|_| Cluster::new(setting.servers, &mut rng));
        let nodes = nodes.collect();
        let clients = (0..setting.clients).map(|_| Client::new(&setting, &mut rng));
        let clients = clients.collect();
        let mut world = Self {
            setting,
            now: Moment::START,
            planned: BTreeMap::new(),
            plans: 0,
            events: 0,
            rng,
            trace,
            clients,
            nodes,
            exclusion: Exclusion::default(),
            haunted: BTreeSet::new(),
            leases: 0,
            has_recovered: false,
            is_healed: false,
            violation: None,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for client in 0..self.clients.len() {
            for node in 0..self.nodes.len() {
                self.plan(SECOND, Event::Learn { client, node });
            }
            self.act_later(client, SECOND);
        }
        self.plan(COPY_NS, Event::Copy);
        self.plan(self.setting.calm_ns, Event::Fault);
        self.plan(FAULTS_NS, Event::Heal);
        self.plan(FAULTS_NS + RECOVERY_NS, Event::End);
    }

    /// Lets everything happen, to the end or to the first violation.
    pub(crate) fn run(&mut self) -> Report {
        while self.violation.is_none() {
            let ((at, _), event) = self.planned.pop_first().expect("the end is planned");
            self.now = at;
            self.events += 1;
            if matches!(event, Event::End) {
                if !self.has_recovered {
                    let what = "nobody has acquired since all is well".to_owned();
                    self.violate(Property::Progress, what);
                }
                break;
            }
            self.happen(event);
        }
        if let Some(Violation { property, what }) = self.violation.clone() {
            self.tell(|| format!("VIOLATION    {property:?}: {what}"));
        }
        let violation = self.violation.take();
        self.report(violation)
    }

    /// What became of the run.
    pub(crate) fn report(&self, violation: Option<Violation>) -> Report {
        Report {
            events: self.events,
            leases: self.leases,
            violation: violation.map(|violation| (self.now, violation)),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Request(lane) => self.carry_out(lane),
            Event::Reply(lane) => self.hear(lane),
            Event::Ghost(spot, asked) => self.haunt(spot, *asked),
            Event::Connect(lane) => self.connect(lane),
            Event::Resume {
                client,
                node,
                number,
            } => self.resume(client, node, number),
            Event::Learn { client, node } => self.learn(client, node),
            Event::Wake { client } => self.turn(client),
            Event::Act { client, ticket } => self.act(client, ticket),
            Event::Move { node, slot } => self.move_on(node, slot),
            Event::Hear { spot, slot } => self.nodes[spot.node].hear(spot.server, slot),
            Event::Copy => self.copy(),
            Event::Fault => self.fault(),
            Event::Heal => self.heal(),
            Event::End => {}
        }
    }

    fn plan(&mut self, after_ns: u64, event: Event) {
        let at = self.now.after(after_ns);
        // Events of one moment happen in the order in which they were planned.
        self.plans += 1;
        self.planned.insert((at, self.plans), event);
    }

    fn tell(&mut self, line: impl FnOnce() -> String) {
        self.trace.tell(self.now, line);
    }

    fn violate(&mut self, property: Property, what: String) {
        self.violation.get_or_insert(Violation { property, what });
    }

    /// How long a message travels.
    fn delay_ns(&mut self) -> u64 {
        self.rng.between(MILLISECOND / 10, self.setting.delay_ns)
    }

    fn fault(&mut self) {
        if self.is_healed {
            return;
        }
        let node = self.rng.index(self.nodes.len());
        let spot = Spot {
            node,
            server: self.rng.index(self.setting.servers),
        };
        match self.rng.below(10) {
            0..=5 => self.begin_to_move(node),
            6 => {
                let client = self.rng.index(self.clients.len());
                self.break_lane(client, spot, "breaks");
            }
            7 => self.take_over(spot),
            8 => {
                let until = self.now.after(self.rng.between(MILLISECOND, SECOND));
                self.nodes[node].servers[spot.server].hung_until = until;
                self.tell(|| format!("n{node}.{} hangs", spot.server));
            }
            _ => {
                let client = self.rng.index(self.clients.len());
                let until = self.now.after(self.rng.between(MILLISECOND, 3 * SECOND));
                self.clients[client].stopped_until = until;
                self.tell(|| format!("c{client} stands still"));
            }
        }
        let calm_ns = self.setting.calm_ns;
        let after_ns = self.rng.between(calm_ns / 4, calm_ns * 3 / 2);
        self.plan(after_ns, Event::Fault);
    }

    fn heal(&mut self) {
        self.is_healed = true;
        self.tell(|| "-- the faults are over".to_owned());
    }
}

/// What can be locked, each with the slot that it is in: the first two are in one, and can be locked together.
fn names() -> [(Resource, usize); 4] {
    let name = |name| Resource::new(name).expect("a letter is a name");
    let both = Resource::several(["a", "b"]).expect("letters are names");
    [(name("a"), 0), (name("b"), 0), (name("c"), 1), (both, 0)]
}

/// The slot that a resource is in.
fn slot_of(resource: &Resource) -> usize {
    let mut names = names().into_iter();
    let known = names.find(|(name, _)| name == resource);
    known.map_or(0, |(_, slot)| slot)
}

const SLOTS: usize = 2;
const COPY_NS: u64 = SECOND / 5;
const FAULTS_NS: u64 = 20 * SECOND;
/// Long enough for the longest lease that somebody was given last, and for what hangs.
const RECOVERY_NS: u64 = 15 * SECOND;

/// By how much a clock is wrong at most, as the drift that is allowed covers.
const DRIFT: Drift = Drift::DEFAULT;
