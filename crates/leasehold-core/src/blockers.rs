//! What a waiter knows about the nodes that refused.

use crate::{
    node_set::{NodeId, NodeSet},
    time::Instant,
};
use alloc::vec::Vec;
use core::time::Duration;

/// Which nodes stand in the way, and until when at most.
///
/// No safety rests on it: a waiter that is told too early asks in vain, and one that is not told asks at the next pause's
/// end (argument S10).
#[derive(Clone, Debug, Hash)]
pub(crate) struct Blockers {
    /// Where the key is somebody's, and when its TTL will have ended; never, if that is not known.
    blocked: Vec<(NodeId, Instant)>,
    /// How many of these do not matter.
    spare: usize,
}

impl Blockers {
    /// The way is free when no more than `spare` nodes are in it.
    pub(crate) const fn new(spare: usize) -> Self {
        let blocked = Vec::new();
        Self { blocked, spare }
    }

    /// A node has refused: its key lives for `remaining` yet, if it told.
    pub(crate) fn block(&mut self, now: Instant, node: NodeId, remaining: Option<Duration>) {
        self.clear(node);
        // Nodes count whole milliseconds, and a key is gone in the one after its last.
        let gone = |left| now.saturating_add(left).saturating_add(GRACE);
        let gone_by = remaining.map_or(Instant::NEVER, gone);
        self.blocked.push((node, gone_by));
    }

    /// The key may be free there.
    pub(crate) fn clear(&mut self, node: NodeId) {
        self.blocked.retain(|(other, _)| *other != node);
    }

    /// The nodes in the way.
    pub(crate) fn blocked(&self) -> NodeSet {
        self.blocked.iter().map(|(node, _)| *node).collect()
    }

    /// The nodes of whose keys nobody knows for how long they live.
    pub(crate) fn unlimited(&self) -> NodeSet {
        let unlimited = self
            .blocked
            .iter()
            .filter(|(_, ends)| *ends == Instant::NEVER);
        unlimited.map(|(node, _)| *node).collect()
    }

    /// When the way will be free by the clock alone; never, if nobody told.
    pub(crate) fn free_at(&self) -> Instant {
        let mut ends: Vec<_> = self.blocked.iter().map(|(_, ends)| *ends).collect();
        ends.sort_unstable();
        // The last ones that do not matter need not end.
        let needed = ends.len().checked_sub(self.spare.saturating_add(1));
        match needed {
            None => Instant::ORIGIN,
            Some(last) => ends.get(last).copied().unwrap_or(Instant::NEVER),
        }
    }

    /// Whether the way is free, as far as is known.
    pub(crate) fn is_free(&self, now: Instant) -> bool {
        self.free_at() <= now
    }
}

/// How long after the time that a node told its key is surely gone.
const GRACE: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn node(index: usize) -> NodeId {
        NodeId::new(index).expect("a node")
    }

    #[test]
    fn the_way_is_free_when_enough_keys_have_ended() {
        let mut blockers = Blockers::new(1);
        for (index, millis) in [30, 10, 20].into_iter().enumerate() {
            blockers.block(at(0), node(index), Some(Duration::from_millis(millis)));
        }
        assert_eq!(blockers.free_at(), at(22), "one of three may stay");
        blockers.clear(node(1));
        assert_eq!(blockers.free_at(), at(22));
        blockers.clear(node(0));
        assert!(blockers.is_free(at(0)), "the last one does not matter");
    }

    #[test]
    fn nobody_waits_for_the_end_of_a_key_that_lives_for_ever() {
        let mut blockers = Blockers::new(0);
        blockers.block(at(5), node(0), None);
        assert_eq!(blockers.free_at(), Instant::NEVER);
        blockers.block(at(5), node(0), Some(Duration::ZERO));
        assert_eq!(blockers.free_at(), at(7), "the newer word counts");
        assert!(Blockers::new(0).is_free(at(0)));
    }
}
