//! For how long a grant may be relied upon: all arithmetic about a lease's time.
//!
//! Every line rounds against ourselves: allowances up, validity down.

mod drift;

pub use drift::Drift;

use crate::time::Instant;
use core::{fmt, time::Duration};

/// How long a key lives on a node: 10 ms to 30 days, in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl {
    millis: u64,
}

impl Ttl {
    /// The shortest TTL.
    pub const SHORTEST: Self = Self { millis: 10 };
    /// The longest TTL.
    pub const LONGEST: Self = Self {
        millis: 30 * 24 * 60 * 60 * 1_000,
    };
    /// The TTL unless another is chosen: the 10 seconds of the Redlock page's example.
    pub const DEFAULT: Self = Self { millis: 10_000 };

    /// Checks a TTL. A fraction of a millisecond is dropped.
    ///
    /// # Errors
    /// [`TimingError::Ttl`] if it is shorter than [`SHORTEST`](Self::SHORTEST) or longer than
    /// [`LONGEST`](Self::LONGEST).
    pub fn new(ttl: Duration) -> Result<Self, TimingError> {
        let millis = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        let whole = Self { millis };
        if (Self::SHORTEST..=Self::LONGEST).contains(&whole) {
            Ok(whole)
        } else {
            Err(TimingError::Ttl { ttl })
        }
    }

    /// The shortest TTL that is not below `span`, within the range.
    #[must_use]
    pub fn at_least(span: Duration) -> Self {
        let millis = u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        Self { millis }.clamp(Self::SHORTEST, Self::LONGEST)
    }

    /// The TTL as a duration.
    #[must_use]
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.millis)
    }

    /// The TTL as the nodes want it.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.millis
    }
}

/// TTL, drift, margin and time limit of one lock, checked against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    ttl: Ttl,
    drift: Drift,
    /// Taken off the validity on top of the drift.
    margin: Duration,
    /// For how much longer the keys live than the TTL says.
    delay: Duration,
    /// By how much a node's clock may be set forward without the lease being the shorter for it.
    step_margin: Duration,
    /// How long keys may live at most.
    most: Ttl,
    node_limit: Duration,
    // What follows from these is computed once: every grant and every timer asks for it.
    /// All that is taken off the TTL.
    allowance: Duration,
    /// The TTL set on the keys.
    life: Ttl,
    /// For how long a key may be there after its request has taken effect.
    gone_after: Duration,
}

impl Timing {
    /// Checks the parts against each other. `node_limit` is how long one node may take to answer; none
    /// means the [usual one](Self::usual_node_limit), and half of what can be held at most.
    ///
    /// # Errors
    /// [`TimingError::FixedDrift`] if the drift has no fixed part, [`TimingError::Drift`] if its allowance
    /// eats the TTL, [`TimingError::NodeLimit`] if the time
    /// limit is zero or not below the validity that is left.
    pub fn new(ttl: Ttl, drift: Drift, node_limit: Option<Duration>) -> Result<Self, TimingError> {
        // Argument S2: by the node's clock the key lives for the TTL, but counted in whole milliseconds.
        if drift.fixed < Drift::LEAST_FIXED {
            return Err(TimingError::FixedDrift { fixed: drift.fixed });
        }
        let validity = validity(ttl, drift.allowance(ttl))?;
        let node_limit = match node_limit {
            None => Self::usual_node_limit(ttl.as_duration()).min(half(validity)),
            Some(limit) if limit.is_zero() || limit >= validity => {
                return Err(TimingError::NodeLimit { limit, validity });
            }
            Some(limit) => limit,
        };
        let timing = Self {
            ttl,
            drift,
            margin: Duration::ZERO,
            delay: Duration::ZERO,
            step_margin: Duration::ZERO,
            most: Ttl::LONGEST,
            node_limit,
            allowance: Duration::ZERO,
            life: ttl,
            gone_after: Duration::ZERO,
        };
        Ok(timing.summed())
    }

    /// The same, with what follows from its parts.
    fn summed(self) -> Self {
        let life = Ttl::at_least(self.longest_life());
        let gone_after = life
            .as_duration()
            .saturating_add(self.drift.allowance(life));
        Self {
            allowance: self.drift.allowance(self.ttl).saturating_add(self.margin),
            life,
            gone_after,
            ..self
        }
    }

    /// The same, with a lease that ends `margin` earlier: so much sooner is its loss told.
    ///
    /// # Errors
    /// [`TimingError::Drift`] if nothing is left of the TTL, [`TimingError::NodeLimit`] if less is left than
    /// a node may take.
    pub fn with_margin(self, margin: Duration) -> Result<Self, TimingError> {
        let limit = self.node_limit;
        let timing = Self { margin, ..self }.summed();
        let validity = validity(self.ttl, timing.allowance)?;
        if limit >= validity {
            return Err(TimingError::NodeLimit { limit, validity });
        }
        Ok(timing)
    }

    /// The same, with keys that live for `delay` longer than the lease may use: if it is not released,
    /// nobody else gets the resource for so long.
    ///
    /// # Errors
    /// [`TimingError::Ttl`] if the keys would live longer than [`Ttl::LONGEST`].
    pub fn with_delay(self, delay: Duration) -> Result<Self, TimingError> {
        Self { delay, ..self }.checked()
    }

    /// The same, with keys that live for `margin` longer, so that a node's clock may be set forward by as much
    /// (assumption A2). The keys of a lease that was lost are released all the same.
    ///
    /// # Errors
    /// [`TimingError::Ttl`] if the keys would live longer than [`Ttl::LONGEST`].
    pub fn with_step_margin(self, step_margin: Duration) -> Result<Self, TimingError> {
        Self {
            step_margin,
            ..self
        }
        .checked()
    }

    /// The same, but refused if keys would live for longer than `most`: for so long only do nodes that may have
    /// forgotten keys wait.
    ///
    /// # Errors
    /// [`TimingError::AboveMost`] if they would.
    pub fn with_most(self, most: Ttl) -> Result<Self, TimingError> {
        Self { most, ..self }.checked()
    }

    fn checked(self) -> Result<Self, TimingError> {
        let life = Ttl::new(self.longest_life())?;
        if life > self.most {
            let most = self.most;
            return Err(TimingError::AboveMost { life, most });
        }
        Ok(self.summed())
    }

    /// The same for another TTL. The nodes' time limit becomes shorter if the TTL asks for it.
    ///
    /// # Errors
    /// [`TimingError`] if the drift and the margin leave nothing of the TTL.
    pub fn with_ttl(self, ttl: Ttl) -> Result<Self, TimingError> {
        let timing = Self { ttl, ..self }.summed();
        let validity = validity(ttl, timing.allowance)?;
        let node_limit = self.node_limit.min(half(validity));
        Self {
            node_limit,
            ..timing
        }
        .checked()
    }

    /// The TTL that the lease counts on.
    #[must_use]
    pub const fn ttl(&self) -> Ttl {
        self.ttl
    }

    /// The TTL set on the keys: longer by the delay after an unclean end, and by the margin for the nodes' clocks.
    #[must_use]
    pub const fn key_ttl(&self) -> Ttl {
        self.life
    }

    fn longest_life(&self) -> Duration {
        self.ttl
            .as_duration()
            .saturating_add(self.delay)
            .saturating_add(self.step_margin)
    }

    /// By how much less the keys on a node may be relied upon whose clock was set forward by `step`.
    #[must_use]
    pub fn cut_by(&self, step: Duration) -> Duration {
        // Assumption A2: what the margin covers costs nothing.
        step.saturating_sub(self.step_margin)
    }

    /// What is taken off the TTL because clocks do not run alike.
    #[must_use]
    pub const fn drift(&self) -> Drift {
        self.drift
    }

    /// For how long the keys outlive a lease that was lost.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// For how long a lease is valid, from before its first request.
    #[must_use]
    pub const fn validity(&self) -> Duration {
        self.ttl.as_duration().saturating_sub(self.allowance)
    }

    /// How long one node may take to answer before its vote counts as unknown.
    #[must_use]
    pub const fn node_limit(&self) -> Duration {
        self.node_limit
    }

    /// How long one node may take to answer by default: 5 % of the TTL, at least 20 ms and at most 500 ms.
    #[must_use]
    pub fn usual_node_limit(ttl: Duration) -> Duration {
        const FLOOR: Duration = Duration::from_millis(20);
        const CEILING: Duration = Duration::from_millis(500);
        twentieth(ttl).clamp(FLOOR, CEILING)
    }

    /// Until when a lease may be relied upon whose requests left at `started` or later.
    ///
    /// # Source
    /// Redlock steps 3 and 4.
    #[must_use]
    pub const fn valid_until(&self, started: Instant) -> Instant {
        // Argument S2: no node can have set the key before `started`, since no request had left. So by
        // a node's clock the key lives at least to `started + TTL`, by ours to that less the allowance.
        started
            .saturating_add(self.ttl.as_duration())
            .saturating_sub(self.allowance)
    }

    /// For how long a key may be there after its request has taken effect, rounded up.
    #[must_use]
    pub const fn gone_after(&self) -> Duration {
        self.gone_after
    }

    /// From when on no key of a request that took effect at `effective` or earlier can still be there:
    /// when to stop cleaning up.
    #[must_use]
    pub const fn gone_by(&self, effective: Instant) -> Instant {
        effective.saturating_add(self.gone_after)
    }
}

fn validity(ttl: Ttl, allowance: Duration) -> Result<Duration, TimingError> {
    let left = ttl.as_duration().checked_sub(allowance);
    left.filter(|left| !left.is_zero())
        .ok_or(TimingError::Drift { ttl, allowance })
}

#[expect(clippy::arithmetic_side_effects, reason = "the divisor is not zero")]
fn half(span: Duration) -> Duration {
    span / 2
}

#[expect(clippy::arithmetic_side_effects, reason = "the divisor is not zero")]
fn twentieth(span: Duration) -> Duration {
    span / 20
}

/// Why a TTL, a drift or a time limit cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimingError {
    /// The TTL is out of range.
    Ttl {
        /// What was asked for.
        ttl: Duration,
    },
    /// The keys would live for longer than the nodes wait that may have forgotten them.
    AboveMost {
        /// How long they would live: the TTL, and what is added to it.
        life: Ttl,
        /// How long they may live.
        most: Ttl,
    },
    /// The fixed part of the drift is below what the nodes' whole milliseconds need.
    FixedDrift {
        /// What was asked for.
        fixed: Duration,
    },
    /// The drift allowance leaves nothing of the TTL.
    Drift {
        /// The TTL.
        ttl: Ttl,
        /// What the drift takes off it.
        allowance: Duration,
    },
    /// The time limit of a node is zero or leaves no time to hold the lock.
    NodeLimit {
        /// What was asked for.
        limit: Duration,
        /// What the TTL leaves after the drift allowance.
        validity: Duration,
    },
}

impl fmt::Display for TimingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ttl { ttl } => write!(
                out,
                "a TTL of {ttl:?} is out of range: {:?} to 30 days",
                Ttl::SHORTEST.as_duration()
            ),
            Self::AboveMost { life, most } => write!(
                out,
                "keys that live for {:?} (the TTL, and any delay or margin) are beyond the maximum of {:?}, after \
                 which nodes that may have forgotten them vote again; lower the TTL, or raise max_ttl for all who use \
                 these nodes",
                life.as_duration(),
                most.as_duration()
            ),
            Self::FixedDrift { fixed } => write!(
                out,
                "a fixed drift of {fixed:?} is too little: nodes count whole milliseconds, so take {:?} \
                 or more",
                Drift::LEAST_FIXED
            ),
            Self::Drift { ttl, allowance } => write!(
                out,
                "a drift allowance of {allowance:?} leaves nothing of a TTL of {:?}",
                ttl.as_duration()
            ),
            Self::NodeLimit { limit, validity } => write!(
                out,
                "a time limit of {limit:?} for a node must be above zero and below the validity of {validity:?}"
            ),
        }
    }
}

impl core::error::Error for TimingError {}

crate::debug_by_sentence!(TimingError {
    Ttl { ttl },
    AboveMost { life, most },
    FixedDrift { fixed },
    Drift { ttl, allowance },
    NodeLimit { limit, validity },
});

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn ttl(millis: u64) -> Ttl {
        Ttl::new(ms(millis)).expect("in range")
    }

    #[test]
    fn the_default_lease_of_ten_seconds_is_valid_for_9898_ms() {
        let timing = Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("defaults fit");
        let started = Instant::from_origin(ms(1_000));
        assert_eq!(
            timing.valid_until(started),
            started.saturating_add(ms(9_898))
        );
        assert_eq!(timing.node_limit(), ms(500));
    }

    #[test]
    fn a_delay_lets_the_keys_live_longer_and_not_the_lease() {
        let timing = Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("defaults fit");
        let delayed = timing.with_delay(ms(5_000)).expect("it fits");
        let started = Instant::from_origin(ms(1_000));
        assert_eq!(delayed.valid_until(started), timing.valid_until(started));
        assert_eq!(delayed.key_ttl(), ttl(15_000));
        let gone_by = started.saturating_add(ms(15_000 + 152));
        assert_eq!(delayed.gone_by(started), gone_by);
    }

    #[test]
    fn no_key_lives_longer_than_nodes_wait_that_may_have_forgotten_it() {
        let timing = Timing::new(ttl(1_000), Drift::DEFAULT, None).expect("defaults fit");
        let at_most = timing.with_most(ttl(1_000)).expect("as long as the keys");
        let refused = |life| {
            let (life, most) = (ttl(life), ttl(1_000));
            Err(TimingError::AboveMost { life, most })
        };
        assert_eq!(
            timing.with_ttl(ttl(3_000)).unwrap().with_most(ttl(1_000)),
            refused(3_000)
        );
        assert_eq!(at_most.with_ttl(ttl(1_001)), refused(1_001));
        assert_eq!(at_most.with_delay(ms(7)), refused(1_007));
        assert_eq!(at_most.with_step_margin(ms(9)), refused(1_009));
        assert_eq!(at_most.with_ttl(ttl(990)).unwrap().key_ttl(), ttl(990));
    }

    #[test]
    fn the_node_limit_follows_the_ttl_between_floor_and_ceiling() {
        for (ttl_ms, limit_ms) in [
            (100, 20),
            (400, 20),
            (1_000, 50),
            (10_000, 500),
            (60_000, 500),
        ] {
            let timing = Timing::new(ttl(ttl_ms), Drift::DEFAULT, None).expect("fits");
            assert_eq!(timing.node_limit(), ms(limit_ms), "TTL {ttl_ms} ms");
        }
    }

    #[test]
    fn a_node_limit_never_outlasts_a_short_lease() {
        let timing = Timing::new(Ttl::SHORTEST, Drift::DEFAULT, None).expect("fits");
        assert!(timing.node_limit() < ms(5));
        let eager = Timing::new(ttl(100), Drift::DEFAULT, Some(ms(97)));
        assert_eq!(
            eager,
            Err(TimingError::NodeLimit {
                limit: ms(97),
                validity: ms(97)
            })
        );
    }

    #[test]
    fn a_drift_that_eats_the_ttl_is_refused() {
        let all = Drift::new(1_000_000, ms(1));
        assert!(matches!(
            Timing::new(Ttl::DEFAULT, all, None),
            Err(TimingError::Drift { .. })
        ));
    }

    #[test]
    fn a_drift_below_what_whole_milliseconds_need_is_refused() {
        let none = Drift::new(10_000, Duration::from_micros(999));
        let refused = Timing::new(Ttl::DEFAULT, none, None);
        assert!(matches!(refused, Err(TimingError::FixedDrift { .. })));
        let least = Drift::new(0, Drift::LEAST_FIXED);
        assert!(Timing::new(Ttl::DEFAULT, least, None).is_ok());
    }

    #[test]
    fn ttls_beyond_the_range_are_refused() {
        assert!(Ttl::new(ms(9)).is_err());
        assert!(Ttl::new(Duration::MAX).is_err());
        assert_eq!(Ttl::new(Duration::from_micros(10_999)), Ok(Ttl::SHORTEST));
    }
}
