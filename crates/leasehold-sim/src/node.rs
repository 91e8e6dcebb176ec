//! One node, and what may happen to the machine that it is on: the production table and the production guard, or a
//! server on which the production scripts run.

use crate::{
    check::leftovers::InVain,
    clock::Clock,
    network::hints::Watch,
    rng::Rng,
    time::{Moment, TRUE_EPOCH_NS},
};
use broken::Sharing;
use leasehold_core::{
    Fault, FaultKind, Identity, Instant, Refusal, Request, Resource, Table, Vote,
    quarantine::{Marker, Process, Quarantine},
    table::Key,
};
use std::{collections::BTreeMap, time::Duration};

pub(crate) mod broken;
mod keys;
pub(crate) mod log;
#[cfg(feature = "lua")]
pub(crate) mod scripted;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) data: Data,
    pub(crate) clock: Clock,
    /// What the wall clock shows at the clock's origin.
    epoch: Duration,
    /// What a snapshot or a lagging replica has.
    pub(crate) snapshot: Data,
    /// What its disk has, if that does not get every write.
    behind: Option<log::Behind>,
    /// The server, if the node is one. Otherwise it follows the rule of the core.
    #[cfg(feature = "lua")]
    scripted: Option<scripted::Scripted>,
    /// Whether the node votes only when it may have forgotten nothing.
    pub(crate) guard: Option<Quarantine>,
    /// Whether the look at its process tells what it may evict, and has evicted.
    pub(crate) tells_evictions: bool,
    /// It may evict keys until then.
    pub(crate) evicts_until: Moment,
    /// How many it has evicted.
    pub(crate) evicted: u64,
    /// What the names of its processes begin with.
    name: u64,
    process: Process,
    /// How many processes have served here, and how many histories their data have had.
    runs: u32,
    histories: u32,
    /// Since when the process is up.
    pub(crate) booted: Moment,
    /// When it last forgot something.
    pub(crate) forgot: Option<Moment>,
    /// By how much the clock was set forward, all in all, as far as answers can show, and when last.
    pub(crate) stepped_ns: u64,
    /// By how much its clock was set back, all in all.
    pub(crate) set_back_ns: u64,
    pub(crate) stepped_at: Option<Moment>,
    pub(crate) is_up: bool,
    /// Who is to be told of changes.
    pub(crate) watches: Vec<Watch>,
    /// Requests wait until then.
    pub(crate) hung_until: Moment,
    /// Requests are refused by the server, not by the lock, until then.
    pub(crate) rejects_until: Moment,
    /// Releases that it did not carry out.
    pub(crate) in_vain: InVain,
    /// Under this name stands a key of another type.
    pub(crate) foreign_type: Option<Resource>,
    /// Whether it takes the first of several names, and grants all.
    pub(crate) divides: bool,
    /// Whether it says yes to every extension, whatever it has.
    pub(crate) extends_blindly: bool,
    /// What it does with those who read, or want permits.
    pub(crate) sharing: Sharing,
}

/// Everything that is lost together, and goes back in time together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    /// Of which list of nodes it is; none if nobody has told it yet.
    pub(crate) list: Option<u32>,
    pub(crate) table: Table,
    pub(crate) marker: Option<Marker>,
    /// The shares of names, or some of their permits, where they are kept apart from these.
    pub(crate) shares: Table,
    /// The permits of each name, where they are only counted.
    pub(crate) counted: BTreeMap<Resource, Vec<Key>>,
    /// The same of a server.
    #[cfg(feature = "lua")]
    pub(crate) keys: leasehold_fake_redis::Data,
}

/// What a node evicts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Evicted<'a> {
    /// Its own hash as well.
    All,
    Of(&'a [Resource]),
}

impl Node {
    pub(crate) fn new(rng: &mut Rng, drift_ppm: i64) -> Self {
        // Far from every other clock, so that a reading of the wrong one shows.
        let reading_ns = rng.between(1 << 40, 1 << 50);
        Self {
            data: Data::default(),
            clock: Clock::new(reading_ns, drift_ppm),
            epoch: Duration::from_nanos(TRUE_EPOCH_NS - reading_ns),
            snapshot: Data::default(),
            behind: None,
            #[cfg(feature = "lua")]
            scripted: None,
            guard: None,
            tells_evictions: true,
            evicts_until: Moment::START,
            evicted: 0,
            name: reading_ns,
            process: identified(reading_ns, 0, 0, false),
            runs: 0,
            histories: 0,
            booted: Moment::START,
            forgot: None,
            stepped_ns: 0,
            set_back_ns: 0,
            stepped_at: None,
            is_up: true,
            watches: Vec::new(),
            hung_until: Moment::START,
            rejects_until: Moment::START,
            in_vain: InVain::default(),
            foreign_type: None,
            divides: false,
            extends_blindly: false,
            sharing: Sharing::EachAlone,
        }
    }

    /// One of several machines whose clocks show the same time.
    pub(crate) fn on_machine(mut self, machine: u64) -> Self {
        self.name ^= machine << 60;
        self.process = identified(self.name, 0, 0, false);
        self
    }

    /// What the node takes for the time: whole milliseconds, as Redis does.
    pub(crate) fn time(&self, now: Moment) -> Instant {
        let millis = self.clock.read_ns(now) / 1_000_000;
        Instant::from_origin(Duration::from_millis(millis))
    }

    /// The process that serves the node now.
    pub(crate) const fn identity(&self) -> &Identity {
        &self.process.id
    }

    /// Lets the node be a server.
    #[cfg(feature = "lua")]
    pub(crate) fn run_scripts(&mut self, fleet: &std::rc::Rc<scripted::Fleet>) {
        let mut scripted = scripted::Scripted::new(fleet);
        scripted.serve(&self.process.id, self.process.was_replica);
        if let Some(resource) = &self.foreign_type {
            let us = self.wall_us(Moment::START);
            scripted.put_a_list(&mut self.data, us, resource);
        }
        self.scripted = Some(scripted);
    }

    /// Whether the node is a server.
    pub(crate) const fn is_scripted(&self) -> bool {
        #[cfg(feature = "lua")]
        return self.scripted.is_some();
        #[cfg(not(feature = "lua"))]
        false
    }

    /// The server, if the node is one, what it keeps, and the time that it knows.
    #[cfg(feature = "lua")]
    fn server(&mut self, now: Moment) -> Option<(&mut scripted::Scripted, &mut Data, u64)> {
        let (us, is_starved) = (self.wall_us(now), now < self.rejects_until);
        let (log, lack) = (self.log(), self.lack());
        let (may_evict, evicted) = self.limit(now);
        let scripted = self.scripted.as_mut()?;
        let has_rewritten = self.process.has_rewritten;
        scripted.log((log, has_rewritten), lack != Some(log::Lack::Unsynced));
        scripted.limit(may_evict, evicted);
        scripted.starve(is_starved);
        Some((scripted, &mut self.data, us))
    }

    /// What the wall clock shows, in microseconds. Its milliseconds are those of [`time`](Self::time).
    #[cfg(feature = "lua")]
    fn wall_us(&self, now: Moment) -> u64 {
        self.epoch_ms() * 1_000 + self.clock.read_ns(now) / 1_000
    }

    #[cfg(feature = "lua")]
    fn epoch_ms(&self) -> u64 {
        u64::try_from(self.epoch.as_millis()).expect("some decades")
    }

    /// Carries out a request in one step: guard, vote and counter. `met` is the process that the client met when its
    /// connection opened. Tells what the node's clock showed, if the answer does.
    pub(crate) fn vote(
        &mut self,
        now: Moment,
        request: &Request,
        met: Option<&Identity>,
    ) -> (Vote, Option<Duration>) {
        #[cfg(feature = "lua")]
        if let Some((scripted, data, us)) = self.server(now) {
            return scripted.vote(data, us, request, met);
        }
        let told = self.time(now).since_origin();
        (self.rule(now, request, met), Some(told))
    }

    /// Whether these requests can come in one call.
    pub(crate) fn takes_together(&self, requests: &[Request]) -> bool {
        #[cfg(feature = "lua")]
        if let Some(scripted) = &self.scripted {
            return scripted.takes_together(requests);
        }
        requests.len() == 1
    }

    /// Carries out a call of several requests in one step, as [`vote`](Self::vote) does with one.
    pub(crate) fn vote_together(
        &mut self,
        now: Moment,
        requests: &[Request],
        met: Option<&Identity>,
    ) -> Vec<(Vote, Option<Duration>)> {
        #[cfg(feature = "lua")]
        if let Some((scripted, data, us)) = self.server(now) {
            return scripted.vote_together(data, us, requests, met);
        }
        let votes = requests.iter().map(|request| self.vote(now, request, met));
        votes.collect()
    }

    /// Carries out a request as the script should.
    fn rule(&mut self, now: Moment, request: &Request, met: Option<&Identity>) -> Vote {
        let time = self.time(now);
        if now < self.rejects_until {
            return rejected("out of memory");
        }
        if let Some(guard) = self.guard_now() {
            let process = self.process_at(now);
            let marker = &mut self.data.marker;
            let attested = match request {
                vote if vote.is_vote() => guard.admit(marker, time, met, || process),
                Request::Extend { .. } => guard.attest(marker, time, met, || process),
                _ => Ok(()),
            };
            if let Err(abstention) = attested {
                return Vote::Unknown(Fault::abstained(&abstention));
            }
        }
        let wall = self.epoch.saturating_add(time.since_origin());
        self.execute(now, &request.as_seen_at(wall))
    }

    /// Looks at the process, as a client asks for when it connects.
    pub(crate) fn greet(&mut self, now: Moment) {
        #[cfg(feature = "lua")]
        if let Some((scripted, data, us)) = self.server(now) {
            return scripted.greet(data, us);
        }
        let time = self.time(now);
        if let Some(guard) = self.guard_now() {
            let (process, met) = (self.process_at(now), self.process.id.clone());
            if let Some(marker) = &mut self.data.marker {
                marker.seen_ms = None;
            }
            // Whether it votes is asked with every vote.
            let _ = guard.admit(&mut self.data.marker, time, Some(&met), || process);
        }
    }

    /// A client that sentinels have sent here says by which failover this is the master.
    pub(crate) fn follow(&mut self, now: Moment, failover: Option<u64>) {
        let time = self.time(now);
        if let Some((guard, failover)) = self.guard_now().zip(failover) {
            guard.follow(&mut self.data.marker, time, failover);
        }
    }

    /// The process, as it tells of itself.
    fn process_at(&self, now: Moment) -> Process {
        let (may_evict, evicted) = self.limit(now);
        Process {
            may_evict,
            evicted,
            log: self.log(),
            ..self.process.clone()
        }
    }

    /// Whether it may evict keys, and how many it has evicted, as it tells.
    fn limit(&self, now: Moment) -> (bool, u64) {
        if self.tells_evictions {
            (now < self.evicts_until, self.evicted)
        } else {
            (false, 0)
        }
    }

    /// Loses some of its keys because its memory is full, or everything. It may lose more of them until `until`.
    pub(crate) fn evict(&mut self, now: Moment, until: Moment, keys: Evicted<'_>) {
        match keys {
            Evicted::All => self.data = Data::default(),
            Evicted::Of(resources) => {
                for resource in resources {
                    self.delete(now, resource);
                }
            }
        }
        self.evicted += 1;
        self.evicts_until = until;
        // Nobody sets a limit, lets it evict keys and gets a vote in what is left of the millisecond of a look.
        #[cfg(feature = "lua")]
        if let Some((scripted, data, us)) = self.server(now) {
            scripted.forget_look(data, us);
        }
        if let Some(marker) = &mut self.data.marker {
            marker.seen_ms = None;
        }
    }

    /// Carries out a request without asking the guard.
    pub(crate) fn execute(&mut self, now: Moment, request: &Request) -> Vote {
        #[cfg(feature = "lua")]
        if let Some((scripted, data, us)) = self.server(now) {
            return scripted.lock(data, us, request);
        }
        if now < self.rejects_until {
            return rejected("out of memory");
        }
        let mut names = request.resource().each();
        if self.foreign_type.is_some() && names.any(|name| self.foreign_type == Some(name)) {
            return Vote::Refused(Refusal::default());
        }
        let time = self.time(now);
        match self.breaks_rule(now, request) {
            Some(vote) => vote,
            None => self.data.table.apply(time, request),
        }
    }

    /// Says that the node has nothing to forget: what an operator knows of a new node.
    pub(crate) fn admit(&mut self, now: Moment) {
        #[cfg(feature = "lua")]
        if self.guard.is_some()
            && let Some((scripted, data, us)) = self.server(now)
        {
            return scripted.admit(data, us);
        }
        if let Some(guard) = self.guard {
            let at_once = Quarantine {
                span: Duration::ZERO,
                ..guard
            };
            let (time, process) = (self.time(now), self.process_at(now));
            let admitted = at_once.admit(&mut self.data.marker, time, None, || process);
            assert_eq!(admitted, Ok(()), "a quarantine of no length is over");
        }
    }

    /// Another process serves from `booted` on; or, if it is known, the one before, which was demoted and
    /// promoted once more.
    pub(crate) fn serve_anew(&mut self, booted: Moment, was_replica: bool, is_known: bool) {
        self.histories += 1;
        self.watches.clear();
        if !is_known {
            self.runs += 1;
        }
        // Once a replica, always one that may have lost votes.
        let was_replica = was_replica || self.process.was_replica;
        (self.evicts_until, self.evicted) = (Moment::START, 0);
        self.behind = None;
        self.process = identified(self.name, self.runs, self.histories, was_replica);
        self.booted = booted;
        #[cfg(feature = "lua")]
        if let Some(scripted) = &mut self.scripted {
            scripted.serve(&self.process.id, was_replica);
        }
    }

    /// A replica takes over that has what the last snapshot had. It was up for long.
    pub(crate) fn fail_over(&mut self, is_known: bool) {
        self.data = self.snapshot.clone();
        if let Some(marker) = &mut self.data.marker {
            marker.seen_ms = None;
        }
        self.behind = None;
        self.read_log();
        self.serve_anew(Moment::START, true, is_known);
    }
}

fn identified(name: u64, run: u32, history: u32, was_replica: bool) -> Process {
    Process {
        was_replica,
        ..Process::new(Identity::new(&format!(
            "{name:x}{run:08x}/{name:x}{history:08x}"
        )))
    }
}

fn rejected(why: &str) -> Vote {
    Vote::Unknown(Fault::new(FaultKind::Rejected, why))
}
