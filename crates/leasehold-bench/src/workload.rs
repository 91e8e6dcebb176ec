//! What can be measured.

mod bars;
mod clients;
mod clusters;
mod expiry;
mod faults;
pub(crate) mod held;
mod herd;
pub(crate) mod instructions;
mod latency;
pub(crate) mod names;
mod peers;
mod permits;
pub(crate) mod processes;
mod readers;
mod sent;
mod several;
mod tasks;
mod throughput;
mod votes;
mod wake;

use crate::{Fallible, bar::Bar, effort::Effort, ledger::Ledger};
use std::{env, fmt, process::Command};
use tokio::runtime::{Builder, Runtime};

/// One of them.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    /// The figure of the chart, and of the column of ratios.
    pub(crate) headline: &'static str,
    /// Who the ratios are to.
    pub(crate) references: &'static [&'static str],
    pub(crate) run: fn(&Effort, &mut Ledger) -> Fallible<()>,
    pub(crate) bars: fn(&Effort) -> Vec<Bar>,
}

impl fmt::Debug for Workload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}

/// All of them, in the order in which they are run.
pub(crate) static WORKLOADS: [Workload; 19] = [
    Workload {
        name: "latency",
        title: "One task",
        about: "Locks and unlocks new keys, nobody else wants them. The bare wire waits for a quorum, as leasehold does; \
                `bare, fenced votes` says what our fenced locks say, overheard in the same run: what the nodes take for it; \
                rslock waits for every node. All take ten turns in a round, and p50 is the mean of their medians: a lock \
                takes twice as long while the kernel has node and client on two cores.",
        headline: "cycle p50 µs",
        references: &["bare", "rslock"],
        run: latency::run,
        bars: |_| bars::latency(),
    },
    Workload {
        name: "several",
        title: "Ten names together",
        about: "One task locks and unlocks new keys that nobody else wants: one, then ten that are locked together, all or \
                none, in turns.",
        headline: several::TEN,
        references: &[],
        run: several::run,
        bars: |_| bars::several(),
    },
    Workload {
        name: "readers",
        title: "Readers and a writer",
        about: "One task, and 64, lock and unlock: a mutex of their own, and a share of one name that all read, in turns. Then \
                fifteen readers and a writer of one name, each of which has it for a millisecond: how long they wait.",
        headline: readers::READ,
        references: &[],
        run: readers::run,
        bars: |_| bars::readers(),
    },
    Workload {
        name: "permits",
        title: "Eight permits",
        about: "One task locks and unlocks new names that nobody else wants, with a mutex and with a permit, in turns. Then sixteen tasks want \
                one name, each for 1 ms by a timer of the runtime and again at once: a mutex, and one of eight permits.",
        headline: permits::PERMITS,
        references: &[],
        run: permits::run,
        bars: |_| bars::permits(),
    },
    Workload {
        name: BUSY[0],
        title: "Many tasks",
        about: "Each locks and unlocks new keys of its own. Runtime of two threads; the bare wire has one thread and one \
                connection per node, like leasehold.",
        headline: "cycles/s",
        references: &["rslock", "bare"],
        run: throughput::run,
        bars: |_| bars::throughput(),
    },
    Workload {
        name: "instructions",
        title: "What the client does",
        about: "Per cycle, in user space, counted by callgrind: the difference between 3,200 and 640 cycles. Other load on \
                the machine changes it little. Runtime of one thread. An allocation is a call of `malloc` or its like; \
                system calls are those to the kernel, but for readings of clocks; a clock reading is one of a system clock, whether the kernel is called for it or not. The bare wire takes \
                the time of its cycles, nobody else does.",
        headline: "instructions/cycle",
        references: &["rslock", "bare"],
        run: instructions::run,
        bars: |_| bars::instruction(),
    },
    Workload {
        name: "sent",
        title: "Commands to the nodes",
        about: "Per cycle, all nodes together, when nobody else wants the key and all nodes are well. Without what scripts \
                call there.",
        headline: "commands/cycle",
        references: &["rslock"],
        run: sent::run,
        bars: |_| bars::sent(),
    },
    Workload {
        name: BUSY[1],
        title: "What a vote costs a node",
        about: "64 tasks acquire 20 locks each and keep them, five times: the processor time of all nodes, for each vote. The bare wire \
                sends `SET key owner NX PX ttl`, 64 in one write to a node.",
        headline: "server CPU µs/vote",
        references: &["bare"],
        run: votes::run,
        bars: |_| bars::votes(),
    },
    Workload {
        name: "tasks",
        title: "Sixteen tasks, one key",
        about: "One process; each holds for exactly 1 ms and wants it again at once, so 1,000 hand-offs/s are possible. Commands \
                are those that clients sent, all nodes together. The bare wire hands one key over, each release in one write with \
                the next vote, and holds it as long: what nodes and network leave of the 1,000. A mutex of the runtime shows what \
                tasks leave of it that are woken one after the other. `limit` is computed in each round: the bare \
                hand-over, and what the mutex takes beyond the hold to wake the next task.",
        headline: "wait p99 ms",
        references: &["rslock"],
        run: tasks::run,
        bars: |_| bars::task(),
    },
    Workload {
        name: "processes",
        title: "Eight processes, one key",
        about: "As above, in processes of their own.",
        headline: "wait p99 ms",
        references: &["rslock"],
        run: processes::run,
        bars: |_| bars::process(),
    },
    Workload {
        name: "faults",
        title: "One node of five in trouble",
        about: "Acquiring by a client that was connected before, from the first call after the fault, for two seconds at \
                most; `healthy` is the same client just before; `start` is a new client's time to its first lock.",
        headline: "p50 µs",
        references: &["rslock"],
        run: faults::run,
        bars: |_| bars::fault(),
    },
    Workload {
        name: "held",
        title: "Many leases",
        about: "Held, and extended by themselves, with a TTL of 10 s: the processor's share, and how many are lost. Counted by \
                valgrind, in user space: the memory that a lease needs while it is held, the guard included, and the \
                instructions when the client extends one on all nodes.",
        headline: "instructions/renewal",
        references: &[],
        run: held::run,
        bars: bars::held,
    },
    Workload {
        name: "names",
        title: "Names that come once",
        about: "Each is locked and released, and never seen again: by how much the memory of the process has grown when all \
                are gone, after 20,000 others. 64 tasks, once per run.",
        headline: "KiB afterwards",
        references: &[],
        run: names::run,
        bars: bars::names,
    },
    Workload {
        name: "herd",
        title: "Fifty managers, one key",
        about: "All wait for it; the time from its release until each has had it.",
        headline: "all served ms",
        references: &["rslock"],
        run: herd::run,
        bars: |_| Vec::new(),
    },
    Workload {
        name: "wake",
        title: "Waking up",
        about: "Another program deletes the key that one waits for; in round trips of a `PING` that follows upon another. \
                The bare wire is a thread that reads what the nodes tell of their keys, and asks.",
        headline: "wake-up p50 round trips",
        references: &["bare", "rslock"],
        run: wake::run,
        bars: |_| bars::wake(),
    },
    Workload {
        name: "expiry",
        title: "Keys that expire",
        about: "How late one has a key whose holder died, among many other keys that live.",
        headline: "late p99 ms",
        references: &["rslock"],
        run: expiry::run,
        bars: bars::expiry,
    },
    Workload {
        name: ON_SCALE[0],
        title: "Clusters as nodes",
        about: "Plain locks on three nodes: three servers, and three Redis Clusters each, of so many masters without replicas. One task \
                locks and unlocks one name again and again, and new ones; then 64 do new ones. Nobody else wants them. The processor time of a node is that of all its \
                servers, with what they do for themselves. Calculated: the locks of a second if each server had a core of its own, \
                and did nothing but that.",
        headline: "cycle p50 µs",
        references: &[clusters::SERVERS],
        run: clusters::run,
        bars: bars::clusters,
    },
    Workload {
        name: ON_SCALE[1],
        title: "Many leases, many clients",
        about: "One manager holds leases with a TTL of 30 s for that long, so each is extended three times. Then so many managers have \
                locked once, and want nothing.",
        headline: "node bytes/lease",
        references: &[],
        run: clients::run,
        bars: bars::clients,
    },
    Workload {
        name: PEERS,
        title: "Other languages, one task",
        about: "As with one task, by libraries of other languages, our packages for Node and Python among them, each in its own \
                process and by its own clock.",
        headline: "cycle p50 µs",
        references: &["bare"],
        run: peers::run,
        bars: |_| bars::peers(),
    },
];

/// Those that docs/SCALE.md tells of, and not docs/PERFORMANCE.md.
pub(crate) const ON_SCALE: [&str; 2] = ["clusters", "clients"];

/// Those that keep all processors awake by themselves.
pub(crate) const BUSY: [&str; 2] = ["throughput", "votes"];

/// The one that is measured only if it is asked for: it installs packages.
pub(crate) const PEERS: &str = "peers";

/// A setting's name.
fn nodes(count: usize) -> String {
    format!("{count} {}", if count == 1 { "node" } else { "nodes" })
}

/// The same, where the number of tasks differs as well.
fn nodes_and_tasks(count: usize, tasks: usize) -> String {
    let noun = if tasks == 1 { "task" } else { "tasks" };
    format!("{}, {tasks} {noun}", nodes(count))
}

/// A runtime of so many threads.
fn runtime(threads: usize) -> Fallible<Runtime> {
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    Ok(builder.worker_threads(threads).enable_all().build()?)
}

/// A part of this program in a process of its own, on these nodes: the number that it tells.
fn told_by(words: &[&str], nodes: &str) -> Fallible<f64> {
    let output = Command::new(env::current_exe()?)
        .args(words)
        .arg(nodes)
        .output()?;
    let told = String::from_utf8(output.stdout)?;
    if !output.status.success() {
        return Err(format!("`{}` failed: {told}", words.join(" ")).into());
    }
    Ok(told.trim().parse()?)
}
