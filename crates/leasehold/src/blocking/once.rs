//! Work that is done once in each period.

use super::{guard::LeaseGuard, mutex::Mutex, wait::wait};
use crate::{
    error::{AcquireError, ConfigError, NotKept},
    guard, once,
    options::LockOptions,
};
use leasehold_core::Resource;
use std::{
    ops::Deref,
    time::{Duration, SystemTime},
};

/// A lock whose holder says at the end that its work is done, and then nobody has it again in the same period. As
/// [`leasehold::OncePer`](crate::OncePer), for threads: what a period is, and what it survives, stands there.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::time::Duration;
/// use leasehold::AcquireError;
///
/// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
/// let hourly = manager.mutex("report")?.once_per(Duration::from_secs(60 * 60))?;
/// match hourly.try_begin() {
///     Ok(turn) => {
///         // … nobody else does it now
///         turn.done()?;
///     }
///     Err(AcquireError::AlreadyDone(_)) => {}
///     Err(error) => return Err(error.into()),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OncePer(once::OncePer);

/// The right to do the work of this period, until [`valid_until`](LeaseGuard::valid_until). As
/// [`leasehold::OnceGuard`](crate::OnceGuard), for threads.
///
/// The manager's thread extends the lease while the guard lives. Dropping it frees the lock in the background.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct OnceGuard(once::OnceGuard);

impl Mutex {
    /// The same lock for work that is to be done once in each period of this length: 1 s to 30 days. Sends nothing. See
    /// [`Mutex::once_per`](crate::Mutex::once_per).
    ///
    /// # Errors
    /// [`ConfigError::Period`] if the period is too short or too long.
    pub fn once_per(&self, period: Duration) -> Result<OncePer, ConfigError> {
        self.as_async().once_per(period).map(OncePer)
    }
}

impl OncePer {
    /// The same, for tasks that await.
    #[must_use]
    pub const fn as_async(&self) -> &once::OncePer {
        &self.0
    }

    /// The same with periods that begin so much later. See [`OncePer::starting`](crate::OncePer::starting).
    #[must_use]
    pub fn starting(self, offset: Duration) -> Self {
        Self(self.0.starting(offset))
    }

    /// How long a period is.
    #[must_use]
    pub const fn period(&self) -> Duration {
        self.0.period()
    }

    /// What is locked.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// The same with other options of the lock, which `change` makes of those that it has. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        self.0.with(change).map(Self)
    }

    /// Waits until nobody does the work, and gives up after about five seconds, when the tries of its options are used up.
    ///
    /// # Errors
    /// As [`OncePer::begin`](crate::OncePer::begin).
    #[track_caller]
    pub fn begin(&self) -> Result<OnceGuard, AcquireError> {
        wait(self.0.begin()).map(OnceGuard)
    }

    /// Makes one attempt. It waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`OncePer::try_begin`](crate::OncePer::try_begin).
    #[track_caller]
    pub fn try_begin(&self) -> Result<OnceGuard, AcquireError> {
        wait(self.0.try_begin()).map(OnceGuard)
    }

    /// Waits until nobody does the work, for `patience` at most. No patience at all means one attempt.
    ///
    /// # Errors
    /// As [`OncePer::begin_within`](crate::OncePer::begin_within).
    #[track_caller]
    pub fn begin_within(&self, patience: Duration) -> Result<OnceGuard, AcquireError> {
        wait(self.0.begin_within(patience)).map(OnceGuard)
    }
}

impl OnceGuard {
    /// When the next period begins, by this machine's wall clock.
    #[must_use]
    pub fn next_period(&self) -> SystemTime {
        self.0.next_period()
    }

    /// Says that the work of this period is done: nobody has the lock again before the next one begins. Waits until a quorum
    /// keeps it, for the nodes' time limit at most.
    ///
    /// # Errors
    /// [`NotKept`] if the lease was over before, or too few nodes answered: then the work may be done again in this period.
    ///
    /// # Source
    /// As [`OnceGuard::done`](crate::OnceGuard::done).
    #[track_caller]
    pub fn done(self) -> Result<(), NotKept> {
        wait(self.0.done())
    }

    /// The lease that it is, for work that is done as often as anybody likes.
    pub fn into_guard(self) -> LeaseGuard {
        LeaseGuard::from(self.0.into_guard())
    }
}

impl Deref for OnceGuard {
    type Target = guard::LeaseGuard;

    fn deref(&self) -> &guard::LeaseGuard {
        &self.0
    }
}
