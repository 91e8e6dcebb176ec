//! Releases for which a link had no room.
//!
//! A link keeps so many requests only. What it refuses waits here, in order, and leaves as the node answers what it has:
//! two for each answer until the link is full again, and then one for one. Should nothing be on its way that could be
//! answered, two are tried now and then.

use crate::{node_set::NodeId, request::AttemptId, time::Instant};
use alloc::{collections::VecDeque, vec::Vec};
use core::time::Duration;

/// What waits for each node, by its index.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct HeldBack(Vec<NodeLine>);

#[derive(Clone, Debug, Default, Hash)]
struct NodeLine {
    waiting: VecDeque<AttemptId>,
    /// Whether the link has refused one since it last took two.
    is_full: bool,
    /// When to try some although nothing was answered.
    probe_at: Option<Instant>,
}

impl HeldBack {
    /// The link has refused this one. Should nothing be answered, some are tried after the `pause`.
    pub(super) fn push(&mut self, now: Instant, node: NodeId, id: AttemptId, pause: Duration) {
        if self.0.len() <= node.index() {
            let lines = node.index().saturating_add(1);
            self.0.resize_with(lines, NodeLine::default);
        }
        if let Some(line) = self.0.get_mut(node.index()) {
            line.waiting.push_back(id);
            line.is_full = true;
            line.probe_at.get_or_insert(now.saturating_add(pause));
        }
    }

    /// The node has a new connection: what its link was full of came to nothing.
    pub(super) fn make_room(&mut self, node: NodeId) {
        if let Some(line) = self.0.get_mut(node.index()) {
            line.is_full = false;
        }
    }

    /// The node has answered, or has a new connection, so its link has room: says for how many.
    #[inline]
    pub(super) fn room(&mut self, node: NodeId) -> u32 {
        match self.0.get(node.index()) {
            Some(line) if line.waiting.is_empty() => 0,
            Some(line) if line.is_full => 1,
            Some(_) => 2,
            None => 0,
        }
    }

    /// The next for this node.
    pub(super) fn pop(&mut self, node: NodeId) -> Option<AttemptId> {
        let line = self.0.get_mut(node.index())?;
        let next = line.waiting.pop_front();
        if line.waiting.is_empty() {
            *line = NodeLine::default();
        }
        next
    }

    /// When to try some although nothing was answered.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.iter().filter_map(|line| line.probe_at).min()
    }

    /// A node for which it is time to try some; the next after the `pause`.
    pub(super) fn take_due(&mut self, now: Instant, pause: Duration) -> Option<NodeId> {
        let is_due = |line: &NodeLine| line.probe_at.is_some_and(|at| at <= now);
        let index = self.0.iter().position(is_due)?;
        let line = self.0.get_mut(index)?;
        line.probe_at = Some(now.saturating_add(pause));
        line.is_full = false;
        NodeId::new(index)
    }

    /// How many entries there are, those included that have become void.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|line| line.waiting.len()).sum()
    }

    /// Drops what has become void.
    pub(super) fn retain(&mut self, mut is_valid: impl FnMut(NodeId, AttemptId) -> bool) {
        for (index, line) in self.0.iter_mut().enumerate() {
            if let Some(node) = NodeId::new(index) {
                line.waiting.retain(|id| is_valid(node, *id));
                if line.waiting.is_empty() {
                    *line = NodeLine::default();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::OperationId;

    #[test]
    fn a_line_in_which_all_is_void_wakes_nobody() {
        let mut held_back = HeldBack::default();
        let node = NodeId::new(0).expect("a node");
        let id = AttemptId::only_of(OperationId::new(0));
        held_back.push(Instant::ORIGIN, node, id, Duration::from_millis(500));
        assert!(held_back.next().is_some());
        held_back.retain(|_, _| false);
        assert_eq!((held_back.len(), held_back.next()), (0, None));
    }
}
