//! Controls: worlds in which one assumption is broken, and violations must be found.

use super::{Law, Scenario};
use crate::{
    check::Property,
    fault::Kind,
    rng::Rng,
    setting::{Crash, Keeps, Setting},
    time::SECOND,
};

/// In the order of the assumptions: drift, steps, lost votes, suspend; then what no lock survives.
pub(super) static ALL: [Scenario; 8] = [
    broken(
        "control-drift",
        "clocks differ by far more than allowed",
        drift,
    ),
    broken("control-step", "a node's clock steps forward", step),
    broken("control-restart", "nodes forget, and vote at once", restart),
    broken(
        "control-stale",
        "nodes come back with an old snapshot",
        stale,
    ),
    broken("control-flush", "somebody flushes a node", flush),
    broken("control-failover", "a lagging replica takes over", failover),
    broken(
        "control-suspend",
        "machines sleep, and so do their clocks",
        suspend,
    ),
    broken(
        "control-delete",
        "somebody deletes locks that are not theirs",
        delete,
    ),
];

pub(super) const fn broken(
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

/// Others must want the resource while somebody believes to hold it.
pub(super) fn crowd(setting: &mut Setting) {
    setting.nodes = 3;
    setting.resources = 1;
    setting.tries = None;
    setting.pause_ns = (0, setting.ttl_ns / 4);
    setting.habits.hold_ns = (setting.ttl_ns / 2, setting.ttl_ns * 3 / 2);
}

fn drift(setting: &mut Setting, _rng: &mut Rng) {
    crowd(setting);
    setting.clocks.drift_ppm = 100_000;
}

fn step(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting);
    setting.clocks.step_ns = setting.ttl_ns;
    setting.add(
        rng,
        Kind::StepForward,
        setting.ttl_ns / 8,
        setting.ttl_ns / 2,
    );
}

pub(super) fn restart(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting);
    setting.add(rng, Kind::Crash, setting.ttl_ns / 8, setting.ttl_ns / 2);
    setting.crash = Crash {
        keeps: Keeps::Nothing,
        delayed: false,
        may_miss_log: false,
    };
}

pub(super) fn stale(setting: &mut Setting, rng: &mut Rng) {
    restart(setting, rng);
    setting.crash.keeps = Keeps::Snapshot;
    setting.add(rng, Kind::Snapshot, SECOND / 4, SECOND);
}

pub(super) fn flush(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting);
    setting.add(rng, Kind::Flush, setting.ttl_ns / 8, setting.ttl_ns / 2);
}

pub(super) fn failover(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting);
    setting.add(rng, Kind::Snapshot, SECOND / 8, SECOND / 2);
    setting.add(rng, Kind::Failover, setting.ttl_ns / 8, setting.ttl_ns / 2);
}

fn suspend(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting);
    setting.clock_counts_in_suspend = false;
    setting.add(rng, Kind::Suspend, setting.ttl_ns / 4, setting.ttl_ns);
}

fn delete(setting: &mut Setting, rng: &mut Rng) {
    crowd(setting);
    setting.add(
        rng,
        Kind::ForeignDelete,
        setting.ttl_ns / 16,
        setting.ttl_ns / 4,
    );
}
