//! Worlds in which a node is replaced by another while clients lock.

use super::{
    Law, Scenario,
    guarded::guard,
    lawful::{
        client_crash, contention, extension, ghosts, hand_over, hung, lawful, loss, lost_replies,
        partition, pause, renews, suspend,
    },
};
use crate::{
    check::Property, fault::Kind, replacement::Newcomer, rng::Rng, setting::Setting, time::SECOND,
};

pub(super) static ALL: [Scenario; 2] = [
    lawful(
        "replaced",
        "a node is replaced by another, and leases go on",
        replaced,
    ),
    Scenario {
        name: "control-replaced",
        about: "the new node votes at once",
        law: Law::Broken(Property::Exclusion),
        arrange: at_once,
    },
];

/// Nodes keep all that they know. The one that leaves may never hear of it, and go on voting for those who know no better.
fn replaced(setting: &mut Setting, rng: &mut Rng) {
    setting.nodes = rng.pick(&[3, 3, 4, 5]);
    let faults = [
        contention,
        loss,
        lost_replies,
        ghosts,
        hung,
        partition,
        pause,
        suspend,
        extension,
        renews,
        hand_over,
        client_crash,
    ];
    for fault in faults {
        if rng.chance(300_000) {
            fault(setting, rng);
        }
    }
    guard(setting, rng);
    setting.newcomer = Some(Newcomer::Waits);
}

/// Nodes stop, so that votes are lost on one of those that stay, and leases stand on the one that leaves.
fn at_once(setting: &mut Setting, rng: &mut Rng) {
    replaced(setting, rng);
    contention(setting, rng);
    setting.nodes = 3;
    setting.add(rng, Kind::Hang, SECOND / 4, SECOND);
    setting.add(rng, Kind::Partition, SECOND / 4, SECOND);
    setting.newcomer = Some(Newcomer::VotesAtOnce);
}
