//! Several that want the same lock, each again as soon as it had it.

use crate::{
    Fallible,
    ledger::Ledger,
    moment::{Moment, rest},
    sample::{Sample, jain},
    subject::Locker,
};
use std::{sync::Arc, time::Duration};
use tokio::task::{self, JoinSet};

/// What one contender met with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story {
    /// How long it waited for each lock that it got.
    pub(crate) waits: Vec<Duration>,
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
                // In a thread of its own: a timer of the runtime would make two milliseconds of one.
                drop(task::spawn_blocking(|| rest(HOLD)).await);
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
    let mut add = |figure, value| ledger.add(setting, subject, figure, value);
    add("hand-offs/s", handoffs / window.as_secs_f64());
    add("wait p50 ms", waited.percentile(0.5) / 1e3);
    add("wait p99 ms", waited.percentile(0.99) / 1e3);
    add("wait max ms", waited.max() / 1e3);
    add("wait mean ms", waited.mean() / 1e3);
    add("Jain", jain(&shares));
    add("commands/hand-off", sent / handoffs);
    add("failed", failed as f64);
}

/// How long each holder holds.
const HOLD: Duration = Duration::from_millis(1);
