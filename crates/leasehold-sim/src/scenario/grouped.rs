//! Worlds in which the node is a group of servers, and sentinels say which of them is the master. See
//! [`group`](crate::group).

use super::{Law, Scenario, broken::broken, lawful::lawful};
use crate::{
    check::Property,
    group::{Group, Weakness},
    rng::Rng,
    setting::Setting,
};

pub(super) static ALL: [Scenario; 3] = [
    lawful(
        "sentinels",
        "failovers; sentinels disagree or are away",
        sentinels,
    ),
    broken(
        "control-minority",
        "any sentinel is believed, and for ever",
        minority,
    ),
    Scenario {
        name: "control-no-way",
        about: "most sentinels never come back",
        law: Law::Broken(Property::Progress),
        arrange: no_way,
    },
];

fn sentinels(setting: &mut Setting, rng: &mut Rng) {
    setting.group = Some(Group::draw(rng, Weakness::None));
}

fn minority(setting: &mut Setting, rng: &mut Rng) {
    setting.group = Some(Group::draw(rng, Weakness::Minority));
}

fn no_way(setting: &mut Setting, rng: &mut Rng) {
    setting.group = Some(Group::draw(rng, Weakness::NoWay));
}
