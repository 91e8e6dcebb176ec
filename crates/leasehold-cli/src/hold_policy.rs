//! When a lease is in danger, and when the command has to go.
//!
//! Everything here is counted back from the lease's end, by what the guard says remains: a timer only
//! wakes, and may do so late.

use std::time::Duration;

/// The rules for leases of one TTL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HoldPolicy {
    ttl: Duration,
    /// How long the command has between SIGTERM and SIGKILL.
    grace: Duration,
}

/// What the command may do while so much of the lease remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Run on.
    Held,
    /// Finish: it is asked to, by SIGTERM.
    Leaving,
    /// Nothing: it is killed.
    Over,
}

impl HoldPolicy {
    /// The rules for this TTL, or for a hold that may not even last so long.
    pub(crate) fn new(ttl: Duration, max_hold: Option<Duration>) -> Self {
        let ttl = max_hold.map_or(ttl, |most| most.min(ttl));
        let grace = (ttl / 4).min(Duration::from_secs(5)) - kill_before(ttl);
        Self { ttl, grace }
    }

    /// The same with another grace; if that leaves too little time for extensions to fail and be tried again, says
    /// how much there can be.
    pub(crate) fn with_grace(self, grace: Duration) -> Result<Self, Duration> {
        let most = self.ttl * 2 / 5;
        if grace > most {
            return Err(most);
        }
        Ok(Self { grace, ..self })
    }

    /// What the command may do.
    pub(crate) fn stage(self, remaining: Duration) -> Stage {
        if remaining <= self.kill_before() {
            Stage::Over
        } else if remaining <= self.terminate_before() {
            Stage::Leaving
        } else {
            Stage::Held
        }
    }

    /// How much of the lease is left when the user is told that it is in danger: it should have been
    /// extended by then.
    pub(crate) fn warn_before(self) -> Duration {
        self.ttl * 3 / 5
    }

    /// How long nothing has to be done about the lease.
    ///
    /// Never more than a sixth of the TTL, so that the watchdog hears of every extension long before it
    /// matters; and never more than half a second: timers stand still while the machine is suspended and the lease
    /// does not, so after waking up this bounds how long a lost lease goes unnoticed.
    pub(crate) fn rest(self, remaining: Duration) -> Duration {
        let marks = [self.terminate_before(), self.kill_before()];
        let next = marks.into_iter().find(|mark| *mark < remaining);
        remaining.saturating_sub(next.unwrap_or_default()).clamp(
            Duration::from_millis(1),
            Duration::from_millis(500).min(self.ttl / 6),
        )
    }

    /// How long the command has between SIGTERM and SIGKILL.
    pub(crate) fn grace(self) -> Duration {
        self.grace
    }

    /// How much of the lease is left when the command is asked to go.
    pub(crate) fn terminate_before(self) -> Duration {
        self.kill_before() + self.grace
    }

    /// How much of the lease is left when the command is killed.
    pub(crate) fn kill_before(self) -> Duration {
        kill_before(self.ttl)
    }
}

fn kill_before(ttl: Duration) -> Duration {
    (ttl / 10).min(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_command_is_asked_first_and_killed_before_the_lease_ends() {
        let policy = HoldPolicy::new(millis(2000), None);
        let stages = [
            (1980, Stage::Held),
            (501, Stage::Held),
            (500, Stage::Leaving),
            (201, Stage::Leaving),
            (200, Stage::Over),
            (0, Stage::Over),
        ];
        for (remaining, stage) in stages {
            assert_eq!(policy.stage(millis(remaining)), stage, "{remaining}");
        }
    }

    #[test]
    fn long_leases_do_not_give_up_early() {
        let policy = HoldPolicy::new(Duration::from_secs(3600), None);
        assert_eq!(policy.stage(millis(5001)), Stage::Held);
        assert_eq!(policy.stage(millis(1001)), Stage::Leaving);
    }

    #[test]
    fn a_hold_that_is_shorter_than_the_ttl_leaves_time_to_work() {
        let policy = HoldPolicy::new(millis(10_000), Some(millis(1_000)));
        assert_eq!(policy.stage(millis(1_000)), Stage::Held);
        assert_eq!(policy.stage(millis(250)), Stage::Leaving);
        assert_eq!(policy.stage(millis(100)), Stage::Over);
    }

    #[test]
    fn a_grace_ends_before_the_lease_and_leaves_time_to_extend() {
        let policy = HoldPolicy::new(millis(10_000), None);
        assert_eq!(policy.grace(), millis(1_500));
        assert_eq!(policy.with_grace(millis(4_001)).err(), Some(millis(4_000)));
        let policy = policy.with_grace(millis(4_000)).expect("it fits");
        assert_eq!(policy.stage(millis(5_001)), Stage::Held);
        assert_eq!(policy.stage(millis(5_000)), Stage::Leaving);
        assert_eq!(policy.stage(millis(1_000)), Stage::Over);
        assert!(policy.terminate_before() < policy.warn_before());
    }

    #[test]
    fn rest_ends_at_the_next_mark_and_never_spins() {
        let policy = HoldPolicy::new(millis(1200), None);
        let rests = [(1180, 200), (310, 10), (300, 180), (120, 120), (0, 1)];
        for (remaining, rest) in rests {
            assert_eq!(policy.rest(millis(remaining)), millis(rest), "{remaining}");
        }
    }
}
