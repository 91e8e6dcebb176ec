//! A permit in somebody's hands.

use crate::{error::LeaseLost, guard::LeaseGuard, outcome::ReleaseOutcome, work::Done};
use leasehold_core::{Owner, Permit};
use std::ops::Deref;

/// One of several permits, until [`valid_until`](LeaseGuard::valid_until), which moves on as the manager extends it: nobody else has its
/// [slot](Self::slot) meanwhile.
///
/// It is a [`LeaseGuard`] of the slot, with all that can be asked of one, but for one thing: keys that are taken away by force are noticed
/// at the next extension, a third of the TTL later at most unless [`renew_every`](crate::LockOptions::renew_every) says
/// otherwise, and not at once.
///
/// Dropping it gives the permit back in the background. **A program that ends at once takes the background with it**: call
/// [`LockManager::shutdown`](crate::LockManager::shutdown) at the end of `main`.
#[derive(Debug)]
#[must_use = "dropping the guard gives the permit back"]
pub struct PermitGuard(LeaseGuard);

impl Deref for PermitGuard {
    type Target = LeaseGuard;

    fn deref(&self) -> &LeaseGuard {
        &self.0
    }
}

impl PermitGuard {
    pub(crate) const fn new(guard: LeaseGuard) -> Self {
        Self(guard)
    }

    pub(crate) fn into_guard(self) -> LeaseGuard {
        self.0
    }

    /// Which of the permits it is, from 0: a number that nobody else has at the same time, for what there is one of for each, as
    /// a GPU.
    ///
    /// # Panics
    /// Never: a permit is not handed out without its slot.
    #[must_use]
    pub fn slot(&self) -> usize {
        let permit = self.0.owner().permit();
        let slot = permit.map(Permit::slot).map(usize::from);
        slot.expect("the engine signs each permit with its slot")
    }

    /// Gives the permit back on every node, and tells what became of it. See [`LeaseGuard::release`].
    ///
    /// # Cancel safety
    /// The release goes on in the background when the future is dropped.
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3), [S5](crate::safety#s5).
    pub async fn release(self) -> ReleaseOutcome {
        self.0.release().await
    }

    /// As [`release`](Self::release), for a guard that cannot be given away. See [`LeaseGuard::release_in_place`].
    ///
    /// # Cancel safety
    /// As [`LeaseGuard::release_in_place`].
    pub async fn release_in_place(&mut self) -> ReleaseOutcome {
        self.0.release_in_place().await
    }

    /// Does `work` as long as the lease is held, and gives the permit back then. See [`LeaseGuard::run`].
    ///
    /// # Cancel safety
    /// Dropping the future drops the work and releases in the background; so does a panic of the work.
    pub async fn run<T>(self, work: impl Future<Output = T>) -> Done<T> {
        self.0.run(work).await
    }

    /// Gives the lease out of hand and leaves it to its TTL, for processes that act for its owner with
    /// [`LockManager::detached_permit`](crate::LockManager::detached_permit). Sends nothing. See [`LeaseGuard::detach`].
    ///
    /// # Errors
    /// [`LeaseLost`] if there is nothing to give any more.
    ///
    /// # Cancel safety
    /// As [`LeaseGuard::detach`].
    pub async fn detach(self) -> Result<Owner, LeaseLost> {
        self.0.detach().await
    }
}
