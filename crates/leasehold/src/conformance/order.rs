//! That requests take effect in their order, and are answered once each.

use super::{
    Suite,
    peer::{LONG, checked, owner},
};
use crate::link::Link;
use leasehold_core::{Request, Vote};

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    release_behind_acquire(suite).await;
    pipelined(suite).await;
    dropped(suite).await;
}

async fn release_behind_acquire<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("release-behind-acquire").await;
    let asked = [
        peer.send(peer.acquire("a", LONG)),
        peer.send(peer.release("a")),
    ];
    for tag in asked {
        assert_eq!(
            peer.reply().await,
            (tag, Vote::GRANTED),
            "{}: a release that was given after an acquire takes effect after it",
            peer.case
        );
    }
    peer.expect_absent(peer.release("a"), "acquire and release leave no key")
        .await;
}

async fn pipelined<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("pipelined").await;
    let mut expected = Vec::new();
    for number in 0..PIPELINED {
        let resource = peer.resource(number);
        let owner = owner("a");
        let acquire = Request::Acquire {
            resource: resource.clone(),
            owner: owner.clone(),
            ttl: checked(LONG),
            proposal: None,
            place: None,
        };
        let release = Request::Release {
            resource,
            owner,
            keep: None,
        };
        // Granted, granted, refused: an answer that was given to a neighbour would show.
        for request in [acquire, release.clone(), release] {
            expected.push(peer.send(request));
        }
    }
    for (number, tag) in expected.into_iter().enumerate() {
        let (answered, vote) = peer.reply().await;
        let case = peer.case;
        assert_eq!(
            answered, tag,
            "{case}: answers come in the order of the requests"
        );
        match number % 3 {
            2 => assert!(
                matches!(vote, Vote::Refused(_)),
                "{case}: the third step of each row is refused, not {vote:?}"
            ),
            _ => assert_eq!(
                vote,
                Vote::GRANTED,
                "{case}: the first two of each row are granted"
            ),
        }
    }
    peer.expect_silence().await;
}

/// A link that goes away takes nothing along that its node has carried out.
async fn dropped<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut gone = suite.case("dropped").await;
    gone.expect_granted(gone.acquire("a", LONG), "a free resource is granted")
        .await;
    let mut peer = suite.peer().await;
    drop(gone);
    let kept = "a key does not go away with the link that it was set over";
    peer.expect_held(peer.acquire("b", LONG), &owner("a"), LONG, kept)
        .await;
    peer.expect_granted(
        peer.release("a"),
        "the owner releases its key over any link",
    )
    .await;
}

/// How many rows are given to the link at once.
const PIPELINED: usize = 200;
