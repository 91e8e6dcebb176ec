//! The lock that many read, or one writes.

use super::{
    guard::{Done, LeaseGuard},
    wait::{wait, wait_within},
};
use crate::{
    error::{AcquireError, ConfigError, DowngradeError, ExtendError, LeaseLost},
    mode::Plain,
    mutex,
    options::LockOptions,
    outcome::ReleaseOutcome,
    rwlock,
    state::LeaseState,
};
use leasehold_core::{Instant, Owner, Resource};
use std::{ops::Deref, time::Duration};

/// One resource that any number of readers have at the same time, or one writer alone. As
/// [`leasehold::RwLock`](crate::RwLock), for threads: who is next, and what there is no way to, stands there.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
/// let doc = manager.rwlock("doc")?;
/// let readers = [doc.read()?, doc.read()?];
/// assert!(doc.try_write().unwrap_err().is_contention());
/// for reader in readers {
///     assert!(reader.release().is_released());
/// }
/// let writer = doc.write()?;
/// assert!(doc.try_read().is_err());
/// let _reader = writer.downgrade()?;
/// assert!(doc.try_read().is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RwLock(rwlock::RwLock);

/// The right to read until [`valid_until`](Self::valid_until). As [`leasehold::ReadGuard`](crate::ReadGuard), for threads.
///
/// The manager's thread extends the lease while the guard lives. Dropping it releases the share in the background.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct ReadGuard(rwlock::ReadGuard);

/// The right to write until [`valid_until`](LeaseGuard::valid_until): a [`LeaseGuard`] of the name. As
/// [`leasehold::WriteGuard`](crate::WriteGuard), for threads.
///
/// The manager's thread extends the lease while the guard lives. Dropping it releases the lock in the background.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct WriteGuard {
    guard: LeaseGuard,
    readers: mutex::Mutex<Plain>,
}

impl From<rwlock::RwLock> for RwLock {
    fn from(lock: rwlock::RwLock) -> Self {
        Self(lock)
    }
}

impl From<rwlock::ReadGuard> for ReadGuard {
    fn from(guard: rwlock::ReadGuard) -> Self {
        Self(guard)
    }
}

impl From<rwlock::WriteGuard> for WriteGuard {
    fn from(guard: rwlock::WriteGuard) -> Self {
        let (guard, readers) = guard.into_parts();
        Self {
            guard: LeaseGuard::from(guard),
            readers,
        }
    }
}

impl RwLock {
    /// The same lock, for tasks that await.
    #[must_use]
    pub const fn as_async(&self) -> &rwlock::RwLock {
        &self.0
    }

    /// The name.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// The same lock with other options, which `change` makes of those that it has. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        self.0.with(change).map(Self)
    }

    /// Waits until nobody writes, and none who came before wants to, and gives up after about five seconds, when the tries of its
    /// options are used up. See [`RwLock::read`](crate::RwLock::read).
    ///
    /// # Errors
    /// As [`RwLock::read`](crate::RwLock::read).
    ///
    /// # Source
    /// As [`RwLock::read`](crate::RwLock::read).
    #[track_caller]
    pub fn read(&self) -> Result<ReadGuard, AcquireError> {
        wait(self.0.read()).map(ReadGuard)
    }

    /// Makes one attempt to read. It waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`RwLock::try_read`](crate::RwLock::try_read).
    #[track_caller]
    pub fn try_read(&self) -> Result<ReadGuard, AcquireError> {
        wait(self.0.try_read()).map(ReadGuard)
    }

    /// As [`read`](Self::read), for `patience` at most. No patience at all means one attempt.
    ///
    /// # Errors
    /// As [`RwLock::read_within`](crate::RwLock::read_within).
    #[track_caller]
    pub fn read_within(&self, patience: Duration) -> Result<ReadGuard, AcquireError> {
        wait(self.0.read_within(patience)).map(ReadGuard)
    }

    /// Waits until nobody reads or writes, and none who came before wants to, and gives up after about five seconds, when the
    /// tries of its options are used up. See [`RwLock::write`](crate::RwLock::write).
    ///
    /// # Errors
    /// As [`RwLock::write`](crate::RwLock::write).
    ///
    /// # Source
    /// As [`RwLock::write`](crate::RwLock::write).
    #[track_caller]
    pub fn write(&self) -> Result<WriteGuard, AcquireError> {
        wait(self.0.write()).map(WriteGuard::from)
    }

    /// Makes one attempt to write. It waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`RwLock::try_write`](crate::RwLock::try_write).
    #[track_caller]
    pub fn try_write(&self) -> Result<WriteGuard, AcquireError> {
        wait(self.0.try_write()).map(WriteGuard::from)
    }

    /// As [`write`](Self::write), for `patience` at most. No patience at all means one attempt.
    ///
    /// # Errors
    /// As [`RwLock::write_within`](crate::RwLock::write_within).
    #[track_caller]
    pub fn write_within(&self, patience: Duration) -> Result<WriteGuard, AcquireError> {
        wait(self.0.write_within(patience)).map(WriteGuard::from)
    }

    /// Waits as [`read`](Self::read) does, calls `work`, and releases the lock: also when `work` returns an error, or panics.
    /// **`work` is not stopped when the lease is lost**: see [`Done::lost`].
    ///
    /// # Errors
    /// As [`read`](Self::read); then `work` was not called.
    #[track_caller]
    pub fn hold_read<T>(
        &self,
        work: impl FnOnce(&ReadGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(self.read()?.run(work))
    }

    /// As [`hold_read`](Self::hold_read), but waits for `patience` at most.
    ///
    /// # Errors
    /// As [`read_within`](Self::read_within); then `work` was not called.
    #[track_caller]
    pub fn hold_read_within<T>(
        &self,
        patience: Duration,
        work: impl FnOnce(&ReadGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(self.read_within(patience)?.run(work))
    }

    /// As [`hold_read`](Self::hold_read), for one who [`write`](Self::write)s.
    ///
    /// # Errors
    /// As [`write`](Self::write); then `work` was not called.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
    /// let doc = manager.rwlock("doc")?;
    /// let done = doc.hold_write(|lease| lease.fencing_token())?;
    /// assert!(done.lost.is_none() && done.release.is_released());
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn hold_write<T>(
        &self,
        work: impl FnOnce(&WriteGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(self.write()?.run(work))
    }

    /// As [`hold_write`](Self::hold_write), but waits for `patience` at most.
    ///
    /// # Errors
    /// As [`write_within`](Self::write_within); then `work` was not called.
    #[track_caller]
    pub fn hold_write_within<T>(
        &self,
        patience: Duration,
        work: impl FnOnce(&WriteGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(self.write_within(patience)?.run(work))
    }
}

impl ReadGuard {
    /// The same guard, for tasks that await.
    pub const fn as_async(&self) -> &rwlock::ReadGuard {
        &self.0
    }

    /// Hands the guard to a task that awaits. The lease stays what it is.
    pub fn into_async(self) -> rwlock::ReadGuard {
        self.0
    }

    /// What is read: a [share](Resource::is_shared) of the name.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// The value that signs the share on the nodes: unique to it.
    #[must_use]
    pub const fn owner(&self) -> &Owner {
        self.0.owner()
    }

    /// Until when nobody writes, by the manager's [`clock`](super::LockManager::clock); the clock's origin once the lease is
    /// lost.
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        self.0.valid_until()
    }

    /// How long the lease may still be relied upon; zero when it may not. Reads the clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// Whether the lease may be relied upon now. Reads the clock, and waits for nothing. What was read may be old when the
    /// program goes on.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// How safe the lease is. Waits for nothing.
    #[must_use]
    pub fn state(&self) -> LeaseState {
        self.0.state()
    }

    /// Waits until the lease is lost, and tells why: **for ever, if it is not**.
    ///
    /// # Source
    /// Argument [S6](crate::safety#s6).
    #[track_caller]
    pub fn lost(&self) -> LeaseLost {
        wait(self.0.lost())
    }

    /// Waits until the lease is lost, for `limit` of the machine's time at most, and tells why; none if it was not lost so long.
    #[must_use]
    pub fn lost_within(&self, limit: Duration) -> Option<LeaseLost> {
        wait_within(limit, self.0.as_guard().loss())
    }

    /// A token that is cancelled when the lease is lost, for code that takes one. It is not cancelled by a release.
    #[cfg(feature = "cancellation")]
    #[must_use]
    pub fn cancellation_token(&self) -> tokio_util::sync::CancellationToken {
        self.0.cancellation_token()
    }

    /// Waits for the next change of the state, for ever if there is none.
    #[must_use]
    #[track_caller]
    pub fn changed(&self) -> LeaseState {
        wait(self.0.changed())
    }

    /// Makes sure that the lease may be relied upon for at least `remaining`: extends it if less is left. Waits for the
    /// nodes' time limit at most.
    ///
    /// # Errors
    /// As [`LeaseGuard::ensure`].
    #[track_caller]
    pub fn ensure(&self, remaining: Duration) -> Result<(), ExtendError> {
        wait(self.0.ensure(remaining))
    }

    /// Says that the work goes on. Needed only with [`progress_within`](crate::LockOptions::progress_within).
    pub fn heartbeat(&self) {
        self.0.heartbeat();
    }

    /// Lets the lease live for its full TTL from now. Waits for a quorum of confirmations, for the nodes' time limit at most.
    ///
    /// # Errors
    /// As [`LeaseGuard::extend`](crate::LeaseGuard::extend).
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3), [S6](crate::safety#s6), [S7](crate::safety#s7).
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

    /// Gives the share back on every node, and tells what became of it. Waits for the nodes' time limit at most.
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3), [S5](crate::safety#s5).
    #[track_caller]
    pub fn release(self) -> ReleaseOutcome {
        wait(self.0.release())
    }

    /// As [`release`](Self::release), for a guard that cannot be given away. The guard holds nothing after it.
    #[track_caller]
    pub fn release_in_place(&mut self) -> ReleaseOutcome {
        wait(self.0.release_in_place())
    }

    /// Calls `work`, and releases the lock then, also if it panics. Work is not stopped when the lease is lost; see
    /// [`Done::lost`].
    #[track_caller]
    pub fn run<T>(self, work: impl FnOnce(&Self) -> T) -> Done<T> {
        let work = self.0.as_guard().hold().within(|| work(&self));
        LeaseGuard::from(self.0.into_guard()).done(work)
    }
}

impl Deref for WriteGuard {
    type Target = LeaseGuard;

    fn deref(&self) -> &LeaseGuard {
        &self.guard
    }
}

impl WriteGuard {
    /// Hands the guard to a task that awaits. The lease stays what it is.
    pub fn into_async(self) -> rwlock::WriteGuard {
        rwlock::WriteGuard::new(self.guard.into_async(), self.readers)
    }

    /// The lease that it is. It cannot be downgraded any more.
    pub fn into_guard(self) -> LeaseGuard {
        self.guard
    }

    /// From writing to reading, without a moment in which another writer gets in. Waits for the nodes' answers, for their time
    /// limit at most. See [`WriteGuard::downgrade`](crate::WriteGuard::downgrade).
    ///
    /// # Errors
    /// As [`WriteGuard::downgrade`](crate::WriteGuard::downgrade): **nothing is held then**.
    ///
    /// # Source
    /// As [`WriteGuard::downgrade`](crate::WriteGuard::downgrade).
    #[track_caller]
    pub fn downgrade(self) -> Result<ReadGuard, DowngradeError> {
        wait(self.into_async().downgrade()).map(ReadGuard)
    }

    /// Gives the lock back on every node, and tells what became of it. Waits for the nodes' time limit at most.
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

    /// Calls `work`, and releases the lock then, also if it panics. Work is not stopped when the lease is lost; see
    /// [`Done::lost`].
    #[track_caller]
    pub fn run<T>(self, work: impl FnOnce(&Self) -> T) -> Done<T> {
        let work = self.guard.as_async().hold().within(|| work(&self));
        self.guard.done(work)
    }
}
