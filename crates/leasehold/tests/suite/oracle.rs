//! The scripts against the rule: what a server answers is what a table answers.

use crate::support::{
    dice::{Dice, OF_OUR_TIME},
    driven::{Driven, MINUTE, acquire, extend},
};
use leasehold::{RestartGuard, clock::Clock, configuration::Configuration};
use leasehold_core::{
    Abstention, AbstentionCause, Fault, Identity, Instant, Quorum, Table, Ttl, Vote,
    quarantine::{Disk, Durability, Evictions, Log, Marker, Process, Quarantine},
};
use leasehold_servers::{Server, require_server};
use std::time::Duration;

/// The vote without what depends on how fast the machine is, and without words.
fn timeless(mut vote: Vote) -> Vote {
    match &mut vote {
        Vote::Refused(refusal) => {
            refusal.remaining = refusal.remaining.map(|_| MINUTE);
            let slots = refusal.permits.iter_mut();
            let slots = slots.flat_map(|permits| &mut permits.slots);
            slots.for_each(|(_, left)| *left = MINUTE);
        }
        Vote::Unknown(fault) => *fault = Fault::new(fault.kind(), "in its words"),
        Vote::Granted { .. } => {}
    }
    vote
}

#[test]
fn a_server_answers_as_the_rule_says() {
    require_server();
    let server = Server::start().expect("it starts");
    for seed in 0..20 {
        server.command(&["FLUSHALL"]).expect("it answers");
        let mut link = Driven::up(&server.url());
        let (mut table, mut dice) = (Table::new(), Dice(seed));
        for step in 0..200 {
            let request = dice.request(&[MINUTE], OF_OUR_TIME);
            let ruled = table.apply(Clock::system().now(), &request);
            let told = link.ask(&request);
            assert_eq!(
                timeless(told),
                timeless(ruled),
                "seed {seed}, step {step}: {request:?}"
            );
        }
    }
}

/// A quarantine of ten seconds, with 1 % and 2 ms on top.
const SPAN: Duration = Duration::from_millis(10_102);

#[test]
fn a_server_abstains_as_the_rule_says() {
    abstains_as_the_rule_says(RestartGuard::Quarantine);
}

#[test]
fn a_server_whose_disk_is_trusted_abstains_as_the_rule_says() {
    abstains_as_the_rule_says(RestartGuard::TrustAof);
}

fn abstains_as_the_rule_says(guard: RestartGuard) {
    require_server();
    let server = Server::builder()
        .option("appendonly", &["yes"])
        .option("appendfsync", &["always"]);
    let server = server.start().expect("it starts");
    let quorum = Quorum::majority(1).expect("one node");
    let skew = Duration::ZERO;
    let guarded = Configuration::new("leasehold", "n", quorum, guard, Ttl::DEFAULT, skew);
    let mut link = Driven::with(&server.url(), &guarded);
    let told = server.command(&["HGET", "leasehold:node", "id"]);
    let told = told.expect("it answers");
    let id = told.text().expect("it was greeted");
    let disk = match guard {
        RestartGuard::TrustAof => Disk::Trusted,
        _ => Disk::Ignored,
    };
    let rule = Quarantine { span: SPAN, disk };
    let mut dice = Dice(7);
    for case in 0..300 {
        let now = server_time(&server);
        let past = dice.marker(now, id);
        let may_evict = dice.roll(6) == 0;
        write(&server, past.as_ref());
        let limit = if may_evict { "1gb" } else { "0" };
        let set = ["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"];
        server
            .command(&[&set[..], &["maxmemory", limit]].concat())
            .expect("it answers");
        let process = || Process {
            may_evict,
            log: Log::On,
            ..Process::new(Identity::new(id))
        };
        let (mut marker, met) = (past.clone(), Identity::new(id));
        let is_vote = dice.roll(3) > 0;
        let (request, ruled) = if is_vote {
            let ruled = rule.admit(&mut marker, now, Some(&met), process);
            (acquire("r", "us", MINUTE), ruled)
        } else {
            let ruled = rule.attest(&mut marker, now, Some(&met), process);
            (extend("r", "us", MINUTE), ruled)
        };
        let told = match link.ask(&request) {
            Vote::Unknown(fault) => fault.abstention(),
            _ => None,
        };
        let ruled = ruled.err();
        assert!(
            is_same(told, ruled),
            "case {case}: {past:?}: told {told:?}, ruled {ruled:?}"
        );
        let marker = marker.expect("it was looked at");
        assert!(
            keeps(&server, &marker),
            "case {case}: {past:?}: not {marker:?}"
        );
    }
}

/// But for the time that has passed between the two.
fn is_same(told: Option<Abstention>, ruled: Option<Abstention>) -> bool {
    let near = |one: Abstention, other: Abstention| {
        one.cause == other.cause && one.left.abs_diff(other.left) < Duration::from_millis(500)
    };
    match (told, ruled) {
        (Some(told), Some(ruled)) => near(told, ruled),
        (told, ruled) => told == ruled,
    }
}

/// Whether the server has written down what the rule has.
fn keeps(server: &Server, marker: &Marker) -> bool {
    let kept = server.command(&["HMGET", "leasehold:node", "id", "evicted", "logged"]);
    let evicted = evicted(marker.evictions).unwrap_or_default();
    let expected = [marker.id.as_str(), &evicted, durable(marker.durability)];
    kept.expect("it answers").texts() == expected
}

fn evicted(evictions: Option<Evictions>) -> Option<String> {
    Some(match evictions? {
        Evictions::Counted(count) => count.to_string(),
        Evictions::Possible => "may".to_owned(),
    })
}

const fn durable(durability: Durability) -> &'static str {
    match durability {
        Durability::Ignored => "0",
        Durability::Kept => "1",
        Durability::Lost => "lost",
    }
}

impl Dice {
    /// What a node may have of its past at `now`.
    fn marker(&mut self, now: Instant, id: &str) -> Option<Marker> {
        let far = Duration::from_secs(3_600);
        let until = match self.roll(5) {
            0 => Instant::ORIGIN,
            1 => now.saturating_sub(SPAN),
            2 => now.saturating_add(SPAN / 2),
            3 => now.saturating_add(SPAN),
            _ => now.saturating_add(far),
        };
        let cause = match self.roll(3) {
            0 => AbstentionCause::Empty,
            1 => AbstentionCause::Changed,
            _ => AbstentionCause::Reconfigured,
        };
        let id = if self.roll(2) == 0 { id } else { "12ab/34cd" };
        let wait = match self.roll(3) {
            0 => None,
            1 => Some(SPAN / 3),
            _ => Some(3 * SPAN),
        };
        let marker = Marker {
            id: Identity::new(id),
            until,
            cause,
            wait,
            seen_ms: None,
            // The server has evicted nothing.
            evictions: match self.roll(4) {
                0 => None,
                1 => Some(Evictions::Possible),
                2 => Some(Evictions::Counted(3)),
                _ => Some(Evictions::Counted(0)),
            },
            durability: match self.roll(3) {
                0 => Durability::Ignored,
                1 => Durability::Kept,
                _ => Durability::Lost,
            },
            failover: None,
        };
        Some(marker).filter(|_| self.roll(6) > 0)
    }
}

fn write(server: &Server, past: Option<&Marker>) {
    server
        .command(&["DEL", "leasehold:node", "r"])
        .expect("it answers");
    if let Some(marker) = past {
        let until = marker.until.since_origin().as_millis().to_string();
        let why = match marker.cause {
            AbstentionCause::Reconfigured => "reconfigured",
            AbstentionCause::Changed => "changed",
            _ => "empty",
        };
        let id = marker.id.as_str();
        let words = [
            "HSET",
            "leasehold:node",
            "id",
            id,
            "until",
            &until,
            "why",
            why,
        ];
        server.command(&words).expect("it answers");
        let mut words = vec![
            "HSET",
            "leasehold:node",
            "logged",
            durable(marker.durability),
        ];
        let evicted = evicted(marker.evictions);
        words.extend(evicted.iter().flat_map(|evicted| ["evicted", evicted]));
        server.command(&words).expect("it answers");
        if let Some(wait) = marker.wait {
            let wait = format!("{until} {}", wait.as_millis());
            let words = ["HSET", "leasehold:node", "wait", &wait];
            server.command(&words).expect("it answers");
        }
    }
}

fn server_time(server: &Server) -> Instant {
    let time = server.command(&["TIME"]).expect("it answers");
    let parts = time
        .texts()
        .into_iter()
        .map(|part| part.parse().expect("a number"));
    let parts: Vec<u64> = parts.collect();
    Instant::from_origin(Duration::from_secs(parts[0]) + Duration::from_micros(parts[1]))
}
