//! The one clock of a run, and how a holder spends its time.

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// Nanoseconds on the clock that all processes of the machine share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn now() -> Self {
        Self(nanos(clock_gettime(ClockId::Monotonic)))
    }

    pub(crate) fn plus(self, time: Duration) -> Self {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }

    /// The time from `earlier` to here; zero if it is the other way round.
    pub(crate) const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The time since then.
    pub(crate) fn elapsed(self) -> Duration {
        Self::now().since(self)
    }
}

/// What this process has used of the processors so far, user and system, all threads together.
pub(crate) fn processor_time() -> Duration {
    Duration::from_nanos(nanos(clock_gettime(ClockId::ProcessCPUTime)))
}

/// Keeps the thread for so long and not longer, unless somebody else has its processor: it sleeps, and spins in the end.
/// Tells how long it was.
pub(crate) fn hold_for(time: Duration) -> Duration {
    let started = Moment::now();
    rest(time.saturating_sub(OVERSLEPT));
    loop {
        let held = started.elapsed();
        if held >= time {
            return held;
        }
        std::hint::spin_loop();
    }
}

/// How long each of many who want the same holds it.
pub(crate) const HOLD: Duration = Duration::from_millis(1);

/// By so much a thread may wake too late.
const OVERSLEPT: Duration = Duration::from_micros(300);

/// Blocks the thread.
#[expect(
    clippy::disallowed_methods,
    reason = "a holder plays a program that works for a while; no event stands for that"
)]
pub(crate) fn rest(time: Duration) {
    std::thread::sleep(time);
}

fn nanos(time: Timespec) -> u64 {
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_nsec)
}
