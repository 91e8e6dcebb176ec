//! When slots are to be woken.

use crate::time::Instant;
use alloc::vec::Vec;

/// A heap of times, in which every slot knows its place: so a time that is put off leaves nothing behind. Of equal times
/// the smaller `K` is first.
#[derive(Clone, Debug)]
pub(super) struct Timers<K> {
    heap: Vec<Due>,
    /// By slot: where it stands in the heap, and what it is among those of the same time.
    places: Vec<(Option<u32>, K)>,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    slot: u32,
}

impl<K: Copy + Ord> Timers<K> {
    pub(super) const fn new() -> Self {
        Self {
            heap: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Wakes the slot then and not before, or never.
    pub(super) fn set(&mut self, slot: u32, due: Option<(Instant, K)>) {
        match (self.place(slot), due) {
            (None, None) => {}
            (Some(place), None) => self.remove(place),
            (None, Some((at, key))) => {
                self.name(slot, key);
                self.heap.push(Due { at, slot });
                self.settle(self.heap.len().saturating_sub(1));
            }
            (Some(place), Some((at, key))) => {
                self.name(slot, key);
                self.heap[place] = Due { at, slot };
                self.settle(place);
            }
        }
    }

    /// When the next is to be woken.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.first().map(|due| due.at)
    }

    /// Who is to be woken now. Whoever is taken has no time any more.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<u32> {
        let slot = self.heap.first().filter(|due| due.at <= now)?.slot;
        self.set(slot, None);
        Some(slot)
    }

    fn place(&self, slot: u32) -> Option<usize> {
        let (place, _) = self.places.get(index(slot))?;
        place.map(index)
    }

    fn remove(&mut self, place: usize) {
        let gone = self.heap.swap_remove(place);
        self.places[index(gone.slot)].0 = None;
        if place < self.heap.len() {
            self.settle(place);
        }
    }

    /// Moves what stands here up or down until it stands right.
    fn settle(&mut self, mut place: usize) {
        let due = self.heap[place];
        while let Some(above) = parent(place).filter(|at| self.is_before(due, self.heap[*at])) {
            self.put(place, self.heap[above]);
            place = above;
        }
        while let Some(below) = self.first_child(place)
            && self.is_before(self.heap[below], due)
        {
            self.put(place, self.heap[below]);
            place = below;
        }
        self.put(place, due);
    }

    fn first_child(&self, place: usize) -> Option<usize> {
        let left = place.saturating_mul(2).saturating_add(1);
        let right = left.saturating_add(1);
        let one = *self.heap.get(left)?;
        let other = self.heap.get(right);
        let is_right = other.is_some_and(|other| self.is_before(*other, one));
        Some(if is_right { right } else { left })
    }

    fn is_before(&self, one: Due, other: Due) -> bool {
        let key = |due: Due| self.places.get(index(due.slot)).map(|(_, key)| *key);
        one.at < other.at || one.at == other.at && (key(one), one.slot) < (key(other), other.slot)
    }

    fn put(&mut self, place: usize, due: Due) {
        self.heap[place] = due;
        self.places[index(due.slot)].0 = u32::try_from(place).ok();
    }

    fn name(&mut self, slot: u32, key: K) {
        if self.places.len() <= index(slot) {
            self.places
                .resize(index(slot).saturating_add(1), (None, key));
        }
        self.places[index(slot)].1 = key;
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The place above, if this is not the first.
const fn parent(place: usize) -> Option<usize> {
    match place.checked_sub(1) {
        Some(before) => Some(before >> 1),
        None => None,
    }
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
    fn the_heap_agrees_with_a_sorted_list_whatever_is_put_off() {
        let (mut timers, mut expected) = (Timers::new(), BTreeMap::new());
        for turn in 0..20_000_u64 {
            let dice = splitmix(turn);
            let slot = u32::from(dice.to_le_bytes()[0] % 50);
            let (millis, key) = (dice >> 8 & 63, dice >> 16 & 3);
            let due = (dice >> 24 & 3 != 0).then(|| (at(millis), key));
            timers.set(slot, due);
            expected.remove(&slot);
            expected.extend(due.map(|due| (slot, due)));
            let first = expected.iter().map(|(slot, due)| (*due, *slot)).min();
            assert_eq!(timers.next(), first.map(|((at, _), _)| at));
            if dice >> 32 & 7 == 0 {
                let taken = timers.take_due(at(32));
                let slot = first.filter(|((due, _), _)| *due <= at(32));
                assert_eq!(taken, slot.map(|(_, slot)| slot));
                expected.retain(|slot, _| Some(*slot) != taken);
            }
        }
    }
}
