//! Worlds in which operators take locks away from those who hold them, while nodes are down: the holders are told in time.

use super::{
    Law, Scenario,
    lawful::{lawful, renews},
};
use crate::{
    check::Property,
    fault::Kind,
    rng::Rng,
    setting::{Crash, Keeps, Setting},
    waits::ALL as EVERY,
};

pub(super) static ALL: [Scenario; 3] = [
    lawful(
        "taken-away",
        "locks are taken away by force while nodes are down",
        taken_away,
    ),
    lawful(
        "taken-away-parts",
        "the same, of sets of names, shares and permits",
        parts,
    ),
    Scenario {
        name: "control-taken-away",
        about: "nodes say yes to extensions of what is gone",
        law: Law::Broken(Property::Loss),
        arrange: blind,
    },
];

/// Leases are held for long and extend themselves. A node that crashes knows all afterwards, and is away for as long as a
/// lease lasts: for so long its silence must hide nothing.
fn taken_away(setting: &mut Setting, rng: &mut Rng) {
    setting.nodes = rng.pick(&[3, 3, 4, 5, 5]);
    renews(setting, rng);
    setting.habits.hold_ns = (setting.ttl_ns, setting.ttl_ns * 4);
    setting.habits.idle_ns = setting.ttl_ns / 4;
    let ttl_ns = setting.ttl_ns;
    setting.add(rng, Kind::TakeAway, ttl_ns / 2, ttl_ns * 2);
    setting.add(rng, Kind::Crash, ttl_ns, ttl_ns * 3);
    setting.crash = Crash {
        keeps: Keeps::All,
        delayed: true,
        may_miss_log: false,
    };
    for kind in [Kind::Hang, Kind::Partition] {
        if rng.coin() {
            setting.add(rng, kind, ttl_ns, ttl_ns * 4);
        }
    }
}

fn parts(setting: &mut Setting, rng: &mut Rng) {
    taken_away(setting, rng);
    setting.resources = rng.pick(&[2, 3]);
    setting.habits.several = rng.pick(&[0, 500_000]);
    setting.habits.reads = rng.pick(&[0, 500_000, 900_000]);
    setting.habits.permits = rng.pick(&[0, 500_000]);
    setting.permits = rng.pick(&[1, 2, 3]);
    // A queue is text that every vote reads: few wait, and they do not ask all the time.
    setting.slots = 1;
    setting.pause_ns = (setting.ttl_ns / 8, setting.ttl_ns / 2);
    // Who reads queues in any case.
    (setting.is_fenced, setting.waits.fair) = (true, EVERY);
}

/// Who asks whether the key is there is told that it is.
fn blind(setting: &mut Setting, rng: &mut Rng) {
    taken_away(setting, rng);
    setting.extends_blindly = true;
}
