//! What is held, by its values and by the clock.

use super::{error::TimestampLossCause, subject::Subject};
use leasehold_core::Instant;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// One lease, as the guard and the thread see it.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) subject: Arc<Subject>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What the key may carry if it is ours; the last one is the latest. More than one after an extension whose answer
    /// was lost.
    ours: Vec<u64>,
    valid_until: Instant,
    lost: Option<TimestampLossCause>,
}

impl Lease {
    pub(super) fn new(subject: Arc<Subject>, end: u64, valid_until: Instant) -> Self {
        let state = State {
            ours: vec![end],
            valid_until,
            lost: None,
        };
        Self {
            subject,
            state: Mutex::new(state),
        }
    }

    /// The clock's origin once the lease is lost.
    pub(super) fn valid_until(&self) -> Instant {
        let state = self.state();
        match state.lost {
            None => state.valid_until,
            Some(_) => Instant::ORIGIN,
        }
    }

    pub(super) fn remaining(&self) -> Duration {
        let until = self.valid_until();
        until.saturating_since(self.subject.clocks.now())
    }

    /// Why it is over, if it is.
    pub(super) fn lost(&self) -> Option<TimestampLossCause> {
        let lost = self.state().lost.clone();
        lost.or_else(|| {
            self.remaining()
                .is_zero()
                .then_some(TimestampLossCause::TimedOut)
        })
    }

    pub(super) fn ours(&self) -> Vec<u64> {
        self.state().ours.clone()
    }

    /// The key may carry this from now on.
    pub(super) fn may_carry(&self, end: u64) {
        let mut state = self.state();
        if !state.ours.contains(&end) {
            state.ours.push(end);
        }
    }

    /// The key certainly carries nothing but what it may have carried before.
    pub(super) fn carries_only(&self, ours: Vec<u64>) {
        self.state().ours = ours;
    }

    /// The key was ours when the clock had been read, and ends then.
    pub(super) fn confirm(&self, end: u64, valid_until: Instant) {
        let mut state = self.state();
        state.ours = vec![end];
        state.valid_until = state.valid_until.max(valid_until);
    }

    /// What was found out on the node ends the lease, whatever the clock says.
    pub(super) fn lose(&self, cause: TimestampLossCause) -> TimestampLossCause {
        self.state().lost = Some(cause.clone());
        cause
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
