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
    /// How long it was away when it last let others come first.
    away: Duration,
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
            Some(winner) if winner.resource == *resource => {
                if winner.wins == 0 {
                    winner.away = now.saturating_since(winner.since);
                }
                winner
            }
            other => other.insert(RecentWinner {
                resource: resource.clone(),
                wins: 0,
                since: now,
                contended_until: Instant::ORIGIN,
                away: Duration::ZERO,
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

    /// For how long others shall come first, before the next of our `waiting` callers, if they shall. Asked once before each.
    pub(super) fn room(
        &mut self,
        now: Instant,
        resource: &Resource,
        waiting: usize,
    ) -> Option<Duration> {
        let winner = self.0.get_mut(slot_of(resource)).and_then(Option::as_mut);
        let winner = winner.filter(|winner| winner.resource == *resource)?;
        let is_contended = now < winner.contended_until;
        let is_over = if is_contended {
            let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
            winner.wins >= waiting.clamp(1, MOST_OF_MANY)
        } else {
            winner.wins >= MOST_ALONE && now.saturating_since(winner.since) >= LONGEST_ALONE
        };
        if is_over {
            (winner.wins, winner.since) = (0, now);
        }
        is_over.then(|| winner.room(is_contended))
    }
}

impl RecentWinner {
    /// For how long others come first.
    fn room(&self, is_contended: bool) -> Duration {
        // Whoever asks before the others have had it is refused at each release, and each time the node has three commands
        // more. So we are back when a third of them is still to come: in time, if they have become fewer. If nobody took
        // it, it was away for no longer than the room, and the next is shorter: so two take turns without a pause.
        match is_contended {
            true => two_thirds(self.away).clamp(CHANCE, MOST_ROOM),
            false => CHANCE,
        }
    }
}

fn two_thirds(time: Duration) -> Duration {
    time.saturating_mul(2).checked_div(3).unwrap_or_default()
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

/// For how long others get a chance to have their turn at least: to be told, to wait for their jitter, and to ask.
const CHANCE: Duration = Duration::from_millis(2);

/// And at most, since they may have gone or be stuck, and then nobody has it meanwhile.
const MOST_ROOM: Duration = Duration::from_millis(20);

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
        assert!(
            yield_rule.room(at(1), &resource, 2).is_none(),
            "two wait here"
        );
        assert!(yield_rule.room(at(1), &resource, 1).is_some());
        assert!(yield_rule.room(at(1), &resource, 1).is_none(), "once");
        yield_rule.won(at(2), &resource, ContentionLevel::None);
        assert!(yield_rule.room(at(999), &resource, 0).is_some());
        yield_rule.won(at(999), &resource, ContentionLevel::None);
        assert!(
            yield_rule.room(at(1_001), &resource, 1).is_none(),
            "they have gone"
        );
    }

    #[test]
    fn several_resources_are_remembered_at_a_time() {
        let [one, two] = ["r", "another"].map(|name| Resource::new(name).expect("a name"));
        let mut yield_rule = YieldRule::new();
        for resource in [&one, &two] {
            yield_rule.won(at(0), resource, ContentionLevel::Overtaken);
        }
        assert!(yield_rule.room(at(1), &one, 1).is_some());
        assert!(yield_rule.room(at(1), &two, 1).is_some());
    }

    #[test]
    fn who_waited_long_for_its_next_turn_makes_more_room_and_less_if_nobody_came() {
        let resource = Resource::new("r").expect("a name");
        let mut yield_rule = YieldRule::new();
        yield_rule.won(at(0), &resource, ContentionLevel::Overtaken);
        let mut now = 0;
        let mut room_after = |millis, level| {
            let room = yield_rule.room(at(now), &resource, 1);
            now += millis;
            yield_rule.won(at(now), &resource, level);
            room.map(|room| room.as_millis())
        };
        let rooms = [
            // Nothing is known of how many they are.
            (room_after(12, ContentionLevel::Overtaken), 2),
            (room_after(15, ContentionLevel::Overtaken), 8),
            (room_after(500, ContentionLevel::Refused), 10),
            // One of them keeps it for long, and then they have gone.
            (room_after(20, ContentionLevel::None), 20),
            (room_after(13, ContentionLevel::None), 13),
            (room_after(8, ContentionLevel::None), 8),
            (room_after(5, ContentionLevel::None), 5),
            (room_after(3, ContentionLevel::None), 3),
            (room_after(2, ContentionLevel::None), 2),
            (room_after(2, ContentionLevel::None), 2),
        ];
        for (index, (room, millis)) in rooms.into_iter().enumerate() {
            assert_eq!(room, Some(millis), "{index}");
        }
    }

    #[test]
    fn how_long_it_was_away_counts_from_when_it_made_room() {
        let resource = Resource::new("r").expect("a name");
        let mut yield_rule = YieldRule::new();
        yield_rule.won(at(0), &resource, ContentionLevel::Overtaken);
        yield_rule.won(at(300), &resource, ContentionLevel::Overtaken);
        let room = yield_rule.room(at(301), &resource, 1);
        assert_eq!(room, Some(CHANCE), "it did not make room, but kept it");
    }

    #[test]
    fn whoever_knows_of_no_rivals_makes_room_now_and_then() {
        let resource = Resource::new("r").expect("a name");
        let mut yield_rule = YieldRule::new();
        let win = |yield_rule: &mut YieldRule, millis, level| {
            assert!(
                yield_rule.room(at(millis), &resource, 9).is_none(),
                "{millis}"
            );
            yield_rule.won(at(millis), &resource, level);
        };
        // Many short turns in a row, and then few long ones.
        for millis in 0..100 {
            win(&mut yield_rule, millis, ContentionLevel::None);
        }
        assert!(yield_rule.room(at(100), &resource, 9).is_some());
        for turn in 0..MOST_ALONE {
            win(
                &mut yield_rule,
                200 + 50 * u64::from(turn),
                ContentionLevel::None,
            );
        }
        assert!(yield_rule.room(at(2_000), &resource, 9).is_some());
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
