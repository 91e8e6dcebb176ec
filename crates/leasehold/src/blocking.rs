//! Locks for programs without `async`: the same locks, by the same manager's thread, and the caller's thread waits.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::LockManager;
//!
//! let manager = LockManager::builder().memory(3).build()?.blocking();
//! let mutex = manager.mutex("orders/42")?;
//! let guard = mutex.acquire()?;
//! assert!(guard.is_valid()); // for the next ten seconds, and not a moment longer
//! assert!(guard.release().is_released());
//!
//! // Or as long as a function runs:
//! let done = mutex.hold(|lease| lease.remaining())?;
//! assert!(done.lost.is_none());
//! # Ok(())
//! # }
//! ```
//!
//! No runtime is started in the calling thread and none is needed there. A call posts what it wants to the manager's thread, as
//! the futures do, and sleeps until it is woken once. Leases are extended by the manager's thread, whatever the caller
//! does meanwhile. Blocking and asynchronous callers of one manager wait in one queue.
//!
//! # What differs
//! * **Nobody can drop a call.** A future that is dropped gives up; a thread that waits goes on to wait. So every call but
//!   [`lost`](LeaseGuard::lost) and [`changed`](LeaseGuard::changed), and but [`campaign`](Election::campaign) and
//!   [`Leaders`], ends by itself: `acquire` after the tries of its
//!   options, for about five seconds, twenty where too many nodes hang, or when nodes vote again that may have forgotten
//!   votes; `acquire_within` when you say. With [`tries_unlimited`](crate::LockOptions::tries_unlimited) only another thread's
//!   [`shutdown`](LockManager::shutdown) ends it.
//! * **Work is not stopped when the lease is lost.** [`hold`](Mutex::hold) cannot take a running function off its thread.
//!   It tells afterwards, in [`Done::lost`]. Work that takes long asks [`is_valid`](LeaseGuard::is_valid) before each
//!   step that must not be done without the lock, which costs a look at the clock, or lets a thread of its own wait for
//!   [`lost_within`](LeaseGuard::lost_within).
//! * **In a thread of an async runtime** a call blocks that thread, as any blocking call does: no other task runs on it
//!   meanwhile. Where that is the runtime's only thread, a lock that one of its tasks holds is not released before the
//!   call has ended. Nothing panics, and the lock is as good as elsewhere. Prefer the futures there, or the runtime's
//!   threads for blocking work.
//! * **In functions that the manager's thread calls** ([`pause_function`](crate::LockOptions::pause_function),
//!   [`owner_source`](crate::LockOptions::owner_source), an [`Observer`](crate::Observer)) a call to the same manager
//!   never ends: the thread would wait for itself.
//! * **A manager that was built within a tokio runtime** works as a task there. The first call that blocks that runtime's
//!   only thread, or all of them at once, waits some 50 ms longer, until the manager has moved to a thread of its own.
//!
//! The rest is the same, word for word: errors, options, guards that release when they are dropped, tokens.

mod election;
mod guard;
mod manager;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
#[cfg(feature = "redis")]
mod timestamp;
mod wait;

pub use election::{Election, Leaders, Leadership};
pub use guard::{Done, LeaseGuard};
pub use manager::LockManager;
pub use mutex::Mutex;
pub use once::{OnceGuard, OncePer};
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
pub use semaphore::{PermitGuard, Semaphore};
#[cfg(feature = "redis")]
pub use timestamp::{TimestampGuard, TimestampLock};
