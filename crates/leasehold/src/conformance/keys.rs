//! What a step does to a key: the rule of `decide`, row by row.

use super::{
    Suite,
    peer::{LONG, owner},
};
use crate::link::Link;
use std::time::Duration;

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    acquiring(suite).await;
    voting_twice(suite).await;
    repairing(suite).await;
    extending(suite).await;
    releasing(suite).await;
    taking_over(suite).await;
    inspecting(suite).await;
    two_links(suite).await;
}

async fn acquiring<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("acquire").await;
    let free = "a resource without a key is granted";
    peer.expect_granted(peer.acquire("a", LONG), free).await;
    let held = "a resource with the key of another owner is refused";
    peer.expect_held(peer.acquire("b", LONG), &owner("a"), LONG, held)
        .await;
    let tidy = "the owner releases its key";
    peer.expect_granted(peer.release("a"), tidy).await;
}

async fn voting_twice<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut one = suite.case("vote-again").await;
    let mut two = suite.peer().await;
    let short = LONG / 2;
    let first = "a resource without a key is granted";
    one.expect_granted(one.acquire("a", short), first).await;
    let twin = "a node has one vote, by whichever link an owner's first vote comes";
    two.expect_twin(two.acquire("a", LONG), twin).await;
    one.expect_twin(one.acquire("a", LONG), twin).await;
    // With the end moved, more than the first TTL would be left.
    let end = "a second vote of one owner does not move the end of the TTL";
    one.expect_held(one.acquire("b", LONG), &owner("a"), short, end)
        .await;
    one.expect_granted(one.transfer("a", "b", LONG), "the key is taken over")
        .await;
    two.expect_twin(two.transfer("a", "b", LONG), twin).await;
    two.expect_twin(two.acquire("b", LONG), twin).await;
    two.expect_granted(two.release("b"), "the owner releases its key")
        .await;
}

async fn repairing<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("repair").await;
    let short = LONG / 2;
    let lost = "a lease is given the key that a node has lost";
    peer.expect_granted(peer.repair("a", short), lost).await;
    let again = "a repair that finds its own key is granted";
    peer.expect_granted(peer.repair("a", LONG), again).await;
    let other = "a repair takes no other owner's key";
    peer.expect_held(peer.repair("b", LONG), &owner("a"), short, other)
        .await;
    let end = "a repair that finds its own key does not move the end of the TTL";
    peer.expect_held(peer.acquire("b", LONG), &owner("a"), short, end)
        .await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
}

async fn extending<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("extend").await;
    let short = LONG / 4;
    let absent = "an extension does not make a key";
    peer.expect_absent(peer.extend("a", LONG), absent).await;
    peer.expect_granted(
        peer.acquire("a", short),
        "the refused extension left no key",
    )
    .await;
    let other = "only the owner extends its key";
    peer.expect_held(peer.extend("b", LONG), &owner("a"), short, other)
        .await;
    let unmoved = "the refused extension did not move the end";
    peer.expect_held(peer.acquire("b", LONG), &owner("a"), short, unmoved)
        .await;
    peer.expect_granted(peer.extend("a", LONG), "the owner extends its key")
        .await;
    let moved = "the owner's extension keeps others out";
    let left = peer
        .expect_held(peer.acquire("b", LONG), &owner("a"), LONG, moved)
        .await;
    assert!(
        left > short,
        "{}: the granted extension moved the end beyond the first TTL of {short:?}; {left:?} were left",
        peer.case
    );
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
}

async fn releasing<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("release").await;
    let absent = "a release without a key is refused, with no holder";
    peer.expect_absent(peer.release("a"), absent).await;
    peer.expect_granted(peer.acquire("a", LONG), "the refused release left no key")
        .await;
    let other = "only the owner releases its key";
    peer.expect_held(peer.release("b"), &owner("a"), LONG, other)
        .await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    peer.expect_absent(peer.release("a"), "a second release finds no key")
        .await;
    peer.expect_granted(peer.acquire("b", LONG), "a released resource is free")
        .await;
    let late = "a late release of the former owner does not touch the key of the next";
    peer.expect_held(peer.release("a"), &owner("b"), LONG, late)
        .await;
    peer.expect_granted(peer.release("b"), "the owner releases its key")
        .await;
}

async fn taking_over<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("transfer").await;
    let (short, absent) = (LONG / 4, "a key that is not there cannot be taken over");
    peer.expect_absent(peer.transfer("a", "b", LONG), absent)
        .await;
    peer.expect_granted(peer.acquire("a", LONG), "the refused transfer left no key")
        .await;
    let other = "a key is taken over from its owner only";
    peer.expect_held(peer.transfer("x", "b", LONG), &owner("a"), LONG, other)
        .await;
    let moved = "a key is taken over from its owner";
    peer.expect_granted(peer.transfer("a", "b", short), moved)
        .await;
    let first = "the key lives for the TTL of the transfer";
    peer.expect_held(peer.release("a"), &owner("b"), short, first)
        .await;
    let second = "a key that was taken over is not its former owner's to give";
    peer.expect_held(peer.transfer("a", "c", LONG), &owner("b"), short, second)
        .await;
    peer.expect_granted(peer.release("b"), "the new owner releases the key")
        .await;
}

async fn inspecting<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("inspect").await;
    peer.expect_granted(peer.inspect(), "there is no key").await;
    peer.expect_granted(peer.acquire("a", LONG), "looking leaves no key")
        .await;
    let seen = "a look tells the owner";
    peer.expect_held(peer.inspect(), &owner("a"), LONG, seen)
        .await;
    peer.expect_granted(peer.release("a"), "looking changes no owner")
        .await;
    peer.expect_granted(peer.inspect(), "the key is gone").await;
}

async fn two_links<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut one = suite.case("two-links").await;
    let mut two = suite.peer().await;
    one.expect_granted(one.acquire("a", LONG), "a free resource is granted")
        .await;
    let held = "two links to one node exclude each other";
    two.expect_held(two.acquire("b", LONG), &owner("a"), LONG, held)
        .await;
    let same = "an owner is the same over every link";
    two.expect_granted(two.extend("a", LONG - Duration::from_secs(1)), same)
        .await;
    one.expect_granted(one.release("a"), same).await;
    two.expect_granted(
        two.acquire("b", LONG),
        "a release is seen over the other link",
    )
    .await;
    two.expect_granted(two.release("b"), "the owner releases its key")
        .await;
}
