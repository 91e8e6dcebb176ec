//! What a link tells of keys that others change.

use super::{
    Suite,
    peer::{LONG, Peer, checked, owner},
};
use crate::link::{Link, LinkEvent};
use leasehold_core::{FencingToken, Request, Resource};
use std::time::Duration;

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    beginning(suite).await;
    refused(suite).await;
    looked_at(suite).await;
    holding(suite).await;
    our_own(suite).await;
    other_keys(suite).await;
}

async fn beginning<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("hints-begin").await;
    let begins = "a link that gives hints begins with one about all keys";
    peer.expect_hint(None, begins).await;
}

/// Whatever becomes of a key, who was refused is told once.
async fn refused<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    for (case, what) in [
        ("hint-release", What::Released),
        ("hint-extend", What::Extended),
        ("hint-transfer", What::TakenOver),
        ("hint-keep", What::Kept),
    ] {
        let mut holder = suite.case(case).await;
        let mut waiter = greeted(suite).await;
        let free = "a resource without a key is granted";
        holder.expect_granted(holder.acquire("a", LONG), free).await;
        let held = "a resource with the key of another owner is refused";
        waiter
            .expect_held(counted(&waiter, "b"), &owner("a"), LONG, held)
            .await;
        let early = "nothing has changed yet";
        waiter.expect_no_hint(early).await;
        let done = "the owner does what it likes with its key";
        holder.expect_granted(what.to(&holder), done).await;
        let told = "who was refused is told of the next change to the key";
        let key = waiter.resource(0);
        waiter.expect_hint(Some(&key), told).await;
        waiter.expect_no_hint("a change is told once").await;
        for last in ["a", "c"] {
            holder.ask(holder.release(last)).await;
        }
        waiter.expect_no_hint("only the next change is told").await;
    }
}

async fn looked_at<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut one = suite.case("hint-inspect").await;
    let mut two = greeted(suite).await;
    let told = "who has looked at a key is told of the next change to it";
    let key = two.resource(0);
    two.expect_granted(two.inspect(), "there is no key").await;
    one.expect_granted(one.acquire("a", LONG), "a free resource is granted")
        .await;
    two.expect_hint(Some(&key), told).await;
    two.expect_held(two.inspect(), &owner("a"), LONG, "a look tells the owner")
        .await;
    one.expect_granted(one.release("a"), "the owner releases its key")
        .await;
    two.expect_hint(Some(&key), told).await;
    two.expect_no_hint("a change is told once").await;
}

async fn holding<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut other = suite.case("hint-holder").await;
    let mut holder = greeted(suite).await;
    holder
        .expect_granted(holder.acquire("a", LONG), "a free resource is granted")
        .await;
    let extended = "the owner extends its key";
    holder
        .expect_granted(holder.extend("a", LONG), extended)
        .await;
    holder.expect_no_hint("its own extension is no news").await;
    let same = "an owner is the same over every link";
    other.expect_granted(other.release("a"), same).await;
    let told = "who has extended a key is told of the next change to it";
    let key = holder.resource(0);
    holder.expect_hint(Some(&key), told).await;
    holder.expect_no_hint("a change is told once").await;
}

async fn our_own<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("hint-own").await;
    let begins = "a link that gives hints begins with one about all keys";
    peer.expect_hint(None, begins).await;
    for request in [
        peer.inspect(),
        peer.acquire("a", LONG),
        peer.extend("a", LONG),
        peer.release("a"),
    ] {
        let own = "what a link has carried to the node itself is no news to it";
        peer.expect_granted(request, own).await;
        peer.expect_no_hint(own).await;
    }
}

async fn other_keys<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut one = suite.case("hint-other-keys").await;
    let mut two = greeted(suite).await;
    two.expect_granted(two.inspect(), "there is no key").await;
    let beside = Request::Acquire {
        resource: one.resource(1),
        owner: owner("a"),
        ttl: checked(LONG),
        proposal: None,
        place: None,
    };
    let gone = Request::Release {
        resource: one.resource(1),
        owner: owner("a"),
        keep: None,
    };
    one.expect_granted(beside, "a free resource is granted")
        .await;
    one.expect_granted(gone, "the owner releases its key").await;
    let unasked = "nothing is told of a key that was not asked about";
    two.expect_no_hint(unasked).await;
}

/// One more link for the case, whose first hint has come.
pub(super) async fn greeted<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) -> Peer<L> {
    let mut peer = suite.peer().await;
    let begins = "a link that gives hints begins with one about all keys";
    peer.expect_hint(None, begins).await;
    peer
}

/// What a holder does to its key.
#[derive(Clone, Copy)]
enum What {
    Released,
    Extended,
    TakenOver,
    Kept,
}

impl What {
    fn to<L: Link>(self, holder: &Peer<L>) -> Request {
        match self {
            Self::Released => holder.release("a"),
            Self::Extended => holder.extend("a", LONG * 2),
            Self::TakenOver => holder.transfer("a", "c", LONG),
            Self::Kept => holder.release_later("a", LONG / 2),
        }
    }
}

/// An acquire with a proposal.
fn counted<L: Link>(peer: &Peer<L>, by: &str) -> Request {
    let mut request = peer.acquire(by, LONG);
    if let Request::Acquire { proposal, .. } = &mut request {
        *proposal = Some(FencingToken::FIRST);
    }
    request
}

impl<L: Link> Peer<L> {
    /// The next hint, which must be this one.
    pub(super) async fn expect_hint(&mut self, resource: Option<&Resource>, promise: &str) {
        let told = match self.hints.pop_front() {
            Some(hint) => hint,
            None => loop {
                match self.event_within(PATIENCE, promise).await {
                    LinkEvent::Changed(hint) => break hint,
                    LinkEvent::Clock(_) => {}
                    other => panic!("{}: {promise}; it told {other:?}", self.case),
                }
            },
        };
        assert_eq!(told.as_ref(), resource, "{}: {promise}", self.case);
    }

    /// Whether no hint comes, as far as a moment can tell.
    pub(super) async fn expect_no_hint(&mut self, promise: &str) {
        let late = tokio::time::timeout(MOMENT, async {
            while self.hints.is_empty() {
                match self.event_within(PATIENCE, promise).await {
                    LinkEvent::Changed(hint) => self.hints.push_back(hint),
                    LinkEvent::Clock(_) => {}
                    other => panic!("{}: nothing was asked; it told {other:?}", self.case),
                }
            }
        })
        .await;
        assert!(
            late.is_err(),
            "{}: {promise}; it told of {:?}",
            self.case,
            self.hints
        );
    }
}

/// How long a hint may take before it counts as missing.
const PATIENCE: Duration = Duration::from_secs(3);

const MOMENT: Duration = Duration::from_millis(20);
