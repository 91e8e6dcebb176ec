//! When slots are to be woken.
//!
//! Hardly any time is ever reached: a vote is decided long before it closes, and a lease is released long before it is to
//! be renewed. And nearly all times are "now and so much", of a few amounts. So a time goes to the end of a *lane* whose
//! last is before it, and leaves it from wherever it stands, since it knows its neighbours. What fits behind no lane goes
//! to a tree.

use crate::time::Instant;
use alloc::{collections::BTreeSet, vec::Vec};

/// The times of slots. Of equal times the smaller `K` is first, in whichever order they were set.
#[derive(Clone, Debug)]
pub(super) struct Timers<K> {
    /// The heads of the lanes, and behind them the slots. Each lane is a ring in order of time, from its head to its head.
    links: Vec<Link<K>>,
    /// What fits behind no lane.
    others: BTreeSet<(Instant, K, u32)>,
}

/// Alone in its ring is a slot that sleeps, or that is among the others.
#[derive(Clone, Copy, Debug)]
struct Link<K> {
    at: Instant,
    key: K,
    before: u32,
    behind: u32,
    is_other: bool,
}

impl<K: Copy + Ord> Timers<K> {
    pub(super) const fn new() -> Self {
        Self {
            links: Vec::new(),
            others: BTreeSet::new(),
        }
    }

    /// Wakes the slot then and not before, or never.
    pub(super) fn set(&mut self, slot: u32, due: Option<(Instant, K)>) {
        let own = slot.saturating_add(LANES);
        match self.links.get(index(own)) {
            Some(link) if link.before != own || link.is_other => self.unlink(own),
            Some(_) => {}
            None => self.make_room(own, due),
        }
        if let Some((at, key)) = due {
            self.link(own, at, key);
        }
    }

    /// When the next is to be woken.
    pub(super) fn next(&self) -> Option<Instant> {
        let of_lane =
            |head: &Link<K>| (head.behind >= LANES).then(|| self.links[index(head.behind)].at);
        let heads = self.links.iter().take(index(LANES));
        let soonest = heads.filter_map(of_lane).min();
        match self.others.first() {
            None => soonest,
            Some((at, ..)) => Some(soonest.map_or(*at, |lane| lane.min(*at))),
        }
    }

    /// The slot that is to be woken now. It has no time any more then.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<u32> {
        let (_, _, own) = self.first().filter(|(at, _, _)| *at <= now)?;
        self.unlink(own);
        own.checked_sub(LANES)
    }

    fn first(&self) -> Option<(Instant, K, u32)> {
        let of_lane = |head: &Link<K>| {
            (head.behind >= LANES).then(|| {
                let link = &self.links[index(head.behind)];
                (link.at, link.key, head.behind)
            })
        };
        let heads = self.links.iter().take(index(LANES));
        let others = self.others.first().copied();
        heads.filter_map(of_lane).chain(others).min()
    }

    fn unlink(&mut self, own: u32) {
        let link = &mut self.links[index(own)];
        let (before, behind) = (link.before, link.behind);
        (link.before, link.behind) = (own, own);
        if core::mem::take(&mut link.is_other) {
            self.others.remove(&(link.at, link.key, own));
        }
        if before != own {
            self.links[index(before)].behind = behind;
            self.links[index(behind)].before = before;
        }
    }

    fn link(&mut self, own: u32, at: Instant, key: K) {
        // The first that fits: so the lanes keep to the order of their lasts, and those behind are open for what is sooner.
        let lane = (0..LANES).find(|head| {
            let last = self.links[index(*head)].before;
            let link = &self.links[index(last)];
            link.at < at || link.at == at && (link.key, last) < (key, own)
        });
        let before = lane.map_or(own, |head| self.links[index(head)].before);
        let behind = lane.unwrap_or(own);
        let is_other = lane.is_none();
        if is_other {
            self.others.insert((at, key, own));
        } else {
            self.links[index(before)].behind = own;
            self.links[index(behind)].before = own;
        }
        self.links[index(own)] = Link {
            at,
            key,
            before,
            behind,
            is_other,
        };
    }

    /// For this slot and those before it, if it is to be woken. They sleep.
    #[inline(never)]
    fn make_room(&mut self, own: u32, due: Option<(Instant, K)>) {
        let Some((_, key)) = due else {
            return;
        };
        while self.links.len() <= index(own) {
            let next = u32::try_from(self.links.len()).expect("memory ends before numbers do");
            self.links.push(Link {
                at: Instant::ORIGIN,
                key,
                before: next,
                behind: next,
                is_other: false,
            });
        }
    }
}

/// How many lanes there are.
const LANES: u32 = 8;

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::splitmix;
    use alloc::collections::BTreeMap;
    use core::time::Duration;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    #[test]
    fn slots_are_woken_in_order_and_one_that_was_put_off_only_once() {
        let mut timers = Timers::new();
        for (slot, millis) in [
            (0, Some(5)),
            (1, Some(3)),
            (0, Some(1)),
            (2, Some(4)),
            (2, None),
        ] {
            timers.set(slot, millis.map(|millis| (at(millis), slot)));
        }
        assert_eq!(timers.next(), Some(at(1)));
        assert_eq!(timers.take_due(at(2)), Some(0));
        assert_eq!(timers.take_due(at(2)), None);
        assert_eq!(timers.take_due(at(9)), Some(1));
        assert_eq!((timers.take_due(at(9)), timers.next()), (None, None));
    }

    #[test]
    fn times_that_come_in_order_stand_in_lanes_and_not_in_the_tree() {
        let mut timers = Timers::new();
        for turn in 0..300_u32 {
            // Most are put off before they are reached.
            let slot = turn % 100;
            timers.set(slot, Some((at(u64::from(turn)), slot)));
            assert!(timers.others.is_empty(), "{turn}");
        }
    }

    #[test]
    fn the_lanes_agree_with_a_sorted_list_whatever_is_put_off() {
        let (mut timers, mut expected) = (Timers::new(), BTreeMap::new());
        let (mut were_empty, mut most_others) = (0, 0);
        for turn in 0..60_000_u64 {
            let dice = splitmix(turn);
            let slot = u32::from(dice.to_le_bytes()[0] % 50);
            // By turns few and many different amounts, and much and little under way.
            let (width, often) = match turn / 1_000 % 3 {
                0 => (1, 192),
                1 => (63, 4),
                _ => (4_095, 192),
            };
            let (now, key) = (turn / 10, dice >> 20 & 3);
            let millis = now + (dice >> 8 & width) * 7;
            let due = (dice >> 24 & 255 < often).then(|| (at(millis), key));
            timers.set(slot, due);
            expected.remove(&slot);
            expected.extend(due.map(|due| (slot, due)));
            let first = expected.iter().map(|(slot, due)| (*due, *slot)).min();
            assert_eq!(timers.next(), first.map(|((at, _), _)| at));
            if dice >> 32 & 7 == 0 {
                let taken = timers.take_due(at(now));
                let slot = first.filter(|((due, _), _)| *due <= at(now));
                assert_eq!(taken, slot.map(|(_, slot)| slot));
                expected.retain(|slot, _| Some(*slot) != taken);
            }
            were_empty += u32::from(expected.is_empty());
            most_others = most_others.max(timers.others.len());
        }
        assert!(were_empty > 100 && most_others > 10, "all ways are tried");
    }
}
