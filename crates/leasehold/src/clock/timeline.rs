//! A time that stands still until somebody lets it pass: for tests.
//!
//! Managers act on threads of their own, so letting time pass is more than setting a number. All that is to be done at one
//! moment must be done before the next one comes, or a lease would be found to be over that could have been extended.
//! So every manager tells when it has nothing to do and until when, and time jumps from one such moment to the
//! next.

mod stuck;

pub(crate) use stuck::poll_for_caller;

use leasehold_core::Instant;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

/// One time, for all that was given its clock.
#[derive(Debug)]
pub(crate) struct Timeline {
    state: Mutex<TimelineState>,
    rested: Condvar,
    /// Rung by nobody: those who look whether anything happens rest here.
    tick: Condvar,
}

#[derive(Debug)]
struct TimelineState {
    now: Instant,
    number: u64,
    /// Who acts in this time.
    actors: BTreeMap<u64, Progress>,
    /// When nodes have something to do.
    bells: BTreeSet<Instant>,
    /// Whether anything happens, and who waits for it.
    watch: stuck::StallWatch,
}

/// What one who acts is doing.
#[derive(Debug, Default)]
struct Progress {
    is_resting: bool,
    /// Whether it did anything since it was last asked to look.
    has_moved: bool,
    until: Option<Instant>,
    waker: Option<Waker>,
}

/// Somebody who acts in a time, and holds it up while there is something to do.
#[derive(Debug)]
pub(crate) struct Actor {
    timeline: &'static Timeline,
    number: u64,
    has_moved: bool,
}

impl Timeline {
    /// A new time. It is never freed: clocks are copied freely, and tests are few.
    pub(crate) fn leak() -> &'static Self {
        Box::leak(Box::new(Self {
            state: Mutex::new(TimelineState {
                now: START,
                number: 0,
                actors: BTreeMap::new(),
                bells: BTreeSet::new(),
                watch: stuck::StallWatch::default(),
            }),
            rested: Condvar::new(),
            tick: Condvar::new(),
        }))
    }

    pub(super) fn now(&self) -> Instant {
        self.lock().now
    }

    pub(super) fn wall(&self) -> Duration {
        WALL.saturating_add(self.now().saturating_since(START))
    }

    /// Somebody begins to act.
    pub(crate) fn join(&'static self) -> Actor {
        let mut state = self.lock();
        state.number += 1;
        let number = state.number;
        state.actors.insert(number, Progress::default());
        Actor {
            timeline: self,
            number,
            has_moved: false,
        }
    }

    /// Time stops at this moment, so that everybody can look.
    pub(crate) fn ring_at(&self, at: Instant) {
        let mut state = self.lock();
        if at > state.now {
            state.bells.insert(at);
        }
    }

    /// Waits until nobody has anything to do at this moment.
    pub(crate) fn settle(&self) {
        let mut quiet = 0;
        // Twice: who rests for the first time may have looked before there was something to see.
        while quiet < 2 {
            quiet = if self.has_round_moved() { 0 } else { quiet + 1 };
        }
    }

    /// Lets time pass, moment by moment, and waits at each until everything is done.
    pub(crate) fn advance(&self, by: Duration) {
        self.settle();
        let end = self.now().saturating_add(by);
        loop {
            let mut state = self.lock();
            let (now, next) = (state.now, state.next());
            if now >= end {
                return;
            }
            state.now = next.filter(|next| *next > now).unwrap_or(end).min(end);
            let now = state.now;
            state.bells.retain(|bell| *bell > now);
            drop(state);
            self.settle();
        }
    }

    /// Lets time pass while nobody looks: as for a machine that slept.
    #[cfg(test)]
    pub(crate) fn jump(&self, by: Duration) {
        let mut state = self.lock();
        state.now = state.now.saturating_add(by);
    }

    /// Lets everybody look once; says whether anybody did anything.
    fn has_round_moved(&self) -> bool {
        let mut state = self.lock();
        let mut wakers = Vec::new();
        for place in state.actors.values_mut() {
            (place.is_resting, place.has_moved) = (false, false);
            wakers.extend(place.waker.take());
        }
        drop(state);
        for waker in wakers {
            waker.wake();
        }
        let state = self.until_all_rest();
        state.actors.values().any(|place| place.has_moved)
    }

    /// Waits until everybody rests.
    ///
    /// # Panics
    /// If nobody gets there, since their thread waits for this one.
    fn until_all_rest(&self) -> MutexGuard<'_, TimelineState> {
        let mut state = self.lock();
        state.watch.stir();
        let mut seen = state.watch.stirs();
        while state.actors.values().any(|place| !place.is_resting) {
            let patience = state.watch.patience();
            let waited = self.rested.wait_timeout(state, patience);
            let (now, timed) = waited.unwrap_or_else(PoisonError::into_inner);
            state = now;
            let is_still = state.watch.stirs() == seen;
            seen = state.watch.stirs();
            if timed.timed_out() && is_still {
                drop(state);
                panic!(
                    "a manager of this World has not come to rest for {patience:?}: it cannot run while this thread waits \
                     for it. Was it built `on_runtime` of this very thread, or is this the manager's own thread? Let the \
                     manager have a thread of its own, or call World::advance from another one"
                );
            }
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, TimelineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TimelineState {
    /// When somebody has something to do next.
    fn next(&self) -> Option<Instant> {
        let wakes = self.actors.values().filter_map(|place| place.until);
        wakes.chain(self.bells.first().copied()).min()
    }
}

impl Actor {
    /// Something was done.
    pub(crate) const fn moved(&mut self) {
        self.has_moved = true;
    }

    /// Ready if it is `until`. Otherwise there is nothing to do until then, or until the waker is woken.
    pub(crate) fn rest(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<()> {
        let mut state = self.timeline.lock();
        state.watch.stir();
        if until.is_some_and(|until| until <= state.now) {
            return Poll::Ready(());
        }
        let place = state.actors.entry(self.number).or_default();
        place.is_resting = true;
        place.has_moved |= std::mem::take(&mut self.has_moved);
        place.until = until;
        place.waker = Some(cx.waker().clone());
        drop(state);
        self.timeline.rested.notify_all();
        Poll::Pending
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.timeline.lock().actors.remove(&self.number);
        self.timeline.rested.notify_all();
    }
}

/// An hour after the clock's origin, so that there is a past.
const START: Instant = Instant::from_origin(Duration::from_secs(60 * 60));

/// What the wall clock shows at the start: the first of January 2030.
const WALL: Duration = Duration::from_secs(1_893_456_000);

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        future::poll_fn,
        sync::mpsc::{self, Receiver, Sender},
        thread,
    };

    const MS: Duration = Duration::from_millis(1);

    /// Somebody who notes the time every `every` milliseconds, on a thread of its own.
    fn tick(timeline: &'static Timeline, every: u32, notes: Sender<Duration>) {
        let mut actor = timeline.join();
        thread::spawn(move || {
            let mut next = START.saturating_add(MS * every);
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let runtime = runtime.expect("a runtime");
            runtime.block_on(poll_fn(|cx| {
                while actor.rest(cx, Some(next)).is_ready() {
                    actor.moved();
                    let now = timeline.now().saturating_since(START);
                    if notes.send(now).is_err() {
                        return Poll::Ready(());
                    }
                    next = next.saturating_add(MS * every);
                }
                Poll::Pending
            }));
        });
    }

    fn notes(notes: &Receiver<Duration>) -> Vec<u128> {
        notes.try_iter().map(|at| at.as_millis()).collect()
    }

    #[test]
    fn time_stops_at_every_moment_at_which_something_is_to_be_done() {
        let timeline = Timeline::leak();
        let (noted, told) = mpsc::channel();
        tick(timeline, 30, noted.clone());
        tick(timeline, 50, noted);
        timeline.advance(100 * MS);
        assert_eq!(notes(&told), [30, 50, 60, 90, 100]);
        timeline.advance(MS * 20);
        assert_eq!(notes(&told), [120]);
        assert_eq!(timeline.now().saturating_since(START), 120 * MS);
    }

    #[test]
    fn time_stands_still_while_nobody_lets_it_pass() {
        let timeline = Timeline::leak();
        timeline.settle();
        assert_eq!((timeline.now(), timeline.wall()), (START, WALL));
    }
}
