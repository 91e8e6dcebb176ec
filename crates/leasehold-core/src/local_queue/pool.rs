//! Who of this engine is next at the permits of a name: first come, first served, as many at once as there are permits left.

use crate::{
    permit::{PermitCount, SlotSet},
    request::OperationId,
};
use alloc::{collections::VecDeque, vec::Vec};

/// Those here who want or have permits of one name.
#[derive(Clone, Debug, Hash)]
pub(super) struct Pool {
    of: PermitCount,
    /// Those who have one.
    holders: Vec<OperationId>,
    /// Those who wait for each other, in the order of their coming.
    waiting: VecDeque<OperationId>,
    /// Those who wait for nobody here.
    others: Vec<OperationId>,
    /// The slots that somebody here has, or asks for now.
    slots: Vec<(OperationId, u16)>,
    /// Slots that were given back here, and that nobody has asked for since.
    given_back: Vec<u16>,
}

/// What of a name's permits is in use here.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct SlotsHere {
    /// What somebody has, or asks for now.
    pub(crate) in_use: SlotSet,
    /// What was given back last.
    pub(crate) given_back: Option<u16>,
}

impl Pool {
    pub(super) const fn new(of: PermitCount) -> Self {
        Self {
            of,
            holders: Vec::new(),
            waiting: VecDeque::new(),
            others: Vec::new(),
            slots: Vec::new(),
            given_back: Vec::new(),
        }
    }

    /// Somebody comes. Says whether it has its turn at once.
    pub(super) fn join(&mut self, id: OperationId, queues: bool) -> bool {
        if !queues {
            self.others.push(id);
            return true;
        }
        self.waiting.push_back(id);
        self.has_turn().any(|other| other == id)
    }

    /// Those of the waiting who ask the nodes.
    fn has_turn(&self) -> impl Iterator<Item = OperationId> {
        let left = usize::from(self.of.get()).saturating_sub(self.holders.len());
        self.waiting.iter().copied().take(left)
    }

    pub(super) fn asking(&self) -> Vec<OperationId> {
        self.has_turn().chain(self.others.iter().copied()).collect()
    }

    pub(super) fn won(&mut self, id: OperationId) {
        self.waiting.retain(|other| *other != id);
        self.others.retain(|other| *other != id);
        self.holders.push(id);
    }

    /// Somebody goes, with a permit or without. Says whose turn has come: of a permit that is given back, that of the
    /// first who waits, which may have asked in vain before; and that of one more.
    pub(super) fn leave(&mut self, id: OperationId) -> Vec<OperationId> {
        let before: Vec<_> = self.has_turn().collect();
        let had = self.holders.contains(&id);
        self.holders.retain(|other| *other != id);
        self.waiting.retain(|other| *other != id);
        self.others.retain(|other| *other != id);
        let slot = self.free_slot(id).filter(|_| had);
        // One that was taken over here is another's now.
        if let Some(slot) = slot.filter(|slot| self.slots.iter().all(|(_, other)| other != slot)) {
            self.given_back.push(slot);
        }
        let is_next = |(at, id): &(usize, OperationId)| (*at == 0 && had) || !before.contains(id);
        let next = self.has_turn().enumerate().filter(is_next);
        next.map(|(_, id)| id).collect()
    }

    /// Somebody asks for this slot now, or for none.
    pub(super) fn ask(&mut self, id: OperationId, slot: Option<u16>) {
        self.free_slot(id);
        if let Some(slot) = slot {
            self.slots.push((id, slot));
            self.given_back.retain(|other| *other != slot);
        }
    }

    fn free_slot(&mut self, id: OperationId) -> Option<u16> {
        let at = self.slots.iter().position(|(other, _)| *other == id)?;
        Some(self.slots.swap_remove(at).1)
    }

    /// What is in use here by others than this one.
    pub(super) fn slots(&self, id: OperationId) -> SlotsHere {
        let others = self.slots.iter().filter(|(other, _)| *other != id);
        SlotsHere {
            in_use: others.map(|(_, slot)| *slot).collect(),
            given_back: self.given_back.last().copied(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.waiting.is_empty() && self.others.is_empty()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(of: u16) -> Pool {
        Pool::new(PermitCount::new(of).expect("in range"))
    }

    #[test]
    fn as_many_ask_as_there_are_permits_left_and_the_next_when_one_is_given_back() {
        let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(OperationId::new);
        let mut pool = pool(2);
        assert!(pool.join(a, true) && pool.join(b, true));
        assert!(!pool.join(c, true) && !pool.join(d, true));
        assert!(pool.join(e, false), "it waits for nobody");
        assert_eq!(pool.asking(), [a, b, e]);
        pool.ask(a, Some(1));
        pool.won(a);
        assert_eq!(pool.asking(), [b, e], "one is left");
        assert_eq!(pool.leave(e), []);
        // One that has asked in vain comes before one that has not asked yet.
        assert_eq!(pool.leave(a), [b, c]);
        assert_eq!(pool.slots(b).given_back, Some(1));
        assert_eq!(
            pool.leave(c),
            [d],
            "it gave up, and another asks in its place"
        );
        assert_eq!(pool.leave(b), []);
        assert_eq!(pool.leave(d), []);
        assert!(pool.is_empty());
    }

    #[test]
    fn a_slot_is_asked_for_by_one_at_a_time_and_by_the_next_when_it_is_given_back() {
        let [a, b] = [1, 2].map(OperationId::new);
        let mut pool = pool(4);
        assert!(pool.join(a, true) && pool.join(b, true));
        pool.ask(a, Some(3));
        assert!(pool.slots(b).in_use.contains(3) && !pool.slots(a).in_use.contains(3));
        pool.ask(a, Some(2));
        assert!(!pool.slots(b).in_use.contains(3), "it asks for another");
        pool.won(a);
        pool.leave(a);
        let here = pool.slots(b);
        assert_eq!((here.given_back, here.in_use.contains(2)), (Some(2), false));
        pool.ask(b, Some(2));
        assert_eq!(pool.slots(a).given_back, None);
        pool.ask(b, None);
        assert!(!pool.slots(a).in_use.contains(2));
    }
}
