//! Worlds in which names have permits, which so many can have at once, and some want the name itself, or read it.

use super::{
    Law, Scenario, fair, guarded,
    lawful::{client_crash, lawful, lawless, pause, renews},
};
use crate::{
    check::Property,
    course::Course,
    fault::Kind,
    node::broken::Sharing,
    rng::{Ppm, Rng},
    setting::Setting,
    time::{MILLISECOND, SECOND},
    waits::ALL as EVERY,
};

pub(super) static ALL: [Scenario; 10] = [
    lawful(
        "permits",
        "permits, and names and shares beside them",
        permits,
    ),
    lawful(
        "permits-unqueued",
        "permits, without queues on the nodes",
        unqueued,
    ),
    lawful(
        "permits-troubled",
        "permits while nodes and processes come and go",
        troubled,
    ),
    lawful(
        "permits-lawless",
        "permits on a lawless network",
        permits_lawless,
    ),
    lawful(
        "permits-repair",
        "permits that nodes lose, and are given again",
        repair,
    ),
    lawful(
        "permits-guarded",
        "guarded-mix, with permits",
        |setting, rng| {
            guarded::mix(setting, rng);
            fair::some_queue(setting, rng);
            mix(setting, rng);
        },
    ),
    lawful(
        "parts-together",
        "many parts of a name, whose requests leave together",
        together,
    ),
    control(
        "control-permits-counted",
        "nodes count permits, and do not look at slots",
        Property::Count,
        counted,
    ),
    control(
        "control-permits-apart",
        "nodes do not look for permits of another number",
        Property::Exclusion,
        |setting, rng| {
            long(setting, rng);
            setting.sharing = Sharing::ByNumber;
            setting.habits.misled = 500_000;
        },
    ),
    control(
        "control-permits-by-slot",
        "nodes free a slot for whoever releases it",
        Property::Exclusion,
        |setting, rng| {
            long(setting, rng);
            setting.sharing = Sharing::BySlot;
        },
    ),
];

const fn control(
    name: &'static str,
    about: &'static str,
    property: Property,
    arrange: fn(&mut Setting, &mut Rng),
) -> Scenario {
    Scenario {
        name,
        about,
        law: Law::Broken(property),
        arrange,
    }
}

/// Clients may die or give up while they wait; every message is delayed, and arrives.
fn permits(setting: &mut Setting, rng: &mut Rng) {
    fair::fair(setting, rng);
    mix(setting, rng);
}

/// Few permits or many, and seldom something else of the same name.
fn mix(setting: &mut Setting, rng: &mut Rng) {
    setting.permits = rng.pick(&[1, 2, 2, 3, 5]);
    setting.habits.permits = rng.pick(&[600_000, 950_000, EVERYBODY]);
    setting.habits.reads = rng.pick(&[0, 500_000]);
    setting.habits.misled = rng.pick(&[0, 0, 20_000]);
}

fn unqueued(setting: &mut Setting, rng: &mut Rng) {
    fair::queue(setting, rng);
    mix(setting, rng);
    // Who reads queues in any case.
    setting.habits.reads = 0;
    setting.waits.fair = rng.pick(&[0, 0, 0b0101]);
    setting.is_fenced = rng.coin();
    setting.tries = rng.pick(&[None, None, Some(1), Some(8)]);
    setting.slots = rng.pick(&[1, 2]);
    setting.pause_ns.1 = setting.pause_ns.1.max(60 * MILLISECOND);
    setting.habits.idle_ns = setting.habits.idle_ns.max(20 * MILLISECOND);
    setting.habits.hold_ns = (0, setting.ttl_ns * rng.pick(&[1, 2, 4]) / 4);
    setting.add(rng, Kind::Die, SECOND, 4 * SECOND);
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
    setting.waits.fair = rng.pick(&[EVERY, EVERY, 0b0101, 0]);
    setting.links.ghosts = rng.coin();
    setting.habits.several = rng.pick(&[0, 0, 200_000]);
    setting.habits.hands_over = rng.pick(&[0, 200_000]);
    setting.habits.detaches = rng.pick(&[0, 0, 200_000]);
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

fn permits_lawless(setting: &mut Setting, rng: &mut Rng) {
    long(setting, rng);
    setting.waits.fair = rng.pick(&[EVERY, 0b0101, 0]);
    setting.habits.hands_over = rng.pick(&[0, 300_000]);
    lawless(setting, rng);
    for fault in [client_crash, pause, renews] {
        if rng.coin() {
            fault(setting, rng);
        }
    }
}

/// A node that has lost a permit gets it again, or its slot is another's by then.
fn repair(setting: &mut Setting, rng: &mut Rng) {
    long(setting, rng);
    super::lawful::repair(setting, rng);
    setting.habits.hold_ns = (setting.ttl_ns, setting.ttl_ns * 4);
}

/// Few processes with many callers of a name. Their requests for its parts wait until a node goes on, or arrive behind one that
/// was slow.
fn together(setting: &mut Setting, rng: &mut Rng) {
    fair::queue(setting, rng);
    setting.clients = rng.pick(&[2, 3]);
    setting.slots = rng.pick(&[3, 4, 8]);
    setting.resources = 1;
    setting.permits = rng.pick(&[2, 3, 5]);
    setting.habits.permits = rng.pick(&[0, 500_000, EVERYBODY]);
    setting.habits.reads = rng.pick(&[500_000, EVERYBODY]);
    setting.habits.idle_ns = rng.pick(&[1, 10, 100]) * MILLISECOND;
    setting.waits.fair = rng.pick(&[EVERY, 0b0101]);
    setting.links.delay_ns.1 = rng.pick(&[2, 20]) * MILLISECOND;
    setting.links.loss = rng.pick(&[0, 5_000]);
    setting.links.lost_replies = rng.pick(&[0, 5_000]);
    setting.links.ghosts = rng.coin();
    setting.add(rng, Kind::Hang, SECOND / 4, SECOND);
}

/// Three want two permits, and meet.
fn counted(setting: &mut Setting, rng: &mut Rng) {
    long(setting, rng);
    setting.is_fenced = false;
    setting.nodes = 3;
    setting.waits.fair = 0;
    setting.permits = 2;
    setting.habits.permits = EVERYBODY;
    setting.habits.misled = 0;
    setting.sharing = Sharing::Counted;
}

/// In millionths.
const EVERYBODY: Ppm = 1_000_000;
