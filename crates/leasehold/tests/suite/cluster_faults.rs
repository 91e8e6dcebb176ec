//! Redis Clusters that lose masters, or are gone: one of them alone, and three as three nodes.

use crate::support::{block_on, eventually};
use leasehold::clock::Clock;
use leasehold::{AcquireError, FaultKind, LeaseGuard, LockManager, LockOptions, Plain};
use leasehold_servers::{RedisCluster, Server, require_server};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(30);

fn cluster(masters: usize, replicas: usize) -> RedisCluster {
    require_server();
    RedisCluster::start(masters, replicas).expect("the cluster starts")
}

fn manager(urls: impl IntoIterator<Item = String>, ttl: Duration) -> LockManager<Plain> {
    let options = LockOptions::new().ttl(ttl).node_limit(400 * MS).tries(1);
    let builder = LockManager::builder().nodes(urls).defaults(options);
    builder.build_plain().expect("good addresses")
}

/// One whose leases do not extend themselves: they would find that a key is gone, and be lost, or set it again.
fn deaf(urls: impl IntoIterator<Item = String>) -> LockManager<Plain> {
    let options = LockOptions::new().ttl(PATIENCE).node_limit(400 * MS);
    let builder = LockManager::builder().nodes(urls);
    let builder = builder.defaults(options.tries(1).no_renewal());
    builder.build_plain().expect("good addresses")
}

fn acquire(manager: &LockManager<Plain>, name: &str) -> Result<LeaseGuard<Plain>, AcquireError> {
    block_on(manager.mutex(name).expect("a plain name").acquire())
}

/// Which master keeps the lock of this name.
fn keeper(cluster: &RedisCluster, name: &str) -> usize {
    let slot = cluster.slot(name).expect("it answers");
    cluster.owner(slot).expect("somebody keeps it")
}

fn has(cluster: &RedisCluster, name: &str) -> bool {
    let keeper: &Server = &cluster[keeper(cluster, name)];
    let found = keeper.command(&["EXISTS", name]).expect("it answers");
    found.integer() == Some(1)
}

/// All of them hear at once what this manager says.
fn know_each_other(manager: &LockManager<Plain>, clusters: &[RedisCluster]) {
    eventually("all are asked", || {
        let _guard = acquire(manager, "s");
        clusters.iter().all(|cluster| has(cluster, "s"))
    });
}

fn kill_all(cluster: &RedisCluster) {
    for server in cluster.iter() {
        server.kill().expect("it runs");
    }
}

#[test]
fn a_dead_master_costs_the_locks_of_its_slots_until_a_replica_takes_its_place() {
    let cluster = cluster(3, 1);
    let manager = manager([cluster.url()], 60_000 * MS);
    let dead = keeper(&cluster, "r");
    let others: Vec<_> = { 0..20 }
        .map(|number| format!("s/{number}"))
        .filter(|name| keeper(&cluster, name) != dead)
        .collect();
    let guard = acquire(&manager, "r").expect("it is free");
    let replica = &cluster[cluster.replica_of(dead)];
    eventually("the replica has the key", || {
        let size = replica.command(&["DBSIZE"]);
        size.is_ok_and(|size| size.integer() == Some(1))
    });
    cluster[dead].kill().expect("it runs");
    assert!(others.len() > 5);
    for name in &others {
        assert!(acquire(&manager, name).is_ok(), "{name}");
    }
    let place = format!("127.0.0.1:{} of the cluster: ", cluster[dead].port());
    eventually(
        "the lock of a dead master is not to be had, and the reason names it",
        || {
            let refused = acquire(&manager, "r").expect_err("nobody answers");
            let fault = refused.faults().first();
            fault.is_some_and(|fault| {
                fault.kind() == FaultKind::Down && fault.to_string().contains(&place)
            })
        },
    );
    cluster
        .take_over(cluster.replica_of(dead))
        .expect("it agrees");
    eventually("the lock is known to be held", || {
        acquire(&manager, "r").is_err_and(|refused| refused.is_contention())
    });
    assert!(block_on(guard.release()).is_released());
    assert!(acquire(&manager, "r").is_ok());
}

#[test]
fn who_wants_nothing_asks_nobody_and_finds_a_new_master_when_it_wants_something() {
    let cluster = cluster(3, 1);
    let manager = manager([cluster.url()], 2_000 * MS);
    assert!(acquire(&manager, "r").is_ok());
    let clock = Clock::system();
    eventually("nobody is asked for longer than a watch takes", || {
        let (before, since) = (questions(&cluster), clock.now());
        eventually("that is over", || {
            clock.now().saturating_since(since) > 2_500 * MS
        });
        questions(&cluster) == before
    });
    let hung = keeper(&cluster, "r");
    cluster[hung].pause().expect("it runs");
    cluster
        .take_over(cluster.replica_of(hung))
        .expect("it agrees");
    eventually("its successor is asked", || acquire(&manager, "r").is_ok());
    cluster[hung].resume().expect("it is there");
}

/// How often all servers were asked where slots are.
fn questions(cluster: &RedisCluster) -> u64 {
    let of = |server: &Server| {
        let told = server.command(&["INFO", "commandstats"]).ok()?;
        let mut lines = told.text()?.lines();
        let calls = lines.find_map(|line| line.strip_prefix("cmdstat_cluster|slots:calls="))?;
        calls.split(',').next()?.parse::<u64>().ok()
    };
    cluster.iter().filter_map(of).sum()
}

#[test]
fn a_cluster_that_elects_a_successor_by_itself_goes_on_with_it() {
    require_server();
    let started = RedisCluster::start_with(3, 1, |builder| {
        builder.option("cluster-replica-no-failover", &["no"])
    });
    let cluster = started.expect("the cluster starts");
    let manager = manager([cluster.url()], 60_000 * MS);
    let dead = keeper(&cluster, "r");
    let guard = acquire(&manager, "r").expect("it is free");
    let replica = &cluster[cluster.replica_of(dead)];
    eventually("the replica has the key", || {
        let size = replica.command(&["DBSIZE"]);
        size.is_ok_and(|size| size.integer() == Some(1))
    });
    cluster[dead].kill().expect("it runs");
    eventually("the lock is known to be held", || {
        acquire(&manager, "r").is_err_and(|refused| refused.is_contention())
    });
    assert!(guard.is_valid());
    assert!(block_on(guard.release()).is_released());
    assert!(acquire(&manager, "r").is_ok());
    // Its former master comes back as a replica, and redirects whoever asks it.
    cluster[dead].restart().expect("it starts again");
    let fresh = format!("redis+cluster://127.0.0.1:{}", cluster[dead].port());
    let other = crate::cluster_faults::manager([fresh], 60_000 * MS);
    eventually("it tells who has its place", || {
        acquire(&other, "r").is_ok()
    });
}

#[test]
fn three_clusters_are_three_nodes_and_one_of_them_may_be_away() {
    let clusters = [cluster(3, 0), cluster(3, 0), cluster(1, 0)];
    let urls = || clusters.iter().map(RedisCluster::url);
    let (one, other) = (manager(urls(), 2_000 * MS), manager(urls(), 2_000 * MS));
    let held = acquire(&one, "held").expect("it is free");
    for number in 0..10 {
        let name = format!("r/{number}");
        let guard = acquire(&one, &name).expect("it is free");
        assert!(acquire(&other, &name).is_err_and(|error| error.is_contention()));
        eventually("each cluster has it", || {
            clusters.iter().all(|cluster| has(cluster, &name))
        });
        assert!(block_on(guard.release()).is_released());
    }
    kill_all(&clusters[1]);
    let before = held.remaining();
    eventually("it is extended without", || {
        assert!(held.is_valid());
        held.remaining() > before
    });
    assert!(acquire(&other, "held").is_err_and(|error| error.is_contention()));
    let guard = acquire(&other, "r").expect("two of three are a quorum");
    assert!(acquire(&one, "r").is_err_and(|error| error.is_contention()));
    drop(guard);
    kill_all(&clusters[0]);
    let refused = acquire(&one, "s").expect_err("one is no quorum");
    assert!(refused.is_unreachable(), "{refused}");
    eventually("the lease is over", || !held.is_valid());
}

/// Has `r` on the first of these, of which a replica that has not heard of that takes its master's place; and then again.
fn held_twice(clusters: &[RedisCluster]) -> bool {
    let urls = || clusters.iter().map(RedisCluster::url);
    let (one, other) = (deaf(urls()), manager(urls(), PATIENCE));
    know_each_other(&one, clusters);
    let failing = &clusters[0];
    let (dead, replica) = cut_off(failing);
    let guard = acquire(&one, "r").expect("it is free");
    failing[dead].kill().expect("it runs");
    failing.take_over(replica).expect("it agrees");
    let clock = Clock::system();
    let mut held_since = None;
    let rival = loop {
        match acquire(&other, "r") {
            Ok(rival) => break Some(rival),
            // For a moment it may be held by what its own tries before have not taken back yet.
            Err(error) if error.is_contention() => {
                let since = *held_since.get_or_insert_with(|| clock.now());
                if clock.now().saturating_since(since) > 2_000 * MS {
                    break None;
                }
            }
            Err(_) => {}
        }
    };
    guard.is_valid() && rival.is_some_and(|rival| rival.is_valid())
}

/// The master that keeps `r`, and its replica, which hears nothing more.
fn cut_off(failing: &RedisCluster) -> (usize, usize) {
    let dead = keeper(failing, "r");
    let replica = failing.replica_of(dead);
    failing.cut_off(replica).expect("it agrees");
    eventually("it hears nothing more", || {
        let told = failing[replica]
            .command(&["INFO", "replication"])
            .expect("it answers");
        told.text()
            .is_some_and(|told| told.contains("master_link_status:down"))
    });
    (dead, replica)
}

#[test]
fn a_vote_on_a_cluster_may_have_to_be_known_to_replicas_of_the_master_that_gave_it() {
    let cluster = cluster(3, 1);
    let options = LockOptions::new().ttl(60_000 * MS).node_limit(400 * MS);
    let builder = LockManager::builder().nodes([cluster.url()]);
    let builder = builder.defaults(options.tries(1)).replicated(1, 200 * MS);
    let manager = builder.build_plain().expect("a good address");
    let keeper = keeper(&cluster, "r");
    eventually("a replica has heard of it", || {
        let guard = acquire(&manager, "r");
        guard.is_ok_and(|guard| block_on(guard.release()).is_released())
    });
    let replica = cluster.replica_of(keeper);
    cluster.cut_off(replica).expect("it agrees");
    eventually("no replica confirms it", || match acquire(&manager, "r") {
        Ok(_) => false,
        Err(refused) => refused.to_string().contains("0 of 1 replicas confirmed it"),
    });
}

/// What a cluster alone does not promise.
#[test]
fn a_plain_lock_on_one_cluster_is_held_twice_after_a_replica_that_lagged_was_promoted() {
    assert!(held_twice(&[cluster(3, 1)]));
}

#[test]
fn a_lock_on_three_clusters_is_held_once_though_a_replica_that_lagged_was_promoted_in_one() {
    assert!(!held_twice(&[cluster(3, 1), cluster(3, 0), cluster(1, 0)]));
}

/// What three clusters do not promise: the one that forgets is the only one that both quorums have in common.
#[test]
fn a_lock_of_two_of_three_clusters_is_held_twice_when_one_of_them_forgets() {
    let clusters = [cluster(3, 1), cluster(3, 0), cluster(1, 0)];
    let urls = || clusters.iter().map(RedisCluster::url);
    let one = deaf(urls());
    let failing = &clusters[0];
    let (dead, replica) = cut_off(failing);
    let third = &clusters[2][0];
    let said = |words: &[&str]| third.command(words).expect("it answers");
    know_each_other(&one, &clusters);
    said(&["SET", "r", "somebody else", "PX", "60000"]);
    let guard = acquire(&one, "r").expect("two of three are a quorum");
    said(&["DEL", "r"]);
    failing[dead].kill().expect("it runs");
    failing.take_over(replica).expect("it agrees");
    let other = manager(urls(), PATIENCE);
    // It may find what its own tries before have not taken back yet.
    eventually("another has it as well", || {
        let rival = acquire(&other, "r");
        assert!(guard.is_valid(), "not in time");
        rival.is_ok_and(|rival| rival.is_valid())
    });
}

#[test]
fn one_cluster_under_two_addresses_has_one_vote() {
    let (cluster, other) = (cluster(3, 0), cluster(1, 0));
    let twin = format!("redis+cluster://127.0.0.1:{}", cluster[1].port());
    let manager = manager([cluster.url(), twin, other.url()], 60_000 * MS);
    assert!(acquire(&manager, "r").is_ok(), "the other is the second");
    kill_all(&other);
    let refused = acquire(&manager, "s").expect_err("one cluster is one node");
    let mut faults = refused.faults().iter();
    let is_twin = faults.any(|fault| fault.kind() == FaultKind::SameNode);
    assert!(is_twin, "{refused}");
}
