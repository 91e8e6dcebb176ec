//! What happens to a lease between acquire and release.

use crate::{
    claim::Claim,
    failure::ExtendFailure,
    lease::Lease,
    node_set::NodeId,
    outbox::Outbox,
    quorum::{Decision, Quorum},
    request::{OperationId, Tag, Vote},
    round::Round,
    time::Instant,
};
use alloc::{vec, vec::Vec};

/// A lease in somebody's hands, and its extensions.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Renewal {
    lease: Lease,
    claim: Claim,
    quorum: Quorum,
    extension: Option<Extension>,
}

#[derive(Clone, Debug, Hash)]
struct Extension {
    round: Round,
    callers: Vec<OperationId>,
}

/// The result of an extension and those who wait for it.
#[derive(Debug)]
pub(crate) struct Extended {
    pub(crate) callers: Vec<OperationId>,
    pub(crate) result: Result<Instant, ExtendFailure>,
}

/// What a lease leaves behind.
#[derive(Debug)]
pub(crate) struct Ended {
    /// What may stand on the nodes.
    pub(crate) claim: Claim,
    /// Whether the lease was valid to the end.
    pub(crate) in_time: bool,
    /// Those who still waited for an extension.
    pub(crate) extended: Option<Extended>,
}

impl Renewal {
    pub(crate) const fn new(lease: Lease, claim: Claim, quorum: Quorum) -> Self {
        Self {
            lease,
            claim,
            quorum,
            extension: None,
        }
    }

    /// Asks every node to let the key live on. A caller who comes while an extension is under way
    /// shares its result.
    pub(crate) fn extend(
        &mut self,
        now: Instant,
        caller: OperationId,
        outbox: &mut Outbox,
    ) -> Option<Extended> {
        if !self.lease.is_valid(now) {
            return Some(Extended {
                callers: vec![caller],
                result: Err(ExtendFailure::Lost),
            });
        }
        if let Some(extension) = &mut self.extension {
            extension.callers.push(caller);
            return None;
        }
        let step = self.claim.next_step();
        // What comes after the lease's end does not count, so there is no use in waiting for it.
        let closes = now
            .saturating_add(self.claim.terms().node_limit())
            .min(self.lease.valid_until);
        let round = Round::new(self.quorum, step, now, closes);
        outbox.send(
            self.quorum.nodes(),
            self.claim.tag(step),
            self.claim.extend(),
        );
        self.claim.extended_at(now, step);
        self.extension = Some(Extension {
            round,
            callers: vec![caller],
        });
        None
    }

    /// Takes a node's answer.
    pub(crate) fn handle_reply(
        &mut self,
        now: Instant,
        node: NodeId,
        tag: Tag,
        vote: Vote,
    ) -> Option<Extended> {
        self.claim.settle(now, node, tag.step, &vote);
        // The round counts the answers to its own request only.
        self.extension.as_mut()?.round.handle(node, tag.step, vote);
        self.decide(now)
    }

    /// Looks at the clock.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Option<Extended> {
        self.extension.as_mut()?.round.handle_timeout(now);
        self.decide(now)
    }

    /// The end of the lease.
    pub(crate) fn end(self, now: Instant) -> Ended {
        let extended = self.extension.map(|extension| Extended {
            callers: extension.callers,
            result: Err(ExtendFailure::Released),
        });
        Ended {
            in_time: self.lease.is_valid(now),
            claim: self.claim,
            extended,
        }
    }

    /// When to look at the clock again.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.extension
            .as_ref()
            .map(|extension| extension.round.closes())
    }

    fn decide(&mut self, now: Instant) -> Option<Extended> {
        let decision = self.extension.as_ref()?.round.decision();
        if decision == Decision::Pending {
            return None;
        }
        let Extension { round, callers } = self.extension.take()?;
        let result = match decision {
            // Argument S6: past the old deadline the lease is lost for good, even if every key is still
            // there, since somebody may have been told so.
            _ if !self.lease.is_valid(now) => Err(ExtendFailure::Lost),
            Decision::Won => {
                assert!(
                    round.tally().granted().len() >= self.quorum.needed(),
                    "an extended lease stands on a quorum of distinct nodes"
                );
                // Argument S7: validity counts from before this round's first request, for the TTL
                // that this round set.
                self.lease.valid_until = self.claim.terms().valid_until(round.started());
                Ok(self.lease.valid_until)
            }
            Decision::Pending | Decision::Lost => Err(ExtendFailure::of_lost(self.quorum, round)),
        };
        Some(Extended { callers, result })
    }
}
