//! Explores one shape to the end.

use super::{
    flaw::Flaw,
    model::Model,
    news::News,
    shape::{Law, Shape},
    step::Step,
    world::World,
};
use crate::{
    search::{self, Outcome},
    story::Story,
};
use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model as _};
use std::thread;

/// Explores, and tells from time to time how far it has come.
pub(crate) fn explore(shape: &'static Shape, progress: impl FnMut(usize, usize)) -> Outcome<Step> {
    match shape.law {
        Law::Kept(news) => {
            let threads = thread::available_parallelism().map_or(1, usize::from);
            // Depth first needs little memory, whatever the size.
            let checker = builder(shape).threads(threads).spawn_dfs();
            watch(checker, news, progress)
        }
        Law::Broken(_) => {
            let mut outcome = watch(by_breadth(shape).spawn_bfs(), &[], progress);
            outcome.broken = shortest(shape, outcome.broken);
            outcome
        }
    }
}

/// The shortest way to a broken promise, where one is known. The checker notices that it has found one only after
/// some hundred further worlds, of which the last that breaks counts: so it is asked for a shorter one until
/// there is none.
pub(crate) fn shortest(shape: &'static Shape, known: Option<Broken>) -> Option<Broken> {
    let mut best = known?;
    loop {
        // Worlds at this depth, counted from 1, are not looked at any more.
        let builder = by_breadth(shape).target_max_depth(best.1.len() + 1);
        match watch(builder.spawn_bfs(), &[], |_, _| {}).broken {
            Some(shorter) => best = shorter,
            None => return Some(best),
        }
    }
}

/// The promise that is broken, and the way there.
type Broken = (&'static str, Vec<Step>);

/// Breadth first with one thread: a short way, and the same every time.
fn by_breadth(shape: &'static Shape) -> CheckerBuilder<Model> {
    builder(shape).threads(1).target_state_count(SHORT)
}

fn builder(shape: &'static Shape) -> CheckerBuilder<Model> {
    let builder = Model { shape }.checker();
    // What happens sometimes is no reason to stop.
    builder.finish_when(HasDiscoveries::AnyFailures)
}

fn watch(
    checker: impl Checker<Model>,
    news: &[News],
    progress: impl FnMut(usize, usize),
) -> Outcome<Step> {
    let always = Flaw::ALL.iter().map(|flaw| flaw.property());
    search::watch(
        checker,
        always,
        news.iter().map(|news| news.name()),
        progress,
    )
}

/// Tells what happened on the way, line by line.
pub(crate) fn retell(shape: &Shape, steps: &[Step]) -> Vec<String> {
    let mut story = Story::Told(Vec::new());
    let mut world = World::new(shape);
    for step in steps {
        world.take(shape, *step, &mut story);
    }
    match story {
        Story::Told(lines) => lines,
        Story::Untold => Vec::new(),
    }
}

/// How many states are worth a short story.
const SHORT: usize = 3_000_000;
