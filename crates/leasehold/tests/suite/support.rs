//! What several tests need.

pub(crate) mod cluster;
pub(crate) mod dice;
pub(crate) mod driven;
pub(crate) mod gate;
pub(crate) mod pairs;
pub(crate) mod real;
pub(crate) mod rivals;

use leasehold::clock::Clock;
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
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

/// Waits until something that happens elsewhere has happened, but not for as long as the leases last whose release is waited for:
/// a lease of a minute that nobody releases is seen.
pub(crate) fn eventually(what: &str, happened: impl FnMut() -> bool) {
    within(Duration::from_secs(30), what, happened);
}

/// The same for what sentinels do: those of a busy machine may need two attempts, and leave six seconds between them.
pub(crate) fn when_sentinels_agree(what: &str, happened: impl FnMut() -> bool) {
    within(Duration::from_secs(60), what, happened);
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test may look again after a while"
)]
fn within(limit: Duration, what: &str, mut happened: impl FnMut() -> bool) {
    let clock = Clock::system();
    let end = clock.now().saturating_add(limit);
    while !happened() {
        assert!(
            clock.now() < end,
            "within {limit:?} it did not come about that {what}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}
