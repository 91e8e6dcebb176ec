mod fair;

use super::*;
use crate::timing::Ttl;
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
        proposal: None,
        place: None,
    }
}

fn repair(name: &str, millis: u64) -> Request {
    let ttl = Ttl::new(Duration::from_millis(millis)).expect("in range");
    Request::Repair {
        resource: resource(),
        owner: owner(name),
        ttl,
        proposal: None,
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
        proposal: None,
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
        queued: None,
        permits: None,
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
        (0, acquire("a", 100), Vote::GRANTED),
        (99, acquire("b", 100), held_by("a", 1)),
        (100, acquire("b", 100), Vote::GRANTED),
        (101, acquire("a", 100), held_by("b", 99)),
    ]);
}

fn twin() -> Vote {
    Vote::Unknown(Fault::same_node())
}

#[test]
fn a_first_vote_that_finds_its_own_key_has_come_to_a_twin_and_changes_nothing() {
    // Argument S1: one server has one vote.
    story(vec![
        (0, acquire("a", 100), Vote::GRANTED),
        (60, acquire("a", 100), twin()),
        (70, acquire("b", 100), held_by("a", 30)),
        (80, transfer("a", "b", 100), Vote::GRANTED),
        (90, transfer("a", "b", 100), twin()),
        (90, acquire("b", 100), twin()),
        (100, acquire("c", 100), held_by("b", 80)),
        (180, acquire("b", 100), Vote::GRANTED),
    ]);
}

#[test]
fn a_repeated_repair_is_granted_and_does_not_move_the_end() {
    story(vec![
        (0, repair("a", 100), Vote::GRANTED),
        (60, repair("a", 100), Vote::GRANTED),
        (70, repair("b", 100), held_by("a", 30)),
        (100, repair("b", 100), Vote::GRANTED),
    ]);
}

#[test]
fn only_the_owner_extends() {
    story(vec![
        (0, extend("a", 100), free()),
        (0, acquire("a", 100), Vote::GRANTED),
        (50, extend("b", 100), held_by("a", 50)),
        (50, extend("a", 100), Vote::GRANTED),
        (149, acquire("b", 100), held_by("a", 1)),
    ]);
}

#[test]
fn an_expired_key_is_not_revived_by_an_extension() {
    story(vec![
        (0, acquire("a", 100), Vote::GRANTED),
        (100, extend("a", 100), free()),
        (100, acquire("b", 100), Vote::GRANTED),
    ]);
}

#[test]
fn only_the_owner_releases() {
    story(vec![
        (0, acquire("a", 100), Vote::GRANTED),
        (10, release("b"), held_by("a", 90)),
        (10, release("a"), Vote::GRANTED),
        (10, release("a"), free()),
        (10, acquire("b", 100), Vote::GRANTED),
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
    assert_eq!(table.apply(at(10), &extend("a", 100)), Vote::GRANTED);
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
        assert_eq!(table.apply(at(10), &release("a")), Vote::GRANTED);
        let key = table.key(at(10), &resource()).expect("it is still there");
        assert_eq!(key.expires_at, at(until));
    }
}

#[test]
fn only_the_key_that_is_named_is_taken_over() {
    story(vec![
        (0, transfer("a", "b", 100), free()),
        (0, acquire("a", 100), Vote::GRANTED),
        (10, transfer("x", "b", 100), held_by("a", 90)),
        (10, transfer("a", "b", 100), Vote::GRANTED),
        (20, extend("a", 100), held_by("b", 90)),
        (20, transfer("a", "c", 100), held_by("b", 90)),
        (110, transfer("b", "c", 100), free()),
    ]);
}

fn token(number: u64) -> FencingToken {
    FencingToken::new(number).expect("in range")
}

/// The same request, with a proposal.
fn proposing(number: u64, mut request: Request) -> Request {
    if let Request::Acquire { proposal, .. }
    | Request::Repair { proposal, .. }
    | Request::Transfer { proposal, .. } = &mut request
    {
        *proposal = Some(token(number));
    }
    request
}

fn raise(name: &str, number: u64) -> Request {
    Request::Raise {
        resource: resource(),
        owner: owner(name),
        token: token(number),
    }
}

fn beyond() -> Vote {
    let why = "the node's counter is beyond the token";
    Vote::Unknown(Fault::new(FaultKind::Rejected, why))
}

fn counted(number: u64) -> Vote {
    Vote::Granted {
        counter: Some(token(number)),
    }
}

#[test]
fn every_grant_counts_and_a_repeated_one_does_not_count_again() {
    // Argument S4: a grant is larger than all before it, whatever is proposed.
    story(vec![
        (0, proposing(5, acquire("a", 100)), counted(5)),
        (1, proposing(9, repair("a", 100)), counted(5)),
        (1, proposing(9, acquire("a", 100)), twin()),
        (2, release("a"), Vote::GRANTED),
        (3, proposing(5, acquire("b", 100)), counted(6)),
        (103, proposing(2, acquire("c", 100)), counted(7)),
        (104, proposing(50, acquire("d", 100)), held_by("c", 99)),
        (105, release("c"), Vote::GRANTED),
        (106, proposing(50, acquire("d", 100)), counted(50)),
    ]);
}

#[test]
fn a_refused_grant_and_one_without_a_proposal_do_not_count() {
    story(vec![
        (0, proposing(5, acquire("a", 100)), counted(5)),
        (1, proposing(70, acquire("b", 100)), held_by("a", 99)),
        (1, proposing(70, transfer("b", "c", 100)), held_by("a", 99)),
        (2, release("a"), Vote::GRANTED),
        (3, acquire("b", 100), Vote::GRANTED),
        (4, release("b"), Vote::GRANTED),
        (5, proposing(1, acquire("b", 100)), counted(6)),
    ]);
}

#[test]
fn a_transfer_counts_once() {
    story(vec![
        (0, proposing(5, acquire("a", 100)), counted(5)),
        (1, proposing(5, transfer("a", "b", 100)), counted(6)),
        (2, proposing(50, transfer("a", "b", 100)), twin()),
        (3, proposing(50, repair("b", 100)), counted(6)),
    ]);
}

#[test]
fn a_counter_is_raised_by_the_owner_only_and_never_down() {
    // Argument S4: a later owner's counter is not raised to an earlier one's token.
    story(vec![
        (0, raise("a", 9), free()),
        (0, proposing(5, acquire("a", 100)), counted(5)),
        (1, raise("b", 90), held_by("a", 99)),
        (2, raise("a", 9), Vote::GRANTED),
        // The counter may be a later owner's, after whom a late request has set our key again.
        (3, raise("a", 7), beyond()),
        (4, proposing(5, repair("a", 100)), counted(9)),
        (5, release("a"), Vote::GRANTED),
        (6, raise("a", 90), free()),
        (7, proposing(5, acquire("b", 100)), counted(10)),
        (107, raise("b", 90), free()),
        (108, proposing(5, acquire("c", 100)), counted(11)),
    ]);
}

#[test]
fn a_counter_that_has_come_to_its_end_grants_nothing_more() {
    let mut table = Table::new();
    let last = FencingToken::LAST.get();
    let first = proposing(last, acquire("a", 100));
    assert_eq!(table.apply(at(0), &first), counted(last));
    let again = proposing(last, repair("a", 100));
    assert_eq!(table.apply(at(1), &again), counted(last), "it is granted");
    table.apply(at(2), &release("a"));
    let next = table.apply(at(3), &proposing(1, acquire("b", 100)));
    assert!(matches!(next, Vote::Unknown(_)), "{next:?}");
    assert_eq!(table.key(at(3), &resource()), None);
    assert_eq!(table.counter(&resource()), Some(FencingToken::LAST));
}
