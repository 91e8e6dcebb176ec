//! Controls: worlds in which an assumption is broken. The checker must find what follows from it.

use super::{
    Law, Shape,
    lawful::{NO_FAULTS, PLAIN, slow},
};
use crate::{clock::Rate, flaw::Flaw, world::Faults};

pub(super) static CONTROLS: [Shape; 4] = [
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
