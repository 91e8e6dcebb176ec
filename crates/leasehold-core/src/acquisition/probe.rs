//! One node is asked before the others: all who want the resource meet on it, so that those who come too late cost
//! one request each, and votes are rarely split. No safety depends on it: the vote is the same, begun on one node.

use super::{Acquisition, Ask, Phase, Progress, Rest};
use crate::{
    attempt::Attempt,
    blockers::Blockers,
    failure::{Cause, Ended},
    node_set::{NodeId, NodeSet},
    nodes::Nodes,
    outbox::Outbox,
    quorum::Quorum,
    request::{Fault, FaultKind, Vote},
    round::Round,
    time::Instant,
};
use core::time::Duration;

impl Acquisition {
    /// Which node is asked before the others, if one is.
    pub(super) fn first(&mut self, now: Instant, how: Ask, nodes: &mut Nodes) -> Option<NodeId> {
        let Phase::Resting(rest) = &self.phase else {
            return None;
        };
        if let Some((node, ends)) = rest.leftover {
            nodes.leave_aside(now, &self.resource, node, ends);
        }
        let asks_one_first = self.config.asks_one_first
            && !self.draws_a_ticket()
            && !self.contention.bypass_the_first();
        if how == Ask::All || !asks_one_first {
            return None;
        }
        let is_free = |blockers: &&Blockers| blockers.is_free(now);
        let free = rest.blockers.as_ref().filter(is_free);
        self.stood = free.map_or(NodeSet::EMPTY, Blockers::blocked);
        nodes.first_for(now, &self.resource)
    }

    /// The node that was asked alone has not refused: the others' answers decide.
    pub(super) fn ask_the_others(&mut self, now: Instant, outbox: &mut Outbox) {
        let closes = self.closes(now);
        let state = core::mem::replace(&mut self.phase, Phase::Resting(Rest::NEW));
        self.phase = match state {
            Phase::Probing(mut attempt, first) => {
                attempt.round.put_off(closes);
                let others = self.quorum.nodes().without(NodeSet::of(first));
                outbox.send(others, attempt.tag(Attempt::ACQUIRE_STEP), attempt.first());
                self.asked_all = Some(now);
                Phase::Voting(attempt)
            }
            other => other,
        };
    }

    /// The node that was asked alone has refused. That is certain, so there is nothing to take back.
    pub(super) fn turned_away(&mut self, now: Instant, round: Round) -> Progress {
        debug_assert!(
            round.tally().granted().is_empty(),
            "it was asked alone, and it refused"
        );
        self.learn_place(&round);
        let are_others = self.told_others(&round).next().is_some();
        if self.has_another_slot(now, &round, 0) {
            self.go_on(now, round, Ask::OneFirst);
            return Progress::default();
        }
        let mut rest = self.look_round(now, &round, 0);
        if are_others {
            // The others decide whether they are in the way.
            rest.called = Some((now, Ask::All));
        }
        rest.leftover = self.leftover(now, &round);
        if let (Some((node, _)), Some(blockers)) = (rest.leftover, &mut rest.blockers) {
            let chance = RELEASE_CHANCE.saturating_add(self.jitter(RELEASE_CHANCE));
            blockers.block(now, node, Some(chance));
        }
        self.contention
            .turn_away(now.saturating_since(round.started()));
        let is_done = self.is_done(&round);
        let cause = Cause::of_refusal(round);
        let progress = match is_done {
            true => self.end(now, cause, Ended::Done),
            false => self.fail(now, None, cause),
        };
        self.wait(now, rest, &progress);
        progress
    }

    /// The key that refused, if it stood there before and the way was free all the same, and when it ends.
    ///
    /// Either its release is on its way, or its holder is gone and left it on too few nodes to matter. Who waited for it
    /// alone would wait for its TTL while the others are free.
    fn leftover(&self, now: Instant, round: &Round) -> Option<(NodeId, Instant)> {
        let (node, refusal) = round.refusals().first()?;
        let ends = |left| now.saturating_add(left);
        let ends = refusal.remaining.map_or(Instant::NEVER, ends);
        self.stood.contains(*node).then_some((*node, ends))
    }
}

/// The nodes that were not asked yet have nothing of this attempt, and will not have it.
pub(super) fn skip_others(now: Instant, attempt: &mut Attempt, asked: NodeId, quorum: Quorum) {
    let others = quorum.nodes().without(NodeSet::of(asked));
    for node in others.iter() {
        let unasked = Vote::Unknown(Fault::new(FaultKind::Down, "was not asked"));
        attempt.settle(now, node, Attempt::ACQUIRE_STEP, &unasked);
    }
}

/// How long a node that is asked alone may take until the others are asked as well.
///
/// A node that hangs costs this once: until it answers again, all meet on another. One that always takes longer costs it at
/// each call. One that is only busy must not be taken for either: a caller that asks the others meanwhile divides their votes, what it takes back notifies all waiters, and that keeps the
/// node busy.
pub(super) const PROBE_TIME: Duration = Duration::from_millis(50);

/// How long a release may take to the node that is asked first after it came to others; then that key counts as left
/// behind, and all are asked.
const RELEASE_CHANCE: Duration = Duration::from_millis(5);
