//! Many leases that are held and extend themselves: what that costs, and that none is lost.

use crate::{
    Fallible,
    effort::Effort,
    ledger::Ledger,
    moment::{Moment, processor_time},
    subject::{self, Held, Locker, Subject},
};
use std::sync::Arc;
use tokio::task::JoinSet;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(1)?;
    let servers = runtime.block_on(subject::servers(5))?;
    // The other library extends nothing by itself.
    for subject in [Subject::Plain, Subject::Fenced] {
        let manager = Arc::new(runtime.block_on(async { subject.manager(&servers.urls()) })?);
        let held = runtime.block_on(take(&manager, effort.leases))?;
        let (started, before) = (Moment::now(), processor_time());
        runtime.block_on(async { tokio::time::sleep(effort.hold).await });
        let (time, spent) = (started.elapsed(), processor_time() - before);
        let lost = held.iter().filter(|held| !held.is_valid()).count();
        let setting = format!("5 nodes, {} leases", effort.leases);
        let mut add = |figure, value| ledger.add(&setting, subject.name(), figure, value);
        add(
            "% of one core",
            spent.as_secs_f64() / time.as_secs_f64() * 100.0,
        );
        add("lost", lost as f64);
        runtime.block_on(give_back(held));
    }
    Ok(())
}

async fn take(manager: &Arc<Locker>, leases: usize) -> Fallible<Vec<Held>> {
    let mut taking = JoinSet::new();
    for task in 0..TASKS {
        let manager = Arc::clone(manager);
        taking.spawn(async move {
            let mut held = Vec::new();
            for number in (task..leases).step_by(TASKS) {
                held.push(manager.wait(&format!("held:{number}")).await?);
            }
            Fallible::Ok(held)
        });
    }
    let mut held = Vec::new();
    while let Some(taken) = taking.join_next().await {
        held.extend(taken??);
    }
    Ok(held)
}

async fn give_back(held: Vec<Held>) {
    let mut giving: JoinSet<()> = held.into_iter().map(Held::release).collect();
    while giving.join_next().await.is_some() {}
}

const TASKS: usize = 64;
