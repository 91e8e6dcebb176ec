//! What goes wrong in the world, and for how long.

use crate::{
    check::seconds,
    client::answer,
    node::{Data, Evicted, log::Lack},
    queue::Event,
    setting::Keeps,
    time::{MILLISECOND, Moment, SECOND},
    world::World,
};
use leasehold_core::{Owner, Request, Resource, Ttl};
use std::time::Duration;

/// A kind of fault that strikes from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Some directions between clients and nodes are cut.
    Partition,
    /// A connection breaks.
    Break,
    /// A node's address leads to another node's server for a while, for one client or all.
    Reroute,
    /// A node stops for a while and then goes on.
    Hang,
    /// A node refuses to act.
    Reject,
    /// A node crashes and is started again.
    Crash,
    /// The nodes write down what they know, or replicas catch up.
    Snapshot,
    /// A node loses all its keys.
    Flush,
    /// A replica takes over that has what the last snapshot had.
    Failover,
    /// A node has a limit and a policy that evicts, for a moment or a while, and evicts keys.
    Evict,
    /// Somebody turns a node's log off for a while, or lets it be written late.
    Unlog,
    StepForward,
    StepBack,
    /// A process stands still.
    Pause,
    /// An application does not get to run; the engine beside it does.
    Starve,
    /// A process dies and is started again.
    Die,
    /// A machine sleeps.
    Suspend,
    /// Another program takes the lock on a node by plain `SET NX PX`.
    ForeignLock,
    /// Another program deletes the key on a node by plain `DEL`.
    ForeignDelete,
    /// An operator takes a lock away, on most of the nodes or on all.
    TakeAway,
}

impl Kind {
    /// Whether votes are lost by it, or end before their time.
    const fn forgets(self) -> bool {
        matches!(
            self,
            Self::Crash | Self::Flush | Self::Failover | Self::Evict | Self::StepForward
        )
    }
}

impl World {
    /// Lets the first fault of each kind come some time.
    pub(crate) fn plan_faults(&mut self) {
        for index in 0..self.setting.faults.len() {
            let (kind, every_ns) = self.setting.faults[index];
            self.plan_fault(kind, every_ns);
        }
    }

    fn plan_fault(&mut self, kind: Kind, every_ns: u64) {
        let at = self.now.after(self.rng.between(0, 2 * every_ns));
        if at < self.faults_end() {
            self.queue.plan(at, Event::Fault(kind));
        }
    }

    pub(crate) fn strike(&mut self, kind: Kind) {
        let faults = self.setting.faults.iter();
        let every_ns = faults
            .filter(|fault| fault.0 == kind)
            .map(|fault| fault.1)
            .min();
        self.plan_fault(kind, every_ns.expect("only planned faults strike"));
        let client = self.rng.index(self.clients.len());
        let forgetful = self.setting.forgetful.filter(|_| kind.forgets());
        let node = self.rng.index(forgetful.unwrap_or(self.nodes.len()));
        match kind {
            Kind::Partition => self.cut(),
            Kind::Reroute => self.reroute(client, node),
            Kind::Break => {
                let link = self.rng.index(self.network.links());
                self.break_connection(link);
            }
            Kind::Pause | Kind::Starve | Kind::Die | Kind::Suspend => {
                self.strike_client(kind, client);
            }
            Kind::Snapshot => {
                for node in &mut self.nodes {
                    node.snapshot = node.data.clone();
                }
            }
            Kind::ForeignLock => self.foreign_lock(node),
            Kind::TakeAway => self.take_away(client),
            _ => self.strike_node(kind, node),
        }
    }

    fn cut(&mut self) {
        let until = self.for_a_while();
        let (there, back) = self.rng.pick(&[(true, true), (true, false), (false, true)]);
        // One link, one node, one client, or any.
        let client = self.rng.index(self.clients.len());
        let node = self.rng.index(self.nodes.len());
        let (any_client, any_node) = (self.rng.coin(), self.rng.coin());
        let breaks = self.rng.coin();
        let now = self.now;
        for link in 0..self.network.links() {
            let (from, to) = self.network.ends(link);
            let cut = (any_client || from == client) && (any_node || to == node);
            if cut && (!(any_client && any_node) || self.rng.coin()) {
                self.network.cut(link, there, back, until);
                self.trace.tell(now, || {
                    format!("c{from} ╱ n{to}  cut (to the node: {there}, back: {back})")
                });
                if breaks && self.rng.coin() {
                    self.break_connection(link);
                }
            }
        }
    }

    /// Connections that stand lead where they did, until they break.
    fn reroute(&mut self, client: usize, node: usize) {
        let until = self.for_a_while();
        let server = self.rng.index(self.nodes.len());
        let (for_all, breaks) = (self.rng.coin(), self.rng.chance(800_000));
        self.trace.tell(self.now, || {
            let whom = match for_all {
                true => "everybody".to_owned(),
                false => format!("c{client}"),
            };
            format!(
                "n{node}       leads {whom} to n{server} until {}",
                seconds(until)
            )
        });
        for from in 0..self.clients.len() {
            if for_all || from == client {
                let link = self.network.link(from, node);
                self.network.reroute(link, server, until);
                if breaks {
                    self.break_connection(link);
                }
            }
        }
    }

    fn strike_client(&mut self, kind: Kind, client: usize) {
        let (now, until) = (self.now, self.for_a_while());
        if !self.clients[client].runs(now) {
            return;
        }
        self.trace.tell(now, || {
            format!("c{client}       {kind:?} until {}", seconds(until))
        });
        match kind {
            Kind::Pause => self.stop(client, until),
            Kind::Starve => self.clients[client].starved_until = until,
            Kind::Die => self.die(client, until),
            _ => {
                self.stop(client, until);
                if !self.setting.clock_counts_in_suspend {
                    self.clients[client].clock.stop(now);
                }
                for node in 0..self.setting.nodes {
                    if self.rng.coin() {
                        self.break_connection(self.network.link(client, node));
                    }
                }
            }
        }
    }

    fn die(&mut self, client: usize, until: Moment) {
        self.checks.died(client);
        self.forget_texts_of(client);
        self.clients[client].die(self.quorum);
        for node in 0..self.setting.nodes {
            self.hang_up(self.network.link(client, node));
        }
        self.queue.plan(until, Event::Restart { client });
    }

    pub(crate) fn restart(&mut self, client: usize) {
        let now = self.now;
        self.trace
            .tell(now, || format!("c{client}       starts again"));
        self.configs[client] = self.config(client);
        self.clients[client].is_alive = true;
        self.start_with_a_list(client);
        for node in 0..self.setting.nodes {
            self.dial(self.network.link(client, node));
        }
        for slot in 0..self.setting.slots {
            self.act_later(client, slot, MILLISECOND);
        }
        self.touched = Some(client);
    }

    fn strike_node(&mut self, kind: Kind, node: usize) {
        let (now, until) = (self.now, self.for_a_while());
        let step_ns = self.rng.between(0, self.setting.clocks.step_ns);
        let is_known = kind == Kind::Failover && self.rng.coin();
        // Mended at once, or not; of the locks alone, or of all keys.
        let (is_over, all) = (self.rng.coin(), self.rng.chance(200_000));
        let this = &mut self.nodes[node];
        if !this.is_up || now <= this.hung_until {
            return;
        }
        self.trace.tell(now, || match kind {
            Kind::Hang => format!("n{node}       hangs until {}", seconds(until)),
            _ => format!("n{node}       {kind:?}"),
        });
        match kind {
            Kind::Hang => this.hung_until = until,
            // Who was refused asks again after pauses that grow with the time of refusal: short enough
            // for the silence to be long enough.
            Kind::Reject => this.rejects_until = until.min(now.after(SECOND / 5)),
            Kind::Flush => {
                this.data = Data::default();
                self.touch_all(node);
                self.has_forgotten(node);
            }
            Kind::Evict => {
                let until = if is_over { now } else { until };
                let keys = match all {
                    true => Evicted::All,
                    false => Evicted::Of(&self.resources),
                };
                this.evict(now, until, keys);
                self.touch_all(node);
                self.has_forgotten(node);
            }
            Kind::Unlog => self.unlog(node, until),
            Kind::StepForward => self.step_forward(node, step_ns),
            Kind::StepBack => {
                this.clock.step_back(now, step_ns);
                this.set_back_ns += step_ns;
                // An answer of before that comes after one of now shows the step the other way round.
                if self.network.law.lawless {
                    this.stepped_ns += step_ns;
                }
            }
            Kind::ForeignDelete => {
                let resource = self.resources[self.rng.index(self.resources.len())].clone();
                this.delete(now, &resource);
                self.touch(node, None, &resource);
            }
            Kind::Failover => {
                this.fail_over(is_known);
                self.has_forgotten(node);
                if !self.setting.hides_restarts {
                    self.break_all(node);
                }
            }
            _ => self.crash(node, until),
        }
    }

    fn break_all(&mut self, node: usize) {
        for link in self.network.leading_to(node) {
            self.break_connection(link);
        }
    }

    fn crash(&mut self, node: usize, until: Moment) {
        if self.nodes[node].has_unseen_log() {
            return;
        }
        let crash = self.setting.crash;
        // A dying node acts no more: it is down before its connections break.
        self.nodes[node].is_up = false;
        if !self.setting.hides_restarts {
            self.break_all(node);
        }
        let this = &mut self.nodes[node];
        let mut forgets = crash.keeps != Keeps::All;
        match crash.keeps {
            Keeps::All => forgets = this.read_log(),
            Keeps::Snapshot => this.data = this.snapshot.clone(),
            Keeps::Nothing => {
                this.data = Data::default();
                this.snapshot = Data::default();
            }
        }
        let back = if crash.delayed {
            // Assumption A3: no vote while a lease may still rely on one that is forgotten.
            self.now.after(self.setting.longest_life_ns())
        } else {
            // No process ends and serves again within a millisecond, by whatever clock.
            let away_ns = until.since_ns(self.now).min(self.setting.ttl_ns / 4);
            self.now.after(away_ns.max(2 * MILLISECOND))
        };
        self.trace.tell(self.now, || {
            let keeps = match crash.keeps {
                Keeps::All if forgets => "goes back to its log",
                Keeps::All => "keeps all it knew",
                Keeps::Snapshot => "goes back to its last snapshot",
                Keeps::Nothing => "forgets everything",
            };
            format!("n{node}       {keeps}, and is back at {}", seconds(back))
        });
        self.nodes[node].serve_anew(back, false, false);
        if crash.may_miss_log && self.rng.coin() {
            self.trace.tell(self.now, || {
                format!("n{node}       reads its last snapshot instead, and has no log for a while")
            });
            self.nodes[node].miss_log();
            let on_ns = self
                .rng
                .pick(&[0, self.setting.ttl_ns / 2, 2 * self.setting.ttl_ns]);
            self.queue.plan(back.after(on_ns), Event::Log { node });
            forgets = true;
        }
        if forgets {
            self.has_forgotten(node);
        }
        self.nodes_back = self.nodes_back.max(back);
        self.queue.plan(back, Event::NodeBack { node });
    }

    fn unlog(&mut self, node: usize, until: Moment) {
        let lack = self.rng.pick(&[Lack::Off, Lack::Unsynced]);
        // Long enough for a node to be flushed meanwhile, and to wait for the end of its quarantine.
        let longer_ns = self.rng.pick(&[0, 2 * self.setting.quarantine_ns()]);
        let until = until.after(longer_ns).min(self.faults_end());
        self.trace
            .tell(self.now, || format!("n{node}       its disk: {lack:?}"));
        self.nodes[node].stop_logging(lack);
        self.queue.plan(until, Event::Log { node });
    }

    /// The settings of a log are back, or it has been rewritten.
    pub(crate) fn log_again(&mut self, node: usize) {
        let is_behind = self.nodes[node].log_again();
        self.trace.tell(self.now, || {
            format!("n{node}       logs again, rewrites first: {is_behind}")
        });
        if is_behind {
            let until = self.for_a_while().max(self.now);
            self.queue.plan(until, Event::Log { node });
        }
    }

    /// Tells the checkers that the node knows less than before.
    fn has_forgotten(&mut self, node: usize) {
        let this = &mut self.nodes[node];
        this.forgot = Some(self.now);
        let kept = |resource: &Resource, owner: &Owner| this.kept(resource, owner);
        self.checks.guard.forgot(self.now, node, kept);
    }

    /// Sets a clock forward. As far as a margin covers it, that happens once in the life of a key.
    fn step_forward(&mut self, node: usize, step_ns: u64) {
        let setting = &self.setting;
        let rest_ns = setting.longest_life_ns().max(setting.quarantine_ns());
        let is_covered = setting.clocks.step_ns <= setting.step_margin_ns;
        let this = &mut self.nodes[node];
        let early = |at: Moment| self.now.since_ns(at) < rest_ns + 2 * step_ns;
        if is_covered && this.stepped_at.is_some_and(early) {
            return;
        }
        this.stepped_at = Some(self.now);
        this.stepped_ns += step_ns;
        this.clock.step_forward(self.now, step_ns);
    }

    fn foreign_lock(&mut self, node: usize) {
        let resource = self.resources[self.rng.index(self.resources.len())].clone();
        let ttl_ns = self.rng.between(10 * MILLISECOND, self.setting.ttl_ns);
        let ttl = Ttl::new(Duration::from_nanos(ttl_ns)).expect("10 ms to the TTL of the world");
        let owner = Owner::from_bytes(b"foreign").expect("seven bytes");
        // One node or all: by chance, or as another quorum lock does.
        let everywhere = self.rng.coin();
        for index in 0..self.nodes.len() {
            let this = &mut self.nodes[index];
            let asked = everywhere || index == node;
            if asked && this.is_up && self.now > this.hung_until && this.foreign_type.is_none() {
                let (resource, owner) = (resource.clone(), owner.clone());
                let request = Request::Acquire {
                    resource,
                    owner,
                    ttl,
                    proposal: None,
                    place: None,
                };
                let vote = this.execute(self.now, &request);
                let now = self.now;
                self.touch(index, None, request.resource());
                self.trace.tell(now, || {
                    format!("foreign → n{index}  SET NX PX: {}", answer(&vote))
                });
            }
        }
    }

    /// From a moment to longer than any TTL, but not beyond the end of the faults.
    fn for_a_while(&mut self) -> Moment {
        let ttl_ns = self.setting.ttl_ns;
        let most_ns = self.rng.pick(&[ttl_ns / 10, ttl_ns, ttl_ns * 5 / 2]);
        let span_ns = self.rng.between(MILLISECOND, most_ns);
        self.now.after(span_ns).min(self.faults_end())
    }
}
