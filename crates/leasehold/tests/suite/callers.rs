//! Callers who go away, and callers who wake too late.

use crate::support::{begin, block_on, eventually, gate::Gate};
use leasehold::{
    AcquireError, ExtendError, LockManager, LockOptions, NodeName, link::memory::MemoryNode,
    testing::World,
};
use leasehold_core::Request;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_dropped_acquisition_does_not_wait_for_answers_before_it_releases() {
    let (node, gate) = (MemoryNode::new(), Gate::closed());
    let door = gate.clone();
    // Far beyond what the test waits for.
    let hour = Duration::from_secs(3_600);
    let manager = LockManager::builder()
        .link(NodeName::new("silent"), move |clock| {
            door.link(&node, clock)
        })
        .defaults(LockOptions::new().ttl(hour).node_limit(hour / 2))
        .build()
        .expect("one node");
    let mutex = manager.mutex("r").expect("a plain name");
    let mut waiting = Box::pin(mutex.acquire());
    begin(&mut waiting);
    // Or it would be gone before anybody has begun.
    eventually("the request leaves", || {
        matches!(gate.seen().as_slice(), [Request::Acquire { .. }])
    });
    drop(waiting);
    eventually("the release leaves", || {
        matches!(
            gate.seen().as_slice(),
            [Request::Acquire { .. }, Request::Release { .. }]
        )
    });
}

#[test]
fn a_caller_who_wakes_after_the_end_gets_no_lease_and_no_extension() {
    let (node, gate) = (MemoryNode::new(), Gate::closed());
    let door = gate.clone();
    let other = LockManager::builder()
        .memory_node(&node)
        .build()
        .expect("the same node");
    let gated = LockManager::builder()
        .link(NodeName::new("gated"), move |clock| door.link(&node, clock))
        .defaults(
            LockOptions::new()
                .ttl(500 * MS)
                .node_limit(400 * MS)
                .no_renewal(),
        )
        .build()
        .expect("one node");
    // It ends because the other one gets it, which it can once the lock is not held any more.
    let until_it_ends = || {
        let mutex = other.mutex("r").expect("a plain name");
        eventually("it is held", || block_on(mutex.try_acquire()).is_err());
        drop(block_on(mutex.acquire_within(PATIENCE)).expect("the TTL ends"));
    };

    let mutex = gated.mutex("r").expect("a plain name");
    let mut waiting = Box::pin(mutex.acquire());
    begin(&mut waiting);
    gate.open();
    until_it_ends();
    let answer = block_on(waiting);
    assert!(matches!(answer, Err(AcquireError::TooLate { .. })));

    let guard = block_on(mutex.acquire()).expect("it is free soon");
    gate.close();
    let mut extending = Box::pin(guard.extend());
    begin(&mut extending);
    gate.open();
    until_it_ends();
    let answer = block_on(extending);
    assert!(
        matches!(answer, Err(ExtendError::Lost { .. })),
        "{answer:?}"
    );
}

#[test]
fn a_release_in_place_that_was_given_up_goes_on_and_can_be_asked_for_again() {
    let world = World::new(1);
    let manager = world.manager();
    let mutex = manager.mutex("r").expect("a plain name");
    let mut guard = block_on(mutex.acquire()).expect("it is free");
    drop(guard.release_in_place());
    assert!(guard.is_valid(), "it was never polled");
    world.node(0).hang();
    let mut release = Box::pin(guard.release_in_place());
    begin(&mut release);
    drop(release);
    assert!(!guard.is_valid());
    world.node(0).resume();
    assert!(block_on(guard.release_in_place()).is_released());
}
