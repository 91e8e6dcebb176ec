//! Worlds that are about waiting: queues within a process, and hints between processes.

use super::{
    Scenario,
    lawful::{client_crash, lawful, lawless, pause, renews},
};
use crate::{
    fault::Kind,
    rng::Rng,
    setting::Setting,
    time::{MILLISECOND, SECOND},
    waits::ALL as EVERY,
};

pub(super) static ALL: [Scenario; 4] = [
    lawful(
        "waiting",
        "long holds, and many who are told of changes",
        waiting,
    ),
    lawful(
        "unheard",
        "hints are lost, and nodes forget whom to tell",
        unheard,
    ),
    lawful("herd", "many callers in few processes", herd),
    lawful(
        "waiting-lawless",
        "waiting on a lawless network, with crashes",
        waiting_lawless,
    ),
];

/// Whoever waits has nothing but the hints, but for the rare look at the clock.
fn waiting(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting, rng);
    renews(setting, rng);
    setting.margin_ns = 0;
    setting.habits.hold_ns = (setting.ttl_ns / 4, setting.ttl_ns * 2);
    setting.waits.tells = EVERY;
    (setting.waits.lost, setting.waits.spurious) = (0, 0);
    match rng.below(4) {
        0 => setting.add(rng, Kind::Break, SECOND / 4, 4 * SECOND),
        1 => setting.add(rng, Kind::Die, SECOND, 4 * SECOND),
        _ => setting.waits.is_prompt = true,
    }
}

/// The clock stands behind every hint.
fn unheard(setting: &mut Setting, rng: &mut Rng) {
    waiting(setting, rng);
    setting.waits.is_prompt = false;
    setting.waits.lost = rng.pick(&[100_000, 500_000, 1_000_000]);
    setting.waits.spurious = rng.pick(&[0, 20_000]);
    if rng.coin() {
        setting.add(rng, Kind::Crash, SECOND, 4 * SECOND);
    }
}

/// Short holds, and everybody comes back at once: who has its turn when?
fn herd(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting, rng);
    setting.clients = rng.pick(&[2, 3, 4]);
    setting.slots = rng.pick(&[2, 3, 5]);
    setting.ttl_ns = setting.ttl_ns.max(SECOND);
    setting.habits.hold_ns = (0, rng.pick(&[10, 50, 200]) * MILLISECOND);
    setting.habits.idle_ns = rng.pick(&[10, 100]) * MILLISECOND;
    setting.habits.cancels = rng.pick(&[0, 100_000, 500_000]);
    setting.habits.patience = rng.pick(&[0, 200_000, 700_000]);
    setting.waits.queues = EVERY;
    setting.waits.tells = EVERY;
    setting.waits.lost = 0;
    // Others are given a chance of two milliseconds: over longer ways they come too late for it. And a process that does
    // not know of others may have 32 turns in a row: with long holds, three of them take longer than is judged here.
    let is_short = setting.links.delay_ns.1 < MILLISECOND / 2;
    if rng.coin() && is_short && setting.habits.hold_ns.1 <= 50 * MILLISECOND {
        setting.waits.longest_ns = Some(LONGEST_NS);
    } else {
        setting.add(rng, Kind::Die, SECOND, 4 * SECOND);
        setting.add(rng, Kind::Pause, SECOND / 2, 2 * SECOND);
    }
}

fn waiting_lawless(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting, rng);
    lawless(setting, rng);
    for fault in [client_crash, pause, renews] {
        if rng.coin() {
            fault(setting, rng);
        }
    }
    if rng.coin() {
        setting.add(rng, Kind::Crash, SECOND / 2, 4 * SECOND);
    }
}

/// Many want the same, and will wait for it.
fn crowd(setting: &mut Setting, rng: &mut Rng) {
    setting.clients = rng.pick(&[2, 4, 6]);
    setting.slots = rng.pick(&[1, 2, 4]);
    setting.resources = rng.pick(&[1, 1, 1, 2]);
    setting.tries = rng.pick(&[None, None, None, Some(32)]);
    setting.pause_ns = (10 * MILLISECOND, rng.pick(&[20, 60]) * MILLISECOND);
    setting.habits.idle_ns = setting.ttl_ns / 8;
}

/// After how long everybody has had its turn who waits while nothing goes wrong.
const LONGEST_NS: u64 = 10 * SECOND;
