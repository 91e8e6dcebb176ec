//! Clocks that were set forward, node by node.

use crate::node_set::NodeId;
use alloc::vec::Vec;
use core::time::Duration;

/// By how much the clocks of nodes were set forward since these last set or extended a key.
///
/// Steps add up: a margin that covers each of them need not cover all of them.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Steps(Vec<(NodeId, Duration)>);

impl Steps {
    /// The clock of this node was set forward once more. Says by how much that makes.
    pub(crate) fn add(&mut self, node: NodeId, step: Duration) -> Duration {
        let all = self.of(node).saturating_add(step);
        self.0.retain(|(other, _)| *other != node);
        self.0.push((node, all));
        all
    }

    /// By how much the clock of this node was set forward.
    pub(crate) fn of(&self, node: NodeId) -> Duration {
        let found = self.0.iter().find(|(other, _)| *other == node);
        found.map_or(Duration::ZERO, |(_, all)| *all)
    }
}
