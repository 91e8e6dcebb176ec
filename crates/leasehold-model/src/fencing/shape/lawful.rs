//! Worlds in which tokens are made as the core makes them: nothing may break.

use super::{Budget, Law, Shape, Way};
use crate::fencing::news::News;

/// Explored always: some hundreds of thousands of states.
pub(super) static SMALL: [Shape; 2] = [
    Shape {
        name: "tokens",
        about: "two attempts on three nodes, and proposals in any order",
        ..PLAIN
    },
    Shape {
        name: "tokens-twice",
        about: "as tokens, but a request is carried out twice",
        proposals: 1..=2,
        budget: Budget {
            doubles: 1,
            ..vanish(3)
        },
        law: TWICE,
        ..PLAIN
    },
];

/// Explored when asked for: tens of millions of states.
pub(super) static LARGE: [Shape; 3] = [
    Shape {
        name: "tokens-3x3-large",
        about: "three attempts on three nodes",
        attempts: 3,
        proposals: 1..=2,
        budget: vanish(4),
        ..PLAIN
    },
    Shape {
        name: "tokens-5x2-large",
        about: "two attempts on five nodes",
        nodes: 5,
        proposals: 1..=3,
        budget: vanish(5),
        ..PLAIN
    },
    Shape {
        name: "tokens-twice-large",
        about: "as tokens-twice, but two requests are",
        proposals: 1..=2,
        budget: Budget {
            doubles: 2,
            ..vanish(3)
        },
        law: TWICE,
        ..PLAIN
    },
];

const TWICE: Law = Law::Kept(&[
    News::AllDecided,
    News::Raised,
    News::RaiseRefused,
    News::SetAgain,
]);

/// Two attempts on three nodes.
pub(super) const PLAIN: Shape = Shape {
    name: "",
    about: "",
    nodes: 3,
    attempts: 2,
    proposals: 1..=4,
    budget: vanish(3),
    way: Way::AsBuilt,
    law: Law::Kept(&[
        News::AllDecided,
        News::Raised,
        News::Late,
        News::RaiseRefused,
        News::ClockBehind,
    ]),
};

/// Nothing but keys that vanish, so many.
pub(super) const fn vanish(keys: u8) -> Budget {
    Budget {
        vanishings: keys,
        doubles: 0,
        losses: 0,
    }
}
