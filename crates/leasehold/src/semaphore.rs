//! The lock that so many have at the same time.

mod permit_guard;

pub use permit_guard::PermitGuard;

use crate::{
    error::{AcquireError, ConfigError},
    handle::Handle,
    manager::LockManager,
    mode::Mode,
    mutex::Mutex,
    options::{CheckedOptions, LockOptions},
    work::{Done, unless_lost},
};
use leasehold_core::{PermitCount, Resource};
use std::{sync::Arc, time::Duration};

/// One resource that so many callers have at the same time, and no more: the licences of a tool, the calls that an API allows at once, the
/// GPUs of a pool.
///
/// A `Semaphore` is a name, a number of permits and options: making one sends nothing, and cloning it is cheap.
/// [`LockManager::semaphore`] makes it.
///
/// # Slots
/// The permits are numbered slots, from 0, and each has at most one holder: [`PermitGuard::slot`] tells which one it is. Each
/// slot is locked as the name of a [`Mutex`] is, on a quorum of nodes, so all that is promised of a mutex is promised of
/// each. A count of permits that each node keeps for itself would promise nothing: with three nodes and two permits, three
/// callers can each have a quorum of counts.
///
/// A lease has a [fencing token](crate::LeaseGuard::fencing_token), which is larger for every later holder **of the same slot**. What the
/// semaphore protects has to remember the largest token for each slot.
///
/// # All say the same number
/// The number of permits stands on the nodes as long as anybody has one. A caller that asks for one of another number is refused with
/// [`AcquireError::OtherPermits`], which names both: with four permits for one and eight for another, nobody would know how many
/// there are. To change the number, stop all who use it, or let them take another name.
///
/// # Who is next
/// As with a [`Mutex`]: callers of one manager have their turns in the order in which they came, as many at once as there are permits
/// left. Between managers there is no order, unless the options say [`fair`](LockOptions::fair).
///
/// # The name
/// It is the name of a mutex, too: nobody has a mutex, a share or an election of this name while anybody has a permit, and the other way
/// round. Programs that take the name with `SET NX` are refused as well.
///
/// # Only with fencing tokens
/// Nodes of [`Plain`](crate::Plain) locks keep one holder for each name; there it is a [`ConfigError::PlainPermits`].
///
/// # Examples
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::LockManager;
///
/// let manager = LockManager::builder().memory(3).build()?;
/// let gpus = manager.semaphore("gpu", 2)?;
/// let (one, other) = (gpus.acquire().await?, gpus.acquire().await?);
/// assert_ne!(one.slot(), other.slot());
/// assert!(gpus.try_acquire().await.unwrap_err().is_contention());
///
/// let (slot, token) = (one.slot(), one.fencing_token());
/// one.release().await;
/// let next = gpus.acquire().await?;
/// assert_eq!(next.slot(), slot);
/// assert!(next.fencing_token() > token);
///
/// let other_number = manager.semaphore("gpu", 3)?.try_acquire().await;
/// assert!(other_number.unwrap_err().to_string().contains("permits of 2"));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Semaphore {
    /// On one of the permits, whichever.
    any: Mutex,
    of: PermitCount,
}

impl<M: Mode> LockManager<M> {
    /// The semaphore of this name with so many permits, 1 to 256, and the manager's default options. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Permits`] if there cannot be so many, [`ConfigError::Resource`] or [`ConfigError::Reserved`] if the name cannot be
    /// used, [`ConfigError::PlainPermits`] if this is a manager of plain locks.
    pub fn semaphore(&self, name: &str, permits: usize) -> Result<Semaphore, ConfigError> {
        self.semaphore_with(name, permits, self.defaults().clone())
    }

    /// As [`semaphore`](Self::semaphore), with options of its own. Sends nothing.
    ///
    /// # Errors
    /// As [`semaphore`](Self::semaphore), and any [`ConfigError`] if the options do not go together.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// use leasehold::{LockManager, LockOptions};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// let options = LockOptions::new().fair().ttl(Duration::from_secs(3));
    /// let permit = manager.semaphore_with("gpu", 4, options)?.acquire().await?;
    /// assert!(permit.slot() < 4);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn semaphore_with(
        &self,
        name: &str,
        permits: usize,
        options: LockOptions,
    ) -> Result<Semaphore, ConfigError> {
        let count = u16::try_from(permits).ok().and_then(PermitCount::new);
        let of = count.ok_or(ConfigError::Permits { permits })?;
        let permit = self.permit(name, of)?;
        if !M::IS_FENCED {
            return Err(ConfigError::PlainPermits);
        }
        let options = options.checked_for_permits(self.handle().configuration())?;
        Ok(Semaphore::new(self.handle().clone(), permit, (of, options)))
    }
}

impl Semaphore {
    fn new(handle: Handle, permit: Resource, (of, options): (PermitCount, CheckedOptions)) -> Self {
        let any = Mutex::new(handle, permit, Arc::new(options));
        Self { any, of }
    }

    /// The name: a [permit](Resource::permits) of it.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.any.resource()
    }

    /// How many permits there are.
    #[must_use]
    pub fn permits(&self) -> usize {
        usize::from(self.of.get())
    }

    /// The same semaphore with other options, which `change` makes of those that it has. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        let handle = self.any.handle();
        let options = change(self.any.options().clone());
        let options = options.checked_for_permits(handle.configuration())?;
        let permit = self.any.resource().clone();
        Ok(Self::new(handle.clone(), permit, (self.of, options)))
    }

    /// Waits until there is a permit, and gives up after about five seconds: when the tries of its options are used up. Say with
    /// [`acquire_within`](Self::acquire_within) for how long to wait, or [`tries_unlimited`](LockOptions::tries_unlimited) to wait for
    /// ever.
    ///
    /// It asks for one slot. If that is taken, the nodes that refuse tell which ones are: it asks for one that is free, or waits to
    /// be told of a change if none is. A permit that is given back in the very moment in which it begins to wait may be noticed a
    /// second later.
    ///
    /// # Errors
    /// As [`Mutex::acquire`]: [`Held`](AcquireError::Held) if all permits are taken, with when the first of them ends. And
    /// [`OtherPermits`](AcquireError::OtherPermits) if others have permits of another number; trying again helps only when none of
    /// theirs is left.
    ///
    /// # Cancel safety
    /// Dropping the future gives up, and takes back on every node what it left there, in the background.
    ///
    /// # Source
    /// As [`Mutex::acquire`]; arguments [S1](crate::safety#s1) and [S3](crate::safety#s3).
    pub async fn acquire(&self) -> Result<PermitGuard, AcquireError> {
        self.any.acquire().await.map(PermitGuard::new)
    }

    /// Looks once whether there is a permit: at every slot that the nodes do not say is taken. It waits for the nodes' answers, for their
    /// time limit at most each time.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    pub async fn try_acquire(&self) -> Result<PermitGuard, AcquireError> {
        self.any.try_acquire().await.map(PermitGuard::new)
    }

    /// As [`acquire`](Self::acquire), for `patience` at most, which is used up in full. No patience at all means one look, as
    /// [`try_acquire`](Self::try_acquire) takes it.
    ///
    /// # Errors
    /// As [`Mutex::acquire_within`]: [`TimedOut`](AcquireError::TimedOut) if `patience` ran out.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    pub async fn acquire_within(&self, patience: Duration) -> Result<PermitGuard, AcquireError> {
        let acquired = self.any.acquire_within(patience).await;
        acquired.map(PermitGuard::new)
    }

    /// Waits as [`acquire`](Self::acquire) does, does `work` then, and gives the permit back: after success, after an error, after a
    /// panic, and when this future is dropped. If the lease is lost, the work is dropped where it stands. See [`Mutex::hold`].
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
    /// let gpus = manager.semaphore("gpu", 4)?;
    /// let done = gpus.hold(async |permit| permit.slot()).await?;
    /// assert!(done.work? < 4);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn hold<T>(
        &self,
        work: impl AsyncFnOnce(&PermitGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(working(self.acquire().await?, work).await)
    }

    /// As [`hold`](Self::hold), but waits as [`acquire_within`](Self::acquire_within) does, for `patience` at most.
    ///
    /// # Errors
    /// As [`acquire_within`](Self::acquire_within); then nothing of the work was begun.
    ///
    /// # Cancel safety
    /// As [`hold`](Self::hold).
    pub async fn hold_within<T>(
        &self,
        patience: Duration,
        work: impl AsyncFnOnce(&PermitGuard) -> T,
    ) -> Result<Done<T>, AcquireError> {
        Ok(working(self.acquire_within(patience).await?, work).await)
    }
}

async fn working<T>(guard: PermitGuard, work: impl AsyncFnOnce(&PermitGuard) -> T) -> Done<T> {
    let work = unless_lost(&guard, work(&guard)).await;
    let release = guard.release().await;
    Done { work, release }
}
