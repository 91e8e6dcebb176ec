//! The one clock of a run, and rests.

use leasehold::{Instant, clock::Clock};
use std::{cell::Cell, time::Duration};

/// The time now, by the clock that leases are held by.
pub(crate) fn now() -> Instant {
    Clock::system().now()
}

/// The time since then.
pub(crate) fn since(earlier: Instant) -> Duration {
    now().saturating_since(earlier)
}

/// Waits.
#[expect(
    clippy::disallowed_methods,
    reason = "a client plays a program that works for a while; no event stands for that"
)]
pub(crate) fn rest(time: Duration) {
    std::thread::sleep(time);
}

/// A different number of milliseconds each time, below `most`, so that contenders do not march in step.
pub(crate) fn uneven(most: u64) -> Duration {
    thread_local!(static STATE: Cell<u64> = const { Cell::new(0) });
    STATE.with(|state| {
        // Differs by thread, since the clock does.
        let seed = u64::try_from(now().since_origin().as_nanos()).unwrap_or(0);
        let next = (state.get() ^ seed).wrapping_mul(6_364_136_223_846_793_005) | 1;
        state.set(next);
        Duration::from_micros((next >> 33) % (most * 1_000))
    })
}

/// Asks again and again until there is an answer, for `limit` at most.
pub(crate) fn until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let started = now();
    loop {
        if let Some(answer) = look() {
            return Some(answer);
        }
        if since(started) > limit {
            return None;
        }
        rest(Duration::from_millis(5));
    }
}
