//! The exclusive lock.

use crate::{
    error::{Abstained, AcquireError, ConfigError, Held, Unreachable, name_faults},
    guard::LeaseGuard,
    handle::Handle,
    mode::{Fenced, Mode},
    options::{CheckedOptions, LockOptions},
    trace,
};
use leasehold_core::{
    AcquireFailure, AcquireRequest, AutoRenewal, Cause, Drift, Ended, LockConfig, Opposition,
    Owner, OwnerSource, PermitCount, RenewalPolicy, Resource, TakenPermits, Timing, Ttl,
};
use std::{marker::PhantomData, sync::Arc, time::Duration};

/// One resource that at most one holder has at a time.
///
/// A `Mutex` is only the name of a lock and its options: making one sends nothing, and cloning it is
/// cheap. There is no reentrancy: a holder who acquires again waits for itself.
///
/// # Who is next
/// Callers of one manager have their turns in the order in which they came. Between managers there is no order, but one
/// whose callers wait for each other does not keep the others out: after 32 turns in a row it lets others try first for
/// 2 ms. Once it has met others, it does so after as many turns as callers wait there, 16 at most, and a caller who comes back at
/// once makes room as well: for 2 to 20 ms, two thirds of the time that it took the last time until it had the lock again. A
/// waiter that is notified and comes too late asks the sooner the next time.
/// That is fair on the average and no guarantee; docs/PERFORMANCE.md has what was measured. With
/// [`fair`](crate::LockOptions::fair) nodes keep a queue, and those who wait are served in the order of their coming.
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
/// assert!(guard.release().await.is_released());
/// assert!(mutex.try_acquire().await.is_ok());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct Mutex<M: Mode = Fenced> {
    handle: Handle,
    resource: Resource,
    options: Arc<CheckedOptions>,
    mode: PhantomData<M>,
}

impl<M: Mode> Clone for Mutex<M> {
    fn clone(&self) -> Self {
        Self::new(
            self.handle.clone(),
            self.resource.clone(),
            Arc::clone(&self.options),
        )
    }
}

impl<M: Mode> Mutex<M> {
    pub(crate) const fn new(
        handle: Handle,
        resource: Resource,
        options: Arc<CheckedOptions>,
    ) -> Self {
        Self {
            handle,
            resource,
            options,
            mode: PhantomData,
        }
    }

    /// What is locked.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The same lock with other options, which `change` makes of those that it has: for one acquisition that needs another
    /// TTL, say. Sends nothing. It is checked as the first options were.
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let mutex = manager.mutex("report")?;
    /// let long = mutex.with(|options| options.ttl(Duration::from_secs(25)))?;
    /// let guard = long.acquire().await?;
    /// assert!(guard.remaining() > Duration::from_secs(20));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        let options = change(self.options.options().clone());
        let options = options.checked_for::<M>(self.handle.configuration())?;
        let (handle, resource) = (self.handle.clone(), self.resource.clone());
        Self::new(handle, resource, Arc::new(options)).checked()
    }

    /// The same, if its options fit its names.
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        match self.resource.is_several() && self.options.lock_config().is_fair {
            true => Err(ConfigError::UnfairTogether),
            false => Ok(self),
        }
    }

    /// Waits until the lock is won, and gives up after about five seconds, or twenty where too many nodes hang: when the
    /// tries of its options are used up. Say with [`acquire_within`](Self::acquire_within) for how long to wait, or
    /// [`tries_unlimited`](LockOptions::tries_unlimited) to wait for ever.
    ///
    /// It does not poll: the nodes tell when the lock may
    /// be free, no matter by whom, and the clock tells when the holder's keys will have ended. Where a node cannot tell,
    /// it is asked again after random pauses, and at least once in a second anyway.
    ///
    /// [Who is next](Self#who-is-next) stands above.
    /// Attempts that fail because nodes may have forgotten votes, and do not vote for a while, do not count:
    /// it waits for these nodes, for half a minute unless `max_ttl` says otherwise.
    ///
    /// # Errors
    /// [`Held`](AcquireError::Held) if somebody else has it, [`Unreachable`](AcquireError::Unreachable)
    /// if too few nodes answered, [`TooLate`](AcquireError::TooLate) if they answered so slowly that
    /// nothing was left of the TTL: each as the last attempt found it. [`Abstained`](AcquireError::Abstained) if nodes
    /// that may have forgotten votes went on not voting, [`Disagreement`](AcquireError::Disagreement) if others use
    /// the nodes with another configuration.
    ///
    /// # Cancel safety
    /// Dropping the future gives up and releases on every node in the background. A key whose release is
    /// lost as well lives on until its TTL ends.
    ///
    /// # Source
    /// Redlock steps 1 to 5; arguments [S2](crate::safety#s2), [S5](crate::safety#s5), [S8](crate::safety#s8).
    pub async fn acquire(&self) -> Result<LeaseGuard<M>, AcquireError> {
        self.acquire_with(self.options.lock_config(), None, None)
            .await
    }

    /// Makes one attempt, also if nodes do not vote for a while. It waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    pub async fn try_acquire(&self) -> Result<LeaseGuard<M>, AcquireError> {
        self.acquire_with(self.options.once(), None, None).await
    }

    /// Waits until the lock is won, for `patience` at most, however many attempts that takes.
    ///
    /// The patience is used up in full, and its end cuts the last attempt short; no patience at all means one attempt
    /// that is not, as [`try_acquire`](Self::try_acquire) makes it.
    ///
    /// # Errors
    /// [`TimedOut`](AcquireError::TimedOut) if `patience` ran out, with why the last attempt failed whose nodes had time
    /// to answer;
    /// [`Unreachable`](AcquireError::Unreachable) if the options say to give up earlier when no quorum
    /// answers.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    pub async fn acquire_within(&self, patience: Duration) -> Result<LeaseGuard<M>, AcquireError> {
        if patience.is_zero() {
            return self.try_acquire().await;
        }
        self.acquire_with(self.options.untiring(), None, Some(patience))
            .await
    }

    /// The same lock for those who do not wait if the work is done until then.
    pub(crate) fn unless_done(&self, until: Duration) -> Self {
        let (handle, resource) = (self.handle.clone(), self.resource.clone());
        Self::new(handle, resource, Arc::new(self.options.unless_done(until)))
    }

    /// Takes the keys of this owner over, whose lease is out of hand, and leaves them there for so long, signed by another.
    ///
    /// # Errors
    /// If no quorum carries them.
    pub(crate) async fn leave_signed(
        &self,
        from: Owner,
        signs: impl Fn(&[u8; 20]) -> Owner + Send + Sync + 'static,
        span: Duration,
    ) -> Result<(), AcquireError> {
        let before = self.options.lock_config();
        let ttl = Ttl::at_least(span);
        // Where little is left, half of it: with the whole limit the keys could not end in time.
        let node_limit = before.timing.node_limit().min(ttl.as_duration() / 2);
        let timing = Timing::new(ttl, Drift::DEFAULT, Some(node_limit));
        let config = LockConfig {
            timing: timing.unwrap_or(before.timing),
            owners: OwnerSource::new(move |random| signs(random).as_bytes().to_vec()),
            policy: RenewalPolicy {
                renewal: AutoRenewal::Off,
                ..RenewalPolicy::default()
            },
            // Those who wait here wait for this.
            queues: false,
            is_fair: false,
            ..LockConfig::clone(self.options.once())
        };
        let guard = self
            .acquire_with(&Arc::new(config), Some(from), None)
            .await?;
        match guard.into_detached().await {
            Ok(_) => Ok(()),
            Err(_) => Err(AcquireError::ShutDown {
                resource: self.resource.clone(),
            }),
        }
    }

    pub(crate) const fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn options(&self) -> &LockOptions {
        self.options.options()
    }

    pub(crate) fn timing(&self) -> Timing {
        self.options.lock_config().timing
    }

    /// How long a node may take to answer.
    pub(crate) fn node_limit(&self) -> Duration {
        self.timing().node_limit()
    }

    /// Waits until the lock is won, whatever its options say about tries.
    pub(crate) async fn acquire_untiring(&self) -> Result<LeaseGuard<M>, AcquireError> {
        self.acquire_with(self.options.untiring(), None, None).await
    }

    /// Makes one attempt to take the lock over from this owner.
    pub(crate) async fn take_over(&self, from: Owner) -> Result<LeaseGuard<M>, AcquireError> {
        self.acquire_with(self.options.once(), Some(from), None)
            .await
    }

    async fn acquire_with(
        &self,
        config: &Arc<LockConfig>,
        from: Option<Owner>,
        patience: Option<Duration>,
    ) -> Result<LeaseGuard<M>, AcquireError> {
        let acquire = AcquireRequest {
            resource: self.resource.clone(),
            config: Arc::clone(config),
            from,
            patience,
        };
        let answer = trace::acquiring(&self.resource, self.handle.acquire(acquire)).await;
        let resource = || self.resource.clone();
        let held = match answer {
            None if self.handle.is_inherited() => {
                return Err(AcquireError::Forked {
                    resource: resource(),
                });
            }
            None => {
                return Err(AcquireError::ShutDown {
                    resource: resource(),
                });
            }
            Some(Err(failure)) => return Err(self.error(*failure)),
            Some(Ok(held)) => held,
        };
        let guard = LeaseGuard::new(held);
        // Step 3, once more: the clock is read last, after every wait, this task's own included. Dropping
        // the guard releases.
        if guard.is_valid() {
            Ok(guard)
        } else {
            Err(self.too_late(&guard))
        }
    }

    /// The error of a caller who woke when its lease was over.
    fn too_late(&self, guard: &LeaseGuard<M>) -> AcquireError {
        let timing = &self.options.lock_config().timing;
        let started = guard.won_until().saturating_sub(timing.validity());
        AcquireError::TooLate {
            resource: self.resource.clone(),
            elapsed: self.handle.clock().now().saturating_since(started),
            ttl: timing.ttl().as_duration(),
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
        let last = self.reason(cause, attempts, waited);
        match ended {
            Ended::Done => match last {
                AcquireError::Held(held) => AcquireError::AlreadyDone(held),
                other => other,
            },
            Ended::Patience => AcquireError::TimedOut {
                resource,
                waited,
                last: Box::new(last),
            },
            _ => last,
        }
    }

    /// The error of a caller that others kept out.
    fn held(&self, opposition: Opposition, attempts: u32, waited: Duration) -> AcquireError {
        let (names, wanted) = (self.handle.names(), self.resource.permits());
        let permits = opposition.permits.map(|taken| *taken);
        AcquireError::Held(Box::new(Held {
            resource: self.resource.clone(),
            refused: opposition.refused,
            quorum: self.handle.quorum().needed(),
            nodes: names.names.len(),
            holder: opposition.holder,
            remaining: opposition.remaining,
            held_on: names.of(opposition.held),
            kept_on: names.of(opposition.kept),
            granted_on: names.of(opposition.granted),
            ahead: opposition
                .ahead
                .map(|ahead| u8::try_from(ahead).unwrap_or(u8::MAX)),
            permits: permits.filter(|taken| Some(taken.of) == wanted),
            faults: name_faults(&names.names, opposition.faults),
            attempts,
            waited,
        }))
    }

    /// What the last attempt failed of.
    fn reason(&self, cause: Cause, attempts: u32, waited: Duration) -> AcquireError {
        let resource = self.resource.clone();
        let (quorum, nodes) = (self.handle.quorum().needed(), self.handle.nodes().len());
        match cause {
            Cause::Held(opposition) => self.held(opposition, attempts, waited),
            Cause::Unreachable { faults, .. } => AcquireError::Unreachable(Unreachable {
                resource: resource.clone(),
                quorum,
                nodes,
                faults: name_faults(&self.handle.nodes(), faults),
                attempts,
                waited,
            }),
            Cause::Abstained { left, faults, .. } => AcquireError::Abstained(Abstained {
                resource: resource.clone(),
                left,
                quorum,
                nodes,
                faults: name_faults(&self.handle.nodes(), faults),
                attempts,
                waited,
            }),
            Cause::Disagreement { faults } => AcquireError::Disagreement {
                resource: resource.clone(),
                ours: self.handle.configuration().text().to_owned(),
                faults: name_faults(&self.handle.nodes(), faults),
            },
            Cause::OtherPermits(theirs) => other_permits(resource, &theirs),
            Cause::TooLate { elapsed, .. } => {
                let ttl = self.options.lock_config().timing.ttl().as_duration();
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
        }
    }
}

/// The error of a caller that asked for one of so many permits where others have permits of another number.
fn other_permits(resource: Resource, theirs: &TakenPermits) -> AcquireError {
    let ours = resource.permits().map_or(0, PermitCount::get);
    let ends = theirs.slots.iter().map(|(_, left)| *left);
    AcquireError::OtherPermits {
        resource,
        ours: usize::from(ours),
        theirs: usize::from(theirs.of.get()),
        remaining: ends.max().unwrap_or_default(),
    }
}
