//! Readers and a writer of one name: what a share costs beside a lock of one's own, and who waits for how long.

use crate::{
    Fallible,
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::Moment,
    sample::Sample,
    subject,
};
use leasehold::{Fenced, LockManager, LockOptions};
use std::time::Duration;
use tokio::task::JoinSet;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    [1, 5]
        .into_iter()
        .try_for_each(|nodes| compare(effort, nodes, ledger))
}

fn compare(effort: &Effort, nodes: usize, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    let servers = runtime.block_on(subject::servers(nodes))?;
    let manager = runtime.block_on(async { manager(&servers.urls()) })?;
    let setting = super::nodes(nodes);
    // The first round warms up.
    for round in 0..=effort.rounds {
        let alone = runtime
            .block_on(cycles(&manager, effort.cycles))?
            .into_iter();
        let mut figures: Vec<_> = [MUTEX, READ]
            .into_iter()
            .zip(alone.map(|mut sample| sample.percentile(0.5)))
            .collect();
        for kind in rotated(round, &KINDS) {
            let rate = runtime.block_on(together(&manager, *kind, effort.throughput))?;
            figures.push((kind.figure(), rate));
        }
        figures.extend(runtime.block_on(beside(&manager, round, effort.contention))?);
        for (figure, value) in figures.into_iter().filter(|_| round > 0) {
            ledger.add(&setting, WHO, figure, value);
        }
    }
    Ok(())
}

pub(super) fn manager(urls: &[String]) -> Fallible<LockManager<Fenced>> {
    let options = LockOptions::new().ttl(subject::TTL);
    let builder = LockManager::builder().nodes(urls);
    Ok(builder.defaults(options).build()?)
}

#[derive(Clone, Copy)]
enum Kind {
    /// Each task has names of its own.
    Mutex,
    /// All read one name.
    Share,
}

const KINDS: [Kind; 2] = [Kind::Mutex, Kind::Share];

impl Kind {
    const fn figure(self) -> &'static str {
        match self {
            Self::Mutex => MUTEXES,
            Self::Share => READS,
        }
    }
}

/// A lock of one's own, then a share, and again, so that whatever else the machine does meets both.
async fn cycles(manager: &LockManager<Fenced>, count: usize) -> Fallible<[Sample; 2]> {
    let mut samples = [Sample::default(), Sample::default()];
    for number in 0..count {
        for (sample, kind) in samples.iter_mut().zip(KINDS) {
            let started = Moment::now();
            cycle(manager, kind, &format!("readers:alone:{number}")).await?;
            sample.push(started.elapsed());
        }
    }
    Ok(samples)
}

async fn cycle(manager: &LockManager<Fenced>, kind: Kind, name: &str) -> Fallible<()> {
    match kind {
        Kind::Mutex => drop(manager.mutex(name)?.acquire().await?.release().await),
        Kind::Share => drop(manager.rwlock("readers")?.read().await?.release().await),
    }
    Ok(())
}

/// How many cycles so many tasks do in a second.
async fn together(manager: &LockManager<Fenced>, kind: Kind, window: Duration) -> Fallible<f64> {
    let (started, mut working) = (Moment::now(), JoinSet::new());
    let end = started.plus(window);
    for task in 0..TASKS {
        let manager = manager.clone();
        working.spawn(async move {
            let mut count = 0_usize;
            while Moment::now() < end {
                cycle(&manager, kind, &format!("readers:{task}:{count}")).await?;
                count += 1;
            }
            Fallible::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(done) = working.join_next().await {
        count += done??;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

/// How long fifteen readers and a writer of one name wait, each of which has it for a millisecond.
async fn beside(
    manager: &LockManager<Fenced>,
    round: usize,
    window: Duration,
) -> Fallible<Vec<(&'static str, f64)>> {
    let end = Moment::now().plus(window);
    let mut working = JoinSet::new();
    for task in 0..READERS + 1 {
        let lock = manager.rwlock(&format!("beside:{round}"))?;
        working.spawn(async move {
            let (writes, mut waits) = (task == 0, Sample::default());
            while Moment::now() < end {
                let started = Moment::now();
                if writes {
                    let guard = lock.write_within(PATIENCE).await?;
                    waits.push(started.elapsed());
                    tokio::time::sleep(HOLD).await;
                    drop(guard.release().await);
                } else {
                    let guard = lock.read_within(PATIENCE).await?;
                    waits.push(started.elapsed());
                    tokio::time::sleep(HOLD).await;
                    drop(guard.release().await);
                }
            }
            Fallible::Ok((writes, waits))
        });
    }
    let (mut reads, mut writes) = (Sample::default(), Sample::default());
    while let Some(done) = working.join_next().await {
        let (is_writer, waits) = done??;
        let all = if is_writer { &mut writes } else { &mut reads };
        all.extend(waits.iter());
    }
    let per_second = |count: usize| count as f64 / window.as_secs_f64();
    Ok(vec![
        ("reads/s beside a writer", per_second(reads.len())),
        ("writes/s beside readers", per_second(writes.len())),
        ("reader's wait p99 ms", reads.percentile(0.99) / 1e3),
        (WRITER, writes.percentile(0.99) / 1e3),
    ])
}

/// Whose locks have shares.
pub(super) const WHO: &str = "fenced";

pub(super) const MUTEX: &str = "a mutex p50 µs";
pub(super) const READ: &str = "a share p50 µs";
pub(super) const MUTEXES: &str = "64 mutexes, cycles/s";
pub(super) const READS: &str = "64 readers of one name, cycles/s";
pub(super) const WRITER: &str = "writer's wait p99 ms";

const TASKS: usize = 64;
const READERS: usize = 15;
const HOLD: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_measured_on_a_real_server() {
        leasehold_servers::require_server();
        let short = Duration::from_millis(100);
        let effort = Effort {
            rounds: 1,
            cycles: 5,
            throughput: short,
            contention: short,
            ..Effort::QUICK
        };
        let mut ledger = Ledger::default();
        compare(&effort, 1, &mut ledger).unwrap();
        for figure in [MUTEX, READ, MUTEXES, READS, WRITER] {
            let spread = ledger.spread("1 node", WHO, figure);
            assert!(spread.unwrap().median > 0.0, "{figure}");
        }
    }
}
