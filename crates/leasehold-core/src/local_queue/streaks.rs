//! How often in a row this engine has had a resource, and when others shall have their turn.

use crate::{fence::counter_of, resource::Resource, time::Instant};
use alloc::{vec, vec::Vec};
use core::time::Duration;

/// What is remembered of resources that were held lately: a few of them, since whoever comes back at once is who may
/// keep others out.
#[derive(Clone, Debug, Hash)]
pub(super) struct Streaks(Vec<Option<Streak>>);

#[derive(Clone, Debug, Hash)]
struct Streak {
    resource: Resource,
    /// How often in a row it was won here.
    wins: u32,
    /// Until when it is assumed that others want it too.
    rivals_until: Instant,
}

/// How the winner fared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rivalry {
    /// Nobody was in the way.
    None,
    /// Another had it before.
    Refused,
    /// Others wanted it at the same time, and had it first.
    Overtaken,
}

impl Streaks {
    /// Nothing is remembered.
    pub(super) fn new() -> Self {
        Self(vec![None; SLOTS])
    }

    /// The resource was won.
    pub(super) fn won(&mut self, now: Instant, resource: &Resource, rivalry: Rivalry) {
        let Some(slot) = self.0.get_mut(slot_of(resource)) else {
            return;
        };
        let known = slot.take().filter(|streak| streak.resource == *resource);
        let mut streak = known.unwrap_or_else(|| Streak {
            resource: resource.clone(),
            wins: 0,
            rivals_until: Instant::ORIGIN,
        });
        streak.wins = if rivalry == Rivalry::None {
            streak.wins.saturating_add(1)
        } else {
            1
        };
        if rivalry == Rivalry::Overtaken {
            streak.rivals_until = now.saturating_add(MEMORY);
        }
        *slot = Some(streak);
    }

    /// Whether others want it too, as far as is known.
    pub(super) fn has_rivals(&self, now: Instant, resource: &Resource) -> bool {
        let streak = self.0.get(slot_of(resource)).and_then(Option::as_ref);
        streak.is_some_and(|streak| streak.resource == *resource && now < streak.rivals_until)
    }

    /// Whether others shall have their turn before the next of ours, of whom `waiting` wait. Asked once before each.
    pub(super) fn is_over(&mut self, now: Instant, resource: &Resource, waiting: usize) -> bool {
        let streak = self.0.get_mut(slot_of(resource)).and_then(Option::as_mut);
        let Some(streak) = streak.filter(|streak| streak.resource == *resource) else {
            return false;
        };
        let most = if now < streak.rivals_until {
            u32::try_from(waiting)
                .unwrap_or(u32::MAX)
                .clamp(1, MOST_OF_MANY)
        } else {
            MOST_ALONE
        };
        let is_over = streak.wins >= most;
        if is_over {
            streak.wins = 0;
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

/// After how many turns in a row others get a chance of whom nothing is known.
const MOST_ALONE: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    #[test]
    fn whoever_has_rivals_lets_them_have_their_turn() {
        let resource = Resource::new("r").expect("a name");
        let mut streaks = Streaks::new();
        streaks.won(at(0), &resource, Rivalry::Overtaken);
        assert!(!streaks.is_over(at(1), &resource, 2), "two wait here");
        assert!(streaks.is_over(at(1), &resource, 1));
        assert!(!streaks.is_over(at(1), &resource, 1), "once");
        streaks.won(at(2), &resource, Rivalry::None);
        assert!(streaks.is_over(at(999), &resource, 0));
        streaks.won(at(999), &resource, Rivalry::None);
        assert!(!streaks.is_over(at(1_001), &resource, 1), "they have gone");
    }

    #[test]
    fn whoever_knows_of_no_rivals_makes_room_now_and_then() {
        let resource = Resource::new("r").expect("a name");
        let mut streaks = Streaks::new();
        for _ in 0..MOST_ALONE {
            assert!(!streaks.is_over(at(0), &resource, 9));
            streaks.won(at(0), &resource, Rivalry::None);
        }
        assert!(streaks.is_over(at(0), &resource, 9));
        streaks.won(at(1), &resource, Rivalry::Refused);
        assert!(!streaks.has_rivals(at(1), &resource), "it was only held");
    }
}
