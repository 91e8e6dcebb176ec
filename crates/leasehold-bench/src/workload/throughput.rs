//! Many tasks, each with keys of its own: how many locks, and for how much of the processor.

use crate::{
    Fallible,
    bare::{Bare, Stop},
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::{Moment, processor_time},
    sample::Sample,
    subject::{self, BARE, Locker, PLACES},
};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    let counts: &[usize] = if effort.is_quick {
        &[1, 16, 64]
    } else {
        &[1, 16, 64, 256]
    };
    for nodes in [1, 3, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let mut bare = Bare::connect(&servers)?;
        let managers = runtime.block_on(subject::managers(&PLACES, &servers.urls()))?;
        let mut runners = vec![None];
        let managers = managers.into_iter();
        runners.extend(managers.map(|(subject, manager)| Some((subject, Arc::new(manager)))));
        for &tasks in counts {
            // The first round warms up.
            for round in 0..=effort.rounds {
                for runner in rotated(round, &runners) {
                    let (started, before) = (Moment::now(), processor_time());
                    let (name, cycles) = match runner {
                        None => (
                            BARE,
                            bare.run(tasks, Stop::After(effort.throughput))?.cycles,
                        ),
                        Some((subject, manager)) => {
                            let cycles = all(manager, tasks, effort.throughput);
                            (subject.name(), runtime.block_on(cycles)?)
                        }
                    };
                    let (time, spent) = (started.elapsed(), processor_time() - before);
                    if round > 0 {
                        let setting = super::nodes_and_tasks(nodes, tasks);
                        note(ledger, (&setting, name), cycles, time, spent);
                    }
                }
            }
        }
    }
    Ok(())
}

fn note(
    ledger: &mut Ledger,
    (setting, subject): (&str, &str),
    mut cycles: Sample,
    time: Duration,
    spent: Duration,
) {
    let count = cycles.len() as f64;
    let mut add = |figure, value| ledger.add(setting, subject, figure, value);
    add("cycles/s", count / time.as_secs_f64());
    add("client CPU µs/cycle", spent.as_secs_f64() * 1e6 / count);
    add("cycle p50 µs", cycles.percentile(0.5));
    add("cycle p99 µs", cycles.percentile(0.99));
}

pub(super) async fn all(manager: &Arc<Locker>, tasks: usize, window: Duration) -> Fallible<Sample> {
    let end = Moment::now().plus(window);
    let mut working = JoinSet::new();
    for task in 0..tasks {
        let manager = Arc::clone(manager);
        working.spawn(async move { one(&manager, task, |_| Moment::now() < end).await });
    }
    let mut cycles = Sample::default();
    while let Some(done) = working.join_next().await {
        cycles.extend(done??.iter());
    }
    Ok(cycles)
}

/// Locks and unlocks new keys, as long as the number of cycles done so far is told to go on.
pub(crate) async fn one(
    manager: &Locker,
    task: usize,
    goes_on: impl Fn(usize) -> bool,
) -> Fallible<Sample> {
    let mut cycles = Sample::default();
    while goes_on(cycles.len()) {
        let name = format!("task:{task}:{}", cycles.len());
        let started = Moment::now();
        manager.acquire(&name).await?.release().await;
        cycles.push(started.elapsed());
    }
    Ok(cycles)
}
