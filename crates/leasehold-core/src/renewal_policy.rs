//! How a lease is kept between acquire and release: the rule, without the machine that follows it.

use crate::{time::Instant, timing::Timing};
use core::time::Duration;

/// When a lease is extended by itself, how long it may be held, and when its danger is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the facade makes it, field by field"
)]
pub struct RenewalPolicy {
    /// Whether the lease is extended by itself.
    pub renewal: AutoRenewal,
    /// How many extensions there are at most, by itself and by the holder together.
    pub most_extensions: Option<u32>,
    /// For how long the resource is held at most, from when the winning attempt began.
    pub most_hold: Option<Duration>,
    /// For how long the resource stays locked at least, even if it is released before: from when the
    /// winning attempt began.
    pub least_hold: Option<Duration>,
    /// The lease is extended by itself only if the holder reported progress within this time.
    pub heartbeat: Option<Duration>,
    /// How much validity must be left for a lease that nobody confirmed not to be in danger; none means
    /// a third of the TTL.
    pub danger: Option<Duration>,
}

/// Whether and how often a lease is extended by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the facade chooses one")]
pub enum AutoRenewal {
    /// Never: the holder extends, or the lease ends.
    #[default]
    Off,
    /// Every third of the TTL.
    Thirds,
    /// This often, and at least twice in the validity.
    Every(Duration),
}

impl RenewalPolicy {
    /// When to extend after an extension, or the acquisition, that began at `started`, by the die's throw
    /// `random`; none if the lease is not extended by itself.
    ///
    /// The time is spread by a tenth to either side, so that leases that were acquired together are not
    /// extended together for ever.
    #[must_use]
    pub fn next_renewal(&self, timing: &Timing, started: Instant, random: u64) -> Option<Instant> {
        let every = self.pace(timing)?;
        let tenth = share(every, 10);
        let wide = tenth.saturating_mul(2);
        let spread = share_of(wide, random);
        let at = started
            .saturating_add(every)
            .saturating_sub(tenth)
            .saturating_add(spread);
        // Leases that are due at nearly the same time are extended at the same time: one wake-up and one
        // write for each node.
        let soonest = started.saturating_add(SHORTEST_REST);
        Some(at.on_grid(share(every, 32)).max(soonest))
    }

    /// For how long an extension that nobody waits for is left to the nodes, of a lease that ends at `valid_until`: for a
    /// third of what is left, so that there is time for more tries.
    ///
    /// A node answers in the order in which it was asked. One that is busy with the extensions of other leases is not
    /// quicker if it is asked again meanwhile.
    #[must_use]
    pub fn patience(&self, timing: &Timing, now: Instant, valid_until: Instant) -> Duration {
        let left = valid_until.saturating_since(now);
        // In whole milliseconds, as people are told of it.
        let third =
            Duration::from_millis(u64::try_from(share(left, 3).as_millis()).unwrap_or(u64::MAX));
        timing.node_limit().max(third)
    }

    /// When to try again after an extension that began at `started` and failed at `now`, of a lease that ends at
    /// `valid_until`, by the die's throw `random`; none if the lease is not extended by itself. One try for each time limit
    /// of the nodes: silence has had its pause, a quick refusal gets one.
    ///
    /// What fails together, because the nodes cannot serve all of it in time, is spread, so that it does not fail together
    /// again: by an eighth of the time that is left.
    #[must_use]
    pub fn next_try(
        &self,
        timing: &Timing,
        (started, now, valid_until): (Instant, Instant, Instant),
        random: u64,
    ) -> Option<Instant> {
        let pause = self.pace(timing)?.min(timing.node_limit());
        let soon = now.saturating_add(SHORTEST_REST);
        let spread = share(valid_until.saturating_since(now), 8);
        let at = started.saturating_add(pause).max(soon);
        Some(at.saturating_add(share_of(spread, random)))
    }

    /// From when on a lease that ends at `valid_until` is in danger.
    #[must_use]
    pub fn in_danger_at(&self, timing: &Timing, valid_until: Instant) -> Instant {
        let danger = self
            .danger
            .unwrap_or_else(|| share(timing.ttl().as_duration(), 3));
        valid_until.saturating_sub(danger)
    }

    /// When a lease whose attempt began at `begun` must end.
    #[must_use]
    pub fn ends_at(&self, begun: Instant) -> Instant {
        self.most_hold
            .map_or(Instant::NEVER, |most| begun.saturating_add(most))
    }

    /// For how long a resource that is released at `now` must stay locked.
    #[must_use]
    pub fn keep(&self, begun: Instant, now: Instant) -> Option<Duration> {
        let until = begun.saturating_add(self.least_hold?);
        Some(until.saturating_since(now)).filter(|left| !left.is_zero())
    }

    fn pace(&self, timing: &Timing) -> Option<Duration> {
        let third = share(timing.ttl().as_duration(), 3);
        match self.renewal {
            AutoRenewal::Off => None,
            AutoRenewal::Thirds => Some(third),
            AutoRenewal::Every(every) => Some(every.min(share(timing.validity(), 2))),
        }
    }
}

/// Between two extensions of one lease, however short its pace is.
const SHORTEST_REST: Duration = Duration::from_millis(1);

#[expect(clippy::arithmetic_side_effects, reason = "no divisor here is zero")]
fn share(span: Duration, parts: u32) -> Duration {
    span / parts
}

/// The share of `span` that `random` is of all numbers.
fn share_of(span: Duration, random: u64) -> Duration {
    let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let scaled = u128::from(random).saturating_mul(u128::from(nanos)) >> 64;
    Duration::from_nanos(u64::try_from(scaled).unwrap_or(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{Drift, Ttl};

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn timing() -> Timing {
        let ttl = Ttl::new(Duration::from_millis(9_600)).expect("in range");
        Timing::new(ttl, Drift::DEFAULT, None).expect("it fits")
    }

    fn every(renewal: AutoRenewal) -> RenewalPolicy {
        RenewalPolicy {
            renewal,
            ..RenewalPolicy::default()
        }
    }

    #[test]
    fn renewals_come_every_third_of_the_ttl_give_or_take_a_tenth() {
        let thirds = every(AutoRenewal::Thirds);
        assert_eq!(thirds.next_renewal(&timing(), at(0), 0), Some(at(2_800)));
        // 3,520 ms, and down to the grid of 100 ms.
        assert_eq!(
            thirds.next_renewal(&timing(), at(0), u64::MAX),
            Some(at(3_500))
        );
        let off = every(AutoRenewal::Off);
        assert_eq!(off.next_renewal(&timing(), at(0), 0), None);
        assert_eq!(off.next_try(&timing(), (at(0), at(0), at(9)), 0), None);
    }

    #[test]
    fn a_pace_of_ones_own_leaves_room_for_a_second_try() {
        let slow = every(AutoRenewal::Every(Duration::from_secs(60)));
        let next = slow.next_renewal(&timing(), at(0), u64::MAX);
        assert!(next.is_some_and(|next| next < at(5_300)), "{next:?}");
        let limit = timing().node_limit();
        let next_try = |now, random| slow.next_try(&timing(), (at(7), now, at(1_700)), random);
        assert_eq!(next_try(at(8), 0), Some(at(7).saturating_add(limit)));
        assert_eq!(next_try(at(900), 0), Some(at(901)));
        assert_eq!(next_try(at(900), u64::MAX / 2 + 1), Some(at(951)));
    }

    #[test]
    fn the_longer_a_lease_lasts_the_longer_nodes_may_take_to_extend_it() {
        let patience = |now| RenewalPolicy::default().patience(&timing(), at(now), at(9_000));
        assert_eq!(patience(0), Duration::from_secs(3));
        assert_eq!(patience(6_000), Duration::from_secs(1));
        for late in [8_500, 9_000, 9_100] {
            assert_eq!(patience(late), timing().node_limit());
        }
    }

    #[test]
    fn no_pace_is_so_quick_that_extensions_follow_each_other_at_once() {
        let hasty = every(AutoRenewal::Every(Duration::from_nanos(1)));
        assert_eq!(hasty.next_renewal(&timing(), at(5), 0), Some(at(6)));
    }

    #[test]
    fn a_short_hold_keeps_the_rest() {
        let policy = RenewalPolicy {
            least_hold: Some(Duration::from_secs(5)),
            ..RenewalPolicy::default()
        };
        assert_eq!(policy.keep(at(0), at(4_000)), Some(Duration::from_secs(1)));
        assert_eq!(policy.keep(at(0), at(5_000)), None);
        assert_eq!(RenewalPolicy::default().keep(at(0), at(0)), None);
    }
}
