//! Another program deletes the key that somebody waits for: the time until the waiter has it, in round trips.

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

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let mut foreign = Foreign::connect(&servers)?;
        let managers = runtime.block_on(subject::managers(&subject::LIBRARIES, &servers.urls()))?;
        let managers = managers.into_iter();
        let managers: Vec<_> = managers
            .map(|(who, manager)| (who, Arc::new(manager)))
            .collect();
        for round in 0..effort.rounds {
            for (subject, manager) in rotated(round, &managers) {
                let mut trips: Sample = (0..PINGS)
                    .map(|_| foreign.ping())
                    .collect::<Result<_, _>>()?;
                let trip = trips.percentile(0.5);
                let mut wakes = Sample::default();
                for number in 0..effort.wakes {
                    let key = format!("wake:{}:{round}:{number}", subject.name());
                    wakes.push(runtime.block_on(wake(&mut foreign, manager, &key))?);
                }
                let setting = super::nodes(nodes);
                let mut add = |figure, value| ledger.add(&setting, subject.name(), figure, value);
                add("round trip µs", trip);
                add("wake-up p50 µs", wakes.percentile(0.5));
                add("wake-up max µs", wakes.max());
                add("wake-up p50 round trips", wakes.percentile(0.5) / trip);
            }
        }
    }
    Ok(())
}

async fn wake(foreign: &mut Foreign, manager: &Arc<Locker>, key: &str) -> Fallible<Duration> {
    foreign.hold(key, Duration::from_secs(30))?;
    let waiting = tokio::spawn({
        let (manager, key) = (Arc::clone(manager), key.to_owned());
        async move {
            let held = manager.wait(&key).await?;
            let had = Moment::now();
            held.release().await;
            Fallible::Ok(had)
        }
    });
    // It has found the key held, and waits. Not always for equally long, or polling would seem regular.
    let odd = key.bytes().map(u64::from).sum::<u64>() % 37;
    tokio::time::sleep(GATHERED + Duration::from_millis(odd)).await;
    let deleted = foreign.delete(key)?;
    Ok(waiting.await??.since(deleted))
}

const PINGS: usize = 300;
const GATHERED: Duration = Duration::from_millis(40);
