//! Eight permits of one name beside a mutex: what one costs, and how many have one after the other.

use super::readers::manager;
use crate::{
    Fallible,
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::Moment,
    sample::{Sample, jain},
    subject,
};
use leasehold::{Fenced, LockManager};
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
        let mut figures: Vec<_> = [MUTEX, PERMIT]
            .into_iter()
            .zip(alone.map(|mut sample| sample.percentile(0.5)))
            .collect();
        for kind in rotated(round, &KINDS) {
            let shares = runtime.block_on(contend(&manager, *kind, round, effort.contention))?;
            let all: u64 = shares.iter().sum();
            let rate = all as f64 / effort.contention.as_secs_f64();
            let [many, fair] = kind.figures();
            figures.extend([(many, rate), (fair, jain(&shares))]);
        }
        for (figure, value) in figures.into_iter().filter(|_| round > 0) {
            ledger.add(&setting, WHO, figure, value);
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Kind {
    Mutex,
    Permit,
}

const KINDS: [Kind; 2] = [Kind::Mutex, Kind::Permit];

impl Kind {
    const fn figures(self) -> [&'static str; 2] {
        match self {
            Self::Mutex => [MUTEXES, "mutex: Jain"],
            Self::Permit => [PERMITS, "8 permits: Jain"],
        }
    }
}

/// A mutex, then a permit, and again, so that whatever else the machine does meets both.
async fn cycles(manager: &LockManager<Fenced>, count: usize) -> Fallible<[Sample; 2]> {
    let mut samples = [Sample::default(), Sample::default()];
    for number in 0..count {
        for (sample, kind) in samples.iter_mut().zip(KINDS) {
            let name = format!("permits:{}:{number}", kind as u8);
            let started = Moment::now();
            cycle(manager, kind, &name, Duration::ZERO).await?;
            sample.push(started.elapsed());
        }
    }
    Ok(samples)
}

async fn cycle(
    manager: &LockManager<Fenced>,
    kind: Kind,
    name: &str,
    hold: Duration,
) -> Fallible<()> {
    match kind {
        Kind::Mutex => {
            let guard = manager.mutex(name)?.acquire_within(PATIENCE).await?;
            keep(hold).await;
            drop(guard.release().await);
        }
        Kind::Permit => {
            let semaphore = manager.semaphore(name, COUNT)?;
            let guard = semaphore.acquire_within(PATIENCE).await?;
            keep(hold).await;
            drop(guard.release().await);
        }
    }
    Ok(())
}

/// By a timer of the runtime: eight that held it by work would want eight cores.
async fn keep(hold: Duration) {
    if !hold.is_zero() {
        tokio::time::sleep(hold).await;
    }
}

/// How often each task has had it, that wants it again at once.
async fn contend(
    manager: &LockManager<Fenced>,
    kind: Kind,
    round: usize,
    window: Duration,
) -> Fallible<Vec<u64>> {
    let end = Moment::now().plus(window);
    let mut working = JoinSet::new();
    for _ in 0..TASKS {
        let (manager, name) = (manager.clone(), format!("wanted:{round}:{}", kind as u8));
        working.spawn(async move {
            let mut count = 0;
            while Moment::now() < end {
                cycle(&manager, kind, &name, HOLD).await?;
                count += 1;
            }
            Fallible::Ok(count)
        });
    }
    let mut shares = Vec::new();
    while let Some(done) = working.join_next().await {
        shares.push(done??);
    }
    Ok(shares)
}

/// Whose locks have permits.
pub(super) const WHO: &str = "fenced";

pub(super) const MUTEX: &str = "a mutex p50 µs";
pub(super) const PERMIT: &str = "a permit p50 µs";
pub(super) const MUTEXES: &str = "mutex: hand-offs/s";
pub(super) const PERMITS: &str = "8 permits: hand-offs/s";

const COUNT: usize = 8;
const TASKS: usize = 16;
const HOLD: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_measured_on_a_real_server() {
        leasehold_servers::require_server();
        let effort = Effort {
            rounds: 1,
            cycles: 5,
            contention: Duration::from_millis(100),
            ..Effort::QUICK
        };
        let mut ledger = Ledger::default();
        compare(&effort, 1, &mut ledger).unwrap();
        for figure in [MUTEX, PERMIT, MUTEXES, PERMITS] {
            let spread = ledger.spread("1 node", WHO, figure);
            assert!(spread.unwrap().median > 0.0, "{figure}");
        }
    }
}
