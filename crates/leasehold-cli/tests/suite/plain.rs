//! Plain locks: on Redis Clusters, which have no others, and beside locks with fencing tokens.

use crate::support::{Place, Running, User};
use leasehold_servers::{RedisCluster, Server, ServerSet, require_server};

fn place(nodes: String) -> Place {
    Place::on(User::new(), nodes)
}

/// Holds the lock `r`, as soon as it has told so.
fn hold(place: &Place, flags: &[&str]) -> (Running, String) {
    let mut hold = place.run(&[&["hold", "r"], flags].concat()).keeping_stdin();
    let lines: Vec<_> = (0..4).map(|_| hold.line()).collect();
    (hold, lines.join("\n"))
}

#[test]
fn a_command_runs_under_a_plain_lock_on_a_cluster() {
    require_server();
    let cluster = RedisCluster::start(3, 0).expect("it starts");
    let place = place(cluster.url());
    let told = "echo $LEASEHOLD_RESOURCE ${LEASEHOLD_FENCING_TOKEN-none}";
    let run = ["run", "--plain", "-v", "r", "--", "sh", "-c", told];
    let seen = place.end(&run);
    assert_eq!((seen.code, &*seen.stdout), (0, "r none\n"), "{seen:?}");
    seen.assert_says(0, &["locked \"r\" after ", ": no token, valid for "]);
    assert!(place.end(&["status", "r"]).stdout.contains("\"r\" is free"));
    assert_eq!(place.end(&["wait", "r"]).code, 0);
    let seen = place.end(&["list"]);
    seen.assert(0, "", "leasehold: nothing is locked\n");

    let (hold, lines) = hold(&place, &["--plain"]);
    assert!(
        lines.contains("\nunset LEASEHOLD_FENCING_TOKEN\n"),
        "{lines}"
    );
    let seen = place.end(&["run", "--plain", "-n", "r", "--", "true"]);
    seen.assert_says(121, &["cannot lock \"r\": held by pid "]);
    let seen = place.end(&["run", "--plain", "-w", "300ms", "r", "--", "true"]);
    seen.assert_says(124, &["\"r\": still held after 300 ms by pid "]);
    let seen = place.end(&["status", "r"]);
    assert!(seen.stdout.contains("held by"), "{seen:?}");
    place
        .end(&["wait", "--wait", "300ms", "r"])
        .assert_says(124, &["\"r\" is still held by "]);
    let seen = place.end(&["list"]);
    assert!(
        seen.stdout.lines().any(|line| line.starts_with("r  ")),
        "{seen:?}"
    );
    let seen = place.end(&["force-release", "--yes", "r"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    hold.end().assert_says(123, &["lost the lock \"r\""]);
}

#[test]
fn a_cluster_that_nobody_keeps_is_told_with_the_command_that_looks_closer() {
    let place = place("redis+cluster://127.0.0.1:1".to_owned());
    let seen = place.end(&["run", "--plain", "-n", "r", "--", "true"]);
    let hint = "hint: `redis-cli --cluster check";
    seen.assert_says(122, &["cluster@127.0.0.1:1", hint]);
}

#[test]
fn a_server_that_is_no_cluster_is_told_by_the_address_that_it_has() {
    require_server();
    let server = Server::start().expect("it starts");
    let place = place(format!("redis+cluster://127.0.0.1:{}", server.port()));
    let seen = place.end(&["run", "--plain", "-n", "r", "--", "true"]);
    let hint = "hint: a server that is no part of a Redis Cluster: write redis://host:port";
    seen.assert_says(122, &["cluster support disabled", hint]);
}

#[test]
fn plain_locks_and_fenced_ones_exclude_each_other() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let place = place(servers.nodes());
    for (ours, theirs) in [(&["--plain"][..], &[][..]), (&[], &["--plain"])] {
        let (mut hold, _) = hold(&place, ours);
        let words = [&["run", "-n", "r"], theirs, &["--", "true"]].concat();
        place
            .end(&words)
            .assert_says(121, &["cannot lock \"r\": held by pid "]);
        hold.close_stdin();
        assert_eq!(hold.end().code, 0);
        assert_eq!(place.end(&words).code, 0);
    }
}

#[test]
fn a_plain_lock_has_no_parts_no_line_and_no_file() {
    let place = place("redis://127.0.0.1:1".to_owned());
    for flags in [
        &["--shared"][..],
        &["--permits", "2"],
        &["--fair"],
        &["--once-per", "1h"],
        &["--local"],
    ] {
        let seen = place.end(&[&["run", "--plain"], flags, &["r", "--", "true"]].concat());
        seen.assert_says(2, &["cannot be used with", "--plain"]);
    }
    let test = place.user.run(&["run", "--plain", "r", "--", "true"]);
    let seen = test.end();
    seen.assert_says(
        2,
        &[
            "--plain is for servers: no nodes given",
            "hint: name them by",
        ],
    );
}

#[test]
fn doctor_and_watch_look_at_all_masters_of_a_cluster() {
    require_server();
    let cluster = RedisCluster::start(3, 0).expect("it starts");
    let place = place(cluster.url());
    let seen = place.end(&["doctor"]);
    assert_eq!(seen.code, 120, "{seen:?}");
    for told in [
        "a Redis Cluster of 3 masters; votes\n",
        "5461 slots; ",
        "5462 slots; ",
        "\nwarning  locks are plain: ",
        "\nverdict: weakened: 1 of 1 nodes vote; locks work\n",
    ] {
        assert!(seen.stdout.contains(told), "{told}: {seen:?}");
    }
    assert!(!seen.stdout.contains("problem"), "{seen:?}");
    let evicts = ["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"];
    cluster[0].command(&evicts).expect("it answers");
    let lacks = ["ACL", "SETUSER", "default", "-pexpire", "-asking"];
    cluster[1].command(&lacks).expect("it answers");
    let seen = place.end(&["doctor"]);
    assert_eq!(seen.code, 122, "{seen:?}");
    for told in [
        "its user lacks rights: +pexpire +asking\n",
        "its maxmemory-policy is allkeys-lru\n",
        "a Redis Cluster of 3 masters; votes for some names\n",
        "broken: 0 of 1 nodes vote for all names, 1 must; no lock can be acquired whose name is in ",
    ] {
        assert!(seen.stdout.contains(told), "{told}: {seen:?}");
    }
}

#[test]
fn each_name_on_a_cluster_is_judged_by_the_master_that_keeps_it() {
    require_server();
    let cluster = RedisCluster::start(3, 0).expect("it starts");
    let place = place(cluster.url());
    cluster[1].pause().expect("it is ours");
    let names = ["a", "b", "c", "d", "foo"];
    let by_paused: Vec<_> = { names.iter() }
        .filter(|name| {
            let slot = cluster.slot(name).expect("the first master answers");
            (5_461..10_923).contains(&slot)
        })
        .collect();
    assert_eq!(by_paused.len(), 1, "{by_paused:?}");
    for name in names {
        let seen = place.end(&["status", name]);
        let is_paused = by_paused.contains(&&name);
        assert_eq!(seen.code, if is_paused { 122 } else { 0 }, "{seen:?}");
    }
    let seen = place.end(&["watch", "--once"]);
    assert_eq!(seen.code, 122, "{seen:?}");
    for told in [
        "  for some names\n",
        "did not answer within 500ms",
        "what is locked is not known: 1 of 1 nodes do not tell",
    ] {
        assert!(seen.stdout.contains(told), "{told}: {seen:?}");
    }
    let seen = place.end(&["doctor", "--json"]);
    for told in [
        "\"kind\":\"cluster\"",
        "\"votes\":false",
        "\"answers\":false",
    ] {
        assert!(seen.stdout.contains(told), "{told}: {seen:?}");
    }
    cluster[1].resume().expect("it is ours");
}

#[test]
fn two_addresses_of_one_cluster_have_one_vote() {
    require_server();
    let cluster = RedisCluster::start(3, 0).expect("it starts");
    let address = |at: usize| format!("redis+cluster://127.0.0.1:{}", cluster[at].port());
    let place = place(format!("{},{}", address(0), address(1)));
    let seen = place.end(&["doctor"]);
    assert_eq!(seen.code, 122, "{seen:?}");
    for told in [
        ": it is the same cluster\n",
        ": are the same server\n",
        "verdict: broken: 1 of 2 nodes vote, 2 must; no lock can be acquired\n",
    ] {
        assert!(seen.stdout.contains(told), "{told}: {seen:?}");
    }
}
