//! Explores one shape to the end.

use crate::{
    flaw::Flaw,
    model::Model,
    news::News,
    shape::{Law, Shape},
    step::Step,
    story::Story,
    world::World,
};
use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model as _};
use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

/// What came of it.
#[derive(Debug)]
pub(crate) struct Outcome {
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

impl Outcome {
    /// Whether the shape came out as its law says.
    pub(crate) fn is_as_it_must_be(&self, law: Law) -> bool {
        match law {
            Law::Kept(_) => self.broken.is_none() && self.missing.is_empty(),
            Law::Broken(flaw) => {
                let broken = self.broken.as_ref();
                broken.is_some_and(|(property, _)| *property == flaw.property())
            }
        }
    }
}

/// Explores, and tells from time to time how far it has come.
pub(crate) fn explore(shape: &'static Shape, progress: impl FnMut(usize, usize)) -> Outcome {
    match shape.law {
        // Depth first needs little memory, whatever the size.
        Law::Kept(_) => watch(shape, builder(shape).spawn_dfs(), progress),
        // Breadth first finds what must be there soon, by a short way.
        Law::Broken(_) => watch(shape, builder(shape).spawn_bfs(), progress),
    }
}

/// Looks for the shortest way to a broken promise, where a longer one is known; none if it is too far.
pub(crate) fn shortest(shape: &'static Shape) -> Option<Vec<Step>> {
    let builder = builder(shape).target_state_count(SHORT);
    let outcome = watch(shape, builder.spawn_bfs(), |_, _| {});
    outcome.broken.map(|(_, steps)| steps)
}

fn builder(shape: &'static Shape) -> CheckerBuilder<Model> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let builder = Model { shape }.checker().threads(threads);
    // What happens sometimes is no reason to stop.
    builder.finish_when(HasDiscoveries::AnyFailures)
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long it took is told to people, and decides nothing"
)]
fn watch(
    shape: &'static Shape,
    checker: impl Checker<Model>,
    mut progress: impl FnMut(usize, usize),
) -> Outcome {
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
    let broken = Flaw::ALL.iter().find_map(|flaw| {
        let path = found.get(flaw.property())?;
        Some((flaw.property(), path.clone().into_actions()))
    });
    let wanted: &[News] = match shape.law {
        Law::Kept(news) => news,
        Law::Broken(_) => &[],
    };
    let known: BTreeSet<&str> = found.keys().copied().collect();
    let missing = wanted.iter().map(|news| news.name());
    Outcome {
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        depth: checker.max_depth(),
        took,
        broken,
        missing: missing.filter(|name| !known.contains(name)).collect(),
    }
}

/// Tells what happened on the way.
pub(crate) fn retell(shape: &'static Shape, steps: &[Step]) -> Vec<String> {
    let model = Model { shape };
    let mut story = Story::Told(Vec::new());
    let mut world = World::new(shape);
    for step in steps {
        world = model.after(&world, *step, &mut story);
    }
    match story {
        Story::Told(lines) => lines,
        Story::Untold => Vec::new(),
    }
}

/// How many states are worth a short story.
const SHORT: usize = 3_000_000;
const LOOK: Duration = Duration::from_millis(10);
const TELL: Duration = Duration::from_secs(10);
