//! What becomes of a lease that is won while its caller goes.

use super::{SlowNode, told};
use std::{
    task::{Context, Waker},
    time::Duration,
};

/// A caller that waits for the only node, which has been asked and does not answer yet.
fn waiting() -> (SlowNode, impl FnOnce(), Box<dyn Send>) {
    let (clock, timeline) = told();
    let node = SlowNode::new(timeline, Duration::ZERO, true);
    let manager = node.manager(clock);
    let mutex = manager.mutex("r").expect("a name");
    let mut tried = Box::pin(async move { mutex.try_acquire().await.map(drop) });
    let mut cx = Context::from_waker(Waker::noop());
    assert!(tried.as_mut().poll(&mut cx).is_pending());
    assert!(node.is_asked(1), "it is asked for the lock");
    let settle = move || {
        timeline.settle();
        drop(manager);
    };
    (node, settle, Box::new(tried))
}

#[test]
fn a_lease_that_had_come_when_its_caller_went_is_released() {
    let (node, settle, tried) = waiting();
    node.speak();
    settle();
    drop(tried);
    assert!(node.is_asked(2), "step 5: the lease is given back");
}

#[test]
fn a_lease_that_comes_when_its_caller_has_gone_is_released() {
    let (node, settle, tried) = waiting();
    node.with(|desk| desk.drops = Some(tried));
    node.speak();
    assert!(node.is_asked(2), "step 5: the lease is given back");
    settle();
}
