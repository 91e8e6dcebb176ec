//! What a node that did not vote has to say for itself.

use crate::link::NodeName;
use leasehold_core::{Fault, FaultKind, NodeId};
use std::fmt;

/// A node whose vote is not known, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFault {
    node: NodeName,
    fault: Fault,
}

impl NodeFault {
    /// The node.
    #[must_use]
    pub const fn node(&self) -> &NodeName {
        &self.node
    }

    /// What kind of fault it is.
    #[must_use]
    pub const fn kind(&self) -> FaultKind {
        self.fault.kind()
    }
}

impl fmt::Display for NodeFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.node, self.fault)
    }
}

/// Gives the nodes their names.
pub(crate) fn name_faults(names: &[NodeName], faults: Vec<(NodeId, Fault)>) -> Vec<NodeFault> {
    let name = |node: NodeId| names[node.index()].clone();
    faults
        .into_iter()
        .map(|(node, fault)| NodeFault {
            node: name(node),
            fault,
        })
        .collect()
}

/// Faults in one line, in the order of the nodes' names.
pub(crate) struct Faults<'a>(pub(crate) &'a [NodeFault]);

impl fmt::Display for Faults<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, fault) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(out, "{separator}{fault}")?;
        }
        Ok(())
    }
}
