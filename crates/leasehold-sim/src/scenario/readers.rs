//! Worlds in which some read a name, and some have it for themselves.

use super::{
    Law, Scenario, fair, guarded,
    lawful::{client_crash, lawful, lawless, pause, renews},
};
use crate::{
    check::Property,
    course::Course,
    fault::Kind,
    node::broken::Sharing,
    rng::Rng,
    setting::Setting,
    time::{MILLISECOND, SECOND},
};

pub(super) static ALL: [Scenario; 8] = [
    lawful("readers", "readers and writers, who wait in turn", readers),
    lawful(
        "readers-troubled",
        "readers and writers while nodes and processes come and go",
        troubled,
    ),
    lawful(
        "readers-lawless",
        "readers and writers on a lawless network",
        readers_lawless,
    ),
    lawful(
        "readers-repair",
        "shares that nodes lose, and are given again",
        repair,
    ),
    lawful(
        "readers-downgrade",
        "writers that read on, and shares that are handed over",
        downgrade,
    ),
    lawful(
        "readers-guarded",
        "guarded-mix, with some who read",
        |setting, rng| {
            guarded::mix(setting, rng);
            setting.is_fenced = true;
            fair::some_queue(setting, rng);
            mix(setting, rng);
        },
    ),
    control(
        "control-readers-together",
        "the first reader that is done releases all",
        |setting, rng| {
            long(setting, rng);
            setting.sharing = Sharing::Together;
        },
    ),
    control(
        "control-readers-apart",
        "nodes do not look for readers when somebody writes",
        |setting, rng| {
            long(setting, rng);
            setting.sharing = Sharing::Apart;
        },
    ),
];

const fn control(
    name: &'static str,
    about: &'static str,
    arrange: fn(&mut Setting, &mut Rng),
) -> Scenario {
    Scenario {
        name,
        about,
        law: Law::Broken(Property::Exclusion),
        arrange,
    }
}

/// Clients may die or give up while they wait; every message is delayed, and arrives.
fn readers(setting: &mut Setting, rng: &mut Rng) {
    fair::fair(setting, rng);
    mix(setting, rng);
}

/// Many read, or many write.
fn mix(setting: &mut Setting, rng: &mut Rng) {
    setting.habits.reads = rng.pick(&[200_000, 500_000, 900_000]);
}

/// Leases that are held for a while, and extended.
fn long(setting: &mut Setting, rng: &mut Rng) {
    fair::queue(setting, rng);
    mix(setting, rng);
    renews(setting, rng);
    setting.course = Course::short(rng.pick(&[4, 8, 14]) * SECOND);
    setting.habits.hold_ns = (0, setting.ttl_ns * rng.pick(&[1, 2, 4]) / 2);
    setting.habits.idle_ns = setting.ttl_ns / 4;
}

fn troubled(setting: &mut Setting, rng: &mut Rng) {
    long(setting, rng);
    setting.links.ghosts = rng.coin();
    setting.habits.several = rng.pick(&[0, 0, 200_000]);
    setting.habits.hands_over = rng.pick(&[0, 200_000]);
    setting.habits.downgrades = rng.pick(&[0, 500_000]);
    setting.waits.lost = rng.pick(&[0, 100_000, 1_000_000]);
    setting.foreign_type = rng.chance(200_000);
    for (kind, least_ns) in [
        (Kind::Crash, SECOND / 2),
        (Kind::Break, SECOND / 4),
        (Kind::Partition, SECOND / 2),
        (Kind::Hang, SECOND / 2),
        (Kind::Pause, SECOND / 2),
        (Kind::Die, SECOND / 2),
        (Kind::ForeignLock, SECOND / 2),
    ] {
        if rng.coin() {
            setting.add(rng, kind, least_ns, 4 * SECOND);
        }
    }
}

fn readers_lawless(setting: &mut Setting, rng: &mut Rng) {
    long(setting, rng);
    setting.habits.hands_over = rng.pick(&[0, 300_000]);
    setting.habits.downgrades = rng.pick(&[0, 500_000]);
    lawless(setting, rng);
    for fault in [client_crash, pause, renews] {
        if rng.coin() {
            fault(setting, rng);
        }
    }
}

/// A node that has lost a share gets it again, or the name is another's by then.
fn repair(setting: &mut Setting, rng: &mut Rng) {
    long(setting, rng);
    super::lawful::repair(setting, rng);
    setting.habits.hold_ns = (setting.ttl_ns, setting.ttl_ns * 4);
}

/// Some shares are left to all, who extend and release them by their owners alone.
fn downgrade(setting: &mut Setting, rng: &mut Rng) {
    long(setting, rng);
    super::lawful::hand_over(setting, rng);
    setting.habits.hands_over = rng.pick(&[300_000, 900_000]);
    setting.habits.downgrades = rng.pick(&[300_000, 700_000, 1_000_000]);
    setting.habits.detaches = rng.pick(&[0, 0, 200_000]);
    setting.habits.idle_ns = rng.pick(&[10, 200]) * MILLISECOND;
}
