//! Servers that do not vote: the keys of those that answer are shown, and nothing is claimed of those of silent ones.

use crate::support::{Seen, User, wait_until};
use leasehold_servers::{Server, ServerSet, require_server};
use rustix::process::Signal;

fn set(servers: &[&Server], words: &[&str]) {
    for server in servers {
        let told = server.command(words).expect("it runs");
        assert_eq!(told.text(), Some("OK"), "{words:?}");
    }
}

#[test]
fn a_lock_is_shown_whose_servers_do_not_vote_any_more() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let all: Vec<_> = servers.iter().collect();
    let (user, nodes) = (User::new(), servers.nodes());
    let test = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes);
    let status = || test(&["status", "demo"]).end();
    // Without a limit there is nothing to evict.
    set(&all, &["CONFIG", "SET", "maxmemory", "1gb"]);
    let free = status();
    assert_eq!(free.code, 0, "{free:?}");
    let holder = test(&["hold", "--ttl", "30s", "demo"]).keeping_stdin();
    wait_until(|| status().code == 121);
    for (name, value, usual, why) in [
        ("maxmemory-policy", "allkeys-lru", "noeviction", "may evict"),
        ("min-replicas-to-write", "1", "0", "NOREPLICAS"),
    ] {
        set(&all, &["CONFIG", "SET", name, value]);
        let seen = status();
        assert_eq!(seen.code, 121, "{seen:?}");
        assert!(
            seen.stdout.starts_with("\"demo\" is held by pid "),
            "{seen:?}"
        );
        assert_told(&seen, 3, why);
        set(&all, &["CONFIG", "SET", name, usual]);
    }
    // One is enough to be told of.
    set(
        &all[..1],
        &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"],
    );
    assert_told(&status(), 1, "may evict");
    let json = test(&["status", "--json", "demo"]).end().stdout;
    assert!(
        json.contains("\"key\":\"lock\",") && json.contains("may evict"),
        "{json}"
    );
    set(&all, &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    holder.signal(Signal::KILL);
    holder.end_alone();
    let delete = ["DEL", "demo"];
    all.iter().for_each(|server| drop(server.command(&delete)));
    let seen = status();
    assert_eq!(seen.code, 122, "{seen:?}");
    let unusable = "no key of \"demo\" was found; no lock can be acquired: 0 of 3 nodes vote";
    assert!(seen.stdout.starts_with(unusable), "{seen:?}");
    assert_told(&seen, 3, "may evict");
}

#[track_caller]
fn assert_told(seen: &Seen, nodes: usize, why: &str) {
    let refusals = seen.stdout.matches("  does not vote: ").count();
    assert_eq!(refusals, nodes, "{seen:?}");
    assert!(seen.stdout.contains(why), "no {why} in {seen:?}");
    for silence in ["no answer", "cannot be read"] {
        assert!(!seen.stdout.contains(silence), "{seen:?}");
    }
}

#[test]
fn a_server_that_refuses_to_tell_is_not_one_that_does_not_answer() {
    require_server();
    let server = Server::start().expect("it starts");
    let words = [
        "ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "-get", "-eval", "-evalsha",
    ];
    set(&[&server], &words);
    let nodes = format!("redis://u:p@127.0.0.1:{}", server.port());
    let user = User::new();
    let seen = user
        .run(&["status", "demo"])
        .env("LEASEHOLD_NODES", &nodes)
        .end();
    assert_eq!(seen.code, 122, "{seen:?}");
    let unclear = "\"demo\" may be held or free: 0 of 1 nodes tell, 1 must\n";
    assert!(seen.stdout.starts_with(unclear), "{seen:?}");
    assert_told(&seen, 1, "NOPERM");
}

#[test]
fn a_living_holder_is_not_called_left_over_where_servers_are_silent() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let test = |words: &[&str]| user.run(words).env("LEASEHOLD_NODES", &nodes);
    let mut holder = test(&["run", "demo", "--", "sh", "-c", "echo $PPID; sleep 30"]).start();
    let pid = format!("of pid {} on ", holder.line());
    servers[0].pause().expect("it runs");
    servers[1].pause().expect("it runs");
    let status = test(&["status", "demo"]).end();
    assert_eq!(status.code, 122, "{status:?}");
    assert!(status.stdout.contains(&pid), "no {pid} in {status:?}");
    let list = test(&["list"]).end();
    let may = ", which may hold it or not\n";
    assert!(list.stdout.contains(may), "no {may:?} in {list:?}");
    for seen in [&status, &list] {
        assert!(!seen.stdout.contains("left over"), "{seen:?}");
    }
    servers[0].resume().expect("it is there");
    servers[1].resume().expect("it is there");
    holder.signal(Signal::TERM);
    holder.end_alone();
}

#[test]
fn a_forced_release_that_too_few_servers_hear_names_the_silent_ones_and_that_it_changed_nothing() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    servers[0].kill().expect("it runs");
    servers[1].kill().expect("it runs");
    let owner = "9f3a1c0d2b7e85ac2636a4edd080b0fb72d69c6e";
    for words in [&[][..], &["--owner", owner]] {
        let words = [&["force-release", "--yes", "demo"], words].concat();
        let seen = user.run(&words).env("LEASEHOLD_NODES", &nodes).end();
        let unclear =
            "\"demo\" may be held or free: 1 of 3 nodes answer, 2 must; nothing was changed\n";
        seen.assert_says(122, &[unclear]);
        for server in [&servers[0], &servers[1]] {
            let silent = format!(
                "leasehold: 127.0.0.1:{}: connection refused\n",
                server.port()
            );
            seen.assert_says(122, &[&silent]);
        }
    }
}
