//! What is known about the nodes themselves: which process each is, and how its clock goes.

use crate::{
    hash::{fnv, splitmix},
    node_clock::{ClockStep, NodeClock, Reading},
    node_set::{NodeId, NodeSet},
    quarantine::Identity,
    resource::Resource,
    servers::ServerId,
    terms::Drift,
    time::Instant,
};
use alloc::vec::Vec;

/// All nodes, by their index.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Nodes(Vec<Node>);

#[derive(Clone, Debug, Default, Hash)]
struct Node {
    /// The process that its connection was opened to.
    server: Option<ServerId>,
    clock: NodeClock,
    /// Whether it tells of changes.
    tells: bool,
    is_down: bool,
    /// Whether somebody who asked it alone has waited in vain, and it has answered nobody since.
    is_silent: bool,
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
        Self(nodes.iter().map(node).collect())
    }

    /// Takes note of what the nodes are called.
    pub(crate) fn name<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        for (this, name) in self.0.iter_mut().zip(names) {
            this.name = fnv(name.as_bytes());
        }
    }

    /// The connection to a node is gone.
    pub(crate) fn part(&mut self, node: NodeId) {
        if let Some(this) = self.0.get_mut(node.index()) {
            this.tells = false;
            this.is_down = true;
            this.is_silent = false;
        }
    }

    /// A node has told of a change.
    pub(crate) fn told(&mut self, node: NodeId) {
        if let Some(this) = self.0.get_mut(node.index()) {
            this.tells = true;
        }
    }

    /// Somebody who asked this node alone has waited for it in vain.
    pub(crate) fn missed(&mut self, node: NodeId) {
        if let Some(this) = self.0.get_mut(node.index()) {
            this.is_silent = true;
        }
    }

    /// A node has answered.
    pub(crate) fn heard(&mut self, node: NodeId) {
        if let Some(this) = self.0.get_mut(node.index()) {
            this.is_silent = false;
        }
    }

    /// The nodes that tell of changes.
    pub(crate) fn telling(&self) -> NodeSet {
        self.those(|node| node.tells)
    }

    /// On which node all who want this resource meet, of those that can be asked and answer.
    pub(crate) fn first_for(&self, resource: &Resource) -> Option<NodeId> {
        let wanted = fnv(resource.as_bytes());
        let up = self.those(|node| !node.is_down && !node.is_silent);
        let weight = |node: &NodeId| {
            self.0
                .get(node.index())
                .map(|this| splitmix(this.name ^ wanted))
        };
        up.iter().max_by_key(weight)
    }

    fn those(&self, which: impl Fn(&Node) -> bool) -> NodeSet {
        let all = NodeSet::first(self.0.len());
        all.iter()
            .filter(|node| self.0.get(node.index()).is_some_and(&which))
            .collect()
    }

    /// Takes note of the process behind a new connection.
    pub(crate) fn meet(&mut self, node: NodeId, identity: Option<Identity>) {
        if let Some(this) = self.0.get_mut(node.index()) {
            this.is_down = false;
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
        let this = self.0.get_mut(node.index())?;
        this.clock.read(now, reading, drift)
    }

    /// The server behind a node, if it has told which one it is.
    pub(crate) fn server(&self, node: NodeId) -> Option<ServerId> {
        self.0.get(node.index())?.server
    }
}
