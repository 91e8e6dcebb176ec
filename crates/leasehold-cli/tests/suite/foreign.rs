//! Keys that other programs keep on the same servers.

use crate::support::{Seen, User};
use leasehold_servers::{ServerSet, require_server};

/// Servers on which an application keeps its data, and other libraries their locks.
struct Shared {
    user: User,
    servers: ServerSet,
}

impl Shared {
    fn new() -> Self {
        require_server();
        let shared = Self {
            user: User::new(),
            servers: ServerSet::start(3).expect("they start"),
        };
        for (name, value) in [
            ("session:abc", SECRET),
            ("redsync", "mK3x9Q+fTz0aV7cR1bY8Ug=="),
            ("node-redlock", "9f3a1c0d2b7e4f5a9f3a1c0d2b7e4f5a"),
        ] {
            shared.put(&["SET", name, value, "PX", "60000"]);
        }
        shared.put(&["HSET", "cart:1", "user", SECRET]);
        shared.put(&["HSET", "redisson", THREAD, "1"]);
        shared.put(&["PEXPIRE", "redisson", "60000"]);
        shared
    }

    fn put(&self, words: &[&str]) {
        for server in self.servers.iter() {
            server.command(words).expect("it is taken");
        }
    }

    fn run(&self, words: &[&str]) -> Seen {
        let test = self.user.run(words);
        let seen = test.env("LEASEHOLD_NODES", self.servers.nodes()).end();
        for text in [&seen.stdout, &seen.stderr] {
            assert!(!text.contains("hunter2"), "{words:?}: {seen:?}");
        }
        seen
    }

    fn has(&self, name: &str) -> bool {
        let mut servers = self.servers.iter();
        servers.all(|server| {
            server
                .command(&["EXISTS", name])
                .expect("it answers")
                .integer()
                == Some(1)
        })
    }
}

const SECRET: &str = "user=7;password=hunter2";
const THREAD: &str = "b5c1a9e2-3f04-4a57-9d1e-0c2b7e4f5a9f:71";

#[test]
fn other_peoples_data_are_no_locks() {
    let shared = Shared::new();
    shared
        .run(&["list"])
        .assert(0, "", "leasehold: nothing is locked\n");
    shared.run(&["list", "--json"]).assert(0, "", "");
    let once = shared.run(&["watch", "--once"]);
    assert!(once.stdout.contains("nothing is locked"), "{once:?}");
    for name in ["session:abc", "redsync", "redisson"] {
        let seen = shared.run(&["status", name]);
        assert_eq!(seen.code, 121, "it is not to be had: {seen:?}");
        let line = format!("{name:?} is held by another program\n");
        assert!(seen.stdout.starts_with(&line), "{seen:?}");
        let is_lock = name != "session:abc";
        assert_eq!(seen.stderr.contains("hint: --foreign"), is_lock, "{seen:?}");
        let json = shared.run(&["status", "--json", name]);
        for part in ["\"holder\":\"another program\"", "\"owner\":null"] {
            assert!(json.stdout.contains(part), "no {part} in {json:?}");
        }
        for value in ["mK3x9", "b5c1a9e2"] {
            assert!(!json.stdout.contains(value), "{json:?}");
        }
        let words = ["run", "--wait", "300ms", name, "--", "true"];
        let seen = shared.run(&words);
        let by = if name == "redisson" {
            "elsewhere"
        } else {
            "by another program"
        };
        seen.assert_says(124, &["still held after ", by]);
        let seen = shared.run(&["run", "--no-wait", name, "--", "true"]);
        assert_eq!(seen.code, 121, "{seen:?}");
        let seen = shared.run(&["wait", "--wait", "300ms", name]);
        seen.assert_says(124, &["still held by another program"]);
        let seen = shared.run(&["force-release", "--yes", name]);
        let hint = match name {
            "redsync" => "hint: --foreign",
            "redisson" => "hint: it is a lock of Redisson",
            _ => "hint: it is no text that a known lock library writes",
        };
        seen.assert_says(2, &["is not a leasehold lock; nothing was changed", hint]);
        assert!(shared.has(name));
    }
}

#[test]
fn data_that_hide_what_is_locked_do_not_make_it_free() {
    let shared = Shared::new();
    let seen = shared.run(&["list", "--most", "1"]);
    let says = [
        "has more than 1 keys that may be locks",
        "no lock is among the keys that were read",
    ];
    seen.assert_says(125, &says);
    assert!(!seen.stderr.contains("nothing is locked"), "{seen:?}");
    let hint = "hint: `leasehold list PREFIX` reads only keys of names that begin so; --most";
    assert_eq!(seen.stderr.matches(hint).count(), 1, "{seen:?}");
    let with_prefix = shared.run(&["list", "--most", "0", "session"]);
    with_prefix.assert_says(125, &["hint: a longer PREFIX reads fewer keys; --most"]);
}

#[test]
fn whoever_may_not_ask_for_the_type_counts_it_as_held() {
    let shared = Shared::new();
    let rights = ["+@all", "-type", "-hlen", "-hkeys"];
    shared.put(&[&["ACL", "SETUSER", "u", "on", ">p", "~*"], &rights[..]].concat());
    let nodes = shared.servers.nodes().replace("redis://", "redis://u:p@");
    let run = |words: &[&str]| shared.user.run(words).env("LEASEHOLD_NODES", &nodes).end();
    for name in ["cart:1", "redisson"] {
        run(&["run", "--wait", "300ms", name, "--", "true"]).assert_says(124, &["still held"]);
        let seen = run(&["status", name]);
        assert!(seen.stdout.contains("a key that is no lock"), "{seen:?}");
        assert_ne!(seen.code, 0, "{seen:?}");
    }
}

#[test]
fn locks_of_other_libraries_are_shown_and_deleted_for_those_who_ask_for_them() {
    let shared = Shared::new();
    let all = shared.run(&["list", "--foreign"]);
    let holders = all.stdout.lines().skip(1).map(|line| {
        let (name, rest) = line.split_once(' ').unwrap_or_default();
        let holder = rest.split_once("owner ").unwrap_or_default().1;
        format!("{name}: {holder}")
    });
    let expected = [
        "node-redlock: 9f3a1c0d…, of another library",
        "redisson: b5c1a9e2…:71, of another library",
        "redsync: mK3x9Q+f…, of another library",
    ];
    assert_eq!(holders.collect::<Vec<_>>(), expected, "{all:?}");
    let json = shared.run(&["status", "--foreign", "--json", "redsync"]);
    assert!(json.stdout.contains("\"owner\":\"mK3x9Q+f…\""), "{json:?}");
    assert!(!json.stdout.contains("mK3x9Q+fT"), "{json:?}");
    let seen = shared.run(&["force-release", "--foreign", "redsync"]);
    seen.assert_says(
        2,
        &[
            "held by owner mK3x9Q+f…, of another library",
            "was written by another program; it may be no lock but other data",
            "hint: --yes",
        ],
    );
    assert!(shared.has("redsync"));
    let seen = shared.run(&["force-release", "--foreign", "--yes", "redsync"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(!shared.has("redsync"));
    for name in ["session:abc", "redisson"] {
        let seen = shared.run(&["force-release", "--foreign", "--yes", name]);
        seen.assert_says(2, &["nothing was changed"]);
        assert!(shared.has(name));
    }
}

#[test]
fn a_key_of_another_type_is_told_at_once_and_not_waited_for() {
    let shared = Shared::new();
    for words in [
        &["run", "cart:1", "--", "true"][..],
        &["run", "--no-wait", "cart:1", "--", "true"],
        &["run", "--fair", "cart:1", "--", "true"],
        &["elect", "cart:1", "--", "true"],
        &["wait", "cart:1"],
    ] {
        let seen = shared.run(words);
        seen.assert_says(2, &["leasehold: \"cart:1\" is a hash, not a lock\nhint: "]);
    }
    let seen = shared.run(&["status", "cart:1"]);
    assert_eq!(seen.code, 2, "{seen:?}");
    assert!(
        seen.stdout
            .starts_with("\"cart:1\" is a hash, not a lock\n"),
        "{seen:?}"
    );
    let json = shared.run(&["status", "--json", "cart:1"]);
    for part in ["\"state\":\"other\"", "\"key\":\"other\",\"type\":\"hash\""] {
        assert!(json.stdout.contains(part), "no {part} in {json:?}");
    }
    let seen = shared.run(&["force-release", "--foreign", "--yes", "cart:1"]);
    seen.assert_says(2, &["is a hash, not a lock"]);
    assert!(shared.has("cart:1"));
}

#[test]
fn whoever_loses_the_lock_to_other_data_is_not_told_what_they_are() {
    let shared = Shared::new();
    let words = [
        "run",
        "--ttl",
        "1s",
        "demo",
        "--",
        "sh",
        "-c",
        "echo; sleep 9",
    ];
    let test = shared.user.run(&words);
    let mut run = test.env("LEASEHOLD_NODES", shared.servers.nodes()).start();
    run.line();
    shared.put(&["SET", "demo", SECRET]);
    let seen = run.end();
    seen.assert_says(123, &["lost the lock \"demo\""]);
    assert!(!seen.stderr.contains("hunter2"), "{seen:?}");
}

#[test]
fn a_key_without_an_end_is_not_called_one_that_a_wait_sees_the_end_of() {
    let shared = Shared::new();
    shared.put(&["SET", "stays", SECRET]);
    let stays = "; its key has no TTL, and stays until somebody deletes it\n";
    let hint = "hint: find out which program has set the key";
    let words = "run -n stays -- true";
    let once: Vec<_> = words.split(' ').collect();
    let seen = shared.run(&once);
    seen.assert_says(121, &[stays, hint]);
    assert!(!seen.stderr.contains("--wait 30s"), "{seen:?}");
    let words = "run -v --wait 500ms stays -- true";
    let within: Vec<_> = words.split(' ').collect();
    let seen = shared.run(&within);
    seen.assert_says(124, &["waiting for \"stays\": ", stays, hint]);
    let plain = shared.run(&[&["run", "--plain"], &once[1..]].concat());
    plain.assert_says(121, &[stays, hint]);
    // One that ends is waited for.
    shared.put(&["PEXPIRE", "stays", "60000"]);
    let seen = shared.run(&once);
    seen.assert_says(121, &["hint: --wait 30s waits for it"]);
    assert!(!seen.stderr.contains("no TTL"), "{seen:?}");
}
