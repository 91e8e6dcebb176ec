//! Waiting for a future with the thread that asks.

#[cfg(any(test, feature = "testing"))]
use crate::clock;
use crate::clock::Clock;
use leasehold_core::Instant;
use std::{
    pin::pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};
use tokio::task::unconstrained;

/// Waits until the future is done.
#[track_caller]
pub(super) fn wait<F: Future>(future: F) -> F::Output {
    wait_until(Instant::NEVER, future).expect("it is never later than never")
}

/// Waits until the future is done, for `limit` of the machine's time at most.
pub(super) fn wait_within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    wait_until(Clock::system().now().saturating_add(limit), future)
}

/// # Panics
/// At the line of the caller, where a test's World cannot bring what is waited for.
#[track_caller]
fn wait_until<F: Future>(until: Instant, future: F) -> Option<F::Output> {
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    // A task of tokio that has had its share of the thread is told to wait until it has let others run, which this one
    // does not do before it has its answer: it would wait for itself.
    let mut future = pin!(unconstrained(future));
    loop {
        #[cfg(not(any(test, feature = "testing")))]
        let polled = future.as_mut().poll(&mut cx);
        #[cfg(any(test, feature = "testing"))]
        let (polled, stuck) = clock::poll_for_caller(|| future.as_mut().poll(&mut cx));
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        #[cfg(any(test, feature = "testing"))]
        if let Some(sentence) = stuck {
            panic!("{sentence}");
        }
        if !signal.wait(until) {
            return None;
        }
    }
}

/// Whether the future wants to be polled again. Not the thread's own `park`: a wake of this thread for another reason
/// must find it as it was.
#[derive(Debug, Default)]
struct Signal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// Waits for the signal and takes it; false if it did not come in time.
    fn wait(&self, until: Instant) -> bool {
        let mut is_set = self.lock();
        while !std::mem::take(&mut *is_set) {
            is_set = if until == Instant::NEVER {
                self.changed
                    .wait(is_set)
                    .unwrap_or_else(PoisonError::into_inner)
            } else {
                let left = until.saturating_since(Clock::system().now());
                if left.is_zero() {
                    return false;
                }
                let waited = self.changed.wait_timeout(is_set, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.lock() = true;
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::pending, thread};
    use tokio::sync::oneshot;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_thread_is_woken_by_another() {
        let (answer, told) = oneshot::channel();
        let other = thread::spawn(move || answer.send(7));
        assert_eq!(wait(told), Ok(7));
        assert_eq!(other.join().expect("it does not panic"), Ok(()));
    }

    #[test]
    fn what_never_comes_is_waited_for_as_long_as_was_said() {
        let before = Clock::system().now();
        assert_eq!(wait_within(20 * MS, pending::<()>()), None);
        let waited = Clock::system().now().saturating_since(before);
        assert!(waited >= 20 * MS, "{waited:?}");
        assert_eq!(wait_within(Duration::ZERO, async { 7 }), Some(7));
    }

    #[test]
    fn who_woke_the_thread_for_another_reason_finds_it_awake() {
        thread::current().unpark();
        assert_eq!(wait_within(MS, pending::<()>()), None);
        // It would wait for ever if the waiting had used that up.
        thread::park();
    }
}
