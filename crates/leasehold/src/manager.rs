//! The value that users keep.

use crate::{
    builder::ManagerBuilder, clock::Clock, error::ConfigError, handle::Handle, link::NodeName,
    mutex::Mutex, options::LockOptions,
};
use leasehold_core::{Resource, Terms};
use std::sync::Arc;

/// Locks over one set of nodes.
///
/// A manager owns a thread with one connection to each node, shared by all its locks. Cloning it is
/// cheap, and clones share the thread. Keep one for the life of the program.
///
/// When the last clone, mutex and guard is gone, the thread finishes the releases that are under way,
/// for a second at most, and ends. A program that ends earlier leaves what it did not release to the
/// TTL: call [`shutdown`](Self::shutdown) first.
///
/// # Examples
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::LockManager;
///
/// let manager = LockManager::builder().memory(3).build()?;
/// {
///     let _guard = manager.mutex("orders/42")?.acquire().await?;
///     // … the only one to do this
/// }
/// assert_eq!(manager.shutdown().await, Some(0));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct LockManager {
    handle: Handle,
    defaults: LockOptions,
}

impl LockManager {
    /// Options for a new manager.
    pub fn builder() -> ManagerBuilder {
        ManagerBuilder::default()
    }

    pub(crate) const fn new(handle: Handle, defaults: LockOptions) -> Self {
        Self { handle, defaults }
    }

    /// A lock on `resource` with the manager's default options. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the name cannot be used.
    pub fn mutex(&self, resource: &str) -> Result<Mutex, ConfigError> {
        self.mutex_with(resource, self.defaults.clone())
    }

    /// A lock on `resource` with options of its own. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the name cannot be used or the options do not go together.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "options are written where they are used"
    )]
    pub fn mutex_with(&self, resource: &str, options: LockOptions) -> Result<Mutex, ConfigError> {
        let resource = Resource::new(resource)?;
        Ok(Mutex::new(
            self.handle.clone(),
            resource,
            Arc::new(options.plan()?),
        ))
    }

    pub(crate) const fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) const fn defaults(&self) -> &LockOptions {
        &self.defaults
    }

    /// The terms of the default options.
    pub(crate) fn terms(&self) -> Result<Terms, ConfigError> {
        self.defaults.plan().map(|plan| plan.terms)
    }

    /// The nodes, in the order in which they were given.
    #[must_use]
    pub fn nodes(&self) -> &[NodeName] {
        self.handle.nodes()
    }

    /// The clock by which leases are held.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.handle.clock()
    }

    /// Ends all waiting, and waits until the releases that are under way are confirmed by every node, for
    /// the nodes' time limit or a second at most. Returns how many are not: their keys end with their TTL.
    /// None means that the manager's thread had ended before, of a bug, and nothing is known.
    ///
    /// Acquisitions that are waiting, or that come later, fail with
    /// [`ShutDown`](crate::AcquireError::ShutDown). Guards that are still held keep their leases and can
    /// be extended and released.
    ///
    /// # Cancel safety
    /// Dropping the future stops the waiting only; the manager stays shut down.
    pub async fn shutdown(&self) -> Option<usize> {
        self.handle.shut_down().await
    }
}
