//! What a manager tells of itself while it works: for logs, metrics and traces.
//!
//! An [`Observer`] is given to [`ManagerBuilder::observer`](crate::ManagerBuilder::observer). There are two ready ones,
//! `observe::Metrics` (feature `metrics`), which counts and measures through the `metrics` facade under the names of
//! [`METRICS`], and `observe::Tracing` (feature `tracing`), which tells events through `tracing`. A function will
//! do as well:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use leasehold::{LockManager, observe::Observation};
//! use std::sync::mpsc;
//!
//! let (told, heard) = mpsc::channel();
//! let manager = LockManager::builder()
//!     .memory(3)
//!     .observer(move |observation: &Observation<'_>| {
//!         if let Observation::Acquired { resource, attempts, .. } = observation {
//!             let _ = told.send(format!("{resource} after {attempts} attempt"));
//!         }
//!     })
//!     .build()?
//!     .blocking();
//! let _guard = manager.mutex("orders/42")?.acquire()?;
//! assert_eq!(heard.recv()?, "orders/42 after 1 attempt");
//! # Ok(())
//! # }
//! ```
//!
//! # An observer must be quick
//! It is called by the manager's thread, or its task, which meanwhile extends no lease and hears no node. An observer that takes
//! milliseconds makes every lock slower; one that waits makes leases end. None of that is unsafe: a guard tells the end of its
//! lease by the clock, whatever the manager's thread does. Hand over to a channel what takes time, and never call the same
//! manager and wait for it.
//!
//! An observer that panics is caught, and not called again by this manager: the leases go on.
//!
//! A manager without observers does none of this work: it costs one comparison where something could be told. The spans of
//! the feature `tracing` cost a look at whether a subscriber wants them.

mod label;
mod metric;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "tracing")]
mod tracing;

pub use label::{Answer, Obstacle, RequestKind};
pub use metric::{METRICS, Metric, MetricKind};
#[cfg(feature = "metrics")]
pub use metrics::Metrics;
#[cfg(feature = "tracing")]
pub use tracing::Tracing;

use crate::{
    error::{Danger, LossCause},
    link::NodeName,
    outcome::ReleaseOutcome,
};
use leasehold_core::{Abstention, ClockStep, FencingToken, Owner, Resource};
use std::time::Duration;

/// Somebody who is told what a manager does. See the [module](self) for what it must not do.
pub trait Observer: Send + Sync + 'static {
    /// Takes note. Called on the manager's thread: it must not wait.
    fn observe(&self, observation: &Observation<'_>);
}

impl<F: Fn(&Observation<'_>) + Send + Sync + 'static> Observer for F {
    fn observe(&self, observation: &Observation<'_>) {
        self(observation);
    }
}

/// Something that a manager did or noticed.
///
/// Of each acquisition that was begun either [`Acquired`](Self::Acquired) or [`NotAcquired`](Self::NotAcquired) is
/// told, and each lease that was acquired ends with exactly one of [`Released`](Self::Released),
/// [`HandedOver`](Self::HandedOver) and [`Lost`](Self::Lost).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Observation<'a> {
    /// A lock was won.
    #[non_exhaustive]
    Acquired {
        /// Which.
        resource: &'a Resource,
        /// The value that signs its keys.
        owner: &'a Owner,
        /// Its fencing token, if it has one.
        token: Option<FencingToken>,
        /// How long that took, from when the manager's thread heard of the call.
        waited: Duration,
        /// How many attempts it took, the last included.
        attempts: u32,
        /// How long the lease may be relied upon from now.
        valid_for: Duration,
    },
    /// A lock was not won, and is not tried for any more.
    #[non_exhaustive]
    NotAcquired {
        /// Which.
        resource: &'a Resource,
        /// What the last attempt failed of, or that the caller gave up.
        obstacle: Obstacle,
        /// How long it was tried for.
        waited: Duration,
        /// How many attempts there were.
        attempts: u32,
    },
    /// A quorum has confirmed a lease for another time.
    #[non_exhaustive]
    Extended {
        /// Which.
        resource: &'a Resource,
        /// Whose.
        owner: &'a Owner,
        /// How long that took, from the first request, extensions that failed in between included.
        took: Duration,
        /// How much of the lease was left just before.
        left: Duration,
        /// How long it may be relied upon from now.
        valid_for: Duration,
    },
    /// A lease is valid, but was not confirmed for long, and ends soon. Told again with each extension that fails.
    #[non_exhaustive]
    InDanger {
        /// Which.
        resource: &'a Resource,
        /// Whose.
        owner: &'a Owner,
        /// How much is left, and what is wrong.
        danger: &'a Danger,
    },
    /// A lease is over against the will of its holder. The holder may have been told earlier, by the clock.
    #[non_exhaustive]
    Lost {
        /// Which.
        resource: &'a Resource,
        /// Whose.
        owner: &'a Owner,
        /// Why.
        cause: &'a LossCause,
        /// For how long it was held.
        held: Duration,
    },
    /// A lease was given back.
    #[non_exhaustive]
    Released {
        /// Which.
        resource: &'a Resource,
        /// Whose.
        owner: &'a Owner,
        /// What became of that.
        outcome: &'a ReleaseOutcome,
        /// For how long it was held, up to when it was given back.
        held: Duration,
        /// How long giving it back took.
        took: Duration,
    },
    /// A lease was given out of hand, for another process to adopt.
    #[non_exhaustive]
    HandedOver {
        /// Which.
        resource: &'a Resource,
        /// Whose it was.
        owner: &'a Owner,
        /// For how long it was held.
        held: Duration,
    },
    /// A node was asked something. Beside [`Answered`](Self::Answered) it tells how much is not answered.
    #[non_exhaustive]
    Asked {
        /// Which node.
        node: &'a NodeName,
        /// What.
        request: RequestKind,
    },
    /// A node has answered, in time or not, or it is known that it never will. A node that hangs is not told of before it
    /// goes on, or its connection is given up.
    #[non_exhaustive]
    Answered {
        /// Which node.
        node: &'a NodeName,
        /// To what.
        request: RequestKind,
        /// What.
        answer: Answer,
        /// How long that took, from when the request was given to the connection.
        took: Duration,
    },
    /// A node does not vote, since it may have forgotten votes. Told with each of its answers.
    #[non_exhaustive]
    Abstained {
        /// Which node.
        node: &'a NodeName,
        /// Why, and for how long still.
        abstention: Abstention,
    },
    /// A node's clock was seen to have been set.
    #[non_exhaustive]
    ClockStepped {
        /// Whose.
        node: &'a NodeName,
        /// In which direction, and by how much at least.
        step: ClockStep,
    },
    /// A node can be asked.
    #[non_exhaustive]
    Up {
        /// Which.
        node: &'a NodeName,
    },
    /// A node cannot be asked any more, or still not. Told with each try to connect that fails.
    #[non_exhaustive]
    Down {
        /// Which.
        node: &'a NodeName,
        /// Why, as a lower-case fragment.
        reason: &'a str,
    },
    /// Another server has taken the place of a node, by [`replace`](crate::operate::Operator::reconfigure), and the manager has
    /// learned of it.
    #[non_exhaustive]
    Replaced {
        /// The new one.
        node: &'a NodeName,
        /// The one that left.
        former: &'a NodeName,
    },
}
