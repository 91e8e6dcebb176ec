//! The keys that a lease stands on.

use crate::{
    node_set::{NodeId, NodeSet},
    quorum::Quorum,
    servers::{ServerId, Servers},
    steps::Steps,
    time::Instant,
    timing::Timing,
};
use alloc::vec::Vec;
use core::time::Duration;

/// The nodes that have confirmed a lease, and by how much their clocks were set forward since.
#[derive(Clone, Debug, Hash)]
pub(crate) struct ConfirmedNodes {
    /// The request that they have confirmed.
    step: u32,
    nodes: NodeSet,
    /// Which servers they are, as far as that is known.
    servers: Servers,
    /// Until when the lease is valid if no clock is set.
    until: Instant,
    steps: Steps,
}

impl ConfirmedNodes {
    pub(crate) const fn new(step: u32, nodes: NodeSet, until: Instant, steps: Steps) -> Self {
        Self {
            step,
            nodes,
            servers: Servers::NONE,
            until,
            steps,
        }
    }

    /// The same, of nodes that are known to be these servers.
    pub(crate) fn of(self, servers: Servers) -> Self {
        Self { servers, ..self }
    }

    /// The nodes that carry its key, as far as is known.
    pub(crate) const fn nodes(&self) -> NodeSet {
        self.nodes
    }

    /// One more node has confirmed request number `step`: a server that has done so as another node is none.
    pub(crate) fn confirm(&mut self, node: NodeId, step: u32, server: Option<ServerId>) {
        if step == self.step && self.servers.admit(node, server) {
            self.nodes.insert(node);
        }
    }

    /// The clock of this node was set forward once more.
    pub(crate) fn set_forward(&mut self, node: NodeId, step: Duration) {
        // A key that is set later counts by the clock as it is then.
        if self.nodes.contains(node) {
            self.steps.add(node, step);
        }
    }

    /// Until when a quorum of the keys lives.
    pub(crate) fn valid_until(&self, quorum: Quorum, timing: &Timing) -> Instant {
        // Argument S2 holds by the node's clock: so much of the key's time is gone.
        let cut = |node: NodeId| timing.cut_by(self.steps.of(node));
        let mut cuts: Vec<_> = self.nodes.iter().map(cut).collect();
        cuts.sort_unstable();
        // The quorum that lasts longest is as strong as its weakest member.
        let weakest = quorum.needed().checked_sub(1).and_then(|at| cuts.get(at));
        self.until
            .saturating_sub(weakest.copied().unwrap_or(Duration::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{Drift, Ttl};

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn timing(margin: u64) -> Timing {
        Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None)
            .and_then(|timing| timing.with_step_margin(Duration::from_millis(margin)))
            .expect("they fit")
    }

    #[test]
    fn a_lease_stands_as_long_as_the_quorum_that_lasts_longest() {
        let quorum = Quorum::majority(3).expect("three nodes");
        let [a, b, c] = [0, 1, 2].map(|index| NodeId::new(index).expect("below 32"));
        let two = NodeSet::from_iter([a, b]);
        let mut confirmed = ConfirmedNodes::new(1, two, at(10_000), Steps::default());
        let until = |confirmed: &ConfirmedNodes| confirmed.valid_until(quorum, &timing(0));
        assert_eq!(until(&confirmed), at(10_000));
        confirmed.set_forward(a, Duration::from_millis(300));
        confirmed.set_forward(a, Duration::from_millis(700));
        confirmed.set_forward(c, Duration::from_millis(9_000));
        assert_eq!(until(&confirmed), at(9_000));
        for another in [0, 2] {
            confirmed.confirm(c, another, None);
            assert_eq!(until(&confirmed), at(9_000), "request {another}");
        }
        confirmed.confirm(c, 1, None);
        assert_eq!(until(&confirmed), at(10_000));
        confirmed.set_forward(b, Duration::from_millis(400));
        assert_eq!(until(&confirmed), at(9_600));
    }

    #[test]
    fn a_server_stands_for_itself_once() {
        let quorum = Quorum::majority(3).expect("three nodes");
        let [a, b, c] = [0, 1, 2].map(|index| NodeId::new(index).expect("below 32"));
        let two = NodeSet::from_iter([a, c]);
        let one = Some(ServerId::new(1));
        let mut servers = Servers::NONE;
        assert!(servers.admit(a, one) && servers.admit(c, Some(ServerId::new(2))));
        let mut confirmed = ConfirmedNodes::new(0, two, at(10_000), Steps::default()).of(servers);
        confirmed.set_forward(c, Duration::from_millis(700));
        confirmed.confirm(b, 0, one);
        assert_eq!(confirmed.valid_until(quorum, &timing(0)), at(9_300));
    }

    #[test]
    fn a_margin_covers_the_sum_of_the_steps_and_not_each_of_them() {
        let quorum = Quorum::majority(1).expect("one node");
        let node = NodeId::new(0).expect("below 32");
        let all = NodeSet::from_iter([node]);
        let mut confirmed = ConfirmedNodes::new(0, all, at(10_000), Steps::default());
        confirmed.set_forward(node, Duration::from_millis(200));
        assert_eq!(confirmed.valid_until(quorum, &timing(300)), at(10_000));
        confirmed.set_forward(node, Duration::from_millis(200));
        assert_eq!(confirmed.valid_until(quorum, &timing(300)), at(9_900));
    }
}
