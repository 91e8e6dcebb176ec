//! A step on its way through the thread of a store, and what comes of it.

use super::{inbox::Inbox, process_identity::ProcessIdentity};
use crate::clock::Clock;
use leasehold_core::{Request, Tag, Vote};
use std::sync::Arc;

/// A step on its way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) tag: Tag,
    pub(super) request: Request,
    pub(super) clock: Clock,
    pub(super) inbox: Arc<Inbox>,
}

/// What was seen of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sight {
    /// The record, if there is one.
    pub(super) record: Option<Vec<u8>>,
    /// The other process that holds the key.
    pub(super) holder: Option<ProcessIdentity>,
}

/// The answer to a step.
#[derive(Debug)]
pub(super) struct StepResult {
    pub(super) vote: Vote,
    /// The key after the step, if the caller wants to know of the next change.
    pub(super) sights: Vec<Sight>,
}
