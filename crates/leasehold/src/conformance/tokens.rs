//! How a node counts its grants: the rule of `decide` about counters.

use super::{
    Suite,
    peer::{LONG, Peer, owner},
};
use crate::link::Link;
use leasehold_core::{FencingToken, Request, Vote, fence::counter_of};
use std::time::Duration;

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    proposing(suite).await;
    growing(suite).await;
    repeating(suite).await;
    refusing(suite).await;
    expiring(suite).await;
    sharing(suite).await;
    raising(suite).await;
    raising_without_a_key(suite).await;
    taking_over(suite).await;
    proposing_wildly(suite).await;
}

/// That a counter ends. What is counted there cannot be counted on.
pub(super) async fn check_last<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("last-counter").await;
    count(&mut peer, "a", FencingToken::FIRST, "a grant is counted").await;
    let raise = raise(&peer, "a", FencingToken::LAST);
    peer.expect_granted(raise, "a counter is raised to the largest token")
        .await;
    let exact = "the largest token is told to the last digit";
    let told = counted(&mut peer, "a", exact).await;
    assert_eq!(told, FencingToken::LAST, "{}: {exact}", peer.case);
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    let vote = peer
        .ask(with(peer.acquire("b", LONG), FencingToken::FIRST))
        .await;
    assert!(
        matches!(vote, Vote::Unknown(_)),
        "{}: a counter that has come to its end grants nothing more; the vote was {vote:?}",
        peer.case
    );
    peer.expect_granted(peer.inspect(), "what was not granted left no key")
        .await;
}

async fn proposing<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("counter").await;
    let proposal = FencingToken::of_time(peer.clock.wall());
    let least = "the counter is at least the proposal after a grant";
    let told = count(&mut peer, "a", proposal, least).await;
    assert!(told >= proposal, "{}: {least}; it was {told}", peer.case);
    let silent = "an extension tells no counter";
    peer.expect_granted(peer.extend("a", LONG), silent).await;
    let silent = "a repair without a proposal tells no counter";
    peer.expect_granted(peer.repair("a", LONG), silent).await;
    peer.expect_granted(peer.release("a"), "a release tells no counter")
        .await;
}

async fn growing<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("counter-grows").await;
    let grows = "each grant is larger than all before it, to the last digit, whatever is proposed";
    let first = FencingToken::of_time(peer.clock.wall());
    let mut last = count(&mut peer, "a", first, grows).await;
    for _ in 0..MANY {
        peer.expect_granted(peer.release("a"), "the owner releases its key")
            .await;
        let told = count(&mut peer, "a", FencingToken::FIRST, grows).await;
        assert!(told > last, "{}: {grows}; {told} after {last}", peer.case);
        last = told;
    }
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
}

async fn repeating<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("counter-again").await;
    let again = "a repair that finds its own key is not counted";
    let first = count(&mut peer, "a", FencingToken::FIRST, again).await;
    for _ in 0..MANY {
        let twin = with(peer.acquire("a", LONG), plus(first, FAR));
        peer.expect_twin(twin, "a node has one vote").await;
        let repair = with(peer.repair("a", LONG), plus(first, FAR));
        let told = ask(&mut peer, repair, again).await;
        assert_near(&peer, told, first, again);
    }
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
}

async fn refusing<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("counter-refused").await;
    let idle = "what is refused is not counted";
    let first = count(&mut peer, "a", FencingToken::FIRST, idle).await;
    let refused = with(peer.acquire("b", LONG), plus(first, FAR));
    peer.expect_held(refused, &owner("a"), LONG, idle).await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    let told = count(&mut peer, "b", FencingToken::FIRST, idle).await;
    assert_near(&peer, told, first, idle);
    peer.expect_granted(peer.release("b"), "the owner releases its key")
        .await;
}

async fn expiring<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("counter-expiry").await;
    let short = Duration::from_millis(50);
    let outlives = "a counter outlives the key, also one that ends by itself";
    let request = with(peer.acquire("a", short), FencingToken::FIRST);
    let first = ask(&mut peer, request, outlives).await;
    for _ in 0..MANY {
        tokio::time::sleep(short * 2).await;
        let next = with(peer.acquire("b", LONG), FencingToken::FIRST);
        let Vote::Granted { counter } = peer.ask(next).await else {
            continue;
        };
        assert!(counter > Some(first), "{}: {outlives}", peer.case);
        peer.expect_granted(peer.release("b"), "the owner releases its key")
            .await;
        return;
    }
    panic!("{}: a key ends with its TTL of {short:?}", peer.case);
}

async fn sharing<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("counter-shared").await;
    let shares =
        |number: &usize| counter_of(&peer.resource(*number)) == counter_of(&peer.resource(0));
    let other = (1..100_000).find(shares).expect("there are 1024 counters");
    let both = "resources that share a counter are granted side by side";
    let first = count(&mut peer, "a", FencingToken::FIRST, both).await;
    let beside = |peer: &Peer<L>| Request::Acquire {
        resource: peer.resource(other),
        owner: owner("b"),
        ttl: super::peer::checked(LONG),
        proposal: Some(plus(first, 7)),
        place: None,
    };
    let second = beside(&peer);
    assert!(ask(&mut peer, second, both).await > first, "{}", peer.case);
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    let third = count(&mut peer, "a", FencingToken::FIRST, both).await;
    assert!(third > first, "{}: {third} after {first}", peer.case);
    let release = Request::Release {
        resource: peer.resource(other),
        owner: owner("b"),
        keep: None,
    };
    peer.expect_granted(release, "the owner releases its key")
        .await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
}

async fn raising<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("raise").await;
    let first = count(&mut peer, "a", FencingToken::FIRST, "a grant is counted").await;
    let (near, far) = (plus(first, FAR), plus(first, 3 * FAR));
    let other = "only the owner raises its counter";
    let foreign = raise(&peer, "b", far);
    peer.expect_held(foreign, &owner("a"), LONG, other).await;
    let told = counted(&mut peer, "a", other).await;
    assert_near(&peer, told, first, other);
    let own = raise(&peer, "a", far);
    peer.expect_granted(own, "the owner raises its counter")
        .await;
    let lower = raise(&peer, "a", near);
    let never = "a counter beyond the token stands for nothing, and stays as it is";
    let vote = peer.ask(lower).await;
    let is_fault = matches!(&vote, Vote::Unknown(fault) if !fault.may_have_happened());
    assert!(is_fault, "{}: {never}; the vote was {vote:?}", peer.case);
    let told = counted(&mut peer, "a", never).await;
    assert_near(&peer, told, far, never);
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    let beyond = "the next grant is larger than what the counter was raised to";
    let next = count(&mut peer, "b", FencingToken::FIRST, beyond).await;
    assert!(next > far, "{}: {beyond}; {next} after {far}", peer.case);
    peer.expect_granted(peer.release("b"), "the owner releases its key")
        .await;
}

async fn raising_without_a_key<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("raise-nothing").await;
    let first = count(&mut peer, "a", FencingToken::FIRST, "a grant is counted").await;
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
    let nothing = "a counter is not raised without the key";
    let late = raise(&peer, "a", plus(first, FAR));
    peer.expect_absent(late, nothing).await;
    let told = count(&mut peer, "b", FencingToken::FIRST, nothing).await;
    assert_near(&peer, told, first, nothing);
    peer.expect_granted(peer.release("b"), "the owner releases its key")
        .await;
}

async fn taking_over<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("transfer-counts").await;
    let first = count(&mut peer, "a", FencingToken::FIRST, "a grant is counted").await;
    let counts = "a transfer is counted like a grant";
    let request = with(peer.transfer("a", "b", LONG), FencingToken::FIRST);
    let second = ask(&mut peer, request.clone(), counts).await;
    assert!(
        second > first,
        "{}: {counts}; {second} after {first}",
        peer.case
    );
    let again = "a second vote of one owner is not counted";
    for _ in 0..MANY {
        peer.expect_twin(request.clone(), again).await;
        let repair = with(peer.repair("b", LONG), FencingToken::FIRST);
        let told = ask(&mut peer, repair, again).await;
        assert_near(&peer, told, second, again);
    }
    peer.expect_granted(peer.release("b"), "the owner releases its key")
        .await;
}

async fn proposing_wildly<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("counter-wild").await;
    let kept = "a proposal is followed to a second beyond the node's time at most";
    let told = count(&mut peer, "a", FencingToken::LAST, kept).await;
    // A second more: the node's clock need not be ours.
    let most = FencingToken::of_time(peer.clock.wall() + FencingToken::LEAD * 2);
    assert!(told <= most, "{}: {kept}; it was {told}", peer.case);
    peer.expect_granted(peer.release("a"), "the owner releases its key")
        .await;
}

/// How often something is done that must add up, or must not.
const MANY: u64 = 20;

/// A number that a counter does not come to by counting during a case.
pub(super) const FAR: u64 = 10_001;

pub(super) fn plus(token: FencingToken, more: u64) -> FencingToken {
    FencingToken::new(token.get() + more).expect("no counter is near its end")
}

pub(super) fn with(mut request: Request, token: FencingToken) -> Request {
    if let Request::Acquire { proposal, .. }
    | Request::Repair { proposal, .. }
    | Request::Transfer { proposal, .. } = &mut request
    {
        *proposal = Some(token);
    }
    request
}

fn raise<L: Link>(peer: &Peer<L>, by: &str, token: FencingToken) -> Request {
    Request::Raise {
        resource: peer.resource(0),
        owner: owner(by),
        token,
    }
}

/// Acquires the case's resource, which must be granted, and tells the counter.
async fn count<L: Link>(
    peer: &mut Peer<L>,
    by: &str,
    proposal: FencingToken,
    promise: &str,
) -> FencingToken {
    let request = with(peer.acquire(by, LONG), proposal);
    ask(peer, request, promise).await
}

/// What the counter is, as a repair by the owner of the key tells it.
async fn counted<L: Link>(peer: &mut Peer<L>, by: &str, promise: &str) -> FencingToken {
    let request = with(peer.repair(by, LONG), FencingToken::FIRST);
    ask(peer, request, promise).await
}

pub(super) async fn ask<L: Link>(
    peer: &mut Peer<L>,
    request: Request,
    promise: &str,
) -> FencingToken {
    match peer.ask(request).await {
        Vote::Granted {
            counter: Some(counter),
        } => counter,
        vote => panic!("{}: {promise}; the vote was {vote:?}", peer.case),
    }
}

/// Whether a counter is where it was. Others may have counted on it: resources share counters.
pub(super) fn assert_near<L>(
    peer: &Peer<L>,
    told: FencingToken,
    before: FencingToken,
    promise: &str,
) {
    let counted = told.get().checked_sub(before.get());
    assert!(
        counted.is_some_and(|counted| counted < MANY),
        "{}: {promise}; it was {told} after {before}",
        peer.case
    );
}
