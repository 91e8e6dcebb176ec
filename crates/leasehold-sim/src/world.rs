//! A world: true time, and everything that happens in it.
//!
//! Only what was planned happens, in one order, and chance has one source: so a seed is a run.

use crate::{
    check::{Checks, Holder, Property, Violation, leftovers},
    client::{Client, answer, name},
    clock::Clock,
    course::{self, Phase},
    network::{Network, Parcel},
    node::Node,
    queue::{Event, Queue},
    rng::Rng,
    scenario::{Law, Scenario},
    setting::Setting,
    time::{MILLISECOND, Moment, SECOND},
    trace::Trace,
};
use leasehold_core::{
    Drift, Event as Told, Instant, LeaseChange, NodeSet, OperationId, Owner, OwnerSource, Pause,
    Plan, Quorum, ReleaseOutcome, Request, Resource, Retry, Terms, Ttl, Vote,
};
use std::{num::NonZeroU32, rc::Rc, sync::Arc, time::Duration};

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Moment,
    pub(crate) queue: Queue,
    pub(crate) rng: Rng,
    pub(crate) trace: Trace,
    pub(crate) setting: Setting,
    pub(crate) quorum: Quorum,
    pub(crate) resources: Vec<Resource>,
    /// How each client locks.
    pub(crate) plans: Vec<Arc<Plan>>,
    pub(crate) clients: Vec<Client>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) network: Network,
    pub(crate) checks: Checks,
    /// How many leases were handed out.
    pub(crate) leases: u64,
    /// Which client has something to do now.
    pub(crate) touched: Option<usize>,
    /// Whether the applications have let go of everything and want nothing.
    pub(crate) is_resting: bool,
    /// Leases that were given out of hand: what is locked, and the owner.
    pub(crate) offers: Vec<(Resource, Owner)>,
    /// Whose keys were left to whoever takes them over.
    pub(crate) handed_over: Vec<Owner>,
    /// Whose requests were carried out after their connection had died: nobody can take their keys back
    /// in time.
    pub(crate) haunted: Vec<Owner>,
    /// When the last node that crashed is back.
    pub(crate) nodes_back: Moment,
    pub(crate) phase: Phase,
    /// The only property that is looked at, if not all are.
    pub(crate) only: Option<Property>,
    violation: Option<Violation>,
}

/// What became of a run.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) events: u64,
    pub(crate) leases: u64,
    /// The first violation and when it was found. The run ends with it.
    pub(crate) violation: Option<(Moment, Violation)>,
}

impl World {
    pub(crate) fn new(scenario: &Scenario, seed: u64, trace: Trace) -> Self {
        let (setting, mut rng) = scenario.draw(seed);
        let quorum = Quorum::majority(setting.nodes).expect("1 to 32 nodes");
        let resources = (0..setting.resources)
            .map(|index| Resource::new(&format!("r{index}")).expect("two letters are a name"));
        let resources: Vec<_> = resources.collect();
        let mut nodes: Vec<_> = (0..setting.nodes)
            .map(|_| {
                let ppm = drift_ppm(&setting, &mut rng);
                Node::new(&mut rng, ppm)
            })
            .collect();
        if setting.foreign_type {
            let spare = setting.nodes - setting.needed();
            for node in nodes.iter_mut().take(spare) {
                node.foreign_type = Some(resources[0].clone());
            }
        }
        let clients = (0..setting.clients).map(|_| {
            let ppm = drift_ppm(&setting, &mut rng);
            let clock = Clock::new(rng.between(SECOND, 1 << 40), ppm);
            Client::new(quorum, clock, setting.slots)
        });
        let clients: Vec<_> = clients.collect();
        let network = Network::new(setting.links.clone(), setting.clients, setting.nodes);
        let mut world = Self {
            now: Moment::START,
            queue: Queue::default(),
            rng,
            trace,
            checks: Checks::new(&setting),
            setting,
            quorum,
            resources,
            plans: Vec::new(),
            clients,
            nodes,
            network,
            leases: 0,
            touched: None,
            is_resting: false,
            offers: Vec::new(),
            handed_over: Vec::new(),
            haunted: Vec::new(),
            nodes_back: Moment::START,
            phase: Phase::Faults,
            // Where an assumption is broken, keys that are gone too early are no news.
            only: (scenario.law == Law::Broken).then_some(Property::Exclusion),
            violation: None,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        self.plans = (0..self.clients.len())
            .map(|client| self.plan(client))
            .collect();
        if !self.network.law.lawless {
            for link in 0..self.network.links() {
                let at = self.now.after(1 + self.rng.below(MILLISECOND));
                self.queue.plan(at, Event::Connect { link, epoch: 0 });
            }
        }
        for client in 0..self.clients.len() {
            for slot in 0..self.setting.slots {
                let after_ns = self.rng.between(0, self.setting.habits.idle_ns);
                self.act_later(client, slot, after_ns);
            }
        }
        self.plan_faults();
        self.queue.plan(course::FAULTS_END, Event::Phase);
    }

    /// How a client locks. Its owners end in its number and its generation, so that a key on a node
    /// tells whose it is.
    pub(crate) fn plan(&self, client: usize) -> Arc<Plan> {
        let ttl = Ttl::new(Duration::from_nanos(self.setting.ttl_ns)).expect("a TTL in range");
        let (least, most) = self.setting.pause_ns;
        let pause = Pause::Between {
            least: Duration::from_nanos(least),
            most: Duration::from_nanos(most),
        };
        let label = label(client, self.clients[client].generation);
        let terms = Terms::new(ttl, Drift::DEFAULT, None)
            .and_then(|terms| terms.with_margin(Duration::from_nanos(self.setting.margin_ns)))
            .and_then(|terms| terms.with_delay(Duration::from_nanos(self.setting.delay_ns)));
        Arc::new(Plan {
            terms: terms.expect("margins and delays are small"),
            retry: Retry::default()
                .with_tries(self.setting.tries.and_then(NonZeroU32::new))
                .with_pause(pause),
            owners: OwnerSource::new(move |random| [&random[..], &label].concat()),
            upkeep: self.setting.upkeep.clone(),
        })
    }

    /// Lets everything happen, to the end or to the first violation.
    pub(crate) fn run(&mut self) -> Report {
        while self.phase != Phase::Over && self.violation.is_none() {
            self.step();
        }
        if let Some(violation) = &self.violation {
            let now = self.now;
            self.trace.tell(now, || {
                format!("VIOLATION    {:?}: {}", violation.property, violation.what)
            });
        }
        Report {
            events: self.queue.taken(),
            leases: self.leases,
            violation: self
                .violation
                .clone()
                .map(|violation| (self.now, violation)),
        }
    }

    /// Lets one thing happen, and all that follows from it at the same moment.
    pub(crate) fn step(&mut self) {
        let (at, event) = self.queue.take().expect("each phase plans the next");
        assert!(at >= self.now, "time goes on");
        self.now = at;
        self.happen(event);
        while let Some(client) = self.touched.take() {
            self.turn(client);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrive { link, epoch } => self.arrive(link, epoch),
            Event::Return { link, epoch } => self.return_reply(link, epoch),
            Event::Ghost { node, parcel } => self.ghost(node, parcel),
            Event::Datagram {
                link,
                generation,
                parcel,
            } => self.datagram(link, generation, parcel),
            Event::Echo(echo) => self.echo(*echo),
            Event::Break { link, epoch } => self.break_if(link, epoch),
            Event::Detect { link, epoch } => self.detect(link, epoch),
            Event::Connect { link, epoch } => self.connect(link, epoch),
            Event::Wake { client, generation } => self.wake(client, generation),
            Event::Resume { client, generation } => self.resume(client, generation),
            Event::Restart { client } => self.restart(client),
            Event::Act {
                client,
                slot,
                ticket,
            } => self.act(client, slot, ticket),
            Event::Mail { client, generation } => self.read_mail(client, generation),
            Event::Fault(kind) => self.strike(kind),
            Event::NodeBack { node } => self.nodes[node].is_up = true,
            Event::Phase => self.next_phase(),
        }
    }

    /// A node carries out a request.
    pub(crate) fn execute(&mut self, node: usize, parcel: &Parcel) -> Vote {
        let (now, request) = (self.now, &parcel.request);
        let this = &mut self.nodes[node];
        let before = this.key(now, request.resource()).cloned();
        let vote = this.execute(now, request);
        self.trace.tell(now, || {
            format!(
                "c{} → n{node}  {} {}: {}",
                parcel.client,
                name(parcel.tag),
                verb(request),
                answer(&vote)
            )
        });
        if leftovers::acts(&vote) {
            let checked = leftovers::after_grant(now, &self.nodes[node], before.as_ref(), request);
            self.note(checked);
        }
        vote
    }

    fn ghost(&mut self, node: usize, parcel: Rc<Parcel>) {
        let this = &self.nodes[node];
        if self.now < this.hung_until {
            self.queue
                .plan(this.hung_until, Event::Ghost { node, parcel });
        } else if this.is_up {
            self.haunted.extend(parcel.request.owner().cloned());
            self.execute(node, &parcel);
        }
    }

    pub(crate) fn tell_send(&mut self, parcel: &Parcel, nodes: NodeSet) {
        self.trace.tell(self.now, || {
            let Parcel {
                client,
                tag,
                request,
            } = parcel;
            format!("c{client} → n{nodes:?}  {} {}", name(*tag), verb(request))
        });
    }

    /// Checks what the engine says about the end of an operation.
    pub(crate) fn check_end(&mut self, client: usize, operation: OperationId, told: &Told) {
        let now = self.clients[client].time(self.now);
        self.trace.tell(self.now, || {
            format!("c{client}       op {}: {told:?}", operation.number())
        });
        let about = match self.checks.progress.ended(client, operation) {
            Ok(about) => about,
            Err(violation) => return self.note(Err(violation)),
        };
        match told {
            Told::Acquired(lease) => {
                self.checks.progress.acquired(self.now);
                let acquired = self.checks.validity.acquired(client, now, operation, lease);
                self.note(acquired);
                self.check_backing(client, operation);
            }
            Told::NotAcquired(_) => self.checks.validity.forget(client, operation),
            Told::Extended(valid_until) => {
                let stands = self.checks.validity.stands(client, about, *valid_until);
                self.note(stands);
            }
            Told::Released(outcome) => self.check_release(client, about, outcome),
            Told::HandedOver(_) => self.checks.validity.forget(client, about),
            Told::NotExtended(_) | Told::Inspected(_) | Told::Changed(_) => {}
        }
    }

    /// Checks what the engine says about a lease that is held.
    pub(crate) fn check_change(
        &mut self,
        client: usize,
        operation: OperationId,
        change: &LeaseChange,
    ) {
        let now = self.clients[client].time(self.now);
        self.trace.tell(self.now, || {
            format!("c{client}       lease {}: {change:?}", operation.number())
        });
        let holder = Holder { client, operation };
        match change {
            LeaseChange::Confirmed { valid_until } => {
                let validity = &mut self.checks.validity;
                let extended = validity.extended(client, now, operation, *valid_until);
                self.note(extended);
                self.checks.loss.confirmed(holder, *valid_until);
                self.check_backing(client, operation);
            }
            LeaseChange::InDanger(danger) => {
                let warned = self.checks.loss.warned(client, now, danger);
                self.note(warned);
            }
            LeaseChange::Lost(loss) => {
                let lease = self.checks.validity.lease(client, operation);
                let carriers = lease.map(|lease| {
                    let ours = |node: &&Node| {
                        let key = node.key(self.now, &lease.resource);
                        !node.is_up || key.is_some_and(|key| key.owner == lease.owner)
                    };
                    self.nodes.iter().filter(ours).count()
                });
                let valid_until = lease.map(|lease| lease.valid_until);
                let is_certain = !self.network.law.lawless;
                let carriers = carriers.filter(|_| is_certain);
                let lost = self
                    .checks
                    .loss
                    .lost(holder, now, loss, valid_until, carriers);
                self.note(lost);
                self.checks.exclusion.ends(holder);
            }
        }
    }

    fn check_backing(&mut self, client: usize, operation: OperationId) {
        if let Some(lease) = self.checks.validity.lease(client, operation) {
            let clock = &self.clients[client].clock;
            let backed = self
                .checks
                .validity
                .backed(clock, self.now, &self.nodes, lease);
            self.note(backed);
        }
    }

    fn check_release(&mut self, client: usize, acquisition: OperationId, outcome: &ReleaseOutcome) {
        // On a lawless network the first request may land after the release.
        if !self.network.law.lawless
            && !self.setting.keeps_keys()
            && *outcome == ReleaseOutcome::Released
            && let Some(lease) = self.checks.validity.lease(client, acquisition)
            && !self.haunted.contains(&lease.owner)
        {
            let (resource, owner) = (&lease.resource, &lease.owner);
            let needed = self.setting.needed();
            let free = leftovers::after_release(self.now, &self.nodes, needed, resource, owner);
            self.note(free);
        }
        self.checks.validity.forget(client, acquisition);
    }

    /// The guard of this acquisition answers "valid" until then, from now on.
    pub(crate) fn guard_says(
        &mut self,
        client: usize,
        operation: OperationId,
        resource: &Resource,
        valid_until: Instant,
    ) {
        let (now, clients) = (self.now, &self.clients);
        self.trace.tell(now, || {
            let left = valid_until.saturating_since(clients[client].time(now));
            format!("c{client}       HOLDS {resource} for {left:?} by its clock")
        });
        let holder = Holder { client, operation };
        let time = |client: usize| clients[client].time(now);
        let says = self
            .checks
            .exclusion
            .says(holder, resource, valid_until, time);
        self.note(says);
    }

    /// Remembers the first violation.
    pub(crate) fn note(&mut self, checked: Result<(), Violation>) {
        if let Err(violation) = checked
            && self.only.is_none_or(|only| violation.property == only)
        {
            self.violation.get_or_insert(violation);
        }
    }
}

fn drift_ppm(setting: &Setting, rng: &mut Rng) -> i64 {
    let most = i64::try_from(setting.clocks.drift_ppm).expect("a few millionths");
    // The ends of the range are where a bound breaks.
    match rng.below(4) {
        0 => most,
        1 => -most,
        _ => i64::try_from(rng.between(0, 2 * setting.clocks.drift_ppm)).unwrap_or(most) - most,
    }
}

fn label(client: usize, generation: u32) -> [u8; 6] {
    let [a, b, c, d] = generation.to_be_bytes();
    [
        b'@',
        u8::try_from(client).expect("a few clients"),
        a,
        b,
        c,
        d,
    ]
}

/// Which client, and which of its processes, signed a key; none if it was another program.
pub(crate) fn signer(owner: &Owner) -> Option<(usize, u32)> {
    match owner.as_bytes() {
        [random @ .., b'@', client, a, b, c, d] if random.len() == 20 => {
            Some((usize::from(*client), u32::from_be_bytes([*a, *b, *c, *d])))
        }
        _ => None,
    }
}

const fn verb(request: &Request) -> &'static str {
    match request {
        Request::Acquire { .. } => "acquire",
        Request::Extend { .. } => "extend",
        Request::Transfer { .. } => "take over",
        Request::Inspect { .. } => "inspect",
        Request::Release { .. } => "release",
    }
}
