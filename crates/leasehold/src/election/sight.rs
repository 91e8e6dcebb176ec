//! What an observer makes of what it sees, one look after the other.
//!
//! While the leader changes, some nodes have the old leader's keys and some the new one's, or those of candidates who
//! try. That is over in milliseconds and is no news. So it is told that nothing is known only when that has lasted for a
//! while.

use super::{ElectionState, Leader};
use crate::inspection::Inspection;
use leasehold_core::Instant;
use std::time::Duration;

/// What is known of the leader, and since when.
#[derive(Debug)]
pub(crate) struct LeaderSight {
    state: ElectionState,
    since: Instant,
    /// Who was seen to lead last, and since when.
    last: Option<(Leader, Instant)>,
    told: Option<ElectionState>,
}

impl LeaderSight {
    pub(crate) const fn begin(now: Instant) -> Self {
        Self {
            state: ElectionState::Unknown,
            since: now,
            last: None,
            told: None,
        }
    }

    /// Takes note of a look.
    pub(crate) fn see(&mut self, seen: &Inspection, now: Instant) {
        self.note(ElectionState::of(seen), now);
    }

    fn note(&mut self, seen: ElectionState, now: Instant) {
        if let ElectionState::Led(mut leader) = seen {
            // Who was out of sight for a while is the one it was.
            let last = self.last.take();
            let last = last.filter(|(last, _)| last.owner == leader.owner);
            let since = last.as_ref().map_or(now, |(_, since)| *since);
            if let Some((last, since)) = last {
                // Later it is other locks that are counted.
                let is_new = now < since.saturating_add(DOUBT);
                let counted = leader.term_at_most.filter(|_| is_new);
                leader.term_at_most = last.term_at_most.max(counted);
            }
            self.last = Some((leader.clone(), since));
            (self.state, self.since) = (ElectionState::Led(leader), since);
        } else if seen != self.state {
            (self.state, self.since) = (seen, now);
        }
    }

    /// What is to be told now, if anything. It counts as told then.
    pub(crate) fn tell(&mut self, now: Instant) -> Option<ElectionState> {
        let is_due = self.settles().is_some_and(|at| at <= now);
        is_due.then(|| self.told.insert(self.state.clone()).clone())
    }

    /// When there is something to tell, unless more is seen; none if it was told.
    pub(crate) fn settles(&self) -> Option<Instant> {
        let told = self.told.as_ref();
        if told.is_some_and(|told| told.is_told_by(&self.state)) {
            return None;
        }
        Some(match self.state {
            ElectionState::Unknown => self.since.saturating_add(DOUBT),
            ElectionState::Led(_) | ElectionState::NoLeader => self.since,
        })
    }
}

/// For how long nothing may be known before that is told, and for how long what nodes have counted may be of a leader that
/// is new.
const DOUBT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{FencingToken, Owner};

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn led(owner: &[u8], term: Option<u64>) -> ElectionState {
        ElectionState::Led(Leader {
            owner: Owner::from_bytes(owner).expect("a few bytes"),
            term_at_most: term.and_then(FencingToken::new),
            remaining: None,
        })
    }

    #[test]
    fn a_new_leaders_term_may_still_grow_and_one_that_is_known_is_left_as_it_is() {
        let leader = |term| led(b"a", Some(term));
        let mut sight = LeaderSight::begin(at(0));
        assert_eq!(sight.settles(), Some(at(1_000)));
        for (millis, seen, expected) in [
            (10, 5, Some(5)),
            (20, 7, Some(7)),
            (30, 6, None),
            (1_009, 8, Some(8)),
            (1_010, 9, None),
        ] {
            sight.note(leader(seen), at(millis));
            let told = sight.tell(at(millis));
            assert_eq!(told, expected.map(leader), "after {millis} ms");
        }
        // Too few nodes answer for a moment, and others were counted meanwhile.
        sight.note(ElectionState::Unknown, at(2_000));
        assert_eq!(sight.tell(at(2_999)), None);
        assert_eq!(sight.settles(), Some(at(3_000)));
        sight.note(leader(900), at(2_999));
        assert_eq!(sight.tell(at(3_000)), None, "it is the same one");
        sight.note(ElectionState::NoLeader, at(4_000));
        assert_eq!(sight.tell(at(4_000)), Some(ElectionState::NoLeader));
        sight.note(led(b"b", None), at(5_000));
        assert_eq!(sight.tell(at(5_000)), Some(led(b"b", None)));
    }

    #[test]
    fn that_nothing_is_known_is_told_after_a_second_and_once() {
        let mut sight = LeaderSight::begin(at(0));
        sight.note(ElectionState::NoLeader, at(10));
        assert_eq!(sight.tell(at(10)), Some(ElectionState::NoLeader));
        sight.note(ElectionState::Unknown, at(20));
        sight.note(ElectionState::Unknown, at(900));
        assert_eq!(sight.tell(at(1_019)), None);
        assert_eq!(sight.tell(at(1_020)), Some(ElectionState::Unknown));
        sight.note(ElectionState::Unknown, at(5_000));
        assert_eq!(sight.settles(), None);
    }
}
