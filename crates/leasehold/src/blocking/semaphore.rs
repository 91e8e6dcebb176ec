//! The lock that so many have at the same time.

use super::{
    guard::{Done, LeaseGuard},
    wait::wait,
};
use crate::{
    error::{AcquireError, ConfigError, LeaseLost},
    options::LockOptions,
    outcome::ReleaseOutcome,
    semaphore,
};
use leasehold_core::{Owner, Resource};
use std::{ops::Deref, time::Duration};

/// One resource that so many callers have at the same time, and no more. As [`leasehold::Semaphore`](crate::Semaphore), for threads.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
/// let gpus = manager.semaphore("gpu", 2)?;
/// let permits = [gpus.acquire()?, gpus.acquire()?];
/// assert!(gpus.try_acquire().unwrap_err().is_contention());
/// for permit in permits {
///     assert!(permit.release().is_released());
/// }
/// let done = gpus.hold(|permit| permit.slot())?;
/// assert!(done.work < 2 && done.lost.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Semaphore(semaphore::Semaphore);

/// One of several permits, until [`valid_until`](LeaseGuard::valid_until): a [`LeaseGuard`] of its slot. As
/// [`leasehold::PermitGuard`](crate::PermitGuard), for threads.
///
/// The manager's thread extends the lease while the guard lives. Dropping it gives the permit back in the background.
#[derive(Debug)]
#[must_use = "dropping the guard gives the permit back"]
pub struct PermitGuard {
    guard: LeaseGuard,
    slot: usize,
}

impl From<semaphore::Semaphore> for Semaphore {
    fn from(semaphore: semaphore::Semaphore) -> Self {
        Self(semaphore)
    }
}

impl From<semaphore::PermitGuard> for PermitGuard {
    fn from(guard: semaphore::PermitGuard) -> Self {
        let slot = guard.slot();
        let guard = LeaseGuard::from(guard.into_guard());
        Self { guard, slot }
    }
}

impl Semaphore {
    /// The same semaphore, for tasks that await.
    #[must_use]
    pub const fn as_async(&self) -> &semaphore::Semaphore {
        &self.0
    }

    /// The name: a [permit](Resource::permits) of it.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// How many permits there are.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.0.permits()
    }

    /// The same semaphore with other options, which `change` makes of those that it has. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        self.0.with(change).map(Self)
    }

    /// Waits until there is a permit, and gives up after about five seconds, when the tries of its options are used up. See
    /// [`Semaphore::acquire`](crate::Semaphore::acquire).
    ///
    /// # Errors
    /// As [`Semaphore::acquire`](crate::Semaphore::acquire).
    ///
    /// # Source
    /// As [`Semaphore::acquire`](crate::Semaphore::acquire).
    #[track_caller]
    pub fn acquire(&self) -> Result<PermitGuard, AcquireError> {
        wait(self.0.acquire()).map(PermitGuard::from)
    }

    /// Looks once whether there is a permit. It waits for the nodes' answers, for their time limit at most each time.
    ///
    /// # Errors
    /// As [`Semaphore::try_acquire`](crate::Semaphore::try_acquire).
    #[track_caller]
    pub fn try_acquire(&self) -> Result<PermitGuard, AcquireError> {
        wait(self.0.try_acquire()).map(PermitGuard::from)
    }

    /// As [`acquire`](Self::acquire), for `patience` at most. No patience at all means one look.
    ///
    /// # Errors
    /// As [`Semaphore::acquire_within`](crate::Semaphore::acquire_within).
    #[track_caller]
    pub fn acquire_within(&self, patience: Duration) -> Result<PermitGuard, AcquireError> {
        wait(self.0.acquire_within(patience)).map(PermitGuard::from)
    }

    /// Waits as [`acquire`](Self::acquire) does, calls `work`, and gives the permit back: also when `work` returns an error, or panics.
    /// **`work` is not stopped when the lease is lost**: see [`Done::lost`].
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); then `work` was not called.
    #[track_caller]
    pub fn hold<T>(&self, work: impl FnOnce(&PermitGuard) -> T) -> Result<Done<T>, AcquireError> {
        Ok(self.acquire()?.run(work))
    }

    /// As [`hold`](Self::hold), but waits for `patience` at most.
    ///
    /// # Errors
    /// As [`acquire_within`](Self::acquire_within); then `work` was not called.
    #[track_caller]
    pub fn hold_within<T>(
        &self,
        patience: Duration,
        work: impl FnOnce(&PermitGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(self.acquire_within(patience)?.run(work))
    }
}

impl Deref for PermitGuard {
    type Target = LeaseGuard;

    fn deref(&self) -> &LeaseGuard {
        &self.guard
    }
}

impl PermitGuard {
    /// Hands the guard to a task that awaits. The lease stays what it is.
    pub fn into_async(self) -> semaphore::PermitGuard {
        semaphore::PermitGuard::new(self.guard.into_async())
    }

    /// Which of the permits it is, from 0: a number that nobody else has at the same time.
    #[must_use]
    pub const fn slot(&self) -> usize {
        self.slot
    }

    /// Gives the permit back on every node, and tells what became of it. Waits for the nodes' time limit at most.
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3), [S5](crate::safety#s5).
    #[track_caller]
    pub fn release(self) -> ReleaseOutcome {
        self.guard.release()
    }

    /// As [`release`](Self::release), for a guard that cannot be given away. The guard holds nothing after it.
    #[track_caller]
    pub fn release_in_place(&mut self) -> ReleaseOutcome {
        self.guard.release_in_place()
    }

    /// Gives the lease out of hand and leaves it to its TTL. See [`PermitGuard::detach`](crate::PermitGuard::detach).
    ///
    /// # Errors
    /// [`LeaseLost`] if there is nothing to give any more.
    #[track_caller]
    pub fn detach(self) -> Result<Owner, LeaseLost> {
        wait(self.into_async().detach())
    }

    /// Calls `work`, and gives the permit back then, also if it panics. Work is not stopped when the lease is lost; see
    /// [`Done::lost`].
    #[track_caller]
    pub fn run<T>(self, work: impl FnOnce(&Self) -> T) -> Done<T> {
        let work = self.guard.as_async().hold().within(|| work(&self));
        self.guard.done(work)
    }
}
