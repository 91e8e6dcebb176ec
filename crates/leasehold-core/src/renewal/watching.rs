//! How a fresh lease has its keys watched.
//!
//! Nodes that tell of changes do so after they have been asked about a key, and a grant does not count as such: most leases
//! are released soon, and need no watch. The first extension arms it, but comes after a third of the TTL only. So a lease
//! that is still held after [`YOUTH`] asks the nodes that carry its key what that is. The answer is a check as well, and
//! from then on a deletion or an eviction is told at once.

use super::{LeaseState, Renewal};
use crate::{
    node_set::NodeSet,
    outbox::Outbox,
    owner::Owner,
    request::{Request, Vote},
    time::Instant,
};
use core::time::Duration;

/// When the keys are to be looked at, and by which request they were.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Watching {
    at: Option<Instant>,
    step: Option<u32>,
}

impl Watching {
    pub(super) const NONE: Self = Self {
        at: None,
        step: None,
    };

    /// When the keys are to be looked at.
    pub(super) const fn at(&self) -> Option<Instant> {
        self.at
    }

    /// An extension does it.
    pub(super) const fn need_not(&mut self) {
        self.at = None;
    }
}

impl Renewal {
    /// Plans to look at the keys, unless nobody would tell, or nobody would listen: a holder that may extend only so often is not
    /// hurried by what is told.
    pub(super) fn watch_later(&mut self, now: Instant, telling: NodeSet) {
        // Of shares nobody is told: each that comes or goes would have all the others ask.
        let is_hurried =
            self.config.policy.most_extensions.is_none() && !self.attempt.resource().is_part();
        let nobody = self.confirmed.nodes().intersection(telling).is_empty();
        let at = now.saturating_add(YOUTH).saturating_add(GRID);
        let at = Some(at.on_grid(GRID)).filter(|_| is_hurried && !nobody);
        // An extension begins the watch as well.
        self.watching.at = at.filter(|at| self.next.is_some_and(|next| *at < next));
    }

    /// Looks at the keys on the nodes that are `telling`, if it is time to.
    pub(super) fn watch(&mut self, now: Instant, telling: NodeSet, outbox: &mut Outbox) {
        if self.state == LeaseState::Lost || self.watching.at.is_none_or(|at| now < at) {
            return;
        }
        self.watching.at = None;
        let step = self.attempt.next_step();
        self.watching.step = Some(step);
        let nodes = self.confirmed.nodes().intersection(telling);
        let resource = self.attempt.resource().clone();
        outbox.send(nodes, self.attempt.tag(step), Request::Inspect { resource });
    }

    /// Takes a node's answer, if it is one to that question. A key that is gone or another's is what a hint would have told.
    pub(super) fn learn_watched(&mut self, now: Instant, step: u32, vote: &Vote) {
        if self.watching.step == Some(step) && lacks(vote, self.attempt.owner()) {
            // Once: the extension that follows is behind this question on every node.
            self.watching.step = None;
            self.handle_hint(now, Duration::ZERO);
        }
    }
}

/// Whether a node says that it does not carry the key of this owner.
fn lacks(vote: &Vote, owner: &Owner) -> bool {
    match vote {
        Vote::Granted { .. } => true,
        Vote::Refused(refusal) => refusal.holder.as_ref() != Some(owner),
        Vote::Unknown(_) => false,
    }
}

/// How long a lease is held before its keys are watched.
const YOUTH: Duration = Duration::from_millis(100);

/// Leases that are that old at nearly the same time ask together: one wake-up and one write for each node.
const GRID: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Fault, FaultKind, Refusal};

    #[test]
    fn a_node_lacks_our_key_if_it_has_none_or_that_of_another() {
        let owner = |name: &[u8]| Owner::from_bytes(name).expect("a few bytes");
        let held = |holder| {
            Vote::Refused(Refusal {
                holder,
                ..Refusal::default()
            })
        };
        let unknown = Vote::Unknown(Fault::new(FaultKind::Down, "down"));
        for (vote, expected) in [
            (Vote::GRANTED, true),
            (held(Some(owner(b"other"))), true),
            // A key of another type, for one.
            (held(None), true),
            (held(Some(owner(b"ours"))), false),
            (unknown, false),
        ] {
            assert_eq!(lacks(&vote, &owner(b"ours")), expected, "{vote:?}");
        }
    }
}
