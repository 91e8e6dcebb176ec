//! Plain locks whose node is a Redis Cluster, as programs have them.

use crate::{
    stuck_runtime::{blocked, two_threads},
    support::{block_on, eventually},
};
use leasehold::{AcquireError, ConfigError, LockManager, LockOptions, Plain, ReleaseOutcome};
use leasehold_servers::{RedisCluster, require_server};
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(30);

fn cluster() -> RedisCluster {
    require_server();
    RedisCluster::start(3, 0).expect("the cluster starts")
}

fn options() -> LockOptions {
    LockOptions::new().ttl(1_000 * MS).node_limit(400 * MS)
}

fn manager(cluster: &RedisCluster, options: LockOptions) -> LockManager<Plain> {
    let builder = LockManager::builder().nodes([cluster.url()]);
    builder
        .defaults(options)
        .build_plain()
        .expect("a good address")
}

#[test]
fn two_programs_exclude_each_other_on_a_cluster_and_each_lock_is_seen_and_taken_away() {
    let cluster = cluster();
    let (one, other) = (manager(&cluster, options()), manager(&cluster, options()));
    for name in ["a", "b", "c", "orders/42", "{x}y"] {
        let mutex = one.mutex(name).expect("a plain name");
        let rival = other.mutex(name).expect("a plain name");
        let guard = block_on(mutex.acquire()).expect("it is free");
        let refused = block_on(rival.try_acquire()).expect_err("it is held");
        assert!(refused.is_contention(), "{refused}");
        let found = block_on(other.inspect(name)).expect("it answers");
        assert_eq!(found.holder(), Some(guard.owner()), "{name}");
        assert_eq!(block_on(guard.release()), ReleaseOutcome::Released);
        let guard = block_on(rival.acquire()).expect("it is free");
        let evicted = block_on(one.force_release(name)).expect("it answers");
        let outcomes: Vec<_> = evicted.evicted.iter().map(|(_, outcome)| outcome).collect();
        assert_eq!(outcomes, [&ReleaseOutcome::Released]);
        eventually("the holder is told", || !guard.is_valid());
        assert!(block_on(mutex.acquire_within(PATIENCE)).is_ok(), "{name}");
    }
}

#[test]
fn who_waits_has_the_lock_as_soon_as_it_is_released() {
    let cluster = cluster();
    let long = options().ttl(PATIENCE).node_limit(400 * MS);
    let (one, other) = (manager(&cluster, long.clone()), manager(&cluster, long));
    let mutex = one.mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let rival = other.mutex("r").expect("a plain name");
            block_on(rival.acquire_within(PATIENCE / 2))
        });
        // It has been refused, and waits for a hint.
        eventually("it was refused", || {
            cluster.iter().any(|server| {
                let told = server.command(&["INFO", "clients"]);
                told.is_ok_and(|told| {
                    let told = told.text().unwrap_or_default();
                    let hinted = told
                        .lines()
                        .find_map(|line| line.strip_prefix("tracking_clients:"));
                    hinted.is_some_and(|count| count != "0")
                })
            })
        });
        drop(guard);
        let had = waiting.join().expect("no panic");
        assert!(had.is_ok(), "{had:?}");
    });
}

#[test]
fn names_of_one_slot_are_locked_together() {
    let cluster = cluster();
    let manager = manager(&cluster, options());
    let both = manager.mutex_all(["{orders}/1", "{orders}/2"]);
    let guard = block_on(both.expect("plain names").acquire()).expect("they are free");
    let one = manager.mutex("{orders}/2").expect("a plain name");
    assert!(block_on(one.try_acquire()).is_err());
    assert_eq!(block_on(guard.release()), ReleaseOutcome::Released);
    let apart = manager.mutex_all(["orders/1", "orders/2"]);
    let refused = block_on(apart.expect("plain names").try_acquire());
    let refused = refused.expect_err("no server keeps both").to_string();
    assert!(refused.contains("such as {orders}/1"), "{refused}");
}

#[test]
fn fenced_locks_are_refused_on_a_cluster_with_the_way_out() {
    let builder = LockManager::builder().nodes(["redis+cluster://:secret@a,b,c"]);
    let refused = builder.build().expect_err("it is a cluster");
    assert!(
        matches!(refused, ConfigError::FencedCluster { .. }),
        "{refused}"
    );
    let words = refused.to_string();
    assert!(
        words.starts_with("the node cluster@a:6379+b:6379+c:6379 is a Redis Cluster"),
        "{words}"
    );
    assert!(
        words.contains("`build_plain`") && !words.contains("secret"),
        "{words}"
    );
}

#[test]
fn a_lease_outlives_the_moves_of_its_slot() {
    let cluster = cluster();
    let manager = manager(&cluster, options());
    let slot = cluster.slot("r").expect("it answers");
    let guard = block_on(manager.mutex("r").expect("a plain name").acquire()).expect("it is free");
    for turn in 0..12 {
        let owner = cluster.owner(slot).expect("somebody keeps it");
        cluster.move_slot(slot, (owner + 1) % 3).expect("it moves");
        let before = guard.remaining();
        eventually("it is extended where the slot is now", || {
            assert!(guard.is_valid(), "it was lost at move {turn}");
            guard.remaining() > before
        });
    }
    assert_eq!(block_on(guard.release()), ReleaseOutcome::Released);
}

#[test]
fn a_lease_outlives_a_move_though_every_thread_of_the_runtime_is_blocked() {
    let cluster = cluster();
    let runtime = two_threads();
    let manager = {
        let _within = runtime.enter();
        manager(&cluster, options())
    };
    let slot = cluster.slot("r").expect("it answers");
    let guard = block_on(manager.mutex("r").expect("a plain name").acquire()).expect("it is free");
    let _blocks = blocked(&runtime);
    for _ in 0..2 {
        let owner = cluster.owner(slot).expect("somebody keeps it");
        cluster.move_slot(slot, (owner + 1) % 3).expect("it moves");
        let before = guard.remaining();
        eventually("it is extended where the slot is now", || {
            assert!(guard.is_valid());
            guard.remaining() > before
        });
    }
    let other = manager.mutex("another").expect("a plain name");
    assert!(block_on(other.acquire_within(PATIENCE)).is_ok());
    assert_eq!(block_on(guard.release()), ReleaseOutcome::Released);
}

/// Many take turns while their slot goes round.
#[test]
fn one_at_a_time_holds_a_lock_whose_slot_moves_all_the_while() {
    let cluster = cluster();
    let slot = cluster.slot("r").expect("it answers");
    let (inside, turns, is_over) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let manager = manager(&cluster, options());
                let mutex = manager.mutex("r").expect("a plain name");
                while !is_over.load(Ordering::Relaxed) {
                    let guard = match block_on(mutex.acquire_within(PATIENCE)) {
                        Ok(guard) => guard,
                        Err(AcquireError::TimedOut { last, .. }) => panic!("{last}"),
                        Err(error) => panic!("{error}"),
                    };
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two hold it");
                    assert!(guard.is_valid());
                    inside.fetch_sub(1, Ordering::SeqCst);
                    turns.fetch_add(1, Ordering::Relaxed);
                    let outcome = block_on(guard.release());
                    assert!(outcome.is_released(), "{outcome}");
                }
            });
        }
        for _ in 0..40 {
            let before = turns.load(Ordering::Relaxed);
            let owner = cluster.owner(slot).expect("somebody keeps it");
            cluster.move_slot(slot, (owner + 1) % 3).expect("it moves");
            eventually("others have it", || {
                turns.load(Ordering::Relaxed) > before + 8
            });
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let left: usize = { cluster.iter() }
        .map(|server| {
            server
                .command(&["KEYS", "*"])
                .expect("it answers")
                .texts()
                .len()
        })
        .sum();
    assert_eq!(left, 0, "a key was left behind");
}

/// What plain locks need, and what a cluster takes beside that.
const RIGHTS: &str = "+hello +auth +client|tracking +client|caching +script|load +eval +evalsha +get +mget +set +del +pttl \
                      +pexpire +time +cluster|info +cluster|slots +asking";

/// A manager of a user who has these rights and no others.
fn with_rights(cluster: &RedisCluster, rights: &str) -> LockManager<Plain> {
    let user = ["ACL", "SETUSER", "u", "reset", "on", ">pw", "~*"];
    let words: Vec<_> = user.into_iter().chain(rights.split_whitespace()).collect();
    for server in cluster.iter() {
        server.command(&words).expect("it answers");
    }
    let url = cluster.url().replace("://", "://u:pw@");
    let builder = LockManager::builder()
        .nodes([url])
        .defaults(options().tries(1));
    builder.build_plain().expect("a good address")
}

#[test]
fn a_user_who_may_ask_where_slots_are_needs_nothing_else_beside_the_rights_for_plain_locks() {
    let cluster = cluster();
    let manager = with_rights(&cluster, RIGHTS);
    let slot = cluster.slot("r").expect("it answers");
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    let owner = cluster.owner(slot).expect("somebody keeps it");
    let target = (owner + 1) % 3;
    cluster.begin_move(slot, owner, target).expect("both agree");
    cluster.move_key("r", owner, target).expect("it moves");
    let before = guard.remaining();
    eventually("it is extended where it is now", || {
        guard.remaining() > before
    });
    assert_eq!(block_on(guard.release()), ReleaseOutcome::Released);
}

#[test]
fn a_user_who_may_run_no_scripts_is_refused_on_a_cluster_with_the_way_out() {
    let cluster = cluster();
    let fewer = RIGHTS.replace("+eval +evalsha ", "");
    let manager = with_rights(&cluster, &fewer);
    let refused = block_on(manager.mutex("r").expect("a plain name").acquire());
    let refused = refused.expect_err("there are no scripts").to_string();
    assert!(
        refused.contains("which all locks on a Redis Cluster need"),
        "{refused}"
    );
}

#[cfg(feature = "tls")]
#[test]
fn a_cluster_that_speaks_tls_is_asked_so_by_each_of_its_servers() {
    use leasehold_servers::{Certificates, StartError, skip};

    require_server();
    let certificates = match Certificates::generate() {
        Ok(certificates) => certificates,
        Err(error) => return skip(&format!("no certificates: {error}")),
    };
    let started = RedisCluster::start_with(1, 0, |builder| {
        builder.tls(&certificates).option("tls-cluster", &["yes"])
    });
    let cluster = match started {
        Err(StartError::NoTls) => return skip("the server was built without TLS"),
        started => started.expect("it starts"),
    };
    let port = cluster[0].tls_port().expect("it was asked for");
    let authority = certificates.authority().display().to_string();
    let url = format!("rediss+cluster://127.0.0.1:{port}?ca={authority}");
    let builder = LockManager::builder().nodes([url]).defaults(options());
    let manager = builder.build_plain().expect("a good address");
    let guard = block_on(manager.mutex("r").expect("a plain name").acquire());
    let outcome = block_on(guard.expect("it is free").release());
    assert_eq!(outcome, ReleaseOutcome::Released);
}
