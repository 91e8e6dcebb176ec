//! What a node that did not vote has to say for itself.

use crate::link::NodeName;
use leasehold_core::{Abstention, Fault, FaultKind, NodeId, Owner, Quorum};
use std::fmt;

/// A node whose vote is not known, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFault {
    node: NodeName,
    fault: Fault,
}

impl NodeFault {
    /// A node that could not be asked.
    #[cfg(feature = "redis")]
    pub(crate) fn down(node: NodeName, why: &str) -> Self {
        let fault = Fault::new(FaultKind::Down, &why);
        Self { node, fault }
    }

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

    /// Why and for how long the node does not vote, if it may have forgotten votes.
    #[must_use]
    pub const fn abstention(&self) -> Option<Abstention> {
        self.fault.abstention()
    }
}

impl fmt::Display for NodeFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.node, self.fault)
    }
}

/// The nodes as they are called, and how many of them are enough.
#[derive(Clone, Copy)]
pub(crate) struct Nodes<'a> {
    pub(crate) names: &'a [NodeName],
    pub(crate) quorum: Quorum,
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

/// A key that too many nodes do not carry any more, in one line.
pub(crate) struct Gone<'a> {
    pub(crate) refused: usize,
    pub(crate) quorum: usize,
    pub(crate) nodes: usize,
    pub(crate) holder: Option<&'a Owner>,
}

impl fmt::Display for Gone<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            refused,
            quorum,
            nodes,
            holder,
        } = self;
        write!(
            out,
            "{refused} of {nodes} nodes do not carry it any more (quorum {quorum})"
        )?;
        match holder {
            Some(holder) => write!(out, "; it is now held by {}", Rival(holder)),
            None => Ok(()),
        }
    }
}

/// Whoever has the key instead. The value of a key that may be other people's data is not told.
pub(crate) struct Rival<'a>(pub(crate) &'a Owner);

impl fmt::Display for Rival<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_usual() {
            true => self.0.fmt(out),
            false => out.write_str("another program"),
        }
    }
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
