//! The value that users keep.

use super::{
    election::Election, guard::LeaseGuard, mutex::Mutex, rwlock::RwLock, semaphore::Semaphore,
    wait::wait,
};
use crate::{
    builder::ManagerBuilder,
    clock::Clock,
    error::{AdoptError, ConfigError, InspectError},
    health::NodeHealth,
    inspection::{Eviction, Inspection},
    link::NodeName,
    manager,
    mode::{Fenced, Mode},
    options::LockOptions,
};

/// Locks over one set of nodes, for threads. As [`leasehold::LockManager`](crate::LockManager), whose
/// [`blocking`](crate::LockManager::blocking) makes it; both share the thread, the connections and the queues.
///
/// **Call [`shutdown`](Self::shutdown) before the program ends**: a guard that is dropped at the end of `main`, also by a
/// `?`, is released by the manager's thread, which ends with the process.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use leasehold::blocking::LockManager;
///
/// let manager = LockManager::from(LockManager::builder().memory(3).build()?);
/// {
///     let _guard = manager.mutex("orders/42")?.acquire()?;
///     // … the only one to do this
/// }
/// assert_eq!(manager.shutdown(), Some(0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LockManager<M: Mode = Fenced>(manager::LockManager<M>);

impl<M: Mode> manager::LockManager<M> {
    /// The same manager, for threads that wait: see [`blocking`](crate::blocking).
    #[must_use]
    pub fn blocking(&self) -> LockManager<M> {
        LockManager(self.clone())
    }
}

impl<M: Mode> Clone for LockManager<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Mode> From<manager::LockManager<M>> for LockManager<M> {
    fn from(manager: manager::LockManager<M>) -> Self {
        Self(manager)
    }
}

impl LockManager {
    /// Options for a new manager. What they are built into becomes one of these by
    /// [`blocking`](crate::LockManager::blocking), or by `from`.
    pub fn builder() -> ManagerBuilder {
        ManagerBuilder::default()
    }
}

impl<M: Mode> LockManager<M> {
    /// The same manager, for tasks that await.
    #[must_use]
    pub const fn as_async(&self) -> &manager::LockManager<M> {
        &self.0
    }

    /// A lock on `resource` with the manager's default options. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the name cannot be used.
    pub fn mutex(&self, resource: &str) -> Result<Mutex<M>, ConfigError> {
        self.0.mutex(resource).map(Mutex::from)
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
        self.0.mutex_with(resource, options).map(Mutex::from)
    }

    /// One lock on several names, all or none of them. See [`LockManager::mutex_all`](crate::LockManager::mutex_all). Sends
    /// nothing.
    ///
    /// # Errors
    /// As there.
    pub fn mutex_all<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<Mutex<M>, ConfigError> {
        self.0.mutex_all(names).map(Mutex::from)
    }

    /// As [`mutex_all`](Self::mutex_all), with options of its own.
    ///
    /// # Errors
    /// As there, and any [`ConfigError`] if the options do not go together.
    pub fn mutex_all_with<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
        options: LockOptions,
    ) -> Result<Mutex<M>, ConfigError> {
        self.0.mutex_all_with(names, options).map(Mutex::from)
    }

    /// The lock of this name that many read or one writes. See [`LockManager::rwlock`](crate::LockManager::rwlock). Sends nothing.
    ///
    /// # Errors
    /// As there.
    pub fn rwlock(&self, name: &str) -> Result<RwLock, ConfigError> {
        self.0.rwlock(name).map(RwLock::from)
    }

    /// As [`rwlock`](Self::rwlock), with options of its own.
    ///
    /// # Errors
    /// As there, and any [`ConfigError`] if the options do not go together.
    pub fn rwlock_with(&self, name: &str, options: LockOptions) -> Result<RwLock, ConfigError> {
        self.0.rwlock_with(name, options).map(RwLock::from)
    }

    /// The semaphore of this name with so many permits, 1 to 256. See [`LockManager::semaphore`](crate::LockManager::semaphore). Sends
    /// nothing.
    ///
    /// # Errors
    /// As there.
    pub fn semaphore(&self, name: &str, permits: usize) -> Result<Semaphore, ConfigError> {
        self.0.semaphore(name, permits).map(Semaphore::from)
    }

    /// As [`semaphore`](Self::semaphore), with options of its own.
    ///
    /// # Errors
    /// As there, and any [`ConfigError`] if the options do not go together.
    pub fn semaphore_with(
        &self,
        name: &str,
        permits: usize,
        options: LockOptions,
    ) -> Result<Semaphore, ConfigError> {
        let semaphore = self.0.semaphore_with(name, permits, options);
        semaphore.map(Semaphore::from)
    }

    /// The election of this name, with the manager's default options. Sends nothing. See
    /// [`LockManager::election`](crate::LockManager::election).
    ///
    /// # Errors
    /// As [`LockManager::election`](crate::LockManager::election).
    pub fn election(&self, name: &str) -> Result<Election<M>, ConfigError> {
        self.0.election(name).map(Election::from)
    }

    /// The election of this name, with options of its own. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the name cannot be used or the options do not go together.
    pub fn election_with(
        &self,
        name: &str,
        options: LockOptions,
    ) -> Result<Election<M>, ConfigError> {
        self.0.election_with(name, options).map(Election::from)
    }

    /// The nodes, in the order in which they were given.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeName> {
        self.0.nodes()
    }

    /// How the nodes are, as far as this manager has noticed: asks nobody.
    #[must_use]
    pub fn health(&self) -> Vec<NodeHealth> {
        self.0.health()
    }

    /// The clock by which leases are held.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.0.clock()
    }

    /// Takes over a lease that [`LeaseGuard::hand_over`] gave out of hand, with the manager's default options.
    /// See [`LockManager::adopt`](crate::LockManager::adopt).
    ///
    /// Makes one attempt and waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`LockManager::adopt`](crate::LockManager::adopt).
    #[track_caller]
    pub fn adopt(&self, text: &str) -> Result<LeaseGuard<M>, AdoptError> {
        wait(self.0.adopt(text)).map(LeaseGuard::from)
    }

    /// As [`adopt`](Self::adopt), with options of its own.
    ///
    /// # Errors
    /// As [`adopt`](Self::adopt), and [`AdoptError::Config`] if the options do not go together.
    #[track_caller]
    pub fn adopt_with(
        &self,
        text: &str,
        options: LockOptions,
    ) -> Result<LeaseGuard<M>, AdoptError> {
        wait(self.0.adopt_with(text, options)).map(LeaseGuard::from)
    }

    /// Asks every node what it has under the resource's name. Changes nothing.
    ///
    /// Waits for all nodes, for the time limit of the manager's default options at most.
    ///
    /// # Errors
    /// As [`LockManager::inspect`](crate::LockManager::inspect).
    #[track_caller]
    pub fn inspect(&self, resource: &str) -> Result<Inspection, InspectError> {
        wait(self.0.inspect(resource))
    }

    /// Releases the lock, whoever holds it: **two may hold it afterwards**. See
    /// [`LockManager::force_release`](crate::LockManager::force_release).
    ///
    /// Waits for the nodes' time limit twice at most.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect).
    #[track_caller]
    pub fn force_release(&self, resource: &str) -> Result<Eviction, InspectError> {
        wait(self.0.force_release(resource))
    }

    /// Ends all waiting, that of other threads too, and waits until the releases that are under way are confirmed by the
    /// nodes that answer. Returns how many are not. None means that the manager's thread had ended before. See
    /// [`LockManager::shutdown`](crate::LockManager::shutdown).
    #[track_caller]
    pub fn shutdown(&self) -> Option<usize> {
        wait(self.0.shutdown())
    }
}
