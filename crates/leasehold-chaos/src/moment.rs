//! The one clock of a run.
//!
//! All processes are on one machine and read the clock that the leases are held by, so that times of
//! different journals can be compared as they are.

use leasehold::{Instant, clock::Clock};
use std::{fmt, time::Duration};

/// Nanoseconds on the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// Later than everything.
    pub(crate) const NEVER: Self = Self(u64::MAX);

    pub(crate) fn now() -> Self {
        Clock::system().now().into()
    }

    pub(crate) const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub(crate) const fn nanos(self) -> u64 {
        self.0
    }

    pub(crate) fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(nanos(time)))
    }

    pub(crate) fn minus(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(time)))
    }

    /// The time from `earlier` to here; zero if it is the other way round.
    pub(crate) const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl From<Instant> for Moment {
    fn from(instant: Instant) -> Self {
        Self(nanos(instant.since_origin()))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NEVER => out.write_str("never"),
            Self(nanos) => nanos.fmt(out),
        }
    }
}

/// Waits, in a client. What the runner waits for can be called off: see [`Bell`](crate::bell::Bell).
#[expect(
    clippy::disallowed_methods,
    reason = "a client plays a program that works for a while; no event stands for that"
)]
pub(crate) fn rest(time: Duration) {
    std::thread::sleep(time);
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
