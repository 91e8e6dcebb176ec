//! What a cell tells of its lease.

use super::*;
use crate::{
    cell::Cell,
    clock::Clock,
    error::{Danger, LossCause},
};
use leasehold_core::{Instant, OperationId, Resource};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

fn status(left: Duration) -> Cell {
    let resource = Resource::new("r").expect("a name");
    let cell = Cell::new(OperationId::new(0), resource, Clock::system());
    cell.begin(Clock::system().now().saturating_add(left));
    cell
}

#[test]
fn a_lease_whose_time_is_up_is_lost_whoever_looks() {
    let status = status(Duration::ZERO);
    assert!(status.state().is_lost());
    let later = Clock::system().now().saturating_add(Duration::from_secs(9));
    status.confirm(later);
    assert!(status.state().is_lost(), "nothing brings it back");
    assert!(status.remaining().is_zero());
}

#[test]
fn a_lease_of_which_nothing_was_left_does_not_come_back() {
    let status = status(Duration::ZERO);
    assert!(status.remaining().is_zero());
    let later = Clock::system().now().saturating_add(Duration::from_secs(9));
    status.confirm(later);
    assert!(status.remaining().is_zero(), "somebody was told");
}

#[test]
fn a_lease_that_is_lost_before_its_end_has_nothing_left() {
    let status = status(Duration::from_secs(60));
    assert!(!status.remaining().is_zero());
    status.lose(LossCause::Stopped);
    assert!(status.remaining().is_zero());
}

#[test]
fn a_lease_that_was_let_go_is_never_lost() {
    let status = status(Duration::ZERO);
    status.let_go();
    assert_eq!(status.look(Duration::ZERO), None);
    assert_eq!(status.loss(), None);
}

#[test]
fn nothing_is_left_of_a_lease_that_was_let_go() {
    let status = status(Duration::from_secs(60));
    status.let_go();
    let later = Clock::system().now().saturating_add(Duration::from_secs(9));
    status.confirm(later);
    assert!(status.remaining().is_zero());
    assert_eq!(status.state(), LeaseState::Released);
}

#[test]
fn a_cause_counts_more_than_the_clocks_word() {
    let status = status(Duration::ZERO);
    assert!(status.state().is_lost());
    let limit = LossCause::ExtensionLimit { extensions: 1 };
    status.lose(limit.clone());
    assert_eq!(status.loss().map(|lost| lost.cause), Some(limit));
}

#[test]
fn only_the_first_cause_counts() {
    let status = status(Duration::from_secs(60));
    status.lose(LossCause::ExtensionLimit { extensions: 1 });
    status.lose(LossCause::Stopped);
    let LeaseState::Lost(lost) = status.state() else {
        panic!("it is lost");
    };
    assert_eq!(lost.cause, LossCause::ExtensionLimit { extensions: 1 });
}

#[test]
fn who_waits_is_woken_by_a_change_and_who_waits_no_more_is_not() {
    let status = Arc::new(status(Duration::from_secs(60)));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let cx = Context::from_waker(&waker);
    let (mut waits, mut gone) = (status.changes(), status.changes());
    for _ in 0..2 {
        assert!(waits.poll(&cx).is_pending());
        assert!(gone.poll(&cx).is_pending());
    }
    drop(gone);
    assert_eq!(status.waiting(), 1, "one waits, once");
    status.lose(LossCause::Stopped);
    status.lose(LossCause::Stopped);
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert!(waits.poll(&cx).is_ready());
    assert!(waits.poll(&cx).is_pending(), "it was told");
    assert!(status.changes().poll(&cx).is_pending());
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicU64);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
#[cfg(feature = "cancellation")]
fn a_token_that_is_asked_for_after_the_loss_is_cancelled() {
    let asked = status(Duration::from_secs(60));
    let before = asked.token();
    assert!(!before.is_cancelled());
    asked.lose(LossCause::Stopped);
    assert!(before.is_cancelled() && asked.token().is_cancelled());
    // There was none while the lease was held.
    let unasked = status(Duration::from_secs(60));
    unasked.lose(LossCause::Stopped);
    assert!(unasked.token().is_cancelled());
}

#[test]
fn a_confirmation_ends_the_danger_and_shortens_nothing() {
    let status = status(Duration::from_secs(60));
    let before = status.valid_until();
    status.endanger(Danger {
        remaining: Duration::from_secs(1),
        trouble: None,
    });
    assert!(matches!(status.state(), LeaseState::InDanger(_)));
    status.confirm(Instant::ORIGIN);
    assert_eq!(status.state(), LeaseState::Held);
    assert_eq!(status.valid_until(), before);
}
