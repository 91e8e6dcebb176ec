//! What several threads share of one lock, tried in the orders in which they can come: the library's own code, with the
//! locks and atomics of `loom` in the place of the standard library's.

#[path = "../../src/answer.rs"]
#[expect(dead_code, reason = "not everything is tried")]
mod answer;
#[path = "../../src/cell.rs"]
#[expect(dead_code, reason = "not everything is tried")]
mod cell;
#[path = "../../src/guardian/wake_signal.rs"]
mod wake_signal;

/// The parts that what is shared is made of.
mod sync {
    pub(crate) use loom::sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering, fence},
    };
    pub(crate) use std::sync::PoisonError;
}

/// A clock that any thread may move on.
mod clock {
    use leasehold_core::Instant;
    use loom::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    loom::lazy_static! {
        static ref NOW_MS: AtomicU64 = AtomicU64::new(0);
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Clock;

    impl Clock {
        pub(crate) fn now(self) -> Instant {
            at(NOW_MS.load(Ordering::SeqCst))
        }

        pub(crate) fn set(self, millis: u64) {
            NOW_MS.store(millis, Ordering::SeqCst);
        }
    }

    pub(crate) fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }
}

/// Nobody forks here.
mod fork {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Process;

    impl Process {
        pub(crate) const fn this() -> Self {
            Self
        }

        pub(crate) const fn is_this(self) -> bool {
            let Self = self;
            true
        }
    }
}

/// What can be told of a lease; the library's own types are made by itself alone.
mod error {
    use leasehold_core::{Instant, Resource};

    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Trouble;

    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Danger {
        pub(crate) trouble: Option<Trouble>,
    }

    impl Danger {
        pub(crate) fn trouble_at(&self, _: Instant, _: Option<Instant>) -> Option<Trouble> {
            self.trouble.clone()
        }
    }

    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct LeaseLost {
        pub(crate) resource: Resource,
        pub(crate) cause: LossCause,
    }

    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) enum LossCause {
        TimedOut { trouble: Option<Trouble> },
        Forked,
        Stopped,
    }
}

mod state {
    use crate::error::{Danger, LeaseLost};

    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) enum LeaseState {
        Held,
        InDanger(Danger),
        Lost(LeaseLost),
        Released,
    }

    impl LeaseState {
        pub(crate) const fn is_lost(&self) -> bool {
            matches!(self, Self::Lost(_))
        }
    }
}

use answer::{Awaited, Leftover};
use cell::{Cell, MOMENT};
use clock::{Clock, at};
use error::LossCause;
use leasehold_core::{OperationId, Resource};
use loom::{future::block_on, model, thread};
use state::LeaseState;
use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};
use wake_signal::WakeSignal;

#[test]
fn an_answer_is_had_by_the_caller_or_known_to_be_nobodys() {
    // Argument S5: of a lease that is won while its caller goes, exactly one knows that it must be released.
    model(|| {
        let answer = Arc::new(Awaited::new());
        let shell = thread::spawn({
            let answer = Arc::clone(&answer);
            move || answer.give("a lease")
        });
        let polled = answer.poll(&Context::from_waker(Waker::noop()));
        let left = answer.leave();
        let given = shell.join().expect("it does not panic");
        match (polled, left) {
            (Poll::Ready(had), Leftover::Nothing) => {
                assert_eq!((had, given), (Some("a lease"), Ok(())));
            }
            (Poll::Pending, Leftover::Come(lease)) => {
                assert_eq!((lease, given), ("a lease", Ok(())));
            }
            (Poll::Pending, Leftover::Owed) => assert_eq!(given, Err("a lease")),
            other => panic!("the caller was told {other:?}"),
        }
        assert!(!answer.is_owed());
    });
}

#[test]
fn a_caller_is_woken_by_the_answer_or_by_the_end_of_the_shell() {
    for comes in [true, false] {
        model(move || {
            let answer = Arc::new(Awaited::new());
            let shell = thread::spawn({
                let answer = Arc::clone(&answer);
                move || {
                    if comes {
                        answer.give(7).expect("somebody waits");
                    }
                    answer.desert();
                }
            });
            // If it were not woken, the model would find that nobody can go on.
            let had = block_on(poll_fn(|cx| answer.poll(cx)));
            assert_eq!(had, comes.then_some(7));
            shell.join().expect("it does not panic");
        });
    }
}

/// A lease that is valid until 10 ms.
fn cell() -> Arc<Cell> {
    let resource = Resource::new("r").expect("a name");
    let cell = Cell::new(OperationId::new(0), resource, Clock);
    cell.begin(at(10));
    Arc::new(cell)
}

/// In every order in which three threads can come that are interrupted three times: all of them would take minutes.
fn model_of_three(work: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(work);
}

fn spawn(cell: &Arc<Cell>, work: impl FnOnce(&Cell) + 'static) -> thread::JoinHandle<()> {
    let cell = Arc::clone(cell);
    thread::spawn(move || work(&cell))
}

/// A lease whose time is up when the deadlines have given the shell its moment.
fn overdue() -> Arc<Cell> {
    let cell = cell();
    Clock.set(10 + u64::try_from(MOMENT.as_millis()).expect("a few milliseconds"));
    cell
}

#[test]
fn what_was_let_go_is_lost_before_or_never() {
    // Argument S6, at the end of a lease: the deadlines look while the holder lets go.
    model(|| {
        let cell = overdue();
        let deadlines = spawn(&cell, |cell| {
            cell.look(MOMENT);
        });
        cell.let_go();
        assert!(cell.remaining().is_zero());
        let state = cell.state();
        assert!(matches!(state, LeaseState::Released | LeaseState::Lost(_)));
        deadlines.join().expect("it does not panic");
        assert_eq!(cell.state(), state, "what the holder was told stays true");
    });
}

#[test]
fn nothing_is_left_of_a_lease_that_is_lost_while_its_holder_lets_go() {
    model(|| {
        let cell = cell();
        let shell = spawn(&cell, |cell| {
            cell.confirm(at(20));
            cell.lose(LossCause::Stopped);
        });
        cell.let_go();
        assert!(cell.remaining().is_zero());
        shell.join().expect("it does not panic");
        assert!(cell.remaining().is_zero());
    });
}

#[test]
fn who_was_told_that_nothing_is_left_is_never_told_otherwise() {
    // Argument S6: the deadlines, the shell that has heard of a confirmation, and a holder, at the end of a lease.
    model_of_three(|| {
        let cell = overdue();
        let deadlines = spawn(&cell, |cell| {
            cell.look(MOMENT);
        });
        let shell = spawn(&cell, |cell| cell.confirm(at(60_000)));
        let mut is_over = false;
        for _ in 0..2 {
            let left = cell.remaining();
            assert!(!is_over || left.is_zero(), "it came back");
            is_over |= left.is_zero();
        }
        deadlines.join().expect("it does not panic");
        shell.join().expect("it does not panic");
        assert!(!is_over || cell.remaining().is_zero(), "it came back");
        assert_eq!(cell.state().is_lost(), cell.remaining().is_zero());
    });
}

#[test]
fn who_waits_is_woken_by_the_loss_whoever_tells_it() {
    model_of_three(|| {
        let cell = overdue();
        let deadlines = spawn(&cell, |cell| {
            cell.look(MOMENT);
        });
        let shell = spawn(&cell, |cell| cell.lose(LossCause::Stopped));
        let mut changes = cell.changes();
        // As a guard waits: it looks, and waits for a change.
        let lost = block_on(async {
            loop {
                if let LeaseState::Lost(lost) = cell.told() {
                    return lost;
                }
                changes.next().await;
            }
        });
        deadlines.join().expect("it does not panic");
        shell.join().expect("it does not panic");
        assert!(matches!(
            lost.cause,
            LossCause::Stopped | LossCause::TimedOut { .. }
        ));
        let loss = cell.loss().expect("it is lost");
        assert_eq!(loss.cause, LossCause::Stopped, "the shell knows why");
    });
}

#[test]
fn who_waits_no_more_leaves_nothing_behind() {
    model(|| {
        let cell = cell();
        let shell = spawn(&cell, |cell| cell.lose(LossCause::Stopped));
        let mut changes = cell.changes();
        let looked = changes.poll(&Context::from_waker(Waker::noop()));
        drop(changes);
        shell.join().expect("it does not panic");
        assert_eq!(cell.waiting(), 0, "after {looked:?}");
        assert_eq!(cell.remaining(), Duration::ZERO);
    });
}

#[test]
fn the_guardian_finds_what_was_posted_or_is_woken_by_it() {
    use sync::{AtomicBool, Ordering::Relaxed};
    model(|| {
        let shared = Arc::new((WakeSignal::new(), AtomicBool::new(false)));
        let caller = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.1.store(true, Relaxed);
                shared.0.wake_before(0);
            }
        });
        let (signal, posted) = &*shared;
        // If it slept over what was posted, the model would find that nobody can go on.
        while !posted.load(Relaxed) {
            signal.say(u64::MAX);
            match posted.load(Relaxed) {
                true => signal.awake(),
                false => signal.sleep(None),
            }
        }
        caller.join().expect("it does not panic");
    });
}
