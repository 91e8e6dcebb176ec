//! Work that is done while one reads or writes, and dropped when the lease is lost.

use super::{ReadGuard, RwLock, WriteGuard};
use crate::{
    error::AcquireError,
    work::{Done, unless_lost},
};
use std::time::Duration;

impl RwLock {
    /// Waits until one may [`read`](Self::read), does `work` then, and releases the lock: after success, after an error, after a panic, and
    /// when this future is dropped. If the lease is lost, the work is dropped where it stands. See [`Mutex::hold`](crate::Mutex::hold).
    ///
    /// # Errors
    /// As [`read`](Self::read); then nothing of the work was begun.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the wait, or drops the work and releases in the background.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let doc = manager.rwlock("doc")?;
    /// let done = doc.hold_read(async |lease| lease.remaining()).await?;
    /// assert!(done.work.is_ok_and(|left| !left.is_zero()));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn hold_read<T>(
        &self,
        work: impl AsyncFnOnce(&ReadGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(reading(self.read().await?, work).await)
    }

    /// As [`hold_read`](Self::hold_read), but waits as [`read_within`](Self::read_within) does, for `patience` at most.
    ///
    /// # Errors
    /// As [`read_within`](Self::read_within); then nothing of the work was begun.
    ///
    /// # Cancel safety
    /// As [`hold_read`](Self::hold_read).
    pub async fn hold_read_within<T>(
        &self,
        patience: Duration,
        work: impl AsyncFnOnce(&ReadGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(reading(self.read_within(patience).await?, work).await)
    }

    /// As [`hold_read`](Self::hold_read), for one who [`write`](Self::write)s.
    ///
    /// # Errors
    /// As [`write`](Self::write); then nothing of the work was begun.
    ///
    /// # Cancel safety
    /// As [`hold_read`](Self::hold_read).
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let doc = manager.rwlock("doc")?;
    /// let done = doc.hold_write(async |lease| lease.fencing_token()).await?;
    /// assert!(done.work.is_ok() && done.release.is_released());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn hold_write<T>(
        &self,
        work: impl AsyncFnOnce(&WriteGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(writing(self.write().await?, work).await)
    }

    /// As [`hold_write`](Self::hold_write), but waits as [`write_within`](Self::write_within) does, for `patience` at most.
    ///
    /// # Errors
    /// As [`write_within`](Self::write_within); then nothing of the work was begun.
    ///
    /// # Cancel safety
    /// As [`hold_read`](Self::hold_read).
    pub async fn hold_write_within<T>(
        &self,
        patience: Duration,
        work: impl AsyncFnOnce(&WriteGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(writing(self.write_within(patience).await?, work).await)
    }
}

async fn reading<T>(guard: ReadGuard, work: impl AsyncFnOnce(&ReadGuard) -> T) -> Done<T> {
    let work = unless_lost(guard.as_guard(), work(&guard)).await;
    let release = guard.release().await;
    Done { work, release }
}

async fn writing<T>(guard: WriteGuard, work: impl AsyncFnOnce(&WriteGuard) -> T) -> Done<T> {
    let work = unless_lost(&guard, work(&guard)).await;
    let release = guard.release().await;
    Done { work, release }
}
