//! What a node that did not vote has to say for itself.

use crate::{holder::Holder, link::NodeName};
use leasehold_core::{Abstention, Fault, FaultKind, NodeId, NodeSet, Owner, Quorum};
use std::{fmt, sync::Arc};

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
#[derive(Clone)]
pub(crate) struct Nodes {
    pub(crate) names: Arc<[NodeName]>,
    pub(crate) quorum: Quorum,
}

impl Nodes {
    /// What these are called.
    pub(crate) fn of(&self, nodes: NodeSet) -> Vec<NodeName> {
        nodes
            .iter()
            .map(|node| self.names[node.index()].clone())
            .collect()
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
            "{refused} of {nodes} nodes no longer have it (quorum {quorum})"
        )?;
        match holder {
            Some(holder) => write!(out, "; it is now held by {}", Holder::of(holder)),
            None => Ok(()),
        }
    }
}

/// Nodes in one line: five at most, the others by their number.
pub(crate) struct Names<'a>(pub(crate) &'a [NodeName]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (named, more) = match self.0.split_at_checked(4) {
            Some((named, more @ [_, _, ..])) => (named, more.len()),
            _ => (self.0, 0),
        };
        for (place, name) in named.iter().enumerate() {
            let is_last = more == 0 && place + 1 == named.len();
            let separator = match place {
                0 => "",
                _ if is_last => " and ",
                _ => ", ",
            };
            write!(out, "{separator}{name}")?;
        }
        match more {
            0 => Ok(()),
            more => write!(out, " and {more} more"),
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
