//! How long an acquisition goes on, and when it looks again without being called.

use crate::{
    failure::{Cause, Ended},
    lock_config::LockConfig,
    owner::Seed,
    retry::Retry,
    time::Instant,
};
use core::time::Duration;

/// The tries that an acquisition has used up, and the pause that is running.
///
/// A try is used up by an attempt that begins when a pause ends, and by a pause that ends without reason to ask. An
/// attempt for which somebody was called costs none: so the tries bound the time, however busy a resource is.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Tries {
    begun: Instant,
    deadline: Option<Instant>,
    attempts: u32,
    used: u32,
    /// How many of the tries nodes abstained from: these do not count.
    abstained: u32,
    /// Until when they do not count: nodes that restart again and again are not waited for for ever.
    abstention_ends: Option<Instant>,
    /// When an attempt last failed of something else than silence, or we began.
    reached: Instant,
    /// When the pause ends.
    next: Instant,
    /// Whether the nodes are asked when the pause ends, even if there is no reason to: the deadline is near.
    must_ask: bool,
    /// Whether a try was given half of the time that was left.
    was_halved: bool,
}

impl Tries {
    /// None used up; the first is due now.
    pub(crate) fn new(now: Instant, patience: Option<Duration>) -> Self {
        Self {
            begun: now,
            deadline: patience.map(|patience| now.saturating_add(patience)),
            attempts: 0,
            used: 0,
            abstained: 0,
            abstention_ends: None,
            reached: now,
            next: now,
            must_ask: false,
            was_halved: false,
        }
    }

    /// How many attempts there were.
    pub(crate) const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// When the caller's patience ends; never, if it does not.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline.unwrap_or(Instant::NEVER)
    }

    /// For how long the caller waits; for ever, if that has no end.
    pub(crate) fn patience(&self) -> Duration {
        self.deadline().saturating_since(self.begun)
    }

    /// How long it has taken.
    pub(crate) const fn waited(&self, now: Instant) -> Duration {
        now.saturating_since(self.begun)
    }

    /// When the pause that is running ends.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// When to look again while others of this manager come first, who call. Where tries have an end, each pause uses up one;
    /// otherwise there is nothing to do before the deadline is near.
    pub(crate) fn next_behind_others(&self, pace: Pace<'_>) -> Instant {
        if self.must_ask || !pace.retry.allows_more(u32::MAX) {
            return self.next;
        }
        let last = self.deadline.map(|at| at.saturating_sub(pace.node_limit));
        last.map_or(Instant::NEVER, |last| self.next.max(last))
    }

    /// Begins then at the earliest, but before half of the patience is over. Says when.
    pub(crate) fn put_off(&mut self, at: Instant) -> Instant {
        let half = self.patience().checked_div(2).unwrap_or_default();
        let at = at.min(self.begun.saturating_add(half));
        if self.attempts == 0 {
            self.next = self.next.max(at);
        }
        at
    }

    /// An attempt begins. Says its number.
    pub(crate) fn begin(&mut self, now: Instant) -> u32 {
        if now >= self.next {
            self.used = self.used.saturating_add(1);
        }
        self.go_on()
    }

    /// A further attempt of the same try is due now: nothing before is waited for.
    pub(crate) fn goes_on(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// A further attempt of the same try begins. Says its number.
    pub(crate) const fn go_on(&mut self) -> u32 {
        let number = self.attempts;
        self.attempts = number.saturating_add(1);
        number
    }

    /// The pause is over, and there is no reason to ask. Uses up a try, unless it is the last: that one asks.
    pub(crate) fn skip(&mut self, now: Instant, pace: Pace<'_>) -> bool {
        let used = self.used.saturating_add(1);
        let is_last = !pace.retry.allows_more(used.saturating_sub(self.abstained));
        if self.must_ask || is_last {
            return false;
        }
        self.used = used;
        self.pause(now, Duration::ZERO, pace);
        true
    }

    /// An attempt has failed. Says why there is no other, or draws the pause before the next.
    pub(crate) fn failed(&mut self, now: Instant, cause: &Cause, pace: Pace<'_>) -> Option<Ended> {
        if !cause.is_unreachable() {
            self.reached = now;
        }
        let retry = pace.retry;
        let unreachable = now.saturating_since(self.reached);
        if matches!(cause, Cause::Disagreement { .. }) {
            return Some(Ended::Misuse);
        }
        let mut least = Duration::ZERO;
        if let Cause::Abstained { left, .. } = cause {
            least = (*left).min(LONGEST_ABSTENTION);
            let ends = now.saturating_add(left.saturating_mul(2));
            if now < *self.abstention_ends.get_or_insert(ends) {
                self.abstained = self.abstained.saturating_add(1).min(self.used);
            }
        }
        if now >= self.deadline() {
            return Some(Ended::Patience);
        }
        let counted = self.used.saturating_sub(self.abstained);
        if retry.tries_once() || !retry.allows_more(counted) {
            return Some(Ended::Tries);
        }
        if cause.is_unreachable() && retry.gives_up_unreachable(unreachable) {
            return Some(Ended::Unreachable);
        }
        // A caller that was notified goes on with the pause that was running.
        if now >= self.next {
            self.pause(now, least, pace);
        }
        None
    }

    fn pause(&mut self, now: Instant, least: Duration, pace: Pace<'_>) {
        let pause = pace.retry.pause(self.used, pace.seed.jitter(self.used));
        // Even without a pause the next attempt waits for the next look at the clock: the release of
        // this one goes out first, or its keys would refuse the next attempt.
        self.next = now.saturating_add(pause.max(least));
        self.must_ask = false;
        if let Some(deadline) = self.deadline
            && self.next >= deadline
        {
            self.must_ask = true;
            self.next = self.hurried_try_at(now, deadline, pace.node_limit);
        }
    }

    /// When to ask again if a pause does not fit before the deadline: with as much time left as a node may take; if there
    /// is less, with half of it, once; and then at the deadline, which ends it. The caller's patience is used up in full,
    /// since the lock may become free at its last moment.
    #[expect(clippy::arithmetic_side_effects, reason = "the divisor is not zero")]
    fn hurried_try_at(&mut self, now: Instant, deadline: Instant, limit: Duration) -> Instant {
        let in_full = deadline.saturating_sub(limit);
        if in_full > now {
            in_full
        } else if self.was_halved {
            deadline
        } else {
            self.was_halved = true;
            let half = deadline.saturating_since(now) / 2;
            now.saturating_add(half)
        }
    }
}

/// How the pauses are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace<'a> {
    retry: &'a Retry,
    seed: &'a Seed,
    node_limit: Duration,
}

impl<'a> Pace<'a> {
    /// As this config says, with the throws of this seed.
    pub(crate) fn of(config: &'a LockConfig, seed: &'a Seed) -> Self {
        let (retry, node_limit) = (&config.retry, config.timing.node_limit());
        Self {
            retry,
            seed,
            node_limit,
        }
    }
}

/// How long an attempt that nodes abstained from rests at most before the next: somebody may admit the nodes.
const LONGEST_ABSTENTION: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use core::num::NonZeroU32;

    #[test]
    fn who_waits_behind_others_looks_again_when_the_deadline_is_near_unless_tries_have_an_end() {
        let (seed, node_limit) = (Seed::new([7; Seed::LENGTH]), Duration::from_millis(500));
        let now = Instant::from_origin(Duration::from_secs(100));
        let due = |tries: Option<u32>, patience: Option<u64>| {
            let retry = &Retry::default().with_tries(tries.and_then(NonZeroU32::new));
            let pace = Pace {
                retry,
                seed: &seed,
                node_limit,
            };
            let mut tries = Tries::new(now, patience.map(Duration::from_secs));
            let _ = tries.begin(now);
            let ended = tries.failed(now, &Cause::IN_LINE, pace);
            assert_eq!(ended, None);
            let due = tries.next_behind_others(pace);
            (due != tries.next(), due.saturating_since(now))
        };
        assert!(due(None, None).0);
        assert!(due(None, None).1 > Duration::from_secs(1_000_000));
        assert_eq!(due(None, Some(60)), (true, Duration::from_millis(59_500)));
        assert!(!due(Some(20), None).0 && !due(Some(20), Some(60)).0);
        // Near the deadline it looks as everybody does.
        assert!(!due(None, Some(1)).0 || due(None, Some(1)).1 == node_limit);
    }
}
