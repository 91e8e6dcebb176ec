//! Another smaller world: nodes that are Redis Clusters, whose slots move while clients lock.
//!
//! The clients run the production engine and, in their links, the production rule of which request is given where, and
//! again; the servers run the production table. A cluster is a model: each server keeps some slots by what it knows, and says
//! MOVED, ASK and TRYAGAIN as Redis does before it runs a command. Keys move one by one. Connections to single servers
//! break, and may still act, servers hang and are replaced by replicas that have everything, processes stand still, what is told
//! of the slots is old.
//!
//! Nobody may hold what another holds, no key is set when its release has been, and when all is well somebody must get it.

mod link;
mod server;

use crate::{
    rng::Rng,
    small::{Rhythm, SmallClient, SmallWorld, Stage, config},
    time::{MILLISECOND, Moment, SECOND},
    trace::Trace,
};
use leasehold_core::{
    AcquireRequest, Drift, LinkChange, NodeId, Owner, Pause, Resource, Retry, Send, Timing, Ttl,
};
use link::Link;
use server::Cluster;
use std::{collections::BTreeSet, num::NonZeroU32, sync::Arc, time::Duration};

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
pub(crate) struct Spot {
    node: usize,
    server: usize,
}

/// A connection of a client to a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    client: usize,
    spot: Spot,
    /// Which of those that it has had, one after the other: what belongs to an earlier one is void.
    epoch: u32,
}

/// Something that happens at a moment.
#[derive(Debug)]
pub(crate) enum Event {
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
    Learn { client: usize, node: usize },
    /// A slot that moves goes on to do so.
    Move { node: usize, slot: usize },
    /// A server hears where a slot is by now.
    Hear { spot: Spot, slot: usize },
    /// The replicas have what their masters have.
    Copy,
}

/// Clusters, and all who have to do with them.
#[derive(Debug)]
pub(crate) struct Clustered {
    setting: Clusters,
    stage: Stage<Event, Vec<Link>>,
    nodes: Vec<Cluster>,
    /// Whose requests were carried out after their connection had died.
    haunted: BTreeSet<Owner>,
}

impl Clustered {
    pub(crate) fn new(setting: Clusters, mut rng: Rng, trace: Trace) -> Self {
        let nodes = (0..setting.nodes).map(|_| Cluster::new(setting.servers, &mut rng));
        let nodes = nodes.collect();
        let clients = (0..setting.clients).map(|_| client(&setting, &mut rng));
        let rhythm = Rhythm {
            calm_ns: setting.calm_ns,
            ..RHYTHM
        };
        let mut world = Self {
            stage: Stage::new(clients.collect(), rhythm, (rng, trace)),
            setting,
            nodes,
            haunted: BTreeSet::new(),
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for client in 0..self.stage.clients.len() {
            for node in 0..self.nodes.len() {
                self.stage.plan(SECOND, Event::Learn { client, node });
            }
            self.stage.act_later(client, SECOND);
        }
        self.stage.plan(COPY_NS, Event::Copy);
        self.stage.begin();
    }

    /// How long a message travels.
    fn delay_ns(&mut self) -> u64 {
        self.stage
            .rng
            .between(MILLISECOND / 10, self.setting.delay_ns)
    }
}

impl SmallWorld<Event, Vec<Link>> for Clustered {
    fn stage(&mut self) -> &mut Stage<Event, Vec<Link>> {
        &mut self.stage
    }

    fn acquire_request(&mut self) -> AcquireRequest {
        let timing = Timing::new(self.setting.ttl, DRIFT, None);
        let tries = self.stage.rng.pick(&[1, 3, 100]);
        let retry = Retry::default()
            .with_tries(NonZeroU32::new(tries))
            .with_pause(Pause::Between {
                least: Duration::from_millis(5),
                most: Duration::from_millis(100),
            });
        let config = config(timing.expect("half a second is enough"), retry);
        let names = names();
        let (resource, _) = self.stage.rng.pick_ref(&names).clone();
        AcquireRequest {
            resource,
            config: Arc::new(config),
            from: None,
            patience: None,
        }
    }

    fn send(&mut self, client: usize, send: Send) {
        for node in send.nodes.iter() {
            self.give_to(client, node.index(), send.tag, &send.request);
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
            Event::Move { node, slot } => self.move_on(node, slot),
            Event::Hear { spot, slot } => self.nodes[spot.node].hear(spot.server, slot),
            Event::Copy => self.copy(),
        }
    }

    fn fault(&mut self) {
        let node = self.stage.rng.index(self.nodes.len());
        let spot = Spot {
            node,
            server: self.stage.rng.index(self.setting.servers),
        };
        match self.stage.rng.below(10) {
            0..=5 => self.begin_to_move(node),
            6 => {
                let client = self.stage.rng.index(self.stage.clients.len());
                self.break_lane(client, spot, "breaks");
            }
            7 => self.take_over(spot),
            8 => {
                let until = self
                    .stage
                    .now
                    .after(self.stage.rng.between(MILLISECOND, SECOND));
                self.nodes[node].servers[spot.server].hung_until = until;
                self.stage.tell(|| format!("n{node}.{} hangs", spot.server));
            }
            _ => {
                let client = self.stage.rng.index(self.stage.clients.len());
                let until = self
                    .stage
                    .now
                    .after(self.stage.rng.between(MILLISECOND, 3 * SECOND));
                self.stage.clients[client].stopped_until = until;
                self.stage.tell(|| format!("c{client} stands still"));
            }
        }
    }

    fn heal(&mut self) {}
}

/// A client that is connected to all of its nodes.
fn client(setting: &Clusters, rng: &mut Rng) -> SmallClient<Vec<Link>> {
    let links = (0..setting.nodes).map(|_| Link::new(setting.servers));
    let mut client = SmallClient::new(setting.nodes, links.collect(), rng);
    let now = client.time(Moment::START);
    for node in 0..setting.nodes {
        let node = NodeId::new(node).expect("there are three");
        client.engine.handle_link(now, node, LinkChange::Up(None));
    }
    client
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

const RHYTHM: Rhythm = Rhythm {
    calm_ns: SECOND,
    faults_ns: 20 * SECOND,
    // Long enough for the longest lease that somebody was given last, and for what hangs.
    recovery_ns: 15 * SECOND,
    rest_ns: SECOND / 5,
    again_ns: SECOND / 5,
    holds_ns: &[SECOND / 50, SECOND / 2, 4 * SECOND],
};

/// By how much a clock is wrong at most, as the drift that is allowed covers.
const DRIFT: Drift = Drift::DEFAULT;
