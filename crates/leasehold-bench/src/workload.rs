//! What can be measured.

mod expiry;
mod faults;
mod held;
mod herd;
pub(crate) mod instructions;
mod latency;
mod peers;
pub(crate) mod processes;
mod tasks;
mod throughput;
mod wake;

use crate::{Fallible, bar::Bar, effort::Effort, ledger::Ledger};
use std::fmt;
use tokio::runtime::{Builder, Runtime};

/// One of them.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    /// The figure of the chart, and of the column of ratios.
    pub(crate) headline: &'static str,
    /// Who the ratios are to.
    pub(crate) reference: Option<&'static str>,
    pub(crate) run: fn(&Effort, &mut Ledger) -> Fallible<()>,
    pub(crate) bars: fn(&Effort) -> Vec<Bar>,
}

impl fmt::Debug for Workload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// All of them, in the order in which they are run.
pub(crate) static WORKLOADS: [Workload; 11] = [
    Workload {
        name: "latency",
        title: "One task",
        about: "Locks and unlocks new keys, nobody else wants them. The bare wire waits for a quorum, as leasehold does; \
                rslock waits for every node.",
        headline: "cycle p50 µs",
        reference: Some("bare"),
        run: latency::run,
        bars: |_| latency_bars(),
    },
    Workload {
        name: "throughput",
        title: "Many tasks",
        about: "Each locks and unlocks new keys of its own. Runtime of two threads; the bare wire has one thread and one \
                connection per node, like leasehold.",
        headline: "cycles/s",
        reference: Some("rslock"),
        run: throughput::run,
        bars: |_| throughput_bars(),
    },
    Workload {
        name: "instructions",
        title: "Instructions of the client",
        about: "Per cycle, in user space, counted by callgrind: the difference between 3,200 and 640 cycles. Other load on \
                the machine does not change it. Runtime of one thread.",
        headline: "instructions/cycle",
        reference: Some("rslock"),
        run: instructions::run,
        bars: |_| instruction_bars(),
    },
    Workload {
        name: "tasks",
        title: "Sixteen tasks, one key",
        about: "One process; each holds for 1 ms and wants it again at once. Commands are those that clients sent, all nodes \
                together.",
        headline: "wait p99 ms",
        reference: Some("rslock"),
        run: tasks::run,
        bars: |_| task_bars(),
    },
    Workload {
        name: "processes",
        title: "Eight processes, one key",
        about: "As above, in processes of their own.",
        headline: "wait p99 ms",
        reference: Some("rslock"),
        run: processes::run,
        bars: |_| process_bars(),
    },
    Workload {
        name: "faults",
        title: "One node of five in trouble",
        about: "Acquiring by a client that was connected before, from the first call after the fault, for two seconds at \
                most; `healthy` is the same client just before; `start` is a new client's time to its first lock.",
        headline: "p50 µs",
        reference: Some("rslock"),
        run: faults::run,
        bars: |_| fault_bars(),
    },
    Workload {
        name: "held",
        title: "Many leases",
        about: "Held, and extended by themselves, with a TTL of 10 s. Once per run.",
        headline: "% of one core",
        reference: None,
        run: held::run,
        bars: |effort| held_bars(effort),
    },
    Workload {
        name: "herd",
        title: "Fifty managers, one key",
        about: "All wait for it; the time from its release until each has had it.",
        headline: "all served ms",
        reference: Some("rslock"),
        run: herd::run,
        bars: |_| Vec::new(),
    },
    Workload {
        name: "wake",
        title: "Waking up",
        about: "Another program deletes the key that one waits for; in round trips of a `PING` that follows upon another. \
                The bare wire is a thread that reads what the nodes tell of their keys, and asks.",
        headline: "wake-up p50 round trips",
        reference: Some("bare"),
        run: wake::run,
        bars: |_| wake_bars(),
    },
    Workload {
        name: "expiry",
        title: "Keys that expire",
        about: "How late one has a key whose holder died, among many other keys that live.",
        headline: "late p99 ms",
        reference: Some("rslock"),
        run: expiry::run,
        bars: |effort| expiry_bars(effort),
    },
    Workload {
        name: PEERS,
        title: "Other languages, one task",
        about: "As with one task, by libraries of other languages, each in its own process and by its own clock.",
        headline: "cycle p50 µs",
        reference: Some("bare"),
        run: peers::run,
        bars: |_| Vec::new(),
    },
];

/// The one that is measured only if it is asked for: it installs packages.
pub(crate) const PEERS: &str = "peers";

/// A setting's name.
fn nodes(count: usize) -> String {
    format!("{count} {}", if count == 1 { "node" } else { "nodes" })
}

/// A runtime of so many threads.
fn runtime(threads: usize) -> Fallible<Runtime> {
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    Ok(builder.worker_threads(threads).enable_all().build()?)
}

fn latency_bars() -> Vec<Bar> {
    let both = ["1 node", "5 nodes"].into_iter();
    both.flat_map(|setting| {
        let bar = |subject| Bar::new(setting, subject, "cycle p50 µs").over("bare");
        [bar("plain").at_most(1.15), bar("fenced").at_most(1.4)]
    })
    .collect()
}

fn throughput_bars() -> Vec<Bar> {
    let limits = [("1 node", 1.5, 1.2), ("5 nodes", 2.5, 1.8)].into_iter();
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

fn instruction_bars() -> Vec<Bar> {
    let bar = |subject| Bar::new("5 nodes, 64 tasks", subject, "instructions/cycle");
    vec![
        bar("plain").at_most(12_000.0),
        bar("fenced").at_most(20_000.0),
    ]
}

fn task_bars() -> Vec<Bar> {
    let mut bars = contention_bars(["1 node", "5 nodes"].map(|nodes| (nodes, 650.0)), 3.0, 0.99);
    bars.extend(OURS.map(|who| Bar::new("5 nodes", who, "commands/hand-off").at_most(12.0)));
    bars
}

fn process_bars() -> Vec<Bar> {
    let mut bars = contention_bars([("1 node", 400.0), ("5 nodes", 250.0)], 5.0, 0.95);
    bars.extend(OURS.map(|who| Bar::new("5 nodes", who, "commands/hand-off").at_most(25.0)));
    bars
}

fn contention_bars(rates: [(&str, f64); 2], tail: f64, fairness: f64) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (nodes, rate) in rates {
        for subject in OURS {
            let bar = |figure| Bar::new(nodes, subject, figure);
            bars.push(bar("hand-offs/s").at_least(rate));
            let wait = bar("wait p99 ms").over_figure(subject, "wait mean ms");
            bars.push(wait.at_most(tail));
            bars.push(bar("Jain").at_least(fairness));
            bars.push(bar("failed").at_most(0.0));
        }
    }
    bars
}

fn fault_bars() -> Vec<Bar> {
    let faults = ["+20 ms", "hung", "dead"].into_iter();
    let both = faults.flat_map(|fault| OURS.map(|subject| (fault, subject)));
    both.flat_map(|(fault, subject)| {
        let bar = |figure| Bar::new(fault, subject, figure);
        [
            bar("p50 µs")
                .over_figure(subject, "healthy p50 µs")
                .at_most(1.1),
            bar("p99 µs")
                .over_figure(subject, "healthy p99 µs")
                .at_most(1.5),
        ]
    })
    .collect()
}

fn held_bars(effort: &Effort) -> Vec<Bar> {
    let setting = format!("5 nodes, {} leases", effort.leases);
    OURS.map(|subject| Bar::new(&setting, subject, "lost").at_most(0.0))
        .to_vec()
}

fn wake_bars() -> Vec<Bar> {
    let both = ["1 node", "5 nodes"].into_iter();
    both.flat_map(|setting| {
        OURS.map(|subject| Bar::new(setting, subject, "wake-up p50 round trips").at_most(3.0))
    })
    .collect()
}

fn expiry_bars(effort: &Effort) -> Vec<Bar> {
    let settings = [1, 5].map(|count| format!("{}, {} keys", nodes(count), effort.live_keys));
    let both = settings.iter();
    both.flat_map(|setting| OURS.map(|who| Bar::new(setting, who, "late p99 ms").at_most(20.0)))
        .collect()
}

const OURS: [&str; 2] = ["plain", "fenced"];
