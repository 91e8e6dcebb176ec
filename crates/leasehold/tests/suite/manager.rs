//! The facade, on nodes in memory.

use crate::support::{begin, block_on, gate::Gate};
use leasehold::{
    AcquireError, ConfigError, ExtendError, Holder, LeaseGuard, LockManager, LockOptions, NodeName,
    OwnerSource, ReleaseOutcome, link::memory::MemoryNode,
};
use leasehold_core::Request;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(20);

fn nodes() -> [MemoryNode; 3] {
    std::array::from_fn(|_| MemoryNode::new())
}

fn manager(nodes: &[MemoryNode]) -> LockManager {
    manager_with(nodes, LockOptions::new())
}

fn manager_with(nodes: &[MemoryNode], defaults: LockOptions) -> LockManager {
    let builder = LockManager::builder().defaults(defaults);
    let builder = nodes
        .iter()
        .fold(builder, leasehold::ManagerBuilder::memory_node);
    builder
        .build()
        .expect("three nodes and the default options")
}

fn acquire(manager: &LockManager) -> Result<LeaseGuard, AcquireError> {
    block_on(manager.mutex("r").expect("a plain name").try_acquire())
}

#[test]
fn two_managers_exclude_each_other_and_no_runtime_is_needed() {
    let nodes = nodes();
    let (one, other) = (manager(&nodes), manager(&nodes));
    let guard = acquire(&one).expect("it is free");
    assert!(guard.is_valid());
    assert!(guard.remaining() <= Duration::from_millis(9_898));
    assert!(acquire(&other).expect_err("it is held").is_contention());
    assert_eq!(block_on(guard.release()), ReleaseOutcome::Released);
    assert!(acquire(&other).is_ok());
}

#[test]
fn a_refusal_says_who_holds_the_lock_and_for_how_long_at_most() {
    let nodes = nodes();
    let (one, other) = (manager(&nodes), manager(&nodes));
    let guard = acquire(&one).expect("it is free");
    let error = acquire(&other).expect_err("it is held");
    assert_eq!(error.holder(), Some(guard.owner()));
    let remaining = error.remaining().expect("the nodes tell the TTL");
    assert!(remaining <= Duration::from_secs(10));
    assert!(remaining >= guard.remaining(), "the key outlives the lease");
    let text = error.to_string();
    let beginning = format!(
        r#"lock "r": held by {}, whose lease ends in "#,
        Holder::of(guard.owner())
    );
    assert!(text.starts_with(&beginning), "{text}");
    let Err(AcquireError::Held(held)) = acquire(&other) else {
        panic!("it is held");
    };
    assert_eq!((held.held_on.len(), held.kept_on.len()), (2, 0));
    let names = format!("{} and {}", held.held_on[0], held.held_on[1]);
    let on = format!(" unless extended, on {names} of 3 nodes (quorum 2) after 1 attempt in ");
    assert!(AcquireError::Held(held).to_string().contains(&on));
}

#[test]
fn a_dropped_guard_releases_in_the_background() {
    let nodes = nodes();
    let (one, other) = (manager(&nodes), manager(&nodes));
    drop(acquire(&one).expect("it is free"));
    let mutex = other.mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire_within(PATIENCE)).expect("long before the TTL ends");
    assert!(guard.is_valid());
}

#[test]
fn a_dropped_acquisition_takes_back_what_lands_later() {
    let (node, gate) = (MemoryNode::new(), Gate::closed());
    let (door, behind) = (gate.clone(), node.clone());
    let slow = LockManager::builder()
        .link(NodeName::new("slow"), move |clock| {
            door.link(&behind, clock)
        })
        .build()
        .expect("one node");
    let mutex = slow.mutex("r").expect("a plain name");
    let mut waiting = Box::pin(mutex.acquire());
    begin(&mut waiting);
    drop(waiting);
    gate.open();
    assert_eq!(
        block_on(slow.shutdown()),
        Some(0),
        "the clean-up is confirmed"
    );
    assert!(
        acquire(&manager(&[node])).is_ok(),
        "nothing is left on the node"
    );
    let seen = gate.seen();
    assert!(matches!(seen[0], Request::Acquire { .. }), "{seen:?}");
    assert!(matches!(seen[1], Request::Release { .. }), "{seen:?}");
    assert_eq!(seen[0].owner(), seen[1].owner());
}

#[test]
fn a_node_that_hangs_costs_only_its_vote_and_keeps_nothing() {
    let (nodes, gate) = (nodes(), Gate::closed());
    let (door, behind) = (gate.clone(), nodes[2].clone());
    let limping = LockManager::builder()
        .memory_node(&nodes[0])
        .memory_node(&nodes[1])
        .link(NodeName::new("hung"), move |clock| {
            door.link(&behind, clock)
        })
        .build()
        .expect("three nodes");
    let guard = acquire(&limping).expect("two of three are enough");
    assert_eq!(block_on(guard.release()), ReleaseOutcome::Released);
    gate.open();
    assert_eq!(block_on(limping.shutdown()), Some(0));
    assert!(
        acquire(&manager(&[nodes[2].clone()])).is_ok(),
        "the late grant was taken back"
    );
}

#[test]
fn every_attempt_signs_with_an_owner_of_its_own() {
    // Whoever is told of changes does not ask in between.
    let (node, gate) = (MemoryNode::new(), Gate::deaf());
    let (door, behind) = (gate.clone(), node.clone());
    let gated = LockManager::builder()
        .link(NodeName::new("watched"), move |clock| {
            door.link(&behind, clock)
        })
        .build()
        .expect("one node");
    let _held = acquire(&manager(&[node])).expect("it is free");
    let options = LockOptions::new().tries(4).pause(MS..=MS);
    let mutex = gated.mutex_with("r", options).expect("good options");
    assert!(block_on(mutex.acquire()).is_err());
    let mut owners: Vec<_> = gate
        .seen()
        .into_iter()
        .filter(|request| matches!(request, Request::Acquire { .. }))
        .filter_map(|request| request.owner().map(ToString::to_string))
        .collect();
    assert_eq!(owners.len(), 4);
    owners.sort();
    owners.dedup();
    assert_eq!(owners.len(), 4);
}

#[test]
fn an_owner_source_that_repeats_itself_is_found_out() {
    let options = LockOptions::new().owner_source(OwnerSource::new(|_| b"me".to_vec()));
    let error = manager(&nodes()).mutex_with("r", options).map(drop);
    assert!(matches!(error, Err(ConfigError::OwnerSource)), "{error:?}");
}

#[test]
fn a_function_that_panics_takes_nobody_with_it() {
    let nodes = nodes();
    let held = acquire(&manager(&nodes)).expect("it is free");
    let other = manager(&nodes);
    let calls = AtomicU32::new(0);
    let fickle = OwnerSource::new(move |random| {
        assert!(
            calls.fetch_add(1, Ordering::Relaxed) < 21,
            "after the check"
        );
        random.to_vec()
    });
    let options = LockOptions::new().owner_source(fickle);
    let error = block_on(
        other
            .mutex_with("r", options)
            .expect("good at first")
            .acquire(),
    );
    assert!(
        matches!(error, Err(AcquireError::OwnerRepeated { .. })),
        "{error:?}"
    );
    let options = LockOptions::new()
        .tries(2)
        .pause_function(|_| panic!("no pause"));
    let error = block_on(
        other
            .mutex_with("r", options)
            .expect("good options")
            .acquire(),
    );
    assert!(error.expect_err("it is held").is_contention());
    drop(held);
    assert!(block_on(other.mutex("r").expect("plain").acquire_within(PATIENCE)).is_ok());
}

#[test]
fn a_second_shutdown_waits_again() {
    let (node, gate) = (MemoryNode::new(), Gate::default());
    let door = gate.clone();
    let manager = LockManager::builder()
        .link(NodeName::new("gated"), move |clock| door.link(&node, clock))
        .build()
        .expect("one node");
    let guard = acquire(&manager).expect("it is free");
    assert_eq!(block_on(manager.shutdown()), Some(0));
    gate.close();
    drop(guard);
    let mut waiting = Box::pin(manager.shutdown());
    begin(&mut waiting);
    gate.open();
    assert_eq!(block_on(waiting), Some(0));
}

#[test]
fn the_pause_function_is_asked_between_tries_and_not_after_the_last() {
    let (node, gate) = (MemoryNode::new(), Gate::deaf());
    let behind = node.clone();
    let gated = LockManager::builder()
        .link(NodeName::new("deaf"), move |clock| {
            gate.link(&behind, clock)
        })
        .build()
        .expect("one node");
    let _held = acquire(&manager(&[node])).expect("it is free");
    let asked = Arc::new(AtomicU32::new(0));
    let counter = asked.clone();
    let options = LockOptions::new().tries(3).pause_function(move |tried| {
        counter.fetch_max(tried, Ordering::Relaxed);
        MS
    });
    let mutex = gated.mutex_with("r", options).expect("good");
    let error = block_on(mutex.acquire());
    let Err(AcquireError::Held(held)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(held.attempts, 3);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[test]
fn a_patience_that_runs_out_tells_what_the_last_attempt_found() {
    let nodes = nodes();
    let _held = acquire(&manager(&nodes)).expect("it is free");
    let options = LockOptions::new().pause(MS..=MS).node_limit(20 * MS);
    let mutex = manager(&nodes)
        .mutex_with("r", options)
        .expect("good options");
    let error = block_on(mutex.acquire_within(50 * MS)).expect_err("it is held");
    assert!(matches!(error, AcquireError::TimedOut { .. }), "{error:?}");
    assert!(error.is_contention());
    assert!(
        error.to_string().starts_with(r#"lock "r": gave up after "#),
        "{error}"
    );
}

#[test]
fn no_patience_at_all_is_still_one_attempt() {
    let nodes = nodes();
    let mutex = manager(&nodes).mutex("r").expect("a plain name");
    assert!(block_on(mutex.acquire_within(Duration::ZERO)).is_ok());
}

#[test]
fn a_quorum_that_does_not_answer_is_named_node_by_node() {
    let gate = Gate::closed();
    let mut builder = LockManager::builder().memory(1);
    for name in ["silent one", "silent two"] {
        let door = gate.clone();
        builder = builder.link(NodeName::new(name), move |clock| {
            door.link(&MemoryNode::new(), clock)
        });
    }
    let manager = builder.build().expect("three nodes");
    let options = LockOptions::new().node_limit(20 * MS);
    let mutex = manager.mutex_with("r", options).expect("good options");
    let error = block_on(mutex.try_acquire()).expect_err("one of three is no quorum");
    assert!(error.is_unreachable());
    assert_eq!(error.faults().len(), 2);
    let text = error.to_string();
    assert!(
        text.contains(
            "no quorum: at least 2 of 3 nodes did not vote (quorum 2) after 1 attempt in "
        ),
        "{text}"
    );
    assert!(
        text.contains("silent one: no answer within 20ms; silent two: no answer"),
        "{text}"
    );
}

#[test]
fn failing_fast_does_not_wait_for_nodes_to_come_back() {
    let door = Gate::closed();
    let manager = LockManager::builder()
        .link(NodeName::new("silent"), move |clock| {
            door.link(&MemoryNode::new(), clock)
        })
        .build()
        .expect("one node");
    let options = LockOptions::new()
        .node_limit(MS)
        .tries_unlimited()
        .give_up_unreachable_after(Duration::ZERO);
    let error = block_on(
        manager
            .mutex_with("r", options)
            .expect("good options")
            .acquire(),
    );
    let Err(AcquireError::Unreachable(unreachable)) = error else {
        panic!("{error:?}")
    };
    assert_eq!(unreachable.attempts, 1);
}

#[test]
fn an_extension_moves_the_end_and_a_lost_lease_does_not_come_back() {
    let nodes = nodes();
    let options = LockOptions::new().ttl(100 * MS).no_renewal();
    let manager = manager_with(&nodes, options);
    let guard = acquire(&manager).expect("it is free");
    let before = guard.valid_until();
    block_on(guard.extend()).expect("all nodes answer");
    assert!(guard.valid_until() > before);
    // The other one gets it when the TTL has ended, and not earlier.
    let mutex = manager.mutex("r").expect("a plain name");
    let other = block_on(mutex.acquire_within(PATIENCE)).expect("the TTL ends");
    assert!(!guard.is_valid());
    assert_eq!(guard.remaining(), Duration::ZERO);
    assert!(matches!(
        block_on(guard.extend()),
        Err(ExtendError::Lost { .. })
    ));
    assert!(!guard.is_valid());
    let outcome = block_on(guard.release());
    assert!(
        matches!(outcome, ReleaseOutcome::TakenByAnother { .. }),
        "{outcome:?}"
    );
    assert!(
        acquire(&manager).is_err(),
        "the other's lock was not touched"
    );
    drop(other);
}

#[test]
fn an_extension_that_no_quorum_confirms_changes_nothing() {
    let (node, gate) = (MemoryNode::new(), Gate::default());
    let door = gate.clone();
    let manager = LockManager::builder()
        .link(NodeName::new("gated"), move |clock| door.link(&node, clock))
        .defaults(LockOptions::new().node_limit(MS))
        .build()
        .expect("one node");
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire_within(PATIENCE)).expect("it is free");
    let before = guard.valid_until();
    gate.close();
    let error = block_on(guard.extend()).expect_err("nobody answers");
    assert!(
        matches!(error, ExtendError::Unreachable { .. }),
        "{error:?}"
    );
    assert_eq!(guard.valid_until(), before);
    assert!(guard.is_valid());
}

#[test]
fn a_shut_down_manager_ends_waiting_and_keeps_leases() {
    let nodes = nodes();
    let manager = manager(&nodes);
    let guard = acquire(&manager).expect("it is free");
    let mutex = manager.mutex("r").expect("a plain name");
    let mut waiting = Box::pin(mutex.acquire());
    begin(&mut waiting);
    assert_eq!(block_on(manager.shutdown()), Some(0));
    assert!(matches!(
        block_on(waiting),
        Err(AcquireError::ShutDown { .. })
    ));
    assert!(matches!(
        acquire(&manager),
        Err(AcquireError::ShutDown { .. })
    ));
    block_on(guard.extend()).expect("a lease that is held can be extended");
    assert_eq!(block_on(guard.release()), ReleaseOutcome::Released);
}

#[test]
fn bad_options_are_told_before_anything_is_sent() {
    let text = |error: ConfigError| error.to_string();
    let none = LockManager::builder().build().map(drop).map_err(text);
    assert_eq!(
        none.unwrap_err(),
        "no node was given; give one, three or five"
    );
    let many = LockManager::builder()
        .memory(33)
        .build()
        .map(drop)
        .map_err(text);
    assert_eq!(
        many.unwrap_err(),
        "33 nodes were given, at most 32 are possible"
    );
    let twice = LockManager::builder()
        .nodes(["redis://db1/1", "DB1:6379"])
        .build();
    assert_eq!(
        twice.map(drop).map_err(text).unwrap_err(),
        "the node db1:6379 was given twice; its vote must count once"
    );
    let manager = LockManager::builder().memory(1).build().expect("one node");
    let with = |options| {
        manager
            .mutex_with("r", options)
            .map(drop)
            .map_err(text)
            .unwrap_err()
    };
    assert_eq!(
        with(LockOptions::new().tries(0)),
        "zero tries cannot acquire anything; give at least one"
    );
    assert_eq!(
        with(LockOptions::new().ttl(MS)),
        "a TTL of 1ms is out of range: 10ms to 30 days"
    );
    assert_eq!(
        with(LockOptions::new().pause(2 * MS..=MS)),
        "the shortest pause of 2 ms is longer than the longest of 1 ms"
    );
    let name = manager.mutex("").map(drop).map_err(text);
    assert_eq!(name.unwrap_err(), "the resource's name is empty");
}

#[test]
fn all_nodes_have_one_database_number() {
    let mixed = ["redis://db1", "redis://db2", "unix:///run/db3.sock?db=1"];
    let told = "the node /run/db3.sock is database 1 of its server, and db1:6379 is database 0; clients with other numbers \
                would lock beside each other: give all nodes one number";
    let fenced = LockManager::builder().nodes(mixed).build().map(drop);
    let plain = LockManager::builder().nodes(mixed).build_plain().map(drop);
    for built in [fenced, plain] {
        assert_eq!(built.expect_err("two numbers").to_string(), told);
    }
    let beside_a_cluster = |number| {
        let nodes = ["redis+cluster://db1", "redis://db2", "redis://db3"];
        let nodes = nodes.map(|node| match node.contains("cluster") {
            true => node.to_owned(),
            false => format!("{node}/{number}"),
        });
        LockManager::builder().nodes(nodes).build_plain().is_ok()
    };
    assert_eq!([0, 1].map(beside_a_cluster), [true, false]);
}

#[test]
fn everything_that_users_hold_can_cross_threads() {
    fn send_sync<T: Send + Sync + Unpin + 'static>() {}
    fn send<T: Send>(_: &T) {}
    send_sync::<LockManager>();
    send_sync::<leasehold::Mutex>();
    send_sync::<LeaseGuard>();
    send_sync::<AcquireError>();
    send_sync::<ReleaseOutcome>();
    let manager = LockManager::builder().memory(1).build().expect("one node");
    let mutex = manager.mutex("r").expect("a plain name");
    send(&mutex.acquire());
    send(&mutex.acquire_within(MS));
    send(&manager.shutdown());
}
