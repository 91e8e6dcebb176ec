//! One extension on its way.

use crate::{
    node_set::NodeId,
    quorum::Decision,
    request::{Fault, OperationId},
    round::Round,
    steps::Steps,
    time::Instant,
    timing::Timing,
};
use alloc::vec::Vec;
use core::time::Duration;

/// The vote on one extension, and who waits for it.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Extension {
    pub(crate) round: Round,
    pub(crate) timing: Timing,
    pub(crate) callers: Vec<OperationId>,
    /// By how much the clocks of the nodes that granted were set forward since.
    pub(crate) steps: Steps,
}

impl Extension {
    pub(crate) fn new(round: Round, timing: Timing, callers: Vec<OperationId>) -> Self {
        Self {
            round,
            timing,
            callers,
            steps: Steps::default(),
        }
    }

    /// From now on somebody waits for it: for the nodes' time limit, and not for as long as the lease has time.
    pub(crate) fn hurry(&mut self, now: Instant) {
        let soon = now.saturating_add(self.timing.node_limit());
        self.round.put_off(self.round.closes().min(soon));
    }

    /// Whether nobody waits for it, and the nodes that have not confirmed it have said nothing.
    pub(crate) fn only_waits(&self) -> bool {
        let round = &self.round;
        self.callers.is_empty() && round.refusals().is_empty() && round.faults().is_empty()
    }

    /// Whether it is known what has become of it. Argument S6: a key that no quorum carries any more is told of as soon as that is
    /// known, also while other nodes are down. For that the others are heard, for their time limit.
    pub(crate) fn is_decided(&mut self, now: Instant) -> bool {
        if self.round.may_be_refused() {
            self.hurry(now);
            return false;
        }
        self.round.decision() != Decision::Pending
    }

    /// Another server is this node from now on.
    pub(crate) fn replaced(&mut self, node: NodeId) {
        self.round.doubt(node, Fault::replaced());
    }

    /// A node's clock was set forward by `step`: what it has granted may end before its time.
    pub(crate) fn set_forward(&mut self, node: NodeId, step: Duration) {
        if !self.round.tally().granted().contains(node) {
            return;
        }
        let all = self.steps.add(node, step);
        if !self.timing.cut_by(all).is_zero() {
            self.round.doubt(node, Fault::stepped(all));
        }
    }
}
