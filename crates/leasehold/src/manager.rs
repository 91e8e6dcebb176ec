//! The value that users keep.

use crate::{
    builder::ManagerBuilder,
    clock::Clock,
    error::ConfigError,
    handle::Handle,
    health::NodeHealth,
    link::NodeName,
    mode::{Fenced, Mode},
    mutex::Mutex,
    options::{CheckedOptions, LockOptions},
};
use leasehold_core::{PermitCount, Resource, ResourceError, Timing};
use std::{marker::PhantomData, sync::Arc};

/// Locks over one set of nodes.
///
/// A manager owns one connection to each node, shared by all its locks, and a task of the tokio runtime in which it was
/// built, or a thread; see [`build`](ManagerBuilder::build). Cloning it is cheap, and clones share both. Keep one for the
/// life of the program.
///
/// When the last clone, mutex and guard is gone, it finishes the releases that are under way,
/// as [`shutdown`](Self::shutdown) does, and ends. Nobody waits for that: dropping a value must not block an executor.
///
/// **Call [`shutdown`](Self::shutdown) before the program ends.** When `main` returns, the process takes the manager's work with
/// it, and a guard that was dropped just before, at the end of `main` or by a `?`, is not released: its lock stays held
/// until the TTL is over. Let the work be a function of its own, and shut down after it, whatever it returned.
///
/// # Examples
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::LockManager;
///
/// async fn work(manager: &LockManager) -> Result<(), Box<dyn std::error::Error>> {
///     let _guard = manager.mutex("orders/42")?.acquire().await?;
///     // … the only one to do this
///     Ok(())
/// }
///
/// let manager = LockManager::builder().memory(3).build()?;
/// let worked = work(&manager).await;
/// // The guard's release is confirmed when this returns.
/// assert_eq!(manager.shutdown().await, Some(0));
/// worked?;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct LockManager<M: Mode = Fenced> {
    handle: Handle,
    defaults: Arc<CheckedOptions>,
    mode: PhantomData<M>,
}

impl<M: Mode> Clone for LockManager<M> {
    fn clone(&self) -> Self {
        Self::new(self.handle.clone(), Arc::clone(&self.defaults))
    }
}

impl LockManager {
    /// Options for a new manager.
    pub fn builder() -> ManagerBuilder {
        ManagerBuilder::default()
    }
}

impl<M: Mode> LockManager<M> {
    pub(crate) const fn new(handle: Handle, defaults: Arc<CheckedOptions>) -> Self {
        let mode = PhantomData;
        Self {
            handle,
            defaults,
            mode,
        }
    }

    /// A lock on `resource` with the manager's default options. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the name cannot be used.
    pub fn mutex(&self, resource: &str) -> Result<Mutex<M>, ConfigError> {
        let resource = self.resource(resource)?;
        Ok(Mutex::new(
            self.handle.clone(),
            resource,
            Arc::clone(&self.defaults),
        ))
    }

    /// A lock on `resource` with options of its own. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the name cannot be used or the options do not go together.
    pub fn mutex_with(
        &self,
        resource: &str,
        options: LockOptions,
    ) -> Result<Mutex<M>, ConfigError> {
        let resource = self.resource(resource)?;
        let options = options.checked_for::<M>(self.handle.configuration())?;
        Ok(Mutex::new(self.handle.clone(), resource, Arc::new(options)))
    }

    /// One lock on several names, with the manager's default options: who holds it holds all of them, and nobody holds a part.
    /// Sends nothing.
    ///
    /// From 1 to 64 names, whose keys have 8,192 bytes in all, in any order; one that is given twice counts once. Each node
    /// grants all of them or none, in one step, so callers that want some of the same names never wait for each other in a
    /// circle. It excludes, and is excluded by, each lock on one of the names alone. There is one lease, one deadline and one
    /// [token](crate::LeaseGuard::fencing_token), which is larger than the last of each name; to lose one name is to lose all. Several names take about as
    /// long as one.
    ///
    /// What wants many names that others want too may wait long: it is granted when all are free at the same time, and
    /// nobody makes room for it. Nobody can [queue](LockOptions::fair) for several names.
    ///
    /// The nodes need scripts, as those of fenced locks do. Where they run none, and behind a proxy that reads what it passes on
    /// and may keep the names on different servers, as twemproxy does, [`acquire`](Mutex::acquire) fails with a sentence
    /// that says so.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the names cannot be used, [`ConfigError::UnfairTogether`] if locks of this manager are
    /// fair.
    ///
    /// # Examples
    /// ```
    /// # use leasehold::LockManager;
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # let manager = LockManager::builder().memory(3).build()?;
    /// let transfer = manager.mutex_all(["account/7", "account/4"])?.acquire().await?;
    /// assert!(manager.mutex("account/4")?.try_acquire().await.is_err());
    /// transfer.release().await;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// Arguments [S1](crate::safety#s1), [S3](crate::safety#s3) and [S4](crate::safety#s4), of all names at once.
    pub fn mutex_all<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<Mutex<M>, ConfigError> {
        self.mutex_on(self.together(names)?, Arc::clone(&self.defaults))
    }

    /// As [`mutex_all`](Self::mutex_all), with options of its own.
    ///
    /// # Errors
    /// As [`mutex_all`](Self::mutex_all), and any [`ConfigError`] if the options do not go together.
    pub fn mutex_all_with<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
        options: LockOptions,
    ) -> Result<Mutex<M>, ConfigError> {
        let options = options.checked_for::<M>(self.handle.configuration())?;
        self.mutex_on(self.together(names)?, Arc::new(options))
    }

    pub(crate) fn mutex_on(
        &self,
        resource: Resource,
        options: Arc<CheckedOptions>,
    ) -> Result<Mutex<M>, ConfigError> {
        let mutex = Mutex::new(self.handle.clone(), resource, options);
        mutex.checked()
    }

    fn resource(&self, name: &str) -> Result<Resource, ConfigError> {
        self.unreserved(Resource::new(name)?)
    }

    fn together<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<Resource, ConfigError> {
        let names: Vec<N> = names.into_iter().collect();
        let resource = Resource::several(names.iter().map(AsRef::as_ref))?;
        let (before, behind) = self.handle.configuration().key_format().around();
        let mut bytes = 0;
        for name in resource.each() {
            bytes += before.len() + name.as_bytes().len() + behind.len();
            self.unreserved(name)?;
        }
        // A request that did not fit into what may be on its way to a node would never leave.
        match resource.is_several() && bytes > Resource::MOST_BYTES {
            true => Err(ResourceError::TooLongTogether { bytes }.into()),
            false => Ok(resource),
        }
    }

    /// A share of this name.
    pub(crate) fn share(&self, name: &str) -> Result<Resource, ConfigError> {
        self.unreserved(Resource::shared(name)?)
    }

    /// One of so many permits of this name.
    pub(crate) fn permit(&self, name: &str, of: PermitCount) -> Result<Resource, ConfigError> {
        self.unreserved(Resource::permit(name, of)?)
    }

    fn unreserved(&self, resource: Resource) -> Result<Resource, ConfigError> {
        let configuration = self.handle.configuration();
        match configuration.reserves(&resource) {
            None => Ok(resource),
            Some(by) => {
                let key = configuration
                    .key_format()
                    .key(resource.as_str())
                    .into_owned();
                Err(ConfigError::Reserved { resource, key, by })
            }
        }
    }

    pub(crate) const fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn defaults(&self) -> &LockOptions {
        self.defaults.options()
    }

    /// The timing of the default options.
    pub(crate) fn timing(&self) -> &Timing {
        &self.defaults.lock_config().timing
    }

    /// The nodes, in the order in which they were given. One that was [replaced](crate::operate::Operator::reconfigure) has the name
    /// of its successor, as soon as the manager has learned of it.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeName> {
        self.handle.nodes().to_vec()
    }

    /// How the nodes are, as far as this manager has noticed: asks nobody.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::{LockManager, NodeConnection};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// let _guard = manager.mutex("report")?.acquire().await?;
    /// for node in manager.health() {
    ///     assert_eq!((node.connection, node.clock_steps), (NodeConnection::Up, 0));
    /// }
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    #[must_use]
    pub fn health(&self) -> Vec<NodeHealth> {
        self.handle.healths().read()
    }

    /// The clock by which leases are held.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.handle.clock()
    }

    /// Ends all waiting, and waits until the releases that are under way are confirmed by every node that answers. A node
    /// that answers nothing for 250 ms is not waited for, or for twice as long as it has ever taken, half a second at
    /// most. The whole takes a second at most and 0.2 ms more for each release. Returns how many releases are not
    /// confirmed by all nodes: their keys end with their TTL, if the node does not carry out what it was sent.
    /// None means that the manager's work had ended before, which would be a bug, or is the parent's of which this process
    /// is a fork: nothing is known.
    ///
    /// Acquisitions that are waiting, or that come later, fail with
    /// [`ShutDown`](crate::AcquireError::ShutDown), and [`Leaders`](crate::Leaders) end. Guards that are still held keep their leases and can
    /// be extended and released.
    ///
    /// # Cancel safety
    /// Dropping the future stops the waiting only; the manager stays shut down.
    pub async fn shutdown(&self) -> Option<usize> {
        self.handle.shut_down().await
    }
}
