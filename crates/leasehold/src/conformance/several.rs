//! Names that are locked together: all of them, or none.

use super::{
    Suite,
    hints::greeted,
    peer::{LONG, Peer, checked, owner},
};
use crate::link::Link;
use leasehold_core::{FencingToken, Request, Resource, Vote};
use std::time::Duration;

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    all_or_none(suite).await;
    holding(suite).await;
    taking_over(suite).await;
    counting(suite).await;
}

pub(super) async fn check_hints<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    waiting(suite).await;
    losing(suite).await;
    releasing(suite).await;
}

async fn all_or_none<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("several").await;
    let short = LONG / 2;
    peer.expect_granted(peer.acquire_all(&[1], "x", short), "one name is granted")
        .await;
    let held = "names are refused together if one of them is another's";
    peer.expect_held(
        peer.acquire_all(&[0, 1, 2], "a", LONG),
        &owner("x"),
        short,
        held,
    )
    .await;
    let none = "no name was taken by the vote that was refused";
    for free in [0, 2] {
        peer.expect_granted(peer.acquire_all(&[free], "y", LONG), none)
            .await;
    }
    let nobody = peer.ask(peer.inspect_all(&[0, 1, 2])).await;
    let is_so = matches!(&nobody, Vote::Refused(refusal) if refusal.holder.is_none());
    assert!(
        is_so,
        "{}: nobody has all of them; the vote was {nobody:?}",
        peer.case
    );
    for (number, by) in [(0, "y"), (1, "x"), (2, "y")] {
        let tidy = "the owner releases its key";
        peer.expect_granted(peer.release_all(&[number], by), tidy)
            .await;
    }
    peer.expect_granted(peer.inspect_all(&[0, 1, 2]), "all are free")
        .await;
    let all = "names that are all free are granted together";
    peer.expect_granted(peer.acquire_all(&[0, 1, 2], "a", LONG), all)
        .await;
    let excluded = "each of them keeps others out";
    for number in 0..3 {
        peer.expect_held(
            peer.acquire_all(&[number], "b", LONG),
            &owner("a"),
            LONG,
            excluded,
        )
        .await;
    }
    peer.expect_held(
        peer.acquire_all(&[2, 3], "b", LONG),
        &owner("a"),
        LONG,
        excluded,
    )
    .await;
    let twin = "a node has one vote, on however many of the names it is found";
    peer.expect_twin(peer.acquire_all(&[0, 1, 2], "a", LONG), twin)
        .await;
    peer.expect_granted(peer.release_all(&[0, 1, 2], "a"), "the owner releases all")
        .await;
    peer.expect_granted(peer.inspect_all(&[0, 1, 2, 3]), "nothing is left")
        .await;
}

async fn holding<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("several-held").await;
    let short = LONG / 4;
    let granted = "free names are granted";
    peer.expect_granted(peer.acquire_all(&[0, 1], "a", short), granted)
        .await;
    let extended = "the owner extends all of them";
    peer.expect_granted(peer.extend_all(&[0, 1], "a", LONG / 2), extended)
        .await;
    let moved = "each lives for as long";
    for number in [0, 1] {
        let other = peer.acquire_all(&[number], "b", LONG);
        let left = peer.expect_held(other, &owner("a"), LONG / 2, moved).await;
        assert!(left > short, "{}: {moved}; {left:?} were left", peer.case);
    }
    // One of them is lost.
    peer.expect_granted(peer.release_all(&[0], "a"), "one is taken away")
        .await;
    let lost = "who has lost one of them extends none";
    peer.expect_absent(peer.extend_all(&[0, 1], "a", LONG), lost)
        .await;
    let end = peer.acquire_all(&[1], "b", LONG);
    peer.expect_held(end, &owner("a"), LONG / 2, lost).await;
    let repaired = "a repair sets what is missing, and lets all live for as long";
    peer.expect_granted(peer.repair_all(&[0, 1], "a", LONG), repaired)
        .await;
    for number in [0, 1] {
        let other = peer.acquire_all(&[number], "b", LONG);
        let left = peer.expect_held(other, &owner("a"), LONG, repaired).await;
        assert!(
            left > LONG / 2,
            "{}: {repaired}; {left:?} were left",
            peer.case
        );
    }
    peer.expect_granted(peer.release_all(&[0], "a"), "one is taken away")
        .await;
    peer.expect_granted(peer.acquire_all(&[0], "b", short), "somebody takes it")
        .await;
    let other = "a repair takes no other owner's key";
    peer.expect_held(
        peer.repair_all(&[0, 1], "a", LONG),
        &owner("b"),
        short,
        other,
    )
    .await;
    let ours = "a release takes back what is the owner's, and tells that not all was";
    peer.expect_held(peer.release_all(&[0, 1], "a"), &owner("b"), short, ours)
        .await;
    peer.expect_granted(peer.inspect_all(&[1]), ours).await;
    peer.expect_granted(peer.release_all(&[0], "b"), "the owner releases its key")
        .await;
}

async fn taking_over<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("several-transfer").await;
    peer.expect_granted(
        peer.acquire_all(&[0, 1], "a", LONG / 2),
        "free names are granted",
    )
    .await;
    let not_all = "only who holds all of them can be followed";
    peer.expect_absent(peer.transfer_all(&[0, 1, 2], ["a", "b"], LONG), not_all)
        .await;
    peer.expect_held(peer.inspect_all(&[0, 1]), &owner("a"), LONG / 2, not_all)
        .await;
    let all = "the names of one owner become another's together";
    peer.expect_granted(peer.transfer_all(&[0, 1], ["a", "b"], LONG), all)
        .await;
    for number in [0, 1] {
        peer.expect_held(peer.inspect_all(&[number]), &owner("b"), LONG, all)
            .await;
    }
    peer.expect_granted(peer.release_all(&[0, 1], "b"), "the owner releases all")
        .await;
}

/// Where grants are counted, which plain locks do not.
async fn counting<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("several-tokens").await;
    let (case, mut last) = (peer.case, None);
    // Now the one is ahead, now the other.
    for numbers in [[1, 1, 1], [0, 0, 0]] {
        for number in numbers {
            last = last.max(peer.count(&[number]).await);
        }
        let token = peer.count(&[0, 1]).await;
        assert!(
            token.is_none() && last.is_none() || token > last,
            "{case}: one token is larger than the last of each name: {token:?} after {last:?}"
        );
        for number in [0, 1] {
            let next = peer.count(&[number]).await;
            assert!(
                next.is_none() && token.is_none() || next > token,
                "{case}: the next token of each name is larger: {next:?} after {token:?}"
            );
            last = last.max(next);
        }
    }
}

async fn waiting<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut holder = suite.case("several-hints").await;
    let mut waiter = greeted(suite).await;
    for number in [1, 2] {
        let free = "a resource without a key is granted";
        holder
            .expect_granted(holder.acquire_all(&[number], "x", LONG), free)
            .await;
    }
    let held = "names are refused together if one of them is another's";
    waiter
        .expect_held(
            waiter.acquire_all(&[0, 1, 2], "a", LONG),
            &owner("x"),
            LONG,
            held,
        )
        .await;
    for number in [2, 1] {
        let released = "the owner releases its key";
        holder
            .expect_granted(holder.release_all(&[number], "x"), released)
            .await;
        let told = "who was refused is told of a change to any of the names";
        waiter
            .expect_hint(Some(&waiter.resource(number)), told)
            .await;
    }
}

async fn losing<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut other = suite.case("several-hints-held").await;
    let mut holder = greeted(suite).await;
    let granted = "free names are granted";
    holder
        .expect_granted(holder.acquire_all(&[0, 1], "a", LONG), granted)
        .await;
    let extended = "the owner extends all of them";
    holder
        .expect_granted(holder.extend_all(&[0, 1], "a", LONG), extended)
        .await;
    holder.expect_no_hint("its own extension is no news").await;
    let same = "an owner is the same over every link";
    other
        .expect_granted(other.release_all(&[1], "a"), same)
        .await;
    let told = "who has extended names is told of a change to any of them";
    holder.expect_hint(Some(&holder.resource(1)), told).await;
    other
        .expect_granted(other.release_all(&[0], "a"), same)
        .await;
}

async fn releasing<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut holder = suite.case("several-hints-released").await;
    let mut waiter = greeted(suite).await;
    let granted = "free names are granted";
    holder
        .expect_granted(holder.acquire_all(&[0, 1], "a", LONG), granted)
        .await;
    holder
        .expect_granted(holder.release_all(&[1], "a"), "one is taken away")
        .await;
    holder
        .expect_granted(holder.acquire_all(&[1], "b", LONG), "somebody takes it")
        .await;
    let held = waiter.acquire_all(&[0], "c", LONG);
    waiter.ask(held).await;
    let ours = "a release takes back what is the owner's, and tells that not all was";
    holder
        .expect_held(holder.release_all(&[0, 1], "a"), &owner("b"), LONG, ours)
        .await;
    let told = "who waits for one of the names is told that it was given back";
    waiter.expect_hint(Some(&waiter.resource(0)), told).await;
    holder
        .expect_granted(holder.release_all(&[1], "b"), "the owner releases its key")
        .await;
}

impl<L: Link> Peer<L> {
    /// The case's resources of these numbers together.
    fn several(&self, numbers: &[usize]) -> Resource {
        let names: Vec<Resource> = numbers
            .iter()
            .map(|number| self.resource(*number))
            .collect();
        Resource::several(names.iter().map(Resource::as_str)).expect("few short names")
    }

    fn acquire_all(&self, numbers: &[usize], by: &str, ttl: Duration) -> Request {
        Request::Acquire {
            resource: self.several(numbers),
            owner: owner(by),
            ttl: checked(ttl),
            proposal: None,
            place: None,
        }
    }

    fn repair_all(&self, numbers: &[usize], by: &str, ttl: Duration) -> Request {
        Request::Repair {
            resource: self.several(numbers),
            owner: owner(by),
            ttl: checked(ttl),
            proposal: None,
        }
    }

    fn extend_all(&self, numbers: &[usize], by: &str, ttl: Duration) -> Request {
        Request::Extend {
            resource: self.several(numbers),
            owner: owner(by),
            ttl: checked(ttl),
        }
    }

    fn transfer_all(&self, numbers: &[usize], [from, to]: [&str; 2], ttl: Duration) -> Request {
        Request::Transfer {
            resource: self.several(numbers),
            from: owner(from),
            owner: owner(to),
            ttl: checked(ttl),
            proposal: None,
        }
    }

    fn inspect_all(&self, numbers: &[usize]) -> Request {
        Request::Inspect {
            resource: self.several(numbers),
        }
    }

    fn release_all(&self, numbers: &[usize], by: &str) -> Request {
        Request::Release {
            resource: self.several(numbers),
            owner: owner(by),
            keep: None,
        }
    }

    /// Acquires with a proposal, and releases. Tells the counter, if the node has one.
    async fn count(&mut self, numbers: &[usize]) -> Option<FencingToken> {
        let mut request = self.acquire_all(numbers, "a", LONG);
        if let Request::Acquire { proposal, .. } = &mut request {
            *proposal = Some(FencingToken::FIRST);
        }
        let counter = match self.ask(request).await {
            Vote::Granted { counter } => counter,
            other => panic!("{}: free names are granted, not {other:?}", self.case),
        };
        let released = "the owner releases its key";
        self.expect_granted(self.release_all(numbers, "a"), released)
            .await;
        counter
    }
}
