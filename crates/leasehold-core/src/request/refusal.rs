//! What a node tells when it refuses.

use crate::{
    owner::Owner,
    permit::TakenPermits,
    queue::{Barrier, Queued},
};
use alloc::boxed::Box;
use core::time::Duration;

/// What a node told about the key when it refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "links make it, field by field")]
pub struct Refusal {
    /// Whom the key belongs to; none if there is no key, or one that is no lock of this kind.
    pub holder: Option<Owner>,
    /// How long the key lives at most; none if there is no key, or if it lives for ever.
    pub remaining: Option<Duration>,
    /// Where the caller stands in the queue, if it asked for a fair lock.
    pub queued: Option<Queued>,
    /// Which permits are taken, if it asked for one and somebody has one.
    pub permits: Option<Box<TakenPermits>>,
}

impl Refusal {
    /// How many permits are left, if somebody has some.
    fn permits_left(&self) -> Option<usize> {
        let taken = self.permits.as_deref()?;
        Some(usize::from(taken.of.get()).saturating_sub(taken.slots.len()))
    }

    /// How many come first for each of the permits that are left; for what is not a permit, all who come first.
    pub(crate) fn ahead(&self) -> Option<u32> {
        let ahead = self.queued?.ahead;
        // As many as are left are next at the same time.
        let also_next = self.permits_left().unwrap_or(1).saturating_sub(1);
        Some(ahead.saturating_sub(u32::try_from(also_next).unwrap_or(u32::MAX)))
    }

    /// Whether nobody comes first for one of the permits that are left, as far as the node tells.
    pub(crate) fn is_next_permit(&self) -> bool {
        self.permits_left() != Some(0) && self.ahead().is_none_or(|ahead| ahead == 0)
    }

    /// Whether it is refused for those alone who come first, and not for a key.
    pub(crate) fn is_by_the_queue(&self) -> bool {
        let is_left = self.permits_left().is_some_and(|left| left > 0);
        self.queued.is_some_and(|queued| {
            let is_behind = is_left && self.ahead() > Some(0);
            queued.barrier == Barrier::Queue || is_behind
        })
    }
}
