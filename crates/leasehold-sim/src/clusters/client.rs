//! The clients of clusters: the production engine, and an application that wants one name or two.

use super::{Clustered, Clusters, DRIFT, Event, link::Link, names};
use crate::{
    check::Holder,
    clock::Clock,
    rng::Rng,
    time::{MILLISECOND, Moment, SECOND},
};
use leasehold_core::{
    AcquireRequest, AutoRenewal, Engine, Event as Told, Instant, Lease, LeaseChange, LinkChange,
    LockConfig, NodeId, Operation, OperationId, OwnerSource, Pause, Quorum, RenewalPolicy, Retry,
    Seed, Timing,
};
use std::{sync::Arc, time::Duration};

#[derive(Debug)]
pub(super) struct Client {
    pub(super) engine: Engine,
    /// How many operations the engine was asked to do.
    operations: u64,
    clock: Clock,
    pub(super) links: Vec<Link>,
    application: Application,
    /// Counts what the application does: an event of an earlier step is void.
    ticket: u32,
    pub(super) stopped_until: Moment,
    wakes_at: Moment,
}

#[derive(Debug)]
enum Application {
    Idle,
    Acquiring,
    Holding(OperationId, Lease),
}

impl Client {
    pub(super) fn new(setting: &Clusters, rng: &mut Rng) -> Self {
        let ppm = i64::try_from(rng.below(2_000)).expect("few millionths") - 1_000;
        let clock = Clock::new(rng.between(SECOND, 1 << 40), ppm);
        let mut engine = Engine::new(Quorum::majority(setting.nodes).expect("a few"));
        for node in 0..setting.nodes {
            let node = NodeId::new(node).expect("there are three");
            engine.handle_link(clock.read(Moment::START), node, LinkChange::Up(None));
        }
        Self {
            engine,
            operations: 0,
            clock,
            links: (0..setting.nodes)
                .map(|_| Link::new(setting.servers))
                .collect(),
            application: Application::Idle,
            ticket: 0,
            stopped_until: Moment::START,
            wakes_at: Moment::NEVER,
        }
    }

    pub(super) fn time(&self, now: Moment) -> Instant {
        self.clock.read(now)
    }
}

impl Clustered {
    pub(super) fn act_later(&mut self, client: usize, most_ns: u64) {
        let this = &mut self.clients[client];
        this.ticket += 1;
        let ticket = this.ticket;
        let after_ns = self.rng.between(MILLISECOND, most_ns);
        self.plan(after_ns, Event::Act { client, ticket });
    }

    /// The application acquires, or releases what it holds, or gives up the wait for it.
    pub(super) fn act(&mut self, client: usize, ticket: u32) {
        let this = &self.clients[client];
        if this.ticket != ticket {
            return;
        }
        if self.now < this.stopped_until {
            let after_ns = this.stopped_until.since_ns(self.now);
            return self.plan(after_ns, Event::Act { client, ticket });
        }
        match this.application {
            Application::Idle => {
                let operation = Operation::Acquire(self.acquire_request());
                self.submit(client, operation);
                self.clients[client].application = Application::Acquiring;
            }
            Application::Acquiring => {}
            Application::Holding(operation, _) => {
                self.exclusion.ends(Holder { client, operation });
                self.tell(|| format!("c{client} releases op {}", operation.number()));
                self.submit(client, Operation::Release(operation));
                self.clients[client].application = Application::Idle;
                self.act_later(client, SECOND / 5);
            }
        }
        self.turn(client);
    }

    fn acquire_request(&mut self) -> AcquireRequest {
        let timing = Timing::new(self.setting.ttl, DRIFT, None);
        let tries = self.rng.pick(&[1, 3, 100]);
        let config = LockConfig {
            timing: timing.expect("half a second is enough"),
            retry: Retry::default()
                .with_tries(std::num::NonZeroU32::new(tries))
                .with_pause(Pause::Between {
                    least: Duration::from_millis(5),
                    most: Duration::from_millis(100),
                }),
            owners: OwnerSource::default(),
            policy: RenewalPolicy {
                renewal: AutoRenewal::Thirds,
                ..RenewalPolicy::default()
            },
            is_fenced: false,
            queues: false,
            asks_one_first: false,
            is_fair: false,
        };
        let names = names();
        let (resource, _) = self.rng.pick_ref(&names).clone();
        AcquireRequest {
            resource,
            config: Arc::new(config),
            from: None,
            patience: None,
        }
    }

    fn submit(&mut self, client: usize, operation: Operation) -> OperationId {
        let mut bytes = [0; Seed::LENGTH];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.rng.next().to_le_bytes()[..chunk.len()]);
        }
        let this = &mut self.clients[client];
        let now = this.clock.read(self.now);
        let id = OperationId::new(this.operations);
        this.operations += 1;
        this.engine.submit(now, id, || Seed::new(bytes), operation);
        id
    }

    /// Lets a client do everything that there is to do.
    pub(super) fn turn(&mut self, client: usize) {
        let until = self.clients[client].stopped_until;
        if self.now < until {
            let after_ns = until.since_ns(self.now);
            return self.plan(after_ns, Event::Wake { client });
        }
        let now = self.clients[client].time(self.now);
        loop {
            let engine = &mut self.clients[client].engine;
            if engine.poll_timeout().is_some_and(|at| at <= now) {
                engine.handle_timeout(now);
            } else if let Some(send) = engine.poll_send() {
                for node in send.nodes.iter() {
                    self.send(client, node.index(), send.tag, &send.request);
                }
            } else if let Some((operation, told)) = engine.poll_event() {
                self.told(client, operation, told);
            } else {
                break;
            }
        }
        let this = &mut self.clients[client];
        if let Some(reading) = this.engine.poll_timeout() {
            let at = this.clock.when(reading).max(self.now);
            if at < this.wakes_at || this.wakes_at <= self.now {
                this.wakes_at = at;
                self.plan(at.since_ns(self.now), Event::Wake { client });
            }
        }
    }

    fn told(&mut self, client: usize, operation: OperationId, told: Told) {
        match told {
            Told::Acquired(lease) => {
                self.leases += 1;
                self.has_recovered |= self.is_healed;
                self.tell(|| {
                    format!(
                        "c{client} HOLDS {} op {}",
                        lease.resource,
                        operation.number()
                    )
                });
                let valid_until = lease.valid_until;
                self.clients[client].application = Application::Holding(operation, lease);
                self.says(client, operation, valid_until);
                let longest_ns = self.rng.pick(&[SECOND / 50, SECOND / 2, 4 * SECOND]);
                self.act_later(client, longest_ns);
            }
            Told::NotAcquired(_) => {
                self.clients[client].application = Application::Idle;
                self.act_later(client, SECOND / 5);
            }
            Told::Changed(LeaseChange::Confirmed { valid_until }) => {
                self.says(client, operation, valid_until);
            }
            Told::Changed(LeaseChange::Lost(_)) => {
                self.exclusion.ends(Holder { client, operation });
                self.tell(|| format!("c{client} has lost op {}", operation.number()));
                let holds = matches!(&self.clients[client].application, Application::Holding(own, _) if *own == operation);
                if holds {
                    self.clients[client].application = Application::Idle;
                    self.act_later(client, SECOND / 5);
                }
            }
            _ => {}
        }
    }

    /// A guard is valid until then. No other may be.
    fn says(&mut self, client: usize, operation: OperationId, valid_until: Instant) {
        let Application::Holding(own, lease) = &self.clients[client].application else {
            return;
        };
        if *own != operation {
            return;
        }
        let what = (&lease.resource, &lease.owner);
        let holder = Holder { client, operation };
        let (clients, now) = (&self.clients, self.now);
        let time = |client: usize| clients[client].time(now);
        let alone = self.exclusion.says(holder, what, valid_until, time);
        if let Err(violation) = alone {
            self.violation.get_or_insert(violation);
        }
    }
}
