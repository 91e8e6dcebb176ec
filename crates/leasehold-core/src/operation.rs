//! What the engine can be asked to do, and what comes of it.

use crate::{
    failure::{AcquireFailure, ExtendFailure},
    lease::Lease,
    lock_config::AcquireRequest,
    loss::LeaseChange,
    node_set::NodeId,
    owner::Owner,
    quarantine::Identity,
    releasing::ReleaseOutcome,
    request::{OperationId, Vote},
    resource::Resource,
    time::Instant,
    timing::{Timing, Ttl},
};
use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;

/// Something to do.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "what drives the engine submits them all"
)]
pub enum Operation {
    /// Acquire a resource. Ends with [`Event::Acquired`] or [`Event::NotAcquired`].
    Acquire(AcquireRequest),
    /// Extend the lease that this acquisition won. Ends with [`Event::Extended`] or
    /// [`Event::NotExtended`].
    Extend {
        /// The acquisition.
        lease: OperationId,
        /// The TTL from now on, if it shall be another.
        ttl: Option<Ttl>,
    },
    /// Extend the keys of an owner whose lease is nobody's here, if a quorum still carries them. Ends with
    /// [`Event::Extended`] or [`Event::NotExtended`], and leaves nothing behind that would extend again.
    Prolong {
        /// Which keys.
        resource: Resource,
        /// Whose.
        owner: Owner,
        /// For how long, and how long a node may take.
        timing: Box<Timing>,
    },
    /// The holder of the lease that this acquisition won reports progress. Ends without an event.
    Heartbeat(OperationId),
    /// Release the lease that this acquisition won. Ends with [`Event::Released`], and goes on in the
    /// background where nodes did not answer.
    Release(OperationId),
    /// End the lease that this acquisition won, but leave its keys to the next holder, which takes them over. Ends with
    /// [`Event::HandedOver`].
    HandOver(OperationId),
    /// Ask all nodes about a key. Ends with [`Event::Inspected`].
    Inspect {
        /// Which key.
        resource: Resource,
        /// How long a node may take.
        limit: Duration,
    },
    /// Release the keys of another owner. Ends with [`Event::Released`].
    Evict {
        /// Which keys.
        resource: Resource,
        /// Whose.
        owner: Owner,
        /// How long a node may take, and for how long those that do not answer are asked again.
        timing: Box<Timing>,
    },
    /// Give up this acquisition. The acquisition ends with [`Event::NotAcquired`], this operation
    /// without an event. Does nothing to an acquisition that has ended.
    Cancel(OperationId),
}

/// The end of an operation, or a word about its lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "what drives the engine must know them all"
)]
pub enum Event {
    /// The resource is ours until the lease's end.
    Acquired(Lease),
    /// The resource is not ours.
    NotAcquired(Box<AcquireFailure>),
    /// The lease is valid until then.
    Extended(Instant),
    /// The lease is as valid as it was.
    NotExtended(ExtendFailure),
    /// The lease was given back.
    Released(ReleaseOutcome),
    /// The lease is not ours any more, and may be taken over; false if it was lost before.
    HandedOver(bool),
    /// What each node said about the key, in the order of the nodes: [`Vote::GRANTED`] if there is none.
    Inspected(Vec<(NodeId, Vote)>),
    /// The lease that this acquisition won is less safe than before, or safer, or over. No end of an
    /// operation: it may come often, or never.
    Changed(LeaseChange),
}

/// What happened to the connection to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection is there or not")]
pub enum LinkChange {
    /// The node can be asked. Its identity, if it tells one: two nodes of one identity are one node.
    Up(Option<Identity>),
    /// The node cannot be asked.
    Down,
    /// Another server is the node from now on, by a change of the list of nodes: what the one before has said in a vote that
    /// is not decided counts for nothing.
    Replaced,
}
