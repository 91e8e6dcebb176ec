//! The deciding half of leasehold.
//!
//! This crate decides; it cannot act. It has no clock, no socket, no thread and no source of randomness:
//! time comes in as an argument, randomness as a [`Seed`], answers as [`Vote`]s; what it wants done
//! goes out as [`Request`]s. The `leasehold` crate acts, and is the one to depend on.
//!
//! From the ground up: [`time`], [`node_set`], [`resource`], [`owner`] are words; [`timing`], [`quorum`],
//! [`retry`] and [`renewal_policy`] are rules, and a [`lock_config`] is all of them for one lock; [`request`] is what goes over the wire and [`table`] what a node does with
//! it. A [`round`] is one vote; an [`attempt`] is what one owner may have on the nodes. On them stand the
//! machines: the acquisition, which ends in a [`lease`] or a [`failure`], the renewal, which may end in
//! a [`loss`], and the release. The [`engine`] runs them all.

#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects)]

extern crate alloc;

mod acquisition;
mod agreement;
pub mod attempt;
pub mod backoff;
mod blockers;
mod confirmed_nodes;
pub mod discovery;
pub mod engine;
mod extension;
pub mod failure;
pub mod fence;
mod few;
mod hash;
mod inquiry;
pub mod lease;
mod leftovers;
mod local_queue;
pub mod lock_config;
pub mod loss;
pub mod node_clock;
pub mod node_set;
mod nodes;
pub mod operation;
mod outbox;
pub mod outstanding;
pub mod owner;
pub mod permit;
pub mod quarantine;
pub mod queue;
pub mod quorum;
mod releasing;
mod renewal;
pub mod renewal_policy;
mod repair;
pub mod request;
pub mod resource;
pub mod retry;
pub mod round;
mod sentence;
mod servers;
mod steps;
pub mod table;
pub mod time;
pub mod timing;
mod tries;
mod won;

pub use engine::Engine;
pub use failure::{AcquireFailure, Cause, Ended, ExtendFailure, Opposition};
pub use fence::FencingToken;
pub use lease::Lease;
pub use lock_config::{AcquireRequest, LockConfig};
pub use loss::{Danger, LeaseChange, Loss, Trouble};
pub use node_clock::{ClockStep, Reading};
pub use node_set::{NodeId, NodeSet};
pub use operation::{Event, LinkChange, Operation};
pub use outbox::Send;
pub use owner::{Owner, OwnerSource, Seed};
pub use permit::{Permit, PermitCount, TakenPermits};
pub use quarantine::{Abstention, AbstentionCause, Identity};
pub use queue::{Barrier, Place, Queue, Queued, Ticket, Waiter};
pub use quorum::{Decision, Quorum, Tally};
pub use releasing::ReleaseOutcome;
pub use renewal_policy::{AutoRenewal, RenewalPolicy};
pub use request::{AttemptId, Fault, FaultKind, OperationId, Refusal, Request, Tag, Vote};
pub use resource::{Resource, ResourceError};
pub use retry::{Pause, Retry};
pub use round::Round;
pub use table::Table;
pub use time::Instant;
pub use timing::{Drift, Timing, TimingError, Ttl};
