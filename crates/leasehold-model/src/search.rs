//! A search of the checker, followed to its end.

use stateright::{Checker, Model};
use std::{
    thread,
    time::{Duration, Instant},
};

/// What came of it.
#[derive(Debug)]
pub(crate) struct Outcome<Step> {
    /// Worlds that were reached, however often.
    pub(crate) states: usize,
    pub(crate) unique: usize,
    pub(crate) depth: usize,
    pub(crate) took: Duration,
    /// The promise that was broken, and the way there.
    pub(crate) broken: Option<(&'static str, Vec<Step>)>,
    /// What never happened although it must.
    pub(crate) missing: Vec<&'static str>,
}

impl<Step> Outcome<Step> {
    /// Whether nothing broke, and everything happened that must.
    pub(crate) fn is_well(&self) -> bool {
        self.broken.is_none() && self.missing.is_empty()
    }

    /// Whether it was this promise that was broken.
    pub(crate) fn breaks(&self, property: &str) -> bool {
        let broken = self.broken.as_ref();
        broken.is_some_and(|(broken, _)| *broken == property)
    }
}

/// Waits for the end, and tells from time to time how far it has come. `always` are the promises, `wanted` what
/// must happen.
#[expect(
    clippy::disallowed_methods,
    reason = "how long it took is told to people, and decides nothing"
)]
pub(crate) fn watch<M: Model>(
    checker: impl Checker<M>,
    always: impl IntoIterator<Item = &'static str>,
    wanted: impl IntoIterator<Item = &'static str>,
    mut progress: impl FnMut(usize, usize),
) -> Outcome<M::Action>
where
    M::State: Clone + PartialEq + std::hash::Hash + std::fmt::Debug,
    M::Action: Clone + PartialEq + std::fmt::Debug,
{
    let started = Instant::now();
    let mut told = started;
    while !checker.is_done() {
        thread::sleep(LOOK);
        if told.elapsed() >= TELL {
            told = Instant::now();
            progress(checker.state_count(), checker.unique_state_count());
        }
    }
    let checker = checker.join();
    let took = started.elapsed();
    let found = checker.discoveries();
    let broken = always.into_iter().find_map(|property| {
        let path = found.get(property)?;
        Some((property, path.clone().into_actions()))
    });
    let missing = wanted.into_iter().filter(|name| !found.contains_key(name));
    Outcome {
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        depth: checker.max_depth(),
        took,
        broken,
        missing: missing.collect(),
    }
}

const LOOK: Duration = Duration::from_millis(10);
const TELL: Duration = Duration::from_secs(10);
