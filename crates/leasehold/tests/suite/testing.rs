//! The kit by which users test what their programs do when a lock is lost.

use crate::support::{at_once, begin, block_on};
use leasehold::{AcquireError, LeaseState, LockOptions, LossCause, NodeConnection, testing::World};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(60 * 60);

#[test]
fn no_lease_ends_while_time_stands_still_and_none_that_is_extended_ends_when_it_passes() {
    let world = World::new(3);
    let manager = world.manager().blocking();
    let guard = manager.mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    let left = guard.remaining();
    std::thread::yield_now();
    assert_eq!(guard.remaining(), left);
    world.advance(HOUR);
    assert_eq!(guard.state(), LeaseState::Held);
    assert!(guard.release().is_released());
    assert_eq!(manager.shutdown(), Some(0));
}

#[test]
fn a_lock_that_is_taken_away_while_a_node_is_down_is_lost_at_once() {
    for (nodes, down) in [(3, 0), (3, 2), (5, 1), (5, 4)] {
        let world = World::new(nodes);
        let manager = world.manager().blocking();
        let guard = manager.mutex("r").expect("a name").acquire();
        let guard = guard.expect("it is free");
        world.node(down).down("no route");
        world.advance(60 * SECOND);
        assert!(guard.is_valid(), "one of {nodes} can be spared");
        world.lose("r");
        let lost = guard.lost_within(Duration::ZERO).expect("it is told");
        assert!(
            matches!(lost.cause, LossCause::Gone { .. }),
            "{:?}",
            lost.cause
        );
    }
}

#[test]
fn a_lease_that_nobody_extends_is_over_at_the_same_moment_in_every_run() {
    let run = || {
        let world = World::new(5);
        let manager = world.manager().blocking();
        let options = LockOptions::new().no_renewal();
        let mutex = manager.mutex_with("r", options).expect("they fit");
        let guard = mutex.acquire().expect("it is free");
        let left = guard.remaining();
        world.advance(left.saturating_sub(Duration::from_nanos(1)));
        assert!(guard.is_valid(), "a nanosecond is left");
        world.advance(Duration::from_nanos(1));
        let lost = guard.lost_within(Duration::ZERO).expect("it is told");
        assert_eq!(lost.cause, LossCause::TimedOut { trouble: None });
        left
    };
    assert_eq!(run(), run());
}

#[test]
fn a_lock_is_lost_when_the_test_says_so() {
    let world = World::new(3);
    let manager = world.manager().blocking();
    let guard = manager.mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    assert_eq!(world.holder("r").as_ref(), Some(guard.owner()));
    let other = manager.mutex("other").expect("a name").acquire();
    world.lose("other");
    assert!(other.is_ok_and(|other| !other.is_valid()));
    assert!(guard.is_valid());
    world.lose("r");
    assert!(!guard.is_valid());
    let lost = guard.lost_within(Duration::ZERO).expect("it is told");
    assert!(matches!(lost.cause, LossCause::Gone { .. }), "{lost}");
    assert_eq!(world.holder("r"), None);
}

#[test]
fn a_quorum_that_goes_away_is_a_danger_first_and_a_loss_in_the_end() {
    let world = World::new(3);
    let manager = world.manager().blocking();
    let guard = manager.mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    world.node(0).down("no route");
    world.node(1).hang();
    world.advance(8 * SECOND);
    let state = guard.state();
    assert!(matches!(state, LeaseState::InDanger(_)), "{state:?}");
    // Either of them is enough.
    world.node(0).up();
    world.advance(SECOND);
    assert_eq!(guard.state(), LeaseState::Held);
    world.node(0).down("no route");
    world.advance(10 * SECOND);
    assert!(guard.state().is_lost());
    assert!(!guard.is_valid());
    world.node(1).resume();
    world.node(0).up();
    world.advance(10 * SECOND);
    assert!(!guard.is_valid(), "what is lost stays lost");
}

#[test]
fn managers_of_one_world_exclude_each_other_and_wait_by_its_time() {
    let world = World::new(3);
    let [one, two] = [world.manager(), world.manager()];
    let guard = one.blocking().mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    let mutex = two.mutex("r").expect("a name");
    let mut waiting = Box::pin(mutex.acquire_within(5 * SECOND));
    begin(&mut waiting);
    world.advance(4 * SECOND);
    begin(&mut waiting);
    world.advance(2 * SECOND);
    let told = block_on(waiting).expect_err("it is held");
    assert!(matches!(told, AcquireError::TimedOut { .. }), "{told}");

    let mut waiting = Box::pin(mutex.acquire_within(HOUR));
    begin(&mut waiting);
    world.settle();
    drop(guard);
    world.advance(SECOND);
    let guard = block_on(waiting).expect("it was given back");
    assert_eq!(world.holder("r").as_ref(), Some(guard.owner()));
}

#[test]
fn a_slow_node_costs_what_it_takes_and_no_more_than_its_limit() {
    let world = World::new(1);
    world.node(0).answer_after(30 * MS);
    let manager = world.manager();
    let mutex = manager.mutex("r").expect("a name");
    let before = world.clock().now();
    let mut waiting = Box::pin(mutex.try_acquire());
    begin(&mut waiting);
    world.advance(29 * MS);
    begin(&mut waiting);
    // Two rounds: the second makes the token certain, where nodes do not tell the same.
    world.advance(61 * MS);
    let guard = block_on(waiting).expect("it is free");
    let held = Duration::from_secs(10).saturating_sub(guard.remaining());
    assert!(held >= 30 * MS, "validity counts from the start: {held:?}");
    drop(guard);

    world.node(0).answer_after(HOUR);
    let mut waiting = Box::pin(mutex.try_acquire());
    begin(&mut waiting);
    world.advance(10 * SECOND);
    let told = block_on(waiting).expect_err("nobody answers");
    assert!(matches!(told, AcquireError::Unreachable(_)), "{told}");
    assert!(world.clock().now() > before);
}

#[test]
fn a_node_that_lost_its_keys_is_given_the_key_again_and_a_world_that_did_is_a_loss() {
    let world = World::new(3);
    let manager = world.manager().blocking();
    let guard = manager.mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    world.node(0).lose_everything();
    world.advance(5 * SECOND);
    assert!(guard.is_valid());
    // It stands on the first again.
    world.node(1).down("gone");
    world.advance(20 * SECOND);
    assert!(guard.is_valid());
    world.node(0).lose_everything();
    world.node(2).lose_everything();
    world.advance(20 * SECOND);
    assert!(!guard.is_valid());
}

#[test]
fn clocks_of_nodes_that_are_set_forward_are_noticed() {
    let world = World::new(3);
    let manager = world.manager().blocking();
    let guard = manager.mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    world.node(0).set_clock_forward(HOUR);
    world.advance(5 * SECOND);
    assert!(guard.is_valid(), "one of three is no quorum");
    assert_eq!(manager.health()[0].clock_steps, 1);
    world.node(1).set_clock_forward(HOUR);
    world.node(2).set_clock_forward(HOUR);
    world.advance(5 * SECOND);
    assert!(!guard.is_valid());
}

#[test]
fn a_manager_that_is_dropped_or_shut_down_ends_though_time_stands_still() {
    let world = World::new(3);
    let manager = world.manager();
    let guard = manager.blocking().mutex("r").expect("a name").acquire();
    let guard = guard.expect("it is free");
    world.node(2).hang();
    drop(guard);
    // The one that hangs has not confirmed.
    assert_eq!(manager.blocking().shutdown(), Some(1));
    drop(manager);
    let other = world.manager().blocking();
    let guard = other.mutex("r").expect("a name").acquire();
    assert!(guard.is_ok_and(|guard| guard.is_valid()));
}

#[test]
fn a_node_that_comes_back_is_seen_to_be_back() {
    let world = World::new(1);
    let manager = world.manager();
    world.node(0).down("away");
    world.settle();
    let health = || manager.health()[0].connection.clone();
    assert_eq!(health(), NodeConnection::Down("away".to_owned()));
    let mutex = manager.mutex("r").expect("a name");
    let told = at_once(&world, &mut Box::pin(mutex.try_acquire()));
    assert!(matches!(told, Some(Err(AcquireError::Unreachable(_)))));
    world.node(0).up();
    world.settle();
    assert_eq!(health(), NodeConnection::Up);
    let told = at_once(&world, &mut Box::pin(mutex.try_acquire()));
    assert!(matches!(told, Some(Ok(_))), "it is told at once");
}
