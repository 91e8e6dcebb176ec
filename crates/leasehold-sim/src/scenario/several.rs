//! Worlds in which names are locked together, by sets that overlap.

use super::{
    Law, Scenario,
    lawful::{client_crash, lawful, lawless, pause, renews},
};
use crate::{
    check::Property, course::Course, fault::Kind, rng::Rng, setting::Setting, time::SECOND,
};

pub(super) static ALL: [Scenario; 5] = [
    lawful("several", "sets of names that overlap", several),
    lawful(
        "several-troubled",
        "sets of names while nodes and processes come and go",
        troubled,
    ),
    lawful(
        "several-repair",
        "sets of names of which nodes lose one",
        repair,
    ),
    lawful(
        "several-lawless",
        "sets of names on a lawless network",
        several_lawless,
    ),
    Scenario {
        name: "control-several",
        about: "nodes take the first of the names and grant all",
        law: Law::Broken(Property::Exclusion),
        arrange: divided,
    },
];

/// Some want one of the names, and most want two or three of them.
fn several(setting: &mut Setting, rng: &mut Rng) {
    setting.resources = rng.pick(&[2, 3, 4]);
    setting.habits.several = rng.pick(&[300_000, 700_000, 1_000_000]);
    setting.clients = rng.pick(&[2, 3, 4]);
    setting.slots = rng.pick(&[1, 2]);
    setting.course = Course::short(rng.pick(&[4, 6, 14]) * SECOND);
    setting.habits.idle_ns = setting.ttl_ns / 2;
    setting.habits.hands_over = rng.pick(&[0, 0, 200_000]);
    if rng.coin() {
        renews(setting, rng);
        setting.habits.hold_ns = (0, setting.ttl_ns);
    }
}

fn troubled(setting: &mut Setting, rng: &mut Rng) {
    several(setting, rng);
    setting.links.ghosts = rng.coin();
    for (kind, least_ns) in [
        (Kind::Crash, SECOND / 2),
        (Kind::Break, SECOND / 4),
        (Kind::Partition, SECOND / 2),
        (Kind::Pause, SECOND / 2),
        (Kind::Die, SECOND / 2),
    ] {
        if rng.coin() {
            setting.add(rng, kind, least_ns, 4 * SECOND);
        }
    }
}

/// A node that has lost a name of several gets it again, or it is another's by then.
fn repair(setting: &mut Setting, rng: &mut Rng) {
    several(setting, rng);
    renews(setting, rng);
    super::lawful::repair(setting, rng);
    setting.habits.hold_ns = (setting.ttl_ns, setting.ttl_ns * 4);
}

fn several_lawless(setting: &mut Setting, rng: &mut Rng) {
    several(setting, rng);
    lawless(setting, rng);
    for fault in [client_crash, pause, renews] {
        if rng.coin() {
            fault(setting, rng);
        }
    }
}

/// The checkers must see who holds a name under another set.
fn divided(setting: &mut Setting, rng: &mut Rng) {
    several(setting, rng);
    setting.divides = true;
}
