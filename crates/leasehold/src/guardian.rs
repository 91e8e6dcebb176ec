//! The thread that sees to it that managers are turned whose work is a task of the caller's runtime.
//!
//! Such a task stands still when others block the runtime's threads, when the runtime was dropped, or when nobody polls it.
//! So one thread of the process looks after all of them. It costs them next to nothing while they are turned: it sleeps until
//! the next of them should have been turned, or something is posted, and a moment longer, and looks. One that was not
//! turned from one such look to the next is given a thread of its own, and goes on there.
//!
//! No lock is held here while a function of the user's runs, and none is waited for that may be: who is locked is being
//! turned.

mod wake_signal;

use crate::{clock::Clock, fork::PerProcess};
use leasehold_core::Instant;
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};
use wake_signal::WakeSignal;

/// What is looked after.
pub(crate) trait Ward: Send + Sync + 'static {
    /// How it is. Waits for nobody.
    fn look(&self) -> WardState;

    /// Lets a thread of its own turn it from now on.
    ///
    /// # Errors
    /// If there is no thread to be had.
    fn rescue(self: Arc<Self>) -> io::Result<()>;
}

/// How something is that is looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WardState {
    /// It has ended, or has a thread of its own.
    Over,
    /// It is being turned at this moment.
    Turning,
    /// Nobody is there to turn it.
    Deserted,
    Resting(Rest),
}

/// How something rests that is turned when it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// How often it was turned until now.
    pub(crate) turns: u64,
    /// When it is to be turned next.
    pub(crate) due: Instant,
    /// How long it may be late before a look is taken, and as long again before something is done.
    pub(crate) patience: Duration,
}

/// The thread, and what it looks after.
#[derive(Debug)]
pub(crate) struct Guardian {
    wards: Mutex<Vec<Guarded>>,
    signal: WakeSignal,
}

/// What was seen of a ward.
struct Guarded {
    ward: Arc<dyn Ward>,
    turns: u64,
    patience: Duration,
    /// Whether it was late at the last look.
    is_late: bool,
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = out.debug_struct("Guarded");
        out.field("turns", &self.turns)
            .field("is_late", &self.is_late);
        out.finish_non_exhaustive()
    }
}

/// That of this process. A child that was forked has none of its threads.
static GUARDIAN: PerProcess<Guardian> = PerProcess::new();

/// How soon a ward is looked at again that could not be rescued, or never rested yet.
const AGAIN: Duration = Duration::from_millis(100);

impl Guardian {
    /// The process's guardian; starts the thread if it does not run yet.
    ///
    /// # Errors
    /// If the system has no thread to give.
    pub(crate) fn start() -> io::Result<&'static Self> {
        let start = |guardian: &'static Self| {
            let thread = thread::Builder::new().name("leasehold-guard".into());
            thread.spawn(|| guardian.watch()).map(drop)
        };
        let new = || Self {
            wards: Mutex::default(),
            signal: WakeSignal::new(),
        };
        GUARDIAN.get_or_start(new, start)
    }

    /// Looks after this one from now on.
    pub(crate) fn add(&self, ward: Arc<dyn Ward>) {
        self.lock().push(Guarded {
            ward,
            turns: 0,
            patience: AGAIN,
            is_late: false,
        });
        self.signal.wake();
    }

    /// A ward has more to do than it had, and may not be turned.
    pub(crate) fn posted(&self) {
        self.signal.wake_before(0);
    }

    /// A ward was turned, and is late if it is not turned again before this.
    pub(crate) fn rests_until(&self, at: Instant) {
        self.signal.wake_before(at.nanos());
    }

    /// A ward was deserted.
    pub(crate) fn deserted(&self) {
        self.signal.wake();
    }

    fn watch(&self) {
        let clock = Clock::system();
        loop {
            let mut next = self.look(clock.now());
            if let Next::At(until) = next {
                // A post that finds the guardian asleep wakes it. One more look finds what was posted before.
                self.signal.say(until.nanos());
                next = next.min(self.look(clock.now()));
                if !matches!(next, Next::At(_)) {
                    self.signal.awake();
                }
            }
            self.signal.sleep(match next {
                Next::Within(time) => Some(time),
                Next::At(Instant::NEVER) => None,
                Next::At(until) => Some(until.saturating_since(clock.now())),
            });
        }
    }

    /// Looks at all, and says when to look again.
    fn look(&self, now: Instant) -> Next {
        let mut next = Next::At(Instant::NEVER);
        self.lock().retain_mut(|watched| {
            let again = watched.look(now);
            next = next.min(again.unwrap_or(next));
            again.is_some()
        });
        next
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Guarded>> {
        self.wards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When to look again, the soonest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// There is something to do, or just was.
    Within(Duration),
    /// There is nothing to do before.
    At(Instant),
}

impl Guarded {
    /// Looks at it, and says when to look again; none if it needs nobody any more.
    fn look(&mut self, now: Instant) -> Option<Next> {
        let Rest {
            turns,
            due,
            patience,
        } = match self.ward.look() {
            WardState::Over => return None,
            WardState::Turning => {
                self.is_late = false;
                return Some(Next::Within(self.patience));
            }
            WardState::Deserted => return self.rescue(),
            WardState::Resting(rest) => rest,
        };
        self.patience = patience;
        let was_late = std::mem::replace(&mut self.is_late, due <= now);
        if std::mem::replace(&mut self.turns, turns) != turns {
            // Somebody turns it. For that it need not be woken often: whatever is posted meanwhile wakes nobody.
            self.is_late = false;
            return Some(Next::Within(patience));
        }
        match (self.is_late, was_late) {
            (false, _) => Some(Next::At(due.saturating_add(patience))),
            // A process that was stopped finds everything late when it goes on.
            (true, false) => Some(Next::Within(patience)),
            (true, true) => self.rescue(),
        }
    }

    fn rescue(&self) -> Option<Next> {
        let rescued = Arc::clone(&self.ward).rescue();
        rescued.err().map(|_| Next::Within(AGAIN))
    }
}

#[cfg(test)]
mod tests;
