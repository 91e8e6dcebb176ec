//! Distributed locks on Redis and Valkey that say honestly when they are safe and when not.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::LockManager;
//!
//! let manager = LockManager::builder().memory(3).build()?;
//! let guard = manager.mutex("orders/42")?.acquire().await?;
//! assert!(guard.is_valid()); // for the next ten seconds, and not a moment longer
//! guard.release().await;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! # Which lock do I want?
//! * [`Mutex`], by [`LockManager::builder`]: for everything, unless one of the following is said of you. On one node, on
//!   several, or on a file.
//! * `Mutex<Plain>`, by [`ManagerBuilder::build_plain`]: where nodes must see nothing but Redlock's own keys, or allow
//!   nothing else. No fencing tokens, and nobody guards against nodes that forget.
//! * `timestamp::TimestampLock` (feature `redis`): to share a lock with programs that lock by `SETNX` and `GETSET`, for
//!   as long as there are any. It trusts the wall clocks of all of them.

mod alarm;
mod builder;
pub mod clock;
pub mod configuration;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod deadline;
mod detached;
mod error;
pub mod fence;
mod guard;
mod hand_over;
mod handle;
mod health;
mod inspection;
pub mod link;
mod manager;
mod mode;
mod mutex;
#[cfg(feature = "redis")]
pub mod operate;
mod options;
mod outcome;
mod shell;
mod state;
#[cfg(feature = "redis")]
pub mod timestamp;
mod work;

pub use builder::ManagerBuilder;
pub use configuration::{KeyFormat, KeyFormatError, RestartGuard};
pub use detached::DetachedLease;
pub use error::{
    Abstained, AcquireError, AdoptError, ConfigError, Danger, ExtendError, Held, InspectError,
    LeaseLost, LossCause, NodeFault, Trouble, Unreachable,
};
#[cfg(feature = "redis")]
pub use error::{NodeList, ReconfigureError};
pub use guard::LeaseGuard;
pub use health::{NodeConnection, NodeHealth};
pub use inspection::{Eviction, Inspection, Key, NodeKey};
pub use leasehold_core::{
    Abstention, AbstentionCause, ClockStep, Drift, FaultKind, FencingToken, Instant, Owner,
    OwnerSource, Pause, Resource, ResourceError, TermsError, Ttl,
};
pub use link::NodeName;
pub use manager::LockManager;
pub use mode::{Fenced, Mode, Plain};
pub use mutex::Mutex;
pub use options::LockOptions;
pub use outcome::ReleaseOutcome;
pub use state::LeaseState;
pub use work::Done;
