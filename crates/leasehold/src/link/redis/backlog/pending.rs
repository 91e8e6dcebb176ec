//! What answers are to that are due.

use super::super::{kind::Kind, look::SeenValue};
use leasehold_core::{Fault, Instant, Request, Tag, Vote, discovery::Need};

/// One answer that is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    Request(PendingRequest),
    /// To the first of the asides.
    Aside {
        begins_at: u64,
    },
}

impl Due {
    pub(super) const fn begins_at(self) -> u64 {
        match self {
            Self::Request(PendingRequest { begins_at, .. }) | Self::Aside { begins_at } => {
                begins_at
            }
        }
    }

    /// How many others are answered by the same reply, behind it.
    pub(super) fn behind(self) -> usize {
        match self {
            Self::Request(PendingRequest { behind, .. }) => usize::from(behind),
            Self::Aside { .. } => 0,
        }
    }

    pub(super) const fn request(self) -> Option<PendingRequest> {
        match self {
            Self::Request(waiting) => Some(waiting),
            Self::Aside { .. } => None,
        }
    }
}

/// What an answer is to.
#[derive(Debug)]
pub(in super::super) enum Pending {
    /// A request, all of it.
    Request(PendingRequest),
    Aside(Aside),
}

/// What is asked for a request, or beside all requests.
#[derive(Debug)]
pub(in super::super) enum Aside {
    /// The last of what was said for a request without scripts.
    Native(PendingRequest, Box<Request>),
    /// Of such a request, before that: the change of its key.
    Change,
    /// And what the key was then.
    Key,
    /// That the node answer what it is asked next, for a slot of a cluster that it is about to get.
    Asking,
    /// That the node watch what it is asked next.
    Watch,
    /// What a key is.
    Look(PendingLook),
    /// How the node writes to its disk.
    Settings,
    /// Which copies there are of this vote.
    Copies {
        /// Which of the questions about it this is.
        turn: usize,
        tag: Tag,
        vote: Box<Vote>,
        /// What it needs then.
        need: Need,
    },
    /// How many replicas there are, of which so many were needed, for lack of which a request failed so.
    Count {
        tag: Tag,
        fault: Box<Fault>,
        needed: u32,
    },
    /// Whose the key is that this request has found.
    Found(Tag, Box<Request>),
    /// Which rights are lacking, for lack of which a request failed so.
    Rights(Tag, Box<Fault>),
}

/// A request without an answer.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct PendingRequest {
    pub(in super::super) tag: Tag,
    pub(in super::super) kind: Kind,
    /// When it was given to the link.
    pub(in super::super) given: Instant,
    /// Where the command begins that it leaves in.
    pub(super) begins_at: u64,
    /// How many others are behind it in the same call.
    pub(in super::super) behind: u16,
    /// Whether it was given to a server of a cluster that is about to get the slot.
    pub(in super::super) is_asking: bool,
}

/// A look at a key without an answer.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct PendingLook {
    /// What was said of the key before.
    pub(in super::super) said: SeenValue,
    pub(super) begins_at: u64,
}
