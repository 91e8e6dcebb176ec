//! How many requests wait for each lock, once a node has forgotten its scripts.
//!
//! Such a node says so to every request of a full backlog, and to look through all the others each time would be
//! quadratic. But it is rare, and the uncontended path does not pay for it: nothing is counted before the first
//! time.

use std::collections::{HashMap, hash_map::Entry};

/// A key, and the owner if there is one.
pub(super) type LockedKey = (Vec<u8>, Option<Vec<u8>>);

/// The counts, as long as they are needed.
#[derive(Debug, Default)]
pub(super) struct Locks(Option<HashMap<LockedKey, usize>>);

impl Locks {
    /// Whether the requests of each lock are counted.
    pub(super) const fn are_counted(&self) -> bool {
        self.0.is_some()
    }

    /// From now on they are. These wait.
    pub(super) fn begin(&mut self, waiting: Vec<LockedKey>) {
        self.0 = Some(HashMap::new());
        for lock in waiting {
            self.push(lock);
        }
    }

    /// Whether a request for the same lock is among those that wait.
    pub(super) fn has(&self, lock: &LockedKey) -> bool {
        let counts = self.0.as_ref();
        counts.is_some_and(|counts| counts.contains_key(lock))
    }

    pub(super) fn push(&mut self, lock: LockedKey) {
        if let Some(counts) = &mut self.0 {
            *counts.entry(lock).or_default() += 1;
        }
    }

    pub(super) fn pop(&mut self, lock: LockedKey) {
        let Some(counts) = &mut self.0 else {
            return;
        };
        if let Entry::Occupied(mut count) = counts.entry(lock) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        if counts.is_empty() {
            self.0 = None;
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> Option<usize> {
        self.0.as_ref().map(HashMap::len)
    }
}
