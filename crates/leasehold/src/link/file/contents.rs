//! What is in a store, for people.

use leasehold_core::{Owner, Resource};
use std::{path::PathBuf, time::Duration};

/// What is in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contents {
    /// The file that it is in.
    pub file: PathBuf,
    /// How many bytes its keys take.
    pub used: u64,
    /// How many they may take.
    pub room: u64,
    /// The keys that somebody holds, in no order that means anything.
    pub held: Vec<HeldKey>,
}

/// A key that somebody holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldKey {
    /// What is locked; none if a later version allows names that this one does not.
    pub resource: Option<Resource>,
    /// Who signed it.
    pub owner: Owner,
    /// How long it lives if nobody extends it and its process lives.
    pub remaining: Duration,
    /// The process that set it, by its number in its own pid namespace.
    pub process: u32,
}
