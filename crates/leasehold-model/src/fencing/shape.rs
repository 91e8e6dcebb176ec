//! What is modelled: how many nodes and attempts, what they propose, what vanishes, and what is left out.

mod broken;
mod lawful;

use super::{flaw::Flaw, news::News};
use leasehold_core::{FencingToken, NodeId, Quorum, fence::Grants};
use std::ops::RangeInclusive;

/// One world in all its courses.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) nodes: usize,
    pub(crate) attempts: usize,
    pub(crate) proposals: RangeInclusive<u64>,
    pub(crate) budget: Budget,
    pub(crate) way: Way,
    pub(crate) law: Law,
}

/// How often something may still happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// Keys that vanish.
    pub(crate) vanishings: u8,
    /// Requests that are carried out twice.
    pub(crate) doubles: u8,
    /// Nodes that lose their counters.
    pub(crate) losses: u8,
}

/// How tokens are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As the core makes them.
    AsBuilt,
    /// The largest counter is used at once, whatever the other nodes have.
    NoSecondRound,
    /// A node raises its counter, also if the key is another's.
    RaisesAnybody,
    /// The token is the q-th largest of the counters: q nodes have reached it, so that it is used at once.
    Median,
    /// The token is the proposal.
    TimeAlone,
    /// The counter is part of the key, and ends with it.
    CounterInKey,
    /// A node that is beyond the token stands for it as well.
    CountsBeyond,
}

/// What must come of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Law {
    /// Nothing may break, and all of this must happen.
    Kept(&'static [News]),
    /// This must break, or the checker is blind.
    Broken(Flaw),
}

impl Shape {
    /// Those that run without being asked for by name, the large ones only if `large`.
    pub(crate) fn usual(large: bool) -> Vec<&'static Self> {
        let small = lawful::SMALL.iter().chain(&broken::CONTROLS);
        let large = lawful::LARGE.iter().filter(|_| large);
        small.chain(large).collect()
    }

    pub(crate) fn quorum(&self) -> Quorum {
        Quorum::majority(self.nodes).expect("there are nodes")
    }
}

impl Way {
    /// What a client takes the counters for that it was told.
    pub(crate) fn taken_for(
        self,
        quorum: Quorum,
        proposal: FencingToken,
        grants: &[(NodeId, FencingToken)],
    ) -> Grants {
        let mut counters: Vec<FencingToken> = grants.iter().map(|(_, counter)| *counter).collect();
        counters.sort_unstable_by(|one, other| other.cmp(one));
        let taken = |counter: FencingToken| match self {
            Self::AsBuilt | Self::RaisesAnybody | Self::CounterInKey | Self::CountsBeyond => {
                counter
            }
            Self::NoSecondRound => counters[0],
            Self::Median => counters[(quorum.needed() - 1).min(counters.len() - 1)],
            Self::TimeAlone => proposal,
        };
        let taken = grants
            .iter()
            .map(|(node, counter)| (*node, taken(*counter)));
        taken.collect()
    }
}
