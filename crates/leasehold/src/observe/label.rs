//! What was asked, answered and failed of, in one word each: these are the labels of metrics.

#[cfg(any(feature = "metrics", feature = "tracing"))]
use crate::{error::LossCause, outcome::ReleaseOutcome};
#[cfg(any(feature = "metrics", feature = "tracing"))]
use leasehold_core::{AbstentionCause, ClockStep};
use leasehold_core::{Cause, FaultKind, Request, Vote};

/// What an acquisition failed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Obstacle {
    /// Somebody else has it.
    Held,
    /// Too few nodes answered.
    Unreachable,
    /// Too many nodes do not vote for a while.
    Abstained,
    /// Others use the nodes with another configuration.
    Disagreement,
    /// The nodes granted when nothing was left of the TTL.
    TooLate,
    /// Others have permits of another number.
    OtherPermits,
    /// The caller went away, or the manager was shut down.
    Cancelled,
    /// The owner source gave no owner, or the same one twice.
    OwnerRepeated,
}

/// What a node is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestKind {
    /// To set a key.
    Acquire,
    /// To raise a counter of fencing tokens.
    Raise,
    /// To let a key live on.
    Extend,
    /// To give a key another owner.
    Transfer,
    /// What a key is.
    Inspect,
    /// To delete a key.
    Release,
    /// To forget the place of somebody in the queue of a fair lock.
    Leave,
}

/// What a node answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "three values, no fourth: that is the point"
)]
pub enum Answer {
    /// It was done.
    Granted,
    /// It was not done, because of what the key is.
    Refused,
    /// Not known, for a reason of this kind.
    Unknown(FaultKind),
}

impl Obstacle {
    /// All of them.
    #[cfg(feature = "metrics")]
    pub(super) const ALL: [Self; 8] = [
        Self::Held,
        Self::Unreachable,
        Self::Abstained,
        Self::Disagreement,
        Self::TooLate,
        Self::OtherPermits,
        Self::Cancelled,
        Self::OwnerRepeated,
    ];

    /// In one word, as it stands in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Unreachable => "unreachable",
            Self::Abstained => "abstained",
            Self::Disagreement => "disagreement",
            Self::OtherPermits => "other_permits",
            Self::TooLate => "too_late",
            Self::Cancelled => "cancelled",
            Self::OwnerRepeated => "owner_repeated",
        }
    }

    pub(crate) const fn of(cause: &Cause) -> Self {
        match cause {
            Cause::Held(_) => Self::Held,
            Cause::Unreachable { .. } => Self::Unreachable,
            Cause::Abstained { .. } => Self::Abstained,
            Cause::Disagreement { .. } => Self::Disagreement,
            Cause::OtherPermits(_) => Self::OtherPermits,
            Cause::TooLate { .. } => Self::TooLate,
            Cause::OwnerRepeated => Self::OwnerRepeated,
            _ => Self::Cancelled,
        }
    }
}

impl RequestKind {
    /// Those that a node carries out only for who agrees with it.
    #[cfg(feature = "metrics")]
    pub(super) const VOTES: [Self; 4] = [Self::Acquire, Self::Raise, Self::Extend, Self::Transfer];

    /// In one word, as it stands in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Raise => "raise",
            Self::Extend => "extend",
            Self::Transfer => "transfer",
            Self::Inspect => "inspect",
            Self::Release => "release",
            Self::Leave => "leave",
        }
    }

    pub(crate) const fn of(request: &Request) -> Self {
        match request {
            // A lease acquires anew what a node has lost.
            Request::Acquire { .. } | Request::Repair { .. } => Self::Acquire,
            Request::Raise { .. } => Self::Raise,
            Request::Extend { .. } => Self::Extend,
            Request::Transfer { .. } => Self::Transfer,
            Request::Inspect { .. } => Self::Inspect,
            Request::Release { .. } => Self::Release,
            Request::Leave { .. } => Self::Leave,
        }
    }
}

impl Answer {
    /// In one word, as it stands in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::Unknown(FaultKind::Down) => "down",
            Self::Unknown(FaultKind::Busy) => "busy",
            Self::Unknown(FaultKind::Abstained) => "abstained",
            Self::Unknown(FaultKind::Disagrees) => "disagrees",
            Self::Unknown(FaultKind::Superseded) => "superseded",
            Self::Unknown(FaultKind::Replaced) => "replaced",
            Self::Unknown(FaultKind::SameNode) => "same_node",
            Self::Unknown(FaultKind::ClockStepped) => "clock_stepped",
            Self::Unknown(FaultKind::Unconfirmed) => "unconfirmed",
            Self::Unknown(FaultKind::Rejected) => "rejected",
            Self::Unknown(FaultKind::Disconnected) => "disconnected",
            Self::Unknown(FaultKind::TimedOut) => "timed_out",
            Self::Unknown(_) => "unknown",
        }
    }

    pub(crate) const fn of(vote: &Vote) -> Self {
        match vote {
            Vote::Granted { .. } => Self::Granted,
            Vote::Refused(_) => Self::Refused,
            Vote::Unknown(fault) => Self::Unknown(fault.kind()),
        }
    }
}

/// Why leases are lost, of what observers are told. A lease that was released or is a forked process's is none.
#[cfg(feature = "metrics")]
pub(super) const LOSSES: [&str; 7] = [
    "timed_out",
    "gone",
    "clock_stepped",
    "extension_limit",
    "hold_limit",
    "no_progress",
    "stopped",
];

/// Why a lease was lost.
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(super) const fn loss(cause: &LossCause) -> &'static str {
    match cause {
        LossCause::TimedOut { .. } => "timed_out",
        LossCause::Gone { .. } => "gone",
        LossCause::ClockStepped { .. } => "clock_stepped",
        LossCause::ExtensionLimit { .. } => "extension_limit",
        LossCause::HoldLimit { .. } => "hold_limit",
        LossCause::NoProgress { .. } => "no_progress",
        LossCause::Released => "released",
        LossCause::Forked => "forked",
        LossCause::Stopped => "stopped",
    }
}

/// What became of a release.
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(super) const fn release(outcome: &ReleaseOutcome) -> &'static str {
    match outcome {
        ReleaseOutcome::Released => "released",
        ReleaseOutcome::AlreadyExpired => "already_expired",
        ReleaseOutcome::TakenByAnother { .. } => "taken_by_another",
        ReleaseOutcome::Unknown { .. } => "unknown",
    }
}

/// Why nodes do not vote.
#[cfg(feature = "metrics")]
pub(super) const ABSTENTIONS: [AbstentionCause; 8] = [
    AbstentionCause::Empty,
    AbstentionCause::Changed,
    AbstentionCause::Evicted,
    AbstentionCause::Reconfigured,
    AbstentionCause::MayEvict,
    AbstentionCause::Replica,
    AbstentionCause::NotDurable,
    AbstentionCause::HasReplicas,
];

/// Why a node does not vote.
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(super) const fn abstention(cause: AbstentionCause) -> &'static str {
    match cause {
        AbstentionCause::Empty => "empty",
        AbstentionCause::Changed => "changed",
        AbstentionCause::Evicted => "evicted",
        AbstentionCause::Reconfigured => "reconfigured",
        AbstentionCause::MayEvict => "may_evict",
        AbstentionCause::Replica => "replica",
        AbstentionCause::NotDurable => "not_durable",
        AbstentionCause::HasReplicas => "has_replicas",
        _ => "unknown",
    }
}

/// In which direction a clock was set.
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(super) const fn direction(step: ClockStep) -> &'static str {
    match step {
        ClockStep::Forward(_) => "forward",
        ClockStep::Back(_) => "back",
    }
}
