//! How many instructions of the client a cycle takes, which no other load on the machine changes.
//!
//! Counted by callgrind: the difference between a long and a short run of the same program, in user space.

use crate::{
    Fallible,
    bare::{Bare, Stop},
    effort::Effort,
    ledger::Ledger,
    subject::{self, BARE, Subject},
    workload::throughput,
};
use leasehold_servers::{ServerSet, skip};
use std::{env, process::Command, sync::Arc};
use tokio::task::JoinSet;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        skip("there is no valgrind, so instructions are not counted");
        return Ok(());
    }
    let runtime = super::runtime(1)?;
    let counts: &[usize] = if effort.is_quick { &[64] } else { &[1, 64] };
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let libraries = subject::PLACES.map(Subject::name);
        for name in libraries.into_iter().chain([BARE]) {
            for &tasks in counts {
                let count = |cycles| counted(&servers, name, tasks, cycles);
                let instructions = (count(LONG)? - count(SHORT)?) / (LONG - SHORT) as f64;
                let setting = format!("{}, {tasks} tasks", super::nodes(nodes));
                ledger.add(&setting, name, "instructions/cycle", instructions);
            }
        }
    }
    Ok(())
}

/// The instructions of one run.
fn counted(servers: &ServerSet, name: &str, tasks: usize, cycles: usize) -> Fallible<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env::current_exe()?)
        .args(["cycles", name, &tasks.to_string(), &cycles.to_string()])
        .arg(servers.nodes())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said
        .lines()
        .find_map(|line| line.split("Collected : ").nth(1));
    let collected = collected.and_then(|number| number.trim().parse().ok());
    match collected {
        Some(number) if output.status.success() => Ok(number),
        _ => Err(format!("{name} failed below valgrind: {said}").into()),
    }
}

/// What the program does that is counted.
pub(crate) fn cycles(name: &str, tasks: usize, count: usize, urls: &[String]) -> Fallible<()> {
    if name == BARE {
        let ports = urls
            .iter()
            .filter_map(|url| url.rsplit(':').next()?.parse().ok());
        let ports: Vec<u16> = ports.collect();
        Bare::open(&ports)?.run(tasks, Stop::Cycles(count))?;
        return Ok(());
    }
    let subject = Subject::named(name).ok_or("no such subject")?;
    super::runtime(1)?.block_on(async {
        let manager = Arc::new(subject.manager(urls)?);
        let mut working = JoinSet::new();
        for task in 0..tasks {
            let manager = Arc::clone(&manager);
            let share = count / tasks;
            working
                .spawn(async move { throughput::one(&manager, task, |done| done < share).await });
        }
        while let Some(done) = working.join_next().await {
            done??;
        }
        Ok(())
    })
}

const SHORT: usize = 640;
const LONG: usize = 3_200;
