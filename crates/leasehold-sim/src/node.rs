//! One node: the production table and the production guard, and what may happen to the machine that they
//! are on.

use crate::{
    clock::Clock,
    network::hints::Watch,
    rng::Rng,
    time::{Moment, TRUE_EPOCH_NS},
};
use leasehold_core::{
    Fault, FaultKind, Identity, Instant, Refusal, Request, Resource, Table, Vote,
    quarantine::{Log, Marker, Process, Quarantine},
    table::Key,
};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) data: Data,
    pub(crate) clock: Clock,
    /// What the wall clock shows at the clock's origin.
    epoch: Duration,
    /// What a snapshot or a lagging replica has.
    pub(crate) snapshot: Data,
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
    /// Under this name stands a key of another type.
    pub(crate) foreign_type: Option<Resource>,
}

/// Everything that is lost together, and goes back in time together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    pub(crate) table: Table,
    pub(crate) marker: Option<Marker>,
}

/// What a node evicts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Evicted<'a> {
    /// Its own hash as well.
    All,
    Of(Moment, &'a [Resource]),
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
            foreign_type: None,
        }
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

    /// Carries out a request as the script does: guard, vote and counter in one step. `met` is the process
    /// that the client met when its connection opened.
    pub(crate) fn vote(&mut self, now: Moment, request: &Request, met: Option<&Identity>) -> Vote {
        let time = self.time(now);
        if now < self.rejects_until {
            return rejected("out of memory");
        }
        if let Some(guard) = self.guard {
            let process = self.process_at(now);
            let marker = &mut self.data.marker;
            let attested = match request {
                Request::Acquire { .. } | Request::Transfer { .. } => {
                    guard.admit(marker, time, met, || process)
                }
                Request::Extend { .. } => guard.attest(marker, time, met, || process),
                _ => Ok(()),
            };
            if let Err(abstention) = attested {
                return Vote::Unknown(Fault::abstained(&abstention));
            }
        }
        match self.clamped(time, request) {
            Some(clamped) => self.execute(now, &clamped),
            None => self.execute(now, request),
        }
    }

    /// Looks at the process, as a client asks for when it connects.
    pub(crate) fn greet(&mut self, now: Moment) {
        let time = self.time(now);
        if let Some(guard) = self.guard {
            let (process, met) = (self.process_at(now), self.process.id.clone());
            if let Some(marker) = &mut self.data.marker {
                marker.seen_ms = None;
            }
            // Whether it votes is asked with every vote.
            let _ = guard.admit(&mut self.data.marker, time, Some(&met), || process);
        }
    }

    /// The process, as it tells of itself.
    fn process_at(&self, now: Moment) -> Process {
        let mut process = self.process.clone();
        if self.tells_evictions {
            process.may_evict = now < self.evicts_until;
            process.evicted = self.evicted;
        }
        process
    }

    /// Loses some of its keys because its memory is full, or everything. It may lose more of them until `until`.
    pub(crate) fn evict(&mut self, until: Moment, keys: Evicted<'_>) {
        match keys {
            Evicted::All => self.data = Data::default(),
            Evicted::Of(now, resources) => {
                for resource in resources {
                    self.delete(now, resource);
                }
            }
        }
        self.evicted += 1;
        self.evicts_until = until;
        // Nobody sets a limit, lets it evict keys and gets a vote in what is left of the millisecond of a look.
        if let Some(marker) = &mut self.data.marker {
            marker.seen_ms = None;
        }
    }

    /// Carries out a request without asking the guard.
    pub(crate) fn execute(&mut self, now: Moment, request: &Request) -> Vote {
        if now < self.rejects_until {
            return rejected("out of memory");
        }
        if self.foreign_type.as_ref() == Some(request.resource()) {
            return Vote::Refused(Refusal::default());
        }
        let time = self.time(now);
        self.data.table.apply(time, request)
    }

    /// The request as the node takes it, if its proposal is too far ahead of the node's wall clock.
    fn clamped(&self, time: Instant, request: &Request) -> Option<Request> {
        let mut clamped = request.clone();
        let (Request::Acquire { proposal, .. } | Request::Transfer { proposal, .. }) = &mut clamped
        else {
            return None;
        };
        let wanted = (*proposal)?;
        let seen = wanted.as_seen_at(self.epoch.saturating_add(time.since_origin()));
        *proposal = Some(seen);
        (seen != wanted).then_some(clamped)
    }

    pub(crate) fn key(&self, now: Moment, resource: &Resource) -> Option<&Key> {
        self.data.table.key(self.time(now), resource)
    }

    /// Says that the node has nothing to forget: what an operator knows of a new node.
    pub(crate) fn admit(&mut self, now: Moment) {
        if let Some(guard) = self.guard {
            let at_once = Quarantine {
                span: Duration::ZERO,
                ..guard
            };
            let (time, process) = (self.time(now), self.process.clone());
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
        self.process = identified(self.name, self.runs, self.histories, was_replica);
        self.booted = booted;
    }

    /// A replica takes over that has what the last snapshot had. It was up for long.
    pub(crate) fn fail_over(&mut self, is_known: bool) {
        self.data = self.snapshot.clone();
        if let Some(marker) = &mut self.data.marker {
            marker.seen_ms = None;
        }
        self.serve_anew(Moment::START, true, is_known);
    }

    /// Deletes the key without asking whose it is.
    pub(crate) fn delete(&mut self, now: Moment, resource: &Resource) {
        let Some(owner) = self.key(now, resource).map(|key| key.owner.clone()) else {
            return;
        };
        let resource = resource.clone();
        let time = self.time(now);
        let release = Request::Release {
            resource,
            owner,
            keep: None,
        };
        self.data.table.apply(time, &release);
    }
}

fn identified(name: u64, run: u32, history: u32, was_replica: bool) -> Process {
    Process {
        was_replica,
        log: Log::On,
        ..Process::new(Identity::new(&format!("{name:x}-{run}/{history}")))
    }
}

fn rejected(why: &str) -> Vote {
    Vote::Unknown(Fault::new(FaultKind::Rejected, why))
}
