//! Several that want the same lock, each again as soon as it had it.

use crate::{
    Fallible,
    ledger::Ledger,
    moment::{HOLD, Moment, hold_for},
    sample::{Sample, jain},
    subject::Locker,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{self, JoinSet},
};

/// What one contender met with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    /// How long it waited for each lock that it got.
    pub(crate) waits: Vec<Duration>,
    /// How long it held all of them together.
    pub(crate) held: Duration,
    /// The wait that the end of the window cut short.
    pub(crate) unfinished: Option<Duration>,
    pub(crate) failed: u64,
}

/// Contends until the window ends; holds each lock for `HOLD`.
pub(crate) async fn contend(manager: &Locker, key: &str, end: Moment) -> Story {
    let mut story = Story::default();
    loop {
        let started = Moment::now();
        let left = end.since(started);
        if left.is_zero() {
            return story;
        }
        match tokio::time::timeout(left, manager.wait(key)).await {
            Ok(Ok(held)) => {
                story.waits.push(started.elapsed());
                story.held += keep();
                held.release().await;
            }
            Ok(Err(_)) => story.failed += 1,
            Err(_) => {
                story.unfinished = Some(started.elapsed());
                return story;
            }
        }
    }
}

/// Holds a lock, and tells for how long. Not by a timer of the runtime, which would make two milliseconds of one, and not
/// in another thread, whose waking would be held, too: for everybody alike.
fn keep() -> Duration {
    match Handle::current().runtime_flavor() {
        // Nobody else is on it.
        RuntimeFlavor::CurrentThread => hold_for(HOLD),
        _ => task::block_in_place(|| hold_for(HOLD)),
    }
}

/// So many tasks of this process contend.
pub(crate) async fn all(
    manager: &Arc<Locker>,
    key: &str,
    tasks: usize,
    window: Duration,
) -> Fallible<Vec<Story>> {
    let end = Moment::now().plus(window);
    let mut contending = JoinSet::new();
    for _ in 0..tasks {
        let (manager, key) = (Arc::clone(manager), key.to_owned());
        contending.spawn(async move { contend(&manager, &key, end).await });
    }
    let mut stories = Vec::new();
    while let Some(story) = contending.join_next().await {
        stories.push(story?);
    }
    Ok(stories)
}

/// Writes down what came of a window.
pub(crate) fn note(
    ledger: &mut Ledger,
    (setting, subject): (&str, &str),
    stories: &[Story],
    window: Duration,
    sent: f64,
) {
    let shares: Vec<u64> = stories
        .iter()
        .map(|story| story.waits.len() as u64)
        .collect();
    let handoffs = shares.iter().sum::<u64>() as f64;
    let waits = || stories.iter().flat_map(|story| story.waits.iter().copied());
    let mut waited: Sample = waits().collect();
    // Who still waits when all is over has waited for at least so long; only what is long says something.
    let mean = Duration::from_secs_f64((waited.mean() / 1e6).max(0.0));
    let unfinished = stories.iter().filter_map(|story| story.unfinished);
    waited.extend(unfinished.filter(|time| *time > mean));
    let failed = stories.iter().map(|story| story.failed).sum::<u64>();
    let held: Duration = stories.iter().map(|story| story.held).sum();
    let mut add = |figure, value| ledger.add(setting, subject, figure, value);
    add("hand-offs/s", handoffs / window.as_secs_f64());
    add("held ms", held.as_secs_f64() * 1e3 / handoffs);
    add("wait p50 ms", waited.percentile(0.5) / 1e3);
    add("wait p99 ms", waited.percentile(0.99) / 1e3);
    add("wait max ms", waited.max() / 1e3);
    add("wait mean ms", waited.mean() / 1e3);
    add("Jain", jain(&shares));
    add("commands/hand-off", sent / handoffs);
    add("failed", failed as f64);
}
