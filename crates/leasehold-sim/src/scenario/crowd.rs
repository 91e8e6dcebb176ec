//! Ten thousand clients.

use super::{Scenario, lawful::lawful};
use crate::{
    course::Course,
    setting::Setting,
    time::{MILLISECOND, SECOND},
    waits::ALL as EVERY,
};

pub(super) static ALL: [Scenario; 2] = [
    lawful(
        "crowd",
        "ten thousand clients of a thousand names",
        |setting, _| crowd(setting, 1_000),
    ),
    lawful(
        "crowd-one-name",
        "a thousand clients of one name",
        |setting, _| {
            crowd(setting, 1);
            setting.clients = 1_000;
        },
    ),
];

/// Links and nodes are well, and some messages break their connections.
fn crowd(setting: &mut Setting, resources: usize) {
    setting.clients = 10_000;
    setting.resources = resources;
    setting.slots = 1;
    setting.ttl_ns = 5 * SECOND;
    setting.tries = None;
    setting.course = Course::short(2 * SECOND);
    setting.habits.idle_ns = SECOND;
    setting.habits.hold_ns = (MILLISECOND, 20 * MILLISECOND);
    setting.links.loss = 100;
    setting.waits.queues = EVERY;
    setting.waits.tells = EVERY;
}
