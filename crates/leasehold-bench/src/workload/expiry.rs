//! The key of a holder that died expires among many others that live: how late the waiter has it.

use crate::{
    Fallible,
    effort::{Effort, rotated},
    foreign::Foreign,
    ledger::Ledger,
    moment::Moment,
    sample::Sample,
    subject::{self, Locker},
};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let mut foreign = Foreign::connect(&servers)?;
        foreign.fill(effort.live_keys, Duration::from_secs(900))?;
        let managers = runtime.block_on(subject::managers(&subject::LIBRARIES, &servers.urls()))?;
        let managers = managers.into_iter();
        let managers: Vec<_> = managers
            .map(|(who, manager)| (who, Arc::new(manager)))
            .collect();
        for round in 0..effort.rounds {
            for (subject, manager) in rotated(round, &managers) {
                let prefix = format!("expiry:{}:{round}", subject.name());
                let late = lateness(&mut foreign, manager, &prefix);
                let mut late = runtime.block_on(late)?;
                let setting = format!("{}, {} keys", super::nodes(nodes), effort.live_keys);
                let mut add = |figure, value| ledger.add(&setting, subject.name(), figure, value);
                add("late p50 ms", late.percentile(0.5) / 1e3);
                add("late p99 ms", late.percentile(0.99) / 1e3);
            }
        }
    }
    Ok(())
}

/// Several keys expire one after the other, each with somebody who waits for it.
async fn lateness(foreign: &mut Foreign, manager: &Arc<Locker>, prefix: &str) -> Fallible<Sample> {
    let mut waiting = JoinSet::new();
    for number in 0..KEYS {
        let key = format!("{prefix}:{number}");
        let ttl = TTL + STEP * number;
        let ends = foreign.hold(&key, ttl)?.plus(ttl);
        let manager = Arc::clone(manager);
        waiting.spawn(async move {
            let held = manager.wait(&key).await?;
            let late = Moment::now().since(ends);
            held.release().await;
            Fallible::Ok(late)
        });
    }
    let mut late = Sample::default();
    while let Some(time) = waiting.join_next().await {
        late.push(time??);
    }
    Ok(late)
}

const KEYS: u32 = 100;
const TTL: Duration = Duration::from_millis(300);
const STEP: Duration = Duration::from_millis(7);
