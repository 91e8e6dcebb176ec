//! What a node does with requests for a fair lock.

use super::*;
use crate::queue::Ticket;
use crate::queue::{Barrier, Place, Queued, Waiter};

/// An acquire by the waiter of this number.
fn queueing(waiter: u64, ticket: Option<u64>, mut request: Request) -> Request {
    if let Request::Acquire { place, .. } = &mut request {
        *place = Some(Place {
            waiter: Waiter::new(waiter),
            ticket: ticket.and_then(Ticket::new),
        });
    }
    request
}

fn leave(waiter: u64) -> Request {
    Request::Leave {
        resource: resource(),
        waiter: Waiter::new(waiter),
    }
}

fn queued(ticket: u64, ahead: u32, barrier: Barrier) -> Option<Queued> {
    Ticket::new(ticket).map(|ticket| Queued {
        ticket,
        ahead,
        barrier,
    })
}

/// It is another's.
fn behind(name: &str, millis: u64, ticket: u64, ahead: u32) -> Vote {
    Vote::Refused(Refusal {
        holder: Some(owner(name)),
        remaining: Some(Duration::from_millis(millis)),
        queued: queued(ticket, ahead, Barrier::Key),
        permits: None,
    })
}

/// It is nobody's, but others come first.
fn not_yet(millis: u64, ticket: u64, ahead: u32) -> Vote {
    Vote::Refused(Refusal {
        holder: None,
        remaining: Some(Duration::from_millis(millis)),
        queued: queued(ticket, ahead, Barrier::Queue),
        permits: None,
    })
}

#[test]
fn whoever_has_the_smallest_ticket_is_next() {
    let a = |name| queueing(7, None, acquire(name, 100));
    let b = |name| queueing(3, None, acquire(name, 100));
    story(vec![
        (0, acquire("x", 100), Vote::GRANTED),
        (10, a("a1"), behind("x", 90, 0, 0)),
        (20, b("b1"), behind("x", 80, 1, 1)),
        (30, release("x"), Vote::GRANTED),
        (31, b("b2"), not_yet(2_979, 1, 1)),
        // A waiter that asks again has its place for as long again, and the same ticket.
        (32, a("a2"), Vote::GRANTED),
        (40, b("b3"), behind("a2", 92, 1, 0)),
        (41, release("a2"), Vote::GRANTED),
        (42, a("a3"), not_yet(2_998, 2, 1)),
        (43, b("b4"), Vote::GRANTED),
    ]);
}

#[test]
fn whoever_never_waited_comes_behind_those_who_do() {
    let newcomer = queueing(1, None, acquire("n", 100));
    story(vec![
        (0, acquire("x", 100), Vote::GRANTED),
        (
            0,
            queueing(9, None, acquire("a", 100)),
            behind("x", 100, 0, 0),
        ),
        (1, release("x"), Vote::GRANTED),
        (2, newcomer, not_yet(2_998, 1, 1)),
        (3, queueing(9, None, acquire("b", 100)), Vote::GRANTED),
    ]);
}

#[test]
fn a_place_that_nobody_comes_back_for_is_given_away() {
    let waiter = |name| queueing(2, None, acquire(name, 5_000));
    story(vec![
        (0, acquire("x", 10), Vote::GRANTED),
        (
            0,
            queueing(1, None, acquire("dead", 5_000)),
            behind("x", 10, 0, 0),
        ),
        (1_000, waiter("a"), not_yet(2_000, 1, 1)),
        (2_999, waiter("b"), not_yet(1, 1, 1)),
        (3_000, waiter("c"), Vote::GRANTED),
    ]);
}

#[test]
fn whoever_leaves_makes_room_and_nothing_else_changes() {
    let waiter = |name| queueing(2, None, acquire(name, 100));
    story(vec![
        (0, leave(1), Vote::GRANTED),
        (0, acquire("x", 100), Vote::GRANTED),
        (
            0,
            queueing(1, None, acquire("a", 100)),
            behind("x", 100, 0, 0),
        ),
        (1, leave(1), Vote::GRANTED),
        (2, waiter("b"), behind("x", 98, 0, 0)),
        (3, release("x"), Vote::GRANTED),
        (4, waiter("c"), Vote::GRANTED),
    ]);
}

#[test]
fn a_queue_takes_nothing_from_who_has_the_key_and_binds_nobody_else() {
    let ours = queueing(5, Some(50), acquire("a", 100));
    story(vec![
        (0, ours.clone(), Vote::GRANTED),
        (
            1,
            queueing(4, Some(40), acquire("b", 100)),
            behind("a", 99, 40, 0),
        ),
        // By another address of the node, where another comes first by now: it gives no place.
        (2, ours, twin()),
        (
            2,
            queueing(4, Some(40), acquire("b", 100)),
            behind("a", 98, 40, 0),
        ),
        (3, extend("a", 100), Vote::GRANTED),
        (4, release("a"), Vote::GRANTED),
        // A caller that does not ask for a fair lock takes what is free.
        (5, acquire("barges", 100), Vote::GRANTED),
        (6, transfer("barges", "next", 100), Vote::GRANTED),
    ]);
}

#[test]
fn a_ticket_that_was_drawn_elsewhere_is_taken_as_it_is_and_a_new_one_follows_the_counter() {
    let wild = |name| proposing(9, queueing(1, None, acquire(name, 100)));
    story(vec![
        (0, acquire("x", 100), Vote::GRANTED),
        (0, wild("a"), behind("x", 100, 9, 0)),
        (0, queueing(1, Some(60), wild("b")), behind("x", 100, 60, 0)),
        (0, queueing(2, None, wild("c")), behind("x", 100, 61, 1)),
        (0, queueing(2, Some(30), wild("d")), behind("x", 100, 30, 0)),
    ]);
}

#[test]
fn a_queue_without_waiters_is_not_kept() {
    let mut table = Table::new();
    table.apply(at(0), &acquire("x", 100));
    table.apply(at(0), &queueing(1, None, acquire("a", 100)));
    assert_eq!(
        table.queue(&resource()).map(|it| it.entries().len()),
        Some(1)
    );
    table.apply(at(1), &leave(1));
    assert_eq!(table.queue(&resource()), None);
    table.apply(at(2), &queueing(1, None, acquire("a", 100)));
    table.apply(at(3), &release("x"));
    table.apply(at(4), &queueing(1, None, acquire("b", 100)));
    assert_eq!(table.queue(&resource()), None, "it has won");
    table.apply(at(5), &queueing(2, None, acquire("c", 100)));
    table.sweep(at(3_005));
    assert_eq!(table.queue(&resource()), None, "it never came back");
}

#[test]
fn a_counter_that_has_come_to_its_end_costs_nobody_its_place() {
    let last = FencingToken::LAST.get();
    let head = |name| proposing(1, queueing(1, Some(10), acquire(name, 100)));
    let next = |name| proposing(1, queueing(2, Some(20), acquire(name, 100)));
    let mut table = Table::new();
    table.apply(at(0), &proposing(last, acquire("x", 100)));
    assert_eq!(table.apply(at(1), &head("a1")), behind("x", 99, 10, 0));
    assert_eq!(table.apply(at(2), &next("b1")), behind("x", 98, 20, 1));
    table.apply(at(3), &release("x"));
    // A waiter that is not next is refused, and asks for no number.
    assert_eq!(table.apply(at(4), &next("b2")), not_yet(2_997, 20, 1));
    let told = table.apply(at(5), &head("a2"));
    assert!(matches!(told, Vote::Unknown(_)), "{told:?}");
    let told = table.apply(at(6), &next("b3"));
    assert!(matches!(told, Vote::Unknown(_)), "it is next: {told:?}");
    assert_eq!(table.key(at(7), &resource()), None);
}
