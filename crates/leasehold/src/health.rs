//! How the nodes are, as far as a manager has noticed.

use crate::link::NodeName;
use leasehold_core::ClockStep;
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How one node is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeHealth {
    /// The node.
    pub node: NodeName,
    /// Whether it can be asked.
    pub connection: NodeConnection,
    /// How often its clock was seen to have been set.
    pub clock_steps: u64,
    /// By how much it was set the last time, at least.
    pub last_step: Option<ClockStep>,
}

impl NodeHealth {
    fn new(node: &NodeName) -> Self {
        Self {
            node: node.clone(),
            connection: NodeConnection::Connecting,
            clock_steps: 0,
            last_step: None,
        }
    }
}

/// `db1:6379: connected`.
impl fmt::Display for NodeHealth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: ", self.node)?;
        match &self.connection {
            NodeConnection::Connecting => out.write_str("not connected yet"),
            NodeConnection::Up => out.write_str("connected"),
            NodeConnection::Down(why) => out.write_str(why),
        }?;
        match self.clock_steps {
            0 => Ok(()),
            1 => out.write_str("; its clock was set once"),
            times => write!(out, "; its clock was set {times} times"),
        }
    }
}

/// Whether a node can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeConnection {
    /// Not known yet.
    Connecting,
    /// It can: its connection is open. One that hangs stays so until the connection fails.
    Up,
    /// It cannot, for this reason.
    Down(String),
}

/// What the manager's thread notes and everybody may read.
#[derive(Clone, Debug)]
pub(crate) struct Healths(Arc<Mutex<Noticed>>);

#[derive(Debug)]
struct Noticed {
    /// As errors call them: read more often than the rest.
    names: Arc<[NodeName]>,
    nodes: Vec<NodeHealth>,
}

impl Healths {
    pub(crate) fn new(nodes: &[NodeName]) -> Self {
        Self(Arc::new(Mutex::new(Noticed {
            names: nodes.into(),
            nodes: nodes.iter().map(NodeHealth::new).collect(),
        })))
    }

    pub(crate) fn read(&self) -> Vec<NodeHealth> {
        self.lock().nodes.clone()
    }

    /// What the nodes are called, in their order.
    pub(crate) fn names(&self) -> Arc<[NodeName]> {
        Arc::clone(&self.lock().names)
    }

    /// Another server is this node from now on, of which nothing is known yet.
    pub(crate) fn rename(&self, index: usize, name: &NodeName) {
        let mut noticed = self.lock();
        if let Some(health) = noticed.nodes.get_mut(index) {
            *health = NodeHealth::new(name);
        }
        let names: Vec<_> = noticed.nodes.iter().map(|it| it.node.clone()).collect();
        noticed.names = names.into();
    }

    pub(crate) fn connection(&self, index: usize, connection: NodeConnection) {
        self.note(index, |health| health.connection = connection);
    }

    pub(crate) fn step(&self, index: usize, step: ClockStep) {
        self.note(index, |health| {
            health.clock_steps += 1;
            health.last_step = Some(step);
        });
    }

    fn note(&self, index: usize, change: impl FnOnce(&mut NodeHealth)) {
        if let Some(health) = self.lock().nodes.get_mut(index) {
            change(health);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Noticed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn steps_are_counted_and_the_last_is_kept() {
        let healths = Healths::new(&[NodeName::new("a"), NodeName::new("b")]);
        let step = ClockStep::Forward(Duration::from_secs(3));
        healths.step(1, ClockStep::Back(Duration::from_secs(1)));
        healths.step(1, step);
        healths.connection(0, NodeConnection::Up);
        let [a, b] = &healths.read()[..] else {
            panic!("two nodes");
        };
        assert_eq!((&a.connection, a.clock_steps), (&NodeConnection::Up, 0));
        assert_eq!((b.clock_steps, b.last_step), (2, Some(step)));
        assert_eq!(a.to_string(), "a: connected");
        let said = "b: not connected yet; its clock was set 2 times";
        assert_eq!(b.to_string(), said);
    }
}
