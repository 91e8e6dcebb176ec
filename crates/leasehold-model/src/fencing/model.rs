//! The worlds and steps as the checker wants them.

use super::{
    flaw::Flaw,
    news::News,
    shape::{Law, Shape},
    step::Step,
    world::World,
};
use crate::story::Story;
use stateright::Property;

/// One shape, to be explored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) shape: &'static Shape,
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
        let mut next = world.clone();
        next.take(self.shape, step, &mut Story::Untold)
            .then_some(next)
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
        Flaw::Twins => |_, world| world.flaw != Some(Flaw::Twins),
        Flaw::Time => |_, world| world.flaw != Some(Flaw::Time),
        Flaw::Node => |_, world| world.flaw != Some(Flaw::Node),
    }
}

/// That something is so.
fn heard(news: News) -> Condition {
    match news {
        News::AllDecided => |_, world| News::AllDecided.is_in(world),
        News::Raised => |_, world| News::Raised.is_in(world),
        News::Late => |_, world| News::Late.is_in(world),
        News::RaiseRefused => |_, world| News::RaiseRefused.is_in(world),
        News::ClockBehind => |_, world| News::ClockBehind.is_in(world),
        News::SetAgain => |_, world| News::SetAgain.is_in(world),
    }
}
