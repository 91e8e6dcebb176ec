//! What follows from the moves of a lease, and from its end.

use crate::{
    attempt::Attempt, failure::ExtendFailure, loss::LeaseChange, request::OperationId,
    time::Instant,
};
use alloc::{boxed::Box, vec::Vec};

/// What follows from moves, until it is told.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Effects {
    /// The extensions that ended, and those who wait for them.
    pub(crate) extended: Vec<(OperationId, Result<Instant, ExtendFailure>)>,
    /// What the holder must be told.
    pub(crate) changes: Vec<LeaseChange>,
}

impl Effects {
    pub(crate) const fn is_empty(&self) -> bool {
        self.extended.is_empty() && self.changes.is_empty()
    }
}

/// What a lease leaves behind.
#[derive(Debug)]
pub(crate) struct EndedLease {
    /// What may stand on the nodes; none if it is to be left there.
    pub(crate) attempt: Option<Box<Attempt>>,
    /// For how long the keys must stay.
    pub(crate) keep: Option<Instant>,
    /// Whether the lease was valid to the end.
    pub(crate) in_time: bool,
}
