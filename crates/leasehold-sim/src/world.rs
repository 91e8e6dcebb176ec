//! A world: true time, and everything that happens in it.
//!
//! Only what was planned happens, in one order, and chance has one source: so a seed is a run.

#[cfg(feature = "lua")]
use crate::node::scripted::Fleet;
use crate::{
    check::{
        Checks, Property, Violation,
        leftovers::{self, Before},
    },
    client::{Client, answer, name},
    clock::Clock,
    course::Phase,
    detached::Text,
    network::{Network, Parcel},
    node::Node,
    queue::{Event, Queue},
    replacement::Replacement,
    rng::Rng,
    scenario::{Law, Scenario},
    setting::{Guard, Setting, Twin},
    time::{Moment, SECOND, TRUE_EPOCH_NS},
    trace::{Trace, asked},
};
use leasehold_core::{
    Drift, Identity, LockConfig, NodeSet, Owner, OwnerSource, Pause, Quorum, Request, Resource,
    Retry, Timing, Ttl, Vote,
    quarantine::{Disk, Quarantine},
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
    pub(crate) configs: Vec<Arc<LockConfig>>,
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
    /// Leases without a guard: all who run know their owners.
    pub(crate) detached: Vec<Text>,
    /// Whose keys were left to whoever takes them over, or extends them.
    pub(crate) handed_over: Vec<Owner>,
    /// Whose requests were carried out after their connection had died: nobody can take their keys back
    /// in time.
    pub(crate) haunted: Vec<Owner>,
    /// How far an operator is who replaces a node.
    pub(crate) replacement: Replacement,
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
        let quorum = match setting.forgetful {
            None => Quorum::majority(setting.nodes),
            Some(forgetful) => Quorum::tolerate_forgetful(setting.nodes, forgetful),
        };
        let quorum = quorum.expect("1 to 32 nodes");
        let resources = (0..setting.resources)
            .map(|index| Resource::new(&format!("r{index}")).expect("two letters are a name"));
        let resources: Vec<_> = resources.collect();
        let nodes = nodes(&setting, &resources[0], &mut rng);
        let clients = clients(&setting, quorum, &mut rng);
        let network = Network::new(&setting, Rng::new(!seed));
        let mut world = Self {
            now: Moment::START,
            queue: Queue::default(),
            rng,
            trace,
            checks: Checks::new(&setting),
            setting,
            quorum,
            resources,
            configs: Vec::new(),
            clients,
            nodes,
            network,
            leases: 0,
            touched: None,
            is_resting: false,
            offers: Vec::new(),
            detached: Vec::new(),
            handed_over: Vec::new(),
            haunted: Vec::new(),
            replacement: Replacement::default(),
            nodes_back: Moment::START,
            phase: Phase::Faults,
            // Where an assumption is broken, keys that are gone too early are no news.
            only: match scenario.law {
                Law::Kept => None,
                Law::Fenced => Some(Property::Tokens),
                Law::Broken(property) => Some(property),
            },
            violation: None,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        self.configs = (0..self.clients.len())
            .map(|client| self.config(client))
            .collect();
        if self.network.law.lawless {
            if self.setting.hides_restarts {
                self.meet_all();
            }
            self.send_first_hints();
        } else {
            let within_ns = self.first_dial_ns();
            for link in 0..self.network.links() {
                let at = self.now.after(1 + self.rng.below(within_ns));
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
        self.plan_replacement();
        self.queue.plan(self.now, Event::Look);
        self.queue.plan(self.faults_end(), Event::Phase);
    }

    /// How a client locks. Its owners end in its number and its generation, so that a key on a node
    /// tells whose it is.
    pub(crate) fn config(&self, client: usize) -> Arc<LockConfig> {
        let ttl = Ttl::new(Duration::from_nanos(self.setting.ttl_ns)).expect("a TTL in range");
        let (least, most) = self.setting.pause_ns;
        let pause = Pause::Between {
            least: Duration::from_nanos(least),
            most: Duration::from_nanos(most),
        };
        let label = label(client, self.clients[client].generation);
        let timing = Timing::new(ttl, Drift::DEFAULT, None)
            .and_then(|timing| timing.with_margin(Duration::from_nanos(self.setting.margin_ns)))
            .and_then(|timing| timing.with_delay(Duration::from_nanos(self.setting.delay_ns)))
            .and_then(|timing| {
                timing.with_step_margin(Duration::from_nanos(self.setting.step_margin_ns))
            });
        Arc::new(LockConfig {
            timing: timing.expect("margins and delays are small"),
            retry: Retry::default()
                .with_tries(self.setting.tries.and_then(NonZeroU32::new))
                .with_pause(pause),
            owners: OwnerSource::new(move |random| [&random[..], &label].concat()),
            policy: self.setting.policy.clone(),
            is_fenced: self.setting.is_fenced,
            queues: self.setting.waits.queues(client),
            asks_one_first: self.setting.waits.asks_one_first(client),
            is_fair: self.setting.waits.is_fair(client),
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
            Event::Ghost { node, parcel, met } => self.ghost(node, parcel, met),
            Event::Datagram {
                link,
                generation,
                parcel,
            } => self.datagram(link, generation, parcel),
            Event::Echo(echo) => self.echo(*echo),
            Event::Hint {
                link,
                generation,
                resource,
            } => self.hint(link, generation, resource),
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
            Event::Log { node } => self.log_again(node),
            Event::NodeBack { node } => self.nodes[node].is_up = true,
            Event::Write(write) => self.write(&write),
            Event::Delete { node, resource } => self.delete_by_force(node, resource),
            Event::Replace => self.replace(),
            Event::Look => self.look(),
            Event::Phase => self.next_phase(),
        }
    }

    /// A node carries out a request.
    pub(crate) fn execute(
        &mut self,
        node: usize,
        parcel: &Parcel,
        met: Option<&Identity>,
    ) -> (Vote, Option<Duration>) {
        let (now, request) = (self.now, &parcel.request);
        if let Some(vote) = self.of_another_list(node, parcel.list, request) {
            return (vote, None);
        }
        let this = &mut self.nodes[node];
        let before = Before::of(now, this, request);
        let grants_again = self.setting.twin == Twin::GrantsAgain;
        let again = grants_again.then(|| granting_again(request)).flatten();
        let (vote, told) = this.vote(now, again.as_ref().unwrap_or(request), met);
        let call = std::slice::from_ref(request);
        self.executed(node, parcel, &before, &vote, call);
        (vote, told)
    }

    /// A node carries out a call of several requests in one step.
    pub(crate) fn execute_call(
        &mut self,
        node: usize,
        parcels: &[Rc<Parcel>],
        met: Option<&Identity>,
    ) -> Vec<(Vote, Option<Duration>)> {
        let now = self.now;
        let this = &mut self.nodes[node];
        self.trace.tell(now, || {
            let (client, count) = (parcels[0].client, parcels.len());
            format!("c{client} → n{node}  a call of {count}")
        });
        let requests: Vec<_> = { parcels.iter() }
            .map(|parcel| parcel.request.clone())
            .collect();
        let before: Vec<_> = { requests.iter() }
            .map(|request| Before::of(now, this, request))
            .collect();
        let answers = this.vote_together(now, &requests, met);
        for ((parcel, before), (vote, _)) in parcels.iter().zip(before).zip(&answers) {
            self.executed(node, parcel, &before, vote, &requests);
        }
        answers
    }

    /// A node has carried out a request of a call, and `before` is what was there.
    fn executed(
        &mut self,
        node: usize,
        parcel: &Parcel,
        before: &Before,
        vote: &Vote,
        call: &[Request],
    ) {
        let (now, request) = (self.now, &parcel.request);
        self.trace.tell(now, || {
            format!(
                "c{} → n{node}  {} {}: {}",
                parcel.client,
                name(parcel.tag),
                asked(request),
                answer(vote)
            )
        });
        if let (Request::Release { owner, .. }, Vote::Unknown(_)) = (request, vote) {
            self.nodes[node].in_vain.add(now, owner);
        }
        if leftovers::acts(vote) {
            let checked = before.is_kept(now, &self.nodes[node], request, call);
            self.note(checked);
            self.check_guard(node, parcel);
            self.check_promises(parcel.request.resource());
        }
    }

    fn ghost(&mut self, node: usize, parcel: Rc<Parcel>, met: Option<Identity>) {
        let this = &self.nodes[node];
        if self.now < this.hung_until {
            self.queue
                .plan(this.hung_until, Event::Ghost { node, parcel, met });
        } else if this.is_up {
            self.haunted.extend(parcel.request.owner().cloned());
            self.execute(node, &parcel, met.as_ref());
            self.touch(node, None, parcel.request.resource());
        }
    }

    pub(crate) fn tell_send(&mut self, parcel: &Parcel, nodes: NodeSet) {
        self.trace.tell(self.now, || {
            let Parcel {
                client,
                tag,
                request,
                ..
            } = parcel;
            format!("c{client} → n{nodes:?}  {} {}", name(*tag), asked(request))
        });
    }

    /// Remembers the first violation.
    pub(crate) fn note(&mut self, checked: Result<(), Violation>) {
        if let Err(violation) = checked
            && self
                .only
                .is_none_or(|only| violation.property.belongs_to(only))
        {
            self.violation.get_or_insert(violation);
        }
    }
}

fn nodes(setting: &Setting, first: &Resource, rng: &mut Rng) -> Vec<Node> {
    let spare = setting.servers() - setting.needed();
    #[cfg(feature = "lua")]
    let fleet = fleet(setting);
    let node = |index| {
        let ppm = drift_ppm(setting, rng);
        let mut node = Node::new(rng, ppm);
        node.divides = setting.divides;
        node.extends_blindly = setting.extends_blindly;
        node.sharing = setting.sharing;
        if setting.foreign_type && index < spare {
            node.foreign_type = Some(first.clone());
        }
        if let Guard::Marker {
            span_ns,
            trusts_disk,
            tells_evictions,
        } = setting.guard
        {
            let span = Duration::from_nanos(span_ns);
            let disk = if trusts_disk {
                Disk::Trusted
            } else {
                Disk::Ignored
            };
            node.guard = Some(Quarantine { span, disk });
            node.tells_evictions = tells_evictions;
        }
        #[cfg(feature = "lua")]
        if let Some(fleet) = &fleet {
            node.run_scripts(fleet);
        }
        if setting.is_admitted {
            node.admit(Moment::START);
        }
        node
    };
    (0..setting.servers()).map(node).collect()
}

/// The request as servers took it that did not know that nothing is sent twice.
fn granting_again(request: &Request) -> Option<Request> {
    let Request::Acquire {
        resource,
        owner,
        ttl,
        proposal,
        ..
    } = request
    else {
        return None;
    };
    Some(Request::Repair {
        resource: resource.clone(),
        owner: owner.clone(),
        ttl: *ttl,
        proposal: *proposal,
    })
}

/// What the nodes have in common, if they are servers.
#[cfg(feature = "lua")]
fn fleet(setting: &Setting) -> Option<Rc<Fleet>> {
    let texts = setting.texts?;
    let guard = match setting.guard {
        Guard::Marker {
            span_ns,
            trusts_disk,
            ..
        } => Some((Duration::from_nanos(span_ns), trusts_disk)),
        Guard::Nobody | Guard::Uptime { .. } => None,
    };
    let is_fenced = !setting.is_plain();
    Some(Rc::new(Fleet::new(texts, setting.nodes, is_fenced, guard)))
}

fn clients(setting: &Setting, quorum: Quorum, rng: &mut Rng) -> Vec<Client> {
    let client = |_| {
        let ppm = drift_ppm(setting, rng);
        let clock = Clock::new(rng.between(SECOND, 1 << 40), ppm);
        // Who has no tokens reads no wall clock.
        let skew_ns = if setting.is_fenced {
            rng.between(0, 2 * setting.skew_ns)
        } else {
            0
        };
        let epoch_ns = TRUE_EPOCH_NS - setting.skew_ns + skew_ns - clock.read_ns(Moment::START);
        let epoch = Duration::from_nanos(epoch_ns);
        Client::new(quorum, clock, epoch, setting.slots)
    };
    (0..setting.clients).map(client).collect()
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
    let client = u16::try_from(client).expect("thousands of clients at most");
    let ([a, b], [none, c, d, e]) = (client.to_be_bytes(), generation.to_be_bytes());
    assert_eq!(none, 0, "a process is started again a few times");
    [b'@', a, b, c, d, e]
}

/// Which client, and which of its processes, signed a key; none if it was another program.
pub(crate) fn signer(owner: &Owner) -> Option<(usize, u32)> {
    let [random @ .., b'@', a, b, c, d, e] = owner.as_bytes() else {
        return None;
    };
    let is_ours = random.len() == 20 || owner.permit().is_some();
    let client = u16::from_be_bytes([*a, *b]);
    is_ours.then(|| (client.into(), u32::from_be_bytes([0, *c, *d, *e])))
}
