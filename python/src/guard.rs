//! The guards of all kinds of lock, and how one is shared by those who use it and given to the one who ends it.

use crate::operation::lock;
use leasehold::{
    LeaseGuard, LeaseLost, LeaseState, OnceGuard, PermitGuard, Plain, ReadGuard, WriteGuard,
};
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::Poll,
};
use tokio::sync::Notify;

/// A guard of any kind. That of a leader is fenced or plain.
#[derive(Debug)]
pub(crate) enum Guard {
    Fenced(LeaseGuard),
    Plain(LeaseGuard<Plain>),
    Read(ReadGuard),
    Write(WriteGuard),
    Permit(PermitGuard),
    Once(OnceGuard),
}

/// The same of each kind.
macro_rules! each {
    ($guard:expr, $of:ident => $what:expr) => {
        match $guard {
            $crate::guard::Guard::Fenced($of) => $what,
            $crate::guard::Guard::Plain($of) => $what,
            $crate::guard::Guard::Read($of) => $what,
            $crate::guard::Guard::Write($of) => $what,
            $crate::guard::Guard::Permit($of) => $what,
            $crate::guard::Guard::Once($of) => $what,
        }
    };
}
pub(crate) use each;

impl Guard {
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Fenced(_) => "fenced",
            Self::Plain(_) => "plain",
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Permit(_) => "permit",
            Self::Once(_) => "once",
        }
    }

    pub(crate) fn token(&self) -> Option<u64> {
        let token = match self {
            Self::Fenced(guard) => guard.token(),
            Self::Write(guard) => guard.token(),
            Self::Permit(guard) => guard.token(),
            Self::Once(guard) => guard.token(),
            Self::Plain(_) | Self::Read(_) => None,
        };
        crate::facts::token(token)
    }

    pub(crate) fn loss(&self) -> Pin<Box<dyn Future<Output = LeaseLost> + Send>> {
        match self {
            Self::Fenced(guard) => Box::pin(guard.lost()),
            Self::Plain(guard) => Box::pin(guard.lost()),
            Self::Read(guard) => Box::pin(guard.lost()),
            Self::Write(guard) => Box::pin(guard.lost()),
            Self::Permit(guard) => Box::pin(guard.lost()),
            Self::Once(guard) => Box::pin(guard.lost()),
        }
    }
}

/// A guard while it is held, and how it ended afterwards.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Somebody has ended using it.
    idle: Notify,
    /// It was given away.
    over: Notify,
}

#[derive(Debug)]
enum State {
    Held(Arc<Guard>),
    /// It was given away: back, or to another process. With the loss, if it was lost before.
    Over(Option<LeaseLost>),
}

impl Shared {
    pub(crate) fn new(guard: Guard) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::Held(Arc::new(guard))),
            idle: Notify::new(),
            over: Notify::new(),
        })
    }

    /// The guard, for as long as one looks at it or asks the nodes something.
    pub(crate) fn borrow(self: &Arc<Self>) -> Option<Borrowed> {
        match &*lock(&self.state) {
            State::Held(guard) => Some(Borrowed {
                guard: Some(Arc::clone(guard)),
                shared: Arc::clone(self),
            }),
            State::Over(_) => None,
        }
    }

    /// Why it was lost, if it was: also if it was given away later.
    pub(crate) fn lost(self: &Arc<Self>) -> Option<LeaseLost> {
        match self.borrow() {
            Some(guard) => loss_of(guard.get()),
            None => match &*lock(&self.state) {
                State::Over(lost) => lost.clone(),
                State::Held(_) => None,
            },
        }
    }

    /// Gives the guard to whoever ends it. Dropping what is returned gives the lock back in the background.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Taken> {
        let lost = self.lost();
        let mut state = lock(&self.state);
        match std::mem::replace(&mut *state, State::Over(lost)) {
            State::Held(guard) => {
                self.over.notify_waiters();
                Some(Taken(Borrowed {
                    guard: Some(guard),
                    shared: Arc::clone(self),
                }))
            }
            over @ State::Over(_) => {
                *state = over;
                None
            }
        }
    }
}

fn loss_of(guard: &Guard) -> Option<LeaseLost> {
    match each!(guard, guard => guard.state()) {
        LeaseState::Lost(lost) => Some(lost),
        _ => None,
    }
}

/// A guard that is used.
#[derive(Debug)]
pub(crate) struct Borrowed {
    /// None only while it is dropped, or given away.
    guard: Option<Arc<Guard>>,
    shared: Arc<Shared>,
}

impl Borrowed {
    /// Waits for the next change of the state, or until the guard is given away: nobody has to wait until this is done.
    pub(crate) async fn changed(self) {
        let mut over = pin!(self.shared.over.notified());
        over.as_mut().enable();
        // It may have been given away before that.
        if self.shared.borrow().is_none() {
            return;
        }
        let mut changed = pin!(async { each!(self.get(), guard => drop(guard.changed().await)) });
        poll_fn(|cx| match over.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => changed.as_mut().poll(cx),
        })
        .await;
    }

    pub(crate) fn get(&self) -> &Guard {
        self.guard
            .as_ref()
            .expect("it is there until it is dropped")
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        drop(self.guard.take());
        self.shared.idle.notify_waiters();
    }
}

/// A guard that nobody can borrow any more.
#[derive(Debug)]
pub(crate) struct Taken(Borrowed);

impl Taken {
    /// The guard itself, when those who have borrowed it are done.
    pub(crate) async fn alone(mut self) -> Guard {
        let shared = Arc::clone(&self.0.shared);
        let mut guard = self.0.guard.take().expect("it was just taken");
        loop {
            // Before it is tried: who ends in between wakes it.
            let mut idle = std::pin::pin!(shared.idle.notified());
            idle.as_mut().enable();
            match Arc::try_unwrap(guard) {
                Ok(guard) => return guard,
                Err(used) => guard = used,
            }
            // An extension ends in the nodes' time limit.
            idle.await;
        }
    }
}
