//! What the nodes say about a key, without changing it.

use crate::{
    node_set::{NodeId, NodeSet},
    quorum::Quorum,
    request::{Fault, Vote},
    servers::{ServerId, Servers},
    time::Instant,
};
use alloc::vec::Vec;
use core::time::Duration;

/// One question to all nodes. Unlike a vote it is over only when all have answered, or their time is.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Inquiry {
    quorum: Quorum,
    asked: Instant,
    closes: Instant,
    answers: Vec<(NodeId, Vote)>,
    /// Those that have answered.
    servers: Servers,
}

impl Inquiry {
    pub(crate) const fn new(quorum: Quorum, now: Instant, limit: Duration) -> Self {
        Self {
            quorum,
            asked: now,
            closes: now.saturating_add(limit),
            answers: Vec::new(),
            servers: Servers::NONE,
        }
    }

    /// Takes a node's answer; only the first one counts.
    pub(crate) fn handle_reply(&mut self, node: NodeId, server: Option<ServerId>, vote: Vote) {
        if self.answered().contains(node) {
            return;
        }
        let tells = !matches!(vote, Vote::Unknown(_));
        // Argument S1: what a server keeps is told once, however many of its addresses are asked.
        let vote = if tells && !self.servers.admit(node, server) {
            Vote::Unknown(Fault::same_node())
        } else {
            vote
        };
        self.answers.push((node, vote));
    }

    /// The answers in the order of the nodes, if it is over.
    pub(crate) fn take_answers(&mut self, now: Instant) -> Option<Vec<(NodeId, Vote)>> {
        let silent = self.quorum.nodes().without(self.answered());
        if !silent.is_empty() && now < self.closes {
            return None;
        }
        let limit = self.closes.saturating_since(self.asked);
        for node in silent.iter() {
            self.answers
                .push((node, Vote::Unknown(Fault::silent(limit))));
        }
        self.answers.sort_by_key(|(node, _)| *node);
        Some(core::mem::take(&mut self.answers))
    }

    pub(crate) const fn closes(&self) -> Instant {
        self.closes
    }

    fn answered(&self) -> NodeSet {
        self.answers.iter().map(|(node, _)| *node).collect()
    }
}
