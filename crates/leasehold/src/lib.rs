//! Distributed locks on Redis and Valkey that say honestly when they are safe and when not.
//!
//! # Which lock do I want?
//!
//! | I want | take | it costs |
//! |---|---|---|
//! | one at a time on many machines, also when a server is gone | **fenced**: [`Mutex`], by `.nodes([…])` with three or five independent addresses | nothing; if in doubt, this one |
//! | waiters served first come, first served, on all machines | **fair**: the same, with [`LockOptions::fair`] | a request more for each acquisition |
//! | several names at once, all or none | **together**: the same, by [`LockManager::mutex_all`] | waiting until all are free at the same time |
//! | many who read at once, or one who writes | **readers and writers**: [`RwLock`], by [`LockManager::rwlock`] | a request more for each acquisition |
//! | so many at the same time, and no more | **permits**: [`Semaphore`], by [`LockManager::semaphore`] | keys that are taken away by force are noticed later |
//! | work done once an hour or a day, by whoever comes first | **once per period**: [`OncePer`], by [`Mutex::once_per`] | nothing |
//! | nodes that see nothing but Redlock's own keys | **plain**: `Mutex<Plain>`, by [`ManagerBuilder::build_plain`] | no fencing tokens, and nobody guards against nodes that forget |
//! | one at a time among the processes of one machine | **file**: `.file(path)` | nothing beyond the machine |
//! | one process: examples, first steps | **memory**: `.memory(3)`; for tests the feature `testing` | nothing beyond the process |
//! | to share a lock with programs of `SETNX` and `GETSET` | **timestamp**: `timestamp::TimestampLock` | whole seconds, one server, trust in all wall clocks |
//!
//! One server instead of three (`.nodes([…])` with one address) is for what may stop when that server does, and a master with
//! replicas (`redis+sentinel://…`) is one node; `docs/OPERATING.md` of the repository says what that is worth.
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
//! # What do I do with it?
//!
//! | what I do | how | example |
//! |---|---|---|
//! | one piece of work, once at a time | [`Mutex::hold`] | `long_job` |
//! | the same, without `async` | [`blocking`] | `blocking_job` |
//! | skip it if somebody else is at it | [`Mutex::try_acquire`] | `test_my_job` |
//! | take from one account and give to another | [`LockManager::mutex_all`] | `several_names` |
//! | let many read, and one write | [`LockManager::rwlock`] | `readers_writers` |
//! | let four at a time use the GPUs | [`LockManager::semaphore`] | `permits` |
//! | do it once an hour, on one of many machines | [`Mutex::once_per`] | `once_per_minute` |
//! | migrate at deployment, while the others wait | [`Mutex::acquire_within`] | `migration` |
//! | lead while elected, and know who leads | [`LockManager::election`], [`Election`] | `leader` |
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
mod answer;
pub mod blocking;
mod builder;
mod cell;
pub mod clock;
#[cfg(all(feature = "config", unix))]
pub mod config;
pub mod configuration;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod deadline;
mod detached;
mod disks;
mod election;
mod error;
pub mod fence;
mod fork;
mod guard;
mod guardian;
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
mod once;
#[cfg(feature = "redis")]
pub mod operate;
mod options;
mod outcome;
#[cfg(all(doctest, feature = "config", feature = "testing"))]
mod pages;
mod rwlock;
#[cfg(doc)]
pub mod safety;
mod semaphore;
mod shell;
mod state;
mod sync;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(feature = "redis")]
pub mod timestamp;
mod trace;
mod work;

pub use builder::ManagerBuilder;
pub use configuration::{KeyFormat, KeyFormatError, ReservedFor, RestartGuard};
pub use detached::DetachedLease;
pub use disks::Disks;
pub use election::{Election, ElectionState, Leader, Leaders, Leadership};
#[cfg(feature = "config")]
pub use error::SettingsError;
pub use error::{
    Abstained, AcquireError, AdoptError, ConfigError, Danger, DowngradeError, Error, ExtendError,
    Held, InspectError, LeaseLost, LossCause, NodeFault, NotKept, Trouble, Unreachable,
};
#[cfg(feature = "redis")]
pub use error::{NodeList, ReconfigureError};
pub use guard::LeaseGuard;
pub use health::{NodeConnection, NodeHealth};
pub use holder::Holder;
pub use inspection::{Eviction, HeldPermit, HeldPermits, Inspection, Key, NodeKey};
pub use leasehold_core::{
    Abstention, AbstentionCause, ClockStep, Drift, FaultKind, FencingToken, Instant, Owner,
    OwnerSource, Pause, Permit, PermitCount, Resource, ResourceError, TakenPermits, TimingError,
    Ttl,
};
pub use link::NodeName;
pub use manager::LockManager;
pub use mode::{Fenced, Mode, Plain};
pub use mutex::Mutex;
pub use observe::{Observation, Observer};
pub use once::{OnceGuard, OncePer};
pub use options::LockOptions;
pub use outcome::ReleaseOutcome;
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
pub use semaphore::{PermitGuard, Semaphore};
pub use state::LeaseState;
pub use work::Done;
