//! Futures of the library, polled by the thread of JavaScript.
//!
//! A call posts what it wants to the manager's thread when its future is polled first, which is at once. When the answer is
//! there, the manager's thread puts the number of the call into a mailbox and rings the event loop, once for all that is in
//! the box. The event loop calls `turn`, which polls what was called and hands all results to JavaScript together. So a
//! call costs two wakes of a thread, and a hundred at once hardly more.
//!
//! Nothing that a lease depends on happens here: the manager's thread extends leases and sees their ends, also while
//! JavaScript blocks its event loop.

use crate::{failure::Failure, lease::NativeLease};
use napi::{
    Status,
    bindgen_prelude::Function,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
};

/// What a call comes to.
pub(crate) type Outcome = Result<Payload, Failure>;

/// What JavaScript gets.
pub(crate) enum Payload {
    Nothing,
    Value(Value),
    Lease(Box<NativeLease>),
}

type Work = Pin<Box<dyn Future<Output = Outcome>>>;

/// Futures under way, of one thread of JavaScript.
#[derive(Clone)]
pub(crate) struct Executor(Rc<Inner>);

struct Inner {
    mailbox: Arc<Mailbox>,
    tasks: RefCell<HashMap<u32, Task>>,
    /// What ended when it was polled first.
    done: RefCell<Vec<(u32, Outcome)>>,
    next: Cell<u32>,
}

struct Task {
    work: Work,
    waker: Waker,
}

type Bell = ThreadsafeFunction<(), (), (), Status, false, true>;

/// What other threads leave for the thread of JavaScript.
pub(crate) struct Mailbox {
    letters: Mutex<Letters>,
    bell: Bell,
}

#[derive(Default)]
struct Letters {
    woken: Vec<u32>,
    events: Vec<Value>,
    /// How many events found the box full.
    missed: u64,
    has_rung: bool,
}

/// Everything that was left since the last turn.
pub(crate) struct Turned {
    pub(crate) settled: Vec<(u32, Outcome)>,
    pub(crate) events: Vec<Value>,
    pub(crate) missed: u64,
}

impl Executor {
    pub(crate) fn new(turn: &Function<'_, (), ()>) -> napi::Result<Self> {
        // Weak: a bell keeps no event loop alive. Who waits for a call is counted by JavaScript.
        let bell = turn
            .build_threadsafe_function()
            .callee_handled::<false>()
            .weak::<true>()
            .build()?;
        let mailbox = Mailbox {
            letters: Mutex::default(),
            bell,
        };
        Ok(Self(Rc::new(Inner {
            mailbox: Arc::new(mailbox),
            tasks: RefCell::default(),
            done: RefCell::default(),
            next: Cell::new(1),
        })))
    }

    pub(crate) fn mailbox(&self) -> Arc<Mailbox> {
        Arc::clone(&self.0.mailbox)
    }

    /// Begins it. Its outcome is told by a later turn, under this number.
    pub(crate) fn begin(&self, work: impl Future<Output = Outcome> + 'static) -> u32 {
        let inner = &self.0;
        let id = inner.next.get();
        inner.next.set(id.wrapping_add(1).max(1));
        let mailbox = self.mailbox();
        let task = Task {
            work: Box::pin(work),
            waker: Waker::from(Arc::new(Caller { id, mailbox })),
        };
        if let Some(outcome) = inner.poll(id, task) {
            inner.done.borrow_mut().push((id, outcome));
            inner.mailbox.ring(|_| {});
        }
        id
    }

    /// Drops what is under way: the library gives up, and undoes what it has done. False if it has ended.
    pub(crate) fn cancel(&self, id: u32) -> bool {
        // Not while the map is borrowed: what is dropped may wake others.
        let task = self.0.tasks.borrow_mut().remove(&id);
        task.is_some()
    }

    /// Ends what is under way with this failure.
    pub(crate) fn fail(&self, id: u32, failure: Failure) {
        if self.cancel(id) {
            self.0.done.borrow_mut().push((id, Err(failure)));
            self.0.mailbox.ring(|_| {});
        }
    }

    /// Drops all that is under way. Futures hold the executor that holds them, so nothing else would.
    pub(crate) fn end(&self) {
        let tasks = std::mem::take(&mut *self.0.tasks.borrow_mut());
        let done = std::mem::take(&mut *self.0.done.borrow_mut());
        drop((tasks, done));
    }

    pub(crate) fn turn(&self) -> Turned {
        let inner = &self.0;
        let letters = std::mem::take(&mut *inner.mailbox.lock());
        let mut settled = std::mem::take(&mut *inner.done.borrow_mut());
        for id in letters.woken {
            let task = inner.tasks.borrow_mut().remove(&id);
            if let Some(outcome) = task.and_then(|task| inner.poll(id, task)) {
                settled.push((id, outcome));
            }
        }
        Turned {
            settled,
            events: letters.events,
            missed: letters.missed,
        }
    }
}

impl Inner {
    /// Polls it, and keeps it if it has not ended.
    fn poll(&self, id: u32, mut task: Task) -> Option<Outcome> {
        let polled = {
            let mut context = Context::from_waker(&task.waker);
            let work = task.work.as_mut();
            // A panic must not cross into JavaScript.
            catch_unwind(AssertUnwindSafe(move || work.poll(&mut context)))
        };
        match polled {
            Ok(Poll::Ready(outcome)) => Some(outcome),
            Ok(Poll::Pending) => {
                self.tasks.borrow_mut().insert(id, task);
                None
            }
            Err(panic) => Some(Err(Failure::of_panic(&*panic))),
        }
    }
}

impl Mailbox {
    /// Leaves an event, if there is room.
    pub(crate) fn tell(&self, event: Value) {
        self.ring(|letters| {
            if letters.events.len() < MOST_EVENTS {
                letters.events.push(event);
            } else {
                letters.missed += 1;
            }
        });
    }

    fn ring(&self, leave: impl FnOnce(&mut Letters)) {
        let mut letters = self.lock();
        leave(&mut letters);
        let has_rung = std::mem::replace(&mut letters.has_rung, true);
        drop(letters);
        if !has_rung {
            // Refused only by an event loop that has ended.
            let _ = self.bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Caller {
    id: u32,
    mailbox: Arc<Mailbox>,
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.mailbox.ring(|letters| letters.woken.push(self.id));
    }
}

/// An event loop that is blocked for long must not fill the memory.
const MOST_EVENTS: usize = 10_000;
