//! When to wake whom.

use crate::time::Instant;
use alloc::collections::{BTreeMap, BTreeSet};

/// At most one timer for each `K`.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Timers<K> {
    queue: BTreeSet<(Instant, K)>,
    set: BTreeMap<K, Instant>,
}

impl<K: Copy + Ord> Timers<K> {
    /// Sets, moves or clears the timer of `key`.
    pub(crate) fn set(&mut self, key: K, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.set.insert(key, at),
            None => self.set.remove(&key),
        };
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.queue.remove(&(before, key));
        }
        if let Some(at) = at {
            self.queue.insert((at, key));
        }
    }

    /// Clears the timer of `key`.
    pub(crate) fn clear(&mut self, key: K) {
        self.set(key, None);
    }

    /// Takes one timer whose time has come.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<K> {
        let (_, key) = *self.queue.first().filter(|(at, _)| *at <= now)?;
        self.clear(key);
        Some(key)
    }

    /// When the next timer is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.first().map(|(at, _)| *at)
    }
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self {
            queue: BTreeSet::new(),
            set: BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn timers_fire_in_order_and_a_moved_one_only_once() {
        let at = |millis| Instant::from_origin(Duration::from_millis(millis));
        let mut timers = Timers::default();
        timers.set('a', Some(at(5)));
        timers.set('b', Some(at(3)));
        timers.set('a', Some(at(1)));
        assert_eq!(timers.next(), Some(at(1)));
        assert_eq!(timers.take_due(at(2)), Some('a'));
        assert_eq!(timers.take_due(at(2)), None);
        timers.clear('b');
        assert_eq!(timers.take_due(at(9)), None);
    }
}
