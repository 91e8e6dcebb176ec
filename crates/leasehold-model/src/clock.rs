//! Time in ticks, and what each clock shows.
//!
//! A tick is the least that happens between two moments that differ. Timings are chosen so that the TTL is three
//! ticks, the allowance one, and validity therefore two: small numbers in which every order of the moments that
//! matter occurs.

use leasehold_core::{Drift, Instant, Timing, Ttl};
use std::time::Duration;

/// The length of a tick.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// How many ticks a key lives.
pub(crate) const TTL_TICKS: u32 = 3;

/// How many ticks the drift allowance takes off that.
pub(crate) const ALLOWANCE_TICKS: u32 = 1;

/// TTL, drift and time limit of every lock: a node has one tick to answer.
pub(crate) fn timing() -> Timing {
    let ttl = Ttl::new(TICK * TTL_TICKS).expect("15 ms are in range");
    let drift = Drift::new(0, TICK * ALLOWANCE_TICKS);
    Timing::new(ttl, drift, Some(TICK)).expect("one tick is below the validity of two")
}

/// How fast a node's clock runs, as a fraction of true time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) ticks: u32,
    pub(crate) per: u32,
}

impl Rate {
    /// As true time.
    pub(crate) const TRUE: Self = Self { ticks: 1, per: 1 };
    /// As fast as the allowance permits: a key is gone at the very end of the validity.
    pub(crate) const FASTEST: Self = Self { ticks: 3, per: 2 };
    /// Faster than the allowance permits: a key is gone after a tick.
    pub(crate) const TOO_FAST: Self = Self { ticks: 3, per: 1 };
}

/// What a client's clock shows at true time `now`. Origins differ, so that a time of the one clock is of no
/// use by the other.
pub(crate) const fn of_client(now: Duration) -> Instant {
    CLIENTS_ORIGIN.saturating_add(now)
}

/// The true time at which a client's clock shows `shown`.
pub(crate) const fn true_time(shown: Instant) -> Duration {
    shown.saturating_since(CLIENTS_ORIGIN)
}

/// What a node's clock shows at true time `now`.
pub(crate) fn of_node(now: Duration, rate: Rate) -> Instant {
    NODES_ORIGIN.saturating_add(now * rate.ticks / rate.per)
}

const CLIENTS_ORIGIN: Instant = Instant::from_origin(Duration::from_secs(1));
const NODES_ORIGIN: Instant = Instant::from_origin(Duration::from_secs(3_600));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validity_is_two_ticks() {
        let started = of_client(TICK);
        let ends = timing().valid_until(started);
        assert_eq!(ends, of_client(3 * TICK));
        assert_eq!(true_time(ends), 3 * TICK);
    }

    #[test]
    fn on_the_fastest_node_a_key_lives_exactly_for_the_validity() {
        let expires = of_node(TICK, Rate::FASTEST).saturating_add(TICK * TTL_TICKS);
        assert_eq!(expires, of_node(3 * TICK, Rate::FASTEST));
        let early = of_node(TICK, Rate::TOO_FAST).saturating_add(TICK * TTL_TICKS);
        assert!(early < of_node(3 * TICK, Rate::TOO_FAST));
    }
}
