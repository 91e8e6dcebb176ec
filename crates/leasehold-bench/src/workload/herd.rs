//! Fifty managers wait for one key: the time from its release until all of them have had it.

use crate::{
    Fallible,
    commands::{self, Listening},
    effort::{Effort, rotated},
    ledger::Ledger,
    moment::Moment,
    subject::{self, Locker},
};
use leasehold_servers::ServerSet;
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        for round in 0..effort.rounds {
            for subject in rotated(round, subject::rivals(effort)) {
                let managers = runtime.block_on(async {
                    let managers = (0..=WAITERS).map(|_| subject.manager(&servers.urls()));
                    let managers = managers.map(|manager| manager.map(Arc::new));
                    managers.collect::<Fallible<Vec<_>>>()
                })?;
                let key = format!("herd:{}:{round}", subject.name());
                let (all, last, sent) = runtime.block_on(stampede(&servers, &managers, &key))?;
                let setting = super::nodes(nodes);
                let mut add = |figure, value| ledger.add(&setting, subject.name(), figure, value);
                add("all served ms", all.as_secs_f64() * 1e3);
                add("first served ms", last.as_secs_f64() * 1e3);
                add("commands/hand-off", sent);
            }
        }
    }
    Ok(())
}

/// The times until all and until the first have had it, and the commands per hand-over.
async fn stampede(
    servers: &ServerSet,
    managers: &[Arc<Locker>],
    key: &str,
) -> Fallible<(Duration, Duration, f64)> {
    for (number, manager) in managers.iter().enumerate() {
        let own = format!("own:{number}:{key}");
        manager.acquire(&own).await?.release().await;
    }
    let (holder, waiters) = managers.split_first().ok_or("there is nobody")?;
    let held = holder.wait(key).await?;
    let mut waiting = JoinSet::new();
    for manager in waiters {
        let (manager, key) = (Arc::clone(manager), key.to_owned());
        waiting.spawn(async move {
            let held = manager.wait(&key).await?;
            let had = Moment::now();
            held.release().await;
            Fallible::Ok(had)
        });
    }
    // All of them have found it held, and wait.
    tokio::time::sleep(GATHERED).await;
    let listening = Listening::begin(servers)?;
    let before = commands::calls(servers)?;
    let released = Moment::now();
    held.release().await;
    let mut times = Vec::new();
    while let Some(had) = waiting.join_next().await {
        times.push(had??.since(released));
    }
    let after = commands::calls(servers)?;
    let sent = listening.end().sent(&before, &after, servers.len())?;
    let (first, last) = (times.iter().min(), times.iter().max());
    let (first, last) = first.zip(last).ok_or("nobody waited")?;
    Ok((*last, *first, sent / times.len() as f64))
}

const WAITERS: usize = 50;
const GATHERED: Duration = Duration::from_millis(300);
