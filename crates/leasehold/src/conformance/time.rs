//! That a TTL ends, and not too early.

use super::{
    Suite,
    peer::{LONG, Peer, owner},
};
use crate::link::Link;
use leasehold_core::{Instant, Vote};
use std::time::Duration;

/// A TTL that is worth waiting for.
const SHORT: Duration = Duration::from_millis(50);

/// How much too early a node may be that counts in whole milliseconds.
const TOLERANCE: Duration = Duration::from_millis(1);

/// How late a node may be before the TTL counts as endless. Generous: nothing unsafe comes of it.
const LATEST: Duration = Duration::from_secs(10);

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    a_ttl_ends(suite).await;
    an_extension_counts_from_its_own_time(suite).await;
    an_extension_takes_nothing_away(suite).await;
    a_release_may_let_the_key_live_for_a_last_time(suite).await;
    an_ended_key_is_not_revived(suite).await;
}

async fn a_ttl_ends<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("ttl").await;
    let sent = peer.clock.now();
    peer.expect_granted(peer.acquire("a", SHORT), "a free resource is granted")
        .await;
    next_grant(&mut peer, sent, SHORT).await;
    peer.expect_granted(peer.release("b"), "the owner releases its key")
        .await;
}

async fn an_extension_counts_from_its_own_time<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("extended-ttl").await;
    peer.expect_granted(peer.acquire("a", SHORT), "a free resource is granted")
        .await;
    tokio::time::sleep(SHORT / 4).await;
    let sent = peer.clock.now();
    peer.expect_granted(peer.extend("a", SHORT), "the owner extends its key")
        .await;
    next_grant(&mut peer, sent, SHORT).await;
    peer.expect_granted(peer.release("b"), "the owner releases its key")
        .await;
}

async fn an_extension_takes_nothing_away<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("shorter-ttl").await;
    peer.expect_granted(peer.acquire("a", LONG), "a free resource is granted")
        .await;
    peer.expect_granted(peer.extend("a", SHORT), "the owner extends its key")
        .await;
    match peer.ask(peer.acquire("b", LONG)).await {
        Vote::Refused(refusal) => assert!(
            refusal.remaining.is_some_and(|left| left > SHORT),
            "{}: an extension must not shorten, but {:?} are left",
            peer.case,
            refusal.remaining
        ),
        vote => panic!("{}: a held key is refused, not {vote:?}", peer.case),
    }
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
}

async fn a_release_may_let_the_key_live_for_a_last_time<L: Link, F: FnMut() -> L>(
    suite: &mut Suite<F>,
) {
    let mut peer = suite.case("last-time").await;
    peer.expect_granted(peer.acquire("a", LONG), "a free resource is granted")
        .await;
    match peer.ask(peer.release_later("b", SHORT)).await {
        Vote::Refused(_) => {}
        vote => panic!(
            "{}: a stranger's release is refused, not {vote:?}",
            peer.case
        ),
    }
    let sent = peer.clock.now();
    let later = "the owner lets its key live for a last time";
    peer.expect_granted(peer.release_later("a", SHORT), later)
        .await;
    next_grant(&mut peer, sent, SHORT).await;
    peer.expect_granted(peer.release("b"), "the owner releases its key")
        .await;
}

async fn an_ended_key_is_not_revived<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("revival").await;
    peer.expect_granted(peer.acquire("a", SHORT), "a free resource is granted")
        .await;
    // The refusals of a stranger's releases tell the end without taking the key.
    let since = peer.clock.now();
    loop {
        match peer.ask(peer.release("b")).await {
            Vote::Refused(refusal) if refusal.holder.is_none() => break,
            Vote::Refused(_) => rest(&peer, since).await,
            vote => panic!(
                "{}: a stranger's release is refused, not {vote:?}",
                peer.case
            ),
        }
    }
    let gone = "a key whose TTL has ended is gone for its owner, too";
    peer.expect_absent(peer.extend("a", LONG), gone).await;
    peer.expect_absent(peer.release("a"), gone).await;
    peer.expect_granted(
        peer.acquire("b", LONG),
        "the refused extension revived nothing",
    )
    .await;
    peer.expect_granted(peer.release("b"), "the owner releases its key")
        .await;
}

/// Asks for the key as another owner until it is granted, and looks at the clock then.
async fn next_grant<L: Link>(peer: &mut Peer<L>, sent: Instant, ttl: Duration) {
    loop {
        match peer.ask(peer.acquire("b", LONG)).await {
            Vote::Granted { .. } => break,
            Vote::Refused(refusal) => {
                let holder = refusal.holder;
                assert!(
                    holder.is_none() || holder == Some(owner("a")),
                    "{}: a refusal names the holder, not {holder:?}",
                    peer.case
                );
                rest(peer, sent).await;
            }
            vote @ Vote::Unknown(_) => panic!("{}: the node answers, not {vote:?}", peer.case),
        }
    }
    // Argument S2: the key was not set before `sent`, so its TTL must not end before this.
    let lived = peer.clock.now().saturating_since(sent);
    assert!(
        lived + TOLERANCE >= ttl,
        "{}: no other owner is granted before the TTL of {ttl:?} has passed; it was after {lived:?}",
        peer.case
    );
}

/// Lets others run for a moment between two looks at a key that must end soon.
async fn rest<L: Link>(peer: &Peer<L>, since: Instant) {
    let passed = peer.clock.now().saturating_since(since);
    assert!(
        passed < LATEST,
        "{}: a key is gone when its TTL of {SHORT:?} has passed; it was there after {passed:?}",
        peer.case
    );
    tokio::time::sleep(Duration::from_millis(1)).await;
}
