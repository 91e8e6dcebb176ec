use super::*;
use crate::terms::Ttl;
use alloc::{vec, vec::Vec};
use core::time::Duration;

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

fn resource() -> Resource {
    Resource::new("r").expect("a plain name")
}

fn owner(name: &str) -> Owner {
    Owner::from_bytes(name.as_bytes()).expect("not empty")
}

fn acquire(name: &str, millis: u64) -> Request {
    let ttl = Ttl::new(Duration::from_millis(millis)).expect("in range");
    Request::Acquire {
        resource: resource(),
        owner: owner(name),
        ttl,
    }
}

fn extend(name: &str, millis: u64) -> Request {
    let ttl = Ttl::new(Duration::from_millis(millis)).expect("in range");
    Request::Extend {
        resource: resource(),
        owner: owner(name),
        ttl,
    }
}

fn transfer(from: &str, name: &str, millis: u64) -> Request {
    let ttl = Ttl::new(Duration::from_millis(millis)).expect("in range");
    Request::Transfer {
        resource: resource(),
        from: owner(from),
        owner: owner(name),
        ttl,
    }
}

fn release(name: &str) -> Request {
    Request::Release {
        resource: resource(),
        owner: owner(name),
        keep: None,
    }
}

fn held_by(name: &str, millis: u64) -> Vote {
    Vote::Refused(Refusal {
        holder: Some(owner(name)),
        remaining: Some(Duration::from_millis(millis)),
    })
}

fn free() -> Vote {
    Vote::Refused(Refusal::default())
}

/// Each row: when, what is asked, what must be answered.
fn story(rows: Vec<(u64, Request, Vote)>) {
    let mut table = Table::new();
    for (row, (when, request, vote)) in rows.into_iter().enumerate() {
        assert_eq!(
            table.apply(at(when), &request),
            vote,
            "row {row}: {request:?}"
        );
    }
}

#[test]
fn a_key_excludes_others_until_its_ttl_ends() {
    story(vec![
        (0, acquire("a", 100), Vote::Granted),
        (99, acquire("b", 100), held_by("a", 1)),
        (100, acquire("b", 100), Vote::Granted),
        (101, acquire("a", 100), held_by("b", 99)),
    ]);
}

#[test]
fn a_repeated_acquire_is_granted_and_does_not_move_the_end() {
    story(vec![
        (0, acquire("a", 100), Vote::Granted),
        (60, acquire("a", 100), Vote::Granted),
        (70, acquire("b", 100), held_by("a", 30)),
    ]);
}

#[test]
fn only_the_owner_extends() {
    story(vec![
        (0, extend("a", 100), free()),
        (0, acquire("a", 100), Vote::Granted),
        (50, extend("b", 100), held_by("a", 50)),
        (50, extend("a", 100), Vote::Granted),
        (149, acquire("b", 100), held_by("a", 1)),
    ]);
}

#[test]
fn an_expired_key_is_not_revived_by_an_extension() {
    story(vec![
        (0, acquire("a", 100), Vote::Granted),
        (100, extend("a", 100), free()),
        (100, acquire("b", 100), Vote::Granted),
    ]);
}

#[test]
fn only_the_owner_releases() {
    story(vec![
        (0, acquire("a", 100), Vote::Granted),
        (10, release("b"), held_by("a", 90)),
        (10, release("a"), Vote::Granted),
        (10, release("a"), free()),
        (10, acquire("b", 100), Vote::Granted),
    ]);
}

#[test]
fn sweeping_drops_the_dead_and_keeps_the_living() {
    let mut table = Table::new();
    table.apply(at(0), &acquire("a", 100));
    table.sweep(at(99));
    assert!(table.key(at(99), &resource()).is_some());
    table.sweep(at(100));
    assert!(table.keys.is_empty());
}

#[test]
fn an_extension_takes_nothing_away() {
    let mut table = Table::new();
    table.apply(at(0), &acquire("a", 1_000));
    assert_eq!(table.apply(at(10), &extend("a", 100)), Vote::Granted);
    let key = table.key(at(10), &resource()).expect("it is there");
    assert_eq!(key.expires_at, at(1_000));
}

#[test]
fn a_release_may_keep_the_key_for_a_last_time() {
    for (keep, until) in [(50, 60), (5_000, 5_010)] {
        let mut table = Table::new();
        table.apply(at(0), &acquire("a", 1_000));
        let keep = Ttl::new(Duration::from_millis(keep)).ok();
        let release = |name| Request::Release {
            resource: resource(),
            owner: owner(name),
            keep,
        };
        assert!(matches!(
            table.apply(at(10), &release("b")),
            Vote::Refused(_)
        ));
        assert_eq!(table.apply(at(10), &release("a")), Vote::Granted);
        let key = table.key(at(10), &resource()).expect("it is still there");
        assert_eq!(key.expires_at, at(until));
    }
}

#[test]
fn only_the_key_that_is_named_is_taken_over() {
    story(vec![
        (0, transfer("a", "b", 100), free()),
        (0, acquire("a", 100), Vote::Granted),
        (10, transfer("x", "b", 100), held_by("a", 90)),
        (10, transfer("a", "b", 100), Vote::Granted),
        (20, extend("a", 100), held_by("b", 90)),
        (20, transfer("a", "c", 100), held_by("b", 90)),
        (110, transfer("b", "c", 100), free()),
    ]);
}

#[test]
fn a_repeated_transfer_is_granted_and_does_not_move_the_end() {
    story(vec![
        (0, acquire("a", 100), Vote::Granted),
        (10, transfer("a", "b", 100), Vote::Granted),
        (60, transfer("a", "b", 100), Vote::Granted),
        (70, acquire("c", 100), held_by("b", 40)),
    ]);
}
