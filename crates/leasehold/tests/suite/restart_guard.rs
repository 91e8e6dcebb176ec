//! Servers that forget, and do not vote until it harms nobody.

use crate::support::{block_on, eventually};
use leasehold::{AcquireError, FaultKind, LockManager, LockOptions, ManagerBuilder, RestartGuard};
use leasehold_servers::{Server, ServerSet, require_server};
use std::{thread, time::Duration};

const MS: Duration = Duration::from_millis(1);

/// 400 ms and 1 % of it and 2 ms and no skew.
const MAX_TTL: Duration = Duration::from_millis(400);

fn builder(urls: impl IntoIterator<Item = String>) -> ManagerBuilder {
    // A single try has to do on a busy machine.
    let options = LockOptions::new().ttl(300 * MS).node_limit(200 * MS);
    LockManager::builder()
        .max_ttl(MAX_TTL)
        .clock_skew(Duration::ZERO)
        .nodes(urls)
        .defaults(options)
}

fn guarded(urls: impl IntoIterator<Item = String>) -> LockManager {
    builder(urls).build().expect("good addresses")
}

fn try_once(manager: &LockManager) -> Result<leasehold::LeaseGuard, AcquireError> {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.try_acquire())
}

/// Waits until the server votes for `manager`.
fn warm(manager: &LockManager) {
    eventually("the server votes", || {
        try_once(manager).is_ok_and(|guard| block_on(guard.release()).is_released())
    });
}

/// The single node's reason not to vote.
fn abstention(manager: &LockManager) -> String {
    let mut reason = String::new();
    eventually("the server abstains", || match try_once(manager) {
        Err(AcquireError::Abstained(abstained)) => {
            assert_eq!(abstained.faults[0].kind(), FaultKind::Abstained);
            assert!(abstained.left <= 406 * MS, "{:?}", abstained.left);
            reason = abstained.faults[0].to_string();
            true
        }
        Ok(_) => panic!("it must not vote"),
        // It is not back yet.
        Err(_) => false,
    });
    reason
}

#[test]
fn a_new_server_abstains_once_and_says_why() {
    require_server();
    let server = Server::start().expect("it starts");
    let manager = guarded([server.url()]);
    let why = abstention(&manager);
    assert!(why.contains("it is new to these locks"), "{why}");
    // Whoever can wait, waits.
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire()).expect("its quarantine ends");
    assert!(block_on(guard.release()).is_released());
    // And another program does not begin it anew.
    assert!(try_once(&guarded([server.url()])).is_ok());
}

#[test]
fn a_server_that_forgot_abstains() {
    require_server();
    let server = Server::start().expect("it starts");
    let manager = guarded([server.url()]);
    warm(&manager);
    server.restart_empty().expect("it starts again");
    let why = abstention(&manager);
    assert!(why.contains("restarted without its data"), "{why}");
    warm(&manager);
    server.command(&["FLUSHALL"]).expect("it answers");
    let why = abstention(&manager);
    assert!(why.contains("was flushed"), "{why}");
}

#[test]
fn a_server_with_an_old_snapshot_abstains() {
    require_server();
    let server = Server::start().expect("it starts");
    let manager = guarded([server.url()]);
    warm(&manager);
    server.save().expect("it has a disk");
    let guard = try_once(&manager).expect("it votes");
    server.restart().expect("it starts again");
    let why = abstention(&manager);
    assert!(why.contains("it has restarted, or was a replica"), "{why}");
    drop(guard);
}

#[test]
fn a_replica_that_was_promoted_abstains() {
    require_server();
    let primary = Server::start().expect("it starts");
    let replica = Server::builder().replica_of(&primary).start();
    let replica = replica.expect("it starts");
    warm(&guarded([primary.url()]));
    eventually("the replica has what the primary has", || {
        let node = replica.command(&["HGET", "leasehold:node", "id"]);
        node.is_ok_and(|reply| reply.text().is_some())
    });
    replica
        .command(&["REPLICAOF", "NO", "ONE"])
        .expect("it is promoted");
    // Other programs know it under the address of the one before; here the configuration names another.
    replica
        .command(&["HDEL", "leasehold:node", "cfg", "about"])
        .expect("it answers");
    let why = abstention(&guarded([replica.url()]));
    assert!(why.contains("was a replica"), "{why}");
}

#[test]
fn a_disk_that_keeps_every_vote_is_trusted_by_those_who_say_so() {
    require_server();
    for (guard, votes) in [
        (RestartGuard::TrustAof, true),
        (RestartGuard::Quarantine, false),
    ] {
        let server = Server::builder()
            .option("appendonly", &["yes"])
            .option("appendfsync", &["always"])
            .start()
            .expect("it starts");
        let long = 30_000 * MS;
        let builder = || {
            LockManager::builder()
                .max_ttl(long)
                .restart_guard(guard)
                .nodes([server.url()])
        };
        let manager = builder().build().expect("good addresses");
        assert!(try_once(&manager).is_err(), "it is new");
        server
            .command(&["HSET", "leasehold:node", "until", "0"])
            .expect("it answers");
        warm(&manager);
        server.restart().expect("it starts again");
        let manager = builder().build().expect("good addresses");
        let tried = try_once(&manager).map(drop);
        assert_eq!(tried.is_ok(), votes, "{guard:?}: {tried:?}");
    }
}

#[test]
fn a_disk_is_trusted_only_with_what_it_got_when_it_was_durable() {
    require_server();
    let server = Server::builder()
        .option("appendonly", &["yes"])
        .option("appendfsync", &["always"])
        .start()
        .expect("it starts");
    let builder = || builder([server.url()]).restart_guard(RestartGuard::TrustAof);
    warm(&builder().build().expect("good addresses"));
    // As a process leaves it that wrote less carefully.
    server
        .command(&["HSET", "leasehold:node", "logged", "0"])
        .expect("it answers");
    server.restart().expect("it starts again");
    let why = abstention(&builder().build().expect("good addresses"));
    assert!(why.contains("it has restarted"), "{why}");
}

#[test]
fn a_server_that_does_not_keep_every_vote_is_given_none_where_its_disk_is_trusted() {
    require_server();
    let server = Server::builder()
        .option("appendonly", &["yes"])
        .option("appendfsync", &["everysec"])
        .start()
        .expect("it starts");
    let builder = || builder([server.url()]).restart_guard(RestartGuard::TrustAof);
    let manager = builder().build().expect("good addresses");
    eventually("the server says what it lacks", || {
        let error = try_once(&manager).expect_err("it must not vote");
        error.to_string().contains("appendfsync always")
    });
    let set = ["CONFIG", "SET", "appendfsync", "always"];
    server.command(&set).expect("it answers");
    warm(&manager);
}

#[test]
fn a_minority_that_abstains_costs_nothing() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let manager = guarded(servers.urls());
    warm(&manager);
    let first = servers.iter().next().expect("there are three");
    first.restart_empty().expect("it starts again");
    assert!(try_once(&manager).is_ok());
}

#[test]
fn whoever_wants_something_else_is_told_what_both_want() {
    require_server();
    let server = Server::start().expect("it starts");
    warm(&guarded([server.url()]));
    let other = builder([server.url()]).max_ttl(2 * MAX_TTL);
    let error = try_once(&other.build().expect("good addresses")).expect_err("they disagree");
    assert!(
        matches!(error, AcquireError::Disagreement { .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("max-ttl=400ms") && text.contains("max-ttl=800ms"),
        "{text}"
    );
}

#[test]
fn leases_of_another_configuration_are_not_extended() {
    require_server();
    let server = Server::start().expect("it starts");
    let manager = guarded([server.url()]);
    warm(&manager);
    let guard = try_once(&manager).expect("it votes");
    server
        .command(&[
            "HSET",
            "leasehold:node",
            "cfg",
            "another",
            "about",
            "another one",
        ])
        .expect("it answers");
    let error = block_on(guard.extend()).expect_err("it belongs to others now");
    assert!(error.to_string().contains("another one"), "{error}");
}

#[test]
fn a_server_that_is_given_twice_has_one_vote() {
    require_server();
    let server = Server::start().expect("it starts");
    let port = server.port();
    let urls = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let manager = guarded(urls);
    let mut text = String::new();
    eventually("it is told", || {
        text = try_once(&manager).expect_err("one vote of two").to_string();
        text.contains("the same server as another address")
    });
}

#[test]
fn a_server_that_may_evict_locks_is_refused() {
    require_server();
    let server = Server::builder()
        .option("maxmemory", &["100mb"])
        .option("maxmemory-policy", &["allkeys-lru"])
        .start()
        .expect("it starts");
    let error = try_once(&guarded([server.url()])).expect_err("it may lose locks");
    assert!(
        error.to_string().contains("maxmemory-policy allkeys-lru"),
        "{error}"
    );
    let plain = LockManager::builder().nodes([server.url()]).build_plain();
    let mutex = plain.expect("good").mutex("r").expect("a plain name");
    assert!(
        block_on(mutex.try_acquire()).is_ok(),
        "nobody asked for more"
    );
}

/// The rights that OPERATING.md names.
const RIGHTS: [&str; 19] = [
    "+hello",
    "+auth",
    "+select",
    "+script|load",
    "+client|tracking",
    "+client|caching",
    "+eval",
    "+evalsha",
    "+info",
    "+time",
    "+get",
    "+mget",
    "+set",
    "+del",
    "+pttl",
    "+pexpire",
    "+hget",
    "+hmget",
    "+hset",
];

#[test]
fn the_rights_that_are_asked_for_are_enough_and_info_is_one_of_them() {
    require_server();
    let server = Server::start().expect("it starts");
    let user = |name: &'static str, rights: &[&'static str]| {
        let words = [&["ACL", "SETUSER", name, "on", ">pw", "~*"][..], rights].concat();
        server.command(&words).expect("it answers");
        format!("redis://{name}:pw@127.0.0.1:{}", server.port())
    };
    let enough = guarded([user("enough", &RIGHTS)]);
    warm(&enough);
    let guard = try_once(&enough).expect("it votes");
    block_on(guard.extend()).expect("it may");
    assert!(
        block_on(enough.inspect("r"))
            .expect("it may")
            .holder()
            .is_some()
    );
    assert!(block_on(guard.release()).is_released());
    // A fair lock takes no right more, for a queue that somebody enters and leaves either.
    let options = LockOptions::new().ttl(300 * MS).fair();
    let fair = enough.mutex_with("fair", options).expect("a plain name");
    let guard = block_on(fair.acquire()).expect("it votes");
    let refused = block_on(fair.try_acquire()).expect_err("it is held");
    assert!(refused.is_contention(), "{refused}");
    assert!(block_on(guard.release()).is_released());
    let guard = block_on(fair.try_acquire()).expect("nobody waits");
    assert!(block_on(guard.release()).is_released());
    let without: Vec<_> = RIGHTS
        .into_iter()
        .filter(|right| *right != "+info")
        .collect();
    let error = try_once(&guarded([user("without", &without)])).expect_err("it may not");
    assert!(error.to_string().contains("+info"), "{error}");
    let unguarded = builder([user("unguarded", &without)])
        .restart_guard(RestartGuard::Off)
        .namespace("other");
    assert!(try_once(&unguarded.build().expect("good")).is_ok());
}

#[test]
fn the_past_is_looked_at_once_in_a_millisecond() {
    require_server();
    let server = Server::start().expect("it starts");
    let manager = guarded([server.url()]);
    warm(&manager);
    server
        .command(&["CONFIG", "RESETSTAT"])
        .expect("it answers");
    thread::scope(|scope| {
        for worker in 0..10 {
            let manager = &manager;
            scope.spawn(move || {
                for number in 0..50 {
                    let mutex = manager.mutex(&format!("r{worker}.{number}"));
                    let mutex = mutex.expect("a plain name");
                    drop(block_on(mutex.try_acquire()).expect("it votes"));
                }
            });
        }
    });
    let calls = |command: &str| {
        let stats = server
            .command(&["INFO", "commandstats"])
            .expect("it answers");
        let stats = stats.text().expect("it is text").to_owned();
        let line = stats
            .lines()
            .find(|line| line.starts_with(&format!("cmdstat_{command}:")));
        let count = line.and_then(|line| {
            line.split("calls=")
                .nth(1)?
                .split(',')
                .next()?
                .parse::<u64>()
                .ok()
        });
        count.unwrap_or(0)
    };
    let (looks, votes) = (calls("info"), calls("set"));
    assert_eq!(votes, 500);
    assert!(looks < votes * 3 / 4, "{looks} looks for {votes} votes");
}

/// What OPERATING.md says of it: it cannot be seen, and a flush behind it makes up for it.
#[test]
fn a_database_that_was_swapped_there_and_back_is_not_seen_and_a_flushed_one_is() {
    require_server();
    let server = Server::start().expect("it starts");
    let manager = guarded([server.url()]);
    warm(&manager);
    let swap = || server.command(&["SWAPDB", "0", "1"]).expect("it answers");
    swap();
    let why = abstention(&manager);
    assert!(why.contains("it is new to these locks"), "{why}");
    warm(&manager);
    let held = try_once(&manager).expect("it votes");
    swap();
    let other = guarded([server.url()]);
    assert!(try_once(&other).is_ok(), "two hold it");
    server.command(&["FLUSHDB"]).expect("it answers");
    let why = abstention(&other);
    assert!(why.contains("was flushed"), "{why}");
    drop(held);
}
