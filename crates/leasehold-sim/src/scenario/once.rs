//! Worlds in which some are done with what they had, and let nobody have it for a while.

use super::{
    Scenario,
    lawful::{client_crash, lawful, pause, renews},
};
use crate::{fault::Kind, rng::Rng, setting::Setting, time::SECOND};

pub(super) static ALL: [Scenario; 2] = [
    lawful("once", "work that is done, or fails", once),
    lawful(
        "once-troubled",
        "work that is done while nodes and processes come and go",
        troubled,
    ),
];

fn once(setting: &mut Setting, rng: &mut Rng) {
    setting.habits.keeps = rng.pick(&[200_000, 500_000, 900_000]);
    setting.habits.idle_ns = setting.ttl_ns / 2;
    setting.clients = rng.pick(&[2, 3, 5]);
    if rng.coin() {
        renews(setting, rng);
        setting.habits.hold_ns = (0, setting.ttl_ns * 2);
    }
}

/// No node forgets a key, and nobody takes one away.
fn troubled(setting: &mut Setting, rng: &mut Rng) {
    once(setting, rng);
    setting.links.ghosts = rng.coin();
    setting.foreign_type = rng.chance(200_000);
    for fault in [client_crash, pause] {
        if rng.coin() {
            fault(setting, rng);
        }
    }
    for (kind, least_ns) in [
        (Kind::Break, SECOND / 4),
        (Kind::Partition, SECOND / 2),
        (Kind::Hang, SECOND / 2),
        (Kind::Die, SECOND / 2),
    ] {
        if rng.coin() {
            setting.add(rng, kind, least_ns, 4 * SECOND);
        }
    }
}
