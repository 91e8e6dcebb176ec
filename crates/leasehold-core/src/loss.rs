//! What a holder is told about the lease while holding it.

use crate::{
    failure::{ExtendFailure, Opposition},
    node_set::NodeId,
    time::Instant,
};
use core::time::Duration;

/// A change in how safe a lease is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a holder must know them all")]
pub enum LeaseChange {
    /// No quorum has confirmed the lease for long, and it ends soon. It is still valid. Told again with each
    /// extension that fails.
    InDanger(Danger),
    /// A quorum has confirmed the lease: it is as safe as it can be.
    Confirmed {
        /// When it ends now.
        valid_until: Instant,
    },
    /// The lease ends sooner than was said, because the clock of a node was set forward.
    Cut {
        /// When it ends now.
        valid_until: Instant,
        /// Whose clock.
        node: NodeId,
        /// By how much it was set forward at least.
        step: Duration,
    },
    /// The lease is over, for good.
    Lost(Loss),
}

/// Why a lease is in danger.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Danger {
    /// When the lease ends unless it is extended.
    pub valid_until: Instant,
    /// Since when extensions fail, and why the last one did; none if none was tried.
    pub trouble: Option<Trouble>,
}

/// Extensions that failed, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Trouble {
    /// When the first of them failed.
    pub since: Instant,
    /// Why the last of them failed.
    pub failure: ExtendFailure,
}

/// Why a lease is over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// Its time was up before a quorum confirmed it.
    TimedOut {
        /// What was wrong with the extensions; none if none was tried, or none failed.
        trouble: Option<Trouble>,
    },
    /// Too many nodes do not carry its key any more: it was deleted, or forgotten, or is another's.
    Gone(Opposition),
    /// The clocks of nodes were set forward, so that too few keys live on.
    ClockStepped {
        /// The last of these nodes.
        node: NodeId,
        /// By how much its clock was set forward at least.
        step: Duration,
    },
    /// It had been extended as often as it may.
    ExtensionLimit {
        /// How often.
        extensions: u32,
    },
    /// It had been held for as long as it may.
    HoldLimit {
        /// For how long.
        held: Duration,
    },
    /// It was not extended because the holder did not report progress.
    NoProgress {
        /// When the holder was last heard of.
        heard: Instant,
    },
}
