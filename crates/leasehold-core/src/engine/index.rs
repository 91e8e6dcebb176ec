//! Finds the slot of an operation, or of an attempt that was given up.

use crate::{
    hash::GOLDEN,
    request::{AttemptId, OperationId},
};
use alloc::{vec, vec::Vec};

/// What has a slot: an operation, or an attempt that its acquisition has given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SlotKey {
    pub(super) operation: OperationId,
    /// The attempt's number; behind all numbers for the operation itself, whatever its attempt is.
    given_up: u64,
}

impl SlotKey {
    pub(super) const fn of(operation: OperationId) -> Self {
        let given_up = u64::MAX;
        Self {
            operation,
            given_up,
        }
    }

    pub(super) fn of_given_up(attempt: AttemptId) -> Self {
        Self {
            operation: attempt.operation,
            given_up: u64::from(attempt.number),
        }
    }

    /// Where it is looked for first: operations with numbers in a row are spread, and so are the attempts of one.
    fn home(self, mask: usize) -> usize {
        let attempt = self.given_up.wrapping_add(1).rotate_left(32);
        let spread = self.operation.number() ^ attempt;
        let spread = spread.wrapping_mul(GOLDEN) >> 32;
        usize::try_from(spread).unwrap_or_default() & mask
    }
}

/// Numbers of slots: a table with open addresses. The caller draws the ids one after the other, so nobody can choose
/// them to collide.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// As many as a power of two, half of them empty at least.
    cells: Vec<Cell>,
    len: usize,
}

/// In an empty one the slot is [`NOTHING`], and the key is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    key: SlotKey,
    slot: u32,
}

impl Index {
    pub(super) fn insert(&mut self, key: SlotKey, slot: u32) {
        if self.cells.len() < self.len.saturating_add(1).saturating_mul(2) {
            self.grow();
        }
        self.put(key, slot);
        self.len = self.len.saturating_add(1);
    }

    pub(super) fn get(&self, key: SlotKey) -> Option<u32> {
        let mask = self.cells.len().saturating_sub(1);
        let mut at = key.home(mask);
        loop {
            let cell = self.cells.get(at)?;
            if cell.slot == NOTHING {
                return None;
            }
            if cell.key == key {
                return Some(cell.slot);
            }
            at = at.wrapping_add(1) & mask;
        }
    }

    pub(super) fn remove(&mut self, key: SlotKey, slot: u32) {
        let mask = self.cells.len().saturating_sub(1);
        let mut at = key.home(mask);
        while let Some(found) = self.cell(at) {
            if found == (Cell { key, slot }) {
                self.len = self.len.saturating_sub(1);
                return self.close(at, mask);
            }
            at = at.wrapping_add(1) & mask;
        }
    }

    /// Empties a cell, and moves those behind it up that would not be found any more.
    fn close(&mut self, mut gap: usize, mask: usize) {
        let mut at = gap;
        loop {
            at = at.wrapping_add(1) & mask;
            let Some(cell) = self.cell(at) else {
                break;
            };
            let from_home = at.wrapping_sub(cell.key.home(mask)) & mask;
            if from_home >= at.wrapping_sub(gap) & mask {
                self.cells[gap] = cell;
                gap = at;
            }
        }
        self.cells[gap].slot = NOTHING;
    }

    /// What is there, unless it is empty.
    fn cell(&self, at: usize) -> Option<Cell> {
        let cell = self.cells.get(at).copied();
        cell.filter(|cell| cell.slot != NOTHING)
    }

    fn grow(&mut self) {
        let more = self.cells.len().saturating_mul(2).max(16);
        let before = core::mem::replace(&mut self.cells, vec![EMPTY; more]);
        for Cell { key, slot } in before {
            if slot != NOTHING {
                self.put(key, slot);
            }
        }
    }

    fn put(&mut self, key: SlotKey, slot: u32) {
        let mask = self.cells.len().saturating_sub(1);
        let mut at = key.home(mask);
        while self.cells[at].slot != NOTHING {
            at = at.wrapping_add(1) & mask;
        }
        self.cells[at] = Cell { key, slot };
    }
}

/// No slot has this number.
const NOTHING: u32 = u32::MAX;

const EMPTY: Cell = Cell {
    key: SlotKey::of(OperationId::new(0)),
    slot: NOTHING,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::splitmix;
    use alloc::collections::{BTreeMap, BTreeSet};

    #[test]
    fn a_slot_is_found_by_its_operation_and_attempt_until_it_is_removed() {
        let (mut index, mut expected) = (Index::default(), BTreeMap::new());
        let key = |dice: u64, turn: u64| {
            // Few operations, so that they have several slots, and more and more, so that the table grows.
            let operation = OperationId::new((dice >> 8) % (turn / 20 + 2));
            match u32::from(dice.to_le_bytes()[0] % 4) {
                0 => SlotKey::of(operation),
                number => SlotKey::of_given_up(AttemptId { operation, number }),
            }
        };
        for (turn, slot) in (0..20_000).zip(0..) {
            let dice = splitmix(turn);
            let one = key(dice, turn);
            match expected.remove(&one) {
                Some(slot) => index.remove(one, slot),
                None => {
                    expected.insert(one, slot);
                    index.insert(one, slot);
                }
            }
            let other = key(splitmix(dice), turn);
            assert_eq!(index.get(other), expected.get(&other).copied());
        }
        assert_eq!(index.len, expected.len());
        index.remove(SlotKey::of(OperationId::new(1 << 40)), 0);
        assert_eq!(index.len, expected.len(), "there is none");
    }

    #[test]
    fn attempts_of_one_operation_are_spread_as_operations_are() {
        let operation = OperationId::new(7);
        let attempts = (0..1_000).map(|number| AttemptId { operation, number });
        let homes = |keys: &mut dyn Iterator<Item = SlotKey>| {
            keys.map(|key| key.home(2_047))
                .collect::<BTreeSet<_>>()
                .len()
        };
        assert!(homes(&mut attempts.map(SlotKey::of_given_up)) > 500);
        assert!(homes(&mut (0..1_000).map(OperationId::new).map(SlotKey::of)) > 500);
    }
}
