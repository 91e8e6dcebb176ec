//! Worlds in which those who wait queue on the nodes, and are served in the order of their tickets.

use super::{
    Law, Scenario,
    lawful::{client_crash, lawful, lawless, pause, renews},
};
use crate::{
    check::Property,
    course::Course,
    fault::Kind,
    rng::Rng,
    setting::Setting,
    time::{MILLISECOND, SECOND},
    waits::ALL as EVERY,
};

pub(super) static ALL: [Scenario; 4] = [
    lawful("fair", "fair locks, cancelled and killed waiters", fair),
    lawful(
        "fair-troubled",
        "fair locks while nodes and processes come and go",
        troubled,
    ),
    lawful(
        "fair-lawless",
        "fair locks on a lawless network, with crashes",
        fair_lawless,
    ),
    Scenario {
        name: "control-barge",
        about: "some clients do not queue where others do",
        law: Law::Broken(Property::Order),
        arrange: barge,
    },
];

/// Whoever waits may be killed or give up; messages take their time, but come.
pub(super) fn fair(setting: &mut Setting, rng: &mut Rng) {
    queue(setting, rng);
    setting.waits.most_overtaken = Some(MOST_OVERTAKEN);
    if rng.chance(250_000) {
        setting.waits.longest_ns = Some(LONGEST_NS);
        setting.course = Course::LONG;
    } else {
        setting.add(rng, Kind::Die, SECOND / 2, 2 * SECOND);
    }
}

/// What nodes do not hear, or do not tell, costs order and time, and nothing else.
fn troubled(setting: &mut Setting, rng: &mut Rng) {
    queue(setting, rng);
    renews(setting, rng);
    setting.course = Course::short(rng.pick(&[4, 8, 14]) * SECOND);
    setting.habits.hold_ns = (0, SECOND / 2);
    setting.waits.lost = rng.pick(&[0, 100_000, 1_000_000]);
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

fn fair_lawless(setting: &mut Setting, rng: &mut Rng) {
    queue(setting, rng);
    lawless(setting, rng);
    for fault in [client_crash, pause, renews] {
        if rng.coin() {
            fault(setting, rng);
        }
    }
}

/// The checker must see who is overtaken.
fn barge(setting: &mut Setting, rng: &mut Rng) {
    queue(setting, rng);
    setting.clients = 4;
    setting.waits.most_overtaken = Some(MOST_OVERTAKEN);
    setting.waits.fair = 0b0011;
}

/// Some clients queue on the nodes, and all of these wait. Where messages overtake each other, the place of a caller that
/// asks once may outlast it by the queue's three seconds; callers that do nothing else keep each other out for ever.
pub(super) fn some_queue(setting: &mut Setting, rng: &mut Rng) {
    setting.waits.fair = rng.pick(&[EVERY, EVERY, 0b0101, 0]);
    if setting.waits.fair != 0 {
        setting.tries = setting.tries.filter(|&tries| tries > 1);
    }
}

/// Short holds, and everybody comes back at once.
pub(super) fn queue(setting: &mut Setting, rng: &mut Rng) {
    setting.is_fenced = true;
    setting.clients = rng.pick(&[2, 4, 6]);
    setting.slots = rng.pick(&[1, 2, 4]);
    setting.resources = rng.pick(&[1, 1, 2]);
    setting.tries = None;
    setting.pause_ns = (10 * MILLISECOND, rng.pick(&[20, 60, 250]) * MILLISECOND);
    setting.ttl_ns = setting.ttl_ns.max(SECOND);
    setting.habits.hold_ns = (0, rng.pick(&[5, 50, 200]) * MILLISECOND);
    setting.habits.idle_ns = rng.pick(&[1, 10, 100]) * MILLISECOND;
    setting.habits.cancels = rng.pick(&[0, 100_000, 500_000]);
    setting.habits.patience = rng.pick(&[0, 200_000, 700_000]);
    setting.course = Course::short(rng.pick(&[3, 4, 8]) * SECOND);
    setting.waits.fair = EVERY;
    setting.waits.queues = rng.pick(&[EVERY, EVERY, 0]);
    setting.waits.tells = rng.pick(&[EVERY, EVERY, 0]);
    setting.waits.lost = 0;
}

/// How often somebody may be overtaken by those who came later, while nobody is cut off. Nothing promises it: it is what was
/// seen, twice in one of 3,000 worlds and once in others, and as much again. Whoever is first and gets fewer votes than a quorum
/// has lost its places on those nodes until it asks again.
const MOST_OVERTAKEN: u32 = 3;

/// After how long everybody has had its turn who waits while nothing goes wrong: two dozen callers, each for 200 ms.
const LONGEST_NS: u64 = 10 * SECOND;
