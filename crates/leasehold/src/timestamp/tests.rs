//! What needs a clock that goes wrong, or the node's answer at a given second.

use super::{
    TimestampAcquireError, TimestampExtendError, TimestampGuard, TimestampLock, TimestampLossCause,
    TimestampOptions, TimestampReleaseOutcome, lease::Lease,
};
use crate::link::redis::stamp::{Kept, StampNode, StampVerdict};
use leasehold_servers::{Server, require_server};
use std::{sync::Arc, time::Duration};

fn server() -> Server {
    require_server();
    Server::start().expect("the server starts")
}

/// A lock with a timeout of a minute, of a program whose wall clock is so many seconds ahead.
fn lock(server: &Server, ahead: i64) -> TimestampLock {
    let options = TimestampOptions::new().timeout(Duration::from_secs(60));
    let lock = TimestampLock::with_options(&server.url(), "lock.foo", options);
    let TimestampLock { desk, subject } = lock.expect("it can be made");
    let mut subject = (*subject).clone();
    subject.clocks.ahead = ahead;
    let subject = Arc::new(subject);
    TimestampLock { desk, subject }
}

fn value(server: &Server) -> Option<u64> {
    let reply = server.command(&["GET", "lock.foo"]).expect("it answers");
    reply.text().map(|text| text.parse().expect("a number"))
}

/// A second that is not now, so that a test does not depend on it.
const NOW: u64 = 1_700_000_000;

async fn node(server: &Server) -> StampNode {
    let mut node = StampNode::new(server.url().parse().expect("an address"));
    node.connect().await.expect("it listens");
    node
}

#[tokio::test]
async fn a_lock_is_free_in_the_second_after_the_one_in_its_key_and_not_before() {
    // Argument T1.
    let server = server();
    let mut node = node(&server).await;
    for (value, taken) in [
        (NOW + 4, StampVerdict::Held(NOW + 4)),
        (NOW + 1, StampVerdict::Held(NOW + 1)),
        (NOW, StampVerdict::Held(NOW)),
        (NOW - 1, StampVerdict::Granted),
        (1_000_000_000, StampVerdict::Granted),
    ] {
        let text = value.to_string();
        server.command(&["SET", "r", &text]).expect("it answers");
        let answer = node.acquire(b"r", NOW, NOW + 4).await;
        assert_eq!(answer, Ok(taken.clone()), "{value}");
        let after = server.command(&["GET", "r"]).expect("it answers");
        let expected = match taken {
            StampVerdict::Granted => NOW + 4,
            _ => value,
        };
        assert_eq!(after.text(), Some(expected.to_string().as_str()));
    }
}

#[tokio::test]
async fn only_a_key_of_our_value_whose_time_is_not_up_is_deleted() {
    // Argument T3.
    let server = server();
    let mut node = node(&server).await;
    for (value, now, kept) in [
        (Some(NOW + 4), NOW, Kept::Done(())),
        (Some(NOW + 4), NOW + 3, Kept::Done(())),
        (Some(NOW + 4), NOW + 4, Kept::Over),
        (Some(NOW + 4), NOW + 9, Kept::Over),
        // After an extension of which nobody knows whether it was carried out.
        (Some(NOW + 7), NOW + 3, Kept::Done(())),
        (Some(NOW + 5), NOW, Kept::Other((NOW + 5).to_string())),
        (Some(NOW + 3), NOW, Kept::Other((NOW + 3).to_string())),
        (None, NOW, Kept::Gone),
    ] {
        server.command(&["DEL", "r"]).expect("it answers");
        if let Some(value) = value {
            let text = value.to_string();
            server.command(&["SET", "r", &text]).expect("it answers");
        }
        let answer = node.release(b"r", now, &[NOW + 4, NOW + 7]).await;
        assert_eq!(answer, Ok(kept.clone()), "{value:?} at {now}");
        let after = server.command(&["EXISTS", "r"]).expect("it answers");
        let is_there = value.is_some() && kept != Kept::Done(());
        assert_eq!(after.integer(), Some(i64::from(is_there)));
    }
}

#[tokio::test]
async fn only_a_key_of_our_value_whose_time_is_not_up_is_extended_and_never_shortened() {
    let server = server();
    let mut node = node(&server).await;
    for (value, now, kept, after) in [
        (NOW + 4, NOW + 1, Kept::Done(NOW + 5), NOW + 5),
        // In the same second, and by a clock that was set back.
        (NOW + 4, NOW, Kept::Done(NOW + 4), NOW + 4),
        (NOW + 4, NOW - 2, Kept::Done(NOW + 4), NOW + 4),
        (NOW + 4, NOW + 4, Kept::Done(NOW + 8), NOW + 8),
        (NOW + 4, NOW + 5, Kept::Over, NOW + 4),
        (NOW + 7, NOW + 6, Kept::Done(NOW + 10), NOW + 10),
        (
            NOW + 6,
            NOW + 1,
            Kept::Other((NOW + 6).to_string()),
            NOW + 6,
        ),
    ] {
        let text = value.to_string();
        server.command(&["SET", "r", &text]).expect("it answers");
        let answer = node.extend(b"r", now, now + 4, &[NOW + 4, NOW + 7]).await;
        assert_eq!(answer, Ok(kept), "{value} at {now}");
        let found = server.command(&["GET", "r"]).expect("it answers");
        assert_eq!(found.text(), Some(after.to_string().as_str()));
    }
    server.command(&["DEL", "r"]).expect("it answers");
    let answer = node.extend(b"r", NOW, NOW + 4, &[NOW + 4]).await;
    assert_eq!(answer, Ok(Kept::Gone));
}

/// The weakness that the lock has by its nature.
#[tokio::test]
async fn a_program_whose_clock_is_ahead_takes_a_lock_that_is_held() {
    let server = server();
    let held = lock(&server, 0).try_acquire().await.expect("it is free");
    let within = lock(&server, 30).try_acquire().await;
    assert!(within.expect_err("it is held").is_contention());
    let thief = lock(&server, 63).try_acquire().await.expect("it is over");
    assert!(held.is_valid() && thief.is_valid(), "two have it");
    // It does no further harm: what is not ours is left, and who looks learns that it is lost.
    let TimestampExtendError::Lost { cause, .. } = held.extend().await.expect_err("it is not ours")
    else {
        panic!("the lease is lost")
    };
    let found = thief.value().to_string();
    assert_eq!(
        cause,
        TimestampLossCause::Overwritten {
            found: found.clone()
        }
    );
    assert!(!held.is_valid());
    assert_eq!(
        held.release().await,
        TimestampReleaseOutcome::Overwritten { found }
    );
    assert_eq!(value(&server), Some(thief.value()));
}

#[tokio::test]
async fn a_program_whose_clock_is_behind_is_believed_over_too_early() {
    let server = server();
    let held = lock(&server, -63).try_acquire().await.expect("it is free");
    let thief = lock(&server, 0).try_acquire().await.expect("it is over");
    assert!(held.is_valid() && thief.is_valid(), "two have it");
}

/// The guard, as it is for a machine whose wall clock is so many seconds ahead from now on.
fn seen_by(guard: TimestampGuard, server: &Server, ahead: i64) -> TimestampGuard {
    let TimestampLock { desk, subject } = lock(server, ahead);
    let lease = Lease::new(subject, guard.value(), guard.valid_until());
    // It would release.
    std::mem::forget(guard);
    TimestampGuard::new(Arc::new(lease), desk)
}

#[tokio::test]
async fn a_lock_whose_time_is_up_is_left_to_whoever_wants_it() {
    let server = server();
    let late = lock(&server, -70).try_acquire().await.expect("it is free");
    let guard = seen_by(late, &server, 0);
    let written = guard.value();
    assert_eq!(
        guard.release().await,
        TimestampReleaseOutcome::AlreadyExpired
    );
    assert_eq!(value(&server), Some(written));
    let next = lock(&server, 0).try_acquire().await.expect("it is over");
    assert!(next.value() > written);
}

#[tokio::test]
async fn a_clock_that_was_set_back_extends_nothing() {
    // Argument T2.
    let server = server();
    let guard = lock(&server, 30).try_acquire().await.expect("it is free");
    let guard = seen_by(guard, &server, 0);
    let (written, until) = (guard.value(), guard.valid_until());
    let error = guard.extend().await.expect_err("there is no later end");
    assert!(
        matches!(error, TimestampExtendError::ClockSetBack { .. }),
        "{error}"
    );
    assert_eq!((guard.value(), guard.valid_until()), (written, until));
    assert_eq!(value(&server), Some(written));
    assert_eq!(guard.release().await, TimestampReleaseOutcome::Released);
}

#[tokio::test]
async fn a_clock_that_is_not_set_writes_nothing() {
    let server = server();
    let error = lock(&server, -1_700_000_000).acquire().await;
    let error = error.expect_err("it is 1971 or so");
    assert!(
        matches!(error, TimestampAcquireError::ClockNotSet { .. }),
        "{error}"
    );
    assert!(
        error.to_string().ends_with("before 2001; set it"),
        "{error}"
    );
    assert_eq!(value(&server), None);
}
