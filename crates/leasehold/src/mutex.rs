//! The exclusive lock.

use crate::{
    error::{AcquireError, Held, Unreachable, name_faults},
    guard::LeaseGuard,
    handle::Handle,
};
use leasehold_core::{AcquireFailure, Cause, Ended, Owner, Plan, Resource, Wish};
use std::{sync::Arc, time::Duration};

/// One resource that at most one holder has at a time.
///
/// A `Mutex` is only the name of a lock and its options: making one sends nothing, and cloning it is
/// cheap. There is no reentrancy: a holder who acquires again waits for itself.
///
/// # Examples
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::LockManager;
///
/// let manager = LockManager::builder().memory(3).build()?;
/// let mutex = manager.mutex("orders/42")?;
/// let guard = mutex.acquire().await?;
/// assert!(guard.is_valid());
/// assert!(mutex.try_acquire().await.unwrap_err().is_contention());
/// guard.release().await;
/// assert!(mutex.try_acquire().await.is_ok());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Mutex {
    handle: Handle,
    resource: Resource,
    plan: Arc<Plan>,
}

impl Mutex {
    pub(crate) const fn new(handle: Handle, resource: Resource, plan: Arc<Plan>) -> Self {
        Self {
            handle,
            resource,
            plan,
        }
    }

    /// What is locked.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Waits until the lock is won, or until the tries of its options are used up.
    ///
    /// Each attempt asks all nodes at once; between attempts it rests for a random pause. With the
    /// default options that is about five seconds. There is no queue: a later caller may win first.
    ///
    /// # Errors
    /// [`Held`](AcquireError::Held) if somebody else has it, [`Unreachable`](AcquireError::Unreachable)
    /// if too few nodes answered, [`TooLate`](AcquireError::TooLate) if they answered so slowly that
    /// nothing was left of the TTL: each as the last attempt found it.
    ///
    /// # Cancel safety
    /// Dropping the future gives up and releases on every node in the background. A key whose release is
    /// lost as well lives on until its TTL ends.
    ///
    /// # Source
    /// Redlock steps 1 to 5; arguments S2, S5, S8.
    pub async fn acquire(&self) -> Result<LeaseGuard, AcquireError> {
        self.wish(self.plan.clone(), None, None).await
    }

    /// Makes one attempt. It waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    pub async fn try_acquire(&self) -> Result<LeaseGuard, AcquireError> {
        self.wish(self.once(), None, None).await
    }

    /// Waits until the lock is won, for `patience` at most, however many attempts that takes.
    ///
    /// The last attempt is cut short by the end of the patience; no patience at all means one attempt
    /// that is not, as [`try_acquire`](Self::try_acquire) makes it.
    ///
    /// # Errors
    /// [`TimedOut`](AcquireError::TimedOut) if `patience` ran out, with what the last attempt failed of;
    /// [`Unreachable`](AcquireError::Unreachable) if the options say to give up earlier when no quorum
    /// answers.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    pub async fn acquire_within(&self, patience: Duration) -> Result<LeaseGuard, AcquireError> {
        if patience.is_zero() {
            return self.try_acquire().await;
        }
        let plan = Plan {
            retry: self.plan.retry.clone().with_tries(None),
            ..(*self.plan).clone()
        };
        self.wish(Arc::new(plan), None, Some(patience)).await
    }

    /// Makes one attempt to take the lock over from this owner.
    pub(crate) async fn take_over(&self, from: Owner) -> Result<LeaseGuard, AcquireError> {
        self.wish(self.once(), Some(from), None).await
    }

    fn once(&self) -> Arc<Plan> {
        let once = std::num::NonZeroU32::new(1);
        Arc::new(Plan {
            retry: self.plan.retry.clone().with_tries(once),
            ..(*self.plan).clone()
        })
    }

    async fn wish(
        &self,
        plan: Arc<Plan>,
        from: Option<Owner>,
        patience: Option<Duration>,
    ) -> Result<LeaseGuard, AcquireError> {
        let resource = self.resource.clone();
        let started = self.handle.clock().now();
        let answer = self
            .handle
            .acquire(Wish {
                resource,
                plan,
                from,
                patience,
            })
            .await;
        let resource = || self.resource.clone();
        let held = match answer {
            None => {
                return Err(AcquireError::ShutDown {
                    resource: resource(),
                });
            }
            Some(Err(failure)) => return Err(self.error(failure)),
            Some(Ok(held)) => held,
        };
        let guard = LeaseGuard::new(held);
        // Step 3, once more: the clock is read last, after every wait, this task's own included. Dropping
        // the guard releases.
        if guard.is_valid() {
            Ok(guard)
        } else {
            let elapsed = self.handle.clock().now().saturating_since(started);
            let ttl = self.plan.terms.ttl().as_duration();
            Err(AcquireError::TooLate {
                resource: resource(),
                elapsed,
                ttl,
            })
        }
    }

    fn error(&self, failure: AcquireFailure) -> AcquireError {
        let AcquireFailure {
            cause,
            ended,
            attempts,
            waited,
            ..
        } = failure;
        let resource = self.resource.clone();
        let (quorum, nodes) = (self.handle.quorum().needed(), self.handle.nodes().len());
        let last = match cause {
            Cause::Held(opposition) => AcquireError::Held(Held {
                resource: resource.clone(),
                refused: opposition.refused,
                quorum,
                nodes,
                holder: opposition.holder,
                remaining: opposition.remaining,
                faults: name_faults(self.handle.nodes(), opposition.faults),
                attempts,
                waited,
            }),
            Cause::Unreachable { faults, .. } => AcquireError::Unreachable(Unreachable {
                resource: resource.clone(),
                quorum,
                nodes,
                faults: name_faults(self.handle.nodes(), faults),
                attempts,
                waited,
            }),
            Cause::TooLate { elapsed, .. } => {
                let ttl = self.plan.terms.ttl().as_duration();
                AcquireError::TooLate {
                    resource: resource.clone(),
                    elapsed,
                    ttl,
                }
            }
            Cause::OwnerRepeated => AcquireError::OwnerRepeated {
                resource: resource.clone(),
            },
            _ => AcquireError::ShutDown {
                resource: resource.clone(),
            },
        };
        match ended {
            Ended::Patience => AcquireError::TimedOut {
                resource,
                waited,
                last: Box::new(last),
            },
            _ => last,
        }
    }
}
