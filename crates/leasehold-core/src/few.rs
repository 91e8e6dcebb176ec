//! Small lists: one entry for each node, and hardly ever more than five nodes.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// A list of which [`FEW`] entries stand on the spot, so that it costs no memory of its own.
#[derive(Clone, Debug)]
pub(crate) enum Few<T> {
    Nothing,
    /// The first `len` of these. Behind them stands anything.
    Spot {
        entries: [T; FEW],
        len: u8,
    },
    /// Too many.
    All(Vec<T>),
}

pub(crate) const FEW: usize = 5;

impl<T: Copy> Few<T> {
    pub(crate) const NONE: Self = Self::Nothing;

    #[inline]
    pub(crate) fn push(&mut self, entry: T) {
        if let Self::Spot { entries, len } = self
            && let Some(free) = entries.get_mut(usize::from(*len))
        {
            *free = entry;
            *len = len.saturating_add(1);
        } else {
            self.make_room_for(entry);
        }
    }

    #[inline(never)]
    fn make_room_for(&mut self, entry: T) {
        match self {
            Self::Nothing => {
                let (entries, len) = ([entry; FEW], 1);
                *self = Self::Spot { entries, len };
            }
            Self::Spot { entries, .. } => {
                let mut all = entries.to_vec();
                all.push(entry);
                *self = Self::All(all);
            }
            Self::All(all) => all.push(entry),
        }
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Self::Nothing => &[],
            Self::Spot { entries, len } => entries.get(..usize::from(*len)).unwrap_or_default(),
            Self::All(all) => all,
        }
    }

    /// Drops them all.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Nothing => {}
            Self::Spot { len, .. } => *len = 0,
            Self::All(all) => all.clear(),
        }
    }

    /// Keeps only those for which this holds.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        let before = core::mem::replace(self, Self::NONE);
        for entry in before.as_slice().iter().filter(|entry| is_kept(entry)) {
            self.push(*entry);
        }
    }
}

impl<T: Copy + Hash> Hash for Few<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_hardly_larger_than_its_entries() {
        assert_eq!(size_of::<Few<u64>>(), 6 * 8);
        assert_eq!(size_of::<Few<[u8; 9]>>(), 6 * 8);
    }

    #[test]
    fn entries_keep_their_order_however_many_there_are() {
        for count in [0, 1, 4, 5, 6, 7, 32] {
            let mut few = Few::NONE;
            for entry in 0..count {
                few.push(entry);
            }
            assert!(few.as_slice().iter().copied().eq(0..count), "{count}");
            few.retain(|entry| entry % 3 == 1);
            let kept = (0..count).filter(|entry| entry % 3 == 1);
            assert!(few.as_slice().iter().copied().eq(kept), "{count}");
        }
    }
}
