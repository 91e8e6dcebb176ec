//! What one holds.

use crate::{fence::FencingToken, owner::Owner, resource::Resource, time::Instant};

/// The right to a resource until a moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Lease {
    /// What is held.
    pub resource: Resource,
    /// The value that signs its keys.
    pub owner: Owner,
    /// Its place among all holders of the resource; none if it was not asked for.
    pub token: Option<FencingToken>,
    /// Until when it may be relied upon, by the clock that the engine is given.
    pub valid_until: Instant,
}

impl Lease {
    /// Whether the lease may be relied upon at `now`.
    #[must_use]
    pub fn is_valid(&self, now: Instant) -> bool {
        is_valid(self.valid_until, now)
    }
}

/// Whether a lease that ends then may be relied upon at `now`.
pub(crate) fn is_valid(valid_until: Instant, now: Instant) -> bool {
    // Argument S6: the clock decides, never a flag that a timer sets.
    now < valid_until
}
