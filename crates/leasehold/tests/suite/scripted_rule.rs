//! The scripts against the rule, in virtual time: what Lua answers on a model of a server is what the table answers
//! behind the quarantine, and both keep the same afterwards. No server is needed, so there are many orders of events,
//! and times that no test could wait for.

mod kept;
mod together;

use crate::support::{
    dice::{Dice, OF_OUR_TIME, OWNERS, WAITERS, permit_owners},
    driven::{by, name},
};
use leasehold::{
    RestartGuard,
    configuration::Configuration,
    link::redis::wire::{self, RemoteProcess, Wire},
};
use leasehold_core::{
    Drift, Fault, Identity, Instant, Quorum, Refusal, Request, Resource, Table, Ttl, Vote, Waiter,
    quarantine::{Disk, Log, Marker, Process, Quarantine},
};
use leasehold_fake_redis::{Data, Interpreter, Server, Time};
use std::{mem, time::Duration};

/// How many steps all seeds together go; more by the environment.
fn steps() -> u64 {
    let told = std::env::var("LEASEHOLD_STEPS");
    told.map_or(100_000, |told| {
        told.parse().expect("LEASEHOLD_STEPS is a number")
    })
}

/// One node twice.
struct Twice {
    dice: Dice,
    us: u64,
    guard: RestartGuard,
    configuration: Configuration,
    /// By the rule, with an older copy.
    ruled: Ruled,
    ruled_before: Ruled,
    process: Process,
    /// By the scripts, with an older copy.
    server: Server,
    data: Data,
    data_before: Data,
    wire: Wire,
    processes: u32,
    /// What happens now, and where, for people.
    story: String,
    place: String,
}

/// What a node has by the rule.
#[derive(Clone, Default)]
struct Ruled {
    table: Table,
    marker: Option<Marker>,
}

const SPAN: Duration = Duration::from_millis(400);

const TTLS: [Duration; 4] = [
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_secs(2),
];

impl Twice {
    fn new(seed: u64) -> Self {
        let dice = Dice(seed);
        let (guard, is_plain) = match seed % 5 {
            0 | 1 => (RestartGuard::Quarantine, false),
            2 => (RestartGuard::TrustAof, false),
            three => (RestartGuard::Off, three == 3),
        };
        let quorum = Quorum::majority(1).expect("one node");
        let of_the_ttl = Drift::DEFAULT.allowance(Ttl::SHORTEST) + Ttl::SHORTEST.as_duration();
        let skew = SPAN - of_the_ttl;
        let configuration = match guard {
            _ if is_plain => Configuration::plain(),
            guard => Configuration::new("ns", "n", quorum, guard, Ttl::SHORTEST, skew),
        };
        let mut twice = Self {
            dice,
            us: 1_700_000_000_000_000,
            guard,
            wire: Wire::new(&configuration),
            configuration,
            ruled: Ruled::default(),
            ruled_before: Ruled::default(),
            process: process(0, false),
            server: Server::default(),
            data: Data::default(),
            data_before: Data::default(),
            processes: 0,
            story: String::new(),
            place: String::new(),
        };
        twice.serve(false);
        twice
    }

    fn now(&self) -> Instant {
        Instant::from_origin(Duration::from_millis(self.us / 1_000))
    }

    fn is_guarded(&self) -> bool {
        self.guard != RestartGuard::Off
    }

    /// Another process serves what is there.
    fn serve(&mut self, was_promoted: bool) {
        self.processes += 1;
        // What it restarts with may be of the time before it was a replica.
        let was_replica = was_promoted || self.process.was_replica && self.dice.roll(2) == 0;
        // As its file of settings says; and somebody may have turned a log on before anybody looks.
        self.process = Process {
            log: self.dice.pick(&[Log::On, Log::On, Log::On, Log::Off]),
            has_rewritten: self.dice.roll(2) == 0,
            ..process(self.processes, was_replica)
        };
        let (run_id, replid) = self.process.id.as_str().split_once('/').expect("two parts");
        self.server = Server {
            replid2: was_replica.then(|| "c".repeat(40)),
            ..Server::new(run_id, replid)
        };
        self.set();
    }

    /// The server's settings are what the rule is told of the process.
    fn set(&mut self) {
        let (process, server) = (&self.process, &mut self.server);
        server.has_log = process.log != Log::Off;
        server.has_rewritten = process.has_rewritten;
        server.maxmemory = u64::from(process.may_evict);
        server.maxmemory_policy = "allkeys-lru".to_owned();
        server.evicted_keys = process.evicted;
        let number = |is_so: bool| u8::from(is_so).to_string();
        let role = if process.is_replica {
            "slave"
        } else {
            "master"
        };
        let fact =
            |section: &str, name: &str, value: String| (section.to_owned(), name.to_owned(), value);
        server.facts = vec![
            fact("replication", "role", role.to_owned()),
            fact(
                "replication",
                "connected_slaves",
                number(process.has_replicas),
            ),
            fact(
                "persistence",
                "aof_rewrite_in_progress",
                number(process.log == Log::Rewriting),
            ),
        ];
    }

    /// Somebody changes a setting of the process, or it evicts a key.
    fn configure(&mut self) {
        let process = &mut self.process;
        match self.dice.roll(6) {
            0 => process.may_evict = !process.may_evict,
            1 => process.evicted += 1,
            2 => process.has_replicas = !process.has_replicas,
            3 => process.is_replica = !process.is_replica,
            _ => {
                let logs = [Log::Off, Log::Rewriting, Log::On, Log::On];
                let before = mem::replace(&mut process.log, self.dice.pick(&logs));
                let is_turned_on = before == Log::Off && process.log != Log::Off;
                process.has_rewritten |= is_turned_on || process.log == Log::Rewriting;
            }
        }
        self.set();
    }

    /// What is relied upon of the disk.
    fn disk(&mut self) -> Disk {
        if self.guard == RestartGuard::TrustAof {
            let disks = [
                Disk::Trusted,
                Disk::Trusted,
                Disk::Trusted,
                Disk::Distrusted,
                Disk::Unasked,
            ];
            return self.dice.pick(&disks);
        }
        Disk::Ignored
    }

    fn step(&mut self, lua: &Interpreter) {
        self.pass(lua);
        match self.dice.roll(30) {
            0 => self.disturb(),
            1 => self.greet(lua),
            _ => self.ask(lua),
        }
        self.compare();
    }

    /// Time goes on, or is set.
    fn pass(&mut self, lua: &Interpreter) {
        let most = self
            .dice
            .pick(&[1, 1, 400, 3_000, 30_000, 600_000, 3_000_000]);
        self.us += self.dice.roll(most);
        match self.dice.roll(200) {
            0 => self.us += 3_600_000_000,
            1 => {
                self.bury(lua);
                self.us -= self.dice.roll(5_000_000);
            }
            _ => {}
        }
        self.leave_last_milliseconds();
    }

    /// A server keeps a key to the end of its last millisecond, the table to its beginning.
    fn leave_last_milliseconds(&mut self) {
        let ends_at = |now: Instant, of: &str| {
            let before = now.saturating_sub(MILLISECOND);
            let (table, of) = (&self.ruled.table, name(of));
            let mut all = table
                .key(before, &of)
                .into_iter()
                .chain(table.readers(before, &of));
            all.any(|key| key.expires_at == now)
        };
        // The last is locked together with others alone.
        let names = || NAMES.into_iter().chain(["t"]);
        while names().any(|of| ends_at(self.now(), of)) {
            self.us += 1_000;
        }
    }

    /// Deletes what is over. It stays so when the clock is set back only where it was deleted, and no rule says when
    /// that is.
    fn bury(&mut self, lua: &Interpreter) {
        self.leave_last_milliseconds();
        for of in NAMES {
            for waiter in WAITERS.map(Waiter::new) {
                let resource = name(of);
                self.put_if_possible(lua, Request::Leave { resource, waiter });
            }
            // One that lives lets the server forget those that do not.
            for owner in OWNERS.map(by).into_iter().chain(permit_owners()) {
                let resource = Resource::shared(of).expect("a good name");
                let keep = Ttl::new(TTLS[2]).ok();
                self.put_if_possible(
                    lua,
                    Request::Release {
                        resource,
                        owner,
                        keep,
                    },
                );
            }
        }
        self.ruled.table.sweep(self.now());
        self.data.expire(self.us / 1_000);
    }

    fn put_if_possible(&mut self, lua: &Interpreter, request: Request) {
        if let Some(request) = self.possible(request) {
            self.put(lua, std::slice::from_ref(&request), None, Disk::Ignored);
        }
    }

    fn disturb(&mut self) {
        let what = self.dice.roll(14);
        self.story = format!("disturbed: {what}");
        match what {
            0 | 1 => {
                self.ruled_before = self.ruled.clone();
                self.data_before = self.data.clone();
            }
            2 => {
                // All is lost, under the same process.
                self.ruled = Ruled::default();
                self.data = Data::default();
            }
            3 => {
                // It restarts with a snapshot.
                self.ruled = self.ruled_before.clone();
                self.data = self.data_before.clone();
                self.serve(false);
            }
            8.. => self.configure(),
            6 | 7 => {
                // A replica takes its place that has just had all of it, the millisecond of the last look included.
                self.serve(true);
            }
            what => {
                // It restarts with its log, or a replica takes its place.
                if let Some(marker) = &mut self.ruled.marker {
                    marker.seen_ms = None;
                }
                self.data = self.data.replicated();
                self.serve(what == 5);
            }
        }
    }

    fn greet(&mut self, lua: &Interpreter) {
        let disk = self.disk();
        let failover = self.dice.pick(&[None, None, Some(1), Some(2)]);
        self.story = format!("greeted, disk: {disk:?}, failover: {failover:?}");
        let Some(greeting) = self.wire.greeting(disk, failover) else {
            return;
        };
        let reply = self
            .server
            .answer(&mut self.data, lua, Time::at(self.us), &greeting);
        let process = self.process.clone();
        // Some settings end the connection, and the node takes note of them all the same.
        if let Ok(id) = self.wire.greeted(&reply, disk) {
            assert_eq!(id, process.id.as_str());
        }
        if self.is_guarded() {
            let (span, now, met) = (SPAN, self.now(), process.id.clone());
            let rule = Quarantine { span, disk };
            let _ = rule.admit(&mut self.ruled.marker, now, Some(&met), || process);
            if let Some(failover) = failover {
                rule.follow(&mut self.ruled.marker, now, failover);
            }
        }
    }

    fn ask(&mut self, lua: &Interpreter) {
        let large = self.dice.pick(&[OF_OUR_TIME, OF_A_TIME_TO_COME]);
        let request = self.dice.request(&TTLS, large);
        let Some(request) = self.possible(request) else {
            return;
        };
        // Of this process, of another one, or of none that was met.
        let met = match self.dice.roll(8) {
            0 => None,
            1 => Some(process(self.processes - 1, false).id),
            _ => Some(self.process.id.clone()),
        };
        let disk = self.disk();
        let together = self.together(&request);
        self.put(lua, &together, met.as_ref(), disk);
    }

    /// The request as a manager of these locks may make it: of plain ones there are neither counters nor queues.
    fn possible(&self, request: Request) -> Option<Request> {
        if self.configuration.is_fenced() {
            return Some(request);
        }
        match request {
            request if request.resource().is_part() => None,
            Request::Raise { .. } | Request::Leave { .. } => None,
            // Argument S8: nobody takes a key over from itself.
            Request::Transfer { owner, from, .. } if owner == from => None,
            Request::Acquire {
                resource,
                owner,
                ttl,
                ..
            } => Some(Request::Acquire {
                resource,
                owner,
                ttl,
                proposal: None,
                place: None,
            }),
            Request::Repair {
                resource,
                owner,
                ttl,
                ..
            } => Some(Request::Repair {
                resource,
                owner,
                ttl,
                proposal: None,
            }),
            Request::Transfer {
                resource,
                from,
                owner,
                ttl,
                ..
            } => Some(Request::Transfer {
                resource,
                from,
                owner,
                ttl,
                proposal: None,
            }),
            other => Some(other),
        }
    }

    /// Puts a request to both, and compares what they answer.
    fn put(&mut self, lua: &Interpreter, requests: &[Request], met: Option<&Identity>, disk: Disk) {
        let peer = RemoteProcess::new(met.map_or("", Identity::as_str), disk);
        // What leaves by itself is put to both one after the other.
        let Some(wire) = self.wire.call(requests, &peer) else {
            for request in requests {
                let wire = self.wire.request(request, &peer);
                self.hear(lua, std::slice::from_ref(request), &wire, (met, disk));
            }
            return;
        };
        self.hear(lua, requests, &wire, (met, disk));
    }

    /// Whether the node votes at all, or extends.
    fn attest(
        &mut self,
        request: &Request,
        met: Option<&Identity>,
        disk: Disk,
    ) -> Result<(), Vote> {
        let now = self.now();
        if self.is_guarded() {
            let (span, process) = (SPAN, self.process.clone());
            let rule = Quarantine { span, disk };
            let marker = &mut self.ruled.marker;
            let attested = match request {
                vote if vote.is_vote() => rule.admit(marker, now, met, || process),
                Request::Extend { .. } => rule.attest(marker, now, met, || process),
                _ => Ok(()),
            };
            return attested.map_err(|abstention| Vote::Unknown(Fault::abstained(&abstention)));
        }
        Ok(())
    }

    /// What a node does that votes.
    fn apply(&mut self, request: &Request) -> Vote {
        let now = self.now();
        // `SET … NX` says of a key that is there nothing but that.
        let is_set = matches!(request, Request::Acquire { .. } | Request::Repair { .. });
        let is_held = self.ruled.table.key(now, request.resource()).is_some();
        if is_set && is_held && !self.configuration.is_fenced() {
            return Vote::Refused(Refusal::default());
        }
        let request = request.as_seen_at(Duration::from_micros(self.us));
        self.ruled.table.apply(now, &request)
    }
}

/// A token that no node's clock has come to.
const OF_A_TIME_TO_COME: u64 = 4_000_000_000_000_000;

/// The locks. The first and the last share a counter.
const NAMES: [&str; 3] = ["r", "s", "e1x"];

fn process(number: u32, was_replica: bool) -> Process {
    let id = Identity::new(&format!("a{number:06x}/b{number:06x}"));
    Process {
        was_replica,
        ..Process::new(id)
    }
}

/// The vote without the words of a fault, but with all that an abstention tells.
fn wordless(vote: Vote) -> Vote {
    match vote {
        Vote::Unknown(fault) if fault.abstention().is_none() => {
            Vote::Unknown(Fault::new(fault.kind(), "in its words"))
        }
        vote => vote,
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// Arguments S3, S4, S7 and S9.
#[test]
fn the_scripts_answer_and_keep_what_the_rule_says() {
    let lua = Interpreter::new();
    for (sha1, text) in wire::scripts() {
        lua.load(sha1, text);
    }
    const SEEDS: u64 = 50;
    for seed in 0..SEEDS {
        let mut twice = Twice::new(seed);
        for step in 0..steps() / SEEDS {
            twice.place = format!("seed {seed}, step {step}");
            twice.step(&lua);
        }
    }
}
