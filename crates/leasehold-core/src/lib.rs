//! The deciding half of leasehold.
//!
//! This crate decides; it cannot act. It has no clock, no socket, no thread and no source of randomness:
//! time comes in as an argument, randomness as a [`Seed`], answers as [`Vote`]s; what it wants done
//! goes out as [`Request`]s. The `leasehold` crate acts, and is the one to depend on.
//!
//! From the ground up: [`time`], [`node_set`], [`resource`], [`owner`] are words; [`terms`], [`quorum`],
//! [`retry`] and [`upkeep`] are rules, and a [`plan`] is all of them for one lock; [`request`] is what goes over the wire and [`table`] what a node does with
//! it. A [`round`] is one vote; a [`claim`] is what one owner may have on the nodes. On them stand the
//! machines: the acquisition, which ends in a [`lease`] or a [`failure`], the renewal, which may end in
//! a [`loss`], and the withdrawal. The [`engine`] runs them all.

#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects)]

extern crate alloc;

mod acquisition;
mod agreement;
pub mod backoff;
pub mod claim;
pub mod discovery;
pub mod engine;
mod extension;
pub mod failure;
pub mod fence;
mod few;
mod hash;
mod inquiry;
pub mod lease;
mod local_queue;
mod lookout;
pub mod loss;
pub mod node_clock;
pub mod node_set;
mod nodes;
pub mod operation;
mod outbox;
pub mod owner;
pub mod plan;
pub mod quarantine;
pub mod queue;
pub mod quorum;
mod renewal;
mod repair;
pub mod request;
pub mod resource;
pub mod retry;
pub mod round;
mod sentence;
mod servers;
mod standing;
mod steps;
pub mod table;
pub mod terms;
pub mod time;
mod tries;
pub mod upkeep;
mod withdrawal;
mod won;

pub use engine::Engine;
pub use failure::{AcquireFailure, Cause, Ended, ExtendFailure, Opposition};
pub use fence::FencingToken;
pub use lease::Lease;
pub use loss::{Danger, LeaseChange, Loss, Trouble};
pub use node_clock::{ClockStep, Reading};
pub use node_set::{NodeId, NodeSet};
pub use operation::{Event, LinkChange, Operation};
pub use outbox::Send;
pub use owner::{Owner, OwnerSource, Seed};
pub use plan::{Plan, Wish};
pub use quarantine::{Abstention, AbstentionCause, Identity};
pub use queue::{Barrier, Place, Queue, Queued, Ticket, Waiter};
pub use quorum::{Decision, Quorum, Tally};
pub use request::{AttemptId, Fault, FaultKind, OperationId, Refusal, Request, Tag, Vote};
pub use resource::{Resource, ResourceError};
pub use retry::{Pause, Retry};
pub use round::Round;
pub use table::Table;
pub use terms::{Drift, Terms, TermsError, Ttl};
pub use time::Instant;
pub use upkeep::{AutoRenewal, Upkeep};
pub use withdrawal::ReleaseOutcome;
