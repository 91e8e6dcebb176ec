//! Runs on real servers, and the servers that the command starts.

use crate::support::User;
use leasehold_servers::{Mode, Proxy, Server, ServerSet, require_server};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

#[test]
fn one_three_or_five_servers_exclude() {
    require_server();
    for count in [1, 3, 5] {
        let servers = ServerSet::start(count).expect("they start");
        let nodes = servers.nodes();
        let user = User::new();
        let log = user.path("log");
        let script = format!("echo in >>{log}; sleep 0.02; echo out >>{log}");
        let together: Vec<_> = (0..3)
            .map(|_| {
                let words = ["run", "--nodes", &nodes, "demo", "--", "sh", "-c", &script];
                user.run(&words).start()
            })
            .collect();
        for run in together {
            run.end().assert(0, "", "");
        }
        let log = std::fs::read_to_string(log).expect("they wrote");
        assert_eq!(log, "in\nout\n".repeat(3), "{count} servers");
    }
}

#[test]
fn one_server_under_two_addresses_does_not_make_two_of_three() {
    require_server();
    let server = Server::start().expect("it starts");
    let [slow, dead] = [0, 1].map(|_| Proxy::start(server.port()).expect("a port is free"));
    // It answers when the other address has granted long since, and before anybody gives up.
    slow.set(Mode::Delay(Duration::from_millis(40)));
    dead.set(Mode::Refuse);
    let nodes = format!("{},{},{}", slow.url(), server.url(), dead.url());
    let user = User::new();
    let words = ["run", "--no-wait", "--nodes", &nodes, "demo", "--", "true"];
    let seen = user.run(&words).end();
    let twin = format!(
        "127.0.0.1:{}: the same server as another address",
        slow.port()
    );
    seen.assert_says(122, &[&twin]);
    let left = server.command(&["EXISTS", "demo"]).expect("it answers");
    assert_eq!(left.integer(), Some(0), "nothing is left");
}

#[test]
fn nodes_come_from_the_environment_too() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let user = User::new();
    let script = "echo ready; sleep 1";
    let mut holder = user
        .run(&["run", "demo", "--", "sh", "-c", script])
        .env("LEASEHOLD_NODES", servers.nodes())
        .start();
    assert_eq!(holder.line(), "ready");
    let words = [
        "run",
        "--no-wait",
        "--nodes",
        &servers.nodes(),
        "demo",
        "--",
        "true",
    ];
    let seen = user.run(&words).end();
    seen.assert_says(121, &["held by pid"]);
    holder.end().assert(0, "", "");
}

#[test]
fn a_wait_too_short_to_reach_a_server_is_one_try() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (nodes, user) = (servers.nodes(), User::new());
    let run = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes);
    let mut holder = run(&["run", "demo", "--", "sh", "-c", "echo ready; sleep 2"]).start();
    assert_eq!(holder.line(), "ready");
    for words in [
        &["run", "-w", "1ms", "demo", "--", "true"][..],
        &["run", "-w", "1ms", "--fair", "demo", "--", "true"],
    ] {
        let says = ["still held after 1 ms by pid"];
        run(words).end().assert_says(124, &says);
    }
    holder.end().assert(0, "", "");
    let free = run(&["run", "-w", "1ms", "demo", "--", "echo", "mine"]);
    free.end().assert(0, "mine\n", "");
}

#[test]
fn a_key_format_is_the_servers_affair_and_all_must_have_the_same() {
    require_server();
    let servers = ServerSet::start(1).expect("they start");
    let (nodes, user) = (servers.nodes(), User::new());
    let run = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes);
    let script = "echo $LEASEHOLD_RESOURCE; sleep 1";
    let words = [
        "run",
        "--key-format",
        "redlock:{}",
        "demo",
        "--",
        "sh",
        "-c",
        script,
    ];
    let mut holder = run(&words).start();
    assert_eq!(holder.line(), "demo");
    let exists = ["EXISTS", "redlock:demo"];
    let server = servers.iter().next().expect("there is one");
    let found = server.command(&exists).expect("it answers");
    assert_eq!(found.integer(), Some(1));
    let words = ["run", "--no-wait", "demo", "--", "true"];
    let same = run(&words).env("LEASEHOLD_KEY_FORMAT", "redlock:{}").end();
    same.assert_says(121, &["\"demo\"", "held by pid"]);
    let other = run(&words).end();
    other.assert_says(
        2,
        &[
            "use key-format redlock:{}, this command uses {}",
            "--key-format",
        ],
    );
    holder.end().assert(0, "", "");
}

#[test]
fn servers_that_are_not_there_are_told() {
    let user = User::new();
    // Port 1 of this machine belongs to nobody.
    let nodes = "redis://127.0.0.1:1";
    let says = [
        "leasehold: cannot lock \"demo\": ",
        "hint: start these servers",
        "127.0.0.1:1",
    ];
    let words = ["run", "--no-wait", "--nodes", nodes, "demo", "--", "true"];
    user.run(&words).end().assert_says(122, &says);
    let words = [
        "run", "--wait", "300ms", "--nodes", nodes, "demo", "--", "true",
    ];
    user.run(&words).end().assert_says(122, &says);
    // Without a limit it does not wait for ever.
    let words = ["run", "--nodes", nodes, "demo", "--", "true"];
    user.run(&words).end().assert_says(122, &says);
}

#[test]
fn servers_are_started_listed_and_stopped() {
    require_server();
    let user = User::new();
    let start = user.run(&["servers", "start", "-n", "3"]);
    let started = start.guarded().end();
    assert_eq!(started.code, 0, "{started:?}");
    let nodes = started.stdout.trim_end();
    assert_eq!(nodes.split(',').count(), 3);

    let listed = user.run(&["servers", "status", "--nodes"]).end();
    listed.assert(0, &started.stdout, "");
    let status = user.run(&["servers", "status"]).end();
    for (line, url) in status.stdout.lines().zip(nodes.split(',')) {
        assert!(
            line.starts_with(&format!("{url}\tpid ")) && line.ends_with("\tup"),
            "{line}"
        );
    }
    let json = user.run(&["servers", "status", "--json"]).end();
    assert_eq!(json.stdout.lines().count(), 3, "{json:?}");
    for (line, url) in json.stdout.lines().zip(nodes.split(',')) {
        assert!(
            line.starts_with(&format!("{{\"url\":\"{url}\",\"pid\":"))
                && line.ends_with(",\"running\":true,\"answers\":true}"),
            "{line}"
        );
    }
    let first = status.stdout.split_whitespace().nth(2).expect("a pid");
    let first = first.parse().ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(first, Signal::STOP).expect("it runs");
    let status = user.run(&["servers", "status"]).end();
    kill_process(first, Signal::CONT).expect("it runs");
    let ends: Vec<_> = status.stdout.lines().collect();
    assert!(
        ends[0].ends_with("\tdoes not answer") && ends[1].ends_with("\tup"),
        "{status:?}"
    );
    let again = user.run(&["servers", "start"]).end();
    again.assert_says(
        125,
        &[
            "run already",
            "export LEASEHOLD_NODES=\"$(leasehold servers status --nodes)\"",
        ],
    );
    let run = user
        .run(&["run", "--nodes", nodes, "demo", "--", "echo", "hi"])
        .guarded()
        .end();
    run.assert(0, "hi\n", "");

    let stopped = user.run(&["servers", "stop"]).end();
    stopped.assert(0, "", "leasehold: stopped 3 servers\n");
    let gone = user.run(&["servers", "stop"]).end();
    gone.assert_says(
        125,
        &["no servers were started", "hint: `leasehold servers start`"],
    );
}

#[test]
fn servers_that_run_are_not_to_be_started() {
    require_server();
    let server = Server::start().expect("it starts");
    let (user, nodes) = (User::new(), server.url());
    let forbid = ["ACL", "SETUSER", "default", "-pttl"];
    server.command(&forbid).expect("it runs");
    let words = ["run", "-w", "300ms", "demo", "--", "true"];
    let seen = user.run(&words).env("LEASEHOLD_NODES", &nodes).end();
    seen.assert_says(122, &["allow +pttl", "hint: `leasehold doctor` says"]);
    assert!(!seen.stderr.contains("start these servers"), "{seen:?}");
}

#[test]
fn servers_in_a_folder_of_ones_own_are_stopped_as_is_told() {
    require_server();
    let user = User::new();
    let folder = user.path("two of them");
    std::fs::create_dir(&folder).expect("it is ours");
    let start = user.run(&["servers", "start", "-n", "2", "--dir", &folder]);
    let started = start.guarded().end();
    let stop = format!("`leasehold servers stop --dir '{folder}'` stops them");
    started.assert_says(0, &[&stop, "2 servers survive no more failures than 1"]);
    let stopped = user.run(&["servers", "stop", "--dir", &folder]).end();
    stopped.assert_says(0, &["stopped 2 servers"]);
}
