//! The exclusive lock.

use super::{
    guard::{Done, LeaseGuard},
    wait::wait,
};
use crate::{
    error::{AcquireError, ConfigError},
    mode::{Fenced, Mode},
    mutex,
    options::LockOptions,
};
use leasehold_core::Resource;
use std::time::Duration;

/// One resource that at most one holder has at a time. As [`leasehold::Mutex`](crate::Mutex), for threads.
///
/// Threads of one manager have their turns in the order in which they came, together with its tasks. There is no
/// reentrancy: a thread that holds the lock and acquires it again waits for itself, until its tries or its patience are
/// used up.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
/// let mutex = manager.mutex("orders/42")?;
/// let guard = mutex.acquire()?;
/// assert!(guard.is_valid());
/// assert!(mutex.try_acquire().unwrap_err().is_contention());
/// assert!(guard.release().is_released());
/// assert!(mutex.try_acquire().is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Mutex<M: Mode = Fenced>(mutex::Mutex<M>);

impl<M: Mode> Clone for Mutex<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Mode> From<mutex::Mutex<M>> for Mutex<M> {
    fn from(mutex: mutex::Mutex<M>) -> Self {
        Self(mutex)
    }
}

impl<M: Mode> Mutex<M> {
    /// The same lock, for tasks that await.
    #[must_use]
    pub const fn as_async(&self) -> &mutex::Mutex<M> {
        &self.0
    }

    /// What is locked.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// The same lock with other options, which `change` makes of those that it has. Sends nothing. See
    /// [`Mutex::with`](crate::Mutex::with).
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        self.0.with(change).map(Self)
    }

    /// Waits until the lock is won, and gives up after about five seconds, when the tries of its options are used up, or for half a minute where nodes may have forgotten votes and do not vote. See
    /// [`Mutex::acquire`](crate::Mutex::acquire).
    ///
    /// # Errors
    /// As [`Mutex::acquire`](crate::Mutex::acquire).
    ///
    /// # Source
    /// Redlock steps 1 to 5; arguments [S2](crate::safety#s2), [S5](crate::safety#s5), [S8](crate::safety#s8).
    #[track_caller]
    pub fn acquire(&self) -> Result<LeaseGuard<M>, AcquireError> {
        wait(self.0.acquire()).map(LeaseGuard::from)
    }

    /// Makes one attempt, also if nodes do not vote for a while. It waits for the nodes' answers, for their time limit at
    /// most.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn try_acquire(&self) -> Result<LeaseGuard<M>, AcquireError> {
        wait(self.0.try_acquire()).map(LeaseGuard::from)
    }

    /// Waits until the lock is won, for `patience` at most, however many attempts that takes. No patience at all means
    /// one attempt, as [`try_acquire`](Self::try_acquire) makes it.
    ///
    /// # Errors
    /// [`TimedOut`](AcquireError::TimedOut) if `patience` ran out, with why the last attempt failed whose nodes had time
    /// to answer;
    /// [`Unreachable`](AcquireError::Unreachable) if the options say to give up earlier when no quorum answers.
    #[track_caller]
    pub fn acquire_within(&self, patience: Duration) -> Result<LeaseGuard<M>, AcquireError> {
        wait(self.0.acquire_within(patience)).map(LeaseGuard::from)
    }

    /// Waits until the lock is won, as [`acquire`](Self::acquire) does, calls `work`, and releases the lock: also when
    /// `work` returns an error, or panics.
    ///
    /// **`work` is not stopped when the lease is lost**, since nobody can stop a function: see [`Done::lost`]. If it does
    /// more than one step that needs the lock, let it ask [`is_valid`](LeaseGuard::is_valid) before each.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); then `work` was not called.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (pages, mut printed) = (["a", "b"], Vec::new());
    /// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
    /// let done = manager.mutex("report")?.hold(|lease| {
    ///     for page in pages {
    ///         if !lease.is_valid() {
    ///             return Err("stopped in the middle");
    ///         }
    ///         printed.push(page);
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(done.work, Ok(()));
    /// assert!(done.lost.is_none() && done.release.is_released());
    /// # assert_eq!(printed, pages);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn hold<T>(&self, work: impl FnOnce(&LeaseGuard<M>) -> T) -> Result<Done<T>, AcquireError> {
        Ok(self.acquire()?.run(work))
    }

    /// As [`hold`](Self::hold), but waits for the lock as [`acquire_within`](Self::acquire_within) does, for `patience` at
    /// most.
    ///
    /// # Errors
    /// As [`acquire_within`](Self::acquire_within); then `work` was not called.
    #[track_caller]
    pub fn hold_within<T>(
        &self,
        patience: Duration,
        work: impl FnOnce(&LeaseGuard<M>) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(self.acquire_within(patience)?.run(work))
    }
}
