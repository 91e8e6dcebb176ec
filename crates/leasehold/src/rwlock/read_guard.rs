//! A share of a name in somebody's hands.

use crate::{
    error::{ExtendError, LeaseLost},
    guard::LeaseGuard,
    mode::Plain,
    outcome::ReleaseOutcome,
    state::LeaseState,
    work::Done,
};
use leasehold_core::{Instant, Owner, Resource};
use std::time::Duration;

/// The right to read until [`valid_until`](Self::valid_until), which moves on as the manager extends it: nobody writes meanwhile.
///
/// All that is said of [`LeaseGuard`] holds here, but for two things. There is no fencing token. And keys that are
/// taken away by force are noticed at the next extension, a third of the TTL later at most unless
/// [`renew_every`](crate::LockOptions::renew_every) says otherwise, and not at once.
///
/// Dropping it releases the share in the background. **A program that ends at once takes the background with it**: call
/// [`LockManager::shutdown`](crate::LockManager::shutdown) at the end of `main`.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct ReadGuard(LeaseGuard<Plain>);

impl ReadGuard {
    pub(super) const fn new(guard: LeaseGuard<Plain>) -> Self {
        Self(guard)
    }

    pub(crate) const fn as_guard(&self) -> &LeaseGuard<Plain> {
        &self.0
    }

    pub(crate) fn into_guard(self) -> LeaseGuard<Plain> {
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

    /// Until when nobody writes, by the manager's [`clock`](crate::LockManager::clock); the clock's origin once the lease
    /// is lost.
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        self.0.valid_until()
    }

    /// How long the lease may still be relied upon; zero when it may not. Reads the clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// Whether the lease may be relied upon now. Reads the clock.
    ///
    /// A program may be stopped between this answer and what it does upon it, for any length of time: what was read may be
    /// old then.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.is_valid()
    }

    /// How safe the lease is, by the clock and by what the last extensions met with.
    #[must_use]
    pub fn state(&self) -> LeaseState {
        self.0.state()
    }

    /// Waits until the lease is lost, and tells why: at the end of its validity, which is before anybody can write, or with the
    /// extension that finds that the nodes have lost the share. The future borrows nothing. It is never ready for a lease that is
    /// released. See [`LeaseGuard::lost`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// use leasehold::{LockManager, LockOptions};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// let options = LockOptions::new().ttl(Duration::from_secs(2)).no_renewal();
    /// let reader = manager.rwlock_with("doc", options)?.read().await?;
    /// let lost = reader.lost().await;
    /// assert!(!reader.is_valid());
    /// assert_eq!(lost.to_string(), r#"lost the lock "doc": its time was up, and it was not extended"#);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// Argument [S6](crate::safety#s6).
    pub fn lost(&self) -> impl Future<Output = LeaseLost> + Send + Sync + use<> {
        self.0.lost()
    }

    /// A token that is cancelled when the lease is lost, for code that takes one. It is not cancelled by a release.
    #[cfg(feature = "cancellation")]
    #[must_use]
    pub fn cancellation_token(&self) -> tokio_util::sync::CancellationToken {
        self.0.cancellation_token()
    }

    /// Waits for the next change of the state. See [`LeaseGuard::changed`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing. What comes between two calls is not told, but a loss is.
    pub async fn changed(&self) -> LeaseState {
        self.0.changed().await
    }

    /// Makes sure that the lease may be relied upon for at least `remaining`: extends it if less is left.
    ///
    /// # Errors
    /// As [`LeaseGuard::ensure`].
    ///
    /// # Cancel safety
    /// As [`extend`](Self::extend).
    pub async fn ensure(&self, remaining: Duration) -> Result<(), ExtendError> {
        self.0.ensure(remaining).await
    }

    /// Says that the work goes on. Needed only with [`progress_within`](crate::LockOptions::progress_within).
    pub fn heartbeat(&self) {
        self.0.heartbeat();
    }

    /// Lets the lease live for its full TTL from now. Writers that wait, wait on. Asks all nodes and waits for a quorum of
    /// confirmations, for the nodes' time limit at most. See [`LeaseGuard::extend`].
    ///
    /// # Errors
    /// As [`LeaseGuard::extend`].
    ///
    /// # Cancel safety
    /// As [`LeaseGuard::extend`].
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3), [S6](crate::safety#s6), [S7](crate::safety#s7).
    pub async fn extend(&self) -> Result<(), ExtendError> {
        self.0.extend().await
    }

    /// As [`extend`](Self::extend), with another TTL for this and all further extensions. A lease that lasts longer already is
    /// not shortened.
    ///
    /// # Errors
    /// As [`LeaseGuard::extend_to`].
    ///
    /// # Cancel safety
    /// As [`extend`](Self::extend).
    pub async fn extend_to(&self, ttl: Duration) -> Result<(), ExtendError> {
        self.0.extend_to(ttl).await
    }

    /// Gives the share back on every node, and tells what became of it. Waits until a quorum is known to be free of it, for the
    /// nodes' time limit at most. See [`LeaseGuard::release`].
    ///
    /// # Cancel safety
    /// The release goes on in the background when the future is dropped.
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3), [S5](crate::safety#s5).
    pub async fn release(self) -> ReleaseOutcome {
        self.0.release().await
    }

    /// As [`release`](Self::release), for a guard that cannot be given away. The guard holds nothing after it. See
    /// [`LeaseGuard::release_in_place`].
    ///
    /// # Cancel safety
    /// As [`LeaseGuard::release_in_place`].
    pub async fn release_in_place(&mut self) -> ReleaseOutcome {
        self.0.release_in_place().await
    }

    /// Gives the lease out of hand and leaves it to its TTL, for processes that act for its owner with
    /// [`LockManager::detached_shared`](crate::LockManager::detached_shared). Sends nothing. See [`LeaseGuard::detach`].
    ///
    /// # Errors
    /// [`LeaseLost`] if there is nothing to give any more.
    ///
    /// # Cancel safety
    /// As [`LeaseGuard::detach`].
    pub async fn detach(self) -> Result<Owner, LeaseLost> {
        self.0.into_detached().await
    }

    /// Does `work` as long as the lease is held, and releases it then. If the lease is lost, the work is dropped where it
    /// stands, at its last `await`. See [`LeaseGuard::run`].
    ///
    /// # Cancel safety
    /// Dropping the future drops the work and releases in the background; so does a panic of the work.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let reader = manager.rwlock("doc")?.read().await?;
    /// let done = reader.run(async { 6 * 7 }).await;
    /// assert_eq!(done.work, Ok(42));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn run<T>(self, work: impl Future<Output = T>) -> Done<T> {
        self.0.run(work).await
    }
}
