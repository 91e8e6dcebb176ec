//! Servers that do not vote yet, and what an operator can do about it.

use crate::support::User;
use leasehold_servers::{Server, ServerSet, require_server};

/// Three servers, and a user who has told the command of them.
struct Site {
    user: User,
    servers: ServerSet,
}

impl Site {
    fn new(count: usize) -> Self {
        require_server();
        let servers = ServerSet::start(count).expect("they start");
        let user = User::new();
        Self { user, servers }
    }

    fn nodes(&self, count: usize) -> String {
        self.servers.urls()[..count].join(",")
    }

    /// With the restart guard that everybody has, on the first servers.
    fn run(&self, count: usize, words: &[&str]) -> crate::support::Seen {
        let test = self.user.run(words).guarded();
        test.env("LEASEHOLD_NODES", self.nodes(count)).end()
    }
}

const TRY: [&str; 5] = ["run", "--no-wait", "demo", "--", "true"];

#[test]
fn a_server_is_admitted_once_whatever_its_addresses() {
    let site = Site::new(1);
    let port = site.servers[0].port();
    let nodes = format!("redis://127.0.0.1:{port},redis://localhost:{port},redis://127.1:{port}");
    let test = site.user.run(&["admit", "--yes"]).guarded();
    let seen = test.env("LEASEHOLD_NODES", &nodes).end();
    let twins = ["localhost", "127.1"]
        .map(|host| format!("{host}:{port}\tthe same server as 127.0.0.1:{port}\n"));
    let first = format!("127.0.0.1:{port}\tvotes now, and not only in 3");
    assert_eq!((seen.code, seen.stdout.lines().count()), (0, 3), "{seen:?}");
    assert!(seen.stdout.starts_with(&first), "{seen:?}");
    assert!(seen.stdout.ends_with(&twins.concat()), "{seen:?}");
    let warning = "leasehold: warning: 3 addresses lead to 1 server, and each server has one vote\n\
                   hint: list each server once\n";
    seen.assert_says(0, &[warning]);
    assert_eq!(
        seen.stderr.matches("new to these locks").count(),
        1,
        "{seen:?}"
    );
}

#[test]
fn new_servers_vote_when_they_are_admitted() {
    let site = Site::new(3);
    let seen = site.run(3, &TRY);
    seen.assert_says(
        122,
        &[
            "leasehold: cannot lock \"demo\": ",
            "does not vote for 3",
            "it is new to these locks",
            "hint: if these nodes have forgotten no lock",
            "`leasehold admit`",
        ],
    );
    let seen = site.run(3, &["admit"]);
    seen.assert_says(
        2,
        &[
            "it is new to these locks",
            "leasehold: cannot ask without a terminal; nothing was changed\nhint: --yes",
        ],
    );
    let seen = site.run(3, &["admit", "--yes"]);
    assert_eq!((seen.code, seen.stdout.lines().count()), (0, 3), "{seen:?}");
    for line in seen.stdout.lines() {
        assert!(line.contains("\tvotes now, and not only in 3"), "{line}");
    }
    let words = [
        "run",
        "--no-wait",
        "demo",
        "--",
        "printenv",
        "LEASEHOLD_FENCING_TOKEN",
    ];
    let seen = site.run(3, &words);
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""));
    assert!(seen.stdout.trim_end().parse::<u64>().is_ok(), "{seen:?}");
    // Nobody has to be asked about servers that vote.
    let seen = site.run(3, &["admit"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(
        seen.stdout.contains("\tvotes, as it did before\n"),
        "{seen:?}"
    );
}

#[test]
fn servers_that_do_not_vote_yet_are_told_once_and_waited_for() {
    let site = Site::new(3);
    let words = ["--max-ttl", "2s", "--ttl", "2s"];
    let wait = |more: &[&str]| {
        let words = [&["run"], &words[..], more, &["demo", "--", "echo", "hi"]].concat();
        site.run(3, &words)
    };
    // The quarantine is two seconds, a little, and two more for clocks that differ.
    let seen = wait(&["--wait", "1s500ms"]);
    seen.assert_says(
        122,
        &["waiting to lock \"demo\": ", "cannot lock \"demo\": "],
    );
    let seen = wait(&[]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "hi\n"), "{seen:?}");
    let site = Site::new(1);
    let words = [&["run"], &words[..], &["demo", "--", "echo", "hi"]].concat();
    let seen = site.run(1, &words);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "hi\n"), "{seen:?}");
    let told = |what| seen.stderr.matches(what).count();
    assert_eq!(
        told("waiting to lock \"demo\": the node does not vote for "),
        1,
        "{seen:?}"
    );
    assert_eq!(told("`leasehold admit`"), 1, "{seen:?}");
}

#[test]
fn a_ttl_above_the_maximum_is_refused_before_anything_is_asked() {
    let user = User::new();
    let words = [
        "run",
        "--ttl",
        "1m",
        "--nodes",
        "redis://127.0.0.1:1",
        "demo",
        "--",
        "true",
    ];
    user.run(&words).guarded().end().assert(
        2,
        "",
        "leasehold: the --ttl of 1 min 0 s is longer than the --max-ttl of 30 s: servers that may have \
         forgotten a lock wait for --max-ttl\nhint: all clients of these servers must use the same --max-ttl; \
         `leasehold reconfigure` changes it\n",
    );
    // A file forgets nothing.
    let seen = user
        .run(&["run", "--ttl", "1m", "demo", "--", "true"])
        .guarded()
        .end();
    assert_eq!(seen.code, 0, "{seen:?}");
    let words = [
        "run",
        "--namespace",
        "",
        "--nodes",
        "redis://127.0.0.1:1",
        "demo",
        "--",
        "true",
    ];
    user.run(&words)
        .end()
        .assert_says(2, &["leasehold: the namespace \"\" cannot be used"]);
}

#[test]
fn who_wants_something_else_is_told_what_both_want() {
    let site = Site::new(3);
    assert_eq!(site.run(3, &["admit", "--yes"]).code, 0);
    let words = ["run", "--max-ttl", "1m", "demo", "--", "true"];
    let says = [
        "these nodes use max-ttl 30s, this command uses 60s",
        "hint: use --max-ttl 30s, or change it for all clients",
    ];
    site.run(3, &words).assert_says(2, &says);
    let says = [
        "3 of 3 nodes are used with another configuration",
        "hint: use the same",
    ];
    site.run(3, &["admit", "--max-ttl", "1m", "--yes"])
        .assert_says(2, &says);
}

#[test]
fn servers_in_use_get_another_configuration() {
    let site = Site::new(5);
    assert_eq!(site.run(3, &["admit", "--yes"]).code, 0);
    assert_eq!(site.run(3, &TRY).code, 0);
    let old = site.nodes(3);
    let change = |more: &[&str]| site.run(5, &[&["reconfigure"], more].concat());
    change(&["--yes"]).assert_says(2, &["the list of old nodes has 5", "hint: --from"]);
    let seen = change(&["--from", &old]);
    seen.assert_says(2, &["count=3", "to:   version=1", "count=5", "hint: --yes"]);
    let seen = change(&["--from", &old, "--dry-run"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(seen.stdout.matches("\twould be changed\n").count(), 5);
    assert_eq!(site.run(3, &TRY).code, 0, "nothing was changed");
    let seen = change(&["--from", &old, "--yes"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(
        seen.stdout.matches("\tchanged; votes in 3").count(),
        5,
        "{seen:?}"
    );
    let says = [
        "these nodes use the node list 127.0.0.1:",
        "hint: give the same addresses as the other clients",
    ];
    site.run(3, &TRY).assert_says(2, &says);
    site.run(5, &TRY).assert_says(
        122,
        &["it was reconfigured, and locks of before may still be held"],
    );
    // Whoever has stopped all that locked may say so.
    assert_eq!(site.run(5, &["admit", "--yes"]).code, 0);
    assert_eq!(site.run(5, &TRY).code, 0);
    let seen = change(&["--from", &old]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(
        seen.stdout
            .matches("\tof the new configuration already\n")
            .count(),
        5
    );
}

#[test]
fn servers_that_are_not_there_are_not_changed() {
    let user = User::new();
    let nodes = ["--nodes", "redis://127.0.0.1:1", "--yes"];
    let run = |word| user.run(&[&[word], &nodes[..]].concat()).end();
    run("reconfigure").assert_says(122, &["0 of 1 new nodes can be reached", "127.0.0.1:1: "]);
    run("admit").assert_says(122, &["none of the nodes could be told"]);
}

#[test]
fn one_server_takes_the_place_of_another_while_locks_go_on() {
    let site = Site::new(4);
    let urls = site.servers.urls();
    site.run(3, &["admit", "--yes"]).assert_says(0, &[]);
    let new = [&urls[0], &urls[1], &urls[3]].map(String::as_str).join(",");
    let change = |more: &[&str]| {
        let from = site.nodes(3);
        let words = [&["reconfigure", "--from", &from], more].concat();
        let test = site.user.run(&words).guarded();
        test.env("LEASEHOLD_NODES", &new).end()
    };
    change(&["--dry-run"]).assert_says(
        0,
        &["leasehold: one node would be replaced: locks would go on, and the new node would vote in 3"],
    );
    let seen = change(&["--yes"]);
    assert_eq!((seen.code, seen.stdout.lines().count()), (0, 4), "{seen:?}");
    let votes = |line: &&str| line.ends_with("\tchanged; votes");
    assert_eq!(seen.stdout.lines().filter(votes).count(), 2, "{seen:?}");
    // Those who have the former list still lock at once, and so do those who have the new one.
    let named = urls[..3]
        .iter()
        .map(|url| url.trim_start_matches("redis://"))
        .collect::<Vec<_>>();
    let told = format!(
        "has taken the place of {}, which is on the list here",
        named[2]
    );
    site.run(3, &TRY)
        .assert_says(0, &[&told, "hint: name the new node in --nodes"]);
    // And who looks says so too.
    site.run(3, &["status", "free"]).assert_says(0, &[&told]);
    site.run(3, &["wait", "free"]).assert_says(0, &[&told]);
    let seen = site.run(3, &["doctor"]);
    assert_eq!(seen.code, 120, "{seen:?}");
    assert!(seen.stdout.contains(&told), "{seen:?}");
    assert!(seen.stdout.contains("verdict: weakened: "), "{seen:?}");
    let test = site.user.run(&TRY).guarded();
    test.env("LEASEHOLD_NODES", &new).end().assert_says(0, &[]);
}

#[test]
fn a_replica_is_called_one_and_not_said_to_vote() {
    require_server();
    let server = Server::start().expect("it starts");
    let replica = Server::builder().replica_of(&server).start();
    let replica = replica.expect("it starts");
    let user = User::new();
    for guard in ["off", "quarantine"] {
        let nodes = replica.url();
        let words = [
            "admit",
            "--yes",
            "--restart-guard",
            guard,
            "--nodes",
            &nodes,
        ];
        let told = user.run(&words).end().stderr;
        let line = told.lines().next().unwrap_or_default();
        assert!(line.contains(", replica"), "{told}");
        assert!(
            !told.contains("slave") && !line.contains("; votes"),
            "{told}"
        );
    }
}
