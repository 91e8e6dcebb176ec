//! Whether a lock can be had: `run`, `doctor`, `status`, `wait`, `list` and `watch` are of one opinion.

use crate::support::{Running, Seen, Test, User, now, wait_until};
use leasehold_servers::{Mode, Proxy, Server, ServerSet, require_server, skip};
use rustix::process::{Signal, geteuid};
use std::time::Duration;

/// Asks four of them about these nodes: `run` gets no lock, and nobody calls the nodes usable. `doctor` and `watch` say why.
#[track_caller]
fn assert_unusable(ask: impl Fn(&[&str]) -> Seen, why: &str) {
    assert_refused(ask, 122, "no lock can be acquired", why);
}

/// The same, where all end with this code and say this.
#[track_caller]
fn assert_refused(ask: impl Fn(&[&str]) -> Seen, code: i32, sentence: &str, why: &str) {
    let run = ask(&["run", "-w", "400ms", "demo", "--", "echo", "never"]);
    assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{run:?}");
    for words in [&["doctor"][..], &["watch", "--once"]] {
        let seen = ask(words);
        assert_eq!(seen.code, code, "{words:?}: {seen:?}");
        for part in [sentence, why] {
            assert!(seen.stdout.contains(part), "no {part:?} in {seen:?}");
        }
    }
    let status = ask(&["status", "demo"]);
    assert_eq!(status.code, code, "{status:?}");
    // It may hear already that the nodes do not answer.
    let is_unclear = code == 122 && status.stdout.contains("nodes answer, ");
    let is_said = is_unclear || status.stdout.contains(sentence);
    assert!(is_said, "{status:?}");
    let is_hinted = status.stderr.contains("`leasehold doctor` tells why");
    assert!(is_unclear || is_hinted, "{status:?}");
}

/// Asks those who only look at locks: none of them calls it nothing where no lock can be had.
#[track_caller]
fn assert_nothing_is_called_free(ask: impl Fn(&[&str]) -> Seen, sentence: &str, hint: &str) {
    let wait = ["wait", "--wait", "400ms", "demo"];
    for words in [&["list"][..], &["list", "--json"], &wait] {
        let seen = ask(words);
        seen.assert_says(122, &[sentence, "no lock can be acquired", hint]);
        assert!(!seen.stderr.contains("nothing is locked"), "{seen:?}");
    }
    let seen = ask(&wait);
    seen.assert_says(122, &["no key of \"demo\" was found; no lock can"]);
    let watch = ask(&["watch", "--once"]);
    assert!(watch.stdout.contains("no lock was found\n"), "{watch:?}");
    assert!(!watch.stdout.contains("nothing is locked"), "{watch:?}");
    let json = ask(&["wait", "--wait", "400ms", "demo", "--json"]);
    assert!(json.stdout.contains("\"state\":\"unusable\""), "{json:?}");
}

/// Asks all about these nodes, each of which has to say that locks can be had.
#[track_caller]
fn assert_usable(ask: impl Fn(&[&str]) -> Seen) {
    let run = ask(&["run", "-n", "demo", "--", "true"]);
    assert_eq!(run.code, 0, "{run:?}");
    let doctor = ask(&["doctor"]);
    assert!([0, 120].contains(&doctor.code), "{doctor:?}");
    for words in [
        &["status", "demo"][..],
        &["wait", "--wait", "5s", "demo"],
        &["list", "demo"],
        &["watch", "--once"],
    ] {
        let seen = ask(words);
        assert_eq!(seen.code, 0, "{words:?}: {seen:?}");
    }
}

#[test]
fn one_server_under_three_names_is_one_node_to_all_who_ask() {
    require_server();
    let server = Server::start().expect("it starts");
    let (user, port) = (User::new(), server.port());
    let nodes = format!("redis://127.0.0.1:{port},redis://localhost:{port},redis://127.1:{port}");
    let ask = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes).end();
    assert_unusable(ask, "1 of 3 nodes vote, 2 must");
    let hint = "hint: `leasehold doctor`";
    assert_nothing_is_called_free(ask, "1 of 3 nodes vote, 2 must", hint);
    for words in [&["watch", "--once", "--json"][..], &["doctor", "--json"]] {
        let json = ask(words).stdout;
        let why = format!("\"why\":\"the same server as 127.0.0.1:{port}\"");
        assert!(json.contains(&why), "no {why} in {json}");
    }
    let status = |key: &str| {
        let seen = ask(&["status", "demo"]);
        let why = format!("{key}; no lock can be acquired: 1 of 3 nodes vote, 2 must\n");
        assert!(seen.stdout.starts_with(&why), "no {why} in {seen:?}");
        for silence in ["no answer", "cannot be read"] {
            assert!(!seen.stdout.contains(silence), "{seen:?}");
        }
        let row = "the same server as another address";
        assert!(seen.stdout.contains(row), "no {row} in {seen:?}");
        let json = ask(&["status", "demo", "--json"]);
        assert!(json.stdout.contains("\"state\":\"unusable\""), "{json:?}");
        assert_eq!((seen.code, json.code), (122, 122));
    };
    status("no key of \"demo\" was found");
    let set = server.command(&["SET", "demo", "aa11.db1.7.nightly", "PX", "60000"]);
    assert_eq!(set.expect("it runs").text(), Some("OK"));
    status("no quorum of nodes has a key of \"demo\"");
}

#[test]
fn a_server_that_is_away_may_have_a_lock_although_another_is_listed_twice() {
    require_server();
    let [server, away] = [0, 1].map(|_| Server::start().expect("it starts"));
    let (user, port) = (User::new(), server.port());
    let nodes = format!(
        "redis://127.0.0.1:{port},redis://localhost:{port},{}",
        away.url()
    );
    let ask = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes).end();
    assert_usable(ask);
    away.kill().expect("it runs");
    let unusable = "no key of \"demo\" was found; no lock can be acquired: 1 of 3 nodes vote";
    let seen = ask(&["status", "demo"]);
    assert!(seen.stdout.starts_with(unusable), "{seen:?}");
    assert_eq!(seen.code, 122, "{seen:?}");
    let set = server.command(&["SET", "demo", "aa11.db1.7.nightly", "PX", "60000"]);
    assert_eq!(set.expect("it runs").text(), Some("OK"));
    let seen = ask(&["status", "demo"]);
    let unclear = "\"demo\" may be held or free: 1 of 3 nodes answer and count, 2 must\n";
    assert!(seen.stdout.starts_with(unclear), "{seen:?}");
    assert_eq!(seen.code, 122, "{seen:?}");
}

#[test]
fn servers_that_abstain_are_told_of_with_the_time_by_all_who_ask() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let ask = |words: &[&str]| {
        let test = user.run(words).guarded();
        test.env("LEASEHOLD_NODES", &nodes).end()
    };
    assert_unusable(ask, "can be acquired for 3");
    let hint = "`leasehold admit` lets them vote at once";
    assert_nothing_is_called_free(ask, "0 of 3 nodes vote, 2 must", hint);
    assert_eq!(ask(&["admit", "--yes"]).code, 0);
    assert_usable(ask);
    servers[0].kill().expect("it runs");
    assert_usable(ask);
    servers[1].kill().expect("it runs");
    assert_eq!(ask(&["doctor"]).code, 122);
    assert_eq!(ask(&["status", "demo"]).code, 122);
    assert_eq!(ask(&["watch", "--once"]).code, 122);
}

#[test]
fn servers_that_refuse_writes_are_usable_to_nobody() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let ask = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes).end();
    assert_usable(ask);
    // All that has to do with locks is there already.
    for (name, value, usual, why) in [
        ("maxmemory", "1", "0", "OOM"),
        ("min-replicas-to-write", "1", "0", "NOREPLICAS"),
    ] {
        let set = |value: &str| {
            for number in 0..3 {
                let told = servers[number].command(&["CONFIG", "SET", name, value]);
                assert_eq!(told.expect("it runs").text(), Some("OK"), "{name} {value}");
            }
        };
        set(value);
        assert_unusable(ask, why);
        set(usual);
        assert_usable(ask);
    }
}

#[test]
fn a_free_lock_on_servers_that_are_far_away_is_free() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let proxies = [0, 1, 2].map(|number: usize| {
        let proxy = Proxy::start(servers[number].port()).expect("a free port");
        proxy.set(Mode::Delay(Duration::from_millis(40)));
        proxy
    });
    let nodes = proxies.each_ref().map(Proxy::url).join(",");
    let user = User::new();
    let ask = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes).end();
    assert_usable(ask);
    // They are heard to the end, whatever is left of the wait.
    let wait = ask(&["wait", "--wait", "1ms", "demo"]);
    assert_eq!(wait.code, 0, "{wait:?}");
}

#[test]
fn nothing_is_said_of_sound_nodes_that_are_further_away_than_a_quorum() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let far = Proxy::start(servers[2].port()).expect("a free port");
    far.set(Mode::Delay(Duration::from_millis(100)));
    let nodes = [servers[0].url(), servers[1].url(), far.url()].join(",");
    let user = User::new();
    let status = user.run(&["status", "demo"]);
    let seen = status.env("LEASEHOLD_NODES", &nodes).end();
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""), "{seen:?}");
}

/// A lock that a user with these keys may have can be had, and one that it may not have cannot.
#[test]
fn locks_can_be_had_by_a_user_who_may_use_their_keys_alone() {
    require_server();
    let server = Server::start().expect("it starts");
    let user = User::new();
    let nodes = format!("redis://u:p@127.0.0.1:{}", server.port());
    let ask = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes).end();
    let keys = |keys: &[&str]| {
        let words = ["ACL", "SETUSER", "u", "reset", "on", ">p", "+@all"];
        server
            .command(&[&words, keys].concat())
            .expect("it is taken");
    };
    keys(&["~demo", "~leasehold:node"]);
    assert_usable(ask);
    let doctor = ask(&["doctor"]);
    let note = "its user may use some keys only, and not \"leasehold/doctor\"";
    assert!(doctor.stdout.contains(note), "{doctor:?}");
    let other = ask(&["run", "-w", "400ms", "other", "--", "true"]);
    assert_eq!(other.code, 122, "{other:?}");
    assert_eq!(ask(&["status", "other"]).code, 122);
    assert_ne!(ask(&["wait", "--wait", "1s", "other"]).code, 0);
    // What it keeps of itself is needed for every lock.
    keys(&["~demo"]);
    assert_unusable(ask, "");
    let doctor = ask(&["doctor"]);
    assert!(
        doctor.stdout.contains("lacks rights: ~leasehold:node\n"),
        "{doctor:?}"
    );
}

#[test]
fn who_waits_for_a_lock_waits_for_servers_that_vote_in_time() {
    require_server();
    let server = Server::start().expect("it starts");
    let (user, nodes) = (User::new(), server.url());
    let test = |words: &[&str]| {
        let test = user.run(words).guarded().env("LEASEHOLD_NODES", &nodes);
        let test = test.env("LEASEHOLD_CLOCK_SKEW", "100ms");
        test.env("LEASEHOLD_MAX_TTL", "1s")
    };
    let ask = |words: &[&str]| test(words).end();
    assert_eq!(ask(&["admit", "--yes"]).code, 0);
    let holder = test(&["hold", "--ttl", "1s", "demo"]).keeping_stdin();
    wait_until(|| ask(&["status", "demo"]).code == 121);
    let waiter = test(&["wait", "--wait", "10s", "demo"]).start();
    // It has nobody's lock any more, and nobody but the waiter comes.
    holder.signal(Signal::KILL);
    server.restart_empty().expect("it starts again");
    let begun = now();
    let seen = waiter.end();
    let why = "waiting: no key of \"demo\" was found; no lock can be acquired for 1.";
    seen.assert_says(0, &[why, "0 of 1 nodes vote, 1 must"]);
    assert!(begun.elapsed() > Duration::from_secs(1), "{seen:?}");
    assert_eq!(
        ask(&["run", "-n", "--ttl", "1s", "demo", "--", "true"]).code,
        0
    );
    // What would take longer is not waited for.
    server.restart_empty().expect("it starts again");
    let seen = ask(&["wait", "--wait", "700ms", "demo"]);
    seen.assert_says(122, &["no lock can be acquired for 1."]);
}

#[test]
fn a_free_lock_is_free_as_soon_as_a_quorum_votes_and_a_node_that_hangs_is_told() {
    require_server();
    let servers = ServerSet::start(5).expect("they start");
    let proxy = Proxy::start(servers[4].port()).expect("a free port");
    let hanging = format!("redis://127.0.0.1:{}", servers[4].port());
    let nodes = servers.nodes().replace(&hanging, &proxy.url());
    let user = User::new();
    let ask = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes).end();
    assert_usable(ask);
    proxy.set(Mode::BlackHole);
    let seen = ask(&["status", "demo"]);
    assert!(seen.stdout.starts_with("\"demo\" is free\n"), "{seen:?}");
    let node = format!("leasehold: 127.0.0.1:{}: ", proxy.port());
    // Once: nobody has waited any longer for it.
    let why = "whether it votes: the node did not answer within 500ms";
    seen.assert_says(0, &[&node, why]);
}

#[test]
fn servers_of_another_configuration_are_refused_with_one_code_by_all_who_ask() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let with = |max_ttl: &'static str| {
        let (user, nodes) = (&user, &nodes);
        move |words: &[&str]| {
            let test = user.run(words).env("LEASEHOLD_NODES", nodes);
            test.env("LEASEHOLD_MAX_TTL", max_ttl).end()
        }
    };
    let (theirs, ours) = (with("30s"), with("1m"));
    assert_usable(theirs);
    let sentence = "no lock can be acquired with this configuration";
    assert_refused(ours, 2, sentence, "another configuration");
    // A server that is down hides nothing of what the user can mend.
    servers[0].kill().expect("it runs");
    assert_refused(ours, 2, sentence, "another configuration");
    // With too few servers, no configuration helps.
    servers[1].kill().expect("it runs");
    assert_unusable(ours, "");
    assert_unusable(theirs, "");
}

#[test]
fn servers_with_replicas_whose_disks_are_to_be_trusted_are_usable_to_nobody() {
    require_server();
    let start = |_| {
        let durable = Server::builder()
            .option("appendonly", &["yes"])
            .option("appendfsync", &["always"]);
        durable.start().expect("it starts")
    };
    let servers = [0, 1, 2].map(start);
    let nodes = servers.each_ref().map(Server::url).join(",");
    let user = User::new();
    let ask = |words: &[&str]| {
        let test = user.run(words).env("LEASEHOLD_NODES", &nodes);
        test.env("LEASEHOLD_RESTART_GUARD", "trust-aof").end()
    };
    assert_eq!(ask(&["admit", "--yes"]).code, 0);
    assert_usable(ask);
    let replicas = servers.each_ref().map(|server| {
        let replica = Server::builder().replica_of(server).start();
        replica.expect("it starts")
    });
    for server in &servers {
        wait_until(|| {
            let told = server.command(&["INFO", "replication"]).expect("it runs");
            told.text()
                .unwrap_or_default()
                .contains("connected_slaves:1")
        });
    }
    assert_unusable(ask, "has replicas, and restart guard trust-aof");
    let admit = ask(&["admit", "--yes"]);
    assert_ne!(admit.code, 0, "what cannot vote is not admitted: {admit:?}");
    drop(replicas);
}

#[test]
fn a_store_on_a_full_disk_is_usable_to_nobody() {
    if !geteuid().is_root() {
        return skip("a full disk needs a mount, which root alone may make");
    }
    let user = User::new();
    let folder = user.path("disk");
    let leasehold = env!("CARGO_BIN_EXE_leasehold");
    // A mount of its own namespace, which goes with the shell.
    let script = format!(
        "set -e; mkdir -p {folder}; mount -t tmpfs -o size=256k none {folder}; export LEASEHOLD_NODES=file://{folder}/s; \
         {leasehold} run demo -- true; cat /dev/zero >{folder}/filler 2>/dev/null || true; set +e; \"$@\""
    );
    let ask = |words: &[&str]| {
        let test = user.run_in(
            "unshare",
            &["-m", "sh", "-c", &script, "sh", leasehold],
            words,
        );
        test.end()
    };
    assert_unusable(ask, "the disk is full: No space left on device");
    for words in [
        &["run", "-n", "demo", "--", "true"][..],
        &["wait", "--wait", "1s", "demo"],
        &["list"],
    ] {
        let said = [
            "the disk is full",
            "hint: make room on the disk: a store takes ",
        ];
        ask(words).assert_says(122, &said);
    }
}

#[test]
fn a_store_whose_writer_was_stopped_in_the_middle_is_usable_to_nobody_and_its_writer_is_named() {
    let user = User::new();
    let nodes = format!("file://{}", user.path("store"));
    let test = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes);
    let ask = |words: &[&str]| test(words).end();
    let writer = stopped_in_the_middle(test);
    assert_unusable(
        ask,
        &format!("process {} ", writer.process().as_raw_nonzero()),
    );
    let named = format!(
        "process {} (stopped; continue",
        writer.process().as_raw_nonzero()
    );
    ask(&["wait", "--wait", "5s", "demo"]).assert_says(122, &["no lock can", &named]);
    // The writer's own lock is listed or not, by when it was stopped.
    ask(&["list", "demo"]).assert_says(122, &["no lock can", &named]);
    let run = ask(&["run", "-w", "400ms", "demo", "--", "true"]);
    run.assert_says(122, &["hint: `leasehold doctor` tells which process"]);
    // What is drawn again and again is drawn again.
    let mut watching = test(&["watch", "--every", "200ms"]).start();
    let lines = (0..30).map(|_| watching.line());
    let pictures = lines.filter(|line| line.contains("no lock can be acquired"));
    assert_eq!(pictures.take(2).count(), 2, "it ended, or changed its mind");
    watching.signal(Signal::TERM);
    watching.end_alone();
    writer.signal(Signal::CONT);
    assert_usable(ask);
    writer.signal(Signal::TERM);
    writer.end_alone();
}

/// A process that was stopped inside a transaction. Most of its time is spent in one, so it does not take many tries.
fn stopped_in_the_middle(test: impl Fn(&[&str]) -> Test) -> Running {
    let writer = test(&["bench", "--for", "60s"]).start();
    // On a busy machine the shorter time may be over for that alone.
    let is_stuck = || {
        let mut waits = ["300ms", "3s"].into_iter();
        waits.all(|wait| {
            let words = ["run", "-w", wait, "probe", "--", "true"];
            test(&words).end().code == 122
        })
    };
    // It makes the store first.
    wait_until(|| {
        test(&["list", "leasehold/bench"])
            .end()
            .stdout
            .contains("bench")
    });
    for _ in 0..1000 {
        writer.signal(Signal::STOP);
        if is_stuck() {
            return writer;
        }
        writer.signal(Signal::CONT);
    }
    panic!("it was never stopped inside a transaction");
}
