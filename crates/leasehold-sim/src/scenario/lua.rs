//! Worlds in which the nodes are servers, on which the scripts that ship are run.
//!
//! They are the worlds of other scenarios otherwise. What is found here and not there is a fault of a script, of the
//! arguments that it is given, or of how its answer is read.

use super::{Law, Scenario, broken, lawful::lawful};
use crate::{
    check::Property,
    node::scripted::Texts,
    rng::Rng,
    setting::{Guard, Setting},
    time::SECOND,
};

/// First votes, extensions and releases; then queues; then nodes that forget; then everything at once.
pub(super) static ALL: [Scenario; 34] = [
    lawful(
        "lua-contention",
        "contention, by the scripts",
        |setting, rng| {
            served("contention", setting, rng);
        },
    ),
    lawful("lua-lawless", "lawless, by the scripts", |setting, rng| {
        served("lawless", setting, rng);
    }),
    lawful("lua-ttls", "ttls, by the scripts", |setting, rng| {
        served("ttls", setting, rng);
    }),
    lawful(
        "lua-together",
        "together, by the scripts",
        |setting, rng| {
            served("together", setting, rng);
        },
    ),
    lawful("lua-repair", "repair, by the scripts", |setting, rng| {
        served("repair", setting, rng);
    }),
    lawful("lua-foreign", "foreign, by the scripts", |setting, rng| {
        served("foreign", setting, rng);
    }),
    lawful("lua-rejecting", "servers without memory", |setting, rng| {
        served("rejecting", setting, rng);
    }),
    lawful(
        "lua-detached",
        "detached, by the scripts",
        |setting, rng| {
            served("detached", setting, rng);
        },
    ),
    lawful("lua-fair", "fair locks, by the scripts", |setting, rng| {
        served("fair", setting, rng);
        few(setting);
    }),
    lawful("lua-several", "several, by the scripts", |setting, rng| {
        served("several", setting, rng);
    }),
    lawful(
        "lua-several-repair",
        "several-repair, by the scripts",
        |setting, rng| {
            served("several-repair", setting, rng);
        },
    ),
    lawful("lua-readers", "readers, by the scripts", |setting, rng| {
        served("readers", setting, rng);
        few(setting);
    }),
    lawful(
        "lua-readers-troubled",
        "readers-troubled, by the scripts",
        |setting, rng| {
            served("readers-troubled", setting, rng);
            few(setting);
        },
    ),
    lawful(
        "lua-readers-repair",
        "readers-repair, by the scripts",
        |setting, rng| {
            served("readers-repair", setting, rng);
            few(setting);
        },
    ),
    lawful(
        "lua-readers-downgrade",
        "readers-downgrade, by the scripts",
        |setting, rng| {
            served("readers-downgrade", setting, rng);
            few(setting);
        },
    ),
    lawful(
        "lua-readers-guarded",
        "readers-guarded, by the scripts",
        |setting, rng| {
            served("readers-guarded", setting, rng);
            few(setting);
        },
    ),
    lawful("lua-permits", "permits, by the scripts", |setting, rng| {
        served("permits", setting, rng);
        few(setting);
    }),
    lawful(
        "lua-permits-troubled",
        "permits-troubled, by the scripts",
        |setting, rng| {
            served("permits-troubled", setting, rng);
            few(setting);
        },
    ),
    lawful(
        "lua-permits-repair",
        "permits-repair, by the scripts",
        |setting, rng| {
            served("permits-repair", setting, rng);
            few(setting);
        },
    ),
    lawful(
        "lua-parts-together",
        "parts-together, by the scripts",
        |setting, rng| {
            served("parts-together", setting, rng);
            setting.slots = setting.slots.min(4);
            setting.course.faults_ns = setting.course.faults_ns.min(3 * SECOND);
        },
    ),
    lawful(
        "lua-taken-away",
        "taken-away, by the scripts",
        |setting, rng| {
            served("taken-away", setting, rng);
        },
    ),
    lawful(
        "lua-taken-away-parts",
        "taken-away-parts, by the scripts",
        |setting, rng| {
            served("taken-away-parts", setting, rng);
        },
    ),
    lawful(
        "lua-evict",
        "guarded-evict, by the scripts",
        |setting, rng| {
            served("guarded-evict", setting, rng);
        },
    ),
    lawful("lua-disk", "guarded-log, by the scripts", |setting, rng| {
        served("guarded-log", setting, rng);
    }),
    lawful("lua-twins", "twins, by the scripts", |setting, rng| {
        served("twins", setting, rng);
    }),
    lawful(
        "lua-guarded",
        "guarded-proxy, by the scripts",
        |setting, rng| {
            served("guarded-proxy", setting, rng);
        },
    ),
    lawful(
        "lua-guarded-mix",
        "guarded-mix, by the scripts",
        |setting, rng| {
            served("guarded-mix", setting, rng);
        },
    ),
    lawful(
        "lua-restart",
        "what control-lua-blind is without the guard's look",
        |setting, rng| {
            restart(setting, rng);
            setting.texts = Some(Texts::Shipped);
        },
    ),
    lawful("lua-steps", "steps, by the scripts", |setting, rng| {
        served("steps", setting, rng);
    }),
    lawful("lua-tokens", "tokens, by the scripts", |setting, rng| {
        served("tokens", setting, rng);
    }),
    Scenario {
        name: "lua-timeless",
        about: "timeless, by the scripts",
        law: Law::Fenced,
        arrange: |setting, rng| served("timeless", setting, rng),
    },
    lawful(
        "lua-everything",
        "everything, by the scripts",
        |setting, rng| {
            served("everything", setting, rng);
        },
    ),
    Scenario {
        name: "control-lua-blind",
        about: "the guard's look is taken out of the scripts",
        law: Law::Broken(Property::Exclusion),
        arrange: |setting, rng| {
            restart(setting, rng);
            setting.texts = Some(Texts::Blind);
        },
    },
    Scenario {
        name: "control-lua-half",
        about: "the scripts wait for half the quarantine",
        law: Law::Broken(Property::Exclusion),
        arrange: |setting, rng| served("control-half", setting, rng),
    },
];

/// The world of another scenario, on servers.
fn served(name: &str, setting: &mut Setting, rng: &mut Rng) {
    let scenario = Scenario::find(name).expect("it is a scenario");
    (scenario.arrange)(setting, rng);
    setting.texts = Some(Texts::Shipped);
}

/// A queue is text that every vote reads: with fewer who wait there are ten times as many worlds in a second.
fn few(setting: &mut Setting) {
    setting.slots = 1;
    let idle_ns = &mut setting.habits.idle_ns;
    *idle_ns = (*idle_ns).max(SECOND / 4);
    setting.course.faults_ns = setting.course.faults_ns.min(6 * SECOND);
}

/// Servers forget, and are back at once, behind proxies that hide it.
fn restart(setting: &mut Setting, rng: &mut Rng) {
    broken::restart(setting, rng);
    setting.hides_restarts = true;
    setting.guard = Guard::Marker {
        span_ns: 2 * setting.longest_ttl_ns() + SECOND,
        trusts_disk: false,
        tells_evictions: true,
    };
}
