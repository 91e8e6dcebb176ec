//! The thread that tells the end of leases, whatever the managers' threads do.
//!
//! A manager's thread tells of a loss as well. But it turns the crank for many, calls functions of the
//! user and waits for a file system; and its timers stand still while the machine sleeps. So one thread of
//! the process does nothing but look at the clock: at each lease's end, and twice a second while there are
//! leases, since no timer tells how much time a suspended or paused machine has lost.

use crate::{
    clock::Clock,
    state::{LeaseStatus, MOMENT},
};
use leasehold_core::Instant;
use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak},
    thread,
    time::Duration,
};

/// Lets the process's one thread watch over the ends of leases.
#[derive(Debug)]
pub(crate) struct Deadlines {
    queue: Mutex<Queue>,
    added: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    number: u64,
    /// At how many entries those of leases that are gone are thrown out.
    sweep_at: usize,
}

#[derive(Debug)]
struct Entry {
    at: Instant,
    number: u64,
    lease: Weak<LeaseStatus>,
}

/// How many entries are worth no sweep.
const SWEEP: usize = 1_024;

/// How long a change of the clock can stay unnoticed.
const LOOK: Duration = Duration::from_millis(500);

impl Deadlines {
    /// The process's deadlines; starts the thread if it does not run yet.
    ///
    /// # Errors
    /// If the system has no thread to give.
    pub(crate) fn start() -> io::Result<&'static Self> {
        static DEADLINES: OnceLock<Deadlines> = OnceLock::new();
        static STARTING: Mutex<()> = Mutex::new(());
        let _one = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(deadlines) = DEADLINES.get() {
            return Ok(deadlines);
        }
        thread::Builder::new()
            .name("leasehold-ends".into())
            .spawn(|| DEADLINES.wait().watch())?;
        Ok(DEADLINES.get_or_init(|| Self {
            queue: Mutex::new(Queue::default()),
            added: Condvar::new(),
        }))
    }

    /// Watches over this lease, until nobody has it any more.
    pub(crate) fn add(&self, lease: &Arc<LeaseStatus>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = queue.heap.peek().map(|Reverse(entry)| entry.at);
        let at = lease.valid_until();
        queue.push(at, Arc::downgrade(lease));
        drop(queue);
        if earliest.is_none_or(|earliest| at < earliest) {
            self.added.notify_one();
        }
    }

    fn watch(&self) {
        let clock = Clock::system();
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            queue.look(clock.now());
            let rest = queue
                .heap
                .peek()
                .map(|Reverse(entry)| entry.at.saturating_since(clock.now()).min(LOOK));
            queue = match rest {
                None => self
                    .added
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(rest) => {
                    self.added
                        .wait_timeout(queue, rest)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }
}

impl Queue {
    fn push(&mut self, at: Instant, lease: Weak<LeaseStatus>) {
        let number = self.number;
        self.number += 1;
        if self.heap.len() >= self.sweep_at {
            self.heap
                .retain(|Reverse(entry)| entry.lease.strong_count() > 0);
            self.sweep_at = SWEEP.max(2 * self.heap.len());
        }
        self.heap.push(Reverse(Entry { at, number, lease }));
    }

    fn look(&mut self, now: Instant) {
        while self
            .heap
            .peek()
            .is_some_and(|Reverse(entry)| entry.at <= now)
        {
            let Some(Reverse(Entry { lease, .. })) = self.heap.pop() else {
                return;
            };
            // Most leases were extended since, or are gone. Who is told may panic: that must not cost the
            // others their word.
            let look = || lease.upgrade().and_then(|lease| lease.look(MOMENT));
            if let Ok(Some(next)) = catch_unwind(AssertUnwindSafe(look)) {
                self.push(next, lease);
            }
        }
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::LeaseState;
    use leasehold_core::Resource;

    fn status(valid_until: Instant) -> Arc<LeaseStatus> {
        let resource = Resource::new("r").expect("a name");
        Arc::new(LeaseStatus::new(resource, Clock::system(), valid_until))
    }

    /// What was told, which is not what one sees who asks.
    fn is_told(lease: &LeaseStatus) -> bool {
        matches!(*lease.subscribe().borrow(), LeaseState::Lost(_))
    }

    #[test]
    fn a_lease_that_is_over_is_told_to_be_lost() {
        let (mut queue, now) = (Queue::default(), Clock::system().now());
        let over = status(Instant::ORIGIN);
        let lasts = status(now.saturating_add(Duration::from_secs(60)));
        for lease in [&over, &lasts] {
            queue.push(lease.valid_until(), Arc::downgrade(lease));
        }
        queue.look(now);
        assert!(is_told(&over));
        assert!(!is_told(&lasts));
        assert_eq!(queue.heap.len(), 1, "what was told is not watched any more");
    }

    #[test]
    fn a_lease_that_was_extended_is_watched_to_its_new_end() {
        let (mut queue, now) = (Queue::default(), Clock::system().now());
        let end = now.saturating_add(Duration::from_secs(60));
        let lease = status(end);
        queue.push(now, Arc::downgrade(&lease));
        queue.look(now);
        assert!(!is_told(&lease));
        let next = queue.heap.peek().map(|Reverse(entry)| entry.at);
        assert_eq!(next, Some(end.saturating_add(MOMENT)));
    }

    #[test]
    fn a_lease_that_nobody_has_is_forgotten() {
        let (mut queue, now) = (Queue::default(), Clock::system().now());
        let lease = status(now.saturating_add(Duration::from_secs(60)));
        queue.push(now, Arc::downgrade(&lease));
        drop(lease);
        queue.look(now);
        assert!(queue.heap.is_empty());
    }

    #[test]
    fn the_thread_tells_a_loss_though_nobody_asks_and_no_shell_runs() {
        let clock = Clock::system();
        let later = |span| clock.now().saturating_add(span);
        let deadlines = Deadlines::start().expect("the system has a thread to give");
        let far = status(later(Duration::from_secs(60)));
        deadlines.add(&far);
        let near = status(later(Duration::from_millis(2)));
        deadlines.add(&near);
        let give_up = later(Duration::from_secs(30));
        while !is_told(&near) {
            assert!(clock.now() < give_up, "it was never told");
            thread::yield_now();
        }
        assert!(!is_told(&far));
    }
}
