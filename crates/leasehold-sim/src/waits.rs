//! How clients wait, and who tells them of changes.

use crate::rng::{Ppm, Rng};

/// What a seed has drawn of it. Clients and nodes are bits, the first one the lowest.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    /// The clients whose callers wait for each other.
    pub(crate) queues: u32,
    /// The clients that ask one node before the others.
    pub(crate) one_first: u32,
    /// The clients that queue on the nodes.
    pub(crate) fair: u32,
    /// The nodes that tell of changes.
    pub(crate) tells: u32,
    /// How many hints are lost, told twice, or told for no reason.
    pub(crate) lost: Ppm,
    pub(crate) doubles: Ppm,
    pub(crate) spurious: Ppm,
    /// Whether nothing keeps hints from those whom they are for: then nobody needs the clock.
    pub(crate) is_prompt: bool,
    /// How often somebody who queues is overtaken at most, where that can be said.
    pub(crate) most_overtaken: Option<u32>,
    /// For how long whoever has no other limit waits at most, where that can be said.
    pub(crate) longest_ns: Option<u64>,
}

impl Waits {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let some = |rng: &mut Rng| {
            let bits = u32::try_from(rng.below(1 << 32)).expect("below 2^32");
            rng.pick(&[0, ALL, ALL, bits])
        };
        Self {
            queues: some(rng),
            one_first: some(rng),
            fair: 0,
            tells: some(rng),
            lost: rng.pick(&[0, 0, 20_000, 500_000]),
            doubles: rng.pick(&[0, 0, 200_000]),
            spurious: rng.pick(&[0, 0, 20_000, 300_000]),
            is_prompt: false,
            most_overtaken: None,
            longest_ns: None,
        }
    }

    pub(crate) const fn queues(&self, client: usize) -> bool {
        has(self.queues, client)
    }

    pub(crate) const fn asks_one_first(&self, client: usize) -> bool {
        has(self.one_first, client)
    }

    pub(crate) const fn is_fair(&self, client: usize) -> bool {
        has(self.fair, client)
    }

    pub(crate) const fn tells(&self, node: usize) -> bool {
        self.tells & (1 << node) != 0
    }
}

/// Beyond the number of bits it begins anew.
const fn has(bits: u32, client: usize) -> bool {
    bits & (1 << (client % 32)) != 0
}

/// Every client, or every node.
pub(crate) const ALL: u32 = u32::MAX;
