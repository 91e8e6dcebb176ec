//! Work that is done once in each period, in a world whose time is told.

use crate::support::{at_once, begin, block_on};
use leasehold::{AcquireError, ConfigError, Key, LockOptions, NotKept, OncePer, testing::World};
use std::time::{Duration, SystemTime};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// Another process's, with a manager of its own, at a time that is the whole period before its end.
fn hourly(world: &World) -> OncePer {
    let mutex = world.manager().mutex("report").expect("a name");
    mutex.once_per(HOUR).expect("a good period")
}

/// Advances the time to this long behind the beginning of a period.
fn go_to(world: &World, behind: Duration) {
    let since = wall(world).as_nanos() % HOUR.as_nanos();
    let since = Duration::from_nanos(u64::try_from(since).expect("less than an hour"));
    world.advance(HOUR - since + behind);
}

fn wall(world: &World) -> Duration {
    world.clock().wall()
}

fn is_done(error: &AcquireError) -> bool {
    matches!(error, AcquireError::AlreadyDone(_))
}

#[test]
fn what_is_done_is_not_done_again_before_the_next_period() {
    let world = World::new(3);
    go_to(&world, SECOND * 60);
    let (here, there) = (hourly(&world), hourly(&world));
    let turn = block_on(here.begin()).expect("nobody has done it");
    let next = turn.next_period().duration_since(SystemTime::UNIX_EPOCH);
    assert_eq!(
        next.expect("after 1970").as_secs(),
        (wall(&world) + SECOND * 59 * 60).as_secs()
    );
    let error = block_on(there.try_begin()).expect_err("it is being done");
    assert!(!is_done(&error), "{error}");
    block_on(turn.done()).expect("all nodes answer");
    for once in [&here, &there] {
        let error = block_on(once.begin()).expect_err("it is done");
        assert!(is_done(&error), "{error}");
        let left = error.remaining().expect("it is known");
        assert!(
            left > SECOND * (58 * 60) && left <= SECOND * (59 * 60),
            "{left:?}"
        );
        assert!(
            error.to_string().contains("done in this period by pid "),
            "{error}"
        );
    }
    // Who knows nothing of periods is kept out as well.
    let mutex = world.manager().mutex("report").expect("a name");
    let error = block_on(mutex.try_acquire()).expect_err("it is kept");
    assert!(matches!(error, AcquireError::Held(_)), "{error}");
    let told = error.to_string();
    assert!(
        told.contains("kept, since its work was done by pid "),
        "{told}"
    );
    // It was begun 60 s late. The next time it is not, and it is not skipped.
    go_to(&world, Duration::from_millis(10));
    let turn = block_on(there.try_begin()).expect("a new period");
    drop(turn);
}

#[test]
fn what_has_failed_may_be_tried_again_at_once() {
    let world = World::new(3);
    go_to(&world, SECOND);
    let (here, there) = (hourly(&world), hourly(&world));
    let turn = block_on(here.try_begin()).expect("nobody has done it");
    drop(turn);
    world.settle();
    let turn = block_on(there.try_begin()).expect("nobody has done it");
    assert!(block_on(turn.into_guard().release()).is_released());
    assert!(block_on(here.try_begin()).is_ok());
}

#[test]
fn those_who_wait_are_told_when_another_is_done() {
    let world = World::new(3);
    go_to(&world, SECOND);
    let (here, there) = (hourly(&world), hourly(&world));
    let turn = block_on(here.begin()).expect("nobody has done it");
    let mut waiting = Box::pin(there.begin_within(SECOND * 600));
    let mut beside = [0, 1, 2].map(|_| Box::pin(here.begin_within(SECOND * 600)));
    begin(&mut waiting);
    beside.iter_mut().for_each(begin);
    world.settle();
    block_on(turn.done()).expect("all nodes answer");
    world.settle();
    world.advance(SECOND);
    let told = at_once(&world, &mut waiting).expect("it is told");
    assert!(is_done(&told.expect_err("it is done")));
    for waiting in &mut beside {
        let told = at_once(&world, waiting).expect("it is told");
        assert!(is_done(&told.expect_err("it is done")));
    }
}

#[test]
fn work_that_outlasts_its_period_frees_the_next_one() {
    let world = World::new(3);
    go_to(&world, HOUR - SECOND * 10);
    let (here, there) = (hourly(&world), hourly(&world));
    let turn = block_on(here.begin()).expect("nobody has done it");
    world.advance(SECOND * 20);
    block_on(turn.done()).expect("all nodes answer");
    assert!(block_on(there.try_begin()).is_ok());
}

#[test]
fn a_minority_that_forgets_changes_nothing_and_a_majority_does() {
    let world = World::new(3);
    go_to(&world, SECOND);
    let (here, there) = (hourly(&world), hourly(&world));
    let turn = block_on(here.begin()).expect("nobody has done it");
    block_on(turn.done()).expect("all nodes answer");
    world.node(0).lose_everything();
    let error = block_on(there.try_begin()).expect_err("two keep it");
    assert!(is_done(&error), "{error}");
    // Of those two, one is enough where another does not answer.
    world.node(2).down("gone");
    let error = block_on(there.try_begin()).expect_err("one keeps it");
    assert!(is_done(&error), "{error}");
    world.node(2).up();
    world.node(1).lose_everything();
    assert!(block_on(there.try_begin()).is_ok(), "nobody knows");
}

#[test]
fn a_lock_that_somebody_has_for_longer_or_keeps_for_another_reason_is_not_done() {
    let world = World::new(3);
    go_to(&world, SECOND);
    let once = hourly(&world);
    let slow = once.with(|options| options.ttl(SECOND * 25).min_hold(HOUR / 2));
    let slow = slow.expect("good options");
    let turn = block_on(slow.begin()).expect("nobody has done it");
    let error = block_on(once.try_begin()).expect_err("it is being done");
    assert!(matches!(error, AcquireError::Held(_)), "{error}");
    drop(turn);
    world.settle();
    let error = block_on(once.try_begin()).expect_err("it is kept, after a failure");
    assert!(matches!(error, AcquireError::Held(_)), "{error}");
}

#[test]
fn at_the_end_of_a_period_the_work_is_as_done_as_at_its_beginning() {
    let world = World::new(3);
    go_to(&world, HOUR - SECOND * 2);
    let (here, there) = (hourly(&world), hourly(&world));
    let turn = block_on(here.begin()).expect("nobody has done it");
    block_on(turn.done()).expect("all nodes answer");
    let error = block_on(there.try_begin()).expect_err("it is done");
    assert!(is_done(&error), "{error}");
    world.advance(SECOND * 2);
    assert!(block_on(there.try_begin()).is_ok(), "a new period");
}

#[test]
fn a_mark_ends_with_its_period_however_little_of_that_is_left() {
    for left in [1_000, 505, 500, 400, 100, 20, 11, 10, 9] {
        let left = Duration::from_millis(left);
        let world = World::new(3);
        go_to(&world, HOUR - left);
        let (here, there) = (hourly(&world), hourly(&world));
        let turn = block_on(here.begin()).expect("nobody has done it");
        block_on(turn.done()).expect("all nodes answer");
        let next = begin_of_the_next(&world);
        world.advance(next);
        let turn = block_on(there.try_begin());
        assert!(turn.is_ok(), "{left:?} before the end: {:?}", turn.err());
    }
}

#[test]
fn a_mark_that_is_too_late_for_its_period_is_a_release_and_no_failure() {
    for (left, is_over) in [(400, true), (60_000, false)] {
        let world = World::new(3);
        go_to(&world, HOUR - Duration::from_millis(left));
        let once = hourly(&world);
        let turn = block_on(once.begin()).expect("nobody has done it");
        for number in 0..2 {
            world.node(number).hang();
        }
        let mut done = Box::pin(turn.done());
        let told = (0..20).find_map(|_| {
            let told = at_once(&world, &mut done);
            world.advance(SECOND);
            told
        });
        let told = told.expect("its time is up");
        assert_eq!(told.is_ok(), is_over, "{left} ms before the end: {told:?}");
    }
}

/// How long until the next period begins.
fn begin_of_the_next(world: &World) -> Duration {
    let since = wall(world).as_nanos() % HOUR.as_nanos();
    HOUR - Duration::from_nanos(u64::try_from(since).expect("less than an hour"))
}

#[test]
fn a_mark_of_the_period_before_is_waited_for_if_it_is_not_long() {
    let world = World::new(3);
    go_to(&world, HOUR - SECOND);
    // As a machine whose clock is behind.
    let behind = hourly(&world).starting(SECOND * 3);
    let turn = block_on(behind.begin()).expect("nobody has done it");
    block_on(turn.done()).expect("all nodes answer");
    world.advance(SECOND * 3 / 2);
    let there = hourly(&world);
    let mut waiting = Box::pin(there.try_begin());
    begin(&mut waiting);
    world.settle();
    world.advance(SECOND * 3);
    let turn = at_once(&world, &mut waiting).expect("it has ended");
    block_on(turn.expect("a new period").done()).expect("all nodes answer");
    // One that is long is somebody else's matter.
    let ahead = hourly(&world).starting(HOUR / 2);
    let error = block_on(ahead.try_begin()).expect_err("it is not over");
    assert!(is_done(&error), "{error}");
}

#[test]
fn what_a_quorum_does_not_keep_is_told() {
    let world = World::new(3);
    go_to(&world, SECOND);
    let here = hourly(&world);
    let turn = block_on(here.begin()).expect("nobody has done it");
    world.node(0).down("gone");
    world.node(1).down("gone");
    let error = block_on(turn.done()).expect_err("one node is too few");
    let told =
        r#"the work is done, and may be done again in this period: lock "report": no quorum"#;
    assert!(error.to_string().starts_with(told), "{error}");
}

#[test]
fn a_key_that_two_nodes_have_lost_is_kept_by_too_few() {
    let world = World::new(3);
    go_to(&world, SECOND);
    let mutex = world.manager().mutex("report").expect("a name");
    let once = mutex.once_per(HOUR).expect("a good period");
    let once = once.with(LockOptions::no_renewal).expect("good options");
    let turn = block_on(once.begin()).expect("nobody has done it");
    world.node(0).lose_key("report");
    world.node(1).lose_key("report");
    let error = block_on(turn.done()).expect_err("one node is too few");
    assert!(
        matches!(error, NotKept::Failed(AcquireError::Held(_))),
        "{error}"
    );
}

#[test]
fn after_a_loss_nothing_is_kept() {
    let world = World::new(3);
    go_to(&world, SECOND);
    let manager = world.manager();
    let mutex = manager.mutex("report").expect("a name");
    let once = mutex.once_per(HOUR).expect("a good period");
    // It would set a key again as soon as the first is lost.
    let once = once.with(LockOptions::no_renewal).expect("good options");
    let turn = block_on(once.begin()).expect("nobody has done it");
    // Nobody tells of it, so one key is left when the lease has ended.
    let thief = world.manager().mutex("report").expect("a name");
    world.node(0).lose_key("report");
    world.node(1).lose_key("report");
    let stolen = block_on(thief.try_acquire()).expect("two nodes are free");
    // It has the key yet, and does not hear of the mark.
    world.node(2).down("gone");
    assert!(block_on(turn.done()).is_err(), "it was lost");
    world.node(2).up();
    assert!(block_on(stolen.release()).is_released());
    world.settle();
    let seen = block_on(manager.inspect("report")).expect("all nodes answer");
    let mut keys = seen.nodes().iter().map(|node| &node.key);
    assert!(keys.all(|key| *key == Key::Free), "{seen:?}");
}

#[test]
fn a_key_of_another_program_that_lives_long_is_not_taken_for_done() {
    let world = World::new(1);
    go_to(&world, SECOND);
    let long = LockOptions::new()
        .owner_source(leasehold::OwnerSource::new(|random| {
            let digits = leasehold_core::owner::digits(random);
            [b"other:".as_slice(), &digits].concat()
        }))
        .min_hold(HOUR / 2);
    let foreign = world.manager().mutex_with("report", long);
    let guard = block_on(foreign.expect("good options").acquire()).expect("it is free");
    assert!(block_on(guard.release()).is_released());
    let error = block_on(hourly(&world).try_begin()).expect_err("it is kept");
    assert!(matches!(error, AcquireError::Held(_)), "{error}");
}

#[test]
fn periods_that_are_too_short_or_too_long_are_told() {
    let world = World::new(1);
    let mutex = world.manager().mutex("report").expect("a name");
    for period in [Duration::ZERO, SECOND / 2, HOUR * 24 * 31] {
        let error = mutex.once_per(period).expect_err("it is wrong");
        assert!(matches!(error, ConfigError::Period { .. }));
        assert!(
            error.to_string().ends_with("give 1 s to 30 days"),
            "{error}"
        );
    }
    let several = world.manager().mutex_all(["a", "b"]).expect("two names");
    let error = several.once_per(HOUR).expect_err("two names");
    assert!(matches!(error, ConfigError::OnceTogether), "{error}");
}
