//! Permits: each slot has one owner at a time, and all who have one say the same of how many there are.

use super::{
    Suite,
    hints::greeted,
    peer::{LONG, Peer, owner},
    readers::{SHORT, in_queue, refusal},
    tokens::{FAR, ask, assert_near, plus, with},
};
use crate::link::Link;
use leasehold_core::{Barrier, FencingToken, Owner, Permit, PermitCount, Request, Resource, Vote};
use std::time::Duration;

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    one_owner_each(suite).await;
    how_many(suite).await;
    beside_others(suite).await;
    ends_of_their_own(suite).await;
    once(suite).await;
    handing_over(suite).await;
    counting(suite).await;
    in_order(suite).await;
}

pub(super) async fn check_hints<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    drop(suite.case("permits-hints").await);
    let mut holder = greeted(suite).await;
    let mut waiter = greeted(suite).await;
    for slot in [0, 1] {
        let one = of(slot, 2, "a", holder.acquire("a", LONG));
        holder.expect_granted(one, FREE).await;
    }
    let waits = of(0, 2, "b", waiter.acquire("b", LONG));
    waiter.expect_taken(waits, 2, &[0, 1], TAKEN).await;
    waiter.expect_no_hint("nothing has changed yet").await;
    let released = of(1, 2, "a", holder.release("a"));
    holder.expect_granted(released, RELEASED).await;
    let told = "who waits for a permit is told that one is left";
    waiter.expect_hint(Some(&waiter.resource(0)), told).await;
    let longer = of(0, 2, "a", holder.extend("a", LONG));
    holder
        .expect_granted(longer, "an owner extends its permit")
        .await;
    let second = of(1, 2, "b", waiter.acquire("b", LONG));
    waiter.expect_granted(second, FREE).await;
    let quiet = "of permits that are taken and left no owner of another is told";
    holder.expect_no_hint(quiet).await;
    for (slot, by) in [(0, "a"), (1, "b")] {
        let released = of(slot, 2, by, holder.release(by));
        holder.expect_granted(released, RELEASED).await;
    }
}

async fn one_owner_each<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("permits").await;
    for slot in [2, 0] {
        let one = of(slot, 3, "a", peer.acquire("a", LONG));
        peer.expect_granted(one, FREE).await;
        for by in ["b", "c"] {
            let taken = of(slot, 3, by, peer.acquire(by, LONG));
            let slots = if slot == 2 { &[2][..] } else { &[0, 2] };
            peer.expect_taken(taken, 3, slots, TAKEN).await;
        }
    }
    let other = of(1, 3, "b", peer.acquire("b", LONG));
    peer.expect_granted(other, FREE).await;
    let whatever = "whatever is refused about a permit tells which are taken";
    for request in [
        of(1, 3, "c", peer.repair("c", LONG)),
        of(1, 3, "c", peer.extend("c", LONG)),
        of(1, 3, "c", peer.release("c")),
        of(1, 3, "c", peer.inspect()),
    ] {
        peer.expect_taken(request, 3, &[0, 1, 2], whatever).await;
    }
    let released = of(0, 3, "a", peer.release("a"));
    peer.expect_granted(released, RELEASED).await;
    let taken = of(1, 3, "c", peer.acquire("c", LONG));
    peer.expect_taken(taken, 3, &[1, 2], TAKEN).await;
    let next = of(0, 3, "c", peer.acquire("c", LONG));
    peer.expect_granted(next, "a slot that was left is granted")
        .await;
    for (slot, by) in [(0, "c"), (1, "b"), (2, "a")] {
        let released = of(slot, 3, by, peer.release(by));
        peer.expect_granted(released, RELEASED).await;
    }
    let last = "the name is free when the last permit was given back";
    peer.expect_granted(of(0, 3, "a", peer.inspect()), last)
        .await;
}

async fn how_many<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("permits-count").await;
    let one = of(0, 2, "a", peer.acquire("a", LONG));
    peer.expect_granted(one, FREE).await;
    let refused = "who says that there are more or fewer is refused";
    for (slot, count) in [(0, 1), (1, 3), (2, 3), (0, 256), (255, 256)] {
        let wrong = of(slot, count, "b", peer.acquire("b", LONG));
        peer.expect_taken(wrong, 2, &[0], refused).await;
    }
    let released = of(0, 2, "a", peer.release("a"));
    peer.expect_granted(released, RELEASED).await;
    let anew = "how many there are ends with the last permit";
    let other = of(255, 256, "b", peer.acquire("b", LONG));
    peer.expect_granted(other, anew).await;
    let old = of(0, 2, "a", peer.acquire("a", LONG));
    peer.expect_taken(old, 256, &[255], anew).await;
    let released = of(255, 256, "b", peer.release("b"));
    peer.expect_granted(released, RELEASED).await;
}

async fn beside_others<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("permits-beside").await;
    let one = of(1, 2, "a", peer.acquire("a", LONG));
    peer.expect_granted(one.clone(), FREE).await;
    let whole = "nobody has the whole name beside a permit";
    for request in [
        peer.acquire("w", LONG),
        peer.repair("w", LONG),
        peer.release("w"),
        peer.inspect(),
    ] {
        peer.expect_read(request, LONG, whole).await;
    }
    let read = "nobody reads beside a permit";
    let reader = peer.read("r", LONG);
    peer.expect_taken(reader, 2, &[1], read).await;
    let released = of(1, 2, "a", peer.release("a"));
    peer.expect_granted(released.clone(), RELEASED).await;
    let reader = peer.read("r", LONG);
    peer.expect_granted(reader, "a share of a free name is granted")
        .await;
    let beside = "nobody has a permit beside a reader";
    peer.expect_read(one.clone(), LONG, beside).await;
    let mut gone = peer.release("r");
    if let Request::Release { resource, .. } = &mut gone {
        *resource = Resource::shared(resource.as_str()).expect("a plain name");
    }
    peer.expect_granted(gone, "a reader releases its share")
        .await;
    peer.expect_granted(peer.acquire("w", LONG), "a free name is granted")
        .await;
    let held = "nobody has a permit of what somebody has for itself";
    peer.expect_held(one, &owner("w"), LONG, held).await;
    peer.expect_held(released, &owner("w"), LONG, held).await;
    let down = of(0, 2, "a", peer.transfer("w", "a", LONG));
    peer.expect_granted(down, "who has the name goes on with a permit")
        .await;
    let other = of(1, 2, "b", peer.acquire("b", LONG));
    peer.expect_granted(other, FREE).await;
    for (slot, by) in [(0, "a"), (1, "b")] {
        let released = of(slot, 2, by, peer.release(by));
        peer.expect_granted(released, RELEASED).await;
    }
}

async fn ends_of_their_own<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("permits-ends").await;
    for slot in [0, 1] {
        let one = of(slot, 2, "a", peer.acquire("a", SHORT));
        peer.expect_granted(one, FREE).await;
    }
    let longer = of(1, 2, "a", peer.extend("a", LONG / 2));
    peer.expect_granted(longer, "an owner extends its permit")
        .await;
    let shorter = of(1, 2, "a", peer.extend("a", SHORT));
    peer.expect_granted(shorter, "an extension does not cut a permit short")
        .await;
    tokio::time::sleep(SHORT * 2).await;
    let over = "a permit does not live on by what the owner of another extends";
    let again = of(0, 2, "a", peer.extend("a", LONG));
    let left = peer.expect_taken(again, 2, &[1], over).await;
    assert!(left > SHORT, "{}: {over}; {left:?} were left", peer.case);
    let next = of(0, 2, "b", peer.acquire("b", LONG));
    peer.expect_granted(next, "a slot whose permit has ended is granted")
        .await;
    let last = of(1, 2, "a", peer.release_later("a", SHORT));
    peer.expect_granted(last, "a permit may live for a last time")
        .await;
    tokio::time::sleep(SHORT * 2).await;
    let ended = of(0, 2, "c", peer.acquire("c", LONG));
    peer.expect_taken(ended, 2, &[0], "a last time ends").await;
    let released = of(0, 2, "b", peer.release("b"));
    peer.expect_granted(released, RELEASED).await;
}

async fn once<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("permits-once").await;
    let one = of(0, 2, "a", peer.acquire("a", LONG / 2));
    peer.expect_granted(one.clone(), FREE).await;
    peer.expect_twin(one, "a node has one vote of a permit")
        .await;
    let found = "a repair may find its permit, of which the end stays";
    let repair = of(0, 2, "a", peer.repair("a", LONG));
    peer.expect_granted(repair, found).await;
    let look = of(0, 2, "a", peer.inspect());
    let left = peer.expect_taken(look, 2, &[0], found).await;
    assert!(left <= LONG / 2, "{}: {found}; {left:?}", peer.case);
    let set = "a repair sets a permit whose slot is free";
    let repair = of(1, 2, "b", peer.repair("b", LONG));
    peer.expect_granted(repair, set).await;
    let taken = "a repair takes nobody's slot";
    let repair = of(1, 2, "c", peer.repair("c", LONG));
    peer.expect_taken(repair, 2, &[0, 1], taken).await;
    for (slot, by) in [(0, "a"), (1, "b")] {
        let released = of(slot, 2, by, peer.release(by));
        peer.expect_granted(released, RELEASED).await;
    }
}

async fn handing_over<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("permits-transfer").await;
    for (slot, by) in [(0, "a"), (1, "b")] {
        let one = of(slot, 3, by, peer.acquire(by, LONG));
        peer.expect_granted(one, FREE).await;
    }
    let over = |peer: &Peer<L>, (from, to), by: &str, heir: &str| {
        let transfer = of(to, 3, heir, peer.transfer("x", heir, LONG));
        from_permit(transfer, from, 3, by)
    };
    let handed = "a permit is handed over in its slot";
    let request = over(&peer, (0, 0), "a", "c");
    peer.expect_granted(request, handed).await;
    let gone = over(&peer, (0, 0), "a", "d");
    peer.expect_taken(gone, 3, &[0, 1], "nobody who is gone is followed")
        .await;
    let taken = over(&peer, (0, 1), "c", "d");
    peer.expect_taken(
        taken,
        3,
        &[0, 1],
        "a permit is not handed over into a slot that is taken",
    )
    .await;
    let moved = over(&peer, (0, 2), "c", "d");
    peer.expect_granted(moved, "a permit is handed over into a free slot")
        .await;
    let left = of(2, 3, "e", peer.acquire("e", LONG));
    peer.expect_taken(left, 3, &[1, 2], TAKEN).await;
    for (slot, by) in [(1, "b"), (2, "d")] {
        let released = of(slot, 3, by, peer.release(by));
        peer.expect_granted(released, RELEASED).await;
    }
}

async fn counting<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("permits-counters").await;
    // Some slots share counters.
    let counter = |slot| of(slot, 256, "a", peer.acquire("a", LONG)).counter();
    let differs = |slot: &u16| counter(*slot) != counter(0);
    let other = (1..256).find(differs).expect("there are 1024 counters");
    let grows = "each grant of a slot is larger than all before it";
    let first = count(&mut peer, (0, "a"), grows).await;
    let beside = count(&mut peer, (other, "b"), grows).await;
    let raise = |peer: &Peer<L>, by: &str| {
        let request = Request::Raise {
            resource: peer.resource(0),
            owner: owner(by),
            token: plus(first, FAR),
        };
        of(0, 256, by, request)
    };
    let only = "only who has a permit raises its counter";
    let foreign = raise(&peer, "b");
    peer.expect_taken(foreign, 256, &[0, other], only).await;
    let own = raise(&peer, "a");
    peer.expect_granted(own, only).await;
    let found = "a repair that finds its permit is not counted";
    let repair = with(of(0, 256, "a", peer.repair("a", LONG)), FencingToken::FIRST);
    let raised = ask(&mut peer, repair, found).await;
    assert_near(&peer, raised, plus(first, FAR), only);
    for (slot, by) in [(0, "a"), (other, "b")] {
        let released = of(slot, 256, by, peer.release(by));
        peer.expect_granted(released, RELEASED).await;
    }
    let second = count(&mut peer, (0, "c"), grows).await;
    let handed = of(0, 256, "d", peer.transfer("x", "d", LONG));
    let handed = with(from_permit(handed, 0, 256, "c"), FencingToken::FIRST);
    let third = ask(&mut peer, handed, grows).await;
    let next = count(&mut peer, (other, "c"), grows).await;
    let all = [(raised, second), (second, third), (beside, next)];
    let grew = all.iter().all(|(before, after)| before < after);
    assert!(grew, "{}: {grows}; they were {all:?}", peer.case);
    assert_near(&peer, next, beside, "a slot has a counter of its own");
    for (slot, by) in [(0, "d"), (other, "c")] {
        let released = of(slot, 256, by, peer.release(by));
        peer.expect_granted(released, RELEASED).await;
    }
}

/// Acquires this slot of 256, which must be granted, and tells the counter.
async fn count<L: Link>(
    peer: &mut Peer<L>,
    (slot, by): (u16, &str),
    promise: &str,
) -> FencingToken {
    let request = of(slot, 256, by, peer.acquire(by, LONG));
    ask(peer, with(request, FencingToken::FIRST), promise).await
}

async fn in_order<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("permits-order").await;
    for (slot, by) in [(0, "a"), (1, "b")] {
        let one = of(slot, 2, by, peer.acquire(by, LONG));
        peer.expect_granted(one, FREE).await;
    }
    let behind = "who comes later is behind those who wait";
    for number in 0..4 {
        let request = wants(&peer, number, 0);
        let place = (u32::from(number), Barrier::Key);
        peer.expect_queued(request, place, behind).await;
    }
    let released = of(1, 2, "b", peer.release("b"));
    peer.expect_granted(released, RELEASED).await;
    let one = "where one permit is left, one is next";
    let request = wants(&peer, 1, 1);
    peer.expect_queued(request, (1, Barrier::Key), one).await;
    let released = of(0, 2, "a", peer.release("a"));
    peer.expect_granted(released, RELEASED).await;
    let two = "where two permits are left, two are next";
    let request = wants(&peer, 2, 0);
    peer.expect_queued(request, (2, Barrier::Queue), two).await;
    let request = wants(&peer, 1, 0);
    let Vote::Granted { .. } = peer.ask(request).await else {
        panic!("{}: {two}", peer.case);
    };
    let request = wants(&peer, 2, 1);
    peer.expect_queued(request, (1, Barrier::Key), one).await;
    let request = wants(&peer, 0, 1);
    let Vote::Granted { .. } = peer.ask(request).await else {
        panic!("{}: {one}", peer.case);
    };
    let released = of(0, 2, "w1", peer.release("w1"));
    peer.expect_granted(released, RELEASED).await;
    behind_whoever_wants_the_name(&mut peer).await;
    let released = of(1, 2, "w0", peer.release("w0"));
    peer.expect_granted(released, RELEASED).await;
}

/// Two wait for a permit, of which one is left, and somebody comes who wants the name itself.
async fn behind_whoever_wants_the_name<L: Link>(peer: &mut Peer<L>) {
    let writes = in_queue(peer.acquire("n", LONG), 7);
    let last = "who wants the name waits for all who came before";
    peer.expect_queued(writes, (2, Barrier::Key), last).await;
    let first = "who waits for the name counts for all permits to those behind it";
    let request = wants(peer, 8, 0);
    peer.expect_queued(request, (4, Barrier::Key), first).await;
    for waiter in [2, 3] {
        let request = wants(peer, waiter, 0);
        let Vote::Granted { .. } = peer.ask(request).await else {
            panic!("{}: {first}", peer.case);
        };
        let by = format!("w{waiter}");
        let released = of(0, 2, &by, peer.release(&by));
        peer.expect_granted(released, RELEASED).await;
    }
    let request = wants(peer, 8, 0);
    peer.expect_queued(request, (2, Barrier::Key), first).await;
}

/// Somebody who waits in the queue for the permit in this slot of two.
fn wants<L: Link>(peer: &Peer<L>, number: u8, slot: u16) -> Request {
    let by = format!("w{number}");
    let request = of(slot, 2, &by, peer.acquire(&by, LONG));
    // The second highest bit says that it waits for a permit.
    in_queue(request, 1 << 62 | u64::from(number))
}

impl<L: Link> Peer<L> {
    /// Asks, and expects to be told that these slots of so many are taken, by nobody in particular. Tells when the first of them
    /// is left at the latest.
    async fn expect_taken(
        &mut self,
        request: Request,
        count: u16,
        slots: &[u16],
        promise: &str,
    ) -> Duration {
        let vote = self.ask(request).await;
        let told = refusal(&vote).filter(|refusal| refusal.holder.is_none());
        let permits = told.and_then(|told| told.permits.as_deref());
        let is_so = permits.is_some_and(|permits| {
            let told = permits.slots.iter().map(|(slot, _)| slot);
            permits.of.get() == count && told.eq(slots)
        });
        let times = permits.iter().flat_map(|permits| &permits.slots);
        let first = times.map(|(_, left)| *left).min();
        let left = told.and_then(|told| told.remaining);
        let possible = left.is_some_and(|left| !left.is_zero() && left <= LONG);
        assert!(
            is_so && possible && first == left,
            "{}: {promise}: slots {slots:?} of {count} are taken, and the first of them is left in time; the vote was {vote:?}",
            self.case
        );
        left.unwrap_or_default()
    }
}

/// The request, but about the permit in this slot of so many.
fn of(slot: u16, count: u16, by: &str, mut request: Request) -> Request {
    let permit = permit(slot, count);
    match &mut request {
        Request::Acquire {
            resource, owner, ..
        }
        | Request::Repair {
            resource, owner, ..
        }
        | Request::Raise {
            resource, owner, ..
        }
        | Request::Extend {
            resource, owner, ..
        }
        | Request::Transfer {
            resource, owner, ..
        }
        | Request::Release {
            resource, owner, ..
        } => {
            *owner = owner_of(permit, by);
            *resource = part(resource, permit);
        }
        Request::Inspect { resource } | Request::Leave { resource, .. } => {
            *resource = part(resource, permit);
        }
    }
    request
}

/// The takeover, but from the owner of this permit.
fn from_permit(mut request: Request, slot: u16, count: u16, by: &str) -> Request {
    if let Request::Transfer { from, .. } = &mut request {
        *from = owner_of(permit(slot, count), by);
    }
    request
}

fn part(resource: &Resource, permit: Permit) -> Resource {
    Resource::permit(resource.as_str(), permit.of()).expect("a plain name")
}

fn permit(slot: u16, count: u16) -> Permit {
    let count = PermitCount::new(count).expect("in range");
    Permit::new(slot, count).expect("one of the slots")
}

fn owner_of(permit: Permit, by: &str) -> Owner {
    let digit = by.bytes().fold(0, u8::wrapping_add);
    Owner::of_permit(&[digit; 20], permit, &owner(by))
}

const FREE: &str = "a permit whose slot is free is granted";
const TAKEN: &str = "a slot has one owner at a time, and the others are told which are taken";
const RELEASED: &str = "an owner gives its permit back";
