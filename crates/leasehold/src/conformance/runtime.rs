//! That a link goes on within another runtime.

use super::{
    Suite,
    peer::{LONG, Peer, owner},
};
use crate::link::Link;
use std::{panic, thread};
use tokio::runtime::Builder;

pub(super) async fn check<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    another(suite).await;
}

/// The runtime in which a link was made stands still, and the one after it is dropped.
async fn another<L: Link, F: FnMut() -> L>(suite: &mut Suite<F>) {
    let mut peer = suite.case("another-runtime").await;
    peer.expect_granted(peer.acquire("a", LONG), "a free resource is granted")
        .await;
    // This thread waits, and with it the runtime.
    let mut peer = match thread::spawn(move || elsewhere(peer)).join() {
        Ok(peer) => peer,
        Err(broken) => panic::resume_unwind(broken),
    };
    peer.change_runtime();
    let promise = "a link goes on when the runtime before has been dropped";
    peer.expect_held(peer.acquire("b", LONG), &owner("a"), LONG, promise)
        .await;
    peer.expect_granted(peer.release("a"), promise).await;
    peer.expect_absent(peer.release("a"), "the release took effect")
        .await;
}

/// Goes on in a runtime of its own, and gives the link back when that is over.
fn elsewhere<L: Link>(mut peer: Peer<L>) -> Peer<L> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be made where there is one");
    runtime.block_on(async {
        peer.change_runtime();
        let promise = "a link goes on while the runtime before stands still";
        peer.expect_held(peer.acquire("b", LONG), &owner("a"), LONG, promise)
            .await;
        peer.expect_granted(peer.extend("a", LONG), promise).await;
    });
    peer
}
