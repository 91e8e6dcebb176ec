//! The nodes of a won vote agreeing on a fencing token.

use crate::{
    attempt::Attempt,
    fence::{FencingToken, Settling},
    node_set::{NodeId, NodeSet},
    outbox::Outbox,
    quorum::{Decision, Quorum},
    request::{Fault, FaultKind, Vote},
    round::Round,
    servers::{ServerId, Servers},
    time::Instant,
};

/// The second round of an attempt: nodes whose counters are below the token are raised to it. Most attempts do not
/// need one, because a quorum has answered the same.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Agreement {
    settling: Settling,
    /// Those that have granted the first round.
    servers: Servers,
    round: Round,
}

impl Agreement {
    /// Begins where the vote of an attempt has been won with counters that are not `settling` the token yet: asks the nodes
    /// below it to raise theirs.
    pub(crate) fn begin(
        now: Instant,
        closes: Instant,
        quorum: Quorum,
        settling: Settling,
        attempt: &mut Attempt,
        outbox: &mut Outbox,
    ) -> Self {
        let step = attempt.next_step();
        let vote = attempt.round.take();
        let mut agreement = Self {
            round: Round::new(quorum, step, now, closes),
            servers: vote.servers().clone(),
            settling,
        };
        for node in agreement.settling.confirmed().iter() {
            agreement.count(node, &Vote::GRANTED);
        }
        for (node, refusal) in vote.refusals() {
            agreement.count(*node, &Vote::Refused(refusal.clone()));
        }
        for (node, fault) in vote.faults() {
            agreement.count(*node, &Vote::Unknown(fault.clone()));
        }
        if agreement.token().is_none() {
            agreement.raise(agreement.settling.below(), attempt, outbox);
        }
        agreement
    }

    /// Takes a node's answer to request number `step`: late votes of the first round count as well.
    pub(crate) fn handle_reply(
        &mut self,
        (node, server): (NodeId, Option<ServerId>),
        step: u32,
        vote: Vote,
        attempt: &Attempt,
        outbox: &mut Outbox,
    ) {
        if step == self.round.step() {
            // A node that was not asked, or has answered, or is doubted since, has nothing to say.
            if !self.settling.below().contains(node) {
                return;
            }
            // Argument S4: a quorum of counters is raised. An address that leads to another server by now may have come to
            // one that stands for the token already.
            let is_another = vote.is_granted() && !self.servers.admit(node, server);
            let vote = match is_another {
                true => Vote::Unknown(Fault::same_node()),
                false => vote,
            };
            if vote.is_granted() {
                self.settling.raised(node);
            } else {
                self.settling.doubted(node);
            }
            return self.count(node, &vote);
        }
        // Argument S7: a second answer of one node is not another node's.
        let has_voted = self.round.tally().answered().contains(node) || self.keys().contains(node);
        if step != Attempt::ACQUIRE_STEP || has_voted {
            return;
        }
        match vote {
            Vote::Granted { .. } if !self.servers.admit(node, server) => {
                self.count(node, &Vote::Unknown(Fault::same_node()));
            }
            Vote::Granted {
                counter: Some(counter),
            } => {
                if self.settling.granted(node, counter) {
                    self.raise(NodeSet::of(node), attempt, outbox);
                } else if self.settling.confirmed().contains(node) {
                    self.count(node, &Vote::GRANTED);
                } else {
                    let beyond = Fault::new(FaultKind::Rejected, "its counter is beyond the token");
                    self.count(node, &Vote::Unknown(beyond));
                }
            }
            vote => self.count(node, &vote),
        }
    }

    /// A node's grant cannot be relied upon, for this reason.
    pub(crate) fn doubt(&mut self, node: NodeId, fault: Fault) {
        self.settling.doubted(node);
        if self.round.tally().granted().contains(node) {
            self.round.doubt(node, fault);
        } else {
            // It was asked to raise its counter: whatever it answers comes to nothing.
            self.count(node, &Vote::Unknown(fault));
        }
    }

    /// Looks at the clock.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.round.handle_timeout(now);
    }

    /// The token, once a quorum stands for it.
    pub(crate) fn token(&self) -> Option<FencingToken> {
        let token = self.settling.settled();
        assert!(
            token.is_some() == (self.round.decision() == Decision::Won),
            "the vote on the token is won by those who stand for it"
        );
        token
    }

    /// The nodes that carry the key, whether they stand for the token already or are asked to.
    pub(crate) const fn keys(&self) -> NodeSet {
        self.settling.confirmed().union(self.settling.below())
    }

    /// The nodes that stand for the token, and carry the key.
    pub(crate) const fn confirmed(&self) -> NodeSet {
        self.settling.confirmed()
    }

    /// The servers that have granted, as far as they are known.
    pub(crate) fn into_servers(self) -> Servers {
        self.servers
    }

    /// How the vote on the token stands.
    pub(crate) fn decision(&self) -> Decision {
        self.round.decision()
    }

    /// When silence becomes an answer.
    pub(crate) const fn closes(&self) -> Instant {
        self.round.closes()
    }

    /// The votes.
    pub(crate) fn into_round(self) -> Round {
        self.round
    }

    fn raise(&self, nodes: NodeSet, attempt: &Attempt, outbox: &mut Outbox) {
        // Argument S4: each only if it still carries our key, or a later owner's counter would be raised to our
        // token.
        let request = attempt.raise(self.settling.token());
        outbox.send(nodes, attempt.tag(self.round.step()), request);
    }

    fn count(&mut self, node: NodeId, vote: &Vote) {
        self.round.handle(node, self.round.step(), vote);
    }
}
