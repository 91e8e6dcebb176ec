//! Nodes and sets of them.

use core::fmt;

/// One node: its place in the manager's list of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u8);

impl NodeId {
    /// The most nodes that one manager can have.
    pub const MOST: usize = 32;

    /// The node at `index` of the list; none at or beyond [`MOST`](Self::MOST).
    #[must_use]
    pub fn new(index: usize) -> Option<Self> {
        (index < Self::MOST)
            .then(|| u8::try_from(index).map(Self).ok())
            .flatten()
    }

    /// The place in the list of nodes.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    const fn bit(self) -> u32 {
        1_u32 << self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "n{}", self.0)
    }
}

/// A set of nodes in one word.
///
/// Votes are counted in sets, not in numbers: a node that answers twice is still one node
/// (argument S7).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct NodeSet(u32);

impl NodeSet {
    /// No node.
    pub const EMPTY: Self = Self(0);

    /// The first `count` nodes; `count` beyond [`NodeId::MOST`] counts as that.
    #[must_use]
    pub fn first(count: usize) -> Self {
        (0..count).map_while(NodeId::new).collect()
    }

    /// This node alone.
    #[must_use]
    pub const fn of(node: NodeId) -> Self {
        Self(node.bit())
    }

    /// Adds a node; says whether it was new.
    pub fn insert(&mut self, node: NodeId) -> bool {
        let new = !self.contains(node);
        self.0 |= node.bit();
        new
    }

    /// Takes a node out; says whether it was there.
    pub fn remove(&mut self, node: NodeId) -> bool {
        let there = self.contains(node);
        self.0 &= !node.bit();
        there
    }

    /// Whether the node is in the set.
    #[must_use]
    pub const fn contains(self, node: NodeId) -> bool {
        self.0 & node.bit() != 0
    }

    /// How many nodes there are.
    #[must_use]
    pub const fn len(self) -> usize {
        // Not every processor can count bits, so no program that must run on all of them asks it to.
        if self.0 < COUNTED {
            COUNTS[self.0 as usize] as usize
        } else {
            self.0.count_ones() as usize
        }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The nodes of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The nodes of both.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The nodes of this that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The nodes, in the order of the list.
    pub fn iter(self) -> impl Iterator<Item = NodeId> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let next = u8::try_from(left.trailing_zeros()).ok().map(NodeId)?;
            // The lowest bit goes; of an empty set there is none, and 32 is no node.
            left &= left.checked_sub(1)?;
            Some(next)
        })
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::EMPTY;
        for node in nodes {
            set.insert(node);
        }
        set
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set()
            .entries(self.iter().map(NodeId::index))
            .finish()
    }
}

/// How many sets are counted beforehand: all of those of eight nodes.
const COUNTED: u32 = 256;

const COUNTS: [u8; COUNTED as usize] = {
    let mut counts = [0; COUNTED as usize];
    let mut set = 1;
    while set < counts.len() {
        counts[set] = counts[set >> 1] + (set & 1 == 1) as u8;
        set += 1;
    }
    counts
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_counts_once_however_often_it_is_inserted() {
        let node = NodeId::new(3).expect("3 is below 32");
        let mut set = NodeSet::EMPTY;
        assert!(set.insert(node));
        assert!(!set.insert(node));
        assert_eq!(set.len(), 1);
    }

    #[test]
    fn there_are_at_most_32_nodes() {
        assert_eq!(NodeId::new(32), None);
        assert_eq!(NodeSet::first(99).len(), 32);
    }

    #[test]
    fn a_set_has_as_many_nodes_as_it_lists() {
        for bits in (0..=0x3_ffff).chain([u32::MAX, 1 << 31]) {
            let set = NodeSet(bits);
            assert_eq!(set.len(), set.iter().count(), "{set:?}");
        }
    }

    #[test]
    fn iteration_follows_the_list() {
        let set = NodeSet::first(5).without(NodeSet::first(2));
        assert!(set.iter().map(NodeId::index).eq([2, 3, 4]));
    }
}
