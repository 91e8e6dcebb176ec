//! Many leases that are held and extend themselves: what that costs, and that none is lost.

use crate::{
    Fallible,
    commands::calls,
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::{Moment, processor_time},
    subject::{self, Held, Locker, Subject},
    valgrind,
};
use leasehold_servers::{ServerSet, skip};
use std::{process, sync::Arc, time::Duration};
use tokio::{runtime::Runtime, task::JoinSet};

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(1)?;
    let servers = runtime.block_on(subject::servers(5))?;
    let setting = format!("5 nodes, {} leases", effort.leases);
    if !valgrind::is_there() {
        skip(
            "there is no valgrind, so neither a lease's memory nor the instructions of a renewal are counted",
        );
    }
    for round in 0..effort.counts {
        // The other library extends nothing by itself.
        for &subject in rotated(round, &[Subject::Plain, Subject::Fenced]) {
            let (share, lost) = held(&runtime, &servers, subject, effort)?;
            let mut add = |figure, value| ledger.add(&setting, subject.name(), figure, value);
            add("% of one core", share);
            add("lost", lost as f64);
            if valgrind::is_there() {
                add("bytes/lease", footprint(&servers, subject, effort.leases)?);
                let instructions = per_renewal(&servers, subject, effort.leases)?;
                add("instructions/renewal", instructions);
            }
        }
    }
    Ok(())
}

/// The share of one core, in percent, and how many leases were lost.
fn held(
    runtime: &Runtime,
    servers: &ServerSet,
    subject: Subject,
    effort: &Effort,
) -> Fallible<(f64, usize)> {
    let manager = Arc::new(runtime.block_on(async { subject.manager(&servers.urls()) })?);
    let held = runtime.block_on(take(&manager, "held", effort.leases))?;
    let (started, before) = (Moment::now(), processor_time());
    runtime.block_on(async { tokio::time::sleep(effort.hold).await });
    let (time, spent) = (started.elapsed(), processor_time() - before);
    let lost = lost(&held);
    runtime.block_on(give_back(held));
    Ok((spent.as_secs_f64() / time.as_secs_f64() * 100.0, lost))
}

/// By how much more memory a process has that holds them than one that holds a few, for each of them.
fn footprint(servers: &ServerSet, subject: Subject, leases: usize) -> Fallible<f64> {
    let in_use = |leases: usize| {
        let leases = leases.to_string();
        valgrind::in_use(&["holder", subject.name(), &leases, "0", &servers.nodes()])
    };
    Ok((in_use(leases)? - in_use(TASKS)?) / (leases - TASKS) as f64)
}

/// What it costs the client to extend one of them once, on all nodes: the difference of a process that holds them for
/// longer and one that holds them for a moment, by as many renewals as nodes were asked for more of.
fn per_renewal(servers: &ServerSet, subject: Subject, leases: usize) -> Fallible<f64> {
    let count = |time: Duration| {
        let before = scripts(servers)?;
        let [leases, time] = [leases.to_string(), time.as_millis().to_string()];
        let words = ["holder", subject.name(), &leases, &time, &servers.nodes()];
        let count = valgrind::count(&words)?;
        Fallible::Ok((count.instructions, scripts(servers)? - before))
    };
    let (long, short) = (count(LONG)?, count(SHORT)?);
    let renewals = (long.1 - short.1) / servers.len() as f64;
    Ok((long.0 - short.0) / renewals)
}

/// How many scripts all nodes have run: a renewal is one on each.
fn scripts(servers: &ServerSet) -> Fallible<f64> {
    let calls = calls(servers)?;
    Ok(calls.get("evalsha").copied().unwrap_or(0) as f64)
}

/// What a process of its own does: takes the leases, and holds them.
pub(crate) fn hold(
    subject: Subject,
    leases: usize,
    time: Duration,
    urls: &[String],
) -> Fallible<()> {
    let runtime = super::runtime(1)?;
    runtime.block_on(async {
        let manager = Arc::new(subject.manager_for(urls, TTL)?);
        let held = take(&manager, &format!("holder:{}", process::id()), leases).await?;
        tokio::time::sleep(time).await;
        // The process ends as one that was killed: what it would cost to release them is not asked for.
        process::exit(i32::from(lost(&held) > 0))
    })
}

/// So many leases, by the tasks that took them.
pub(super) async fn take(
    manager: &Arc<Locker>,
    prefix: &str,
    leases: usize,
) -> Fallible<Vec<Vec<Held>>> {
    let mut taking = JoinSet::new();
    for task in 0..TASKS {
        let (manager, prefix) = (Arc::clone(manager), prefix.to_owned());
        taking.spawn(async move {
            let mut held = Vec::with_capacity(leases / TASKS + 1);
            for number in (task..leases).step_by(TASKS) {
                held.push(manager.wait(&format!("{prefix}:{number}")).await?);
            }
            Fallible::Ok(held)
        });
    }
    let mut held = Vec::with_capacity(TASKS);
    while let Some(taken) = taking.join_next().await {
        held.push(taken??);
    }
    Ok(held)
}

pub(super) fn lost(held: &[Vec<Held>]) -> usize {
    let held = held.iter().flatten();
    held.filter(|held| !held.is_valid()).count()
}

pub(super) async fn give_back(held: Vec<Vec<Held>>) {
    let mut giving: JoinSet<()> = held.into_iter().flatten().map(Held::release).collect();
    while giving.join_next().await.is_some() {}
}

const TASKS: usize = 64;
/// Of what a process of its own holds: below valgrind everything takes fifty times as long.
const TTL: Duration = Duration::from_secs(30);
/// A renewal comes every ten seconds, give or take one.
const LONG: Duration = Duration::from_secs(12);
const SHORT: Duration = Duration::from_millis(500);
