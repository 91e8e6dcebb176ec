//! A lease that is lost while the command runs.

use crate::support::{User, end_group, lives, now, wait_until};
use leasehold_servers::{Mode, Proxy, Sentinel, Server, ServerSet, require_server};
use rustix::process::Signal;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(4);

/// Three of five servers die under a command. Tells how long its group lived on.
fn lose(script: &str) -> Duration {
    require_server();
    let servers = ServerSet::start(5).expect("they start");
    let user = User::new();
    let nodes = servers.nodes();
    let words = [
        "run", "--ttl", "4s", "--nodes", &nodes, "demo", "--", "sh", "-c", script,
    ];
    let mut run = user.run(&words).start();
    let group = run.pid();
    for server in &servers[..3] {
        server.kill().expect("it runs");
    }
    // From here on no extension can be won.
    let started = now();
    wait_until(|| !lives(group));
    let lived = started.elapsed();
    run.end().assert_says(
        123,
        &[
            "leasehold: cannot extend the lock \"demo\": ",
            "; trying again; if that fails, the command gets SIGTERM in ",
            "leasehold: lost the lock \"demo\" while the command ran: it could not be extended for ",
            " of 5 nodes",
        ],
    );
    lived
}

#[test]
fn the_command_is_dead_before_the_lease_ends() {
    let lived = lose("echo $$; exec sleep 30");
    // TERM comes a quarter of the TTL before the end.
    assert!(lived < TTL * 4 / 5, "{lived:?}");
}

#[test]
fn a_command_that_ignores_the_request_is_killed() {
    let lived = lose("trap '' TERM; echo $$; sleep 30; sleep 30");
    assert!(lived < TTL, "{lived:?}");
}

#[test]
fn a_command_that_ends_well_when_asked_has_still_lost_its_lock() {
    lose("trap 'exit 0' TERM; echo $$; while :; do sleep 0.01; done");
}

#[test]
fn what_the_command_started_dies_with_it() {
    lose("(trap '' TERM; exec sleep 30) >/dev/null 2>&1 & echo $$; exec sleep 30");
}

#[test]
fn a_run_that_was_stopped_for_too_long_has_its_command_killed_before_the_lease_ends() {
    let user = User::new();
    let beat = user.path("beat");
    let script = format!(
        "trap '' TERM; date +%s%N >>{beat}; sleep 0.3; echo $$; \
         while :; do date +%s%N >>{beat}; sleep 0.01; done"
    );
    let words = ["run", "--ttl", "2s", "demo", "--", "sh", "-c", &script];
    let mut run = user.run(&words).start();
    run.line();
    run.signal(Signal::STOP);
    // The lease ends, and somebody else gets the lock: by then nothing of the group runs.
    let look = format!("date +%s%N; sleep 0.1; tail -n 1 {beat}");
    let words = ["run", "--wait", "9s", "demo", "--", "sh", "-c", &look];
    let next = user.run(&words).end();
    assert_eq!(next.code, 0, "{next:?}");
    let (begun, last) = next.stdout.trim_end().split_once('\n').expect("two lines");
    let nanos = |text: &str| text.parse::<u64>().expect("it is a number");
    let margin = Duration::from_nanos(nanos(begun).saturating_sub(nanos(last)));
    // SIGKILL comes 150 ms before the lease ends; on a busy machine, not much of that is left.
    assert!(!margin.is_zero(), "two ran at once");
    run.signal(Signal::CONT);
    let seen = run.end();
    assert!(!seen.stderr.contains("starting another"), "{seen:?}");
    seen.assert_says(
        123,
        &[
            "leasehold: pid ",
            ", which held \"demo\", was stopped for too long; the command that it ran was ended",
            "the lease ended before it could be extended",
        ],
    );
}

#[test]
fn a_command_that_holds_for_longer_than_it_may_is_ended_in_time() {
    let user = User::new();
    let words = [
        "run",
        "--ttl",
        "1s",
        "--max-hold",
        "3s",
        "demo",
        "--",
        "sh",
        "-c",
        "echo $$; exec sleep 30",
    ];
    let mut run = user.run(&words).start();
    let group = run.pid();
    wait_until(|| !lives(group));
    // By its own clock: ours is read when somebody lets this test go on.
    run.end().assert_says(
        123,
        &[
            "leasehold: the lock \"demo\" may be held for 3 s (--max-hold), and the command has to be gone before that: \
             it ran for 2.",
            " s; the command was ended",
        ],
    );
}

#[test]
fn who_holds_for_as_long_as_it_may_is_told_that_the_limit_was_its_own() {
    let user = User::new();
    let flags = ["--ttl", "1s", "--max-hold", "1s"];
    let limit = "leasehold: the lock \"demo\" may be held for 1 s (--max-hold), and ";
    let words = [&["hold"], &flags[..], &["demo"]].concat();
    let held = user.run(&words).keeping_stdin();
    let more = "that time is over; stop whatever relies on it\n";
    let said = format!("{limit}{more}");
    let mut held = held;
    assert_eq!(held.line(), "LEASEHOLD_RESOURCE=demo");
    let lines = [held.error_line(), held.error_line(), held.error_line()];
    assert_eq!(lines[2], said.trim_end(), "{lines:?}");
    assert_eq!(held.end_alone(), 123);
    let command = ["demo", "--", "sleep", "2"];
    let words = [&["run"], &flags[..], &["--on-loss", "warn"], &command].concat();
    let seen = user.run(&words).end();
    let more = "is not held any more; the command ran on without it, as --on-loss warn says\n";
    seen.assert_says(123, &[&format!("{limit}{more}")]);
}

#[test]
fn a_command_that_does_not_die_keeps_its_lock_to_the_ttl() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    // A process whose parent has left the group and never asks for its end: killed, it is still there, as one that hangs
    // in the kernel is.
    let script = "(sleep 60 & exec setsid sh -c 'echo $$; exec sleep 60 >/dev/null 2>&1') & echo $$; exec sleep 60";
    let words = [
        "run",
        "--ttl",
        "30s",
        "--max-hold",
        "1s",
        "--nodes",
        &nodes,
        "demo",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut run = user.run(&words).start();
    let groups = [run.pid(), run.pid()];
    let seen = run.end();
    let try_once = ["run", "-n", "--nodes", &nodes, "demo", "--", "true"];
    let next = user.run(&try_once).end();
    groups.into_iter().for_each(end_group);
    seen.assert_says(
        123,
        &[
            "leasehold: the lock \"demo\" may be held for 1 s (--max-hold)",
            "; the command was killed, and is still there\n",
        ],
    );
    assert_eq!(next.code, 121, "it is not given to another: {next:?}");
    let is_called_stopped = seen.stderr.contains("was stopped");
    assert!(!is_called_stopped, "leasehold ran all the time: {seen:?}");
}

#[test]
fn a_command_that_is_done_in_time_is_left_alone() {
    let user = User::new();
    let words = ["run", "--max-hold", "2s", "demo", "--", "true"];
    assert_eq!(user.run(&words).end().code, 0);
}

#[test]
fn a_hold_that_is_too_short_to_look_after_is_refused() {
    let user = User::new();
    let run = user.run(&["run", "--max-hold", "10ms", "demo", "--", "true"]);
    run.end()
        .assert_says(2, &["--max-hold", "shorter than 200 ms"]);
}

#[test]
fn a_wait_in_vain_tells_all_of_its_time_and_uses_it_up() {
    let user = User::new();
    let nobody = "redis://127.0.0.1:1";
    let words = [
        "run", "--wait", "1500ms", "--nodes", nobody, "demo", "--", "true",
    ];
    let started = now();
    let seen = user.run(&words).end();
    let took = started.elapsed();
    // The first second of it is silent.
    seen.assert_says(122, &["still trying to lock", "gave up after 1.5 s"]);
    assert!(took >= Duration::from_millis(1_500), "{took:?}");
}

/// Three servers, each behind a proxy.
fn proxied(servers: &ServerSet) -> ([Proxy; 3], String) {
    let proxies =
        [0, 1, 2].map(|number: usize| Proxy::start(servers[number].port()).expect("a free port"));
    let nodes = proxies.each_ref().map(Proxy::url).join(",");
    (proxies, nodes)
}

#[test]
fn a_wait_whose_end_leaves_no_time_for_an_answer_tells_who_holds_the_lock() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (proxies, nodes) = proxied(&servers);
    let user = User::new();
    let hold = ["run", "demo", "--", "sh", "-c", "echo; exec sleep 60"];
    let mut holder = user.run(&hold).env("LEASEHOLD_NODES", &nodes).start();
    holder.line();
    for proxy in &proxies {
        proxy.set(Mode::Delay(Duration::from_millis(40)));
    }
    // After the silent second, less is left than one round trip takes.
    let words = ["run", "-w", "1020ms", "demo", "--", "true"];
    let seen = user.run(&words).env("LEASEHOLD_NODES", &nodes).end();
    holder.signal(Signal::TERM);
    holder.end();
    seen.assert_says(124, &["waiting for", "still held after 1 s by pid "]);
}

#[test]
fn nodes_that_fall_silent_during_a_wait_are_told_of() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (proxies, nodes) = proxied(&servers);
    let user = User::new();
    let hold = ["run", "demo", "--", "sh", "-c", "echo; exec sleep 60"];
    let mut holder = user.run(&hold).env("LEASEHOLD_NODES", &nodes).start();
    holder.line();
    let words = ["run", "-w", "4s", "demo", "--", "true"];
    let mut wait = user.run(&words).env("LEASEHOLD_NODES", &nodes).start();
    let first = wait.error_line();
    for proxy in &proxies {
        proxy.set(Mode::BlackHole);
    }
    let seen = wait.end();
    holder.signal(Signal::TERM);
    holder.end();
    assert!(first.contains("waiting for"), "{first}");
    seen.assert_says(122, &["gave up after 4 s", "no answer within"]);
}

#[test]
fn who_loses_a_lease_by_a_failover_is_told_that_sentinels_name_another_master() {
    require_server();
    let master = Server::start().expect("it starts");
    let port = master.port().to_string();
    let replica = Server::builder().option("replicaof", &["127.0.0.1", &port]);
    let replica = replica.start().expect("it starts");
    let sentinel = Sentinel::start("locks", &master, 1, Duration::from_secs(60));
    let sentinel = sentinel.expect("it starts");
    wait_until(|| {
        let replicas = sentinel.command(&["SENTINEL", "REPLICAS", "locks"]);
        replicas.is_ok_and(|replicas| {
            format!("{replicas:?}").contains("\"master-link-status\"), Text(\"ok\")")
        })
    });
    let nodes = format!("redis+sentinel://127.0.0.1:{}/locks", sentinel.port());
    let user = User::new();
    let test = |words: &[&str]| {
        let test = user.run(words).guarded();
        test.env("LEASEHOLD_NODES", &nodes)
    };
    assert_eq!(test(&["admit", "--yes"]).end().code, 0);
    let script = "echo $$; exec sleep 30";
    let mut run = test(&["run", "--ttl", "6s", "demo", "--", "sh", "-c", script]).start();
    run.pid();
    let told = sentinel.command(&["SENTINEL", "FAILOVER", "locks"]);
    assert_eq!(told.expect("it answers").text(), Some("OK"));
    wait_until(|| matches!(sentinel.master("locks"), Ok(Some(port)) if port == replica.port()));
    // As a replica has it that had not heard of the lock.
    replica.command(&["DEL", "demo"]).expect("it answers");
    let reason = "names another server as the master \"locks\" now; the command was ended\n";
    run.end().assert_says(
        123,
        &["lost the lock \"demo\"", "no longer have it", reason],
    );
}

#[test]
fn a_loss_is_said_to_have_begun_with_the_first_extension_that_failed() {
    require_server();
    let user = User::new();
    let losses = [
        // It is extended after 1.3 s, and gets SIGTERM after 3 s.
        (&["run", "demo", "--", "sleep", "30"][..], 1_300..3_000),
        // Its time is up after 4 s.
        (&["hold", "demo"], 2_300..4_000),
    ];
    for (words, expected) in losses {
        let servers = ServerSet::start(3).expect("they start");
        let (proxies, nodes) = proxied(&servers);
        let test = user.run(&[&words[..1], &["--ttl", "4s"], &words[1..]].concat());
        let mut lost = test.env("LEASEHOLD_NODES", &nodes).keeping_stdin();
        wait_until(|| {
            user.run(&["status", "demo"])
                .env("LEASEHOLD_NODES", &nodes)
                .end()
                .code
                == 121
        });
        for proxy in &proxies {
            proxy.set(Mode::BlackHole);
        }
        let said = lost.error_line();
        assert!(said.contains("cannot extend"), "{said}");
        let said = lost.error_line();
        assert_eq!(lost.end_alone(), 123);
        let (_, rest) = said.split_once("could not be extended for ").expect(&said);
        let (time, rest) = rest.split_once(' ').expect(&said);
        let unit = if rest.starts_with("ms") { 1.0 } else { 1_000.0 };
        let millis = time.parse::<f64>().expect("it is a number") * unit;
        assert!(
            (f64::from(expected.start)..f64::from(expected.end)).contains(&millis),
            "{said}"
        );
    }
}
