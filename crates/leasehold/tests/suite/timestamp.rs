//! The lock of `SETNX` and `GETSET`, on a real server.

mod programs;
mod trouble;
mod weaknesses;

use crate::support::{begin, block_on, eventually};
use leasehold::timestamp::{
    TimestampAcquireError, TimestampExtendError, TimestampLock, TimestampLossCause,
    TimestampOptions, TimestampReleaseOutcome,
};
use leasehold_servers::{Server, require_server};
use std::{
    mem,
    pin::pin,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const KEY: &str = "lock.foo";

fn server() -> Server {
    require_server();
    Server::start().expect("the server starts")
}

/// A lock with this timeout that is tried as often as a program of the other kind tries it.
fn lock(server: &Server, seconds: u64) -> TimestampLock {
    let options = TimestampOptions::new()
        .timeout(Duration::from_secs(seconds))
        .patience(Duration::from_secs(60))
        .pause(Duration::from_millis(1));
    TimestampLock::with_options(&server.url(), KEY, options).expect("it can be made")
}

/// The value of the lock's key.
fn value(server: &Server) -> Option<u64> {
    let reply = server.command(&["GET", KEY]).expect("it answers");
    reply.text().map(|text| text.parse().expect("a number"))
}

fn set(server: &Server, value: u64) {
    let set = server.command(&["SET", KEY, &value.to_string()]);
    set.expect("it answers");
}

fn seconds() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test sees what the programs see"
    )]
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("it is after 1970").as_secs()
}

#[test]
fn a_key_says_in_whole_seconds_when_the_lease_ends_and_has_no_ttl() {
    let server = server();
    let lock = lock(&server, 60);
    let before = seconds();
    let guard = block_on(lock.acquire()).expect("it is free");
    let written = value(&server).expect("there is a key");
    assert!(
        (before + 61..=seconds() + 61).contains(&written),
        "{written}"
    );
    assert_eq!(guard.value(), written);
    let ttl = server.command(&["PTTL", KEY]).expect("it answers");
    assert_eq!(ttl.integer(), Some(-1));
    assert!(guard.is_valid());
    assert!(guard.remaining() <= Duration::from_secs(60));
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
    assert_eq!(value(&server), None);
}

#[test]
fn a_lock_that_is_held_is_waited_for() {
    let server = server();
    let (lock, other) = (lock(&server, 60), lock(&server, 60));
    let guard = block_on(lock.acquire()).expect("it is free");
    let error = block_on(other.try_acquire()).expect_err("it is held");
    assert!(error.is_contention());
    assert!(error.remaining() > Some(Duration::from_secs(25)));
    let text = format!("{error}");
    let until = format!("held elsewhere until {} on 127.0.0.1", guard.value());
    assert!(text.starts_with(r#"timestamp lock "lock.foo": "#) && text.contains(&until));
    let mut waiting = Box::pin(other.acquire());
    begin(&mut waiting);
    drop(guard);
    let guard = block_on(waiting).expect("it was released");
    assert!(guard.is_valid());
}

#[test]
fn patience_ends_with_what_the_last_attempt_found() {
    let server = server();
    set(&server, seconds() + 60);
    let lock = lock(&server, 3);
    let error = block_on(lock.acquire_within(Duration::from_millis(30)));
    let error = error.expect_err("it is held");
    let TimestampAcquireError::TimedOut { attempts, last, .. } = &error else {
        panic!("{error}")
    };
    assert!(*attempts > 1);
    assert!(matches!(&**last, TimestampAcquireError::Held(_)), "{last}");
    assert!(error.is_contention() && error.remaining().is_some());
    let once = block_on(lock.acquire_within(Duration::ZERO)).expect_err("it is held");
    assert!(matches!(once, TimestampAcquireError::Held(_)), "{once}");
}

#[test]
fn what_nobody_waits_for_any_more_is_released() {
    let server = server();
    let lock = lock(&server, 60);
    {
        let mut given_up = pin!(lock.acquire());
        begin(&mut given_up);
    }
    let again = block_on(lock.acquire()).expect("it was released");
    drop(again);
    eventually("the key is gone", || value(&server).is_none());
    // Also if all that is left is the guard.
    let guard = block_on(lock.acquire()).expect("it is free");
    drop(lock);
    drop(guard);
    eventually("the key is gone", || value(&server).is_none());
}

#[test]
fn siblings_are_locks_of_their_own() {
    let server = server();
    let lock = lock(&server, 60);
    let sibling = lock.sibling("lock.bar").expect("a name");
    assert_eq!(sibling.resource().as_str(), "lock.bar");
    let guard = block_on(lock.try_acquire()).expect("it is free");
    let other = block_on(sibling.try_acquire()).expect("it is free");
    assert_eq!(other.resource().as_str(), "lock.bar");
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
    assert_eq!(block_on(other.release()), TimestampReleaseOutcome::Released);
}

#[test]
fn an_extension_writes_a_later_second() {
    let server = server();
    let guard = block_on(lock(&server, 60).acquire()).expect("it is free");
    let (written, until) = (guard.value(), guard.valid_until());
    eventually("it is another second", || seconds() + 61 > written);
    block_on(guard.extend()).expect("it is ours");
    assert!(guard.value() > written);
    assert!(guard.valid_until() > until);
    assert_eq!(value(&server), Some(guard.value()));
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
}

#[test]
fn an_extension_that_finds_something_else_ends_the_lease() {
    let server = server();
    let lock = lock(&server, 60);
    let cause = |error| match error {
        TimestampExtendError::Lost { cause, .. } => cause,
        other => panic!("{other}"),
    };
    let guard = block_on(lock.acquire()).expect("it is free");
    server.command(&["DEL", KEY]).expect("it answers");
    assert!(guard.is_valid(), "nobody has looked yet");
    let error = block_on(guard.extend()).expect_err("it is gone");
    assert_eq!(
        error.to_string(),
        r#"extend the timestamp lock "lock.foo": it is lost: its key is gone"#
    );
    assert_eq!(cause(error), TimestampLossCause::Gone);
    assert!(!guard.is_valid() && guard.remaining().is_zero());
    // It does not come back.
    set(&server, guard.value());
    let again = block_on(guard.extend()).expect_err("it is lost");
    assert_eq!(cause(again), TimestampLossCause::Gone);
    server.command(&["DEL", KEY]).expect("it answers");
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Gone);

    let guard = block_on(lock.acquire()).expect("it is free");
    server.command(&["DEL", KEY]).expect("it answers");
    server.command(&["SADD", KEY, "x"]).expect("it answers");
    let found = "a set".to_owned();
    let error = block_on(guard.extend()).expect_err("it is a set");
    let overwritten = TimestampLossCause::Overwritten {
        found: found.clone(),
    };
    assert_eq!(cause(error), overwritten);
    assert!(!guard.is_valid() && guard.remaining().is_zero());
    let outcome = block_on(guard.release());
    assert_eq!(outcome, TimestampReleaseOutcome::Overwritten { found });
}

#[test]
fn a_lease_whose_time_is_up_is_not_extended_and_not_deleted() {
    let server = server();
    let lock = lock(&server, 2);
    let guard = block_on(lock.acquire()).expect("it is free");
    eventually("its time is up", || !guard.is_valid());
    let error = block_on(guard.extend()).expect_err("its time is up");
    assert!(error.to_string().ends_with("it is lost: its time was up"));
    let written = guard.value();
    eventually("the second of its key is over", || seconds() > written);
    assert_eq!(
        block_on(guard.release()),
        TimestampReleaseOutcome::AlreadyExpired
    );
    assert_eq!(value(&server), Some(written), "free as it is");
    let next = block_on(lock.try_acquire()).expect("it is free");
    assert!(next.value() > written);
    mem::forget(next);
}
