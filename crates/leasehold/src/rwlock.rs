//! The lock that many read, or one writes.

mod read_guard;
mod work;
mod write_guard;

pub use read_guard::ReadGuard;
pub use write_guard::WriteGuard;

use crate::{
    error::{AcquireError, ConfigError},
    manager::LockManager,
    mode::{Mode, Plain},
    mutex::Mutex,
    options::{CheckedOptions, LockOptions},
};
use leasehold_core::Resource;
use std::{sync::Arc, time::Duration};

/// One resource that any number of readers have at the same time, or one writer alone.
///
/// An `RwLock` is a name with options: making one sends nothing, and cloning it is cheap. [`LockManager::rwlock`] makes it.
///
/// A writer has the lock of this name as a [`Mutex`](crate::Mutex) has it: with a [fencing token](crate::LeaseGuard::fencing_token),
/// and excluded by, and excluding, every mutex, election and command of that name. A reader has a share of it. It has no
/// token, since a store that refuses late writers has nothing to refuse it for; and it excludes all of those, also
/// programs that know nothing of readers and take the name with `SET NX`. For those who only ever write, a
/// mutex does the same.
///
/// # Who is next
/// Those who wait are served in the order of their coming, across processes, as with [`fair`](LockOptions::fair), whatever
/// the options say. A reader waits for the writer that holds the lock and for the writers that came before it, and for no other
/// reader; a writer waits for all that came before. So readers do not starve writers, nor writers readers. A mutex that is not
/// fair, and another program, stand in no queue: they take the name when nobody has it, and wait as long as readers
/// keep coming. Of the writers of one manager, only the first stands in the nodes' queue: the others come in when it is done, behind
/// readers and writers elsewhere that came meanwhile.
///
/// A reader that comes while a writer waits, waits as well. So **a task that reads and begins to read again** may wait for a
/// writer that waits for it, until its patience is over: there is no reentrancy.
///
/// # From reading to writing
/// A writer can [become a reader](WriteGuard::downgrade) without a moment in which another writer gets in. The other way round there
/// is no way: two readers that wanted it would wait for each other for ever. Release what is read, [`write`](Self::write), and look
/// again at what was read before: somebody else may have written in between.
///
/// # Only with fencing tokens
/// Nodes of [`Plain`] locks keep neither readers nor a queue; there it is a [`ConfigError::PlainReaders`]. And all who
/// use a name must have a version of this library that knows readers: an older one takes a name that is read for held by another
/// program, and waits.
///
/// # Examples
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::LockManager;
///
/// let manager = LockManager::builder().memory(3).build()?;
/// let doc = manager.rwlock("doc")?;
/// let (one, other) = (doc.read().await?, doc.read().await?);
/// assert!(one.is_valid() && other.is_valid());
/// assert!(doc.try_write().await.unwrap_err().is_contention());
/// one.release().await;
/// other.release().await;
///
/// let writer = doc.write().await?;
/// let token = writer.fencing_token();
/// assert!(doc.try_read().await.is_err());
/// let reader = writer.downgrade().await?;
/// assert!(doc.try_read().await.is_ok());
/// reader.release().await;
/// assert!(doc.write().await?.fencing_token() > token);
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct RwLock {
    /// On the name itself.
    writers: Mutex,
    /// On a share of it.
    readers: Mutex<Plain>,
}

impl<M: Mode> LockManager<M> {
    /// The lock of this name that many read or one writes, with the manager's default options. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] or [`ConfigError::Reserved`] if the name cannot be used, [`ConfigError::PlainReaders`] if this
    /// is a manager of plain locks.
    pub fn rwlock(&self, name: &str) -> Result<RwLock, ConfigError> {
        self.rwlock_with(name, self.defaults().clone())
    }

    /// As [`rwlock`](Self::rwlock), with options of its own, for readers and writers. Sends nothing.
    ///
    /// [`fair`](LockOptions::fair) need not be said.
    ///
    /// # Errors
    /// As [`rwlock`](Self::rwlock), and any [`ConfigError`] if the options do not go together.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// use leasehold::{LockManager, LockOptions};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// let options = LockOptions::new().ttl(Duration::from_secs(3));
    /// let reader = manager.rwlock_with("doc", options)?.read().await?;
    /// assert!(reader.remaining() < Duration::from_secs(3));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub fn rwlock_with(&self, name: &str, options: LockOptions) -> Result<RwLock, ConfigError> {
        let share = self.share(name)?;
        if !M::IS_FENCED {
            return Err(ConfigError::PlainReaders);
        }
        let options = options.checked_for_writers(self.handle().configuration())?;
        Ok(RwLock::new(self.handle().clone(), share, options))
    }
}

impl RwLock {
    fn new(handle: crate::handle::Handle, share: Resource, options: CheckedOptions) -> Self {
        let readers = Arc::new(options.for_readers());
        Self {
            writers: Mutex::new(handle.clone(), share.whole(), Arc::new(options)),
            readers: Mutex::new(handle, share, readers),
        }
    }

    /// The name.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.writers.resource()
    }

    /// The same lock with other options, which `change` makes of those that it has. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        let handle = self.writers.handle();
        let options = change(self.writers.options().clone());
        let options = options.checked_for_writers(handle.configuration())?;
        let share = self.readers.resource().clone();
        Ok(Self::new(handle.clone(), share, options))
    }

    /// Waits until nobody writes, and none who came before wants to, and gives up after about five seconds: when the tries of the
    /// options are used up. Say with [`read_within`](Self::read_within) for how long to wait, or
    /// [`tries_unlimited`](LockOptions::tries_unlimited) to wait for ever.
    ///
    /// # Errors
    /// As [`Mutex::acquire`]: [`Held`](AcquireError::Held) if somebody writes, who is told; or if only writers wait who came first.
    ///
    /// # Cancel safety
    /// Dropping the future gives up, and takes back on every node what it left there, in the background.
    ///
    /// # Source
    /// As [`Mutex::acquire`]; arguments [S3](crate::safety#s3) and [S10](crate::safety#s10).
    pub async fn read(&self) -> Result<ReadGuard, AcquireError> {
        self.readers.acquire().await.map(ReadGuard::new)
    }

    /// Makes one attempt to read. It waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`read`](Self::read). It is refused while a writer waits, also if at the moment others read.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    pub async fn try_read(&self) -> Result<ReadGuard, AcquireError> {
        self.readers.try_acquire().await.map(ReadGuard::new)
    }

    /// As [`read`](Self::read), for `patience` at most, which is used up in full. No patience at all means one attempt, as
    /// [`try_read`](Self::try_read) makes it.
    ///
    /// # Errors
    /// As [`Mutex::acquire_within`]: [`TimedOut`](AcquireError::TimedOut) if `patience` ran out.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    pub async fn read_within(&self, patience: Duration) -> Result<ReadGuard, AcquireError> {
        let read = self.readers.acquire_within(patience).await;
        read.map(ReadGuard::new)
    }

    /// Waits until nobody reads or writes, and none who came before wants to, and gives up after about five seconds: when the tries
    /// of the options are used up. Say with [`write_within`](Self::write_within) for how long to wait, or
    /// [`tries_unlimited`](LockOptions::tries_unlimited) to wait for ever. Readers that come meanwhile wait behind it.
    ///
    /// # Errors
    /// As [`Mutex::acquire`]. [`Held`](AcquireError::Held) names the owner if somebody writes. If others read it names none, and
    /// its [`remaining`](crate::Held::remaining) says when the last of them ends unless it is extended.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    ///
    /// # Source
    /// As [`Mutex::acquire`].
    pub async fn write(&self) -> Result<WriteGuard, AcquireError> {
        self.writer(self.writers.acquire().await)
    }

    /// Makes one attempt to write. It waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`write`](Self::write). It is refused while others wait, also if at the moment nobody has the lock.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    pub async fn try_write(&self) -> Result<WriteGuard, AcquireError> {
        self.writer(self.writers.try_acquire().await)
    }

    /// As [`write`](Self::write), for `patience` at most, which is used up in full. No patience at all means one attempt, as
    /// [`try_write`](Self::try_write) makes it.
    ///
    /// # Errors
    /// As [`Mutex::acquire_within`]: [`TimedOut`](AcquireError::TimedOut) if `patience` ran out.
    ///
    /// # Cancel safety
    /// As [`read`](Self::read).
    pub async fn write_within(&self, patience: Duration) -> Result<WriteGuard, AcquireError> {
        self.writer(self.writers.acquire_within(patience).await)
    }

    fn writer(
        &self,
        written: Result<crate::guard::LeaseGuard, AcquireError>,
    ) -> Result<WriteGuard, AcquireError> {
        written.map(|guard| WriteGuard::new(guard, self.readers.clone()))
    }
}
