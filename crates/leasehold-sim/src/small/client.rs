//! A client: the production engine, and an application that acquires, holds and releases.

use super::stage::{Happening, Stage};
use crate::{
    check::Holder,
    clock::Clock,
    rng::Rng,
    time::{MILLISECOND, Moment, SECOND},
};
use leasehold_core::{
    AutoRenewal, Engine, Event as Told, Instant, Lease, LeaseChange, LockConfig, Operation,
    OperationId, OwnerSource, Quorum, RenewalPolicy, Retry, Seed, Timing,
};

/// How long things take in a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rhythm {
    /// How long something stays as it is before the next fault.
    pub(crate) calm_ns: u64,
    pub(crate) faults_ns: u64,
    pub(crate) recovery_ns: u64,
    /// How long an application wants nothing at most, after a release.
    pub(crate) rest_ns: u64,
    /// The same after a refusal or a loss.
    pub(crate) again_ns: u64,
    /// For how long a lease is held at most: one of these.
    pub(crate) holds_ns: &'static [u64],
}

/// A client, and its way to the nodes.
#[derive(Debug)]
pub(crate) struct SmallClient<W> {
    pub(crate) engine: Engine,
    /// How many operations the engine was asked to do.
    operations: u64,
    clock: Clock,
    pub(crate) way: W,
    pub(super) application: Application,
    /// Counts what the application does: an event of an earlier step is void.
    pub(super) ticket: u32,
    pub(crate) stopped_until: Moment,
    wakes_at: Moment,
}

#[derive(Debug)]
pub(super) enum Application {
    Idle,
    Acquiring,
    Holding(OperationId, Lease),
}

impl<W> SmallClient<W> {
    /// One whose clock is wrong by as much as the drift that is allowed covers.
    pub(crate) fn new(nodes: usize, way: W, rng: &mut Rng) -> Self {
        let ppm = i64::try_from(rng.below(2_000)).expect("few millionths") - 1_000;
        let clock = Clock::new(rng.between(SECOND, 1 << 40), ppm);
        Self {
            engine: Engine::new(Quorum::majority(nodes).expect("a few")),
            operations: 0,
            clock,
            way,
            application: Application::Idle,
            ticket: 0,
            stopped_until: Moment::START,
            wakes_at: Moment::NEVER,
        }
    }

    pub(crate) fn time(&self, now: Moment) -> Instant {
        self.clock.read(now)
    }
}

/// A plain lock that is extended by itself.
pub(crate) fn config(timing: Timing, retry: Retry) -> LockConfig {
    LockConfig {
        timing,
        retry,
        owners: OwnerSource::default(),
        policy: RenewalPolicy {
            renewal: AutoRenewal::Thirds,
            ..RenewalPolicy::default()
        },
        is_fenced: false,
        queues: false,
        asks_one_first: false,
        is_fair: false,
    }
}

impl<E, W> Stage<E, W> {
    /// What the client's clock shows.
    pub(crate) fn time(&self, client: usize) -> Instant {
        self.clients[client].time(self.now)
    }

    /// The application does the next thing after this time at most.
    pub(crate) fn act_later(&mut self, client: usize, most_ns: u64) {
        let this = &mut self.clients[client];
        this.ticket += 1;
        let ticket = this.ticket;
        let after_ns = self.rng.between(MILLISECOND, most_ns);
        self.plan_common(after_ns, Happening::Act { client, ticket });
    }

    pub(super) fn submit(&mut self, client: usize, operation: Operation) {
        let mut bytes = [0; Seed::LENGTH];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.rng.next().to_le_bytes()[..chunk.len()]);
        }
        let now = self.time(client);
        let this = &mut self.clients[client];
        let id = OperationId::new(this.operations);
        this.operations += 1;
        this.engine.submit(now, id, || Seed::new(bytes), operation);
    }

    /// Plans the next timer of a client's engine.
    pub(super) fn wake_in_time(&mut self, client: usize) {
        let this = &mut self.clients[client];
        if let Some(reading) = this.engine.poll_timeout() {
            let at = this.clock.when(reading).max(self.now);
            if at < this.wakes_at || this.wakes_at <= self.now {
                this.wakes_at = at;
                self.plan_common(at.since_ns(self.now), Happening::Wake { client });
            }
        }
    }

    pub(super) fn told(&mut self, client: usize, operation: OperationId, told: Told) {
        match told {
            Told::Acquired(lease) => {
                self.leases += 1;
                self.has_recovered |= self.is_healed;
                let resource = lease.resource.clone();
                self.tell(|| format!("c{client} HOLDS {resource} op {}", operation.number()));
                let valid_until = lease.valid_until;
                self.clients[client].application = Application::Holding(operation, lease);
                self.says(client, operation, valid_until);
                let longest_ns = self.rng.pick(self.rhythm.holds_ns);
                self.act_later(client, longest_ns);
            }
            Told::NotAcquired(_) => {
                self.clients[client].application = Application::Idle;
                self.act_later(client, self.rhythm.again_ns);
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
                    self.act_later(client, self.rhythm.again_ns);
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
