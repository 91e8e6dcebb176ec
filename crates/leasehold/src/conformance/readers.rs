//! Shares of a name: any number at once, and none beside who has the name itself.

use super::{
    Suite,
    hints::greeted,
    peer::{LONG, Peer, owner},
};
use crate::link::Link;
use leasehold_core::{
    Barrier, FencingToken, Place, Queued, Refusal, Request, Resource, Vote, Waiter,
};
use std::time::Duration;

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    beside_each_other(suite).await;
    ends_of_their_own(suite).await;
    once(suite).await;
    taking_over(suite).await;
    in_order(suite).await;
}

pub(super) async fn check_hints<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    drop(suite.case("readers-hints").await);
    let mut reader = greeted(suite).await;
    let mut writer = greeted(suite).await;
    let free = "a share of a free name is granted";
    reader.expect_granted(reader.read("a", LONG), free).await;
    let read = "a name that is read is refused";
    writer
        .expect_read(writer.acquire("w", LONG), LONG, read)
        .await;
    let early = "nothing has changed yet";
    writer.expect_no_hint(early).await;
    let released = "a reader releases its share";
    let gone = shared(&reader, reader.release("a"));
    reader.expect_granted(gone, released).await;
    let told = "who waits to write is told that a reader has gone";
    writer.expect_hint(Some(&writer.resource(0)), told).await;
    let held = "a free name is granted";
    writer.expect_granted(writer.acquire("w", LONG), held).await;
    let waits = "a name that is held is not read";
    reader
        .expect_held(reader.read("b", LONG), &owner("w"), LONG, waits)
        .await;
    writer
        .expect_granted(writer.release("w"), "the owner releases its key")
        .await;
    let told = "who waits to read is told that the name is free";
    reader.expect_hint(Some(&reader.resource(0)), told).await;
    for by in ["a", "b"] {
        reader.expect_granted(reader.read(by, LONG), free).await;
    }
    let extended = "a reader extends its share";
    let longer = shared(&reader, reader.extend("a", LONG));
    reader.expect_granted(longer, extended).await;
    let gone = shared(&writer, writer.release("b"));
    writer.expect_granted(gone, released).await;
    let quiet = "of readers that come and go no reader is told";
    reader.expect_no_hint(quiet).await;
    let gone = shared(&reader, reader.release("a"));
    reader.expect_granted(gone, released).await;
}

async fn beside_each_other<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("readers").await;
    let any = "any number of readers is granted";
    for by in ["a", "b", "c"] {
        peer.expect_granted(peer.read(by, LONG), any).await;
    }
    let refused = "a name that is read is refused, whatever is asked of the name itself";
    for request in [
        peer.acquire("w", LONG),
        peer.repair("w", LONG),
        peer.extend("a", LONG),
        peer.transfer("a", "w", LONG),
        peer.release("a"),
        peer.inspect(),
        shared(&peer, peer.inspect()),
        shared(&peer, peer.release("w")),
    ] {
        peer.expect_read(request, LONG, refused).await;
    }
    for by in ["b", "a", "c"] {
        peer.expect_read(peer.acquire("w", LONG), LONG, refused)
            .await;
        let released = shared(&peer, peer.release(by));
        peer.expect_granted(released, "a reader releases its share")
            .await;
    }
    let last = "the name is free when the last reader has gone";
    peer.expect_granted(shared(&peer, peer.inspect()), last)
        .await;
    peer.expect_granted(peer.acquire("w", LONG), last).await;
    let held = "a name that is held is not read";
    for request in [
        peer.read("a", LONG),
        shared(&peer, peer.repair("a", LONG)),
        shared(&peer, peer.extend("w", LONG)),
        shared(&peer, peer.release("w")),
        shared(&peer, peer.inspect()),
    ] {
        peer.expect_held(request, &owner("w"), LONG, held).await;
    }
    peer.expect_granted(peer.release("w"), "the owner releases its key")
        .await;
}

async fn ends_of_their_own<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("readers-ends").await;
    let free = "a share of a free name is granted";
    peer.expect_granted(peer.read("short", SHORT), free).await;
    peer.expect_granted(peer.read("long", SHORT), free).await;
    let extended = "a reader extends its share";
    let longer = shared(&peer, peer.extend("long", LONG / 2));
    peer.expect_granted(longer, extended).await;
    tokio::time::sleep(SHORT * 2).await;
    let over = "one reader's share does not live on by what another extends";
    let again = shared(&peer, peer.extend("short", LONG));
    peer.expect_read(again, LONG / 2, over).await;
    let cut = "an extension does not cut a share short";
    let shorter = shared(&peer, peer.extend("long", SHORT));
    peer.expect_granted(shorter, extended).await;
    let left = peer.expect_read(peer.acquire("w", LONG), LONG, cut).await;
    assert!(left > SHORT, "{}: {cut}; {left:?} were left", peer.case);
    peer.expect_granted(peer.read("brief", SHORT), free).await;
    let longest = "the name is refused until the last share ends";
    let left = peer
        .expect_read(peer.acquire("w", LONG), LONG, longest)
        .await;
    assert!(left > SHORT, "{}: {longest}; {left:?} were left", peer.case);
    let last = shared(&peer, peer.release_later("long", SHORT));
    peer.expect_granted(last, "a share may live for a last time")
        .await;
    peer.expect_read(peer.acquire("w", LONG), SHORT, longest)
        .await;
    tokio::time::sleep(SHORT * 2).await;
    let ended = "the name is free when all shares have ended";
    peer.expect_granted(peer.acquire("w", LONG), ended).await;
    peer.expect_granted(peer.release("w"), "the owner releases its key")
        .await;
}

async fn once<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("readers-once").await;
    let free = "a share of a free name is granted";
    peer.expect_granted(peer.read("a", LONG / 2), free).await;
    let twin = "a node has one vote of a reader";
    peer.expect_twin(peer.read("a", LONG), twin).await;
    let found = "a repair may find its share, of which the end stays";
    peer.expect_granted(shared(&peer, peer.repair("a", LONG)), found)
        .await;
    peer.expect_read(peer.acquire("w", LONG), LONG / 2, found)
        .await;
    let repaired = "a repair sets a share where others read";
    peer.expect_granted(shared(&peer, peer.repair("b", LONG)), repaired)
        .await;
    for by in ["a", "b"] {
        let released = shared(&peer, peer.release(by));
        peer.expect_granted(released, "a reader releases its share")
            .await;
    }
}

async fn taking_over<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("readers-transfer").await;
    peer.expect_granted(peer.acquire("w", LONG), "a free name is granted")
        .await;
    let stranger = "only who is named is followed";
    let wrong = shared(&peer, peer.transfer("x", "r", LONG));
    peer.expect_held(wrong, &owner("w"), LONG, stranger).await;
    let downgraded = "who has the name goes on as a reader in one step";
    let down = shared(&peer, peer.transfer("w", "r", LONG / 2));
    peer.expect_granted(down, downgraded).await;
    peer.expect_read(peer.acquire("w", LONG), LONG / 2, downgraded)
        .await;
    peer.expect_granted(peer.read("b", LONG / 4), downgraded)
        .await;
    let handed = "a share is handed over";
    let over = shared(&peer, peer.transfer("r", "s", LONG / 2));
    peer.expect_granted(over, handed).await;
    let gone = shared(&peer, peer.transfer("r", "t", LONG));
    peer.expect_read(gone, LONG / 2, handed).await;
    peer.expect_twin(shared(&peer, peer.transfer("b", "s", LONG)), handed)
        .await;
    for by in ["s", "b"] {
        let released = shared(&peer, peer.release(by));
        peer.expect_granted(released, "a reader releases its share")
            .await;
    }
    let nobody = "nobody who is gone is followed";
    peer.expect_absent(shared(&peer, peer.transfer("s", "t", LONG)), nobody)
        .await;
}

async fn in_order<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("readers-order").await;
    let [r, s, t] = [1, 2, 3].map(|number| number | 1 << 63);
    let free = "a share that nobody has or wants is granted";
    peer.expect_granted(in_queue(peer.read("r", LONG), r), free)
        .await;
    let first = "who writes waits for those who read";
    let writes = in_queue(peer.acquire("w", LONG), 4);
    peer.expect_queued(writes, (0, Barrier::Key), first).await;
    let passed = "who comes to read behind one who waits to write waits for that one";
    for (by, waiter) in [("s", s), ("t", t)] {
        let reads = in_queue(peer.read(by, LONG), waiter);
        peer.expect_queued(reads, (1, Barrier::Key), passed).await;
    }
    let second = in_queue(peer.acquire("v", LONG), 5);
    let behind = "who writes waits for all who came before";
    peer.expect_queued(second.clone(), (3, Barrier::Key), behind)
        .await;
    peer.expect_granted(
        shared(&peer, peer.release("r")),
        "a reader releases its share",
    )
    .await;
    let reads = in_queue(peer.read("s", LONG), s);
    peer.expect_queued(reads, (1, Barrier::Queue), passed).await;
    let turn = "who is next is granted";
    let Vote::Granted { .. } = peer.ask(in_queue(peer.acquire("w", LONG), 4)).await else {
        panic!("{}: {turn}", peer.case);
    };
    peer.expect_granted(peer.release("w"), "the owner releases its key")
        .await;
    peer.expect_queued(second.clone(), (2, Barrier::Queue), behind)
        .await;
    for (by, waiter) in [("t", t), ("s", s)] {
        let reads = in_queue(peer.read(by, LONG), waiter);
        let together = "those who waited to read do so together";
        peer.expect_granted(reads, together).await;
    }
    peer.expect_queued(second, (0, Barrier::Key), behind).await;
    let leave = Request::Leave {
        resource: peer.resource(0),
        waiter: Waiter::new(5),
    };
    peer.expect_granted(leave, "who leaves is forgotten").await;
    for by in ["s", "t"] {
        let released = shared(&peer, peer.release(by));
        peer.expect_granted(released, "a reader releases its share")
            .await;
    }
}

impl<L: Link> Peer<L> {
    pub(super) fn read(&self, by: &str, ttl: Duration) -> Request {
        shared(self, self.acquire(by, ttl))
    }

    /// Asks, and expects to be told that the name is read, by nobody in particular, for at most so long.
    pub(super) async fn expect_read(
        &mut self,
        request: Request,
        ttl: Duration,
        promise: &str,
    ) -> Duration {
        let vote = self.ask(request).await;
        let (case, refusal) = (self.case, refusal(&vote));
        let left = refusal.and_then(|refusal| refusal.remaining);
        let is_read = refusal.is_some_and(|refusal| refusal.holder.is_none());
        let possible = left.is_some_and(|left| !left.is_zero() && left <= ttl);
        assert!(
            is_read && possible,
            "{case}: {promise}, for at most {ttl:?}; the vote was {vote:?}"
        );
        left.unwrap_or_default()
    }

    /// Asks, and expects to be put behind so many.
    pub(super) async fn expect_queued(
        &mut self,
        request: Request,
        (ahead, barrier): (u32, Barrier),
        promise: &str,
    ) {
        let vote = self.ask(request).await;
        let queued = refusal(&vote).and_then(|refusal| refusal.queued);
        let is_so = |queued: Queued| (queued.ahead, queued.barrier) == (ahead, barrier);
        assert!(
            queued.is_some_and(is_so),
            "{}: {promise}: behind {ahead}, by {barrier:?}; the vote was {vote:?}",
            self.case
        );
    }
}

pub(super) const fn refusal(vote: &Vote) -> Option<&Refusal> {
    match vote {
        Vote::Refused(refusal) => Some(refusal),
        _ => None,
    }
}

/// The request, but about a share of the name.
fn shared<L: Link>(peer: &Peer<L>, mut request: Request) -> Request {
    let share = Resource::shared(peer.resource(0).as_str()).expect("a plain name");
    match &mut request {
        Request::Acquire { resource, .. }
        | Request::Repair { resource, .. }
        | Request::Raise { resource, .. }
        | Request::Extend { resource, .. }
        | Request::Transfer { resource, .. }
        | Request::Inspect { resource }
        | Request::Release { resource, .. }
        | Request::Leave { resource, .. } => *resource = share,
    }
    request
}

/// The request of somebody who waits in the queue.
pub(super) fn in_queue(mut request: Request, number: u64) -> Request {
    if let Request::Acquire {
        proposal, place, ..
    } = &mut request
    {
        *proposal = Some(FencingToken::FIRST);
        *place = Some(Place {
            waiter: Waiter::new(number),
            ticket: None,
        });
    }
    request
}

/// A TTL that is worth waiting for.
pub(super) const SHORT: Duration = Duration::from_millis(50);
