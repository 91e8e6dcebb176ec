//! The floors of docs/ARCHITECTURE.md: a module may use what is below it, not its neighbours.

use super::{
    Finding,
    source::{Source, after_block, name_at},
};

pub(super) fn check(source: &Source<'_>) -> Vec<Finding> {
    let Some((name, path)) = source.module() else {
        return Vec::new();
    };
    let uses = uses(source, &path);
    let houses = HOUSES.iter().filter(|house| house.of == name);
    houses
        .flat_map(|house| house.check(source, &path, &uses))
        .collect()
}

/// A crate, or a room that has floors inside.
struct House {
    of: &'static str,
    /// Where it is in the crate.
    inside: &'static [&'static str],
    floors: Floors,
}

type Floors = &'static [&'static [&'static str]];

impl House {
    fn check(
        &self,
        source: &Source<'_>,
        path: &[&str],
        uses: &[(usize, Vec<&str>)],
    ) -> Vec<Finding> {
        let Some(room) = self.room(path) else {
            return Vec::new();
        };
        let Some(height) = self.height(&room) else {
            let what = format!("`{room}` is on no floor; give it one in xtask/src/tidy/floors.rs");
            return vec![source.finding(0, what)];
        };
        let mut found = Vec::new();
        for (at, target) in uses {
            let Some(target) = self.room(target) else {
                continue;
            };
            // A room is free inside, and tests may use everything.
            if target == room || source.is_test(*at) {
                continue;
            }
            // What has no floor is an item of the house itself, or found as a file of its own.
            if self.height(&target).is_some_and(|other| other >= height) {
                let what =
                    format!("`{room}` uses `{target}`, which is not below it; turn the arrow");
                found.push(source.finding(*at, what));
            }
        }
        // Each of several that one line takes from one room.
        found.dedup();
        found
    }

    fn height(&self, room: &str) -> Option<usize> {
        let mut floors = self.floors.iter();
        floors.position(|floor| floor.contains(&room))
    }

    /// `["link", "redis", "codec"]` is in the room `link::redis` of its crate and in the room `codec` of that,
    /// `["error", "span"]` in `error`. None for what is not in the house, or is the house.
    fn room(&self, path: &[&str]) -> Option<String> {
        match path.strip_prefix(self.inside)? {
            ["link", kind, ..] if LINKS.contains(kind) => Some(format!("link::{kind}")),
            [first, ..] => Some((*first).to_owned()),
            [] => None,
        }
    }
}

/// What is named by `crate::…` and `super::…`, and where.
fn uses<'a>(source: &'a Source<'_>, path: &[&'a str]) -> Vec<(usize, Vec<&'a str>)> {
    let mut found = Vec::new();
    for at in source.words("crate::") {
        follow(&source.code, at + "crate::".len(), &[], &mut found);
    }
    for at in source.words("super::") {
        // Of `super::super::` each one is met: the first tells how many there are.
        if source
            .code
            .get(..at)
            .is_some_and(|before| before.ends_with("super::"))
        {
            continue;
        }
        let mut end = at;
        let mut base = path;
        while source
            .code
            .get(end..)
            .is_some_and(|rest| rest.starts_with("super::"))
        {
            end += "super::".len();
            base = base.split_last().map_or(base, |(_, above)| above);
        }
        follow(&source.code, end, base, &mut found);
    }
    found
}

/// Reads what follows `base::` at `at`: a name, a path, or several in braces.
fn follow<'a>(code: &'a str, at: usize, base: &[&'a str], found: &mut Vec<(usize, Vec<&'a str>)>) {
    if code.as_bytes().get(at) == Some(&b'{') {
        let end = after_block(code, at) - 1;
        let mut depth = 0_usize;
        let mut is_start = true;
        for (place, letter) in code.char_indices().skip(at + 1) {
            if place >= end {
                return;
            }
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => is_start = true,
                _ if letter.is_whitespace() => {}
                _ if is_start => {
                    is_start = false;
                    follow(code, place, base, found);
                }
                _ => {}
            }
        }
        return;
    }
    let first = name_at(code, at);
    let mut path = base.to_vec();
    match first {
        "self" => {}
        "super" => drop(path.pop()),
        first => path.push(first),
    }
    let next = at + first.len();
    if !first.is_empty() && code.get(next..).is_some_and(|rest| rest.starts_with("::")) {
        follow(code, next + 2, &path, found);
    } else {
        found.push((at, path));
    }
}

/// The modules of the library that its links are built on, and these: they know no others.
pub(crate) fn below_links() -> impl Iterator<Item = &'static str> {
    let above = LIBRARY.iter().skip_while(|floor| !floor.contains(&"link"));
    let count = LIBRARY.len() + 1 - above.count();
    LIBRARY.iter().take(count).copied().flatten().copied()
}

const LINKS: [&str; 3] = ["memory", "file", "redis"];

/// From the ground up. Where the page shows one floor with an arrow inside, here are two.
const HOUSES: [House; 4] = [
    House {
        of: "leasehold-core",
        inside: &[],
        floors: &CORE,
    },
    House {
        of: "leasehold",
        inside: &[],
        floors: &LIBRARY,
    },
    House {
        of: "leasehold",
        inside: &["link", "redis"],
        floors: &REDIS,
    },
    House {
        of: "leasehold",
        inside: &["link", "file"],
        floors: &FILE,
    },
];

const CORE: [&[&str]; 14] = [
    &["hash", "sentence", "few"],
    &["permit"],
    &["time", "node_set", "resource", "owner"],
    &[
        "quorum",
        "timing",
        "retry",
        "quarantine",
        "steps",
        "servers",
        "blockers",
        "leftovers",
        "backoff",
    ],
    &["fence", "node_clock", "queue", "confirmed_nodes"],
    &["request", "lease", "renewal_policy"],
    &["round", "outstanding"],
    &[
        "attempt",
        "outbox",
        "lock_config",
        "nodes",
        "local_queue",
        "discovery",
    ],
    &["inquiry", "table", "repair", "won"],
    &["failure", "agreement", "extension"],
    &["loss", "tries"],
    &["acquisition", "renewal", "releasing"],
    &["operation"],
    &["engine"],
];

const LIBRARY: [&[&str]; 15] = [
    &["sync"],
    &[
        "answer",
        "clock",
        "link",
        "configuration",
        "mode",
        "fence",
        "pages",
        "safety",
        "fork",
        "disks",
    ],
    &["holder"],
    &["alarm", "error"],
    &["options", "outcome", "state", "health"],
    &["cell"],
    &[
        "observe",
        "trace",
        "deadline",
        "guardian",
        "link::memory",
        "link::file",
        "link::redis",
    ],
    &["handle", "conformance", "timestamp"],
    &["shell"],
    &["guard"],
    &["mutex"],
    &["manager"],
    &["detached", "hand_over", "inspection", "work"],
    &["builder", "election", "once", "rwlock", "semaphore"],
    &["blocking", "config", "operate", "testing"],
];

const REDIS: [&[&str]; 14] = [
    &["codec", "kind", "texts", "url"],
    &["heads", "reply", "socket"],
    &["copies", "glance", "native", "succession", "talk"],
    &["look", "scripts"],
    &["greeting", "recall", "rights"],
    &["backlog", "handshake"],
    &["sentinel"],
    &["failover"],
    &["interpreter"],
    &["connection"],
    &["search"],
    &["cluster", "stamp"],
    &["admin_client"],
    &["wire"],
];

const FILE: [&[&str]; 7] = [
    &[
        "contents",
        "descriptor",
        "error",
        "inbox",
        "notifier",
        "process_identity",
        "stopped",
    ],
    &["head", "job", "opening", "record"],
    &["ceiling", "open_lock", "queue"],
    &["counters", "time_namespace"],
    &["store"],
    &["store_directory", "subscriptions"],
    &["worker"],
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Source::new(path, text)).len()
    }

    #[test]
    fn arrows_point_down() {
        let core = "crates/leasehold-core/src/round.rs";
        assert_eq!(
            found(core, "use crate::{time::Instant, quorum::{A, B}};"),
            0
        );
        assert_eq!(
            found(core, "use crate::{time::Instant, engine::{A, B}};"),
            1
        );
        assert_eq!(found(core, "fn f() -> crate::table::Table {}"), 1);
        assert_eq!(found(core, "use crate::round::Turn; // crate::engine"), 0);
        assert_eq!(
            found(core, "#[cfg(test)]\nmod tests {\n use crate::engine::E;\n}"),
            0
        );
    }

    #[test]
    fn links_know_the_trait_but_not_each_other() {
        let memory = "crates/leasehold/src/link/memory.rs";
        assert_eq!(
            found(memory, "use super::Link; use crate::clock::Clock;"),
            0
        );
        assert_eq!(found(memory, "use super::redis::Codec;"), 1);
        assert_eq!(found(memory, "use crate::link::{Link, file::Store};"), 1);
        let codec = "crates/leasehold/src/link/redis/codec.rs";
        assert_eq!(
            found(codec, "use super::{super::Link, super::NodeName};"),
            0
        );
        assert_eq!(found(codec, "use super::super::super::shell::Shell;"), 1);
        assert_eq!(
            found(
                "crates/leasehold/src/link.rs",
                "use crate::link::memory::M;"
            ),
            1
        );
    }

    #[test]
    fn a_room_may_have_floors_inside() {
        let native = "crates/leasehold/src/link/redis/native/lives.rs";
        let file = "crates/leasehold/src/link/file/queue.rs";
        for (path, text, expected) in [
            (
                native,
                "use super::super::{codec::{self, Frame}, reply};",
                0,
            ),
            (native, "use super::{trial::Trial, Native};", 0),
            (native, "use super::super::{codec, recall::Lock};", 1),
            (
                native,
                "use crate::link::redis::{url, scripts::Met, look};",
                2,
            ),
            (native, "fn f() -> crate::link::redis::RedisUrl {}", 0),
            // Another house, which has a room of this name.
            (file, "use super::{record, holder::Holder};", 0),
            (file, "use super::store::Store;", 1),
        ] {
            assert_eq!(found(path, text), expected, "{text}");
        }
    }

    #[test]
    fn a_module_without_a_floor_is_found() {
        assert_eq!(found("crates/leasehold/src/helpers.rs", ""), 1);
        assert_eq!(found("crates/leasehold/src/link/redis/helpers.rs", ""), 1);
        assert_eq!(found("crates/leasehold/src/link/redis.rs", ""), 0);
        assert_eq!(
            found("crates/leasehold/src/lib.rs", "use crate::shell::X;"),
            0
        );
    }
}
