//! Servers that evict keys, or have done so, and what an operator says of it.

use crate::{
    attestation::{abstention, admitted, builder, set, try_once},
    support::{block_on, eventually},
};
use leasehold::AbstentionCause;
use leasehold_servers::{Server, ServerSet, require_server};

/// Lets a server run out of the memory that it is given, and evict the key that ends first: the lock's.
fn evict(server: &Server) {
    let fill = "for i = 1, 4 do
            redis.call('SET', 'filler' .. i, string.rep('x', 1000000), 'EX', 100000)
        end";
    server.command(&["EVAL", fill, "0"]).expect("it answers");
    // Of as many samples as these it looks at all keys, or nearly so: what it evicts may be a key that ends later.
    set(
        server,
        &[
            "maxmemory-samples",
            "64",
            "maxmemory-policy",
            "volatile-ttl",
        ],
    );
    eventually("the key is evicted", || {
        let limit = (used_memory(server) - 500_000).to_string();
        set(server, &["maxmemory", &limit]);
        let exists = server.command(&["EXISTS", "r"]).expect("it answers");
        exists.integer() == Some(0)
    });
}

/// How many bytes a server uses.
fn used_memory(server: &Server) -> u64 {
    let told = server.command(&["INFO", "memory"]).expect("it answers");
    let mut lines = told.text().expect("a text").lines();
    let used = lines.find_map(|line| line.strip_prefix("used_memory:"));
    let used = used.and_then(|used| used.trim().parse().ok());
    used.expect("it tells")
}

fn cure(server: &Server) {
    set(
        server,
        &["maxmemory-policy", "noeviction", "maxmemory", "0"],
    );
}

#[test]
fn a_server_that_begins_to_evict_gives_the_lock_to_nobody_else_and_confirms_none() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let build = || builder(servers.urls());
    let (holder, other) = (admitted(build), build().build().expect("good addresses"));
    let held = try_once(&holder).expect("they vote");
    servers.iter().take(2).for_each(evict);
    // Also by a client that connected before, which nobody greets anew.
    for manager in [&holder, &other] {
        let error = try_once(manager).expect_err("it is held");
        assert!(
            error
                .to_string()
                .contains("CONFIG SET maxmemory-policy noeviction"),
            "{error}"
        );
    }
    assert!(held.is_valid());
    let error = block_on(held.extend()).expect_err("two of three may lose it");
    assert!(error.to_string().contains("it may evict locks"), "{error}");
    // Mended, they wait as long as a lease may last that they have forgotten.
    servers.iter().take(2).for_each(cure);
    let (cause, why) = abstention(&holder);
    assert_eq!(cause, Some(AbstentionCause::Evicted), "{why}");
    assert!(why.contains("has evicted keys"), "{why}");
    block_on(
        builder(servers.urls())
            .operator()
            .expect("good addresses")
            .admit(),
    )
    .expect("good addresses");
    drop(held);
    eventually("the operator's word counts", || try_once(&other).is_ok());
}

#[test]
fn a_server_that_has_evicted_while_nobody_looked_waits() {
    require_server();
    let server = Server::start().expect("it starts");
    let manager = admitted(|| builder([server.url()]));
    let held = try_once(&manager).expect("it votes");
    evict(&server);
    cure(&server);
    let (cause, why) = abstention(&manager);
    assert_eq!(cause, Some(AbstentionCause::Evicted), "{why}");
    drop(held);
}

#[test]
fn an_operators_word_counts_for_what_may_have_been_evicted() {
    require_server();
    let server = Server::start().expect("it starts");
    let build = || builder([server.url()]);
    let manager = admitted(build);
    set(
        &server,
        &["maxmemory-policy", "allkeys-lru", "maxmemory", "1gb"],
    );
    assert_eq!(abstention(&manager).0, Some(AbstentionCause::MayEvict));
    cure(&server);
    block_on(build().operator().expect("good addresses").admit()).expect("good addresses");
    let tried = try_once(&manager);
    assert!(tried.is_ok(), "{tried:?}");
}

/// Sets a key that lives for a while, and has it evicted.
fn lose_a_key(server: &Server) {
    let key = ["SET", "r", "x", "PX", "60000"];
    server.command(&key).expect("it answers");
    evict(server);
    cure(server);
}

#[test]
fn an_operators_word_counts_for_what_was_evicted_before() {
    require_server();
    let server = Server::start().expect("it starts");
    lose_a_key(&server);
    let build = || builder([server.url()]);
    block_on(build().operator().expect("good addresses").admit()).expect("good addresses");
    let manager = build().build().expect("good addresses");
    let tried = try_once(&manager);
    assert!(tried.is_ok(), "{tried:?}");
}

#[test]
fn what_is_evicted_after_an_operators_word_is_missed_though_nobody_has_looked_since() {
    require_server();
    let server = Server::start().expect("it starts");
    let build = || builder([server.url()]);
    block_on(build().operator().expect("good addresses").admit()).expect("good addresses");
    lose_a_key(&server);
    let manager = build().build().expect("good addresses");
    let (cause, why) = abstention(&manager);
    assert_eq!(cause, Some(AbstentionCause::Evicted), "{why}");
}

#[test]
fn a_server_that_has_a_policy_but_no_limit_votes() {
    require_server();
    let server = Server::start().expect("it starts");
    let manager = admitted(|| builder([server.url()]));
    set(&server, &["maxmemory-policy", "allkeys-lru"]);
    assert!(try_once(&manager).is_ok());
    set(&server, &["maxmemory", "1gb"]);
    let (cause, why) = abstention(&manager);
    assert_eq!(cause, Some(AbstentionCause::MayEvict), "{why}");
}
