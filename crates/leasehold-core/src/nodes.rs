//! What is known about the nodes themselves: which process each is, and how its clock goes.

use crate::{
    hash::{fnv, splitmix},
    leftovers::Leftovers,
    node_clock::{ClockStep, NodeClock, Reading},
    node_set::{NodeId, NodeSet},
    quarantine::Identity,
    resource::Resource,
    servers::ServerId,
    time::Instant,
    timing::Drift,
};
use alloc::vec::Vec;

/// All nodes.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Nodes {
    /// By their index.
    each: Vec<Node>,
    /// Those that tell of changes.
    telling: NodeSet,
    down: NodeSet,
    /// Those for which somebody who asked them alone has waited in vain, and that have answered nobody since.
    silent: NodeSet,
    leftovers: Leftovers,
}

#[derive(Clone, Debug, Default, Hash)]
struct Node {
    /// The process that its connection was opened to.
    server: Option<ServerId>,
    clock: NodeClock,
    /// What it is known by to all who use it.
    name: u64,
}

impl Nodes {
    /// Nodes of which nothing is known yet.
    pub(crate) fn new(nodes: NodeSet) -> Self {
        let node = |node: NodeId| Node {
            name: u64::try_from(node.index()).unwrap_or_default(),
            ..Node::default()
        };
        Self {
            each: nodes.iter().map(node).collect(),
            telling: NodeSet::EMPTY,
            down: NodeSet::EMPTY,
            silent: NodeSet::EMPTY,
            leftovers: Leftovers::default(),
        }
    }

    /// Takes note of what the nodes are called.
    pub(crate) fn name<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        for (this, name) in self.each.iter_mut().zip(names) {
            this.name = fnv(name.as_bytes());
        }
    }

    /// The connection to a node is gone.
    pub(crate) fn part(&mut self, node: NodeId) {
        self.telling.remove(node);
        self.down.insert(node);
        self.silent.remove(node);
    }

    /// Another server is this node from now on, of which nothing is known yet.
    pub(crate) fn replace(&mut self, node: NodeId) {
        self.part(node);
        self.leftovers.forget(node, None);
        if let Some(it) = self.each.get_mut(node.index()) {
            (it.server, it.clock) = (None, NodeClock::default());
        }
    }

    /// A node has told of a change.
    pub(crate) fn told(&mut self, node: NodeId) {
        self.telling.insert(node);
    }

    /// Somebody who asked this node alone has waited for it in vain.
    pub(crate) fn missed(&mut self, node: NodeId) {
        self.silent.insert(node);
    }

    /// A node has answered.
    pub(crate) fn heard(&mut self, node: NodeId) {
        self.silent.remove(node);
    }

    /// The nodes that tell of changes.
    pub(crate) const fn telling(&self) -> NodeSet {
        self.telling
    }

    /// A resource can be had although this node's key is another's until `ends`.
    pub(crate) fn leave_aside(
        &mut self,
        now: Instant,
        resource: &Resource,
        node: NodeId,
        ends: Instant,
    ) {
        self.leftovers.note(now, resource, node, ends);
    }

    /// A node's key may have changed; any key, if no resource is named.
    #[inline]
    pub(crate) fn changed(&mut self, node: NodeId, resource: Option<&Resource>) {
        self.leftovers.forget(node, resource);
    }

    /// On which node all who want this resource meet, of those that can be asked and answer, and whose key is not known to
    /// stay another's.
    pub(crate) fn first_for(&self, now: Instant, resource: &Resource) -> Option<NodeId> {
        let wanted = resource.fingerprint();
        let up = NodeSet::first(self.each.len())
            .without(self.down)
            .without(self.silent)
            .without(self.leftovers.nodes(now, resource));
        let weight = |node: &NodeId| {
            self.each
                .get(node.index())
                .map(|this| splitmix(this.name ^ wanted))
        };
        up.iter().max_by_key(weight)
    }

    /// Takes note of the process behind a new connection.
    pub(crate) fn meet(&mut self, node: NodeId, identity: Option<Identity>) {
        if let Some(this) = self.each.get_mut(node.index()) {
            self.down.remove(node);
            // What is known of the clock stays: if another process took the keys over, on whatever machine, it is by
            // its clock that they end.
            this.server = identity.map(|it| ServerId::new(fnv(it.as_str().as_bytes())));
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
        let this = self.each.get_mut(node.index())?;
        this.clock.read(now, reading, drift)
    }

    /// The server behind a node, if it has told which one it is.
    pub(crate) fn server(&self, node: NodeId) -> Option<ServerId> {
        self.each.get(node.index())?.server
    }
}
