//! What several tests need.

pub(crate) mod cluster;
pub(crate) mod dice;
pub(crate) mod driven;
pub(crate) mod gate;
pub(crate) mod pairs;
pub(crate) mod real;
pub(crate) mod rivals;

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

/// Runs a future on the current thread, without any runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Polls a future once and expects it to wait.
pub(crate) fn begin<F: Future + Unpin>(future: &mut F) {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(
        std::pin::Pin::new(future).poll(&mut cx).is_pending(),
        "the future ended at once"
    );
}

/// What comes of a future at this moment of a world's time; none if it goes on waiting.
pub(crate) fn at_once<F: Future + Unpin>(
    world: &leasehold::testing::World,
    future: &mut F,
) -> Option<F::Output> {
    let mut cx = Context::from_waker(Waker::noop());
    // The first look posts what it wants, and may find the answer already.
    if let Poll::Ready(output) = std::pin::Pin::new(&mut *future).poll(&mut cx) {
        return Some(output);
    }
    world.settle();
    match std::pin::Pin::new(future).poll(&mut cx) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Waits until something that happens elsewhere has happened. Sentinels of a busy machine may need two attempts, and leave
/// six seconds between them.
#[expect(
    clippy::disallowed_methods,
    reason = "a test may look again after a while"
)]
pub(crate) fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if happened() {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("in a minute it did not come about that {what}");
}
