//! Worlds in which every assumption holds.

use super::{Law, Scenario};
use crate::{
    course::Course,
    fault::Kind,
    rng::Rng,
    setting::{Crash, Keeps, Setting},
    time::{MILLISECOND, SECOND},
};
use leasehold_core::AutoRenewal;
use std::time::Duration;

/// From the quiet to the worst.
pub(super) static ALL: [Scenario; 32] = [
    lawful("calm", "nothing goes wrong", |_, _| {}),
    lawful("contention", "six clients want the same", contention),
    lawful("loss", "messages break their connections", loss),
    lawful(
        "reorder",
        "messages overtake each other, none is lost",
        reorder,
    ),
    lawful(
        "lawless",
        "messages are lost, doubled and overtaken",
        lawless,
    ),
    lawful("delay", "some messages take longer than the TTL", delay),
    lawful("partition", "directions are cut, one by one", partition),
    lawful(
        "lost-replies",
        "nodes act, and the answer is lost",
        lost_replies,
    ),
    lawful("ghosts", "dead connections still act, late", ghosts),
    lawful("hung", "nodes stop for a while, and go on", hung),
    lawful(
        "rejecting",
        "nodes refuse to act; links are full",
        rejecting,
    ),
    lawful("restart", "nodes crash, and know all afterwards", restart),
    lawful(
        "delayed-restart",
        "nodes forget, and stay away for the TTL",
        delayed_restart,
    ),
    lawful("pause", "processes stop, applications starve", pause),
    lawful(
        "client-crash",
        "processes die with leases in hand",
        client_crash,
    ),
    lawful("cancel", "callers give up all the time", cancel),
    lawful("suspend", "machines sleep; their clocks count on", suspend),
    lawful(
        "drift",
        "clocks differ by nearly the allowance, step back",
        drift,
    ),
    lawful(
        "foreign",
        "others use SET NX PX, and a key of another type",
        foreign,
    ),
    lawful(
        "extension",
        "leases are held for long, by extension",
        extension,
    ),
    lawful(
        "renewal",
        "leases extend themselves over bad links",
        renewal,
    ),
    lawful(
        "asleep",
        "self-extended leases; processes stop, machines sleep",
        asleep,
    ),
    lawful(
        "repair",
        "nodes forget, and are given the keys again",
        repair,
    ),
    lawful("limits", "leases that may live for so long only", limits),
    lawful("ttls", "extensions to longer and shorter TTLs", ttls),
    lawful("kept", "keys that stay after a short hold or a loss", kept),
    lawful(
        "hand-over",
        "leases go from process to process, texts are used twice",
        hand_over,
    ),
    lawful(
        "detached",
        "leases without a guard, extended and released by owner alone",
        detached,
    ),
    lawful(
        "together",
        "many locks at once, whose requests leave together",
        together,
    ),
    lawful("one-node", "a single node", one_node),
    lawful("even", "four nodes", even),
    lawful(
        "everything",
        "all of it, in a mix that the seed draws",
        everything,
    ),
];

pub(super) const fn lawful(
    name: &'static str,
    about: &'static str,
    arrange: fn(&mut Setting, &mut Rng),
) -> Scenario {
    Scenario {
        name,
        about,
        law: Law::Kept,
        arrange,
    }
}

pub(super) fn contention(setting: &mut Setting, _rng: &mut Rng) {
    setting.clients = 6;
    setting.resources = 1;
    setting.slots = 1;
    setting.tries = None;
    setting.pause_ns = (setting.ttl_ns / 32, setting.ttl_ns / 4);
    setting.habits.idle_ns = setting.ttl_ns / 32;
}

/// Some connections break, some nodes stop, and callers give up: then releases wait beside votes for other locks.
pub(super) fn together(setting: &mut Setting, rng: &mut Rng) {
    setting.resources = rng.pick(&[3, 6]);
    setting.slots = rng.pick(&[4, 8]);
    setting.course = Course::short(rng.pick(&[3, 4, 8]) * SECOND);
    setting.habits.idle_ns = setting.ttl_ns / 32;
    setting.habits.hold_ns = (MILLISECOND / 4, setting.ttl_ns / 16);
    setting.habits.cancels = rng.pick(&[0, 50_000, 300_000]);
    setting.links.delay_ns.1 = rng.pick(&[2, 20]) * MILLISECOND;
    setting.links.loss = rng.pick(&[0, 5_000]);
    setting.links.lost_replies = rng.pick(&[0, 5_000]);
    setting.links.ghosts = rng.coin();
}

pub(super) fn loss(setting: &mut Setting, rng: &mut Rng) {
    setting.links.loss = rng.pick(&[2_000, 20_000, 100_000]);
}

pub(super) fn reorder(setting: &mut Setting, rng: &mut Rng) {
    setting.links.lawless = true;
    setting.links.delay_ns.1 = rng.pick(&[5, 50]) * MILLISECOND;
    setting.links.tail = rng.pick(&[0, 20_000]);
    setting.links.tail_ns = setting.ttl_ns / 4;
}

pub(super) fn lawless(setting: &mut Setting, rng: &mut Rng) {
    reorder(setting, rng);
    setting.links.loss = rng.pick(&[2_000, 20_000, 100_000]);
    setting.links.doubles = rng.pick(&[0, 20_000, 200_000]);
    setting.links.tail = rng.pick(&[10_000, 50_000]);
    setting.links.tail_ns = setting.ttl_ns * rng.pick(&[1, 2, 3]);
}

pub(super) fn delay(setting: &mut Setting, rng: &mut Rng) {
    setting.links.tail = rng.pick(&[5_000, 30_000, 100_000]);
    setting.links.tail_ns = setting.ttl_ns * rng.pick(&[1, 2, 5]) / 2;
}

pub(super) fn partition(setting: &mut Setting, rng: &mut Rng) {
    setting.add(rng, Kind::Partition, SECOND / 4, 3 * SECOND);
}

pub(super) fn lost_replies(setting: &mut Setting, rng: &mut Rng) {
    setting.links.lost_replies = rng.pick(&[10_000, 50_000, 200_000]);
}

pub(super) fn ghosts(setting: &mut Setting, rng: &mut Rng) {
    loss(setting, rng);
    setting.links.ghosts = true;
    setting.add(rng, Kind::Break, SECOND / 8, SECOND);
    setting.links.tail = 20_000;
    setting.links.tail_ns = setting.ttl_ns;
}

pub(super) fn hung(setting: &mut Setting, rng: &mut Rng) {
    setting.add(rng, Kind::Hang, SECOND / 2, 4 * SECOND);
    if rng.coin() {
        setting.add(rng, Kind::Break, SECOND, 4 * SECOND);
    }
}

fn rejecting(setting: &mut Setting, rng: &mut Rng) {
    setting.add(rng, Kind::Reject, SECOND / 2, 2 * SECOND);
    setting.links.room = rng.pick(&[1, 2, 4]);
}

fn restart(setting: &mut Setting, rng: &mut Rng) {
    setting.add(rng, Kind::Crash, SECOND / 2, 4 * SECOND);
}

fn delayed_restart(setting: &mut Setting, rng: &mut Rng) {
    setting.add(rng, Kind::Crash, SECOND, 4 * SECOND);
    setting.add(rng, Kind::Snapshot, setting.ttl_ns / 4, setting.ttl_ns);
    setting.crash = Crash {
        keeps: rng.pick(&[Keeps::Nothing, Keeps::Snapshot]),
        delayed: true,
        may_miss_log: false,
    };
}

pub(super) fn pause(setting: &mut Setting, rng: &mut Rng) {
    // Votes that take their time, so that many a pause falls into one.
    setting.links.delay_ns.1 = setting.ttl_ns / 100;
    setting.habits.extends = 500_000;
    setting.add(rng, Kind::Pause, SECOND / 2, 4 * SECOND);
    setting.add(rng, Kind::Starve, SECOND / 2, 4 * SECOND);
}

pub(super) fn client_crash(setting: &mut Setting, rng: &mut Rng) {
    setting.add(rng, Kind::Die, SECOND / 2, 4 * SECOND);
}

fn cancel(setting: &mut Setting, _rng: &mut Rng) {
    setting.habits.cancels = 700_000;
    setting.habits.idle_ns = 10 * MILLISECOND;
    setting.links.delay_ns.1 = 20 * MILLISECOND;
}

pub(super) fn suspend(setting: &mut Setting, rng: &mut Rng) {
    setting.links.delay_ns.1 = setting.ttl_ns / 100;
    setting.add(rng, Kind::Suspend, SECOND, 4 * SECOND);
}

fn drift(setting: &mut Setting, rng: &mut Rng) {
    // Two clocks that differ by 4,900 millionths each way differ by less than 1 % from each other.
    setting.clocks.drift_ppm = 4_900;
    setting.habits.hold_ns = (setting.ttl_ns, setting.ttl_ns * 3 / 2);
    if rng.coin() {
        setting.clocks.step_ns = setting.ttl_ns / 4;
        setting.add(rng, Kind::StepBack, SECOND, 4 * SECOND);
    }
}

fn foreign(setting: &mut Setting, rng: &mut Rng) {
    setting.add(rng, Kind::ForeignLock, SECOND / 4, 2 * SECOND);
    setting.foreign_type = rng.coin();
}

pub(super) fn extension(setting: &mut Setting, rng: &mut Rng) {
    setting.habits.extends = 1_000_000;
    setting.habits.hold_ns = (setting.ttl_ns, setting.ttl_ns * 4);
    // The last ones come when the lease is nearly over.
    setting.habits.extend_every_ns = setting.ttl_ns * rng.pick(&[10, 33, 90, 97]) / 100;
    setting.links.tail = rng.pick(&[0, 50_000]);
    setting.links.tail_ns = setting.ttl_ns / 2;
}

pub(super) fn renews(setting: &mut Setting, rng: &mut Rng) {
    let ttl = Duration::from_nanos(setting.ttl_ns);
    setting.policy.renewal = rng.pick(&[
        AutoRenewal::Thirds,
        AutoRenewal::Thirds,
        AutoRenewal::Every(ttl / 10),
        AutoRenewal::Every(ttl * 2),
    ]);
    setting.policy.danger = rng.pick(&[None, Some(ttl / 10), Some(ttl)]);
    setting.margin_ns = rng.pick(&[0, 5 * MILLISECOND, setting.ttl_ns / 10]);
    setting.habits.hold_ns = (MILLISECOND, setting.ttl_ns * 4);
}

fn renewal(setting: &mut Setting, rng: &mut Rng) {
    renews(setting, rng);
    setting.links.loss = rng.pick(&[0, 20_000, 100_000]);
    setting.links.tail = rng.pick(&[0, 50_000]);
    setting.links.tail_ns = setting.ttl_ns;
    if rng.coin() {
        setting.add(rng, Kind::Partition, SECOND / 4, 3 * SECOND);
    }
    if rng.coin() {
        setting.add(rng, Kind::Hang, SECOND / 2, 4 * SECOND);
    }
}

fn asleep(setting: &mut Setting, rng: &mut Rng) {
    renews(setting, rng);
    pause(setting, rng);
    suspend(setting, rng);
}

pub(super) fn repair(setting: &mut Setting, rng: &mut Rng) {
    renews(setting, rng);
    delayed_restart(setting, rng);
    setting.habits.hold_ns = (setting.ttl_ns, setting.ttl_ns * 8);
    setting.links.loss = rng.pick(&[0, 20_000]);
    setting.links.ghosts = rng.coin();
    setting.links.lawless = rng.chance(200_000);
}

fn limits(setting: &mut Setting, rng: &mut Rng) {
    renews(setting, rng);
    let ttl = Duration::from_nanos(setting.ttl_ns);
    let policy = &mut setting.policy;
    policy.most_extensions = rng.pick(&[None, Some(0), Some(1), Some(5)]);
    policy.most_hold = rng.pick(&[None, Some(ttl / 2), Some(ttl * 2)]);
    policy.heartbeat = rng.pick(&[None, Some(ttl / 4), Some(ttl)]);
    setting.habits.heartbeats = rng.pick(&[100_000, 900_000]);
    setting.habits.extend_every_ns = setting.ttl_ns * rng.pick(&[10, 33, 90]) / 100;
}

fn ttls(setting: &mut Setting, rng: &mut Rng) {
    extension(setting, rng);
    setting.habits.other_ttls = rng.pick(&[200_000, 800_000]);
    if rng.coin() {
        renews(setting, rng);
    }
    setting.links.ghosts = rng.coin();
    setting.links.loss = rng.pick(&[0, 20_000]);
    setting.links.lawless = rng.chance(200_000);
}

fn kept(setting: &mut Setting, rng: &mut Rng) {
    delay(setting, rng);
    let ttl = Duration::from_nanos(setting.ttl_ns);
    setting.policy.least_hold = rng.pick(&[None, Some(ttl / 3), Some(ttl * 2)]);
    setting.delay_ns = rng.pick(&[0, setting.ttl_ns / 2]);
}

pub(super) fn hand_over(setting: &mut Setting, rng: &mut Rng) {
    renewal(setting, rng);
    setting.habits.hold_ns = (MILLISECOND, setting.ttl_ns / 2);
    setting.habits.idle_ns = setting.ttl_ns / 8;
    setting.habits.hands_over = rng.pick(&[200_000, 800_000]);
    setting.links.ghosts = rng.coin();
}

fn detached(setting: &mut Setting, rng: &mut Rng) {
    hand_over(setting, rng);
    setting.habits.hands_over = 900_000;
    setting.habits.detaches = rng.pick(&[500_000, 1_000_000]);
    setting.habits.other_ttls = 300_000;
    let worse = rng.pick(&[calm, pause, client_crash, drift, lawless]);
    worse(setting, rng);
}

fn one_node(setting: &mut Setting, rng: &mut Rng) {
    loss(setting, rng);
    setting.nodes = 1;
}

fn even(setting: &mut Setting, rng: &mut Rng) {
    delay(setting, rng);
    setting.nodes = 4;
}

fn everything(setting: &mut Setting, rng: &mut Rng) {
    let faults = [
        contention,
        loss,
        delay,
        partition,
        lost_replies,
        ghosts,
        hung,
        rejecting,
        pause,
        client_crash,
        cancel,
        suspend,
        drift,
        foreign,
        extension,
        lawless,
        renewal,
        limits,
        ttls,
        hand_over,
    ];
    for fault in faults {
        if rng.chance(400_000) {
            fault(setting, rng);
        }
    }
    let crash = rng.pick(&[restart, delayed_restart, calm]);
    crash(setting, rng);
    setting.nodes = rng.pick(&[1, 2, 3, 4, 5]);
}

pub(super) fn calm(_setting: &mut Setting, _rng: &mut Rng) {}
