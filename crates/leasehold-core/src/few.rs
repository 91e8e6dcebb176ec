//! Small lists: one entry for each node, and hardly ever more than five nodes.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// A list whose first [`FEW`] entries stand on the spot, so that it costs no memory of its own.
#[derive(Clone, Debug)]
pub(crate) struct Few<T> {
    /// None if there is nothing. Behind the end stands anything.
    spot: Option<[T; FEW]>,
    len: usize,
    /// All of them, once they are too many.
    all: Vec<T>,
}

const FEW: usize = 5;

impl<T: Copy> Few<T> {
    pub(crate) const NONE: Self = Self {
        spot: None,
        len: 0,
        all: Vec::new(),
    };

    pub(crate) fn push(&mut self, entry: T) {
        let spot = self.spot.get_or_insert([entry; FEW]);
        match spot.get_mut(self.len) {
            Some(free) => *free = entry,
            None => {
                if self.all.is_empty() {
                    self.all.extend_from_slice(spot);
                }
                self.all.push(entry);
            }
        }
        self.len = self.len.saturating_add(1);
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        if self.all.is_empty() {
            let spot = self.spot.as_ref().and_then(|spot| spot.get(..self.len));
            spot.unwrap_or_default()
        } else {
            &self.all
        }
    }

    /// Drops them all.
    pub(crate) fn clear(&mut self) {
        (self.spot, self.len) = (None, 0);
        self.all.clear();
    }

    /// Keeps only those of whom this holds.
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
