//! The thread that sees to it that managers are turned whose work is a task of the caller's runtime.
//!
//! Such a task stands still when others block the runtime's threads, when the runtime was dropped, or when nobody polls it.
//! So one thread of the process looks after all of them. It costs them next to nothing while they are turned: it sleeps until
//! the next of them should have been turned, or something is posted, and a moment longer, and looks. One that was not
//! turned for a moment after such a look is given a thread of its own, and goes on there.
//!
//! No lock is held here while a function of the user's runs, and none is waited for that may be: who is locked is being
//! turned.

mod wake_signal;

use crate::{clock::Clock, fork::PerProcess};
use leasehold_core::Instant;
use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
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
    /// Since when it is known to be late.
    late_since: Option<Instant>,
}

impl std::fmt::Debug for Guarded {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = out.debug_struct("Guarded");
        out.field("turns", &self.turns)
            .field("late_since", &self.late_since);
        out.finish_non_exhaustive()
    }
}

/// The way to the guardian of those who post to a ward.
#[derive(Clone, Debug)]
pub(crate) struct GuardianHandle {
    guardian: &'static Guardian,
    /// Whether the ward needs nobody any more.
    is_over: Arc<AtomicBool>,
}

impl GuardianHandle {
    /// That of the process's guardian, for a ward that is to come.
    ///
    /// # Errors
    /// If the system has no thread to give.
    pub(crate) fn start() -> io::Result<Self> {
        Ok(Self {
            guardian: Guardian::start()?,
            is_over: Arc::default(),
        })
    }

    /// Lets the guardian look after this one from now on.
    pub(crate) fn add(&self, ward: Arc<dyn Ward>) {
        self.guardian.add(ward);
    }

    /// The ward has more to do than it had, and may not be turned; or nobody is left who could give it more.
    pub(crate) fn posted(&self) {
        if !self.is_over.load(Ordering::Relaxed) {
            self.guardian.posted();
        }
    }

    /// The ward was turned, and is late if it is not turned again before this.
    pub(crate) fn rests_until(&self, at: Instant) {
        self.guardian.rests_until(at);
    }

    /// The ward was deserted.
    pub(crate) fn deserted(&self) {
        self.guardian.deserted();
    }

    /// The ward has ended, or has a thread of its own: what is posted to it wakes nobody here.
    pub(crate) fn over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
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
    fn start() -> io::Result<&'static Self> {
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
    fn add(&self, ward: Arc<dyn Ward>) {
        self.lock().push(Guarded {
            ward,
            turns: 0,
            patience: AGAIN,
            late_since: None,
        });
        self.signal.wake();
    }

    /// A ward has more to do than it had, and may not be turned.
    fn posted(&self) {
        self.signal.wake_before(0);
    }

    /// A ward was turned, and is late if it is not turned again before this.
    fn rests_until(&self, at: Instant) {
        self.signal.wake_before(at.nanos());
    }

    /// A ward was deserted.
    fn deserted(&self) {
        self.signal.wake();
    }

    fn watch(&self) {
        let clock = Clock::system();
        loop {
            let mut next = self.look(clock.now());
            if let Next::At(until) = next {
                // A post that finds the guardian asleep wakes it. One more look finds what was posted before.
                self.signal.say(until.nanos());
                next = match self.look(clock.now()) {
                    Next::At(sooner) => Next::At(until.min(sooner)),
                    soon @ Next::Soon(_) => {
                        self.signal.awake();
                        soon
                    }
                };
            }
            self.signal.sleep(match next {
                Next::At(Instant::NEVER) => None,
                Next::At(until) | Next::Soon(until) => Some(until.saturating_since(clock.now())),
            });
        }
    }

    /// Looks at all, and says when to look again.
    fn look(&self, now: Instant) -> Next {
        let (mut until, mut is_soon, mut least) = (Instant::NEVER, false, Duration::MAX);
        self.lock().retain_mut(|watched| {
            let Some(again) = watched.look(now) else {
                return false;
            };
            let (Next::At(at) | Next::Soon(at)) = again;
            until = until.min(at);
            is_soon |= matches!(again, Next::Soon(_));
            least = least.min(watched.patience);
            true
        });
        if is_soon {
            // Meanwhile a post wakes nobody: whose patience is shorter must not wait for those who have more.
            Next::Soon(until.min(now.saturating_add(least)))
        } else {
            Next::At(until)
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Guarded>> {
        self.wards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// There is something to do, or just was: then, whatever is posted meanwhile.
    Soon(Instant),
    /// There is nothing to do before, unless something is posted.
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
                self.late_since = None;
                return Some(Next::Soon(now.saturating_add(self.patience)));
            }
            WardState::Deserted => return self.rescue(now),
            WardState::Resting(rest) => rest,
        };
        self.patience = patience;
        if std::mem::replace(&mut self.turns, turns) != turns {
            // Somebody turns it. For that it need not be woken often: whatever is posted meanwhile wakes nobody.
            self.late_since = None;
            return Some(Next::Soon(now.saturating_add(patience)));
        }
        if due > now {
            self.late_since = None;
            return Some(Next::At(due.saturating_add(patience)));
        }
        // A process that was stopped finds everything late when it goes on. How often it is looked at says nothing: others
        // may be the reason.
        let until = self.late_since.get_or_insert(now).saturating_add(patience);
        if now < until {
            return Some(Next::Soon(until));
        }
        self.rescue(now)
    }

    fn rescue(&self, now: Instant) -> Option<Next> {
        let rescued = Arc::clone(&self.ward).rescue();
        rescued.err().map(|_| Next::Soon(now.saturating_add(AGAIN)))
    }
}

#[cfg(test)]
mod tests;
