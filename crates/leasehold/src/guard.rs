//! A lease in somebody's hands.

use crate::{
    deadline::Deadlines,
    error::{ExtendError, LeaseLost},
    handle::HeldLease,
    mode::{Fenced, Mode},
    outcome::ReleaseOutcome,
    state::LeaseState,
    trace::Hold,
};
use leasehold_core::{FencingToken, Instant, Owner, Resource, TimingError, Ttl};
use std::{marker::PhantomData, time::Duration};

/// The right to a resource until [`valid_until`](Self::valid_until).
///
/// While the guard lives, the manager's thread extends the lease, unless the options say
/// [`no_renewal`](crate::LockOptions::no_renewal). If that fails for too long the lease is lost, and stays
/// lost. The guard tells so at any moment, from the clock, whether or not anything else of the program
/// runs: [`is_valid`](Self::is_valid) and [`state`](Self::state) to ask, [`lost`](Self::lost) to wait,
/// [`run`](Self::run) to have work dropped.
///
/// Dropping it releases the lock in the background, by the manager's thread. **A program that ends at once takes that
/// thread with it, and the lock stays held until its TTL is over**: call
/// [`LockManager::shutdown`](crate::LockManager::shutdown) at the end of `main`. To know what became of the
/// release, call [`release`](Self::release), or [`release_in_place`](Self::release_in_place) where it cannot be given away.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct LeaseGuard<M: Mode = Fenced> {
    held: HeldLease,
    hold: Hold,
    mode: PhantomData<M>,
}

impl LeaseGuard {
    /// The lease's place among all holders of the resource, past and future: larger than that of every holder
    /// before, whatever clocks, networks and pauses did, as long as the nodes keep their counters. A node that has lost
    /// them does not vote for the quarantine; after that tokens still grow if the wall clocks of clients and nodes agree
    /// to within less than that, by a second.
    ///
    /// For code that is generic over the mode, and so for locks that may have no tokens, there is [`token`](Self::token).
    ///
    /// Give it to whatever the lock protects, and let that refuse a token smaller than the largest it has seen: then
    /// a holder whose time was up without its knowing changes nothing there after the next one has shown its own, which is
    /// best done before it reads. See [`fence`](crate::fence). For a leader, it is the term.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let mutex = manager.mutex("report")?;
    /// let first = mutex.acquire().await?;
    /// let token = first.fencing_token();
    /// assert!(first.release().await.is_released());
    /// assert!(mutex.acquire().await?.fencing_token() > token);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Panics
    /// Never: a lease of this kind is not handed out without a token.
    ///
    /// # Source
    /// Argument [S4](crate::safety#s4).
    #[must_use]
    pub fn fencing_token(&self) -> FencingToken {
        let token = self.held.lease().token;
        token.expect("the engine hands out no fenced lease without a token")
    }
}

impl<M: Mode> LeaseGuard<M> {
    pub(crate) fn new(held: HeldLease) -> Self {
        let (hold, mode) = (held.begin(), PhantomData);
        Self { held, hold, mode }
    }

    /// What spans the time in which the lease is held.
    pub(crate) const fn hold(&self) -> &Hold {
        &self.hold
    }

    /// Until when the lease was valid when it was won.
    pub(crate) const fn won_until(&self) -> Instant {
        self.held.lease().valid_until
    }

    pub(crate) fn into_held(self) -> HeldLease {
        self.held
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

    /// Until when the lease may be relied upon, by the manager's [`clock`](crate::LockManager::clock): later
    /// with each extension, and the clock's origin once the lease is lost.
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        self.held.cell().valid_until()
    }

    /// How long the lease may still be relied upon; zero when it may not. Reads the clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.held.cell().remaining()
    }

    /// Whether the lease may be relied upon now. Reads the clock.
    ///
    /// A program may be stopped between this answer and what it does upon it, for any length of time.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// The lease's [fencing token](LeaseGuard::fencing_token), for code that is generic over the mode: none for
    /// [`Plain`](crate::Plain) locks, which have none, and never none for others.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{FencingToken, LeaseGuard, LockManager, Mode};
    ///
    /// fn token<M: Mode>(guard: &LeaseGuard<M>) -> Option<FencingToken> {
    ///     guard.token()
    /// }
    ///
    /// let fenced = LockManager::builder().memory(3).build()?;
    /// let plain = LockManager::builder().memory(3).build_plain()?;
    /// let guard = fenced.mutex("report")?.acquire().await?;
    /// assert_eq!(token(&guard), Some(guard.fencing_token()));
    /// assert_eq!(token(&plain.mutex("report")?.acquire().await?), None);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    #[must_use]
    pub const fn token(&self) -> Option<FencingToken> {
        self.held.lease().token
    }

    /// How safe the lease is, by the clock and by what the last extensions met with.
    #[must_use]
    pub fn state(&self) -> LeaseState {
        self.held.cell().state()
    }

    /// Waits until the lease is lost, and tells why. Told at the end of its validity, or within the 5 ms of the
    /// default margin after it, which is before anybody else can have the lock; or as soon as the nodes are
    /// known to have lost the key.
    ///
    /// The future borrows nothing: it can be kept, and is ready at once if the lease is lost already. It is
    /// never ready for a lease that is released.
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
    /// let guard = manager.mutex_with("report", options)?.acquire().await?;
    /// let lost = guard.lost().await;
    /// assert!(!guard.is_valid());
    /// assert_eq!(lost.to_string(), r#"lost the lock "report": its time was up, and it was not extended"#);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// Argument [S6](crate::safety#s6).
    pub fn lost(&self) -> impl Future<Output = LeaseLost> + Send + Sync + use<M> {
        let resource = self.resource().clone();
        let what = move || format!("the loss of the lock {}", resource.quoted());
        self.held.handle().clock().wait_for(what, self.held.lost())
    }

    /// As [`lost`](Self::lost), for those who do something else meanwhile.
    pub(crate) fn loss(&self) -> impl Future<Output = LeaseLost> + Send + Sync + use<M> {
        self.held.lost()
    }

    /// A token that is cancelled when the lease is lost, for code that takes one. It is not cancelled by a
    /// release.
    #[cfg(feature = "cancellation")]
    #[must_use]
    pub fn cancellation_token(&self) -> tokio_util::sync::CancellationToken {
        Deadlines::token(self.held.cell())
    }

    /// Waits for the next change of the state: from held to in danger, back, or to lost. A danger is told
    /// again with each extension that fails. Once the lease is lost, this is ready at once.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing. What comes between two calls is not told, but a loss is.
    pub async fn changed(&self) -> LeaseState {
        let mut changes = Deadlines::changes(self.held.cell());
        let state = self.state();
        if !state.is_over() {
            let what = || format!("a change of the lock {}", self.resource().quoted());
            let clock = self.held.handle().clock();
            clock.wait_for(what, changes.next()).await;
        }
        self.state()
    }

    /// Makes sure that the lease may be relied upon for at least `remaining`: extends it if less is left.
    ///
    /// # Errors
    /// As [`extend`](Self::extend), if it was tried; [`TooShort`](ExtendError::TooShort) if the lease never
    /// lasts so long.
    ///
    /// # Cancel safety
    /// As [`extend`](Self::extend).
    pub async fn ensure(&self, remaining: Duration) -> Result<(), ExtendError> {
        if self.remaining() >= remaining && self.is_valid() {
            return Ok(());
        }
        self.extend().await?;
        let left = self.remaining();
        if left >= remaining {
            return Ok(());
        }
        let resource = self.resource().clone();
        Err(ExtendError::TooShort { resource, left })
    }

    /// Says that the work goes on. Needed only with
    /// [`progress_within`](crate::LockOptions::progress_within), free otherwise, and cheap enough to be
    /// called for every step.
    pub fn heartbeat(&self) {
        self.held.heartbeat();
    }

    /// Lets the lease live for its full TTL from when the request leaves, which is now, or when the
    /// extension that is under way already began. Needed only where the lease is not extended by itself, or
    /// before work that must not be interrupted.
    ///
    /// Asks all nodes and waits for a quorum of confirmations, for the nodes' time limit at most. What
    /// fails changes nothing: the lease is as valid as it was, and another try may succeed as long as it
    /// is. Once it is over, no extension brings it back.
    ///
    /// # Errors
    /// [`Lost`](ExtendError::Lost) if the lease was over before a quorum had confirmed,
    /// [`Gone`](ExtendError::Gone) if too many nodes do not carry the key any more,
    /// [`Unreachable`](ExtendError::Unreachable) if too few answered,
    /// [`Limit`](ExtendError::Limit) if it has been extended or held for as long as it may be,
    /// [`Released`](ExtendError::Released) after [`release_in_place`](Self::release_in_place),
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
    /// Redlock, "making the algorithm more reliable"; arguments [S3](crate::safety#s3), [S6](crate::safety#s6), [S7](crate::safety#s7).
    pub async fn extend(&self) -> Result<(), ExtendError> {
        self.extend_for(None).await
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
    /// Redlock, "correct implementation with a single instance" and step 5; arguments [S3](crate::safety#s3), [S5](crate::safety#s5).
    pub async fn release(self) -> ReleaseOutcome {
        let mut held = self.held;
        let outcome = held.release().await;
        ReleaseOutcome::from_core(outcome, || held.handle().nodes())
    }

    /// As [`release`](Self::release), for a guard that cannot be given away: one in a map, or in a field of something else.
    ///
    /// From the first poll on the guard holds nothing: it is not [valid](Self::is_valid), and its [state](Self::state) is
    /// [`Released`](LeaseState::Released), unless it was lost before. Calling this again tells the same outcome again.
    ///
    /// # Cancel safety
    /// If the future is dropped before it was polled, nothing has happened, and the lock is held. After that the release
    /// goes on in the background; calling this again waits for its outcome.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::collections::HashMap;
    ///
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let mut held = HashMap::new();
    /// held.insert("report", manager.mutex("report")?.acquire().await?);
    /// for guard in held.values_mut() {
    ///     assert!(guard.release_in_place().await.is_released());
    ///     assert!(!guard.is_valid());
    /// }
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// As [`release`](Self::release), and argument [S6](crate::safety#s6).
    pub async fn release_in_place(&mut self) -> ReleaseOutcome {
        let outcome = self.held.release().await;
        ReleaseOutcome::from_core(outcome, || self.held.handle().nodes())
    }

    /// As [`extend`](Self::extend), with another TTL for this and all further extensions. A lease that
    /// lasts longer already is not shortened.
    ///
    /// # Errors
    /// As [`extend`](Self::extend), and [`Timing`](ExtendError::Timing) if no lease can have this TTL.
    ///
    /// # Cancel safety
    /// As [`extend`](Self::extend).
    pub async fn extend_to(&self, ttl: Duration) -> Result<(), ExtendError> {
        match Ttl::new(ttl) {
            Ok(ttl) => self.extend_for(Some(ttl)).await,
            Err(wrong) => Err(self.wrong(wrong)),
        }
    }

    fn wrong(&self, wrong: TimingError) -> ExtendError {
        let resource = self.resource().clone();
        ExtendError::Timing { resource, wrong }
    }

    async fn extend_for(&self, ttl: Option<Ttl>) -> Result<(), ExtendError> {
        let (handle, resource) = (self.held.handle(), self.resource());
        if self.held.is_released() {
            let resource = resource.clone();
            return Err(ExtendError::Released { resource });
        }
        match handle.extend(resource, self.held.id(), ttl).await {
            // In a fork there is no thread either.
            None => Err(match self.state() {
                LeaseState::Lost(lost) => ExtendError::Lost {
                    resource: lost.resource,
                    cause: Some(lost.cause),
                },
                _ => ExtendError::ShutDown {
                    resource: resource.clone(),
                },
            }),
            Some(Err(failure)) => {
                let error = ExtendError::from_core(failure, resource, &handle.names());
                Err(match (error, self.state()) {
                    (ExtendError::Lost { resource, .. }, LeaseState::Lost(lost)) => {
                        let cause = Some(lost.cause);
                        ExtendError::Lost { resource, cause }
                    }
                    (error, _) => error,
                })
            }
            // Argument S6: the confirmation may have come long before this task ran again.
            Some(Ok(_)) if self.is_valid() => Ok(()),
            Some(Ok(_)) => Err(ExtendError::Lost {
                resource: resource.clone(),
                cause: None,
            }),
        }
    }
}
