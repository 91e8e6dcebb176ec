//! How a thread that sleeps long is woken, by those who would rather not look whether it sleeps.
//!
//! Several threads are here at once, so `tests/orders` tries the orders in which they can come.

use crate::sync::{AtomicU64, Condvar, Mutex, MutexGuard, Ordering, PoisonError, fence};
use std::time::Duration;

/// Wakes one sleeper.
#[derive(Debug)]
pub(crate) struct WakeSignal {
    /// Until when it sleeps; 0 while it is awake, or sleeps for a moment only.
    asleep_until: AtomicU64,
    is_set: Mutex<bool>,
    set: Condvar,
}

impl WakeSignal {
    pub(crate) fn new() -> Self {
        Self {
            asleep_until: AtomicU64::new(0),
            is_set: Mutex::new(false),
            set: Condvar::new(),
        }
    }

    /// Wakes the sleeper if it sleeps longer than until `at`: for those who have done before what it is to see.
    pub(crate) fn wake_before(&self, at: u64) {
        // Either this sees that it is about to sleep, or the look that it takes after saying so sees what was done.
        fence(Ordering::SeqCst);
        if self.asleep_until.load(Ordering::Relaxed) > at {
            self.wake();
        }
    }

    /// Wakes the sleeper, or sees to it that it does not fall asleep.
    pub(crate) fn wake(&self) {
        *self.lock() = true;
        self.set.notify_one();
    }

    /// The sleeper says that it is about to sleep until then. It must look once more at what it sleeps for, and then
    /// [`sleep`](Self::sleep) or say that it is [`awake`](Self::awake).
    pub(crate) fn say(&self, until: u64) {
        self.asleep_until.store(until, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Sleeps until it is woken, for `most` at most; none is for ever.
    pub(crate) fn sleep(&self, most: Option<Duration>) {
        let mut is_set = self.lock();
        match most {
            // What wakes it without the signal makes it look once too often.
            _ if *is_set => {}
            None => {
                is_set = self
                    .set
                    .wait(is_set)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            Some(most) => {
                let waited = self.set.wait_timeout(is_set, most);
                is_set = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        *is_set = false;
        drop(is_set);
        self.awake();
    }

    /// The sleeper is awake.
    pub(crate) fn awake(&self) {
        self.asleep_until.store(0, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
