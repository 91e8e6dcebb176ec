//! What wakes the shell's thread when nobody else does: its one timer, or a test that lets time pass.
//!
//! The runtime's timer counts whole milliseconds, which is coarse for those who want the same lock and were called at
//! the same time: they keep out of each other's way by fractions of one. So short times are left to the kernel's own
//! timer where there is one that the runtime can wait for.

use crate::clock::Clock;
use leasehold_core::Instant;
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Sleep;

/// Wakes by a clock. It only wakes: what is due, the clock decides.
#[derive(Debug)]
pub(crate) struct Alarm {
    /// When the timer wakes, by the clock; the origin if it is not set.
    wakes_at: Instant,
    timer: Timer,
    #[cfg(any(test, feature = "testing"))]
    actor: Option<crate::clock::Actor>,
}

impl Alarm {
    /// One that is not set. Must be called within the runtime.
    pub(crate) fn new(clock: Clock) -> Self {
        #[cfg(not(any(test, feature = "testing")))]
        let _ = clock;
        Self {
            wakes_at: Instant::ORIGIN,
            timer: Timer::new(),
            #[cfg(any(test, feature = "testing"))]
            actor: clock.timeline().map(crate::clock::Timeline::join),
        }
    }

    /// Something was done. Who lets time pass waits until nothing is.
    pub(crate) const fn moved(&mut self) {
        #[cfg(any(test, feature = "testing"))]
        if let Some(actor) = &mut self.actor {
            actor.moved();
        }
    }

    /// Ready when it is `until`, or may be; by the machine's time after `most` at the latest. With none of them, there is
    /// nothing to wait for by the clock.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        now: Instant,
        until: Option<Instant>,
        most: Duration,
    ) -> Poll<()> {
        #[cfg(any(test, feature = "testing"))]
        if let Some(actor) = &mut self.actor {
            return actor.rest(cx, until);
        }
        let Some(until) = until else {
            return Poll::Pending;
        };
        let until = until.min(now.saturating_add(most));
        // One that wakes too early costs less than setting it anew for each operation. One that should have woken by our
        // clock, which is also the case before it was ever set, may have stood still while the machine slept.
        if self.wakes_at <= now || until < self.wakes_at {
            self.wakes_at = until;
            self.timer.set(until.saturating_since(now));
        }
        let woken = self.timer.poll(cx);
        if woken.is_ready() {
            // The timer's clock may be ahead of ours: set it again.
            self.wakes_at = Instant::ORIGIN;
        }
        woken
    }
}

/// Wakes once, after the time that was set last.
#[derive(Debug)]
struct Timer {
    sleep: Pin<Box<Sleep>>,
    fine: Option<fine::Timer>,
    is_fine: bool,
}

impl Timer {
    fn new() -> Self {
        Self {
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            fine: fine::Timer::new(),
            is_fine: false,
        }
    }

    /// Wakes its poller after `left`, and not after what was set before.
    fn set(&mut self, left: Duration) {
        let fine = self.fine.as_mut().filter(|_| left < COARSE);
        self.is_fine = fine.is_some_and(|timer| timer.set(left));
        if !self.is_fine {
            let now = tokio::time::Instant::now();
            self.sleep.as_mut().reset(now + left);
        }
    }

    /// Ready when the time is over.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.fine.as_mut().filter(|_| self.is_fine) {
            Some(timer) => timer.poll(cx),
            None => self.sleep.as_mut().poll(cx),
        }
    }
}

/// From here on a millisecond more or less does not matter.
const COARSE: Duration = Duration::from_millis(5);

#[cfg(all(target_os = "linux", feature = "redis"))]
mod fine {
    use super::{Context, Duration, Poll};
    use rustix::{
        fd::OwnedFd,
        io::read,
        time::{
            Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
            timerfd_settime,
        },
    };
    use std::task::ready;
    use tokio::io::{Interest, unix::AsyncFd};

    /// A timer of the kernel; none if it gives none.
    #[derive(Debug)]
    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        #[expect(
            deprecated,
            reason = "its successor is unsafe, for those who keep no file descriptor; this one owns its own"
        )]
        pub(super) fn new() -> Option<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
            AsyncFd::with_interest(timer, Interest::READABLE)
                .ok()
                .map(Self)
        }

        /// Says whether it is set.
        pub(super) fn set(&mut self, left: Duration) -> bool {
            // No time at all would mean never.
            let left = left.max(Duration::from_nanos(1));
            let Ok(value) = Timespec::try_from(left) else {
                return false;
            };
            let once = Itimerspec {
                it_interval: Timespec::default(),
                it_value: value,
            };
            timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once).is_ok()
        }

        pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            loop {
                // A timer that cannot be waited for any more is over.
                let Ok(mut guard) = ready!(self.0.poll_read_ready(cx)) else {
                    return Poll::Ready(());
                };
                let mut count = [0; 8];
                // If there is nothing to read, it was set anew meanwhile.
                let read = guard.try_io(|timer| Ok(read(timer.get_ref(), &mut count)?));
                if read.is_ok() {
                    return Poll::Ready(());
                }
            }
        }
    }
}

#[cfg(not(all(target_os = "linux", feature = "redis")))]
mod fine {
    use super::{Context, Duration, Poll};

    /// There is none.
    #[derive(Debug)]
    pub(super) enum Timer {}

    impl Timer {
        pub(super) const fn new() -> Option<Self> {
            None
        }

        pub(super) fn set(&mut self, _: Duration) -> bool {
            match *self {}
        }

        pub(super) fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    const MS: Duration = Duration::from_millis(1);
    const MINUTE: Duration = Duration::from_secs(60);

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().expect("a runtime");
        runtime.block_on(future)
    }

    fn at(time: Duration) -> Instant {
        Instant::from_origin(MINUTE).saturating_add(time)
    }

    /// Whether it wakes a sleeper at `now`, and not only after minutes.
    async fn wakes(alarm: &mut Alarm, now: Instant, until: Instant, most: Duration) -> bool {
        let woken = poll_fn(|cx| alarm.poll(cx, now, Some(until), most));
        tokio::time::timeout(MINUTE / 6, woken).await.is_ok()
    }

    /// Lets the shell look once and go to sleep at `now`.
    async fn sleeps(alarm: &mut Alarm, now: Instant, until: Instant) {
        let look = |cx: &mut Context<'_>| Poll::Ready(alarm.poll(cx, now, Some(until), MINUTE));
        assert!(poll_fn(look).await.is_pending());
    }

    #[test]
    fn a_timer_that_stood_still_while_the_machine_slept_is_set_anew() {
        block_on(async {
            let mut alarm = Alarm::new(Clock::system());
            sleeps(&mut alarm, at(Duration::ZERO), at(MINUTE)).await;
            // By our clock the minute is over, by the timer's nothing of it. The next is due later than the last was.
            let now = at(MINUTE * 2);
            assert!(wakes(&mut alarm, now, now.saturating_add(MS), MINUTE).await);
            // Also if it is over to the moment.
            sleeps(&mut alarm, at(MINUTE * 2), at(MINUTE * 3)).await;
            let now = at(MINUTE * 3);
            assert!(wakes(&mut alarm, now, now.saturating_add(MS), MINUTE).await);
        });
    }

    #[test]
    fn what_is_due_sooner_than_the_last_is_not_slept_over() {
        block_on(async {
            let mut alarm = Alarm::new(Clock::system());
            let now = at(Duration::ZERO);
            sleeps(&mut alarm, now, at(MINUTE)).await;
            assert!(wakes(&mut alarm, now, at(MS), MINUTE).await);
        });
    }

    #[test]
    fn a_timer_whose_clock_is_ahead_is_set_again() {
        block_on(async {
            let mut alarm = Alarm::new(Clock::system());
            let now = at(Duration::ZERO);
            for _ in 0..3 {
                assert!(wakes(&mut alarm, now, at(MS), MINUTE).await);
            }
        });
    }

    #[test]
    fn whoever_holds_leases_looks_now_and_then_whatever_is_due() {
        block_on(async {
            let mut alarm = Alarm::new(Clock::system());
            let now = at(Duration::ZERO);
            assert!(wakes(&mut alarm, now, at(MINUTE), MS).await);
        });
    }

    #[test]
    fn it_wakes_after_what_was_set_last_however_short() {
        block_on(async {
            let mut timer = Timer::new();
            for micros in [0, 1, 300, 20_000, 2_000] {
                let begun = tokio::time::Instant::now();
                let left = Duration::from_micros(micros);
                timer.set(MINUTE);
                timer.set(Duration::from_micros(1));
                timer.set(left);
                poll_fn(|cx| timer.poll(cx)).await;
                assert!(begun.elapsed() >= left, "{left:?}");
            }
        });
    }
}
