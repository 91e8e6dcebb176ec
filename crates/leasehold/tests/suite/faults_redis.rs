//! Real servers that die, hang, are late, lose answers and refuse.

use crate::support::{
    block_on,
    cluster::{Cluster, manager},
    eventually,
};
use leasehold::{AcquireError, FaultKind, LockManager, LockOptions, clock::Clock};
use leasehold_servers::{Mode, Proxy, Server, require_server};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A TTL that no test waits for: what is gone before was released.
fn options() -> LockOptions {
    LockOptions::new().ttl(Duration::from_secs(60)).tries(1)
}

/// The median time of locking and unlocking, each time another resource.
fn median_cycle(manager: &LockManager, cycles: usize) -> Duration {
    let clock = Clock::system();
    let mut times: Vec<_> = (0..cycles)
        .map(|cycle| {
            let started = clock.now();
            let mutex = manager
                .mutex(&format!("cycle/{cycle}"))
                .expect("a plain name");
            let guard = block_on(mutex.acquire()).expect("a quorum is there");
            let outcome = block_on(guard.release());
            assert!(outcome.is_released(), "{outcome}");
            clock.now().saturating_since(started)
        })
        .collect();
    times.sort();
    times[cycles / 2]
}

/// Locks and unlocks once, so that all connections are there.
fn warm_up(manager: &LockManager) {
    let mutex = manager.mutex("warm-up").expect("a plain name");
    eventually("all nodes are connected", || {
        let guard = block_on(mutex.acquire());
        guard.is_ok_and(|guard| block_on(guard.release()).is_released())
    });
}

/// All keys but the node's own.
fn locks_on(server: &Server) -> Vec<String> {
    let keys = server.command(&["KEYS", "*"]).expect("the server answers");
    let locks = keys
        .texts()
        .into_iter()
        .filter(|key| *key != "leasehold:node");
    locks.map(str::to_owned).collect()
}

fn assert_nothing_left(cluster: &Cluster) {
    for server in cluster.servers.iter() {
        eventually("no key is left", || locks_on(server).is_empty());
    }
}

#[test]
fn locks_are_exclusive_on_one_three_and_five_nodes() {
    for count in [1, 3, 5] {
        let cluster = Cluster::start(count);
        let (one, other) = (cluster.direct(options()), cluster.direct(options()));
        let guard = block_on(one.mutex("r").expect("plain").acquire()).expect("it is free");
        eventually("every node has the key", || cluster.copies("r") == count);
        let refused = block_on(other.mutex("r").expect("plain").acquire()).expect_err("held");
        assert_eq!(
            refused.holder(),
            Some(guard.owner()),
            "{count} nodes: {refused}"
        );
        assert!(block_on(guard.release()).is_released());
        assert!(block_on(other.mutex("r").expect("plain").acquire()).is_ok());
        drop(other);
        assert_nothing_left(&cluster);
    }
}

#[test]
fn a_plain_set_nx_excludes_us_and_is_excluded_by_us() {
    let cluster = Cluster::start(5);
    let manager = cluster.direct(options());
    let set = |key: &str| {
        let take = |server: &Server| {
            let reply = server.command(&["SET", key, "foreign", "NX", "PX", "60000"]);
            reply.expect("the server answers").text() == Some("OK")
        };
        cluster
            .servers
            .iter()
            .take(3)
            .filter(|server| take(server))
            .count()
    };
    assert_eq!(set("theirs"), 3);
    let refused = block_on(manager.mutex("theirs").expect("plain").acquire()).expect_err("held");
    assert!(refused.is_contention());
    assert_eq!(
        refused.holder().map(ToString::to_string).as_deref(),
        Some("foreign")
    );
    // Our votes on the other two are taken back, theirs are not touched.
    eventually("only the foreign keys are left", || {
        cluster.copies("theirs") == 3
    });

    let guard = block_on(manager.mutex("ours").expect("plain").acquire()).expect("it is free");
    eventually("every node has the key", || cluster.copies("ours") == 5);
    assert_eq!(set("ours"), 0);
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn a_dead_minority_costs_nothing_and_is_used_again() {
    let cluster = Cluster::start(5);
    let manager = cluster.direct(options());
    warm_up(&manager);
    for dead in &cluster.servers[..2] {
        dead.kill().expect("it can be killed");
    }
    let median = median_cycle(&manager, 50);
    assert!(median < 20 * MS, "a cycle took {median:?}");
    for dead in &cluster.servers[..2] {
        dead.restart().expect("it starts again");
    }
    let mutex = manager.mutex("again").expect("a plain name");
    eventually("the nodes are used again", || {
        let guard = block_on(mutex.acquire()).expect("a quorum is there");
        let everywhere = cluster.copies("again") == 5;
        drop(guard);
        everywhere
    });
    assert_nothing_left(&cluster);
}

#[test]
fn a_hung_node_costs_nothing_leaves_no_ghost_and_is_used_again() {
    let cluster = Cluster::start(5);
    let manager = cluster.direct(options());
    warm_up(&manager);
    let hung = &cluster.servers[4];
    hung.pause().expect("it can be stopped");
    // Both an acquisition that lasts and many that come and go.
    let kept = block_on(manager.mutex("kept").expect("plain").acquire()).expect("four are enough");
    let median = median_cycle(&manager, 50);
    assert!(median < 20 * MS, "a cycle took {median:?}");
    hung.resume().expect("it can be continued");
    // Now all that waited in the server's buffer takes effect, in order.
    eventually("the node has caught up", || cluster.copies("kept") == 5);
    assert_eq!(
        locks_on(hung),
        ["kept"],
        "no ghost of what was released meanwhile"
    );
    assert!(block_on(kept.release()).is_released());
    assert_nothing_left(&cluster);
}

#[test]
fn a_late_node_costs_nothing() {
    let cluster = Cluster::start(5);
    cluster.proxies[1].set(Mode::Delay(25 * MS));
    let manager = cluster.manager(options());
    warm_up(&manager);
    let median = median_cycle(&manager, 50);
    assert!(
        median < 20 * MS,
        "a cycle took {median:?}, the late node takes 50 ms to answer once"
    );
    assert_nothing_left(&cluster);
}

#[test]
fn a_start_with_a_dead_and_a_hung_node_is_like_any_other() {
    let cluster = Cluster::start(5);
    cluster.servers[0].kill().expect("it can be killed");
    cluster.servers[1].pause().expect("it can be stopped");
    let manager = cluster.direct(options());
    let clock = Clock::system();
    let started = clock.now();
    let guard = block_on(manager.mutex("r").expect("plain").acquire()).expect("three are enough");
    let took = clock.now().saturating_since(started);
    assert!(
        took < 400 * MS,
        "the first lock took {took:?}; a node's time limit is 500 ms"
    );
    assert!(block_on(guard.release()).is_released());
    cluster.servers[1].resume().expect("it can be continued");
    cluster.servers[0].restart().expect("it starts again");
    assert_nothing_left(&cluster);
}

#[test]
fn a_dead_majority_is_told_in_time_and_nothing_is_left_on_the_others() {
    let cluster = Cluster::start(5);
    let manager = cluster.direct(options());
    warm_up(&manager);
    for dead in &cluster.servers[..3] {
        dead.kill().expect("it can be killed");
    }
    let mutex = manager.mutex("r").expect("a plain name");
    eventually("the manager knows that they are dead", || {
        let error = block_on(mutex.acquire()).expect_err("two of five are no quorum");
        error.to_string().matches("connection refused").count() == 3
    });
    let clock = Clock::system();
    let started = clock.now();
    let error = block_on(mutex.acquire()).expect_err("two of five are no quorum");
    let took = clock.now().saturating_since(started);
    assert!(
        took < 400 * MS,
        "dead nodes are known to be dead, but it took {took:?}"
    );
    assert!(
        error
            .faults()
            .iter()
            .all(|fault| fault.kind() == FaultKind::Down),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        text.contains("no quorum: at least 3 of 5 nodes did not vote (quorum 3)"),
        "{text}"
    );
    for dead in &cluster.servers[..3] {
        let address = format!("127.0.0.1:{}: connection refused", dead.port());
        assert!(text.contains(&address), "{text}");
    }
    eventually("the two that live have no key", || cluster.copies("r") == 0);
}

#[test]
fn a_hung_majority_is_told_within_the_time_limit_and_leaves_no_ghost() {
    let cluster = Cluster::start(3);
    let limit = 100 * MS;
    let manager = cluster.direct(options().node_limit(limit));
    warm_up(&manager);
    for hung in &cluster.servers[..2] {
        hung.pause().expect("it can be stopped");
    }
    let mutex = manager.mutex("r").expect("a plain name");
    let error = block_on(mutex.acquire()).expect_err("one of three is no quorum");
    let AcquireError::Unreachable(unreachable) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(unreachable.faults.len(), 2);
    assert!(
        unreachable.waited >= limit && unreachable.waited < 10 * limit,
        "{error}"
    );
    for hung in &cluster.servers[..2] {
        hung.resume().expect("it can be continued");
    }
    assert_nothing_left(&cluster);
    // The connections were kept: what was late is in order, and the nodes are used at once.
    let guard = block_on(mutex.acquire()).expect("all are back");
    eventually("every node has the key", || cluster.copies("r") == 3);
    drop(guard);
    assert_nothing_left(&cluster);
}

#[test]
fn a_lost_answer_leaves_nothing_behind() {
    let cluster = Cluster::start(3);
    let manager = cluster.manager(options().node_limit(100 * MS));
    warm_up(&manager);
    for lost in [Mode::DropReplies, Mode::DropRepliesThenClose] {
        for proxy in &cluster.proxies[..2] {
            proxy.set(lost);
        }
        let mutex = manager.mutex("r").expect("a plain name");
        let error = block_on(mutex.acquire()).expect_err("two answers are lost");
        assert!(error.is_unreachable(), "{lost:?}: {error}");
        for proxy in &cluster.proxies[..2] {
            proxy.set(Mode::Pass);
        }
        // The keys were set, and nobody was told so; long before their TTL they are gone.
        assert_nothing_left(&cluster);
        eventually("the nodes are used again", || {
            let guard = block_on(mutex.acquire());
            let everywhere = cluster.copies("r") == 3;
            drop(guard);
            everywhere
        });
        assert_nothing_left(&cluster);
    }
}

#[test]
fn a_connection_that_breaks_during_the_lease_costs_nothing() {
    let cluster = Cluster::start(3);
    let manager = cluster.manager(options());
    let guard = block_on(manager.mutex("r").expect("plain").acquire()).expect("it is free");
    eventually("every node has the key", || cluster.copies("r") == 3);
    cluster.proxies.iter().for_each(Proxy::cut);
    eventually("the connections are back", || {
        block_on(guard.extend()).is_ok()
    });
    assert!(guard.is_valid());
    assert!(block_on(guard.release()).is_released());
    assert_nothing_left(&cluster);
}

#[test]
fn a_wrong_password_is_told_without_being_shown() {
    require_server();
    let server = Server::builder()
        .password("correct horse")
        .start()
        .expect("it starts");
    let url = format!("redis://:wrong-battery@127.0.0.1:{}", server.port());
    let manager = manager([url], options());
    let error = block_on(manager.mutex("r").expect("plain").acquire()).expect_err("no way in");
    assert!(error.is_unreachable());
    let text = format!("{error} {error:?} {manager:?}");
    assert!(text.contains("WRONGPASS"), "{text}");
    assert!(!text.contains("battery"), "{text}");
}

#[test]
fn a_key_of_another_type_is_somebody_elses() {
    let cluster = Cluster::start(3);
    for server in cluster.servers.iter() {
        server
            .command(&["HSET", "r", "field", "1"])
            .expect("it answers");
    }
    let manager = cluster.direct(options());
    let error = block_on(manager.mutex("r").expect("plain").acquire()).expect_err("it is taken");
    assert!(error.is_contention(), "{error}");
    assert_eq!(error.holder(), None);
    assert_eq!(cluster.copies("r"), 3, "it was left alone");
}

#[test]
fn a_full_server_a_replica_and_one_that_forbids_are_no_votes_and_say_why() {
    require_server();
    let full = Server::builder()
        .option("maxmemory", &["1"])
        .start()
        .expect("it starts");
    let primary = Server::start().expect("it starts");
    let replica = Server::builder()
        .replica_of(&primary)
        .start()
        .expect("it starts");
    let strict = Server::start().expect("it starts");
    let user = ["ACL", "SETUSER", "weak", "on", ">pw", "~*", "+@all", "-set"];
    strict.command(&user).expect("it answers");
    let strict_url = format!("redis://weak:pw@127.0.0.1:{}", strict.port());
    for (url, kind, reason) in [
        (full.url(), FaultKind::Rejected, "OOM"),
        (replica.url(), FaultKind::Down, "is a replica"),
        (strict_url, FaultKind::Down, "allow +set"),
    ] {
        let manager = manager([url], options());
        let error = block_on(manager.mutex("r").expect("plain").acquire()).expect_err("no vote");
        assert!(error.is_unreachable(), "{error}");
        assert_eq!(error.faults()[0].kind(), kind, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}
