//! A shell that is turned by a task of the caller's runtime, and moves to a thread of its own if that stands still.

use super::{Shell, ShutdownState, runner};
use crate::{
    alarm::Alarm,
    fork::Process,
    guardian::{GuardianHandle, Rest, Ward, WardState},
};
use leasehold_core::{Instant, Ttl};
use std::{
    io, mem,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

/// Where a shell sits that its driver turns.
pub(super) struct Seat {
    seated: Mutex<Seated>,
    /// Whether the driver has gone, with its runtime.
    is_deserted: AtomicBool,
    process: Process,
    guardian: Option<GuardianHandle>,
}

struct Seated {
    /// None while it is turned, and when it has ended or goes on elsewhere.
    shell: Option<Box<Shell>>,
    turns: u64,
}

/// The task that turns the shell.
pub(super) struct Driver(Arc<Seat>);

impl Driver {
    /// The driver of this shell. Without a guardian the shell ends with its runtime, as a test's must, in whose time
    /// nothing is late.
    pub(super) fn new(shell: Shell, guardian: Option<GuardianHandle>) -> Self {
        let seat = Arc::new(Seat {
            seated: Mutex::new(Seated {
                shell: Some(Box::new(shell)),
                turns: 0,
            }),
            is_deserted: AtomicBool::new(false),
            process: Process::this(),
            guardian,
        });
        if let Some(guardian) = &seat.guardian {
            guardian.add(Arc::<Seat>::clone(&seat));
        }
        Self(seat)
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.turn(cx)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let seat = &self.0;
        if !seat.process.is_this() {
            seat.forget();
            return;
        }
        match &seat.guardian {
            Some(guardian) => {
                seat.is_deserted.store(true, Ordering::Release);
                guardian.deserted();
            }
            None => drop(seat.lock().shell.take()),
        }
    }
}

impl Seat {
    fn turn(&self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.process.is_this() {
            self.forget();
            return Poll::Ready(());
        }
        let mut seated = self.lock();
        // If it panics, it is gone: nobody must go on with what it has left.
        let Some(mut shell) = seated.shell.take() else {
            return Poll::Ready(());
        };
        seated.turns += 1;
        if shell.poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let late = shell.rests_until.saturating_add(shell.patience);
        seated.shell = Some(shell);
        drop(seated);
        if let Some(guardian) = &self.guardian {
            guardian.rests_until(late);
        }
        Poll::Pending
    }

    /// In a child that was forked: to drop the shell would end in the parent what both have.
    fn forget(&self) {
        // Another thread of the parent may have had it in its hands.
        if let Ok(mut seated) = self.seated.try_lock() {
            mem::forget(seated.shell.take());
        }
    }

    /// Turns it on the thread that calls, until its work is done.
    pub(super) async fn move_here(&self) {
        let Some(mut shell) = self.lock().shell.take() else {
            return;
        };
        if let Some(guardian) = &self.guardian {
            guardian.over();
        }
        shell.change_runtime();
        runner::turn(&mut shell).await;
    }

    fn lock(&self) -> MutexGuard<'_, Seated> {
        self.seated.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ward for Seat {
    fn look(&self) -> WardState {
        let seated = match self.seated.try_lock() {
            Ok(seated) => seated,
            Err(TryLockError::WouldBlock) => return WardState::Turning,
            Err(TryLockError::Poisoned(seated)) => seated.into_inner(),
        };
        let Some(shell) = &seated.shell else {
            return WardState::Over;
        };
        if self.is_deserted.load(Ordering::Acquire) {
            return WardState::Deserted;
        }
        WardState::Resting(Rest {
            turns: seated.turns,
            due: match shell.is_waited_for() {
                true => Instant::ORIGIN,
                false => shell.rests_until,
            },
            patience: shell.patience,
        })
    }

    fn rescue(self: Arc<Self>) -> io::Result<()> {
        runner::on_own_thread(|| Ok(self), |seat| async move { seat.move_here().await })
    }
}

impl Shell {
    /// Whether something was posted that was not taken yet, or the last who could post has gone.
    fn is_waited_for(&self) -> bool {
        let is_deserted = matches!(self.ending, ShutdownState::Deserted(_));
        !is_deserted && (!self.commands.is_empty() || self.commands.is_closed())
    }

    /// It is turned on another runtime from now on, and shares that with nobody.
    fn change_runtime(&mut self) {
        self.is_guest = false;
        self.alarm = Alarm::new(self.clock);
        for link in &mut self.links {
            link.change_runtime();
        }
    }
}

/// How late the shell may be turned that keeps a lease of this TTL.
pub(super) fn patience(ttl: Ttl) -> Duration {
    (ttl.as_duration() / 16).clamp(LEAST_PATIENCE, MOST_PATIENCE)
}

/// For leases that last long.
pub(super) const MOST_PATIENCE: Duration = Duration::from_millis(25);

/// No thread is always on time.
const LEAST_PATIENCE: Duration = Duration::from_millis(2);
