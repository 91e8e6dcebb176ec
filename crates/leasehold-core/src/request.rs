//! What is asked of a node, and what it answers.

mod refusal;

pub use refusal::Refusal;

use crate::{
    fence::{FencingToken, counter_at},
    node_set::NodeId,
    owner::Owner,
    permit::Permit,
    quarantine::Abstention,
    queue::Place,
    queue::Waiter,
    resource::Resource,
    servers::ServerId,
    time::Instant,
    timing::Ttl,
};
use alloc::{borrow::Cow, string::ToString, sync::Arc};
use core::{fmt, time::Duration};

/// One atomic step that a node is asked to take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a link must carry out every request, or not compile"
)]
pub enum Request {
    /// The first vote of an attempt: set the key if there is none. No link sends it twice, so a node whose key carries
    /// this owner already is one that has voted, under another address: it answers [`FaultKind::SameNode`] and changes
    /// nothing.
    Acquire {
        /// Which key.
        resource: Resource,
        /// The value to set.
        owner: Owner,
        /// How long the key shall live.
        ttl: Ttl,
        /// What the node's counter shall become at least with the grant; none if nobody wants a fencing token.
        proposal: Option<FencingToken>,
        /// Who asks, if the lock is fair: it is refused as long as others come first, and has a place among them then.
        place: Option<Place>,
    },
    /// Set the key again on a node that has lost it. A key that carries this owner counts as set, since an earlier repair
    /// whose answer was lost may have set it.
    Repair {
        /// Which key.
        resource: Resource,
        /// The value to set.
        owner: Owner,
        /// How long the key shall live.
        ttl: Ttl,
        /// What the node's counter shall become at least with the grant; none if the lease has no fencing token.
        proposal: Option<FencingToken>,
    },
    /// Let the counter be `token` if the key carries this owner and the counter is not beyond that (arguments S3
    /// and S4).
    Raise {
        /// Which key, and so which counter.
        resource: Resource,
        /// The value that it must carry.
        owner: Owner,
        /// What the counter shall be.
        token: FencingToken,
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
    /// The first vote of an attempt that takes a key over: let it carry another owner, for `ttl` from now on, if it
    /// carries this one (argument S3). A key that carries the other already is answered as with
    /// [`Acquire`](Self::Acquire).
    Transfer {
        /// Which key.
        resource: Resource,
        /// The value that it must carry.
        from: Owner,
        /// The value to set.
        owner: Owner,
        /// How long the key shall live.
        ttl: Ttl,
        /// What the node's counter shall become at least with the grant; none if nobody wants a fencing token.
        proposal: Option<FencingToken>,
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
    /// Forget the place of somebody who waits no longer, and change nothing else. Granted in any case.
    Leave {
        /// Which key's queue.
        resource: Resource,
        /// Who has left.
        waiter: Waiter,
    },
}

impl Request {
    /// The key that it is about.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        match self {
            Self::Acquire { resource, .. }
            | Self::Repair { resource, .. }
            | Self::Raise { resource, .. }
            | Self::Extend { resource, .. }
            | Self::Transfer { resource, .. }
            | Self::Inspect { resource }
            | Self::Release { resource, .. }
            | Self::Leave { resource, .. } => resource,
        }
    }

    /// The request as a node with this wall clock takes it: its proposal not further ahead than
    /// [`FencingToken::LEAD`].
    #[must_use]
    pub fn as_seen_at(&self, wall: Duration) -> Cow<'_, Self> {
        let (Self::Acquire { proposal, .. }
        | Self::Repair { proposal, .. }
        | Self::Transfer { proposal, .. }) = self
        else {
            return Cow::Borrowed(self);
        };
        let seen = proposal.map(|proposal| proposal.as_seen_at(wall));
        if seen == *proposal {
            return Cow::Borrowed(self);
        }
        let mut request = self.clone();
        if let Self::Acquire { proposal, .. }
        | Self::Repair { proposal, .. }
        | Self::Transfer { proposal, .. } = &mut request
        {
            *proposal = seen;
        }
        Cow::Owned(request)
    }

    /// The owner that it acts for.
    #[must_use]
    pub const fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Acquire { owner, .. }
            | Self::Repair { owner, .. }
            | Self::Raise { owner, .. }
            | Self::Extend { owner, .. }
            | Self::Transfer { owner, .. }
            | Self::Release { owner, .. } => Some(owner),
            Self::Inspect { .. } | Self::Leave { .. } => None,
        }
    }

    /// Whether it may set a key where there is none: only a node that may have forgotten nothing does that (argument
    /// S9).
    #[must_use]
    pub const fn is_vote(&self) -> bool {
        matches!(
            self,
            Self::Acquire { .. } | Self::Repair { .. } | Self::Transfer { .. }
        )
    }

    /// For how long it lets the key live at least, so that a lease may stand on it.
    #[must_use]
    pub const fn ttl(&self) -> Option<Ttl> {
        match self {
            Self::Acquire { ttl, .. }
            | Self::Repair { ttl, .. }
            | Self::Extend { ttl, .. }
            | Self::Transfer { ttl, .. } => Some(*ttl),
            Self::Raise { .. }
            | Self::Inspect { .. }
            | Self::Release { .. }
            | Self::Leave { .. } => None,
        }
    }

    /// Which permit it is about, if it is about one that somebody has or wants. The owner alone tells, as to all who have parts.
    #[must_use]
    pub fn permit(&self) -> Option<Permit> {
        let owner = self.owner().filter(|_| self.resource().is_part());
        owner.and_then(Owner::permit)
    }

    /// Which of a node's counters counts its grant.
    #[must_use]
    pub fn counter(&self) -> u16 {
        let resource = self.resource();
        counter_at(match self.permit() {
            Some(permit) => permit.fingerprint(resource.fingerprint()),
            None => resource.fingerprint(),
        })
    }

    /// Who asks, if it asks for a fair lock.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::Acquire { place, .. } => *place,
            _ => None,
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

impl AttemptId {
    /// The attempt of an operation that has only one.
    pub(crate) const fn only_of(operation: OperationId) -> Self {
        let number = 0;
        Self { operation, number }
    }
}

/// One thing that an engine was asked to do. The caller draws the number, and none twice for one engine.
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
    Granted {
        /// The node's counter after it, if the request had a proposal.
        counter: Option<FencingToken>,
    },
    /// The step was not taken, because of what the key is.
    Refused(Refusal),
    /// No answer that could be relied upon.
    Unknown(Fault),
}

impl Vote {
    /// The step was taken, and there is no counter to tell.
    pub const GRANTED: Self = Self::Granted { counter: None };

    /// Whether the step was taken.
    #[must_use]
    pub const fn is_granted(&self) -> bool {
        matches!(self, Self::Granted { .. })
    }
}

/// An answer, with all that is known about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) now: Instant,
    pub(crate) node: NodeId,
    /// The server behind the node, if it has told which one it is.
    pub(crate) server: Option<ServerId>,
    pub(crate) tag: Tag,
    pub(crate) vote: &'a Vote,
}

/// Why a node's vote is not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    kind: FaultKind,
    detail: Arc<str>,
    /// Why and for how long the node does not vote.
    abstention: Option<Abstention>,
}

impl Fault {
    /// A fault of this kind, with what is known about it as a lower-case fragment without secrets.
    #[must_use]
    pub fn new(kind: FaultKind, detail: &(impl fmt::Display + ?Sized)) -> Self {
        Self {
            kind,
            detail: detail.to_string().into(),
            abstention: None,
        }
    }

    /// The node has granted the same request under another address.
    #[must_use]
    pub fn same_node() -> Self {
        Self::new(
            FaultKind::SameNode,
            "the same server as another address of the list, under which it has voted",
        )
    }

    /// The node granted, and another server has taken its place since.
    #[must_use]
    pub fn replaced() -> Self {
        Self::new(FaultKind::Replaced, "another server has taken its place")
    }

    /// The node granted, but its clock was set forward by `step` since.
    #[must_use]
    pub fn stepped(step: Duration) -> Self {
        Self::new(
            FaultKind::ClockStepped,
            &format_args!("its clock was set forward by {step:?}, so its keys end early"),
        )
    }

    /// The node does not vote for a while.
    #[must_use]
    pub fn abstained(abstention: &Abstention) -> Self {
        Self {
            abstention: Some(*abstention),
            ..Self::new(FaultKind::Abstained, abstention)
        }
    }

    /// For how long the node does not vote, if it said so and that ends by itself.
    #[must_use]
    pub fn abstains(&self) -> Option<Duration> {
        let passing = self
            .abstention
            .filter(|abstention| abstention.cause.ends_by_itself());
        passing.map(|abstention| abstention.left)
    }

    /// Why and for how long the node does not vote, if it said so.
    #[must_use]
    pub const fn abstention(&self) -> Option<Abstention> {
        self.abstention
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
        matches!(
            self.kind,
            FaultKind::TimedOut
                | FaultKind::Disconnected
                | FaultKind::SameNode
                | FaultKind::Replaced
                | FaultKind::ClockStepped
                | FaultKind::Unconfirmed
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.detail)
    }
}

/// The kinds of faults of nodes, by what they say about the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// There is no connection: the request was never sent.
    Down,
    /// Too many requests wait for this node already: the request was never sent.
    Busy,
    /// The node may have forgotten votes, and does not vote until those have ended (argument S9).
    Abstained,
    /// The node is used by others with another configuration, whose quorums need not meet ours.
    Disagrees,
    /// The node is one that we ask already under another address: its vote counts once.
    SameNode,
    /// The node votes only for those who know the new list of nodes, which we are about to learn.
    Superseded,
    /// The node was to grant, and another server has taken its place since.
    Replaced,
    /// The node's clock was set forward after it had granted.
    ClockStepped,
    /// The node granted, but too few of the sentinels that name it have done so lately: a replica may have taken its place,
    /// and the vote may be lost with it.
    Unconfirmed,
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
            (FaultKind::Abstained, false),
            (FaultKind::Disagrees, false),
            (FaultKind::SameNode, true),
            (FaultKind::Superseded, false),
            (FaultKind::Replaced, true),
            (FaultKind::ClockStepped, true),
            (FaultKind::Unconfirmed, true),
            (FaultKind::Disconnected, true),
            (FaultKind::TimedOut, true),
        ] {
            assert_eq!(Fault::new(kind, "x").may_have_happened(), may, "{kind:?}");
        }
    }
}
