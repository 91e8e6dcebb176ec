//! What is known about the nodes themselves: which process each is, and how its clock goes.

use crate::{
    node_clock::{ClockStep, NodeClock, Reading},
    node_set::{NodeId, NodeSet},
    quarantine::Identity,
    request::{Fault, FaultKind, Vote},
    terms::Drift,
    time::Instant,
};
use alloc::vec::Vec;

/// All nodes, by their index.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Nodes(Vec<Node>);

#[derive(Clone, Debug, Default, Hash)]
struct Node {
    identity: Option<Identity>,
    clock: NodeClock,
}

impl Nodes {
    /// Nodes of which nothing is known yet.
    pub(crate) fn new(nodes: NodeSet) -> Self {
        Self(nodes.iter().map(|_| Node::default()).collect())
    }

    /// Takes note of the process behind a new connection, or that it is not known any more.
    pub(crate) fn meet(&mut self, node: NodeId, identity: Option<Identity>) {
        if let Some(this) = self.0.get_mut(node.index()) {
            // What is known of the clock stays: if another process took the keys over, on whatever machine, it is by
            // its clock that they end.
            this.identity = identity;
        }
    }

    /// Takes note of what a node's clock showed, and says whether it has been set since the last time.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        node: NodeId,
        reading: Reading,
        drift: Drift,
    ) -> Option<ClockStep> {
        let this = self.0.get_mut(node.index())?;
        this.clock.read(now, reading, drift)
    }

    /// The vote as it counts: a server that is asked under two addresses has one vote.
    pub(crate) fn counted(&self, node: NodeId, vote: Vote) -> Vote {
        let of = |node: NodeId| self.0.get(node.index())?.identity.as_ref();
        let before = NodeSet::first(node.index());
        // Argument S7: nodes are counted, not addresses.
        let twin = of(node).and_then(|id| before.iter().find(|other| of(*other) == Some(id)));
        match (twin, vote) {
            (Some(_), Vote::Granted { .. }) => Vote::Unknown(Fault::new(
                FaultKind::SameNode,
                "the same server as another address of the list",
            )),
            (_, vote) => vote,
        }
    }
}
