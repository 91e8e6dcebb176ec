//! Controls: tokens that are made in a way that does not work. The checker must find out why.

use super::{
    Budget, Law, Shape, Way,
    lawful::{PLAIN, vanish},
};
use crate::fencing::flaw::Flaw;

pub(super) static CONTROLS: [Shape; 7] = [
    Shape {
        name: "no-second-round",
        about: "control: the largest counter is used at once, whatever the other nodes have",
        proposals: 1..=1,
        way: Way::NoSecondRound,
        law: Law::Broken(Flaw::Twins),
        ..PLAIN
    },
    Shape {
        name: "raises-anybody",
        about: "control: a node raises its counter for one whose key is not there any more",
        proposals: 1..=2,
        way: Way::RaisesAnybody,
        law: Law::Broken(Flaw::Node),
        ..PLAIN
    },
    Shape {
        name: "median",
        about: "control: the token is the counter that a quorum has reached, not the largest",
        proposals: 1..=2,
        way: Way::Median,
        law: Law::Broken(Flaw::Twins),
        ..PLAIN
    },
    Shape {
        name: "time-alone",
        about: "control: the token is the time, by a clock that all share",
        way: Way::TimeAlone,
        law: Law::Broken(Flaw::Node),
        ..PLAIN
    },
    Shape {
        name: "counter-in-key",
        about: "control: the counter is part of the key, and ends with it",
        proposals: 1..=1,
        way: Way::CounterInKey,
        law: Law::Broken(Flaw::Twins),
        ..PLAIN
    },
    Shape {
        name: "forgets-counter",
        about: "control: a node restarts without its data, and votes again",
        proposals: 1..=1,
        budget: Budget {
            losses: 1,
            ..vanish(2)
        },
        law: Law::Broken(Flaw::Twins),
        ..PLAIN
    },
    Shape {
        name: "counts-beyond",
        about: "control: a node whose counter is beyond the token stands for it, and a request comes twice",
        proposals: 1..=2,
        budget: Budget {
            doubles: 1,
            ..vanish(3)
        },
        way: Way::CountsBeyond,
        law: Law::Broken(Flaw::Twins),
        ..PLAIN
    },
];
