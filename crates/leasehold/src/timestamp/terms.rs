//! What a timeout comes to: all arithmetic about time, in whole seconds on the wire and rounded against ourselves.

use crate::{clock::Clock, error::ConfigError};
use leasehold_core::Instant;
use std::time::Duration;

/// For how long a lease is taken, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timeout(u64);

impl Timeout {
    pub(super) const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

    pub(super) fn new(timeout: Duration) -> Result<Self, ConfigError> {
        let seconds = timeout.as_secs();
        if seconds == 0 || timeout.subsec_nanos() > 0 || timeout > Self::LONGEST {
            return Err(ConfigError::Timeout { timeout });
        }
        Ok(Self(seconds))
    }

    pub(super) const fn as_duration(self) -> Duration {
        Duration::from_secs(self.0)
    }
}

/// The clocks of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    clock: Clock,
    /// By how many seconds the wall clock goes wrong.
    #[cfg(test)]
    pub(super) ahead: i64,
}

/// Both clocks, when a request was about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// By the clock that leases are held by. Read first.
    pub(super) started: Instant,
    /// By the wall clock: whole Unix seconds.
    pub(super) now: u64,
}

impl Clocks {
    pub(super) const fn system() -> Self {
        Self {
            clock: Clock::system(),
            #[cfg(test)]
            ahead: 0,
        }
    }

    pub(super) fn now(self) -> Instant {
        self.clock.now()
    }

    pub(super) fn read(self) -> Reading {
        let started = self.clock.now();
        let now = self.clock.wall().as_secs();
        #[cfg(test)]
        let now = now.saturating_add_signed(self.ahead);
        Reading { started, now }
    }
}

impl Reading {
    /// Whether the wall clock has been set at all. The node takes no smaller number for a timestamp.
    pub(super) const fn is_set(self) -> bool {
        self.now >= 1_000_000_000
    }

    /// What is written: the second after the timeout. Others may take the lock when their clocks show a later one.
    pub(super) const fn end(self, timeout: Timeout) -> u64 {
        self.now.saturating_add(timeout.0).saturating_add(1)
    }

    /// Until when the holder may rely on it.
    pub(super) const fn valid_until(self, timeout: Timeout) -> Instant {
        // Argument T2: the whole timeout, from before the request left. What the key says is later by more than a
        // second: room for clocks that differ, and for programs that act late on what their clock showed.
        self.started.saturating_add(timeout.as_duration())
    }

    /// How long it takes until another may take a lock of this end, by our clock.
    pub(super) const fn until_free(self, end: u64) -> Duration {
        Duration::from_secs(end.saturating_add(1).saturating_sub(self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_number_of_whole_seconds() {
        for good in [1, 3, 30 * 24 * 60 * 60] {
            let timeout = Duration::from_secs(good);
            let checked = Timeout::new(timeout).expect("it can be written");
            assert_eq!(checked.as_duration(), timeout);
        }
        for bad in [
            Duration::ZERO,
            Duration::from_millis(999),
            Duration::from_millis(1_500),
            Duration::from_nanos(1_000_000_001),
            Timeout::LONGEST + Duration::from_secs(1),
            Duration::MAX,
        ] {
            let error = Timeout::new(bad).expect_err("it cannot be written");
            assert!(error.to_string().contains("whole seconds"), "{error}");
        }
    }

    #[test]
    fn others_may_take_it_more_than_a_second_after_the_holder_has_stopped_relying_on_it() {
        // Argument T2.
        let timeout = Timeout::new(Duration::from_secs(3)).expect("it can be written");
        for past_the_second_ms in [0, 1, 500, 999] {
            let wall = Duration::from_millis(1_700_000_000_000 + past_the_second_ms);
            let reading = Reading {
                started: Instant::from_origin(wall),
                now: wall.as_secs(),
            };
            let end = reading.end(timeout);
            assert_eq!(end, 1_700_000_004);
            // The first moment at which `now > end` in whole seconds.
            let free = Duration::from_secs(end + 1);
            let relied = reading.valid_until(timeout).since_origin();
            assert!(free - relied > Duration::from_secs(1));
            assert!(free - relied <= Duration::from_secs(2));
            assert_eq!(reading.until_free(end), Duration::from_secs(5));
        }
    }
}
