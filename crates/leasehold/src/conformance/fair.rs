//! How a node serves those who want a fair lock: the rule of `decide` about queues.

use super::{
    Suite,
    peer::{LONG, Peer, owner},
};
use crate::link::Link;
use leasehold_core::{
    Barrier, FencingToken, Place, Queue, Queued, Refusal, Request, Ticket, Vote, Waiter,
};
use std::time::Duration;

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    in_order(suite).await;
    with_a_ticket_from_elsewhere(suite).await;
    leaving(suite).await;
    barging(suite).await;
    repeating(suite).await;
    staying_away(suite).await;
    proposing_wildly(suite).await;
}

/// That a counter ends, with some who wait. What is counted there cannot be counted on.
pub(super) async fn check_last<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("fair-last").await;
    won(&mut peer, 1, "a", "a free fair lock is granted").await;
    let raise = Request::Raise {
        resource: peer.resource(0),
        owner: owner("a"),
        token: FencingToken::LAST,
    };
    peer.expect_granted(raise, "a counter is raised to the largest token")
        .await;
    behind(&mut peer, 2, "b", Barrier::Key, "it is held").await;
    let three = behind(&mut peer, 3, "c", Barrier::Key, "it is held").await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    let turn =
        "whoever is not next is refused and keeps its place, whatever has become of the counter";
    let waits = behind(&mut peer, 3, "d", Barrier::Queue, turn).await;
    assert_eq!(
        waits,
        queued(three, Barrier::Queue),
        "{}: {turn}",
        peer.case
    );
    let end = "whoever is next is told that the counter has come to its end";
    for (waiter, by) in [(2, "e"), (3, "f")] {
        let vote = peer.ask(asks(&peer, waiter, None, by)).await;
        assert!(
            matches!(vote, Vote::Unknown(_)),
            "{}: {end}; the vote was {vote:?}",
            peer.case
        );
    }
    peer.expect_granted(peer.inspect(), "what was not granted left no key")
        .await;
}

async fn in_order<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("fair-order").await;
    let first = "a fair lock that nobody has or wants is granted";
    won(&mut peer, 1, "a", first).await;
    let draws = "whoever is refused draws a ticket";
    let two = behind(&mut peer, 2, "b", Barrier::Key, draws).await;
    let three = behind(&mut peer, 3, "c", Barrier::Key, draws).await;
    assert!(
        two.ticket < three.ticket,
        "{}: whoever comes later has a larger ticket; {} came before {}",
        peer.case,
        two.ticket,
        three.ticket
    );
    assert_eq!((two.ahead, three.ahead), (0, 1), "{}: {draws}", peer.case);
    let again = "whoever asks again has the same ticket";
    let same = behind(&mut peer, 2, "d", Barrier::Key, again).await;
    assert_eq!(same, two, "{}: {again}", peer.case);
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    let turn = "whoever is not next is refused what is free";
    let waits = behind(&mut peer, 3, "e", Barrier::Queue, turn).await;
    assert_eq!(waits, queued(three, Barrier::Queue), "{}", peer.case);
    let four = behind(&mut peer, 4, "f", Barrier::Queue, turn).await;
    assert!(three.ticket < four.ticket, "{}: {draws}", peer.case);
    won(&mut peer, 2, "g", "whoever is next is granted").await;
    let over = "whoever has won waits no longer";
    let next = behind(&mut peer, 3, "h", Barrier::Key, over).await;
    assert_eq!(next.ahead, 0, "{}: {over}", peer.case);
    peer.expect_granted(peer.release("g"), "the owner releases its key")
        .await;
    won(&mut peer, 3, "i", "whoever is next is granted").await;
    peer.expect_granted(peer.release("i"), "the owner releases its key")
        .await;
    won(&mut peer, 4, "j", "whoever is next is granted").await;
    peer.expect_granted(peer.release("j"), "the owner releases its key")
        .await;
}

async fn with_a_ticket_from_elsewhere<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("fair-ticket").await;
    won(&mut peer, 1, "a", "a free fair lock is granted").await;
    let told = "a ticket that is shown is taken as it is";
    for (waiter, shown, ahead) in [(7, 500, 0), (8, 400, 0), (9, 500, 2), (6, 500, 1)] {
        let request = asks(&peer, waiter, Ticket::new(shown), "b");
        let place = refused(&mut peer, request, Barrier::Key, told).await;
        assert_eq!(
            (place.ticket.get(), place.ahead),
            (shown, ahead),
            "{}: {told}, and of two that are alike the smaller waiter comes first",
            peer.case
        );
    }
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    won(&mut peer, 8, "c", "the smallest ticket is next").await;
    peer.expect_granted(peer.release("c"), "the owner releases its key")
        .await;
    for waiter in [6, 7, 9] {
        peer.expect_granted(leave(&peer, waiter), "whoever leaves may")
            .await;
    }
}

async fn leaving<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("fair-leave").await;
    let nobody = "who is in no queue may leave it";
    peer.expect_granted(leave(&peer, 1), nobody).await;
    won(&mut peer, 1, "a", "a free fair lock is granted").await;
    behind(&mut peer, 2, "b", Barrier::Key, "it is held").await;
    behind(&mut peer, 3, "b", Barrier::Key, "it is held").await;
    let quiet = "whoever leaves changes nothing else";
    peer.expect_granted(leave(&peer, 2), quiet).await;
    peer.expect_held(peer.acquire("x", LONG), &owner("a"), LONG, quiet)
        .await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    won(&mut peer, 3, "c", "nobody waits for who has left").await;
    peer.expect_granted(peer.release("c"), "the owner releases its key")
        .await;
}

async fn barging<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("fair-barge").await;
    won(&mut peer, 1, "a", "a free fair lock is granted").await;
    behind(&mut peer, 2, "b", Barrier::Key, "it is held").await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    let free = "who does not ask for a fair lock takes what is free";
    peer.expect_granted(peer.acquire("x", LONG), free).await;
    let next = "who waits, waits on";
    let place = behind(&mut peer, 2, "b", Barrier::Key, next).await;
    assert_eq!(place.ahead, 0, "{}: {next}", peer.case);
    peer.expect_granted(peer.release("x"), "the owner releases its key")
        .await;
    peer.expect_granted(leave(&peer, 2), "whoever leaves may")
        .await;
}

async fn repeating<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("fair-again").await;
    won(&mut peer, 9, "a", "a free fair lock is granted").await;
    let before = asks(&peer, 1, Ticket::new(0), "b");
    refused(&mut peer, before, Barrier::Key, "it is held").await;
    let again = "a node has one vote for one owner, whoever waits by then";
    let twin = asks(&peer, 9, None, "a");
    peer.expect_twin(twin, again).await;
    behind(
        &mut peer,
        3,
        "c",
        Barrier::Key,
        "whoever has it has no place",
    )
    .await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    for waiter in [1, 3] {
        peer.expect_granted(leave(&peer, waiter), "whoever leaves may")
            .await;
    }
}

async fn staying_away<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("fair-life").await;
    won(&mut peer, 1, "a", "a free fair lock is granted").await;
    behind(&mut peer, 2, "b", Barrier::Key, "it is held").await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    let early = "a place is kept for three seconds";
    tokio::time::sleep(Queue::LIFE / 3).await;
    behind(&mut peer, 3, "c", Barrier::Queue, early).await;
    tokio::time::sleep(Queue::LIFE / 3 * 2 + SLACK).await;
    won(
        &mut peer,
        3,
        "d",
        "and no longer, if nobody comes back for it",
    )
    .await;
    peer.expect_granted(peer.release("d"), "the owner releases its key")
        .await;
}

async fn proposing_wildly<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("fair-wild").await;
    won(&mut peer, 1, "a", "a free fair lock is granted").await;
    let near = "a ticket is drawn from a proposal to a second beyond the node's time at most";
    let mut request = asks(&peer, 2, None, "b");
    if let Request::Acquire { proposal, .. } = &mut request {
        *proposal = Some(FencingToken::LAST);
    }
    let two = refused(&mut peer, request, Barrier::Key, near).await;
    // A second more: the node's clock need not be ours.
    let most = FencingToken::of_time(peer.clock.wall() + FencingToken::LEAD * 2);
    assert!(
        two.ticket.get() <= most.get(),
        "{}: {near}; it was {}",
        peer.case,
        two.ticket
    );
    let later = "whoever comes later has a larger ticket";
    let three = behind(&mut peer, 3, "c", Barrier::Key, later).await;
    assert!(three.ticket > two.ticket, "{}: {later}", peer.case);
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    for waiter in [2, 3] {
        peer.expect_granted(leave(&peer, waiter), "whoever leaves may")
            .await;
    }
}

/// A request by the waiter of this number.
fn asks<L: Link>(peer: &Peer<L>, waiter: u64, ticket: Option<Ticket>, by: &str) -> Request {
    let mut request = peer.acquire(by, LONG);
    if let Request::Acquire {
        place, proposal, ..
    } = &mut request
    {
        let waiter = Waiter::new(waiter);
        *place = Some(Place { waiter, ticket });
        *proposal = Some(FencingToken::FIRST);
    }
    request
}

fn leave<L: Link>(peer: &Peer<L>, waiter: u64) -> Request {
    Request::Leave {
        resource: peer.resource(0),
        waiter: Waiter::new(waiter),
    }
}

/// The same place, but for what it waits for.
const fn queued(place: Queued, barrier: Barrier) -> Queued {
    Queued { barrier, ..place }
}

async fn won<L: Link>(peer: &mut Peer<L>, waiter: u64, by: &str, promise: &str) {
    let vote = peer.ask(asks(peer, waiter, None, by)).await;
    assert!(
        matches!(vote, Vote::Granted { counter: Some(_) }),
        "{}: {promise}; the vote was {vote:?}",
        peer.case
    );
}

async fn behind<L: Link>(
    peer: &mut Peer<L>,
    waiter: u64,
    by: &str,
    barrier: Barrier,
    promise: &str,
) -> Queued {
    let request = asks(peer, waiter, None, by);
    refused(peer, request, barrier, promise).await
}

/// Asks, and expects to be refused for this reason. What stands in the way is told for how long it stays at most.
async fn refused<L: Link>(
    peer: &mut Peer<L>,
    request: Request,
    barrier: Barrier,
    promise: &str,
) -> Queued {
    let vote = peer.ask(request).await;
    let case = peer.case;
    let Vote::Refused(Refusal {
        holder,
        remaining: Some(remaining),
        queued: Some(place),
        ..
    }) = vote
    else {
        panic!("{case}: {promise}; the vote was {vote:?}");
    };
    assert_eq!(place.barrier, barrier, "{case}: {promise}");
    let (is_held, most) = match barrier {
        Barrier::Key => (true, LONG),
        Barrier::Queue => (false, Queue::LIFE),
    };
    assert_eq!(holder.is_some(), is_held, "{case}: {promise}");
    assert!(
        remaining <= most,
        "{case}: {promise}; for {remaining:?} yet"
    );
    place
}

/// What timers and clocks that count whole milliseconds may be off.
const SLACK: Duration = Duration::from_millis(500);
