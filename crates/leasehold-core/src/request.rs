//! What is asked of a node, and what it answers.

use crate::{owner::Owner, resource::Resource, terms::Ttl};
use alloc::{string::ToString, sync::Arc};
use core::{fmt, time::Duration};

/// One atomic step that a node is asked to take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a link must carry out every request, or not compile"
)]
pub enum Request {
    /// Set the key if there is none. A key that already carries this owner counts as set: the answer to
    /// a request that arrives twice is the same.
    Acquire {
        /// Which key.
        resource: Resource,
        /// The value to set.
        owner: Owner,
        /// How long the key shall live.
        ttl: Ttl,
    },
    /// Let the key live for at least `ttl` from now on if it carries this owner (argument S3). A key that
    /// lives longer already is left as it is.
    Extend {
        /// Which key.
        resource: Resource,
        /// The value that it must carry.
        owner: Owner,
        /// How long the key shall live.
        ttl: Ttl,
    },
    /// Let the key carry another owner, for `ttl` from now on, if it carries this one (argument S3). A key
    /// that already carries the other counts as set.
    Transfer {
        /// Which key.
        resource: Resource,
        /// The value that it must carry.
        from: Owner,
        /// The value to set.
        owner: Owner,
        /// How long the key shall live.
        ttl: Ttl,
    },
    /// Say what the key is, and change nothing: [`Vote::Granted`] if there is none, else
    /// [`Vote::Refused`] with what it is.
    Inspect {
        /// Which key.
        resource: Resource,
    },
    /// Delete the key if it carries this owner (argument S3), or let it live for a last time.
    Release {
        /// Which key.
        resource: Resource,
        /// The value that it must carry.
        owner: Owner,
        /// How long the key shall still live, instead of being deleted: neither more nor less.
        keep: Option<Ttl>,
    },
}

impl Request {
    /// The key that it is about.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        match self {
            Self::Acquire { resource, .. }
            | Self::Extend { resource, .. }
            | Self::Transfer { resource, .. }
            | Self::Inspect { resource }
            | Self::Release { resource, .. } => resource,
        }
    }

    /// The owner that it acts for.
    #[must_use]
    pub const fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Acquire { owner, .. }
            | Self::Extend { owner, .. }
            | Self::Transfer { owner, .. }
            | Self::Release { owner, .. } => Some(owner),
            Self::Inspect { .. } => None,
        }
    }
}

/// Which request an answer belongs to: operation, attempt **and** step.
///
/// With the attempt alone, the late grant of a winner's first request was taken for a straggler of a
/// later step and released: two holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a link only carries it; a test makes its own"
)]
pub struct Tag {
    /// The operation and the attempt within it.
    pub attempt: AttemptId,
    /// The request within the attempt.
    pub step: u32,
}

/// One attempt of one operation: everything that is done under one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "two numbers that identify")]
pub struct AttemptId {
    /// The operation that the attempt belongs to.
    pub operation: OperationId,
    /// Its number within the operation, from 0.
    pub number: u32,
}

/// One thing that the engine was asked to do. Never used twice by one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(u64);

impl OperationId {
    /// The operation of this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// What a node answered. *Yes* and *no* are certain; whatever may or may not have happened is *unknown*.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "three values, no fourth: that is the point"
)]
pub enum Vote {
    /// The step was taken.
    Granted,
    /// The step was not taken, because of what the key is.
    Refused(Refusal),
    /// No answer that could be relied upon.
    Unknown(Fault),
}

/// What a node told about the key when it refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "links make it, field by field")]
pub struct Refusal {
    /// Whom the key belongs to; none if there is no key, or one that is no lock of this kind.
    pub holder: Option<Owner>,
    /// How long the key lives at most; none if there is no key, or if it lives for ever.
    pub remaining: Option<Duration>,
}

/// Why a node's vote is not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    kind: FaultKind,
    detail: Arc<str>,
}

impl Fault {
    /// A fault of this kind, with what is known about it as a lower-case fragment without secrets.
    #[must_use]
    pub fn new(kind: FaultKind, detail: &(impl fmt::Display + ?Sized)) -> Self {
        Self {
            kind,
            detail: detail.to_string().into(),
        }
    }

    /// The node did not answer within `limit`.
    #[must_use]
    pub fn silent(limit: Duration) -> Self {
        Self::new(
            FaultKind::TimedOut,
            &format_args!("no answer within {limit:?}"),
        )
    }

    /// What kind of fault it is.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        self.kind
    }

    /// Whether the request may have taken effect all the same.
    #[must_use]
    pub const fn may_have_happened(&self) -> bool {
        matches!(self.kind, FaultKind::TimedOut | FaultKind::Disconnected)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.detail)
    }
}

/// The kinds of [`Fault`], by what they say about the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// There is no connection: the request was never sent.
    Down,
    /// Too many requests wait for this node already: the request was never sent.
    Busy,
    /// The node refused to carry out the request at all (OOM, READONLY, LOADING, NOPERM …).
    Rejected,
    /// The connection was lost after the request was sent; it may have taken effect.
    Disconnected,
    /// No answer came in time; the request may have taken effect or may still do so.
    TimedOut,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lost_and_late_answers_may_have_happened() {
        for (kind, may) in [
            (FaultKind::Down, false),
            (FaultKind::Busy, false),
            (FaultKind::Rejected, false),
            (FaultKind::Disconnected, true),
            (FaultKind::TimedOut, true),
        ] {
            assert_eq!(Fault::new(kind, "x").may_have_happened(), may, "{kind:?}");
        }
    }
}
