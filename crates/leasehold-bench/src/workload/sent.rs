//! How many commands a cycle sends, all nodes together, when nobody else wants the key and all nodes are well.

use super::instructions;
use crate::{
    Fallible,
    commands::{self, Calls, Listening},
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::rest,
    subject::{self, PLACES},
};
use leasehold_servers::ServerSet;
use std::{sync::Arc, time::Duration};

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let mut runners = Vec::new();
        for (subject, manager) in runtime.block_on(subject::managers(&PLACES, &servers.urls()))? {
            let manager = Arc::new(manager);
            let listening = Listening::begin(&servers)?;
            // What is said for one lock alone is not what is said for many together.
            for tasks in [1, TASKS] {
                runtime.block_on(instructions::all(&manager, "warm-up", tasks, WARM_UP))?;
            }
            runners.push((subject, manager, listening.end()));
        }
        for (tasks, cycles) in [(1, 640), (TASKS, 3_200)] {
            for round in 0..effort.rounds {
                for (subject, manager, origins) in rotated(round, &runners) {
                    let before = settled(&servers)?;
                    runtime.block_on(instructions::all(manager, "sent", tasks, cycles))?;
                    let sent = origins.sent(&before, &settled(&servers)?, 0)?;
                    let setting = super::nodes_and_tasks(nodes, tasks);
                    let sent = sent / cycles as f64;
                    ledger.add(&setting, subject.name(), "commands/cycle", sent);
                }
            }
        }
    }
    Ok(())
}

/// The calls when no node has any before it, as one that no quorum waited for may have; without those of asking.
fn settled(servers: &ServerSet) -> Fallible<Calls> {
    let calls = || {
        let mut calls = commands::calls(servers)?;
        calls.remove("info");
        Fallible::Ok(calls)
    };
    let mut last = calls()?;
    loop {
        rest(SETTLED);
        let next = calls()?;
        if next == last {
            return Ok(next);
        }
        last = next;
    }
}

const TASKS: usize = 64;
const WARM_UP: usize = 640;
const SETTLED: Duration = Duration::from_millis(20);
