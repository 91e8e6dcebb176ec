//! By how much clocks may differ.

use super::Ttl;
use crate::time::Instant;
use core::time::Duration;

/// What is taken off a TTL because clocks do not run alike (assumption A1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Drift {
    parts_per_million: u32,
    pub(super) fixed: Duration,
}

impl Drift {
    /// 1 % of the TTL for clocks that run at different speeds, and 2 ms for the nodes' expiry, which
    /// works in whole milliseconds.
    pub const DEFAULT: Self = Self {
        parts_per_million: 10_000,
        fixed: Duration::from_millis(2),
    };

    /// The least fixed part: nodes count whole milliseconds, and may be early by one.
    pub const LEAST_FIXED: Duration = Duration::from_millis(1);

    /// A share of the TTL in millionths, and a fixed time on top, at least
    /// [`LEAST_FIXED`](Self::LEAST_FIXED); less is refused where the drift is used.
    #[must_use]
    pub const fn new(parts_per_million: u32, fixed: Duration) -> Self {
        Self {
            parts_per_million,
            fixed,
        }
    }

    /// What is taken off this TTL, rounded up.
    #[must_use]
    pub fn allowance(self, ttl: Ttl) -> Duration {
        self.allowed_in(ttl.as_duration())
    }

    /// By how much two clocks may come to differ within `span`, rounded up.
    #[must_use]
    pub fn allowed_in(self, span: Duration) -> Duration {
        self.share_of(span).saturating_add(self.fixed)
    }

    /// The same without the fixed part.
    #[must_use]
    pub fn share_of(self, span: Duration) -> Duration {
        Duration::from_nanos(self.share_of_nanos(Instant::from_origin(span).nanos()))
    }

    pub(crate) fn share_of_nanos(self, nanos: u64) -> u64 {
        const MILLION: u64 = 1_000_000;
        let parts = u64::from(self.parts_per_million);
        // Whole millions and the rest apart, so that one word is enough: this is asked for with every answer.
        let whole = (nanos / MILLION).saturating_mul(parts);
        let rest = (nanos % MILLION).saturating_mul(parts).div_ceil(MILLION);
        whole.saturating_add(rest)
    }

    /// What covers both.
    #[must_use]
    pub fn or_wider(self, other: Self) -> Self {
        Self {
            parts_per_million: self.parts_per_million.max(other.parts_per_million),
            fixed: self.fixed.max(other.fixed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn ttl(millis: u64) -> Ttl {
        Ttl::new(ms(millis)).expect("in range")
    }

    #[test]
    fn the_wider_of_two_covers_both() {
        let (fast, late) = (Drift::new(500, ms(1)), Drift::new(3, ms(40)));
        let both = Drift::new(500, ms(40));
        assert_eq!((fast.or_wider(late), late.or_wider(fast)), (both, both));
    }

    #[test]
    fn the_allowance_is_rounded_up() {
        let drift = Drift::new(1, Duration::ZERO);
        assert_eq!(drift.allowance(ttl(10)), Duration::from_nanos(10));
        let drift = Drift::new(333, Duration::from_nanos(1));
        assert_eq!(drift.allowance(ttl(11)), Duration::from_nanos(3_663 + 1));
        let whole = Drift::new(1_000_000, Duration::ZERO);
        for span in [0, 1, 999_999, 1_000_001, u64::MAX] {
            let span = Duration::from_nanos(span);
            assert_eq!(whole.share_of(span), span);
        }
    }
}
