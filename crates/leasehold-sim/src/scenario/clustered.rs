//! Worlds in which nodes are Redis Clusters, whose slots move. See [`clusters`](crate::clusters).

use super::{Scenario, broken::broken, lawful::lawful};
use crate::{
    clusters::{Clusters, Weakness},
    rng::Rng,
    setting::Setting,
};

pub(super) static ALL: [Scenario; 3] = [
    lawful(
        "clusters",
        "slots move, servers hang and are replaced, connections break",
        clusters,
    ),
    broken(
        "control-clusters-lag",
        "a replica that takes a server's place lags",
        lag,
    ),
    broken(
        "control-clusters-early",
        "slots are assigned before their keys have moved",
        early,
    ),
];

fn clusters(setting: &mut Setting, rng: &mut Rng) {
    setting.clusters = Some(Clusters::draw(rng, Weakness::None));
}

fn lag(setting: &mut Setting, rng: &mut Rng) {
    setting.clusters = Some(Clusters::draw(rng, Weakness::Lags));
}

fn early(setting: &mut Setting, rng: &mut Rng) {
    setting.clusters = Some(Clusters::draw(rng, Weakness::AssignsEarly));
}
