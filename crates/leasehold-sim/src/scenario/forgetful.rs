//! More controls: nodes forget, and what should make up for it is missing or too weak.

use super::{
    Law, Scenario,
    broken::{broken, crowd, failover, flush, restart, stale},
    guarded::{addresses_move, two_addresses},
    lawful::renews,
};
use crate::{
    check::Property,
    fault::Kind,
    rng::Rng,
    setting::{Guard, Setting, Twin},
    time::{MILLISECOND, SECOND},
};

/// In the order of the defence: the guard's place, its length, what it trusts, its allowance.
pub(super) static ALL: [Scenario; 10] = [
    broken(
        "control-proxy",
        "a proxy hides that nodes forget",
        hidden_restart,
    ),
    broken(
        "control-uptime",
        "a look at connecting, behind a proxy",
        uptime_behind_proxy,
    ),
    broken(
        "control-uptime-flush",
        "a look at connecting, and a flush",
        uptime_flush,
    ),
    broken(
        "control-uptime-fail",
        "a look at connecting, and a replica",
        uptime_failover,
    ),
    broken("control-half", "half the quarantine", half),
    broken("control-disk", "a disk is trusted that forgets", disk),
    broken(
        "control-twin",
        "a server grants by each of its addresses",
        twin,
    ),
    broken(
        "control-rerouted",
        "addresses move, and no server says which it is",
        rerouted,
    ),
    broken(
        "control-evict",
        "nodes evict, and the look does not read it",
        evict,
    ),
    Scenario {
        name: "control-counters",
        about: "counters are lost, clocks differ by too much",
        law: Law::Broken(Property::Tokens),
        arrange: counters,
    },
];

fn hidden_restart(setting: &mut Setting, rng: &mut Rng) {
    restart(setting, rng);
    setting.hides_restarts = true;
}

/// As long as would be enough.
fn uptime(setting: &mut Setting) {
    let span_ns = setting.longest_ttl_ns() * 2 + SECOND;
    setting.guard = Guard::Uptime { span_ns };
}

fn uptime_behind_proxy(setting: &mut Setting, rng: &mut Rng) {
    hidden_restart(setting, rng);
    uptime(setting);
}

fn uptime_flush(setting: &mut Setting, rng: &mut Rng) {
    flush(setting, rng);
    uptime(setting);
}

fn uptime_failover(setting: &mut Setting, rng: &mut Rng) {
    failover(setting, rng);
    uptime(setting);
}

fn marker(setting: &mut Setting, span_ns: u64, trusts_disk: bool) {
    setting.guard = Guard::Marker {
        span_ns,
        trusts_disk,
        tells_evictions: true,
    };
}

fn half(setting: &mut Setting, rng: &mut Rng) {
    restart(setting, rng);
    marker(setting, setting.ttl_ns / 2, false);
}

fn twin(setting: &mut Setting, rng: &mut Rng) {
    two_addresses(setting, rng);
    setting.twin = Twin::GrantsAgain;
    setting.hides_identities = true;
}

fn rerouted(setting: &mut Setting, rng: &mut Rng) {
    renews(setting, rng);
    crowd(setting);
    addresses_move(setting, rng);
    setting.habits.hold_ns = (setting.ttl_ns, setting.ttl_ns * 8);
    setting.hides_identities = true;
}

fn disk(setting: &mut Setting, rng: &mut Rng) {
    stale(setting, rng);
    marker(setting, 2 * setting.ttl_ns + SECOND, true);
}

fn evict(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting);
    setting.add(rng, Kind::Evict, setting.ttl_ns / 8, setting.ttl_ns / 2);
    setting.guard = Guard::Marker {
        span_ns: setting.longest_ttl_ns() * 2 + SECOND,
        trusts_disk: false,
        tells_evictions: false,
    };
}

/// The quarantine is as long as leases need it, and little longer: for clocks that differ by up to ten seconds.
fn counters(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting);
    setting.ttl_ns = 400 * MILLISECOND;
    setting.pause_ns = (0, setting.ttl_ns / 4);
    setting.habits.hold_ns = (MILLISECOND, setting.ttl_ns / 2);
    setting.habits.idle_ns = 10 * MILLISECOND;
    setting.add(rng, Kind::Flush, SECOND / 4, SECOND / 2);
    marker(setting, setting.ttl_ns + SECOND / 20, false);
    setting.is_fenced = true;
    setting.skew_ns = 5 * SECOND;
}
