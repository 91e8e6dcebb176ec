//! What leasehold is to reach in each workload.

use super::{
    clusters,
    peers::{OURS as PACKAGES, PEERS, Peer},
    permits,
    readers::{MUTEX, MUTEXES, READ, READS, WHO, WRITER},
    several::{ONE, TEN},
};
use crate::{
    bar::Bar,
    effort::Effort,
    subject::{BARE, BARE_FENCED, LIMIT, LIMIT_FENCED},
};

pub(super) fn latency() -> Vec<Bar> {
    let both = ["1 node", "5 nodes"].into_iter();
    both.flat_map(|setting| {
        let bar = |subject| Bar::new(setting, subject, "cycle p50 µs").over("bare");
        let peer = Bar::new(setting, "plain", "cycle p50 µs").over("rslock");
        [
            bar("plain").at_most(1.2),
            bar("fenced").at_most(1.6).beside(BARE_FENCED),
            peer.not_above(),
        ]
    })
    .collect()
}

pub(super) fn several() -> Vec<Bar> {
    let both = ["1 node", "5 nodes"].into_iter();
    let bar = |setting, who| Bar::new(setting, who, TEN).over_figure(who, ONE);
    both.flat_map(|setting| OURS.map(|who| bar(setting, who).at_most(2.0)))
        .collect()
}

pub(super) fn readers() -> Vec<Bar> {
    let both = ["1 node", "5 nodes"].into_iter();
    both.flat_map(|setting| {
        let bar = |figure| Bar::new(setting, WHO, figure);
        [
            bar(READ).over_figure(WHO, MUTEX).at_most(1.2),
            bar(READS).over_figure(WHO, MUTEXES).at_least(0.7),
            bar(WRITER).at_most(10.0),
        ]
    })
    .collect()
}

pub(super) fn permits() -> Vec<Bar> {
    let both = ["1 node", "5 nodes"].into_iter();
    both.flat_map(|setting| {
        let bar = |figure| Bar::new(setting, permits::WHO, figure);
        [
            bar(permits::PERMIT)
                .over_figure(permits::WHO, permits::MUTEX)
                .at_most(1.3),
            bar(permits::PERMITS)
                .over_figure(permits::WHO, permits::MUTEXES)
                .at_least(6.0),
        ]
    })
    .collect()
}

pub(super) fn throughput() -> Vec<Bar> {
    let limits = [("1 node", 1.4, 1.0), ("5 nodes", 2.8, 1.8)].into_iter();
    limits
        .flat_map(|(nodes, plain, fenced)| {
            let setting = format!("{nodes}, 64 tasks");
            let bar = |subject| Bar::new(&setting, subject, "cycles/s");
            [
                bar("plain").over("rslock").at_least(plain),
                bar("fenced").over("rslock").at_least(fenced),
                bar("plain").over("bare").at_least(0.6),
            ]
        })
        .collect()
}

pub(super) fn instruction() -> Vec<Bar> {
    let mut bars = Vec::new();
    for (setting, subject, instructions) in [
        ("5 nodes, 64 tasks", "plain", 11_000.0),
        ("5 nodes, 64 tasks", "fenced", 14_000.0),
        ("1 node, 64 tasks", "plain", 8_000.0),
        ("1 node, 64 tasks", "fenced", 9_500.0),
        ("1 node, 1 task", "plain, own thread", 20_000.0),
        ("1 node, 1 task", "plain", 13_000.0),
    ] {
        let bar = |figure| Bar::new(setting, subject, figure);
        bars.push(bar("instructions/cycle").at_most(instructions).beside(BARE));
        // Four, and what a run allocates once.
        bars.push(bar("allocations/cycle").at_most(4.05));
        // A task alone has nobody to share a reading with.
        if setting.ends_with("64 tasks") {
            bars.push(bar("clock readings/cycle").at_most(6.0));
        }
    }
    // Seven, and what a timer or two of the run adds.
    bars.push(Bar::new("1 node, 1 task", "plain", "system calls/cycle").at_most(7.05));
    bars
}

pub(super) fn sent() -> Vec<Bar> {
    let both = ["5 nodes, 1 task", "5 nodes, 64 tasks"].into_iter();
    both.flat_map(|setting| OURS.map(|who| Bar::new(setting, who, "commands/cycle").at_most(10.1)))
        .collect()
}

pub(super) fn clusters(effort: &Effort) -> Vec<Bar> {
    let lone = Bar::new(clusters::ONE_NAME, clusters::THREE, "cycle p50 µs");
    let most = match effort.is_quick {
        true => clusters::THREE,
        false => clusters::FOUR,
    };
    let flat = |setting, figure| {
        Bar::new(setting, most, figure)
            .over(clusters::ONE)
            .at_most(1.1)
    };
    vec![
        lone.over(clusters::SERVERS).at_most(1.25),
        flat(clusters::ONE_TASK, clusters::INSTRUCTIONS),
        flat(clusters::MANY_TASKS, clusters::INSTRUCTIONS),
        flat(clusters::MANY_TASKS, clusters::CLIENT),
    ]
}

pub(super) fn clients(effort: &Effort) -> Vec<Bar> {
    let setting = format!("3 nodes, {} leases", effort.many_leases);
    OURS.map(|who| Bar::new(&setting, who, "lost").at_most(0.0))
        .to_vec()
}

pub(super) fn votes() -> Vec<Bar> {
    let both = ["1 node, 64 tasks", "5 nodes, 64 tasks"].into_iter();
    let bar = |setting| Bar::new(setting, "fenced", "server CPU µs/vote").over("bare");
    both.map(|setting| bar(setting).at_most(4.0)).collect()
}

pub(super) fn peers() -> Vec<Bar> {
    let mut bars = Vec::new();
    for setting in ["1 node", "5 nodes"] {
        let measured = |peer: &&Peer| setting == "1 node" || !peer.is_of_one_node;
        for peer in PEERS.iter().filter(measured) {
            let of_its_language = PACKAGES.iter().filter(|(it, _)| *it == peer.language);
            let packages = of_its_language.flat_map(|(_, packages)| packages);
            for subject in ["plain"].iter().chain(packages) {
                let bar = Bar::new(setting, subject, "cycle p50 µs");
                bars.push(bar.over(peer.name).not_above());
            }
        }
    }
    bars
}

pub(super) fn task() -> Vec<Bar> {
    let mut bars = contention([("1 node", 860.0), ("5 nodes", 800.0)], 3.0, 0.99);
    bars.extend(OURS.map(|who| Bar::new("5 nodes", who, "commands/hand-off").at_most(12.0)));
    bars
}

pub(super) fn process() -> Vec<Bar> {
    let mut bars = contention([("1 node", 400.0), ("5 nodes", 250.0)], 5.0, 0.95);
    bars.extend(OURS.map(|who| Bar::new("5 nodes", who, "commands/hand-off").at_most(20.0)));
    bars
}

fn contention(rates: [(&str, f64); 2], tail: f64, fairness: f64) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (nodes, rate) in rates {
        for (subject, limit) in OURS.into_iter().zip([LIMIT, LIMIT_FENCED]) {
            let bar = |figure| Bar::new(nodes, subject, figure);
            bars.push(bar("hand-offs/s").at_least(rate).of_most(limit));
            let wait = bar("wait p99 ms").over_figure(subject, "wait mean ms");
            bars.push(wait.at_most(tail));
            bars.push(bar("Jain").at_least(fairness));
            bars.push(bar("failed").at_most(0.0));
        }
    }
    bars
}

pub(super) fn fault() -> Vec<Bar> {
    let faults = ["+20 ms", "hung", "dead"].into_iter();
    let both = faults.flat_map(|fault| OURS.map(|subject| (fault, subject)));
    both.flat_map(|(fault, subject)| {
        let bar = |figure| Bar::new(fault, subject, figure);
        [
            bar("p50 µs")
                .over_figure(subject, "healthy p50 µs")
                .at_most(1.15),
            bar("p99 µs")
                .over_figure(subject, "healthy p99 µs")
                .at_most(1.5),
        ]
    })
    .collect()
}

pub(super) fn held(effort: &Effort) -> Vec<Bar> {
    let setting = format!("5 nodes, {} leases", effort.leases);
    let both = OURS.into_iter();
    // Half of what it was when it was first measured, of 10,000.
    let halves = [(21_000.0, 1_212.0), (23_500.0, 1_252.0)];
    both.zip(halves)
        .flat_map(|(who, (instructions, bytes))| {
            let bar = |figure| Bar::new(&setting, who, figure);
            [
                bar("lost").at_most(0.0),
                bar("instructions/renewal").at_most(instructions),
                bar("bytes/lease").at_most(bytes),
            ]
        })
        .collect()
}

pub(super) fn names(effort: &Effort) -> Vec<Bar> {
    let setting = format!("1 node, {} names", effort.names);
    OURS.map(|who| Bar::new(&setting, who, "bytes/name").at_most(1.0))
        .to_vec()
}

pub(super) fn wake() -> Vec<Bar> {
    let both = ["1 node", "5 nodes"].into_iter();
    // A thread that only reads is woken after many round trips itself, so the limit is in multiples of what it takes.
    both.flat_map(|setting| {
        OURS.map(|who| {
            Bar::new(setting, who, "wake-up p50 µs")
                .over(BARE)
                .at_most(2.0)
        })
    })
    .collect()
}

pub(super) fn expiry(effort: &Effort) -> Vec<Bar> {
    let settings =
        [1, 5].map(|count| format!("{}, {} keys", super::nodes(count), effort.live_keys));
    let both = settings.iter();
    both.flat_map(|setting| OURS.map(|who| Bar::new(setting, who, "late p99 ms").at_most(20.0)))
        .collect()
}

const OURS: [&str; 2] = ["plain", "fenced"];
