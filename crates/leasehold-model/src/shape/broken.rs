//! Controls: worlds in which an assumption is broken. The checker must find what follows from it.

use super::{
    Law, Shape,
    lawful::{NO_FAULTS, PERMIT, PLAIN, slow},
};
use crate::{clock::Rate, flaw::Flaw, world::Faults};

pub(super) static CONTROLS: [Shape; 5] = [
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
        counts: true,
        law: Law::Broken(Flaw::Count),
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
