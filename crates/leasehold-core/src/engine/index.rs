//! Which slots an operation has.

use crate::{hash::GOLDEN, request::OperationId};
use alloc::{vec, vec::Vec};

/// Numbers of slots by their operations: a table with open addresses. An operation may have several slots.
///
/// The caller draws the ids one after the other, so nobody can choose them to collide. The slots of one operation do: one
/// that is refused again and again while a node hangs has as many as the node's link lets wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// As many as a power of two, half of them empty at least.
    cells: Vec<Option<(OperationId, u32)>>,
    len: usize,
}

impl Index {
    pub(super) fn insert(&mut self, operation: OperationId, slot: u32) {
        if self.cells.len() < self.len.saturating_add(1).saturating_mul(2) {
            self.grow();
        }
        self.put(operation, slot);
        self.len = self.len.saturating_add(1);
    }

    /// The slots of an operation.
    pub(super) fn of(&self, operation: OperationId) -> impl Iterator<Item = u32> {
        let mask = self.cells.len().saturating_sub(1);
        let home = home(operation, mask);
        let cells = (0..self.cells.len()).map(move |step| home.wrapping_add(step) & mask);
        cells
            .map_while(|at| self.cells.get(at).copied().flatten())
            .filter(move |(other, _)| *other == operation)
            .map(|(_, slot)| slot)
    }

    pub(super) fn remove(&mut self, operation: OperationId, slot: u32) {
        let mask = self.cells.len().saturating_sub(1);
        let mut at = home(operation, mask);
        while let Some(found) = self.cells.get(at).copied().flatten() {
            if found == (operation, slot) {
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
            let Some((operation, slot)) = self.cells.get(at).copied().flatten() else {
                break;
            };
            let from_home = at.wrapping_sub(home(operation, mask)) & mask;
            if from_home >= at.wrapping_sub(gap) & mask {
                self.cells[gap] = Some((operation, slot));
                gap = at;
            }
        }
        self.cells[gap] = None;
    }

    fn grow(&mut self) {
        let more = self.cells.len().saturating_mul(2).max(16);
        let before = core::mem::replace(&mut self.cells, vec![None; more]);
        for (operation, slot) in before.into_iter().flatten() {
            self.put(operation, slot);
        }
    }

    fn put(&mut self, operation: OperationId, slot: u32) {
        let mask = self.cells.len().saturating_sub(1);
        let mut at = home(operation, mask);
        while self.cells[at].is_some() {
            at = at.wrapping_add(1) & mask;
        }
        self.cells[at] = Some((operation, slot));
    }
}

/// Where an operation is looked for first. Whatever the pattern of those that last, it is spread.
fn home(operation: OperationId, mask: usize) -> usize {
    let spread = operation.number().wrapping_mul(GOLDEN) >> 32;
    usize::try_from(spread).unwrap_or_default() & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::splitmix;
    use alloc::collections::{BTreeMap, BTreeSet};

    #[test]
    fn every_slot_of_an_operation_is_found_until_it_is_removed() {
        let (mut index, mut expected) = (Index::default(), BTreeMap::<_, BTreeSet<_>>::new());
        for turn in 0..20_000_u64 {
            let dice = splitmix(turn);
            // Few operations, so that they have several slots, and more and more, so that the table grows.
            let operation = OperationId::new((dice >> 8) % (turn / 20 + 2));
            let slot = u32::from(dice.to_le_bytes()[0] % 4);
            let slots = expected.entry(operation).or_default();
            if slots.remove(&slot) {
                index.remove(operation, slot);
            } else {
                slots.insert(slot);
                index.insert(operation, slot);
            }
            let other = OperationId::new((dice >> 32) % (turn / 20 + 2));
            let found: BTreeSet<_> = index.of(other).collect();
            assert_eq!(found, expected.get(&other).cloned().unwrap_or_default());
        }
        let len = expected.values().map(BTreeSet::len).sum::<usize>();
        assert_eq!(index.len, len);
        index.remove(OperationId::new(1 << 40), 0);
        assert_eq!(index.len, len, "there is none");
    }
}
