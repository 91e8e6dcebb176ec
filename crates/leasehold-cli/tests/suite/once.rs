//! Commands that are run once in each period, on whichever machine comes first.

use crate::support::{Seen, Test, User};
use leasehold_servers::{ServerSet, require_server};
use std::{fs, time::SystemTime};

/// A machine with servers in common, and a file in which each run of the command leaves a letter.
struct Place {
    user: User,
    servers: ServerSet,
    /// How much later than the hours the periods begin.
    offset: String,
}

impl Place {
    fn new() -> Self {
        require_server();
        Self {
            user: User::new(),
            servers: ServerSet::start(5).expect("they start"),
            offset: offset(),
        }
    }

    fn run(&self, words: &[&str]) -> Test {
        let flags = ["run", "--once-per", "1h", "--period-offset", &self.offset];
        let run = self.user.run(&[&flags, words].concat());
        run.env("LEASEHOLD_NODES", self.servers.nodes())
    }

    /// Whether it is run if it comes now, and then ends with this code.
    #[track_caller]
    fn tries(&self, code: i32) -> Seen {
        let script = format!("printf x >> {}; exit {code}", self.user.path("runs"));
        self.run(&["job", "--", "sh", "-c", &script]).end()
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.user.path("runs")).map_or(0, |runs| runs.len())
    }
}

/// Periods begin a minute ago: at the end of one, work that is done looks like work that is being done.
fn offset() -> String {
    const HOUR: u64 = 60 * 60;
    let now = SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
    format!("{}s", (now.as_secs() - 60) % HOUR)
}

#[test]
fn a_command_that_succeeds_is_not_run_again_and_one_that_fails_is() {
    let place = Place::new();
    assert_eq!((place.tries(7).code, place.runs()), (7, 1));
    assert_eq!((place.tries(0).code, place.runs()), (0, 2));
    // One of five servers dies, which changes nothing.
    place.servers[0].kill().expect("it runs");
    for quiet in [false, true] {
        let flag: &[&str] = if quiet { &["-q"] } else { &[] };
        let words = [flag, &["job", "--", "false"]].concat();
        let seen = place.run(&words).end();
        match quiet {
            true => assert_eq!((seen.code, seen.stderr.as_str()), (0, "")),
            false => seen.assert_says(
                0,
                &[
                    "leasehold: \"job\": done in this period by pid ",
                    "; the next one begins in ",
                ],
            ),
        }
    }
    // Others are kept out as well, and are told for how long.
    let seen = place.user.run(&["run", "-n", "job", "--", "true"]);
    let seen = seen.env("LEASEHOLD_NODES", place.servers.nodes()).end();
    let told = "leasehold: cannot lock \"job\": kept, since its work was done by pid ";
    seen.assert_says(121, &[told]);
    let seen = place.user.run(&["status", "job"]);
    let seen = seen.env("LEASEHOLD_NODES", place.servers.nodes()).end();
    for part in [
        "\"job\" is kept, since its work was done by pid ",
        ", until the next period\n",
    ] {
        assert!(seen.stdout.contains(part), "{seen:?}");
    }
    assert_eq!(place.runs(), 2);
}

#[test]
fn who_looks_is_told_that_the_work_is_done_and_never_that_the_lock_is_held() {
    let place = Place::new();
    assert_eq!(place.tries(0).code, 0);
    let phrase = "kept, since its work was done by pid ";
    let end = |words: &[&str]| {
        let run = place.user.run(words);
        run.env("LEASEHOLD_NODES", place.servers.nodes()).end()
    };
    for (words, code) in [
        (&["status", "job"][..], 121),
        (&["list"], 0),
        (&["watch", "--once"], 0),
        (&["wait", "--wait", "1ms", "job"], 124),
        (&["force-release", "job"], 2),
    ] {
        let seen = end(words);
        let said = format!("{}{}", seen.stdout, seen.stderr);
        assert_eq!(seen.code, code, "{seen:?}");
        assert!(said.contains(phrase) && !said.contains("held"), "{seen:?}");
    }
    // What is left of the period is no time that somebody waits.
    let seen = end(&["run", "-n", "job", "--", "true"]);
    seen.assert_says(
        121,
        &["cannot lock \"job\": kept, since its work was done by pid "],
    );
    assert!(!seen.stderr.contains("hint: "), "{seen:?}");
    for words in [&["status", "--json", "job"][..], &["list", "--json"]] {
        let seen = end(words);
        assert!(seen.stdout.contains("\"state\":\"done\""), "{seen:?}");
    }
    let seen = end(&["force-release", "--yes", "job"]);
    let gone = seen.stdout.starts_with("mark of pid ") && seen.stdout.contains("\treleased by ");
    assert!(seen.code == 0 && gone, "{seen:?}");
    assert_eq!((place.tries(0).code, place.runs()), (0, 2));
}

#[test]
fn who_waits_while_it_runs_does_not_run_it_again() {
    let place = Place::new();
    let words = ["job", "--", "sh", "-c", "echo in; read line; true"];
    let mut first = place.run(&words).keeping_stdin();
    assert_eq!(first.line(), "in");
    let mut second = place.run(&["job", "--", "false"]).start();
    let said = second.error_line();
    assert!(
        said.starts_with("leasehold: waiting for \"job\": held by pid "),
        "{said}"
    );
    first.close_stdin();
    assert_eq!(first.end().code, 0);
    second
        .end()
        .assert_says(0, &["leasehold: \"job\": done in this period by pid "]);
}

#[test]
fn a_command_that_is_ended_by_a_signal_has_not_succeeded() {
    let place = Place::new();
    let ended = place.run(&["job", "--", "sh", "-c", "kill -TERM $$"]).end();
    assert_ne!(ended.code, 0);
    assert_eq!((place.tries(0).code, place.runs()), (0, 1));
}

#[test]
fn however_a_run_waits_it_is_told_that_the_command_was_run() {
    let place = Place::new();
    assert_eq!(place.tries(0).code, 0);
    for flags in [
        &["-n"][..],
        &["-w", "10s"],
        &["-n", "-E", "9"],
        &["--fair"],
        &["-v"],
    ] {
        let seen = place.run(&[flags, &["job", "--", "false"]].concat()).end();
        seen.assert_says(0, &["\"job\": done in this period by pid "]);
    }
    // What the command left behind may ask again.
    let inner = env!("CARGO_BIN_EXE_leasehold");
    let offset = &place.offset;
    let once = format!("{inner} run --once-per 1h --period-offset {offset} other -- true");
    let script = format!("{once} && {inner} run -n other -- true");
    let seen = place.run(&["third", "--", "sh", "-c", &script]).end();
    seen.assert_says(
        121,
        &["cannot lock \"other\": kept, since its work was done by pid "],
    );
}

#[test]
fn too_few_servers_that_know_of_it_are_told() {
    let place = Place::new();
    let words = ["job", "--", "sh", "-c", "echo in; read line; true"];
    let mut run = place.run(&words).keeping_stdin();
    assert_eq!(run.line(), "in");
    for server in &place.servers[..3] {
        server.kill().expect("it runs");
    }
    run.close_stdin();
    let told = "leasehold: warning: the work is done, and may be done again in this period: lock \"job\": ";
    run.end().assert_says(0, &[told]);
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_is_run() {
    let user = User::new();
    let words = ["run", "--local", "--once-per", "1h", "job", "--", "true"];
    let seen = user.run(&words).end();
    seen.assert_says(
        2,
        &["--once-per needs servers: in a file on this machine a lock ends with its process"],
    );
    for (period, told) in [("10ms", "shorter than 1s"), ("31d", "longer than 30 days")] {
        let seen = user
            .run(&["run", "--once-per", period, "job", "--", "true"])
            .end();
        seen.assert_says(2, &[told]);
    }
    let words = ["run", "--once-per", "1h", "a", "b", "--", "true"];
    let seen = user
        .run(&words)
        .env("LEASEHOLD_NODES", "redis://127.0.0.1:1")
        .end();
    seen.assert_says(
        2,
        &["several names are locked together cannot be done once"],
    );
    let words = ["run", "--period-offset", "1h", "job", "--", "true"];
    user.run(&words).end().assert_says(2, &["--once-per"]);
    let words = ["run", "--shared", "--once-per", "1h", "job", "--", "true"];
    user.run(&words)
        .end()
        .assert_says(2, &["cannot be used with"]);
}
