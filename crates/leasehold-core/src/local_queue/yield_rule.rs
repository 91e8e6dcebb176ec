//! How often in a row this engine has had a resource, and when others shall have their turn.

use crate::{fence::counter_of, resource::Resource, time::Instant};
use alloc::{vec, vec::Vec};
use core::time::Duration;

/// What is remembered of resources that were held lately: a few of them, since a caller that comes back at once is the one that may
/// keep others out.
#[derive(Clone, Debug, Hash)]
pub(super) struct YieldRule(Vec<Option<RecentWinner>>);

#[derive(Clone, Debug, Hash)]
struct RecentWinner {
    resource: Resource,
    /// How often in a row it was won here, and since when.
    wins: u32,
    since: Instant,
    /// Until when it is assumed that others want it too.
    contended_until: Instant,
}

/// How the winner fared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentionLevel {
    /// Nobody was in the way.
    None,
    /// Another had it before.
    Refused,
    /// Others wanted it at the same time, and had it first.
    Overtaken,
}

impl YieldRule {
    /// Nothing is remembered.
    pub(super) fn new() -> Self {
        Self(vec![None; SLOTS])
    }

    /// The resource was won.
    pub(super) fn won(&mut self, now: Instant, resource: &Resource, level: ContentionLevel) {
        let Some(slot) = self.0.get_mut(slot_of(resource)) else {
            return;
        };
        let winner = match slot {
            Some(winner) if winner.resource == *resource => winner,
            other => other.insert(RecentWinner {
                resource: resource.clone(),
                wins: 0,
                since: now,
                contended_until: Instant::ORIGIN,
            }),
        };
        if level != ContentionLevel::None {
            (winner.wins, winner.since) = (0, now);
        }
        winner.wins = winner.wins.saturating_add(1);
        if level == ContentionLevel::Overtaken {
            winner.contended_until = now.saturating_add(MEMORY);
        }
    }

    /// Whether others want it too, as far as is known.
    pub(super) fn is_contended(&self, now: Instant, resource: &Resource) -> bool {
        let winner = self.0.get(slot_of(resource)).and_then(Option::as_ref);
        winner.is_some_and(|winner| winner.resource == *resource && now < winner.contended_until)
    }

    /// Whether others shall have their turn before the next of our `waiting` callers. Asked once before each.
    pub(super) fn is_over(&mut self, now: Instant, resource: &Resource, waiting: usize) -> bool {
        let winner = self.0.get_mut(slot_of(resource)).and_then(Option::as_mut);
        let Some(winner) = winner.filter(|winner| winner.resource == *resource) else {
            return false;
        };
        let is_over = if now < winner.contended_until {
            let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
            winner.wins >= waiting.clamp(1, MOST_OF_MANY)
        } else {
            winner.wins >= MOST_ALONE && now.saturating_since(winner.since) >= LONGEST_ALONE
        };
        if is_over {
            (winner.wins, winner.since) = (0, now);
        }
        is_over
    }
}

fn slot_of(resource: &Resource) -> usize {
    usize::from(counter_of(resource)) % SLOTS
}

/// How many resources are remembered.
const SLOTS: usize = 64;

/// How long it is assumed that others still want what they once had.
const MEMORY: Duration = Duration::from_secs(1);

/// How many of those who wait here have their turns in a row while others wait elsewhere.
const MOST_OF_MANY: u32 = 16;

/// After how many turns in a row others get a chance, though nothing is known of any.
const MOST_ALONE: u32 = 32;

/// And not before this time has passed: a chance takes two milliseconds, however short the turns are.
const LONGEST_ALONE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    #[test]
    fn whoever_has_rivals_lets_them_have_their_turn() {
        let resource = Resource::new("r").expect("a name");
        let mut yield_rule = YieldRule::new();
        yield_rule.won(at(0), &resource, ContentionLevel::Overtaken);
        assert!(!yield_rule.is_over(at(1), &resource, 2), "two wait here");
        assert!(yield_rule.is_over(at(1), &resource, 1));
        assert!(!yield_rule.is_over(at(1), &resource, 1), "once");
        yield_rule.won(at(2), &resource, ContentionLevel::None);
        assert!(yield_rule.is_over(at(999), &resource, 0));
        yield_rule.won(at(999), &resource, ContentionLevel::None);
        assert!(
            !yield_rule.is_over(at(1_001), &resource, 1),
            "they have gone"
        );
    }

    #[test]
    fn whoever_knows_of_no_rivals_makes_room_now_and_then() {
        let resource = Resource::new("r").expect("a name");
        let mut yield_rule = YieldRule::new();
        let win = |yield_rule: &mut YieldRule, millis, level| {
            assert!(!yield_rule.is_over(at(millis), &resource, 9), "{millis}");
            yield_rule.won(at(millis), &resource, level);
        };
        // Many short turns in a row, and then few long ones.
        for millis in 0..100 {
            win(&mut yield_rule, millis, ContentionLevel::None);
        }
        assert!(yield_rule.is_over(at(100), &resource, 9));
        for turn in 0..MOST_ALONE {
            win(
                &mut yield_rule,
                200 + 50 * u64::from(turn),
                ContentionLevel::None,
            );
        }
        assert!(yield_rule.is_over(at(2_000), &resource, 9));
        // Another had it since.
        for millis in 2_000..2_099 {
            win(&mut yield_rule, millis, ContentionLevel::None);
        }
        win(&mut yield_rule, 2_099, ContentionLevel::Refused);
        win(&mut yield_rule, 2_198, ContentionLevel::None);
        assert!(
            !yield_rule.is_contended(at(2_198), &resource),
            "it was only held"
        );
    }
}
