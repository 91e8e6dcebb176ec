//! Keys that a lease has lost and gets again.

use crate::{
    claim::Claim,
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
    pub(crate) fn send(&mut self, now: Instant, valid: bool, claim: &mut Claim, out: &mut Outbox) {
        // Another address of a server is given no key: the server gets it by the one under which it has voted.
        let missing = self.missing.without(claim.twins());
        // Argument S5: what is over sets no keys, even if nobody has noticed yet that it is over.
        if !self.is_due || missing.is_empty() || !valid {
            return;
        }
        self.missing = NodeSet::EMPTY;
        let step = claim.next_step();
        claim.repaired_at(now, step, missing);
        out.send(missing, claim.tag(step), claim.repair());
    }
}
