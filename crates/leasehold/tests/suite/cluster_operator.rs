//! What an operator sees of a Redis Cluster.

use crate::support::block_on;
use leasehold::{
    ConfigError, Key, LockManager, LockOptions, ManagerBuilder, Plain,
    operate::{ClusterExamination, Former, NodeAnswer, Operator},
};
use leasehold_servers::{RedisCluster, require_server};
use std::{thread, time::Duration};

const SECOND: Duration = Duration::from_secs(1);

fn cluster() -> RedisCluster {
    require_server();
    RedisCluster::start(3, 0).expect("the cluster starts")
}

fn builder(cluster: &RedisCluster) -> ManagerBuilder {
    let options = LockOptions::new().ttl(30 * SECOND);
    LockManager::builder()
        .nodes([cluster.url()])
        .defaults(options)
}

fn manager(cluster: &RedisCluster) -> LockManager<Plain> {
    builder(cluster).build_plain().expect("a good address")
}

fn operator(cluster: &RedisCluster) -> Operator {
    builder(cluster).operator().expect("a good address")
}

/// The names of all locks that the operator finds, and what the node has of each.
fn listed(operator: &Operator, most: usize) -> (Vec<(String, Key)>, bool) {
    let listing = block_on(operator.list("", most)).expect("there is a thread");
    let NodeAnswer::Told(scanned) = &listing.nodes[0].answer else {
        panic!("it cannot be listed: {listing:?}");
    };
    let locks = listing.locks.iter().map(|seen| {
        let key = seen.nodes()[0].key.clone();
        (seen.resource().as_str().to_owned(), key)
    });
    (locks.collect(), scanned.has_more)
}

#[test]
fn the_locks_of_all_masters_are_listed_and_each_is_looked_at() {
    let cluster = cluster();
    let (manager, operator) = (manager(&cluster), operator(&cluster));
    assert_eq!(listed(&operator, 100), (Vec::new(), false));
    let names: Vec<_> = (0..30).map(|number| format!("n{number:02}")).collect();
    let guards: Vec<_> = { names.iter() }
        .map(|name| {
            let mutex = manager.mutex(name).expect("a plain name");
            block_on(mutex.acquire()).expect("it is free")
        })
        .collect();
    for server in cluster.iter() {
        let size = server.command(&["DBSIZE"]).expect("it answers").integer();
        assert_ne!(size, Some(0), "one master has them all");
    }
    let (locks, has_more) = listed(&operator, 100);
    assert!(!has_more);
    assert_eq!(locks.len(), names.len());
    for ((name, key), guard) in locks.iter().zip(&guards) {
        assert_eq!(
            (name.as_str(), key.holder()),
            (guard.resource().as_str(), Some(guard.owner()))
        );
    }
    let (few, has_more) = listed(&operator, 7);
    assert_eq!((few.len(), has_more), (7, true));

    let owner = cluster.owner(cluster.slot("cart").expect("it answers"));
    let owner = &cluster[owner.expect("somebody keeps it")];
    owner
        .command(&["HSET", "cart", "item", "1"])
        .expect("it is taken");
    let seen = block_on(operator.look("cart")).expect("a plain name");
    assert_eq!(seen.other_type(), Some("hash"));
    let seen = block_on(operator.look("n07")).expect("a plain name");
    assert_eq!(seen.holder(), Some(guards[7].owner()));
}

#[test]
fn a_lock_is_found_at_each_step_of_the_move_of_its_slot() {
    let cluster = cluster();
    let (manager, operator) = (manager(&cluster), operator(&cluster));
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    let slot = cluster.slot("r").expect("it answers");
    let from = cluster.owner(slot).expect("somebody keeps it");
    let to = (from + 1) % 3;
    let is_found = |step: &str| {
        let (locks, _) = listed(&operator, 100);
        let held: Vec<_> = { locks.iter() }
            .map(|(name, key)| (&**name, key.holder()))
            .collect();
        assert_eq!(held, [("r", Some(guard.owner()))], "{step}");
    };
    is_found("before");
    cluster.begin_move(slot, from, to).expect("both agree");
    is_found("its slot moves");
    cluster.move_key("r", from, to).expect("it moves");
    is_found("it has moved");
    cluster.end_move(slot, from, to).expect("all agree");
    is_found("its slot has moved");
}

#[test]
fn who_waits_for_the_end_of_a_lock_is_told_of_it_wherever_its_slot_is() {
    let cluster = cluster();
    let (manager, operator) = (manager(&cluster), operator(&cluster));
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    let seen = block_on(operator.until_free("r", Some(SECOND / 10))).expect("a plain name");
    assert_eq!(seen.holder(), Some(guard.owner()));
    let slot = cluster.slot("r").expect("it answers");
    let from = cluster.owner(slot).expect("somebody keeps it");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(operator.until_free("r", Some(60 * SECOND))));
        cluster.move_slot(slot, (from + 1) % 3).expect("it moves");
        drop(guard);
        let seen = waiting.join().expect("no panic").expect("a plain name");
        assert!(seen.is_free(), "{seen:?}");
    });
}

#[test]
fn a_cluster_of_which_a_master_is_dead_is_not_listed_in_part() {
    let cluster = cluster();
    let manager = manager(&cluster);
    let mutex = manager.mutex("r").expect("a plain name");
    let _guard = block_on(mutex.acquire()).expect("it is free");
    let slot = cluster.slot("r").expect("it answers");
    let owner = cluster.owner(slot).expect("somebody keeps it");
    let operator = operator(&cluster);
    cluster[owner].kill().expect("it runs");
    let listing = block_on(operator.list("", 100)).expect("there is a thread");
    let NodeAnswer::Silent(why) = &listing.nodes[0].answer else {
        panic!("a part is told for the whole: {listing:?}");
    };
    assert!(why.contains(" of the cluster: "), "{why}");
    // The others have their keys all the same.
    let names = (0..).map(|number| format!("n{number}"));
    let is_kept = |name: &String| {
        let slot = cluster.slot(name).expect("it answers");
        cluster.owner(slot).expect("somebody keeps it") != owner
    };
    let name = { names }.find(is_kept).expect("there are two more");
    let seen = block_on(operator.look(&name)).expect("a plain name");
    assert!(seen.is_free(), "{seen:?}");
    let seen = block_on(operator.look("r")).expect("a plain name");
    assert!(seen.is_unclear(), "{seen:?}");
}

/// What the masters of the one node tell.
fn examined(operator: &Operator) -> ClusterExamination {
    assert!(operator.is_plain());
    let mut told = block_on(operator.examine()).expect("there is a thread");
    let NodeAnswer::Told(seen) = told.remove(0).answer else {
        panic!("it does not answer: {told:?}");
    };
    seen.cluster.expect("it is a cluster")
}

#[test]
fn each_master_of_a_cluster_is_examined_and_for_a_lock_the_one_that_keeps_it() {
    let cluster = cluster();
    let operator = operator(&cluster);
    let lacks = ["ACL", "SETUSER", "default", "-pexpire", "-asking", "-info"];
    cluster[2].command(&lacks).expect("it answers");
    cluster[0].pause().expect("it is ours");
    let seen = examined(&operator.answer_within(SECOND / 2));
    assert_eq!(seen.slots, 0..=16_383);
    let sizes = { seen.shards.iter() }
        .flat_map(|master| &master.slots)
        .map(ExactSizeIterator::len);
    assert_eq!(sizes.sum::<usize>(), 16_384);
    for master in &seen.shards {
        let is = |at: usize| master.address == format!("127.0.0.1:{}", cluster[at].port());
        match &master.answer {
            NodeAnswer::Silent(why) => {
                assert!(is(0) && why.contains("did not answer"), "{master:?}");
            }
            NodeAnswer::Told(told) => {
                assert_eq!(told.round_trips.len(), 9, "{told:?}");
                assert_eq!((&told.survey, &told.refuses_writes), (&None, &None));
                assert_eq!(told.out_of_reach, None, "{told:?}");
                let lacking = told.lacking.clone().expect("it was tried");
                let expected: &[&str] = match is(2) {
                    true => &["+pexpire", "+info", "+asking"],
                    false => &[],
                };
                assert_eq!(lacking, expected, "{master:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    cluster[0].resume().expect("it is ours");

    let slot = cluster.slot("r").expect("it answers");
    let owner = cluster.owner(slot).expect("somebody keeps it");
    let seen = examined(&operator.about("r").expect("a plain name"));
    assert_eq!(seen.slots, slot..=slot);
    let addresses: Vec<_> = seen.shards.iter().map(|master| &*master.address).collect();
    assert_eq!(addresses, [format!("127.0.0.1:{}", cluster[owner].port())]);
}

#[test]
fn a_key_that_the_user_may_not_use_on_a_cluster_is_named_and_the_rest_is_tried_all_the_same() {
    let cluster = cluster();
    let operator = operator(&cluster);
    for server in cluster.iter() {
        let narrows = [
            "ACL",
            "SETUSER",
            "default",
            "resetkeys",
            "~orders/*",
            "-pttl",
        ];
        server.command(&narrows).expect("it answers");
    }
    for master in examined(&operator).shards {
        let NodeAnswer::Told(told) = master.answer else {
            panic!("it answers");
        };
        assert_eq!(told.lacking, Some(vec!["+pttl".to_owned()]));
        assert!(
            told.out_of_reach
                .is_some_and(|key| key.starts_with("leasehold/doctor/"))
        );
        assert_eq!(told.refuses_writes, None);
    }
    for (name, lacking) in [("orders/1", &["+pttl"][..]), ("r", &["~r", "+pttl"])] {
        let mut seen = examined(&operator.about(name).expect("a plain name"));
        let NodeAnswer::Told(told) = seen.shards.remove(0).answer else {
            panic!("it answers");
        };
        let mut told = told.lacking.expect("it was tried");
        told.sort_unstable_by_key(|right| !right.starts_with('~'));
        assert_eq!(told, lacking, "{name}");
    }
}

#[test]
fn what_is_about_the_memory_of_a_node_is_refused_on_a_cluster() {
    let builder = LockManager::builder().nodes(["redis+cluster://a,b,c"]);
    let operator = builder.operator().expect("a good address");
    let is_refused = |error: ConfigError| {
        assert!(
            matches!(error, ConfigError::FencedCluster { .. }),
            "{error}"
        );
    };
    is_refused(block_on(operator.survey()).expect_err("it is a cluster"));
    is_refused(block_on(operator.admit()).expect_err("it is a cluster"));
    let refused = block_on(operator.reconfigure(Former::same())).expect_err("it is a cluster");
    assert!(
        refused.to_string().contains("is a Redis Cluster"),
        "{refused}"
    );
    let servers = LockManager::builder().nodes(["redis://127.0.0.1:1"]);
    let operator = servers.operator().expect("a good address");
    let former = Former::nodes(["redis+cluster://a,b,c"]);
    let refused = block_on(operator.reconfigure(former)).expect_err("it is a cluster");
    assert!(
        refused.to_string().contains("is a Redis Cluster"),
        "{refused}"
    );
}
