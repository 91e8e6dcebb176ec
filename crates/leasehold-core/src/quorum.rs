//! How many nodes are enough, and how they voted.

use crate::node_set::{NodeId, NodeSet};

/// The nodes of a manager and how many of them must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quorum {
    nodes: NodeSet,
    needed: usize,
}

impl Quorum {
    /// More than half of `nodes` nodes; none if there are none or more than [`NodeId::MOST`].
    #[must_use]
    pub fn majority(nodes: usize) -> Option<Self> {
        // Argument S1: two sets of more than half of the nodes share one.
        let needed = (nodes >> 1).checked_add(1)?;
        (1..=NodeId::MOST).contains(&nodes).then(|| Self {
            nodes: NodeSet::first(nodes),
            needed,
        })
    }

    /// So many of `nodes` nodes that locks are safe even if `forgetful` of them forget votes at the wrong moment,
    /// or step their clocks. None if there are too few or too many nodes for that.
    ///
    /// With five nodes and two forgetful ones four are needed; one may then be away.
    #[must_use]
    pub fn tolerate_forgetful(nodes: usize, forgetful: usize) -> Option<Self> {
        // Argument S1: two sets of so many nodes share more than `forgetful`, so one that forgets nothing.
        let needed = (nodes.checked_add(forgetful)? >> 1).checked_add(1)?;
        let quorum = Self {
            nodes: NodeSet::first(nodes),
            needed,
        };
        ((1..=NodeId::MOST).contains(&nodes) && needed <= nodes).then_some(quorum)
    }

    /// All nodes.
    #[must_use]
    pub const fn nodes(self) -> NodeSet {
        self.nodes
    }

    /// How many nodes must agree.
    #[must_use]
    pub const fn needed(self) -> usize {
        self.needed
    }

    /// How many nodes may fail to agree without stopping the others.
    #[must_use]
    pub const fn spare(self) -> usize {
        self.nodes.len().saturating_sub(self.needed)
    }
}

/// How the nodes have voted so far. Nodes are counted, not answers (argument S7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    granted: NodeSet,
    refused: NodeSet,
    unknown: NodeSet,
}

impl Tally {
    /// No vote yet.
    pub const EMPTY: Self = Self {
        granted: NodeSet::EMPTY,
        refused: NodeSet::EMPTY,
        unknown: NodeSet::EMPTY,
    };

    /// Counts a node's vote; says whether it counted. Only a node's first vote does.
    #[inline]
    pub fn count(&mut self, node: NodeId, ballot: Ballot) -> bool {
        if self.answered().contains(node) {
            return false;
        }
        match ballot {
            Ballot::Granted => self.granted.insert(node),
            Ballot::Refused => self.refused.insert(node),
            Ballot::Unknown => self.unknown.insert(node),
        }
    }

    /// Takes back a yes that cannot be relied upon any more; says whether there was one.
    pub fn doubt(&mut self, node: NodeId) -> bool {
        self.granted.remove(node) && self.unknown.insert(node)
    }

    /// The nodes that said yes.
    #[must_use]
    pub const fn granted(&self) -> NodeSet {
        self.granted
    }

    /// The nodes that said no.
    #[must_use]
    pub const fn refused(&self) -> NodeSet {
        self.refused
    }

    /// The nodes about which nothing certain is known.
    #[must_use]
    pub const fn unknown(&self) -> NodeSet {
        self.unknown
    }

    /// The nodes whose vote has been counted.
    #[must_use]
    pub const fn answered(&self) -> NodeSet {
        self.granted.union(self.refused).union(self.unknown)
    }

    /// Whether the vote can still go either way. Once every node has answered it cannot.
    ///
    /// # Panics
    /// Only if the rules in this file contradict each other.
    #[must_use]
    pub fn decision(&self, quorum: Quorum) -> Decision {
        let granted = self.granted.len();
        if granted >= quorum.needed {
            return Decision::Won;
        }
        let open = quorum.nodes.without(self.answered()).len();
        let against = self.refused.union(self.unknown).len();
        if against > quorum.spare() {
            assert!(
                granted.saturating_add(open) < quorum.needed,
                "a lost vote could not have been won any more"
            );
            Decision::Lost
        } else {
            assert!(
                open > 0,
                "a vote in which every node has answered is decided"
            );
            Decision::Pending
        }
    }
}

/// A vote without its reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "three values, no fourth")]
pub enum Ballot {
    /// Yes.
    Granted,
    /// No.
    Refused,
    /// Not known.
    Unknown,
}

/// How a vote stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "three values, no fourth")]
pub enum Decision {
    /// Too few answers to tell.
    Pending,
    /// A quorum said yes.
    Won,
    /// No quorum can say yes any more.
    Lost,
}
