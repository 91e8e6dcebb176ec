//! Another program deletes the key that somebody waits for: the time until the waiter has it, in round trips.

use crate::{
    Fallible,
    bare_waiter::BareWaiter,
    effort::{Effort, rotated},
    foreign::Foreign,
    ledger::Ledger,
    moment::Moment,
    sample::Sample,
    subject::{self, BARE, Locker, PLACES},
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::task::JoinHandle;

pub(crate) fn run(effort: &Effort, ledger: &mut Ledger) -> Fallible<()> {
    let runtime = super::runtime(2)?;
    for nodes in [1, 5] {
        let servers = runtime.block_on(subject::servers(nodes))?;
        let mut foreign = Foreign::connect(&servers)?;
        let bare = Arc::new(Mutex::new(BareWaiter::connect(&servers)?));
        let managers = runtime.block_on(subject::managers(&PLACES, &servers.urls()))?;
        let mut runners = vec![(BARE, Waiter::Bare(bare))];
        runners.extend(
            managers
                .into_iter()
                .map(|(subject, manager)| (subject.name(), Waiter::Manager(Arc::new(manager)))),
        );
        for round in 0..effort.rounds {
            for (name, waiter) in rotated(round, &runners) {
                let mut trips: Sample = (0..PINGS)
                    .map(|_| foreign.ping())
                    .collect::<Result<_, _>>()?;
                let trip = trips.percentile(0.5);
                let mut wakes = Sample::default();
                for number in 0..effort.wakes {
                    let key = format!("wake:{name}:{round}:{number}");
                    wakes.push(runtime.block_on(wake(&mut foreign, waiter, &key))?);
                }
                let setting = super::nodes(nodes);
                let mut add = |figure, value| ledger.add(&setting, name, figure, value);
                add("round trip µs", trip);
                add("wake-up p50 µs", wakes.percentile(0.5));
                add("wake-up max µs", wakes.max());
                add("wake-up p50 round trips", wakes.percentile(0.5) / trip);
            }
        }
    }
    Ok(())
}

/// Who waits.
enum Waiter {
    Bare(Arc<Mutex<BareWaiter>>),
    Manager(Arc<Locker>),
}

impl Waiter {
    /// Begins to wait, beside whoever calls.
    fn begin(&self, key: &str) -> JoinHandle<Fallible<Moment>> {
        let key = key.to_owned();
        match self {
            Self::Bare(waiter) => {
                let waiter = Arc::clone(waiter);
                tokio::task::spawn_blocking(move || {
                    let mut waiter = waiter.lock().expect("nobody panics with it");
                    waiter.wait(&key)
                })
            }
            Self::Manager(manager) => {
                let manager = Arc::clone(manager);
                tokio::spawn(async move {
                    let held = manager.wait(&key).await?;
                    let had = Moment::now();
                    held.release().await;
                    Fallible::Ok(had)
                })
            }
        }
    }
}

async fn wake(foreign: &mut Foreign, waiter: &Waiter, key: &str) -> Fallible<Duration> {
    foreign.hold(key, Duration::from_secs(30))?;
    let waiting = waiter.begin(key);
    // It has found the key held, and waits. Not always for equally long, or polling would seem regular.
    let odd = key.bytes().map(u64::from).sum::<u64>() % 37;
    tokio::time::sleep(GATHERED + Duration::from_millis(odd)).await;
    let deleted = foreign.delete(key)?;
    Ok(waiting.await??.since(deleted))
}

const PINGS: usize = 300;
const GATHERED: Duration = Duration::from_millis(40);
