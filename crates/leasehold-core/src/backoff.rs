//! When a link tries to reach a node again.

use crate::time::Instant;
use core::time::Duration;

/// Counts the failures and spaces the tries: the first at once, then ever longer pauses.
#[derive(Clone, Debug)]
pub struct Backoff {
    failures: u32,
    /// How long the last rest was.
    rested: Duration,
    up_since: Option<Instant>,
}

impl Backoff {
    /// Nothing was tried yet.
    pub const NEW: Self = Self {
        failures: 0,
        rested: Duration::ZERO,
        up_since: None,
    };

    /// The node can be asked, from `now` on.
    pub const fn succeeded(&mut self, now: Instant) {
        self.up_since = Some(now);
    }

    /// A try failed or a connection was lost, at `now`. How long to rest before the next try: nothing, or 25 ms to 2 s.
    pub fn failed(&mut self, now: Instant) -> Duration {
        let up = self.up_since.take();
        let up = up.map_or(Duration::ZERO, |since| now.saturating_since(since));
        self.failed_after(up, now.since_origin().subsec_nanos())
    }

    fn failed_after(&mut self, up: Duration, noise: u32) -> Duration {
        // A node that accepts and hangs up at once must not be dialled in a tight circle, so only a
        // connection that lasted makes the failures before it forgotten: for longer than was waited for it,
        // or a node that restarts every second would be waited for most of the time.
        if up >= self.rested.max(SHORTEST) {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.rested = pause(self.failures, noise);
        self.rested
    }
}

/// The pause after this many failures: between half and all of what doubles each time, so that those
/// who lost a node together do not come back together.
fn pause(failures: u32, noise: u32) -> Duration {
    let Some(doublings) = failures.checked_sub(2) else {
        return Duration::ZERO;
    };
    let whole = SHORTEST.saturating_mul(1 << doublings.min(10)).min(LONGEST);
    let share = (scatter(noise) % 1025).saturating_add(1024);
    whole
        .saturating_mul(share)
        .checked_div(2048)
        .unwrap_or(whole)
}

/// The finaliser of murmur3: neighbouring nanoseconds become numbers far apart.
const fn scatter(noise: u32) -> u32 {
    let noise = (noise ^ (noise >> 16)).wrapping_mul(0x85eb_ca6b);
    let noise = (noise ^ (noise >> 13)).wrapping_mul(0xc2b2_ae35);
    noise ^ (noise >> 16)
}

const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_try_comes_at_once_and_the_pauses_grow_to_a_limit() {
        assert_eq!(pause(1, 7), Duration::ZERO);
        for (failures, whole_ms) in [(2, 50), (3, 100), (7, 1_600), (8, 2_000), (u32::MAX, 2_000)] {
            let [half, whole] = [whole_ms >> 1, whole_ms].map(Duration::from_millis);
            for noise in (0..1_000_000_000).step_by(999_983) {
                let pause = pause(failures, noise);
                assert!((half..=whole).contains(&pause), "{failures}: {pause:?}");
            }
        }
    }

    #[test]
    fn a_node_that_is_up_for_longer_than_it_was_waited_for_is_dialled_at_once() {
        let mut backoff = Backoff::NEW;
        let up = Duration::from_millis(300);
        for _ in 0..20 {
            assert_eq!(backoff.failed_after(up, 7), Duration::ZERO);
        }
        // One that hangs up at once is waited for ever longer, and not forgiven for a moment.
        while backoff.failed_after(Duration::ZERO, 7) < Duration::from_secs(1) {}
        assert!(backoff.failed_after(up, 7) > up);
    }

    #[test]
    fn a_connection_that_did_not_last_does_not_reset_the_pauses() {
        let mut backoff = Backoff::NEW;
        let now = Instant::ORIGIN.saturating_add(Duration::from_secs(7));
        assert_eq!(backoff.failed(now), Duration::ZERO);
        backoff.succeeded(now);
        assert!(backoff.failed(now) > Duration::ZERO);
    }
}
