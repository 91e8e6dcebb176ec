//! One task in other languages: what a lock costs there.
//!
//! The libraries are those of `leasehold-interop`, which installs them, and whose shims measure themselves, in their
//! own language and process. Each round starts them anew; the first tenth of their cycles is not counted.

use super::latency;
use crate::{
    Fallible,
    bare::{Bare, Stop},
    effort::{Effort, rotated},
    ledger::Ledger,
    sample::Sample,
    subject::{self, BARE, Subject},
};
use leasehold_servers::{ServerSet, skip};
use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let mut missing = Vec::new();
    for nodes in [1, 5] {
        compare(effort, nodes, ledger, &mut missing)?;
    }
    Ok(())
}

fn compare(
    effort: &Effort,
    nodes: usize,
    ledger: &mut Ledger,
    missing: &mut Vec<&'static str>,
) -> Fallible<()> {
    let runtime = super::runtime(1)?;
    let servers = runtime.block_on(subject::servers(nodes))?;
    let mut bare = Bare::connect(&servers)?;
    let subjects = [Subject::Plain, Subject::Fenced];
    let ours = runtime.block_on(subject::managers(&subjects, &servers.urls()))?;
    let mut runners = vec![BARE, Subject::Plain.name(), Subject::Fenced.name()];
    runners.extend(OURS.iter().flat_map(|(_, packages)| packages));
    let peers = PEERS
        .iter()
        .filter(|peer| nodes == 1 || !peer.is_of_one_node);
    runners.extend(peers.map(|peer| peer.name));
    for round in 0..effort.rounds {
        for &name in rotated(round, &runners) {
            let mut cycles = if name == BARE {
                bare.run(1, Stop::Cycles(effort.cycles))?.cycles
            } else if let Some((_, manager)) = ours.iter().find(|(it, _)| it.name() == name) {
                let cycles = latency::cycles(manager, effort.cycles);
                runtime.block_on(cycles)?.cycles
            } else if missing.contains(&name) {
                continue;
            } else {
                match peer(name, effort.cycles, &servers) {
                    Ok(cycles) => cycles,
                    Err(error) => {
                        skip(&format!("{name} is not measured: {error}"));
                        missing.push(name);
                        continue;
                    }
                }
            };
            let setting = super::nodes(nodes);
            for (figure, share) in [("cycle p50 µs", 0.5), ("cycle p99 µs", 0.99)] {
                ledger.add(&setting, name, figure, cycles.percentile(share));
            }
        }
    }
    Ok(())
}

/// What the cycles of a library took.
fn peer(name: &str, cycles: usize, servers: &ServerSet) -> Fallible<Sample> {
    let output = Command::new(interop()?)
        .args(["cycles", name, &cycles.to_string()])
        .args(servers.urls())
        .stderr(Stdio::inherit())
        .output()?;
    let printed = String::from_utf8(output.stdout)?;
    let times = printed
        .lines()
        .map(|line| Ok(Duration::from_micros(line.parse()?)));
    let times: Vec<Duration> = times.collect::<Fallible<_>>()?;
    if !output.status.success() || times.len() != cycles {
        let count = times.len();
        let status = output.status;
        return Err(format!("it ended with {status} after {count} of {cycles} cycles").into());
    }
    Ok(times.into_iter().collect())
}

/// The program that has the other libraries stands beside this one.
fn interop() -> Fallible<PathBuf> {
    let program = env::current_exe()?.with_file_name("leasehold-interop");
    if program.is_file() {
        return Ok(program);
    }
    Err("leasehold-interop is not built: `cargo xtask bench --peers` builds it".into())
}

/// A library for other languages, as `leasehold-interop` calls it.
#[derive(Clone, Copy)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) language: &'static str,
    pub(super) is_of_one_node: bool,
}

impl Peer {
    const fn new(name: &'static str, language: &'static str) -> Self {
        Self {
            name,
            language,
            is_of_one_node: false,
        }
    }
}

/// Those that most people use.
pub(super) const PEERS: [Peer; 5] = [
    Peer::new("node-redlock5", NODE),
    Peer::new("redlock-py", PYTHON),
    Peer::new("pottery", PYTHON),
    Peer {
        is_of_one_node: true,
        ..Peer::new("python-redis-lock", PYTHON)
    },
    Peer::new("redsync", "Go"),
];

/// Our packages, by their languages.
pub(super) const OURS: [(&str, [&str; 2]); 2] = [
    (NODE, ["leasehold-node-plain", "leasehold-node-fenced"]),
    (
        PYTHON,
        ["leasehold-python-plain", "leasehold-python-fenced"],
    ),
];

const NODE: &str = "Node";
const PYTHON: &str = "Python";
