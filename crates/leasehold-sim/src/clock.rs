//! What clients and nodes take for the time: a function of true time.

use crate::time::Moment;
use leasehold_core::Instant;
use std::time::Duration;

/// A clock that runs at its own speed, and may be stepped or stand still.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// When speed or reading were last changed, and what it showed then.
    since: Moment,
    reading_ns: u64,
    /// 2^32 is the speed of true time.
    speed: u64,
    stopped: bool,
}

const TRUE_SPEED: i64 = 1 << 32;

impl Clock {
    /// A clock that shows `reading_ns` at the start and is fast by `ppm` millionths.
    pub(crate) fn new(reading_ns: u64, ppm: i64) -> Self {
        let speed = TRUE_SPEED + TRUE_SPEED / 1_000_000 * ppm;
        Self {
            since: Moment::START,
            reading_ns,
            speed: u64::try_from(speed).expect("no clock runs backwards"),
            stopped: false,
        }
    }

    pub(crate) fn read(&self, now: Moment) -> Instant {
        Instant::from_origin(Duration::from_nanos(self.read_ns(now)))
    }

    pub(crate) fn read_ns(&self, now: Moment) -> u64 {
        if self.stopped {
            return self.reading_ns;
        }
        let passed = u128::from(now.since_ns(self.since)) * u128::from(self.speed);
        self.reading_ns + u64::try_from(passed >> 32).expect("no world is so old")
    }

    /// The first moment at which the clock shows `reading` or more, if nobody touches it.
    pub(crate) fn when(&self, reading: Instant) -> Moment {
        let wanted = u64::try_from(reading.since_origin().as_nanos()).unwrap_or(u64::MAX);
        let missing = wanted.saturating_sub(self.reading_ns);
        if missing == 0 {
            return self.since;
        }
        if self.stopped {
            return Moment::NEVER;
        }
        let span = (u128::from(missing) << 32).div_ceil(u128::from(self.speed));
        self.since.after(u64::try_from(span).unwrap_or(u64::MAX))
    }

    pub(crate) fn step_forward(&mut self, now: Moment, by_ns: u64) {
        self.rebase(now);
        self.reading_ns += by_ns;
    }

    pub(crate) fn step_back(&mut self, now: Moment, by_ns: u64) {
        self.rebase(now);
        self.reading_ns = self.reading_ns.saturating_sub(by_ns);
    }

    pub(crate) fn stop(&mut self, now: Moment) {
        self.rebase(now);
        self.stopped = true;
    }

    pub(crate) fn go(&mut self, now: Moment) {
        self.rebase(now);
        self.stopped = false;
    }

    fn rebase(&mut self, now: Moment) {
        self.reading_ns = self.read_ns(now);
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{MILLISECOND, SECOND};

    #[test]
    fn when_is_the_first_moment_of_a_reading() {
        for ppm in [-5_000, 0, 7, 5_000] {
            let clock = Clock::new(3 * SECOND, ppm);
            for wanted in [3 * SECOND + 1, 4 * SECOND, 11 * SECOND + 12_345] {
                let reading = Instant::from_origin(Duration::from_nanos(wanted));
                let at = clock.when(reading);
                assert!(clock.read(at) >= reading);
                assert!(clock.read(Moment::from_ns(at.ns() - 1)) < reading);
            }
        }
    }

    #[test]
    fn a_stopped_clock_goes_on_where_it_stood() {
        let mut clock = Clock::new(0, 0);
        clock.stop(Moment::from_ns(5 * SECOND));
        assert_eq!(clock.read_ns(Moment::from_ns(9 * SECOND)), 5 * SECOND);
        clock.go(Moment::from_ns(9 * SECOND));
        assert_eq!(clock.read_ns(Moment::from_ns(10 * SECOND)), 6 * SECOND);
        clock.step_back(Moment::from_ns(10 * SECOND), MILLISECOND);
        assert_eq!(
            clock.read_ns(Moment::from_ns(10 * SECOND)),
            6 * SECOND - MILLISECOND
        );
    }
}
