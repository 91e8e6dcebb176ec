//! A lease in somebody's hands.

use crate::{
    error::{ExtendError, name_faults},
    handle::HeldLease,
    outcome::ReleaseOutcome,
};
use leasehold_core::{ExtendFailure, Instant, Owner, Resource};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The right to a resource until [`valid_until`](Self::valid_until).
///
/// The guard tells the truth about its validity at any moment, from the clock, whether or not anything
/// else of the program runs. It does **not** keep the lease alive by itself: see
/// [`extend`](Self::extend).
///
/// Dropping it releases the lock in the background, by the manager's thread. To know what became of the
/// release, call [`release`](Self::release).
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct LeaseGuard {
    held: HeldLease,
    /// In nanoseconds since the clock's origin. Only ever moves forward.
    valid_until_ns: AtomicU64,
}

impl LeaseGuard {
    pub(crate) fn new(held: HeldLease) -> Self {
        let valid_until_ns = AtomicU64::new(nanoseconds(held.lease().valid_until));
        Self {
            held,
            valid_until_ns,
        }
    }

    /// What is held.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        &self.held.lease().resource
    }

    /// The value that signs the lock's keys: unique to this lease.
    #[must_use]
    pub const fn owner(&self) -> &Owner {
        &self.held.lease().owner
    }

    /// Until when the lease may be relied upon, by the manager's [`clock`](crate::LockManager::clock).
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        Instant::from_origin(Duration::from_nanos(
            self.valid_until_ns.load(Ordering::Acquire),
        ))
    }

    /// How long the lease may still be relied upon; zero when it may not. Reads the clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        // Argument S6: from the clock, at the moment of the question.
        self.valid_until()
            .saturating_since(self.held.handle().clock().now())
    }

    /// Whether the lease may be relied upon now. Reads the clock.
    ///
    /// A program may be stopped between this answer and what it does upon it, for any length of time.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// Lets the lease live for its full TTL from when the request leaves, which is now, or when the
    /// extension that is under way already began.
    ///
    /// Asks all nodes and waits for a quorum of confirmations, for the nodes' time limit at most. What
    /// fails changes nothing: the lease is as valid as it was, and another try may succeed as long as it
    /// is. Once it is over, no extension brings it back.
    ///
    /// # Errors
    /// [`Lost`](ExtendError::Lost) if the lease was over before a quorum had confirmed,
    /// [`Gone`](ExtendError::Gone) if too many nodes do not carry the key any more,
    /// [`Unreachable`](ExtendError::Unreachable) if too few answered,
    /// [`ShutDown`](ExtendError::ShutDown) if the manager's thread has ended.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the guard's validity as it was; the nodes may have extended the keys
    /// all the same.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let guard = manager.mutex("report")?.acquire().await?;
    /// let before = guard.valid_until();
    /// guard.extend().await?;
    /// assert!(guard.valid_until() > before);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// Redlock, "making the algorithm more reliable"; arguments S3, S6, S7.
    pub async fn extend(&self) -> Result<(), ExtendError> {
        let resource = || self.resource().clone();
        match self.held.handle().extend(self.held.id()).await {
            None => Err(ExtendError::ShutDown {
                resource: resource(),
            }),
            Some(Err(failure)) => Err(self.error(failure)),
            Some(Ok(valid_until)) => {
                self.valid_until_ns
                    .fetch_max(nanoseconds(valid_until), Ordering::AcqRel);
                // Argument S6: the confirmation may have come long before this task ran again.
                if self.is_valid() {
                    Ok(())
                } else {
                    Err(ExtendError::Lost {
                        resource: resource(),
                    })
                }
            }
        }
    }

    /// Gives the lock back on every node, and tells what became of it.
    ///
    /// Waits until a quorum is known to be free of the lock, for the nodes' time limit at most. Nodes
    /// that did not answer are asked again in the background until the TTL has ended.
    ///
    /// # Cancel safety
    /// The release goes on in the background when the future is dropped.
    ///
    /// # Source
    /// Redlock, "correct implementation with a single instance" and step 5; arguments S3, S5.
    pub async fn release(self) -> ReleaseOutcome {
        let handle = self.held.handle().clone();
        let outcome = self.held.release().await;
        ReleaseOutcome::from_core(outcome, handle.nodes())
    }

    fn error(&self, failure: ExtendFailure) -> ExtendError {
        let handle = self.held.handle();
        let (quorum, nodes) = (handle.quorum().needed(), handle.nodes().len());
        let resource = self.resource().clone();
        match failure {
            ExtendFailure::Gone(opposition) => ExtendError::Gone {
                resource,
                refused: opposition.refused,
                quorum,
                nodes,
                holder: opposition.holder,
            },
            ExtendFailure::Unreachable {
                refused, faults, ..
            } => ExtendError::Unreachable {
                resource,
                refused,
                quorum,
                nodes,
                faults: name_faults(handle.nodes(), faults),
            },
            _ => ExtendError::Lost { resource },
        }
    }
}

fn nanoseconds(instant: Instant) -> u64 {
    u64::try_from(instant.since_origin().as_nanos()).unwrap_or(u64::MAX)
}
