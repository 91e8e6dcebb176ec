//! A timestamp lock in somebody's hands.

use super::{
    desk::{Desk, Order},
    error::TimestampExtendError,
    lease::Lease,
    outcome::TimestampReleaseOutcome,
};
use leasehold_core::{Instant, Resource};
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// The right to a resource until [`valid_until`](Self::valid_until), as far as the clocks of all programs agree.
///
/// It is not extended by itself, and has no fencing token: the lock's value is a time, which two holders may share.
/// It does not notice by itself when its key is changed either: only [`extend`](Self::extend) looks.
///
/// Dropping it releases the lock in the background, by the lock's thread. To know what became of the release, call
/// [`release`](Self::release).
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct TimestampGuard {
    lease: Arc<Lease>,
    desk: Desk,
    is_released: bool,
}

impl TimestampGuard {
    pub(super) const fn new(lease: Arc<Lease>, desk: Desk) -> Self {
        Self {
            lease,
            desk,
            is_released: false,
        }
    }

    /// What is held.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.lease.subject.resource
    }

    /// The Unix second that was written last: the last one in which other programs leave the lock alone, by their
    /// clocks. After an extension whose answer was lost it may not have been.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.lease.ours().last().copied().unwrap_or_default()
    }

    /// Until when the lease may be relied upon, by [`Clock::system`](crate::clock::Clock::system): the timeout, from
    /// before the request left. Later with each extension, and the clock's origin once the lease is lost.
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        self.lease.valid_until()
    }

    /// How long the lease may still be relied upon; zero when it may not. Reads the clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.lease.remaining()
    }

    /// Whether the lease may be relied upon now. Reads the clock, and does not ask the node.
    ///
    /// A program may be stopped between this answer and what it does upon it, for any length of time.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// Lets the lease last for the whole timeout from now, by writing a later second if the key still carries ours.
    ///
    /// Waits for its turn and for the node's answer, for two seconds at most, and about ten more where it has to connect.
    /// If the key carries anything else, or is gone, the lease is lost at once, whatever the clock says: who has
    /// written it cannot be told.
    ///
    /// # Errors
    /// [`Lost`](TimestampExtendError::Lost) if the lease was over, or was found to be;
    /// [`Unreachable`](TimestampExtendError::Unreachable) and [`Unclear`](TimestampExtendError::Unclear) if the node could not be asked
    /// or did not answer, and [`ClockSetBack`](TimestampExtendError::ClockSetBack) if this machine's clock was, each of which
    /// leaves the lease as valid as it was.
    ///
    /// # Cancel safety
    /// Dropping the future loses the answer; the lease is extended all the same, or lost.
    pub async fn extend(&self) -> Result<(), TimestampExtendError> {
        let (answer, told) = oneshot::channel();
        let lease = Arc::clone(&self.lease);
        self.desk.post(Order::Extend { lease, answer });
        let shut_down = || TimestampExtendError::ShutDown {
            resource: self.resource().clone(),
        };
        told.await.unwrap_or_else(|_| Err(shut_down()))?;
        // Argument T2: the confirmation may have come long before this task ran again.
        match self.lease.lost() {
            None => Ok(()),
            Some(cause) => Err(TimestampExtendError::Lost {
                resource: self.resource().clone(),
                cause,
            }),
        }
    }

    /// Gives the lock back if its key still carries our value and its time is not up, and tells what became of it.
    ///
    /// Waits for its turn and for the node's answer, for two seconds at most, and about ten more where it has to connect.
    /// It is tried once: see [`Unknown`](TimestampReleaseOutcome::Unknown).
    ///
    /// # Cancel safety
    /// The release goes on in the background when the future is dropped.
    pub async fn release(mut self) -> TimestampReleaseOutcome {
        let (answer, told) = oneshot::channel();
        self.hand_back(Some(answer));
        told.await
            .unwrap_or_else(|_| TimestampReleaseOutcome::Unknown {
                reason: "the lock's thread has ended".to_owned(),
            })
    }

    fn hand_back(&mut self, answer: Option<oneshot::Sender<TimestampReleaseOutcome>>) {
        if !std::mem::replace(&mut self.is_released, true) {
            let lease = Arc::clone(&self.lease);
            self.desk.post(Order::Release { lease, answer });
        }
    }
}

impl Drop for TimestampGuard {
    fn drop(&mut self) {
        self.hand_back(None);
    }
}
