//! The lock of a name in the hands of its writer.

use super::ReadGuard;
use crate::{
    error::{DowngradeError, LeaseLost},
    guard::LeaseGuard,
    handle::Handle,
    mode::Plain,
    mutex::Mutex,
    outcome::ReleaseOutcome,
    work::Done,
};
use leasehold_core::{Owner, Resource, Timing, Ttl};
use std::{ops::Deref, time::Duration};

/// The right to write until [`valid_until`](LeaseGuard::valid_until), which moves on as the manager extends it: nobody reads and
/// nobody else writes meanwhile.
///
/// It is a [`LeaseGuard`] of the name, with all that can be asked of one, and can be [turned into one](Self::into_guard).
///
/// Dropping it releases the lock in the background. **A program that ends at once takes the background with it**: call
/// [`LockManager::shutdown`](crate::LockManager::shutdown) at the end of `main`.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct WriteGuard {
    guard: LeaseGuard,
    /// What it becomes when it is downgraded.
    readers: Mutex<Plain>,
}

impl Deref for WriteGuard {
    type Target = LeaseGuard;

    fn deref(&self) -> &LeaseGuard {
        &self.guard
    }
}

impl WriteGuard {
    pub(crate) const fn new(guard: LeaseGuard, readers: Mutex<Plain>) -> Self {
        Self { guard, readers }
    }

    pub(crate) fn into_parts(self) -> (LeaseGuard, Mutex<Plain>) {
        (self.guard, self.readers)
    }

    /// The lease that it is, to be kept or [handed over](LeaseGuard::hand_over). It cannot be downgraded any more.
    pub fn into_guard(self) -> LeaseGuard {
        self.guard
    }

    /// From writing to reading, without a moment in which another writer gets in: each node turns the lock into a share in one
    /// step. Readers that wait behind no writer come in with it.
    ///
    /// Makes one attempt and waits for the nodes' answers, for their time limit at most. Its options are those of the lock; limits
    /// and a minimum hold begin anew.
    ///
    /// The way back does not exist: see [`RwLock`](crate::RwLock#from-reading-to-writing).
    ///
    /// # Errors
    /// [`Lost`](DowngradeError::Lost) if the write lock was lost before, [`Gone`](DowngradeError::Gone) if too many nodes do not
    /// carry its key, [`Failed`](DowngradeError::Failed) if too few nodes answered. **Nothing is held then**: what is left of
    /// the write lock, and of the share, is released in the background, so another writer may get in. Read anew.
    ///
    /// # Cancel safety
    /// Dropping the future releases everything in the background.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let doc = manager.rwlock("doc")?;
    /// let reader = doc.write().await?.downgrade().await?;
    /// assert!(reader.is_valid());
    /// assert!(doc.try_write().await.is_err());
    /// assert!(doc.try_read().await.is_ok());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3) and [S8](crate::safety#s8): the keys change their owner, and what it has, in one step.
    pub async fn downgrade(self) -> Result<ReadGuard, DowngradeError> {
        let Self { guard, readers } = self;
        let remnant = Remnant {
            handle: readers.handle().clone(),
            resource: guard.resource().clone(),
            owner: guard.owner().clone(),
            timing: lasting(readers.timing(), guard.remaining()),
        };
        let owner = guard.detach().await.map_err(DowngradeError::Lost)?;
        let reader = readers.take_over(owner).await?;
        // Each node that granted has no key of it any more; from the others it goes in the background.
        drop(remnant);
        Ok(ReadGuard::new(reader))
    }

    /// Gives the lock back on every node, and tells what became of it. See [`LeaseGuard::release`].
    ///
    /// # Cancel safety
    /// The release goes on in the background when the future is dropped.
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3), [S5](crate::safety#s5).
    pub async fn release(self) -> ReleaseOutcome {
        self.guard.release().await
    }

    /// As [`release`](Self::release), for a guard that cannot be given away. See [`LeaseGuard::release_in_place`].
    ///
    /// # Cancel safety
    /// As [`LeaseGuard::release_in_place`].
    pub async fn release_in_place(&mut self) -> ReleaseOutcome {
        self.guard.release_in_place().await
    }

    /// Does `work` as long as the lease is held, and releases it then. See [`LeaseGuard::run`].
    ///
    /// # Cancel safety
    /// Dropping the future drops the work and releases in the background; so does a panic of the work.
    pub async fn run<T>(self, work: impl Future<Output = T>) -> Done<T> {
        self.guard.run(work).await
    }

    /// As [`LeaseGuard::detach`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    pub async fn detach(self) -> Result<Owner, LeaseLost> {
        self.guard.detach().await
    }
}

/// What there may be of a write lock that nobody holds any more: it is released.
struct Remnant {
    handle: Handle,
    resource: Resource,
    owner: Owner,
    timing: Timing,
}

impl Drop for Remnant {
    fn drop(&mut self) {
        let (resource, owner) = (self.resource.clone(), self.owner.clone());
        self.handle.evict_later(resource, owner, self.timing);
    }
}

/// The timing of keys that live for so long yet: it may be longer than the options say.
fn lasting(timing: Timing, remaining: Duration) -> Timing {
    match Ttl::new(remaining) {
        Ok(ttl) if ttl > timing.ttl() => timing.with_ttl(ttl).unwrap_or(timing),
        _ => timing,
    }
}
