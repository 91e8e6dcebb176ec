//! The floors of docs/ARCHITECTURE.md: a module may use what is below it, not its neighbours.

use super::{
    Finding,
    source::{Source, after_block, name_at},
};

pub(super) fn check(source: &Source<'_>) -> Vec<Finding> {
    let Some((name, path)) = source.module() else {
        return Vec::new();
    };
    let Some((_, floors)) = CRATES.iter().find(|(other, _)| *other == name) else {
        return Vec::new();
    };
    let room = room(&path);
    let Some(height) = height(floors, &room) else {
        let what = format!("`{room}` is on no floor; give it one in xtask/src/tidy/floors.rs");
        return vec![source.finding(0, what)];
    };
    let mut found = Vec::new();
    for (at, target) in uses(source, &path) {
        // A room is free inside, and tests may use everything.
        if target == room || source.is_test(at) {
            continue;
        }
        // What has no floor is an item of the crate root, or found as a file of its own.
        if self::height(floors, &target).is_some_and(|other| other >= height) {
            let what = format!("`{room}` uses `{target}`, which is not below it; turn the arrow");
            found.push(source.finding(at, what));
        }
    }
    found
}

fn height(floors: &[&[&str]], room: &str) -> Option<usize> {
    floors.iter().position(|floor| floor.contains(&room))
}

/// `["link", "redis", "codec"]` is in the room `link::redis`, `["error", "span"]` in `error`.
fn room(path: &[&str]) -> String {
    match path {
        ["link", kind, ..] if LINKS.contains(kind) => format!("link::{kind}"),
        [first, ..] => (*first).to_owned(),
        [] => String::new(),
    }
}

/// The rooms that are named by `crate::…` and `super::…`, and where.
fn uses(source: &Source<'_>, path: &[&str]) -> Vec<(usize, String)> {
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
fn follow(code: &str, at: usize, base: &[&str], found: &mut Vec<(usize, String)>) {
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
    path.push(first);
    let next = at + first.len();
    if code.get(next..).is_some_and(|rest| rest.starts_with("::")) && path == LINK_PARENT {
        follow(code, next + 2, &path, found);
    } else {
        found.push((at, room(&path)));
    }
}

type Floors = &'static [&'static [&'static str]];

const LINK_PARENT: [&str; 1] = ["link"];
const LINKS: [&str; 3] = ["memory", "file", "redis"];

/// From the ground up. Where the page shows one floor with an arrow inside, here are two.
const CRATES: [(&str, Floors); 2] = [("leasehold-core", &CORE), ("leasehold", &LIBRARY)];

const CORE: [&[&str]; 13] = [
    &["hash", "sentence", "few"],
    &["time", "node_set", "resource", "owner"],
    &[
        "quorum",
        "terms",
        "retry",
        "timers",
        "quarantine",
        "steps",
        "servers",
        "lookout",
        "backoff",
    ],
    &["fence", "node_clock", "queue", "standing"],
    &["request", "lease", "upkeep"],
    &["round"],
    &[
        "claim",
        "outbox",
        "plan",
        "nodes",
        "local_queue",
        "discovery",
    ],
    &["inquiry", "table", "repair", "won"],
    &["failure", "agreement", "extension"],
    &["loss", "tries"],
    &["acquisition", "renewal", "withdrawal"],
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
    ],
    &["holder"],
    &["alarm", "error"],
    &["options", "outcome", "state", "health"],
    &["cell"],
    &[
        "observe",
        "trace",
        "deadline",
        "link::memory",
        "link::file",
        "link::redis",
    ],
    &["handle", "conformance", "timestamp"],
    &["shell"],
    &["guard"],
    &["mutex", "rwlock", "semaphore", "multi", "election"],
    &["manager"],
    &["detached", "hand_over", "inspection", "work"],
    &["builder"],
    &["blocking", "config", "operate", "testing"],
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
        assert_eq!(found(codec, "use super::{super::Link, reply::Reply};"), 0);
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
    fn a_module_without_a_floor_is_found() {
        assert_eq!(found("crates/leasehold/src/helpers.rs", ""), 1);
        assert_eq!(
            found("crates/leasehold/src/lib.rs", "use crate::shell::X;"),
            0
        );
    }
}
