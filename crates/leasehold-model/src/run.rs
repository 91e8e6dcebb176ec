//! Explores one shape to the end.

use crate::{
    flaw::Flaw,
    model::Model,
    news::News,
    search::{self, Outcome},
    shape::{Law, Shape},
    step::Step,
    story::Story,
    world::World,
};
use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model as _};
use std::thread;

/// Explores, and tells from time to time how far it has come.
pub(crate) fn explore(shape: &'static Shape, progress: impl FnMut(usize, usize)) -> Outcome<Step> {
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

fn watch(
    shape: &'static Shape,
    checker: impl Checker<Model>,
    progress: impl FnMut(usize, usize),
) -> Outcome<Step> {
    let wanted: &[News] = match shape.law {
        Law::Kept(news) => news,
        Law::Broken(_) => &[],
    };
    let always = Flaw::ALL.iter().map(|flaw| flaw.property());
    search::watch(
        checker,
        always,
        wanted.iter().map(|news| news.name()),
        progress,
    )
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
