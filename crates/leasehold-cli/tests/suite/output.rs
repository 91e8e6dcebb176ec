//! Output that cannot be written.

use crate::support::{Seen, User, commands};
use leasehold::clock::Clock;
use leasehold_servers::{ServerSet, require_server};
use std::time::Duration;

/// Servers, and a user who has told the command of them.
struct Site {
    user: User,
    servers: ServerSet,
}

impl Site {
    fn new() -> Self {
        require_server();
        let servers = ServerSet::start(1).expect("it starts");
        let user = User::new();
        Self { user, servers }
    }

    fn end(&self, words: &[&str]) -> Seen {
        self.redirected("", words)
    }

    /// A run whose standard output goes there.
    fn redirected(&self, redirection: &str, words: &[&str]) -> Seen {
        let script = format!("exec \"$@\" {redirection}");
        let shell = ["-c", &script, "sh", env!("CARGO_BIN_EXE_leasehold")];
        let test = self.user.run_in("sh", &shell, words);
        test.env("LEASEHOLD_NODES", self.servers.nodes()).end()
    }

    /// The owner of a lock that was acquired for this.
    fn acquire(&self, resource: &str) -> String {
        let seen = self.end(&["acquire", "--ttl", "20s", resource]);
        let mut lines = seen.stdout.lines();
        let owner = lines.find_map(|line| line.strip_prefix("LEASEHOLD_OWNER="));
        owner.expect("it prints four lines").to_owned()
    }
}

/// What has something to write.
const WRITING: &[&str] = &[
    "help run",
    "hold --json free",
    "hold free",
    "acquire free",
    "acquire --json free",
    "extend --owner OWNER held",
    "extend --json --owner OWNER held",
    "elect --observe held",
    "elect --observe --json held",
    "status held",
    "status --json held",
    "list",
    "list --json",
    "wait --json free",
    "watch --once",
    "watch --once --json",
    "watch",
    "doctor",
    "doctor --json",
    "bench --for 200ms",
    "bench --for 200ms --json",
    "admit --yes",
    "reconfigure --yes",
    "servers start -n 1",
    "servers status",
    "servers status --nodes",
    "completions bash",
    "man",
    "--version",
    "run --help",
];

/// What ends a lock, and says so.
const CHANGING: [&str; 2] = [
    "force-release --yes held",
    "release --json --owner OWNER held",
];

/// What has not.
const SILENT: [&str; 2] = ["run free -- true", "servers stop"];

#[test]
fn output_that_cannot_be_written_is_a_failure_of_every_command() {
    for (redirection, why) in [
        (">/dev/full", "No space left on device"),
        (">&-", "Bad file descriptor"),
        ("1</dev/null", "Bad file descriptor"),
    ] {
        let site = Site::new();
        let with = |line: &str, owner: &str| {
            let line = line.replace("OWNER", owner);
            let words: Vec<_> = line.split(' ').collect();
            site.redirected(redirection, &words)
        };
        let mut owner = site.acquire("held");
        for line in WRITING {
            with(line, &owner).assert_says(125, &[why]);
        }
        let rehearsed = with("reconfigure --dry-run", &owner);
        rehearsed.assert_says(125, &[why]);
        assert!(!rehearsed.stderr.contains("has been done"), "{rehearsed:?}");
        for line in SILENT {
            let seen = with(line, &owner);
            assert_eq!(seen.code, 0, "{line}: {seen:?}");
        }
        for line in CHANGING {
            with(line, &owner).assert_says(125, &[why, "has been done all the same"]);
            assert_eq!(site.end(&["status", "held"]).code, 0, "{line}");
            owner = site.acquire("held");
        }
        // Nothing was left by those who take a lock.
        assert_eq!(site.end(&["status", "free"]).code, 0);
    }
}

#[test]
fn every_command_is_asked_to_write_what_cannot_be_written() {
    let lines = [WRITING, &CHANGING, &SILENT].concat();
    for name in commands() {
        let is_there = |line: &&str| line.split(' ').next() == Some(&*name);
        assert!(lines.iter().any(is_there), "{name} is not tried");
    }
}

#[test]
fn a_reader_that_has_gone_away_ends_a_command_without_a_word() {
    let site = Site::new();
    let script = "{ sleep 0.2; \"$@\"; echo $? >&2; } | true";
    let shell = ["-c", script, "sh", env!("CARGO_BIN_EXE_leasehold")];
    for line in ["man", "doctor", "status x", "watch"] {
        let words: Vec<_> = line.split(' ').collect();
        let test = site.user.run_in("sh", &shell, &words);
        let seen = test.env("LEASEHOLD_NODES", site.servers.nodes()).end();
        // As every tool that SIGPIPE ends, by the shell's count.
        seen.assert(0, "", "141\n");
    }
    // What has been done is told, so that nobody does it again.
    let (owner, _) = (site.acquire("released"), site.acquire("forced"));
    for words in [
        &["release", "released", "--json", "--owner", &owner][..],
        &["admit", "--yes"],
        &["force-release", "forced", "--yes"],
    ] {
        let test = site.user.run_in("sh", &shell, words);
        let seen = test.env("LEASEHOLD_NODES", site.servers.nodes()).end();
        seen.assert_says(
            0,
            &["has gone away", "has been done all the same", "\n141\n"],
        );
    }
    for name in ["released", "forced"] {
        assert_eq!(site.end(&["status", name]).code, 0, "{name}");
    }
    // A lock whose owner nobody reads is given back, and that is worth a word.
    for verb in ["acquire", "hold"] {
        let test = site.user.run_in("sh", &shell, &[verb, "demo"]);
        let seen = test.env("LEASEHOLD_NODES", site.servers.nodes()).end();
        seen.assert_says(0, &["cannot print whose lock \"demo\" is", "\n125\n"]);
        assert_eq!(site.end(&["status", "demo"]).code, 0, "{verb}");
    }
}

#[test]
fn a_run_whose_talk_nobody_reads_starts_its_command_and_ends() {
    let user = User::new();
    // As much as a pipe takes, so that not one byte more can be written.
    let script = "head -c 65536 /dev/zero >&2; exec \"$@\"";
    let shell = ["-c", script, "sh", env!("CARGO_BIN_EXE_leasehold")];
    let words = ["run", "-v", "--ttl", "1s", "demo", "--", "sh", "-c"];
    let words = [&words[..], &["echo hi; sleep 1.5; echo done"]].concat();
    let mut run = user.run_in("sh", &shell, &words).start();
    assert_eq!((run.line(), run.line()), ("hi".into(), "done".into()));
    assert_eq!(run.end_alone(), 0);
    let next = user.run(&["run", "-n", "demo", "--", "true"]).end();
    assert_eq!(next.code, 0, "{next:?}");
    // A quarter of a second is what the pipe may cost it. Without that limit it would wait for a reader for ever.
    let words = ["run", "-v", "demo", "--", "true"];
    let clock = Clock::system();
    let begun = clock.now();
    let run = user.run_in("sh", &shell, &words).start();
    assert_eq!(run.end_alone(), 0);
    let took = clock.now().saturating_since(begun);
    assert!(took < Duration::from_secs(10), "{took:?}");
}
