//! A point in time, as the shell's clock reads it.

use core::time::Duration;

/// Nanoseconds since an origin that only the clock's owner knows (on Linux: the boot of the machine).
///
/// The core never reads a clock: every `Instant` comes in as an argument, so a test writes the hours
/// itself. All arithmetic saturates: a far future stays a far future.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ORIGIN: Self = Self(0);
    /// Later than everything that can happen.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `elapsed` after the origin.
    #[must_use]
    pub const fn from_origin(elapsed: Duration) -> Self {
        Self(nanoseconds(elapsed))
    }

    /// The instant so many nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The nanoseconds since the origin.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// How long after the origin this is.
    #[must_use]
    pub const fn since_origin(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// This instant, `later` later.
    #[must_use]
    pub const fn saturating_add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(nanoseconds(later)))
    }

    /// This instant, `earlier` earlier; not before the origin.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Duration) -> Self {
        Self(self.0.saturating_sub(nanoseconds(earlier)))
    }

    /// The last point of the grid of this width that is not after this.
    #[must_use]
    pub(crate) fn on_grid(self, width: Duration) -> Self {
        let over = self.0.checked_rem(nanoseconds(width)).unwrap_or(0);
        Self(self.0.saturating_sub(over))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

const fn nanoseconds(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(duration.subsec_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Instant::NEVER.saturating_add(Duration::MAX), Instant::NEVER);
        assert_eq!(
            Instant::ORIGIN.saturating_sub(Duration::MAX),
            Instant::ORIGIN
        );
        assert_eq!(
            Instant::ORIGIN.saturating_since(Instant::NEVER),
            Duration::ZERO
        );
    }
}
