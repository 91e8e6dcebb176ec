//! One vote with a deadline.

use crate::{
    fence::FencingToken,
    few::Few,
    node_set::NodeId,
    quorum::{Ballot, Decision, Quorum, Tally},
    request::{Fault, FaultKind, Refusal, Vote},
    servers::{ServerId, Servers},
    time::Instant,
};
use alloc::vec::Vec;

/// One vote: every node is asked the same, each answers once, and at the deadline silence is an answer.
#[derive(Clone, Debug, Hash)]
pub struct Round {
    quorum: Quorum,
    step: u32,
    started: Instant,
    closes: Instant,
    tally: Tally,
    counters: Few<(NodeId, FencingToken)>,
    /// Those that have granted.
    servers: Servers,
    refusals: Vec<(NodeId, Refusal)>,
    faults: Vec<(NodeId, Fault)>,
}

impl Round {
    /// A vote whose first request leaves at `started` or later, and that is decided at `closes`.
    #[must_use]
    pub fn new(quorum: Quorum, step: u32, started: Instant, closes: Instant) -> Self {
        let (refusals, faults) = (Vec::new(), Vec::new());
        Self {
            quorum,
            step,
            started,
            closes,
            tally: Tally::EMPTY,
            counters: Few::NONE,
            servers: Servers::NONE,
            refusals,
            faults,
        }
    }

    /// Another vote in the place of this one, of which nothing is left.
    pub(crate) fn reopen(&mut self, step: u32, started: Instant, closes: Instant) {
        (self.step, self.started, self.closes) = (step, started, closes);
        self.tally = Tally::EMPTY;
        self.counters.clear();
        self.servers.clear();
        self.refusals.clear();
        self.faults.clear();
    }

    /// Takes this vote away, for what it tells.
    pub(crate) fn take(&mut self) -> Self {
        let (step, started, closes) = (self.step, self.started, self.closes);
        core::mem::replace(self, Self::new(self.quorum, step, started, closes))
    }

    /// As [`handle`](Self::handle), if it is known which server has answered: a server that is asked under two addresses
    /// has one vote.
    #[inline]
    pub(crate) fn handle_from(
        &mut self,
        node: NodeId,
        step: u32,
        vote: &Vote,
        server: Option<ServerId>,
    ) {
        match vote {
            Vote::Granted { counter } if step == self.step => {
                if self.servers.admit(node, server) {
                    self.grant(node, *counter);
                } else {
                    self.handle(node, step, &Vote::Unknown(Fault::same_node()));
                }
            }
            _ => self.handle(node, step, vote),
        }
    }

    #[inline]
    fn grant(&mut self, node: NodeId, counter: Option<FencingToken>) {
        if self.tally.count(node, Ballot::Granted)
            && let Some(counter) = counter
        {
            self.counters.push((node, counter));
        }
    }

    /// Counts a node's answer to request number `step`. Answers to other requests, and a node's second
    /// answer, change nothing.
    #[inline]
    pub fn handle(&mut self, node: NodeId, step: u32, vote: &Vote) {
        if step != self.step {
            return;
        }
        match vote {
            Vote::Granted { counter } => self.grant(node, *counter),
            Vote::Refused(_) | Vote::Unknown(_) => self.keep_reason(node, vote),
        }
    }

    #[inline(never)]
    fn keep_reason(&mut self, node: NodeId, vote: &Vote) {
        match vote {
            Vote::Granted { .. } => {}
            Vote::Refused(refusal) => {
                if self.tally.count(node, Ballot::Refused) {
                    self.refusals.push((node, refusal.clone()));
                }
            }
            Vote::Unknown(fault) => {
                if self.tally.count(node, Ballot::Unknown) {
                    self.faults.push((node, fault.clone()));
                }
            }
        }
    }

    /// Takes back a node's grant, for this reason: what it granted ends before its time.
    pub fn doubt(&mut self, node: NodeId, fault: Fault) {
        if self.tally.doubt(node) {
            self.counters.retain(|(other, _)| *other != node);
            self.faults.push((node, fault));
        }
    }

    /// Counts every node that has not answered by its deadline as unknown. Before the deadline nothing
    /// happens.
    pub fn handle_timeout(&mut self, now: Instant) {
        if now < self.closes {
            return;
        }
        let limit = self.closes.saturating_since(self.started);
        for node in self.quorum.nodes().without(self.tally.answered()).iter() {
            self.handle(node, self.step, &Vote::Unknown(Fault::silent(limit)));
        }
    }

    /// Gives the nodes more time, because some of them were not asked at once.
    pub const fn put_off(&mut self, closes: Instant) {
        self.closes = closes;
    }

    /// How the vote stands.
    #[must_use]
    pub fn decision(&self) -> Decision {
        self.tally.decision(self.quorum)
    }

    /// Whether it is lost, and the nodes that have not answered may still show that the configuration alone is in the way:
    /// the caller can mend that, whatever else is wrong, and no further try would help.
    pub(crate) fn may_disagree(&self) -> bool {
        let disagrees = |(_, fault): &&(NodeId, Fault)| fault.kind() == FaultKind::Disagrees;
        let disagree = self.faults.iter().filter(disagrees).count();
        let missing = self.quorum.nodes().without(self.tally.answered()).len();
        let spare = self.quorum.spare();
        self.decision() == Decision::Lost
            && (1..=spare).contains(&disagree)
            && disagree.saturating_add(missing) > spare
    }

    /// Whether it is lost, and the nodes that have not answered may still show that more have refused than can be spared. With
    /// others that are down, the first refusals decide that it is lost, and not why.
    pub(crate) fn may_be_refused(&self) -> bool {
        let (refused, spare) = (self.tally.refused().len(), self.quorum.spare());
        let missing = self.quorum.nodes().without(self.tally.answered()).len();
        self.decision() == Decision::Lost
            && (1..=spare).contains(&refused)
            && refused.saturating_add(missing) > spare
    }

    /// When silence becomes an answer.
    #[must_use]
    pub const fn closes(&self) -> Instant {
        self.closes
    }

    /// Before any request of this vote left.
    #[must_use]
    pub const fn started(&self) -> Instant {
        self.started
    }

    /// The number of the request that is voted on.
    #[must_use]
    pub const fn step(&self) -> u32 {
        self.step
    }

    /// The votes so far.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The counters that the nodes that said yes told.
    #[must_use]
    pub fn counters(&self) -> &[(NodeId, FencingToken)] {
        self.counters.as_slice()
    }

    /// The servers that said yes, as far as they are known.
    pub(crate) const fn servers(&self) -> &Servers {
        &self.servers
    }

    /// These said yes at last, if it took more than this vote.
    pub(crate) fn was_won_by(&mut self, servers: Servers) {
        self.servers = servers;
    }

    /// The same, of a vote that is over.
    pub(crate) fn take_servers(&mut self) -> Servers {
        core::mem::replace(&mut self.servers, Servers::NONE)
    }

    /// What the nodes that said no told about the key.
    #[must_use]
    pub fn refusals(&self) -> &[(NodeId, Refusal)] {
        &self.refusals
    }

    /// Why the votes of some nodes are not known.
    #[must_use]
    pub fn faults(&self) -> &[(NodeId, Fault)] {
        &self.faults
    }

    /// Takes the reasons out of a vote that is over.
    #[must_use]
    pub fn into_faults(self) -> Vec<(NodeId, Fault)> {
        self.faults
    }
}
