//! Keys that a lease has lost and gets again.

use crate::{
    attempt::Attempt,
    node_set::{NodeId, NodeSet},
    outbox::Outbox,
    request::{Refusal, Vote},
    time::Instant,
};

/// The nodes that lost the key, as the last extension found them.
///
/// They are given the key again once the others have confirmed the lease: so a long lease stands on all nodes, not
/// on the last quorum. Such a key counts from the next extension on.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Repair {
    /// The request of that extension.
    step: u32,
    missing: NodeSet,
    /// Whether a quorum confirmed the lease, so that the others may be given the key again.
    is_due: bool,
    given: Given,
}

/// To whom the key was given again after that extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Given {
    #[default]
    Nobody,
    /// To nodes that had set it themselves.
    Voters,
    /// To one node that may be another address of a server that has set it.
    Stranger,
}

impl Repair {
    /// What extension number `step` will find.
    pub(crate) fn of(step: u32) -> Self {
        Self {
            step,
            ..Self::default()
        }
    }

    /// Takes a node's answer to request number `step`.
    pub(crate) fn handle_reply(&mut self, node: NodeId, step: u32, vote: &Vote) {
        if step == self.step && *vote == Vote::Refused(Refusal::default()) {
            self.missing.insert(node);
        }
    }

    /// A quorum has confirmed the lease.
    pub(crate) fn confirmed(&mut self) {
        self.is_due = true;
    }

    /// Sends the key to the nodes that are known to have lost it, if the lease is `valid`.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        valid: bool,
        attempt: &mut Attempt,
        out: &mut Outbox,
    ) {
        if self.missing.is_empty() {
            return;
        }
        // Another address of a server is given no key: the server gets it by the one under which it has voted.
        let missing = self.missing.without(attempt.twins());
        let voters = missing.without(attempt.strangers());
        // Argument S7: a repair that finds our key is granted, by whichever address that was set. So what may be another
        // address is given the key alone: had another been given it, the next extension would find it here as well.
        let nodes = match self.given {
            Given::Nobody if voters.is_empty() => missing.iter().take(1).collect(),
            Given::Nobody | Given::Voters => voters,
            Given::Stranger => NodeSet::EMPTY,
        };
        // Argument S5: what is over sets no keys, even if nobody has noticed yet that it is over.
        if !self.is_due || nodes.is_empty() || !valid {
            return;
        }
        self.given = if voters.is_empty() {
            Given::Stranger
        } else {
            Given::Voters
        };
        self.missing = self.missing.without(nodes);
        let step = attempt.next_step();
        attempt.repaired_at(now, step, nodes);
        out.send(nodes, attempt.tag(step), attempt.repair());
    }
}
