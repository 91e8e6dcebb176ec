//! A lease in somebody's hands.

use super::wait::{wait, wait_within};
use crate::{
    error::{ExtendError, LeaseLost, LossCause},
    guard,
    mode::{Fenced, Mode},
    outcome::ReleaseOutcome,
    state::LeaseState,
};
use leasehold_core::{FencingToken, Instant, Owner, Resource};
use std::time::Duration;

/// The right to a resource until [`valid_until`](Self::valid_until). As [`leasehold::LeaseGuard`](crate::LeaseGuard), for
/// threads.
///
/// The manager's thread extends the lease while the guard lives, whatever the holder's thread does. Dropping it releases
/// the lock in the background; it can be sent to another thread, and asked by several. Call
/// [`shutdown`](super::LockManager::shutdown) before the program ends, or the background ends with it.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct LeaseGuard<M: Mode = Fenced>(guard::LeaseGuard<M>);

/// What became of work that was done under a lease, and of the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "`lost` tells whether the lock was lost"]
#[non_exhaustive]
pub struct Done<T> {
    /// The result of the work, which has always come to its end.
    pub work: T,
    /// Why the lease was lost before the work was done, if it was: then the work was not alone any more in the end.
    pub lost: Option<LeaseLost>,
    /// What became of the lock.
    pub release: ReleaseOutcome,
}

impl<M: Mode> From<guard::LeaseGuard<M>> for LeaseGuard<M> {
    fn from(guard: guard::LeaseGuard<M>) -> Self {
        Self(guard)
    }
}

impl LeaseGuard {
    /// The lease's place among all holders of the resource, past and future. See
    /// [`LeaseGuard::fencing_token`](crate::LeaseGuard::fencing_token), and [`fence`](crate::fence).
    ///
    /// # Panics
    /// Never: a lease of this kind is not handed out without a token.
    ///
    /// # Source
    /// Argument [S4](crate::safety#s4).
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        self.0.fencing_token()
    }
}

impl<M: Mode> LeaseGuard<M> {
    /// The lease's fencing token, for code that is generic over the mode: none for [`Plain`](crate::Plain) locks. See
    /// [`LeaseGuard::token`](crate::LeaseGuard::token).
    #[must_use]
    pub const fn token(&self) -> Option<FencingToken> {
        self.0.token()
    }

    /// The same guard, for tasks that await.
    pub const fn as_async(&self) -> &guard::LeaseGuard<M> {
        &self.0
    }

    /// Hands the guard to a task that awaits. The lease stays what it is.
    pub fn into_async(self) -> guard::LeaseGuard<M> {
        self.0
    }

    /// What is held.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// The value that signs the lock's keys: unique to this lease.
    #[must_use]
    pub const fn owner(&self) -> &Owner {
        self.0.owner()
    }

    /// Until when the lease may be relied upon, by the manager's [`clock`](super::LockManager::clock): later with each
    /// extension, and the clock's origin once the lease is lost.
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        self.0.valid_until()
    }

    /// How long the lease may still be relied upon; zero when it may not. Reads the clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// Whether the lease may be relied upon now. Reads the clock, and waits for nothing.
    ///
    /// A program may be stopped between this answer and what it does upon it, for any length of time.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// How safe the lease is, by the clock and by what the last extensions met with. Waits for nothing.
    #[must_use]
    pub fn state(&self) -> LeaseState {
        self.0.state()
    }

    /// Waits until the lease is lost, and tells why: **for ever, if it is not**. For a thread that has nothing else to do;
    /// mind that [`max_hold`](crate::LockOptions::max_hold) ends every lease, after a day by default.
    ///
    /// # Source
    /// Argument [S6](crate::safety#s6).
    #[track_caller]
    pub fn lost(&self) -> LeaseLost {
        wait(self.0.lost())
    }

    /// Waits until the lease is lost, for `limit` at most, and tells why; none if it was not lost so long. In place of a
    /// sleep it lets work rest that must stop at once when the lease is lost.
    ///
    /// The limit is of the machine's time, also where the manager has another clock in tests.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// use leasehold::{LockManager, LockOptions};
    ///
    /// let manager = LockManager::builder().memory(3).build()?.blocking();
    /// let options = LockOptions::new().ttl(Duration::from_secs(2)).no_renewal();
    /// let guard = manager.mutex_with("report", options)?.acquire()?;
    /// assert!(guard.lost_within(Duration::from_millis(1)).is_none());
    /// let lost = guard.lost_within(Duration::from_secs(60)).expect("nobody extends it");
    /// assert!(!guard.is_valid());
    /// assert_eq!(lost.to_string(), r#"lost the lock "report": its time was up, and it was not extended"#);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn lost_within(&self, limit: Duration) -> Option<LeaseLost> {
        wait_within(limit, self.0.loss())
    }

    /// A token that is cancelled when the lease is lost, for code that takes one. It is not cancelled by a release.
    #[cfg(feature = "cancellation")]
    #[must_use]
    pub fn cancellation_token(&self) -> tokio_util::sync::CancellationToken {
        self.0.cancellation_token()
    }

    /// Waits for the next change of the state, for ever if there is none. See
    /// [`LeaseGuard::changed`](crate::LeaseGuard::changed).
    #[must_use]
    #[track_caller]
    pub fn changed(&self) -> LeaseState {
        wait(self.0.changed())
    }

    /// Makes sure that the lease may be relied upon for at least `remaining`: extends it if less is left. Waits for the
    /// nodes' time limit at most.
    ///
    /// # Errors
    /// As [`extend`](Self::extend), if it was tried; [`TooShort`](ExtendError::TooShort) if the lease never lasts so long.
    #[track_caller]
    pub fn ensure(&self, remaining: Duration) -> Result<(), ExtendError> {
        wait(self.0.ensure(remaining))
    }

    /// Says that the work goes on. Needed only with [`progress_within`](crate::LockOptions::progress_within). Waits for
    /// nothing.
    pub fn heartbeat(&self) {
        self.0.heartbeat();
    }

    /// Lets the lease live for its full TTL from now. Needed only where it is not extended by itself, or before work that
    /// must not be interrupted. Waits for a quorum of confirmations, for the nodes' time limit at most.
    ///
    /// # Errors
    /// As [`LeaseGuard::extend`](crate::LeaseGuard::extend).
    ///
    /// # Source
    /// Redlock, "making the algorithm more reliable"; arguments [S3](crate::safety#s3), [S6](crate::safety#s6), [S7](crate::safety#s7).
    #[track_caller]
    pub fn extend(&self) -> Result<(), ExtendError> {
        wait(self.0.extend())
    }

    /// As [`extend`](Self::extend), with another TTL for this and all further extensions. A lease that lasts longer already
    /// is not shortened.
    ///
    /// # Errors
    /// As [`extend`](Self::extend), and [`Timing`](ExtendError::Timing) if no lease can have this TTL.
    #[track_caller]
    pub fn extend_to(&self, ttl: Duration) -> Result<(), ExtendError> {
        wait(self.0.extend_to(ttl))
    }

    /// Gives the lock back on every node, and tells what became of it. Waits until a quorum is known to be free of the lock,
    /// for the nodes' time limit at most.
    ///
    /// # Source
    /// Redlock, "correct implementation with a single instance" and step 5; arguments [S3](crate::safety#s3), [S5](crate::safety#s5).
    #[track_caller]
    pub fn release(self) -> ReleaseOutcome {
        wait(self.0.release())
    }

    /// As [`release`](Self::release), for a guard that cannot be given away: one in a map, or in a field of something else.
    /// The guard holds nothing after it. Calling this again tells the same outcome again. See
    /// [`LeaseGuard::release_in_place`](crate::LeaseGuard::release_in_place).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
    /// let mut held = vec![manager.mutex("report")?.acquire()?];
    /// for guard in &mut held {
    ///     assert!(guard.release_in_place().is_released());
    ///     assert!(!guard.is_valid());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Source
    /// As [`release`](Self::release), and argument [S6](crate::safety#s6).
    #[track_caller]
    pub fn release_in_place(&mut self) -> ReleaseOutcome {
        wait(self.0.release_in_place())
    }

    /// Gives the lease out of hand, as a text that another process turns into a guard again. Waits for an extension, for the
    /// nodes' time limit at most. See [`LeaseGuard::hand_over`](crate::LeaseGuard::hand_over).
    ///
    /// # Errors
    /// [`LeaseLost`] if there is nothing to hand over any more.
    #[track_caller]
    pub fn hand_over(self) -> Result<String, LeaseLost> {
        wait(self.0.hand_over())
    }

    /// Calls `work`, and releases the lock then, also if it panics. Work is not stopped when the lease is lost; see
    /// [`Done::lost`].
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
    /// let guard = manager.mutex("report")?.acquire_within(Duration::from_secs(60))?;
    /// let done = guard.run(|lease| lease.fencing_token());
    /// assert!(done.lost.is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn run<T>(self, work: impl FnOnce(&Self) -> T) -> Done<T> {
        let work = self.0.hold().within(|| work(&self));
        self.done(work)
    }

    /// The end of work that came to this.
    pub(super) fn done<T>(self, work: T) -> Done<T> {
        let lost = match self.state() {
            LeaseState::Lost(lost) => Some(lost),
            LeaseState::Released => Some(LeaseLost {
                resource: self.resource().clone(),
                cause: LossCause::Released,
            }),
            LeaseState::Held | LeaseState::InDanger(_) => None,
        };
        let release = self.release();
        Done {
            work,
            lost,
            release,
        }
    }
}
