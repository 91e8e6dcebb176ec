//! Those who wait while nothing happens any more: a test that hangs says for what.

use super::Timeline;
use std::{
    cell::RefCell,
    collections::BTreeMap,
    future::poll_fn,
    pin::pin,
    sync::PoisonError,
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

/// Whether anything happens, and who waits for it.
#[derive(Debug)]
pub(super) struct StallWatch {
    /// Counts whatever happens.
    stirs: u64,
    patience: Duration,
    number: u64,
    waits: BTreeMap<u64, Waiting>,
    /// Whether there is a thread that looks.
    is_watched: bool,
}

#[derive(Debug, Default)]
struct Waiting {
    waker: Option<Waker>,
    is_stuck: bool,
}

impl Default for StallWatch {
    fn default() -> Self {
        Self {
            stirs: 0,
            patience: PATIENCE,
            number: 0,
            waits: BTreeMap::new(),
            is_watched: false,
        }
    }
}

impl StallWatch {
    /// Something happens.
    pub(super) const fn stir(&mut self) {
        self.stirs = self.stirs.wrapping_add(1);
    }

    pub(super) const fn stirs(&self) -> u64 {
        self.stirs
    }

    pub(super) const fn patience(&self) -> Duration {
        self.patience
    }
}

thread_local! {
    /// What a call that blocks this thread is to panic with, at its caller's line; none if no such call polls now.
    static CALLER: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
}

/// Polls for a call that blocks this thread. Tells what it is to panic with, if what it waits for cannot come.
pub(crate) fn poll_for_caller<T>(poll: impl FnOnce() -> T) -> (T, Option<String>) {
    /// A panic of what is polled must not leave it to a caller who has gone.
    struct Polling(Option<Option<String>>);
    impl Drop for Polling {
        fn drop(&mut self) {
            CALLER.set(self.0.take());
        }
    }
    let polling = Polling(CALLER.replace(Some(None)));
    let polled = poll();
    let sentence = CALLER.take().flatten();
    drop(polling);
    (polled, sentence)
}

/// Gives the sentence back if no call that blocks this thread takes it.
fn leave_to_caller(sentence: String) -> Option<String> {
    CALLER.with_borrow_mut(|caller| match caller {
        Some(told) => {
            *told = Some(sentence);
            None
        }
        None => Some(sentence),
    })
}

/// Somebody who waits, until it is dropped.
struct Wait {
    timeline: &'static Timeline,
    number: u64,
}

impl Timeline {
    /// For how long of the machine's time somebody may wait while nothing happens.
    pub(crate) fn give_up_after(&self, patience: Duration) {
        self.lock().watch.patience = patience;
    }

    /// Waits for `work`.
    ///
    /// # Panics
    /// If it does not come, and nothing else happens either.
    pub(in crate::clock) async fn unless_stuck<T>(
        &'static self,
        what: impl Fn() -> String,
        work: impl Future<Output = T>,
    ) -> T {
        let (wait, mut work) = (self.begin_wait(), pin!(work));
        poll_fn(|cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(done);
            }
            if let Some(patience) = wait.stuck_for(cx) {
                let sentence = format!(
                    "this test waits for {}, and nothing can bring it: the time of its World has stood still for \
                     {patience:?} of the machine's. Call World::advance, or bring about what is waited for, while the wait \
                     goes on: in another task that runs at the same time (tokio::join!, tokio::spawn), or in another \
                     thread. A task that nobody has polled yet has not begun to wait. World::give_up_after says how long a test may wait",
                    what()
                );
                if let Some(sentence) = leave_to_caller(sentence) {
                    panic!("{sentence}");
                }
            }
            Poll::Pending
        })
        .await
    }

    fn begin_wait(&'static self) -> Wait {
        let mut state = self.lock();
        let watch = &mut state.watch;
        watch.stir();
        watch.number += 1;
        let number = watch.number;
        watch.waits.insert(number, Waiting::default());
        if !watch.is_watched {
            let begun = thread::Builder::new()
                .name("leasehold-testing".into())
                .spawn(|| self.look_on());
            watch.is_watched = begun.is_ok();
        }
        drop(state);
        Wait {
            timeline: self,
            number,
        }
    }

    /// Looks whether anything happens, as long as anybody waits.
    fn look_on(&self) {
        let (mut seen, mut quiet) = (None, 0);
        let mut state = self.lock();
        while !state.watch.waits.is_empty() {
            let stirs = Some(state.watch.stirs);
            quiet = if seen == stirs { quiet + 1 } else { 0 };
            seen = stirs;
            let mut wakers = Vec::new();
            if quiet > LOOKS {
                for waiting in state.watch.waits.values_mut() {
                    waiting.is_stuck = true;
                    wakers.extend(waiting.waker.take());
                }
            }
            drop(state);
            for waker in wakers {
                waker.wake();
            }
            state = self.lock();
            let rest = state.watch.patience / LOOKS;
            let rested = self.tick.wait_timeout(state, rest);
            state = rested.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.watch.is_watched = false;
    }
}

impl Wait {
    /// For how long nothing has happened, if that is too long; otherwise the waker is woken then.
    fn stuck_for(&self, cx: &Context<'_>) -> Option<Duration> {
        let mut state = self.timeline.lock();
        let patience = state.watch.patience;
        let waiting = state.watch.waits.entry(self.number).or_default();
        waiting.waker = Some(cx.waker().clone());
        waiting.is_stuck.then_some(patience)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut state = self.timeline.lock();
        state.watch.stir();
        state.watch.waits.remove(&self.number);
    }
}

/// How long nothing may happen before somebody who waits gives up, by the machine's time.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often somebody looks in that time.
const LOOKS: u32 = 8;
