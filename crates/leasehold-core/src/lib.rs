//! The deciding half of leasehold.
//!
//! This crate decides; it cannot act. It has no clock, no socket, no thread and no source of randomness:
//! time comes in as an argument, randomness as a [`Seed`], answers as [`Vote`]s; what it wants done
//! goes out as [`Request`]s. The `leasehold` crate acts, and is the one to depend on.
//!
//! From the ground up: [`time`], [`node_set`], [`resource`], [`owner`] are words; [`terms`], [`quorum`]
//! and [`retry`] are rules; [`request`] is what goes over the wire and [`table`] what a node does with
//! it.

#![no_std]
#![forbid(unsafe_code)]
#![warn(clippy::arithmetic_side_effects)]

extern crate alloc;

pub mod node_set;
pub mod owner;
pub mod request;
pub mod resource;
pub mod table;
pub mod terms;
pub mod time;

pub use node_set::{NodeId, NodeSet};
pub use owner::{Owner, OwnerSource, Seed};
pub use request::{Fault, FaultKind, OperationId, Refusal, Request, Tag, Vote};
pub use resource::{Resource, ResourceError};
pub use table::Table;
pub use terms::{Drift, Terms, TermsError, Ttl};
pub use time::Instant;
