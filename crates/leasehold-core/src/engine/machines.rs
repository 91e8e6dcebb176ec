//! Machines of one kind, and when each of them is to be woken.

use crate::time::Instant;
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
};
use core::ops::RangeInclusive;

/// Machines by what they are for. Each has one timer.
///
/// A machine is large and the trees move what they hold, so it stands in a box. Its time is noted beside it: most turns
/// leave it as it was, and the queue of timers is not touched then.
#[derive(Clone, Debug, Hash)]
pub(super) struct Machines<K, T> {
    running: BTreeMap<K, Running<T>>,
    due: BTreeSet<(Instant, K)>,
}

#[derive(Clone, Debug, Hash)]
struct Running<T> {
    machine: Box<T>,
    wake_at: Option<Instant>,
}

impl<K: Copy + Ord, T> Machines<K, T> {
    pub(super) const fn new() -> Self {
        Self {
            running: BTreeMap::new(),
            due: BTreeSet::new(),
        }
    }

    /// Adds a machine. Without a time it sleeps until its first turn.
    pub(super) fn insert(&mut self, key: K, machine: T, wake_at: Option<Instant>) {
        let machine = Box::new(machine);
        self.running.insert(key, Running { machine, wake_at });
        self.due.extend(wake_at.map(|at| (at, key)));
    }

    pub(super) fn has(&self, key: K) -> bool {
        self.running.contains_key(&key)
    }

    pub(super) fn get(&self, key: K) -> Option<&T> {
        self.running.get(&key).map(|running| &*running.machine)
    }

    /// Lets a machine do something, which also says when it is to be woken. None if there is no such machine.
    pub(super) fn turn<R>(
        &mut self,
        key: K,
        run: impl FnOnce(&mut T) -> (R, Option<Instant>),
    ) -> Option<R> {
        let running = self.running.get_mut(&key)?;
        let (result, wake_at) = run(&mut running.machine);
        if wake_at != running.wake_at {
            if let Some(before) = running.wake_at {
                self.due.remove(&(before, key));
            }
            if let Some(at) = wake_at {
                self.due.insert((at, key));
            }
            running.wake_at = wake_at;
        }
        Some(result)
    }

    pub(super) fn remove(&mut self, key: K) -> Option<Box<T>> {
        let running = self.running.remove(&key)?;
        if let Some(at) = running.wake_at {
            self.due.remove(&(at, key));
        }
        Some(running.machine)
    }

    /// When the next is to be woken.
    pub(super) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Who is to be woken now. Whoever is taken has no timer until its next turn.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<K> {
        let (_, key) = *self.due.first().filter(|(at, _)| *at <= now)?;
        self.due.pop_first();
        if let Some(running) = self.running.get_mut(&key) {
            running.wake_at = None;
        }
        Some(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = K> {
        self.running.keys().copied()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.running.values().map(|running| &*running.machine)
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// The first in a range of which something holds.
    pub(super) fn find(&self, keys: RangeInclusive<K>, is_it: impl Fn(&T) -> bool) -> Option<K> {
        let mut those = self.running.range(keys);
        those
            .find(|(_, running)| is_it(&running.machine))
            .map(|(key, _)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    #[test]
    fn machines_are_woken_in_order_and_one_that_was_put_off_only_once() {
        let mut machines = Machines::new();
        for key in ['a', 'b', 'c'] {
            machines.insert(key, (), None);
        }
        let mut arm = |key, millis: Option<u64>| {
            assert!(machines.turn(key, |()| ((), millis.map(at))).is_some());
        };
        arm('a', Some(5));
        arm('b', Some(3));
        arm('a', Some(1));
        arm('c', Some(4));
        arm('c', None);
        assert_eq!(machines.next(), Some(at(1)));
        assert_eq!(machines.take_due(at(2)), Some('a'));
        assert_eq!(machines.take_due(at(2)), None);
        assert_eq!(machines.take_due(at(9)), Some('b'));
        assert_eq!(machines.take_due(at(9)), None);
    }

    #[test]
    fn who_is_gone_is_not_woken_and_has_no_turn() {
        let mut machines = Machines::new();
        machines.insert(7, "seven", Some(at(1)));
        assert_eq!(machines.remove(7).as_deref(), Some(&"seven"));
        assert_eq!((machines.next(), machines.take_due(at(9))), (None, None));
        assert_eq!(machines.turn(7, |_| ((), Some(at(1)))), None);
        assert_eq!(machines.next(), None);
    }

    #[test]
    fn a_range_is_searched_and_nothing_beside_it() {
        let mut machines = Machines::new();
        for (key, machine) in [(1, "x"), (2, "y"), (3, "x")] {
            machines.insert(key, machine, None);
        }
        assert_eq!(machines.find(2..=3, |machine| *machine == "x"), Some(3));
        assert_eq!(machines.find(2..=2, |machine| *machine == "x"), None);
    }
}
