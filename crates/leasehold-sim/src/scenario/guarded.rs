//! Worlds in which nodes forget, or clocks are set, and something makes up for it. Every assumption holds,
//! because it is enforced.

use super::{
    Law, Scenario,
    lawful::{
        calm, client_crash, contention, delay, extension, ghosts, hand_over, hung, lawful, lawless,
        loss, lost_replies, partition, pause, renews, reorder, suspend,
    },
};
use crate::{
    fault::Kind,
    rng::Rng,
    setting::{Crash, Guard, Keeps, Setting, Twin},
    time::{MILLISECOND, SECOND},
};

/// First the ways to forget, one by one; then all of them; then tokens and clocks; then larger quorums.
pub(super) static ALL: [Scenario; 18] = [
    lawful(
        "guarded-restart",
        "nodes forget, and are back at once",
        restart,
    ),
    lawful(
        "guarded-stale",
        "nodes are back with an old snapshot",
        stale,
    ),
    lawful("guarded-flush", "somebody flushes nodes", flush),
    lawful("guarded-evict", "nodes get a limit, and evict locks", evict),
    lawful("guarded-failover", "lagging replicas take over", failover),
    lawful("guarded-proxy", "connections outlive the servers", proxy),
    lawful("guarded-disk", "disks that keep all are trusted", disk),
    lawful("guarded-log", "logs are turned off and on", log),
    lawful(
        "guarded-lawless",
        "nodes forget on a lawless network",
        guarded_lawless,
    ),
    lawful("guarded-mix", "all of it, and pauses, sleep, loss", mix),
    lawful("tokens", "any clocks, and a lawless network", tokens),
    Scenario {
        name: "timeless",
        about: "any clocks, and keys are deleted: tokens only",
        law: Law::Fenced,
        arrange: timeless,
    },
    lawful("steps", "nodes' clocks are set, as far as covered", steps),
    lawful(
        "tolerant",
        "some nodes forget, quorums are larger",
        tolerant,
    ),
    lawful(
        "tolerant-mix",
        "the same, on bad links, with pauses",
        tolerant_mix,
    ),
    lawful("twins", "one server has two addresses, and forgets", twins),
    lawful(
        "twins-unknown",
        "a server that does not say which it is, and answers are lost",
        twins_unknown,
    ),
    lawful(
        "rerouted",
        "addresses lead to other servers for a while",
        rerouted,
    ),
];

/// The guard as the facade makes it: as long as the longest key lives, by whatever clock, and then as much as
/// the clients' wall clocks may differ.
pub(super) fn guard(setting: &mut Setting, rng: &mut Rng) {
    let longest_ns = setting.longest_ttl_ns();
    let clocks_ns = longest_ns / 100 + 2 * MILLISECOND + setting.step_margin_ns;
    let allowance_ns = rng.pick(&[500, 1_000, 2_000]) * MILLISECOND;
    setting.guard = Guard::Marker {
        span_ns: longest_ns + clocks_ns + allowance_ns,
        trusts_disk: false,
        tells_evictions: true,
    };
    setting.is_admitted = rng.chance(800_000);
    setting.is_fenced = rng.chance(800_000);
}

/// Often enough for some leases to be forgotten, not so often that nobody ever gets any.
fn strikes(setting: &mut Setting, rng: &mut Rng, kind: Kind) {
    let every_ns = setting.ttl_ns + SECOND;
    setting.add(rng, kind, every_ns / 2, 3 * every_ns);
}

/// Others want the resource while somebody believes to hold it.
fn crowd(setting: &mut Setting, rng: &mut Rng) {
    if rng.coin() {
        setting.resources = 1;
        setting.tries = None;
        setting.pause_ns = (0, setting.ttl_ns / 4);
        setting.habits.hold_ns = (setting.ttl_ns / 2, setting.ttl_ns * 3 / 2);
    }
}

fn forgets(setting: &mut Setting, rng: &mut Rng, keeps: Keeps) {
    crowd(setting, rng);
    strikes(setting, rng, Kind::Crash);
    setting.crash = Crash {
        keeps,
        delayed: false,
        may_miss_log: false,
    };
}

fn snapshots(setting: &mut Setting, rng: &mut Rng) {
    setting.add(rng, Kind::Snapshot, SECOND / 8, SECOND);
}

fn restart(setting: &mut Setting, rng: &mut Rng) {
    forgets(setting, rng, Keeps::Nothing);
    guard(setting, rng);
}

fn stale(setting: &mut Setting, rng: &mut Rng) {
    forgets(setting, rng, Keeps::Snapshot);
    snapshots(setting, rng);
    guard(setting, rng);
}

fn flush(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting, rng);
    strikes(setting, rng, Kind::Flush);
    guard(setting, rng);
}

pub(super) fn evict(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting, rng);
    strikes(setting, rng, Kind::Evict);
    guard(setting, rng);
}

fn failover(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting, rng);
    strikes(setting, rng, Kind::Failover);
    snapshots(setting, rng);
    guard(setting, rng);
}

fn proxy(setting: &mut Setting, rng: &mut Rng) {
    let forget = rng.pick(&[restart, stale, failover, disk]);
    forget(setting, rng);
    setting.hides_restarts = true;
}

fn disk(setting: &mut Setting, rng: &mut Rng) {
    forgets(setting, rng, Keeps::All);
    if rng.coin() {
        strikes(setting, rng, Kind::Flush);
    }
    if rng.coin() {
        strikes(setting, rng, Kind::Failover);
        snapshots(setting, rng);
    }
    guard(setting, rng);
    if let Guard::Marker { trusts_disk, .. } = &mut setting.guard {
        *trusts_disk = true;
    }
}

/// What is written while a log is off is lost with the power; a log may be turned on late.
fn log(setting: &mut Setting, rng: &mut Rng) {
    disk(setting, rng);
    strikes(setting, rng, Kind::Unlog);
    if rng.coin() {
        snapshots(setting, rng);
        setting.crash.may_miss_log = true;
    }
}

fn guarded_lawless(setting: &mut Setting, rng: &mut Rng) {
    lawless(setting, rng);
    let forget = rng.pick(&[restart, stale, flush, failover]);
    forget(setting, rng);
    // Without connections: the process that was met at the beginning, or none.
    setting.hides_restarts = rng.coin();
}

pub(super) fn mix(setting: &mut Setting, rng: &mut Rng) {
    let faults = [
        contention,
        loss,
        delay,
        partition,
        lost_replies,
        ghosts,
        hung,
        pause,
        client_crash,
        suspend,
        extension,
        renewal,
        hand_over,
        lawless,
        covered,
        back,
    ];
    for fault in faults {
        if rng.chance(300_000) {
            fault(setting, rng);
        }
    }
    let keeps = rng.pick(&[Keeps::Nothing, Keeps::Snapshot, Keeps::All]);
    forgets(setting, rng, keeps);
    snapshots(setting, rng);
    for kind in [Kind::Flush, Kind::Failover, Kind::Evict] {
        if rng.coin() {
            strikes(setting, rng, kind);
        }
    }
    setting.hides_restarts = rng.coin();
    guard(setting, rng);
}

fn renewal(setting: &mut Setting, rng: &mut Rng) {
    renews(setting, rng);
    setting.habits.hold_ns = (MILLISECOND, setting.ttl_ns * 8);
}

fn tokens(setting: &mut Setting, rng: &mut Rng) {
    let network = rng.pick(&[lawless, lawless, reorder, ghosts]);
    network(setting, rng);
    let habit = rng.pick(&[contention, hand_over, extension, client_crash, calm]);
    habit(setting, rng);
    setting.is_fenced = true;
    // Two hours are further ahead than a node follows.
    setting.skew_ns = rng.pick(&[0, SECOND / 10, 5 * SECOND, 2 * 3_600 * SECOND]);
}

/// Nothing that holders rely on for their time holds: clocks of any speed are set to any time, keys are deleted.
fn timeless(setting: &mut Setting, rng: &mut Rng) {
    tokens(setting, rng);
    crowd(setting, rng);
    setting.clocks.drift_ppm = rng.pick(&[1_000, 100_000]);
    setting.clock_counts_in_suspend = false;
    setting.clocks.step_ns = setting.ttl_ns;
    let every_ns = setting.ttl_ns;
    for kind in [
        Kind::StepForward,
        Kind::StepBack,
        Kind::Suspend,
        Kind::ForeignDelete,
        Kind::ForeignDelete,
    ] {
        if rng.coin() {
            setting.add(rng, kind, every_ns / 16, every_ns);
        }
    }
}

/// Clocks are set forward by no more than the keys live longer.
fn covered(setting: &mut Setting, rng: &mut Rng) {
    setting.step_margin_ns = rng.pick(&[20, 100, 1_000]) * MILLISECOND;
    setting.clocks.step_ns = setting.step_margin_ns;
    let longest_ns = setting.longest_ttl_ns();
    setting.add(rng, Kind::StepForward, longest_ns / 4, longest_ns);
}

/// Clocks are set back, as far as they like.
fn back(setting: &mut Setting, rng: &mut Rng) {
    if !setting.has(Kind::StepForward) {
        setting.clocks.step_ns = rng.pick(&[20, 1_000]) * MILLISECOND;
    }
    setting.add(rng, Kind::StepBack, 2 * SECOND, 6 * SECOND);
}

fn steps(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting, rng);
    covered(setting, rng);
    let beside = rng.pick(&[calm, renewal, delay, pause, lawless]);
    beside(setting, rng);
    setting.is_fenced = rng.coin();
}

/// At most so many nodes ever forget, and any two quorums share one more.
fn tolerant(setting: &mut Setting, rng: &mut Rng) {
    let (nodes, forgetful) = rng.pick(&[(3, 1), (5, 1), (5, 2), (5, 2), (7, 2)]);
    (setting.nodes, setting.forgetful) = (nodes, Some(forgetful));
    crowd(setting, rng);
    let keeps = rng.pick(&[Keeps::Nothing, Keeps::Snapshot]);
    setting.crash.keeps = keeps;
    snapshots(setting, rng);
    for kind in [Kind::Crash, Kind::Flush, Kind::Failover] {
        if rng.coin() {
            setting.add(rng, kind, setting.ttl_ns / 4, setting.ttl_ns);
        }
    }
    setting.is_fenced = rng.coin();
}

/// Two nodes are one server, and first connections come up in any order.
fn twins(setting: &mut Setting, rng: &mut Rng) {
    two_addresses(setting, rng);
    setting.twin = Twin::Tells;
    // With what the server says alone, nothing is known of a vote whose answer was lost, or which it has forgotten between
    // its two addresses.
    setting.hides_identities = rng.coin();
    let beside: fn(&mut Setting, &mut Rng) = rng.pick(&[calm, extension, renewal]);
    if setting.hides_identities {
        setting.faults.clear();
    } else {
        client_crash(setting, rng);
        loss(setting, rng);
    }
    beside(setting, rng);
}

/// The server does not tell its identity, and of a vote whose answer was lost nothing is known: an extension may count it
/// twice. Nobody forgets.
fn twins_unknown(setting: &mut Setting, rng: &mut Rng) {
    two_addresses(setting, rng);
    setting.twin = Twin::Tells;
    setting.hides_identities = true;
    (setting.faults, setting.forgetful) = (Vec::new(), None);
    for fault in [loss, lost_replies, client_crash] {
        if rng.coin() {
            fault(setting, rng);
        }
    }
    let beside = rng.pick(&[calm, extension, renewal]);
    beside(setting, rng);
}

/// An address leads to another node's server, and who connects by it learns that from the server alone.
fn rerouted(setting: &mut Setting, rng: &mut Rng) {
    let beside = [
        calm,
        loss,
        lost_replies,
        ghosts,
        client_crash,
        extension,
        renewal,
        hand_over,
        delay,
    ];
    for fault in beside {
        if rng.chance(200_000) {
            fault(setting, rng);
        }
    }
    addresses_move(setting, rng);
    setting.is_fenced = rng.coin();
    if rng.chance(200_000) {
        // Who forgets counters needs wall clocks for the order of tokens.
        return restart(setting, rng);
    }
    // Some votes take so long that an address leads elsewhere when the token is agreed on.
    if rng.coin() {
        (setting.links.tail, setting.links.tail_ns) = (200_000, setting.ttl_ns / 4);
        setting.links.detect_ns = 2 * MILLISECOND;
        setting.habits.hold_ns = (MILLISECOND, setting.ttl_ns / 4);
        (setting.is_fenced, setting.skew_ns) = (true, 5 * SECOND);
        let every_ns = setting.ttl_ns;
        setting.add(rng, Kind::Reroute, every_ns / 16, every_ns / 4);
    }
}

/// What matters where addresses lead elsewhere: holders extend by them, and others want the resource.
pub(super) fn addresses_move(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting, rng);
    setting.add(rng, Kind::Reroute, setting.ttl_ns / 4, 2 * setting.ttl_ns);
    setting.add(rng, Kind::Break, setting.ttl_ns / 2, 4 * setting.ttl_ns);
}

/// What matters where the first server has two addresses: it forgets, and others want the resource then.
pub(super) fn two_addresses(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting, rng);
    (setting.nodes, setting.forgetful) = (4, Some(1));
    setting.resources = 1;
    setting.add(rng, Kind::Flush, setting.ttl_ns / 4, setting.ttl_ns);
}

fn tolerant_mix(setting: &mut Setting, rng: &mut Rng) {
    let faults = [
        loss,
        delay,
        lost_replies,
        ghosts,
        pause,
        client_crash,
        suspend,
        extension,
        renewal,
        hand_over,
        lawless,
    ];
    for fault in faults {
        if rng.chance(300_000) {
            fault(setting, rng);
        }
    }
    tolerant(setting, rng);
}
