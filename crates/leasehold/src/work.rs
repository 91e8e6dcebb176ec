//! Work that is done under a lease, and dropped when the lease is lost.

use crate::{
    error::{AcquireError, LeaseLost, LossCause},
    guard::LeaseGuard,
    mode::Mode,
    mutex::Mutex,
    outcome::ReleaseOutcome,
    state::LeaseState,
};
use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};

/// What became of work that was done under a lease, and of the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "`work` tells whether the lock was lost"]
#[non_exhaustive]
pub struct Done<T> {
    /// The result of the work, or why it was dropped before it had one.
    pub work: Result<T, LeaseLost>,
    /// What became of the lock.
    pub release: ReleaseOutcome,
}

impl<M: Mode> LeaseGuard<M> {
    /// Does `work` as long as the lease is held, and releases it then. If the lease is lost, the work is
    /// dropped where it stands, at its last `await`. Of a guard that was released in place nothing is done.
    ///
    /// Work that computes for long without an `await` is not interrupted; let it ask
    /// [`is_valid`](Self::is_valid). Work that needs the guard is given to [`Mutex::hold`], which lends it.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work and releases in the background; so does a panic of the work.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let guard = manager.mutex("report")?.acquire().await?;
    /// let done = guard.run(async { 6 * 7 }).await;
    /// assert_eq!(done.work, Ok(42));
    /// assert!(done.release.is_released());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn run<T>(self, work: impl Future<Output = T>) -> Done<T> {
        let work = unless_lost(&self, work).await;
        let release = self.release().await;
        Done { work, release }
    }
}

impl<M: Mode> Mutex<M> {
    /// Waits until the lock is won, as [`acquire`](Self::acquire) does, does `work` under it, and releases
    /// it: after success, after an error, after a panic, and when this future is dropped. If the lease is
    /// lost, the work is dropped where it stands. The work's own result is never masked by that of the
    /// lock.
    ///
    /// Write `async |lease| …` and not `|lease| async move { … }`: a closure of the second kind cannot lend the guard to its
    /// future, and does not compile here. To wait for another time than `acquire` does, call
    /// [`hold_within`](Self::hold_within).
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); then nothing of the work was begun.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the wait, or drops the work and releases in the background.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let mutex = manager.mutex("report")?;
    /// let done = mutex.hold(async |lease| lease.remaining()).await?;
    /// assert!(done.work.is_ok_and(|left| !left.is_zero()));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn hold<T>(
        &self,
        work: impl AsyncFnOnce(&LeaseGuard<M>) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(hold(self.acquire().await?, work).await)
    }

    /// As [`hold`](Self::hold), but waits for the lock as [`acquire_within`](Self::acquire_within) does, for `patience` at
    /// most.
    ///
    /// # Errors
    /// As [`acquire_within`](Self::acquire_within); then nothing of the work was begun.
    ///
    /// # Cancel safety
    /// As [`hold`](Self::hold).
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let mutex = manager.mutex("report")?;
    /// let patience = Duration::from_secs(60);
    /// let done = mutex.hold_within(patience, async |lease| lease.fencing_token()).await?;
    /// assert!(done.work.is_ok());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn hold_within<T>(
        &self,
        patience: Duration,
        work: impl AsyncFnOnce(&LeaseGuard<M>) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(hold(self.acquire_within(patience).await?, work).await)
    }
}

/// Does the work as long as the lease is held, and releases it.
async fn hold<T, M: Mode>(
    guard: LeaseGuard<M>,
    work: impl AsyncFnOnce(&LeaseGuard<M>) -> T,
) -> Done<T> {
    let work = unless_lost(&guard, work(&guard)).await;
    let release = guard.release().await;
    Done { work, release }
}

/// The work, unless the lease is lost before it is done.
pub(crate) async fn unless_lost<T, M: Mode>(
    guard: &LeaseGuard<M>,
    work: impl Future<Output = T>,
) -> Result<T, LeaseLost> {
    let (mut lost, mut work) = (pin!(guard.loss()), pin!(work));
    // The loss first: work must not take another step when its lease is over.
    let either = |cx: &mut Context<'_>| match lost.as_mut().poll(cx) {
        Poll::Ready(lost) => Poll::Ready(Err(lost)),
        // By the clock, even if nobody has told yet.
        Poll::Pending => match guard.state() {
            LeaseState::Lost(lost) => Poll::Ready(Err(lost)),
            LeaseState::Released => Poll::Ready(Err(LeaseLost {
                resource: guard.resource().clone(),
                cause: LossCause::Released,
            })),
            LeaseState::Held | LeaseState::InDanger(_) => {
                guard.hold().within(|| work.as_mut().poll(cx)).map(Ok)
            }
        },
    };
    poll_fn(either).await
}
