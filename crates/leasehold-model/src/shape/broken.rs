//! Controls: worlds in which an assumption is broken. The checker must find what follows from it.

use super::{
    Habit, Law, Newcomer, Rule, Shape,
    lawful::{BOTH, NEWCOMER, NO_FAULTS, OTHER, PERMIT, PLAIN, slow},
};
use crate::{clock::Rate, flaw::Flaw, world::Faults};

pub(super) static CONTROLS: [Shape; 8] = [
    Shape {
        name: "forgets",
        about: "control: a node forgets its keys and votes again",
        faults: Faults {
            losses: 1,
            ..slow(1)
        },
        law: Law::Broken(Flaw::Exclusion),
        ..PLAIN
    },
    Shape {
        name: "foreigner",
        about: "control: somebody deletes a key without looking whose it is",
        faults: Faults {
            deletes: 1,
            ..slow(1)
        },
        law: Law::Broken(Flaw::Exclusion),
        ..PLAIN
    },
    Shape {
        name: "fast-clock",
        about: "control: one node's clock runs faster than the drift allowance permits",
        rates: (Rate::TOO_FAST, Rate::TRUE),
        faults: slow(1),
        law: Law::Broken(Flaw::Exclusion),
        ..PLAIN
    },
    Shape {
        name: "counting",
        about: "control: nodes count who has permits, and do not look at slots",
        clients: &[PERMIT; 3],
        horizon: 4,
        rule: Rule::Counts,
        law: Law::Broken(Flaw::Count),
        ..PLAIN
    },
    Shape {
        name: "in-part",
        about: "control: of two names nodes grant the one that is free, and leave out the other",
        clients: &[BOTH, Habit::ONCE, OTHER],
        horizon: 4,
        rule: Rule::InPart,
        law: Law::Broken(Flaw::Exclusion),
        ..PLAIN
    },
    Shape {
        name: "hasty",
        about: "control: a node that takes the place of another votes as soon as the others were told",
        clients: &[Habit::ONCE, NEWCOMER],
        horizon: 6,
        faults: slow(1),
        newcomer: Some(Newcomer::VotesAtOnce),
        law: Law::Broken(Flaw::Exclusion),
        ..PLAIN
    },
    Shape {
        name: "early",
        about: "control: it waits for as long as it must, but not from the time on when the others were told",
        clients: &[Habit::ONCE, NEWCOMER],
        horizon: 6,
        faults: slow(1),
        newcomer: Some(Newcomer::WaitsTooEarly),
        law: Law::Broken(Flaw::Exclusion),
        ..PLAIN
    },
    Shape {
        name: "ghost",
        about: "control: a request is carried out after its link has given it up",
        faults: Faults {
            breaks: 1,
            ..NO_FAULTS
        },
        is_haunted: true,
        law: Law::Broken(Flaw::Rest),
        ..PLAIN
    },
];
