//! What a cycle costs the client: instructions, allocations, readings of clocks. Other load on the machine changes it little.
//!
//! Counted by callgrind: the difference between a long and a short run of the same program, in user space.

use crate::{
    Fallible,
    bare::{Bare, Stop},
    effort::{Effort, rotated},
    ledger::Ledger,
    subject::{self, BARE, Locker, Subject},
    valgrind::{self, Count},
};
use leasehold_servers::skip;
use std::{fmt::Write, sync::Arc};
use tokio::task::JoinSet;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    if !valgrind::is_there() {
        skip(
            "there is no valgrind, so nothing that it counts is measured: instructions, allocations, clocks",
        );
        return Ok(());
    }
    let runtime = super::runtime(1)?;
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let mut subjects = subject::PLACES.map(Subject::name).to_vec();
        subjects.push(BARE);
        for tasks in [1, 64] {
            let setting = super::nodes_and_tasks(nodes, tasks);
            for round in 0..effort.counts {
                for name in rotated(round, &subjects) {
                    let count = per_cycle(&servers.nodes(), name, tasks)?;
                    let mut add = |figure, value| ledger.add(&setting, name, figure, value);
                    add("instructions/cycle", count.instructions);
                    add("allocations/cycle", count.allocations);
                    add("clock readings/cycle", count.readings);
                    add("system calls/cycle", count.calls);
                }
            }
        }
    }
    Ok(())
}

/// The nodes stand there with commas between them.
pub(super) fn per_cycle(nodes: &str, name: &str, tasks: usize) -> Fallible<Count> {
    let count = |cycles: usize| {
        let [tasks, cycles] = [tasks, cycles].map(|number| number.to_string());
        valgrind::count(&["cycles", name, &tasks, &cycles, nodes])
    };
    Ok((count(LONG)? - count(SHORT)?) / (LONG - SHORT) as f64)
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
        all(&manager, "task", tasks, count).await
    })
}

/// So many tasks lock and unlock so many new keys. Of all that is counted it does as little by itself as can be: it reads
/// no clock, and allocates nothing for a cycle.
pub(crate) async fn all(
    manager: &Arc<Locker>,
    prefix: &'static str,
    tasks: usize,
    count: usize,
) -> Fallible<()> {
    let mut working = JoinSet::new();
    for task in 0..tasks {
        let manager = Arc::clone(manager);
        working.spawn(async move {
            let mut name = String::new();
            for number in 0..count / tasks {
                name.clear();
                write!(name, "{prefix}:{task}:{number}")?;
                manager.acquire(&name).await?.release().await;
            }
            Fallible::Ok(())
        });
    }
    while let Some(done) = working.join_next().await {
        done??;
    }
    Ok(())
}

const SHORT: usize = 640;
const LONG: usize = 3_200;
