//! The worlds and steps as the checker wants them.

use crate::{
    flaw::Flaw,
    news::News,
    shape::{Law, Shape},
    step::Step,
    story::Story,
    world::World,
};
use stateright::Property;
use std::{
    cell::Cell,
    panic::{self, AssertUnwindSafe, catch_unwind},
};

thread_local! {
    /// Whether a panic of this thread is told as a flaw.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Panics of the engine are told in the table, with the way there; others where they happen.
pub(crate) fn quieten_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !IS_CAUGHT.get() {
            usual(info);
        }
    }));
}

/// One shape, to be explored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) shape: &'static Shape,
}

impl Model {
    /// The world after a step. An assertion of the engine that fails is a flaw like any other.
    pub(crate) fn after(&self, world: &World, step: Step, story: &mut Story) -> World {
        IS_CAUGHT.set(true);
        let taken = catch_unwind(AssertUnwindSafe(|| {
            let mut next = world.clone();
            next.take(self.shape, step, story);
            next
        }));
        IS_CAUGHT.set(false);
        taken.unwrap_or_else(|_| {
            let mut next = world.clone();
            next.fail(self.shape, Flaw::Assertion, story, || {
                "the engine panicked".to_owned()
            });
            next
        })
    }
}

impl stateright::Model for Model {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.shape)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        Step::all(self.shape, world, steps);
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        Some(self.after(world, step, &mut Story::Untold))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let always = Flaw::ALL
            .iter()
            .map(|flaw| Property::always(flaw.property(), never(*flaw)));
        let sometimes: &[News] = match self.shape.law {
            Law::Kept(news) => news,
            Law::Broken(_) => &[],
        };
        let sometimes = sometimes
            .iter()
            .map(|news| Property::sometimes(news.name(), heard(*news)));
        always.chain(sometimes).collect()
    }
}

type Condition = fn(&Model, &World) -> bool;

/// That a flaw is not there. One function for each: a property cannot carry a value.
fn never(flaw: Flaw) -> Condition {
    match flaw {
        Flaw::Exclusion => |_, world| world.flaw != Some(Flaw::Exclusion),
        Flaw::Count => |_, world| world.flaw != Some(Flaw::Count),
        Flaw::Standing => |_, world| world.flaw != Some(Flaw::Standing),
        Flaw::Late => |_, world| world.flaw != Some(Flaw::Late),
        Flaw::Extension => |_, world| world.flaw != Some(Flaw::Extension),
        Flaw::Owner => |_, world| world.flaw != Some(Flaw::Owner),
        Flaw::Release => |_, world| world.flaw != Some(Flaw::Release),
        Flaw::End => |_, world| world.flaw != Some(Flaw::End),
        Flaw::Rest => |_, world| world.flaw != Some(Flaw::Rest),
        Flaw::Assertion => |_, world| world.flaw != Some(Flaw::Assertion),
    }
}

/// That the last step brought something about.
fn heard(news: News) -> Condition {
    match news {
        News::Acquired => |_, world| world.tidings.tell_of(News::Acquired),
        News::AcquiredAgain => |_, world| world.tidings.tell_of(News::AcquiredAgain),
        News::Succeeded => |_, world| world.tidings.tell_of(News::Succeeded),
        News::Split => |_, world| world.tidings.tell_of(News::Split),
        News::TooLate => |_, world| world.tidings.tell_of(News::TooLate),
        News::Unreachable => |_, world| world.tidings.tell_of(News::Unreachable),
        News::Cancelled => |_, world| world.tidings.tell_of(News::Cancelled),
        News::Extended => |_, world| world.tidings.tell_of(News::Extended),
        News::ExtensionFailed => |_, world| world.tidings.tell_of(News::ExtensionFailed),
        News::ExtensionLate => |_, world| world.tidings.tell_of(News::ExtensionLate),
        News::Straggler => |_, world| world.tidings.tell_of(News::Straggler),
        News::Queued => |_, world| world.tidings.tell_of(News::Queued),
        News::ReadTogether => |_, world| world.tidings.tell_of(News::ReadTogether),
        News::PermitsTogether => |_, world| world.tidings.tell_of(News::PermitsTogether),
        News::Apart => |_, world| world.tidings.tell_of(News::Apart),
        News::TakenBack => |_, world| world.tidings.tell_of(News::TakenBack),
        News::Released => |_, world| world.tidings.tell_of(News::Released),
        News::ReleaseUnknown => |_, world| world.tidings.tell_of(News::ReleaseUnknown),
        News::ReleasedAgain => |_, world| world.tidings.tell_of(News::ReleasedAgain),
        News::Learned => |_, world| world.tidings.tell_of(News::Learned),
        News::NewcomerGranted => |_, world| world.tidings.tell_of(News::NewcomerGranted),
        News::Ended => |_, world| world.tidings.tell_of(News::Ended),
    }
}
