//! Distributed locks on Redis and Valkey that say honestly when they are safe and when not.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::LockManager;
//!
//! let manager = LockManager::builder().memory(3).build()?;
//! let guard = manager.mutex("orders/42")?.acquire().await?;
//! assert!(guard.is_valid()); // for the next ten seconds, and not a moment longer
//! assert!(guard.release().await.is_released());
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! # Which lock do I want?
//!
//! | where it is kept | | for |
//! |---|---|---|
//! | several independent servers | `.nodes([…])` with three or five addresses | what must go on when a server is gone |
//! | one server | `.nodes([…])` with one | what may stop when it does |
//! | a master with replicas | `redis+sentinel://…` | the same, with failover; docs/OPERATING.md says what that is worth |
//! | a file | `.file(path)` | the processes of one machine |
//! | memory | `.memory(3)` | one process, examples; for tests there is the feature `testing` |
//!
//! | which lock | | for |
//! |---|---|---|
//! | [`Mutex`] | [`LockManager::mutex`] | everything, unless one of the following is said of you |
//! | `Mutex<Plain>` | [`ManagerBuilder::build_plain`] | nodes that must see nothing but Redlock's own keys: no fencing tokens, and nobody guards against nodes that forget |
//! | `timestamp::TimestampLock` | its own `new` | sharing a lock with programs of `SETNX` and `GETSET`, as long as there are any |
//!
//! | what I do | how | example |
//! |---|---|---|
//! | one piece of work, once at a time | [`Mutex::hold`] | `long_job` |
//! | the same, without `async` | [`blocking`] | `blocking_job` |
//! | skip it if somebody else is at it | [`Mutex::try_acquire`] | `test_my_job` |
//! | migrate at deployment, while the others wait | [`Mutex::acquire_within`] | `migration` |
//! | lead until told otherwise | [`LockOptions::tries_unlimited`], [`LeaseGuard::run`] | `leader` |
//! | write what must not be overwritten by a late holder | [`fence`], [`LeaseGuard::fencing_token`] | `fenced_write`; `examples/axum-sqlx` of the repository, a web service |
//! | go on in another process | [`LeaseGuard::hand_over`] | `hand_over` |
//! | a job of cron, a shell script | the command: `leasehold run --no-wait nightly -- ./report.sh` | |
//!
//! # What to do when it is lost
//! A lease can be lost, and then somebody else may have the lock. [`LeaseGuard::run`] and [`Mutex::hold`] drop the work at its
//! last `await`; other work asks [`LeaseGuard::is_valid`] before each step that must not be done without. What cannot bear
//! the moment between asking and doing needs a resource that checks the [fencing token](fence).
//!
//! # Features
//!
//! | feature | | default |
//! |---|---|---|
//! | `redis` | nodes that are Redis or Valkey servers | yes |
//! | `tls` | `rediss://` addresses | yes |
//! | `file` | the store for the processes of one machine | yes |
//! | `cancellation` | [`LeaseGuard::cancellation_token`](LeaseGuard) | yes |
//! | `config` | [`LockManager::from_env`], [`LockManager::from_config`]: the variables and the file of the command | yes |
//! | `metrics` | `observe::Metrics`, through the facade of the `metrics` crate | |
//! | `tracing` | spans, and `observe::Tracing` | |
//! | `testing` | `testing`: nodes that can be broken and a time that is told, for tests of your own | |
//! | `conformance` | `conformance`: the suite that a link of your own must pass | |
//!
//! Features add, and change nothing that is there without them.

mod alarm;
pub mod blocking;
mod builder;
pub mod clock;
#[cfg(all(feature = "config", unix))]
pub mod config;
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
mod holder;
mod inspection;
pub mod link;
mod manager;
mod mode;
mod mutex;
pub mod observe;
#[cfg(feature = "redis")]
pub mod operate;
mod options;
mod outcome;
mod shell;
mod state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(feature = "redis")]
pub mod timestamp;
mod trace;
mod work;

pub use builder::ManagerBuilder;
pub use configuration::{KeyFormat, KeyFormatError, ReservedFor, RestartGuard};
pub use detached::DetachedLease;
#[cfg(feature = "config")]
pub use error::SettingsError;
pub use error::{
    Abstained, AcquireError, AdoptError, ConfigError, Danger, Error, ExtendError, Held,
    InspectError, LeaseLost, LossCause, NodeFault, Trouble, Unreachable,
};
#[cfg(feature = "redis")]
pub use error::{NodeList, ReconfigureError};
pub use guard::LeaseGuard;
pub use health::{NodeConnection, NodeHealth};
pub use holder::Holder;
pub use inspection::{Eviction, Inspection, Key, NodeKey};
pub use leasehold_core::{
    Abstention, AbstentionCause, ClockStep, Drift, FaultKind, FencingToken, Instant, Owner,
    OwnerSource, Pause, Resource, ResourceError, TermsError, Ttl,
};
pub use link::NodeName;
pub use manager::LockManager;
pub use mode::{Fenced, Mode, Plain};
pub use mutex::Mutex;
pub use observe::{Observation, Observer};
pub use options::LockOptions;
pub use outcome::ReleaseOutcome;
pub use state::LeaseState;
pub use work::Done;
