//! A Redis Cluster among the nodes: its masters, and the slots that they keep.

use super::facts::{NodeFacts, NodeState};
use leasehold::operate::{ClusterExamination, ShardExamination};
use std::{collections::BTreeSet, ops::RangeInclusive};

/// A Redis Cluster.
#[derive(Clone, Debug)]
pub(crate) struct ClusterFacts {
    /// The slots that were asked about.
    pub(crate) slots: RangeInclusive<u16>,
    pub(crate) masters: Vec<MasterFacts>,
    /// The other address of the list that leads to it, and that has its vote.
    pub(crate) same_as: Option<String>,
}

/// A master of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct MasterFacts {
    /// Those that it keeps.
    pub(crate) slots: Vec<RangeInclusive<u16>>,
    /// A server, or silent.
    pub(crate) node: NodeFacts,
}

impl ClusterFacts {
    pub(super) fn of(cluster: &ClusterExamination) -> Self {
        let master = |master: &ShardExamination| MasterFacts {
            slots: master.slots.clone(),
            node: NodeFacts {
                name: master.address.clone(),
                state: NodeState::of(&master.answer),
            },
        };
        Self {
            slots: cluster.slots.clone(),
            masters: cluster.shards.iter().map(master).collect(),
            same_as: None,
        }
    }

    /// Its masters, as they are shown: with the first of its addresses.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &MasterFacts> {
        let is_first = self.same_as.is_none();
        self.masters.iter().filter(move |_| is_first)
    }

    /// The master that keeps this slot, if one does.
    pub(crate) fn keeper(&self, slot: u16) -> Option<&MasterFacts> {
        let keeps = |master: &&MasterFacts| master.slots.iter().any(|range| range.contains(&slot));
        self.masters.iter().find(keeps)
    }

    /// How many of the slots no master keeps.
    pub(crate) fn unkept(&self) -> usize {
        let is_unkept = |slot: &u16| self.keeper(*slot).is_none();
        self.slots.clone().filter(is_unkept).count()
    }
}

impl MasterFacts {
    /// How many slots it keeps.
    pub(crate) fn size(&self) -> usize {
        self.slots.iter().map(ExactSizeIterator::len).sum()
    }
}

/// The stretches of slots within which each cluster has one master: the first slot of each, and how many it has. One stretch of one
/// slot where no node is a cluster.
pub(super) fn stretches(nodes: &[NodeFacts]) -> Vec<(u16, u16)> {
    let clusters = nodes.iter().filter_map(|node| match &node.state {
        NodeState::Cluster(cluster) => Some(cluster),
        _ => None,
    });
    let (mut starts, mut end) = (BTreeSet::new(), 1);
    for cluster in clusters {
        let (first, last) = (*cluster.slots.start(), *cluster.slots.end());
        starts.insert(first);
        end = last.saturating_add(1);
        let ranges = cluster.masters.iter().flat_map(|master| &master.slots);
        let bounds = ranges.flat_map(|range| [*range.start(), range.end().saturating_add(1)]);
        starts.extend(bounds.filter(|slot| cluster.slots.contains(slot)));
    }
    if starts.is_empty() {
        starts.insert(0);
    }
    let starts: Vec<_> = starts.into_iter().collect();
    let ends = starts.iter().skip(1).copied().chain([end]);
    let size = |(start, end): (&u16, u16)| (*start, end.saturating_sub(*start));
    starts.iter().zip(ends).map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cluster of masters with these slots, of which nobody tells more.
    fn cluster(masters: &[&[RangeInclusive<u16>]]) -> NodeFacts {
        let master = |slots: &&[RangeInclusive<u16>]| MasterFacts {
            slots: slots.to_vec(),
            node: node(NodeState::InProcess),
        };
        node(NodeState::Cluster(ClusterFacts {
            slots: 0..=16_383,
            masters: masters.iter().map(master).collect(),
            same_as: None,
        }))
    }

    fn node(state: NodeState) -> NodeFacts {
        let name = "db".to_owned();
        NodeFacts { name, state }
    }

    #[test]
    fn stretches_are_those_within_which_no_cluster_has_two_masters() {
        assert_eq!(stretches(&[node(NodeState::InProcess)]), [(0, 1)]);
        let whole = cluster(&[&[0..=16_383]]);
        assert_eq!(stretches(std::slice::from_ref(&whole)), [(0, 16_384)]);
        let halves = cluster(&[&[0..=7], &[8..=16_383]]);
        assert_eq!(stretches(&[halves.clone(), whole]), [(0, 8), (8, 16_376)]);
        let gap = cluster(&[&[0..=5, 9..=10], &[11..=16_383]]);
        let both = [(0, 6), (6, 2), (8, 1), (9, 2), (11, 16_373)];
        assert_eq!(stretches(&[halves, gap.clone()]), both);
        let NodeState::Cluster(gap) = gap.state else {
            unreachable!("it is a cluster");
        };
        assert_eq!(gap.unkept(), 3);
        let sizes: Vec<_> = gap.masters.iter().map(MasterFacts::size).collect();
        assert_eq!(sizes, [8, 16_373]);
    }
}
