//! What `leasehold run` can be told of waiting, holding and losing.

use crate::support::{User, lives, now, wait_until};
use leasehold_servers::{ServerSet, require_server};
use std::time::Duration;

#[test]
fn the_exit_code_for_a_held_lock_can_be_chosen() {
    let user = User::new();
    let script = "echo up; exec sleep 30";
    let mut holder = user.run(&["run", "demo", "--", "sh", "-c", script]).start();
    assert_eq!(holder.line(), "up");
    let codes: [(&[&str], i32); 7] = [
        (&["-n"], 121),
        (&["-n", "-E", "0"], 0),
        (&["--no-wait", "--conflict-exit-code", "77"], 77),
        (&["-w", "100ms", "-E", "1"], 1),
        // As flock calls them.
        (&["--nb"], 121),
        (&["--nonblock"], 121),
        (&["--timeout", "100ms"], 124),
    ];
    for (flags, code) in codes {
        let words = [&["run"], flags, &["demo", "--", "echo", "never"]].concat();
        let seen = user.run(&words).end();
        assert_eq!((seen.code, seen.stdout.as_str()), (code, ""), "{flags:?}");
    }
    // Of the lock's other troubles it does not speak.
    let words = [
        "run",
        "-n",
        "-E",
        "0",
        "--nodes",
        "127.0.0.1:1",
        "demo",
        "--",
        "true",
    ];
    assert_eq!(user.run(&words).end().code, 122);
    holder.signal(rustix::process::Signal::TERM);
    assert_eq!(holder.end().code, -15);
}

#[test]
fn who_wants_to_be_told_of_errors_alone_is_told_of_nothing_else() {
    let user = User::new();
    user.run(&["run", "-q", "demo", "--", "echo", "hi"])
        .end()
        .assert(0, "hi\n", "");
    let script = "echo up; exec sleep 30";
    let words = ["run", "--quiet", "demo", "--", "sh", "-c", script];
    let mut holder = user.run(&words).start();
    assert_eq!(holder.line(), "up");
    // As with flock, nobody hears of a job that is skipped.
    let words = ["run", "-q", "-n", "-E", "0", "demo", "--", "echo", "never"];
    user.run(&words).end().assert(0, "", "");
    let words = [
        "run", "-q", "-w", "1100ms", "-E", "0", "demo", "--", "echo", "never",
    ];
    user.run(&words).end().assert(0, "", "");
    // What ends with another code is an error.
    for verb in ["run", "hold", "elect"] {
        let words = [verb, "-q", "--config", "/nowhere", "demo", "--", "true"];
        let words = &words[..if verb == "hold" { 5 } else { 7 }];
        let seen = user.run(words).end();
        assert_eq!((seen.code, seen.stderr.lines().count()), (2, 1), "{seen:?}");
    }
    let seen = user.run(&["hold", "-q", "-n", "demo"]).end();
    assert!(
        seen.stderr
            .starts_with("leasehold: cannot lock \"demo\": held by pid ")
    );
    assert_eq!(seen.code, 121, "{seen:?}");
    let seen = user.run(&["wait", "-q", "--wait", "50ms", "demo"]).end();
    assert!(
        seen.stderr
            .starts_with("leasehold: after 50 ms, \"demo\" is still held by ")
    );
    assert_eq!(seen.code, 124, "{seen:?}");
    holder.signal(rustix::process::Signal::TERM);
    assert_eq!(
        holder.end(),
        crate::support::Seen {
            code: -15,
            stdout: String::new(),
            stderr: String::new()
        }
    );
    user.run(&["wait", "-q", "demo"]).end().assert(0, "", "");
    let seen = user.run(&["run", "-q", "-v", "demo", "--", "true"]).end();
    seen.assert_says(2, &["'--quiet' cannot be used with '--verbose'"]);
}

#[test]
fn a_short_job_keeps_the_lock_for_as_long_as_asked() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let run = |hold: &str, name: &str| {
        let words = [
            "run",
            "--nodes",
            &nodes,
            "--min-hold",
            hold,
            name,
            "--",
            "true",
        ];
        user.run(&words).end().code
    };
    let started = now();
    assert_eq!(run("20s", "other"), 0);
    let took = started.elapsed();
    assert!(took < Duration::from_secs(20), "it waited itself: {took:?}");
    let started = now();
    assert_eq!(run("1s", "demo"), 0);
    let try_once = ["run", "-n", "--nodes", &nodes, "demo", "--", "true"];
    assert_eq!(user.run(&try_once).end().code, 121);
    wait_until(|| user.run(&try_once).end().code == 0);
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_short_job_on_this_machine_keeps_the_lock_for_as_long_as_asked() {
    let user = User::new();
    let started = now();
    let words = ["run", "--min-hold", "1s", "demo", "--", "echo", "done"];
    let mut run = user.run(&words).start();
    assert_eq!(run.line(), "done");
    let try_once = ["run", "-n", "demo", "--", "true"];
    assert_eq!(user.run(&try_once).end().code, 121);
    assert_eq!(run.end().code, 0);
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(user.run(&try_once).end().code, 0);
    // A signal ends it before its time.
    let words = ["run", "--min-hold", "1h", "demo", "--", "echo", "done"];
    let mut run = user.run(&words).start();
    assert_eq!(run.line(), "done");
    for says in [
        "no nodes given",
        "hint: --local",
        "keeping \"demo\" for 59 min",
    ] {
        let line = run.error_line();
        assert!(line.contains(says), "{line}");
    }
    run.signal(rustix::process::Signal::TERM);
    wait_until(|| user.run(&try_once).end().code == 0);
    assert_ne!(run.end().code, 125);
}

/// A command on three servers, of which two hang. Tells how long its group lived on, and the end.
fn lose(more: &[&str], script: &str) -> (Duration, crate::support::Seen) {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let words = [
        &["run", "--ttl", "6s", "--nodes", &nodes],
        more,
        &["demo", "--", "sh", "-c", script],
    ];
    let mut run = user.run(&words.concat()).start();
    let group = run.pid();
    for server in &servers[..2] {
        server.kill().expect("it runs");
    }
    let started = now();
    wait_until(|| !lives(group));
    (started.elapsed(), run.end())
}

#[test]
fn a_command_that_is_to_be_killed_is_not_asked() {
    let script = "trap 'echo asked' TERM; echo $$; while :; do sleep 0.01; done";
    let (lived, seen) = lose(&["--on-loss", "kill"], script);
    seen.assert_says(123, &["; the command was ended"]);
    assert_eq!(seen.stdout, "");
    // A tenth of the TTL before its end, and the machine has as long to do it.
    assert!(lived < Duration::from_secs(6), "{lived:?}");
}

#[test]
fn a_command_that_may_run_on_does_and_its_code_is_not_the_end() {
    let script = "echo $$; sleep 7; echo done";
    let (lived, seen) = lose(&["--on-loss", "warn"], script);
    assert_eq!(seen.stdout, "done\n");
    assert!(lived > Duration::from_secs(6), "{lived:?}");
    seen.assert_says(
        123,
        &[
            "leasehold: warning: lost the lock \"demo\"; the command runs on without it",
            "; the command ran on without it, as --on-loss warn says",
        ],
    );
}

#[test]
fn a_grace_is_the_time_between_request_and_force() {
    // Of six seconds 0.6 are kept for SIGKILL, and 0.8 are given.
    let script = "trap 'date +%s%N' TERM; echo $$; while :; do date +%s%N >&2; sleep 0.01; done";
    let (_, seen) = lose(&["--grace", "800ms"], script);
    let nanos = |text: &str| text.parse::<u64>().ok();
    let asked = seen.stdout.lines().find_map(nanos).expect("it was asked");
    let last = seen.stderr.lines().filter_map(nanos).max();
    let grace = Duration::from_nanos(last.expect("it wrote") - asked);
    // A busy machine may begin to ask, and to kill, late.
    let about = Duration::from_millis(550)..Duration::from_secs(4);
    assert!(about.contains(&grace), "{grace:?}");
}

#[test]
fn a_command_whose_keys_are_gone_still_gets_its_grace() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let script = "trap 'sleep 0.5; echo clean; exit' TERM; sleep 0.3; echo up; \
                  while :; do sleep 0.01; done";
    let words = ["run", "--nodes", &nodes, "demo", "--", "sh", "-c", script];
    let mut run = user.run(&words).start();
    assert_eq!(run.line(), "up");
    for server in servers.iter() {
        server.command(&["DEL", "demo"]).expect("it answers");
    }
    let seen = run.end();
    assert_eq!(seen.stdout, "clean\n", "{seen:?}");
    seen.assert_says(123, &["lost the lock", "the command was ended"]);
}

#[test]
fn whoever_wants_to_know_is_told_of_waits_and_the_leases_life() {
    let user = User::new();
    // So long that the other is there in time, however busy the machine is.
    let script = "echo up; sleep 2";
    let mut holder = user.run(&["run", "demo", "--", "sh", "-c", script]).start();
    assert_eq!(holder.line(), "up");
    let words = ["run", "-v", "--ttl", "600ms", "demo", "--", "sleep", "0.6"];
    let seen = user.run(&words).end();
    seen.assert_says(
        0,
        &[
            "leasehold: waiting for \"demo\": held by pid ",
            "leasehold: locked \"demo\" after ",
            ": token ",
            "leasehold: extended \"demo\": valid for ",
            "leasehold: released \"demo\"\n",
        ],
    );
    assert_eq!(holder.end().code, 0);
}
