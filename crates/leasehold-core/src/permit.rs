//! The permits of a semaphore: one of so many numbered slots, each of which has one owner at a time.
//!
//! A count of permits would not do. Nodes count each for themselves, and a quorum of counts is no count: with three nodes and two
//! permits, three holders can have a quorum each. A slot is locked as a name is, so two quorums for it share a node (argument
//! S1).

use crate::hash::{GOLDEN, splitmix};
use alloc::vec::Vec;
use core::{fmt, num::NonZeroU16, time::Duration};

/// How many permits there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PermitCount(NonZeroU16);

impl PermitCount {
    /// The most that one semaphore can have: a node looks at all that are taken with each request.
    pub const MOST: u16 = 256;

    /// So many permits; none if there are to be none, or more than [`MOST`](Self::MOST).
    #[must_use]
    pub const fn new(count: u16) -> Option<Self> {
        match NonZeroU16::new(count) {
            Some(count) if count.get() <= Self::MOST => Some(Self(count)),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0.get()
    }

    /// All slots, from 0.
    pub fn slots(self) -> impl Iterator<Item = u16> {
        0..self.get()
    }
}

impl fmt::Display for PermitCount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// One of so many permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Permit {
    slot: u16,
    of: PermitCount,
}

impl Permit {
    /// The permit in this slot, from 0, of so many; none if there is no such slot.
    #[must_use]
    pub const fn new(slot: u16, of: PermitCount) -> Option<Self> {
        if slot < of.get() {
            Some(Self { slot, of })
        } else {
            None
        }
    }

    /// Its slot, from 0.
    #[must_use]
    pub const fn slot(self) -> u16 {
        self.slot
    }

    /// How many there are.
    #[must_use]
    pub const fn of(self) -> PermitCount {
        self.of
    }

    /// The fingerprint by which the permit's counter is found, of a name with this one: each slot has holders, and so an order, of
    /// its own.
    pub(crate) fn fingerprint(self, name: u64) -> u64 {
        let number = u64::from(self.slot).saturating_add(1);
        splitmix(name ^ number.wrapping_mul(GOLDEN))
    }
}

/// `3/8`: the slot, and how many there are.
impl fmt::Display for Permit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.slot, self.of)
    }
}

/// Which permits of a name are taken, as a node tells when it refuses one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "links make it, field by field")]
pub struct TakenPermits {
    /// How many permits there are, as those say who have them.
    pub of: PermitCount,
    /// The slots that are taken, each with the time until it ends, in the order of the slots.
    pub slots: Vec<(u16, Duration)>,
}

/// Slots of one semaphore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SlotSet([u64; SlotSet::WORDS]);

impl SlotSet {
    const WORDS: usize = 4;

    pub(crate) fn insert(&mut self, slot: u16) {
        if let Some((word, bit)) = self.word(slot) {
            *word |= bit;
        }
    }

    pub(crate) fn contains(mut self, slot: u16) -> bool {
        self.word(slot).is_some_and(|(word, bit)| *word & bit != 0)
    }

    fn word(&mut self, slot: u16) -> Option<(&mut u64, u64)> {
        let word = self.0.get_mut(usize::from(slot >> 6))?;
        Some((word, 1 << (slot & 63)))
    }
}

const _: () = assert!(SlotSet::WORDS * 64 == PermitCount::MOST as usize);

impl FromIterator<u16> for SlotSet {
    fn from_iter<I: IntoIterator<Item = u16>>(slots: I) -> Self {
        let mut set = Self::default();
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_permit_is_one_of_the_slots_that_there_are() {
        assert_eq!(PermitCount::new(0), None);
        assert_eq!(PermitCount::new(PermitCount::MOST + 1), None);
        let eight = PermitCount::new(8).expect("in range");
        assert_eq!(Permit::new(8, eight), None);
        let last = Permit::new(7, eight).expect("a slot");
        assert_eq!((last.to_string().as_str(), last.slot()), ("7/8", 7));
        assert_eq!(eight.slots().last(), Some(7));
    }

    #[test]
    fn slots_are_told_apart() {
        let set = SlotSet::from_iter([0, 63, 64, 255, 256]);
        assert!([0, 63, 64, 255].iter().all(|slot| set.contains(*slot)));
        assert!(![1, 65, 254, 256].iter().any(|slot| set.contains(*slot)));
    }
}
