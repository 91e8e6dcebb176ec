//! A smaller world: one node that is a group of servers, sentinels that say which of them is the master, and clients
//! that find it by asking them.
//!
//! The clients run the production engine and, in their links, the production [`Discovery`]; the servers run the
//! production table and guard. Sentinels are a model: they elect a leader by majority, promote a replica, and tell each
//! other what they know, each later failover under a larger epoch. Everybody may be cut off from everybody else, each
//! pair for itself, so that a master may be alone with one sentinel and some clients. Sentinels are away, servers
//! restart without their data, processes stand still, answers are late.
//!
//! At most one client may hold the resource, and when everything is back somebody must get it.

mod link;
mod sentinel;
mod server;

use crate::{
    rng::Rng,
    small::{Rhythm, SmallClient, SmallWorld, Stage, config},
    time::{MILLISECOND, Moment, SECOND},
    trace::Trace,
};
use leasehold_core::{
    AcquireRequest, Drift, Pause, Resource, Retry, Send, Timing, Ttl,
    discovery::Rule,
    quarantine::{Disk, Quarantine},
};
use link::{Link, node};
use sentinel::Sentinel;
use server::Server;
use std::{sync::Arc, time::Duration};

/// What a seed has drawn of a group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    sentinels: usize,
    servers: usize,
    clients: usize,
    ttl: Ttl,
    /// For how long a server does not vote that may have forgotten votes.
    quarantine: Duration,
    rule: Rule,
    weakness: Weakness,
    /// How long something stays as it is before the next fault.
    calm_ns: u64,
    /// How long a message travels at most, if nothing holds it up.
    delay_ns: u64,
}

/// What is missing of the defence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weakness {
    None,
    /// Nobody asks for a majority.
    Minority,
    /// Most sentinels never come back.
    NoWay,
}

impl Group {
    pub(crate) fn draw(rng: &mut Rng, weakness: Weakness) -> Self {
        let max_ms = rng.pick(&[3_000, 4_000, 6_000]);
        let skew_ms = rng.pick(&[1_600, 2_000, 3_000]);
        let ttl_ms = rng.pick(&[max_ms, max_ms, max_ms / 2]);
        let ttl = |ms| Ttl::new(Duration::from_millis(ms)).expect("some seconds");
        let bound_ms = rng.pick(&[1_500, 3_000, 10_000]);
        let rule = Rule {
            bound: Duration::from_millis(bound_ms),
            needs_majority: weakness != Weakness::Minority,
        };
        // As the facade has it.
        let max_ttl = Duration::from_millis(max_ms);
        let allowance = Drift::DEFAULT.allowance(ttl(max_ms));
        Self {
            sentinels: rng.pick(&[3, 3, 5]),
            servers: rng.pick(&[2, 3]),
            clients: rng.pick(&[2, 3]),
            ttl: ttl(ttl_ms),
            quarantine: max_ttl + allowance + Duration::from_millis(skew_ms),
            rule,
            weakness,
            calm_ns: rng.pick(&[1, 4, 8, 15]) * SECOND,
            // An answer comes within the time limit of the shortest TTL, if nothing holds it up.
            delay_ns: rng.pick(&[1, 10, 30]) * MILLISECOND,
        }
    }
}

/// Something that happens at a moment. What belongs to a connection carries its epoch: it is void in another.
#[derive(Debug)]
pub(crate) enum Event {
    /// A client's link begins to look for the master.
    Dial { client: usize, epoch: u32 },
    /// A client asks a sentinel.
    Ask {
        client: usize,
        epoch: u32,
        sentinel: usize,
    },
    /// The question arrives.
    Asked(link::Question),
    /// The answer arrives, or it is given up.
    Answered(link::Question, Option<link::Word>),
    /// A client's greeting arrives at the server that it goes to.
    Greet { client: usize, epoch: u32 },
    /// The server's answer arrives: who it is, or that it is none.
    Greeted {
        client: usize,
        epoch: u32,
        met: Option<leasehold_core::Identity>,
    },
    /// The first request on the way arrives.
    Request { client: usize, epoch: u32 },
    /// The first answer on the way arrives.
    Reply { client: usize, epoch: u32 },
    /// A sentinel looks around.
    Tick { sentinel: usize },
    /// A replica copies its master.
    Copy { server: usize },
    /// A server is back.
    Back { server: usize },
}

/// A group of servers and all who have to do with it.
#[derive(Debug)]
pub(crate) struct Grouped {
    group: Group,
    stage: Stage<Event, Link>,
    resource: Resource,
    sentinels: Vec<Sentinel>,
    servers: Vec<Server>,
    /// Which pairs do not reach each other: by the numbers of both, the smaller first.
    cut: Vec<(usize, usize)>,
}

/// Somebody who may be cut off from others.
#[derive(Clone, Copy, Debug)]
enum Party {
    Client(usize),
    Sentinel(usize),
    Server(usize),
}

impl Grouped {
    pub(crate) fn new(group: Group, mut rng: Rng, trace: Trace) -> Self {
        let guard = Quarantine {
            span: group.quarantine,
            disk: Disk::Ignored,
        };
        let servers = server::start(&group, guard, &mut rng);
        let clients = (0..group.clients).map(|_| SmallClient::new(1, Link::new(), &mut rng));
        let clients = clients.collect();
        let sentinels = (0..group.sentinels).map(|_| Sentinel::new());
        let rhythm = Rhythm {
            calm_ns: group.calm_ns,
            ..RHYTHM
        };
        let mut world = Self {
            sentinels: sentinels.collect(),
            stage: Stage::new(clients, rhythm, (rng, trace)),
            resource: Resource::new("r").expect("a letter is a name"),
            servers,
            cut: Vec::new(),
            group,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for client in 0..self.stage.clients.len() {
            self.stage.plan(0, Event::Dial { client, epoch: 0 });
            self.stage.act_later(client, SECOND);
        }
        for sentinel in 0..self.sentinels.len() {
            self.stage.plan(TICK_NS, Event::Tick { sentinel });
        }
        for server in 0..self.servers.len() {
            self.stage.plan(TICK_NS, Event::Copy { server });
        }
        self.stage.begin();
    }

    fn number(&self, party: Party) -> usize {
        match party {
            Party::Client(client) => client,
            Party::Sentinel(sentinel) => self.stage.clients.len() + sentinel,
            Party::Server(server) => self.stage.clients.len() + self.sentinels.len() + server,
        }
    }

    /// Whether what one says reaches the other.
    fn reach(&self, one: Party, other: Party) -> bool {
        let (one, other) = (self.number(one), self.number(other));
        !self.cut.contains(&(one.min(other), one.max(other)))
    }

    /// How long a message travels.
    fn delay_ns(&mut self) -> u64 {
        self.stage
            .rng
            .between(MILLISECOND / 10, self.group.delay_ns)
    }

    /// Cuts some pairs off from each other.
    fn part(&mut self) {
        let all = self.stage.clients.len() + self.sentinels.len() + self.servers.len();
        let master = self.stage.rng.index(self.servers.len());
        let (sentinel, client) = (
            self.stage.rng.index(self.sentinels.len()),
            self.stage.rng.index(self.stage.clients.len()),
        );
        let alone = [
            self.number(Party::Server(master)),
            self.number(Party::Sentinel(sentinel)),
            self.number(Party::Client(client)),
        ];
        let is_split = self.stage.rng.below(3) < 2;
        let rate = self.stage.rng.pick(&[100_000, 400_000]);
        // Often somebody reaches both sides.
        let everywhere = self.stage.rng.coin().then(|| self.stage.rng.index(all));
        self.cut.clear();
        for one in 0..all {
            for other in one + 1..all {
                let is_across = alone.contains(&one) != alone.contains(&other);
                let is_cut = match is_split {
                    true => is_across && everywhere != Some(one) && everywhere != Some(other),
                    false => self.stage.rng.chance(rate),
                };
                if is_cut {
                    self.cut.push((one, other));
                }
            }
        }
        let cut = self.cut.clone();
        self.stage
            .tell(|| format!("╱ cut: {cut:?}, by number: clients, sentinels, servers"));
    }

    /// A process stands still, or a sentinel is away.
    fn stop_somebody(&mut self) {
        let until = self
            .stage
            .now
            .after(self.stage.rng.between(SECOND / 10, 6 * SECOND));
        if self.stage.rng.coin() {
            let client = self.stage.rng.index(self.stage.clients.len());
            self.stage.clients[client].stopped_until = until;
            self.stage.tell(|| format!("c{client} stands still"));
        } else {
            let sentinel = self.stage.rng.index(self.sentinels.len());
            self.sentinels[sentinel].away_until = until;
            self.stage.tell(|| format!("s{sentinel} is away"));
        }
    }
}

impl SmallWorld<Event, Link> for Grouped {
    fn stage(&mut self) -> &mut Stage<Event, Link> {
        &mut self.stage
    }

    fn acquire_request(&mut self) -> AcquireRequest {
        let timing = Timing::new(self.group.ttl, Drift::DEFAULT, None);
        let retry = Retry::default().with_pause(Pause::Between {
            least: Duration::from_millis(20),
            most: Duration::from_millis(300),
        });
        let config = config(timing.expect("a TTL of seconds"), retry);
        AcquireRequest {
            resource: self.resource.clone(),
            config: Arc::new(config),
            from: None,
            patience: None,
        }
    }

    fn send(&mut self, client: usize, send: Send) {
        assert!(send.nodes.contains(node()), "there is one node");
        self.give(client, send.tag, send.request);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Dial { client, epoch } => self.dial(client, epoch),
            Event::Ask {
                client,
                epoch,
                sentinel,
            } => self.ask(client, epoch, sentinel),
            Event::Asked(question) => self.asked(question),
            Event::Answered(question, word) => self.answered(question, word),
            Event::Greet { client, epoch } => self.greet(client, epoch),
            Event::Greeted { client, epoch, met } => self.greeted(client, epoch, met),
            Event::Request { client, epoch } => self.carry_out(client, epoch),
            Event::Reply { client, epoch } => self.hear(client, epoch),
            Event::Tick { sentinel } => self.tick(sentinel),
            Event::Copy { server } => self.copy(server),
            Event::Back { server } => self.servers[server].is_up = true,
        }
    }

    fn fault(&mut self) {
        match self.stage.rng.below(12) {
            0..=4 => self.part(),
            5 => self.cut.clear(),
            6 => self.stop_somebody(),
            7 => self.crash(),
            _ => self.replace_on_purpose(),
        }
    }

    fn heal(&mut self) {
        self.cut.clear();
        if self.group.weakness == Weakness::NoWay {
            for sentinel in &mut self.sentinels[1..] {
                sentinel.away_until = Moment::NEVER;
            }
        }
    }
}

const TICK_NS: u64 = SECOND / 5;

const RHYTHM: Rhythm = Rhythm {
    calm_ns: SECOND,
    faults_ns: 60 * SECOND,
    // Long enough for a failover, the longest quarantine, and a lease that somebody was given last.
    recovery_ns: 40 * SECOND,
    rest_ns: 2 * SECOND,
    again_ns: SECOND,
    holds_ns: &[SECOND, 20 * SECOND],
};
