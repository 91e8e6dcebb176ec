//! The lock of `SETNX` and `GETSET`, for threads.

use super::wait::wait;
use crate::{
    error::ConfigError,
    timestamp::{
        self, TimestampAcquireError, TimestampExtendError, TimestampOptions,
        TimestampReleaseOutcome,
    },
};
use leasehold_core::{Instant, Resource};
use std::time::Duration;

/// A lock that programs of `SETNX` and `GETSET` have as well, for threads. See [`timestamp`](mod@crate::timestamp) before
/// you use it, and [`TimestampLock`](crate::timestamp::TimestampLock), which this is, for what each call does.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = leasehold_servers::Server::start()?;
/// # let url = server.url();
/// use leasehold::{blocking::TimestampLock, timestamp::TimestampReleaseOutcome};
///
/// let lock = TimestampLock::new(&url, "lock.foo")?;
/// let guard = lock.acquire()?;
/// assert!(guard.is_valid());
/// assert!(lock.try_acquire().unwrap_err().is_contention());
/// assert_eq!(guard.release(), TimestampReleaseOutcome::Released);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TimestampLock(timestamp::TimestampLock);

/// A timestamp lock in somebody's hands. As [`leasehold::timestamp::TimestampGuard`](crate::timestamp::TimestampGuard), for
/// threads. Dropping it releases the lock in the background.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct TimestampGuard(timestamp::TimestampGuard);

impl From<timestamp::TimestampLock> for TimestampLock {
    fn from(lock: timestamp::TimestampLock) -> Self {
        Self(lock)
    }
}

impl TimestampLock {
    /// The lock `resource` on the node at `url`, with the default options. Starts a thread, and sends nothing.
    ///
    /// # Errors
    /// As [`TimestampLock::new`](crate::timestamp::TimestampLock::new).
    pub fn new(url: &str, resource: &str) -> Result<Self, ConfigError> {
        timestamp::TimestampLock::new(url, resource).map(Self)
    }

    /// As [`new`](Self::new), with options.
    ///
    /// # Errors
    /// As [`TimestampLock::with_options`](crate::timestamp::TimestampLock::with_options).
    pub fn with_options(
        url: &str,
        resource: &str,
        options: TimestampOptions,
    ) -> Result<Self, ConfigError> {
        timestamp::TimestampLock::with_options(url, resource, options).map(Self)
    }

    /// Another lock on the same node, with the same options, over the same connection. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the name cannot be used.
    pub fn sibling(&self, resource: &str) -> Result<Self, ConfigError> {
        self.0.sibling(resource).map(Self)
    }

    /// What is locked.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// Waits until the lock is won, for [`patience`](TimestampOptions::patience) at most, which is 10 s unless configured.
    ///
    /// # Errors
    /// As [`TimestampLock::acquire`](crate::timestamp::TimestampLock::acquire).
    pub fn acquire(&self) -> Result<TimestampGuard, TimestampAcquireError> {
        wait(self.0.acquire()).map(TimestampGuard)
    }

    /// As [`acquire`](Self::acquire), for `patience` at most.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn acquire_within(
        &self,
        patience: Duration,
    ) -> Result<TimestampGuard, TimestampAcquireError> {
        wait(self.0.acquire_within(patience)).map(TimestampGuard)
    }

    /// Makes one attempt. Waits for the node's answer, for two seconds at most, and about ten more where it has to connect.
    ///
    /// # Errors
    /// As [`TimestampLock::try_acquire`](crate::timestamp::TimestampLock::try_acquire).
    pub fn try_acquire(&self) -> Result<TimestampGuard, TimestampAcquireError> {
        wait(self.0.try_acquire()).map(TimestampGuard)
    }
}

impl TimestampGuard {
    /// What is held.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// The Unix second that was written last. See [`TimestampGuard::value`](crate::timestamp::TimestampGuard::value).
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.value()
    }

    /// Until when the lease may be relied upon, by [`Clock::system`](crate::clock::Clock::system).
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        self.0.valid_until()
    }

    /// How long the lease may still be relied upon; zero when it may not. Reads the clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// Whether the lease may be relied upon now. Reads the clock, and does not ask the node.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// Lets the lease last for the whole timeout from now, if the key still carries ours. Waits for the node's answer, for
    /// two seconds at most, and about ten more where it has to connect.
    ///
    /// # Errors
    /// As [`TimestampGuard::extend`](crate::timestamp::TimestampGuard::extend).
    pub fn extend(&self) -> Result<(), TimestampExtendError> {
        wait(self.0.extend())
    }

    /// Gives the lock back if its key still carries our value and its time is not up, and tells what became of it. Waits as
    /// [`extend`](Self::extend) does.
    pub fn release(self) -> TimestampReleaseOutcome {
        wait(self.0.release())
    }
}
