//! Input that cannot be used, keys that are no locks, and nodes that do not answer.

use super::{KEY, lock, server, set, value};
use crate::support::{begin, block_on, eventually};
use leasehold::{
    ConfigError,
    clock::Clock,
    timestamp::{
        TimestampAcquireError, TimestampExtendError, TimestampLock, TimestampOptions,
        TimestampReleaseOutcome,
    },
};
use leasehold_servers::{Connection, Server};
use std::time::Duration;

#[test]
fn input_that_cannot_be_used_is_told_before_anything_is_sent() {
    let url = "redis://127.0.0.1:1";
    let make = |url: &str, resource: &str, options: TimestampOptions| {
        let error = TimestampLock::with_options(url, resource, options).expect_err("it is wrong");
        (error.to_string(), error)
    };
    let options = TimestampOptions::new;
    let (text, error) = make(url, "", options());
    assert!(matches!(error, ConfigError::Resource(_)));
    assert_eq!(text, "the resource's name is empty");
    let (_, error) = make(url, &"x".repeat(2000), options());
    assert!(matches!(error, ConfigError::Resource(_)));
    let (text, error) = make("http://h", "r", options());
    assert!(matches!(error, ConfigError::Node(_)));
    assert!(text.contains("http") || text.contains("scheme"), "{text}");
    let (text, _) = make("redis://u:hunter2@h:port", "r", options());
    assert!(!text.contains("hunter2"), "{text}");
    for timeout in [0, 500, 1_500] {
        let timeout = Duration::from_millis(timeout);
        let (text, error) = make(url, "r", options().timeout(timeout));
        assert!(matches!(error, ConfigError::Timeout { .. }));
        let expected = format!(
            "a timeout of {timeout:?} cannot be used: timestamps are whole seconds; give 1 s to 30 days"
        );
        assert_eq!(text, expected);
    }
    let (text, error) = make(url, "r", options().pause(Duration::ZERO));
    assert!(
        matches!(error, ConfigError::NoTime { option: "pause" }),
        "{text}"
    );
}

#[test]
fn a_key_that_is_no_timestamp_is_never_overwritten() {
    let server = server();
    let lock = lock(&server, 3);
    for found in [
        "",
        "x",
        "0",
        "5",
        "-1700000004",
        "+1700000004",
        "01700000004",
        " 1700000004",
        "1700000004 ",
        "1700000004\n",
        "1700000004.5",
        "1.7e9",
        "999999999",
        "1700000004123",
        "0123456789abcdef0123456789abcdef01234567",
    ] {
        server.command(&["SET", KEY, found]).expect("it answers");
        let error = block_on(lock.acquire()).expect_err("it is no timestamp");
        let TimestampAcquireError::NotATimestamp { found: told, .. } = &error else {
            panic!("{found:?}: {error}")
        };
        let shown: String = found.replace('\n', " ").chars().take(32).collect();
        assert_eq!(*told, format!("the value \"{shown}\""));
        let kept = server.command(&["GET", KEY]).expect("it answers");
        assert_eq!(kept.text(), Some(found));
    }
    let error = block_on(lock.acquire()).expect_err("it is no timestamp");
    let text = error.to_string();
    assert!(
        text.contains("choose another name, or delete the key"),
        "{text}"
    );
    for (words, kind) in [
        (["RPUSH", KEY, "1700000004"], "a list"),
        (["SADD", KEY, "1700000004"], "a set"),
    ] {
        server.command(&["DEL", KEY]).expect("it answers");
        server.command(&words).expect("it answers");
        let error = block_on(lock.try_acquire()).expect_err("it is no string");
        assert!(error.to_string().contains(kind), "{error}");
        assert!(!error.is_contention());
    }
}

fn reason(error: TimestampAcquireError) -> String {
    match error {
        TimestampAcquireError::TimedOut { last, .. } => reason(*last),
        TimestampAcquireError::Unreachable { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn a_node_that_cannot_be_asked_is_told_with_its_reason() {
    let server = server();
    let url = server.url();
    server.kill().expect("it is ours");
    let options = TimestampOptions::new().patience(Duration::from_millis(100));
    let lock = TimestampLock::with_options(&url, KEY, options.clone()).expect("an address");
    let error = block_on(lock.try_acquire()).expect_err("nobody listens");
    assert!(error.to_string().contains("connection refused"), "{error}");
    assert_eq!(reason(error), "connection refused");
    let error = block_on(lock.acquire()).expect_err("nobody listens");
    assert_eq!(reason(error), "connection refused");
    server.restart().expect("it starts again");
    assert!(block_on(lock.acquire_within(Duration::from_secs(10))).is_ok());

    let server = Server::builder().password("hunter2").start();
    let server = server.expect("the server starts");
    let url = format!("redis://:wrong@127.0.0.1:{}", server.port());
    let lock = TimestampLock::with_options(&url, KEY, options).expect("an address");
    let error = block_on(lock.try_acquire()).expect_err("the password is wrong");
    let text = error.to_string();
    assert!(text.contains("authentication failed"), "{text}");
    assert!(!text.contains("wrong@"), "{text}");
}

#[test]
fn a_node_that_refuses_is_told_with_its_reason() {
    let server = server();
    let lock = lock(&server, 60);
    let guard = block_on(lock.acquire()).expect("it is free");
    server
        .command(&["ACL", "SETUSER", "default", "-set"])
        .expect("it answers");
    let error = block_on(lock.sibling("other").expect("a name").try_acquire());
    let text = reason(error.expect_err("it lacks a right"));
    assert!(
        text.contains("lacks rights") && text.contains("+set"),
        "{text}"
    );
    server
        .command(&["ACL", "SETUSER", "default", "+set"])
        .expect("it answers");
    server
        .command(&["REPLICAOF", "127.0.0.1", "1"])
        .expect("it answers");
    let error = block_on(lock.try_acquire()).expect_err("it is a replica");
    assert_eq!(reason(error), "is a replica, and locks need a master");
    let error = block_on(guard.extend()).expect_err("it is a replica");
    assert!(
        matches!(error, TimestampExtendError::Unreachable { .. }),
        "{error}"
    );
    assert!(guard.is_valid(), "as it was");
    server
        .command(&["REPLICAOF", "NO", "ONE"])
        .expect("it answers");
    block_on(guard.extend()).expect("it is ours");
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
}

#[test]
fn the_rights_that_are_documented_are_enough() {
    let server = server();
    let rights = "+hello +auth +select +eval +get +set +del";
    let mut words = vec!["ACL", "SETUSER", "locks", "on", ">password", "~lock.foo"];
    words.extend(rights.split(' '));
    server.command(&words).expect("it answers");
    let url = format!("redis://locks:password@127.0.0.1:{}", server.port());
    let lock = TimestampLock::new(&url, KEY).expect("an address");
    let guard = block_on(lock.acquire()).expect("it is free");
    block_on(guard.extend()).expect("it is ours");
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
    // Who may not ask for the type still learns that it is another.
    server.command(&["SADD", KEY, "x"]).expect("it answers");
    let error = block_on(lock.acquire()).expect_err("it is a set");
    assert!(
        error.to_string().contains("a value of another type"),
        "{error}"
    );
}

#[test]
fn a_connection_that_ended_while_nothing_was_said_costs_nothing() {
    let server = server();
    let lock = lock(&server, 60);
    let guard = block_on(lock.acquire()).expect("it is free");
    let mut connection: Connection = server.connect().expect("it listens");
    let kill = ["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"];
    let killed = connection.command(&kill).expect("it answers");
    assert_eq!(killed.integer(), Some(1));
    // That it has ended is known when its thread has been told by the kernel.
    eventually("it is extended", || block_on(guard.extend()).is_ok());
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
}

#[test]
fn an_answer_that_is_lost_is_no_grant_and_its_release_is_not_said_twice() {
    // Argument T4.
    let server = server();
    let lock = lock(&server, 60);
    let guard = block_on(lock.acquire()).expect("it is free");
    server.pause().expect("it can be stopped");
    let outcome = block_on(guard.release());
    let TimestampReleaseOutcome::Unknown { reason } = outcome else {
        panic!("{outcome}")
    };
    assert!(reason.contains("did not answer within"), "{reason}");
    server.resume().expect("it goes on");
    eventually("the release has arrived", || value(&server).is_none());
    // Whoever comes next in the same second has the same value, and keeps it.
    let next = super::seconds() + 61;
    set(&server, next);
    let error = block_on(lock.try_acquire()).expect_err("it is held");
    assert!(error.is_contention(), "{error}");
    assert_eq!(value(&server), Some(next));

    server.command(&["DEL", KEY]).expect("it answers");
    server.pause().expect("it can be stopped");
    let error = block_on(lock.try_acquire()).expect_err("it does not answer");
    assert!(
        matches!(error, TimestampAcquireError::Unclear { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("may be taken until"), "{error}");
    server.resume().expect("it goes on");
    eventually("the request has arrived", || value(&server).is_some());
    let error = block_on(lock.try_acquire()).expect_err("nobody has it");
    assert!(error.is_contention(), "what the key carries proves nothing");
}

#[test]
fn a_grant_that_comes_too_late_is_none() {
    let server = server();
    let lock = lock(&server, 1);
    // Connected, and nothing under way.
    let guard = block_on(lock.try_acquire()).expect("it is free");
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
    let clock = Clock::system();
    let length = Duration::from_millis(1_500);
    // On a busy machine the request may leave late, or be answered late, though not every time.
    let is_too_late = (0..5).any(|_| {
        server.pause().expect("it can be stopped");
        let paused = clock.now();
        let mut late = Box::pin(lock.try_acquire());
        begin(&mut late);
        eventually("its timeout is over", || {
            clock.now().saturating_since(paused) > length
        });
        server.resume().expect("it goes on");
        let Err(error @ TimestampAcquireError::TooLate { .. }) = block_on(late) else {
            return false;
        };
        let text = error.to_string();
        assert!(
            text.ends_with("leaves nothing of a timeout of 1 s"),
            "{text}"
        );
        true
    });
    assert!(is_too_late);
}
