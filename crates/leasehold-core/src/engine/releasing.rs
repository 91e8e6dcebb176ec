//! Taking back what attempts have set, also where a link has no room for it now.

use super::{Engine, held_back::HeldBack};
use crate::{
    claim::Claim,
    node_set::{NodeId, NodeSet},
    operation::Event,
    outbox::Outbox,
    owner::Owner,
    request::{AttemptId, FaultKind, OperationId, Tag, Vote},
    resource::Resource,
    terms::Terms,
    time::Instant,
    withdrawal::{ReleaseOutcome, Report, Withdrawal},
};
use core::time::Duration;

impl Engine {
    /// How many releases are not confirmed by every node yet.
    #[must_use]
    pub fn withdrawals(&self) -> usize {
        self.withdrawals.len()
    }

    /// Whether one of these nodes has not confirmed a release yet.
    #[must_use]
    pub fn owes_release(&self, nodes: NodeSet) -> bool {
        let owes = |withdrawal: &Withdrawal| !withdrawal.owed().intersection(nodes).is_empty();
        self.withdrawals.values().any(owes)
    }

    pub(super) fn release(&mut self, now: Instant, id: OperationId, lease: OperationId) {
        let expired = Event::Released(ReleaseOutcome::AlreadyExpired);
        let Some((resource, ended)) = self.end_lease(now, lease) else {
            let before = self
                .withdrawals
                .find(AttemptId::all_of(lease), Withdrawal::is_release);
            match before {
                Some(attempt) => self.turn_withdrawal(now, attempt, |withdrawal, outbox| {
                    withdrawal.repeat(now, id, outbox);
                }),
                None => self.events.push_back((id, expired)),
            }
            return;
        };
        let (keep, in_time) = (ended.keep, ended.in_time);
        match ended.claim {
            Some(claim) => {
                self.withdraw(now, claim, keep, Some(Report { to: id, in_time }));
            }
            None => self.events.push_back((id, expired)),
        }
        // Behind the release, so that no node refuses it for our own key.
        self.leave(now, &resource, lease);
    }

    pub(super) fn evict(
        &mut self,
        now: Instant,
        id: OperationId,
        resource: Resource,
        owner: Owner,
        terms: Terms,
    ) {
        let attempt = AttemptId::only_of(id);
        let claim = Claim::on_foreign(attempt, resource, owner, terms, self.quorum, now);
        let (to, in_time) = (id, true);
        self.withdraw(now, claim, None, Some(Report { to, in_time }));
    }

    pub(super) fn withdraw(
        &mut self,
        now: Instant,
        claim: Claim,
        keep: Option<Instant>,
        report: Option<Report>,
    ) {
        let (id, quorum) = (claim.id(), self.quorum);
        let withdrawal = Withdrawal::begin(now, claim, quorum, keep, report, &mut self.outbox);
        self.withdrawals.insert(id, withdrawal, None);
        self.turn_withdrawal(now, id, |_, _| ());
    }

    pub(super) fn turn_withdrawal(
        &mut self,
        now: Instant,
        id: AttemptId,
        run: impl FnOnce(&mut Withdrawal, &mut Outbox),
    ) {
        let outbox = &mut self.outbox;
        let ended = self.withdrawals.turn(id, |withdrawal| {
            run(withdrawal, outbox);
            let outcome = withdrawal.take_outcome();
            let is_over = withdrawal.is_over(now);
            let wake_at = withdrawal.wake_at(now).filter(|_| !is_over);
            ((outcome, is_over), wake_at)
        });
        let Some((outcome, is_over)) = ended else {
            return;
        };
        if let Some((waiting, outcome)) = outcome {
            let told = |id| (id, Event::Released(outcome.clone()));
            self.events.extend(waiting.into_iter().map(told));
        }
        if is_over {
            self.withdrawals.remove(id);
            if self.withdrawals.len() == 0 {
                // What still waits in a line is over, and wakes nobody.
                self.held_back = HeldBack::default();
            }
        }
    }

    /// A node has answered a request of an attempt whose keys are taken back.
    pub(super) fn hear_release(&mut self, now: Instant, node: NodeId, tag: Tag, vote: Vote) {
        let id = tag.attempt;
        let is_release = |it: &Withdrawal| it.is_release_step(tag.step);
        let release = self.withdrawals.get(id).filter(|it| is_release(it));
        let has_room = vote_has_room(&vote) && release.is_some();
        let freed = release.filter(|_| vote.is_granted());
        let freed = freed.map(|it| it.resource().clone());
        self.turn_withdrawal(now, id, |withdrawal, outbox| {
            withdrawal.handle_reply(now, node, tag, vote, outbox);
        });
        if let Some(resource) = freed {
            // Nodes do not tell us of what we did ourselves. What the node refused before was heard before (argument S10).
            for other in self.contend.asking(&resource) {
                if other != id.operation {
                    self.hint(now, node, other);
                }
            }
        }
        if self.is_held_back(node, id) {
            self.hold_back(now, node, id);
        } else if has_room {
            self.release_more(now, node);
        }
    }

    fn is_held_back(&self, node: NodeId, id: AttemptId) -> bool {
        let withdrawal = self.withdrawals.get(id);
        withdrawal.is_some_and(|it| it.held_back().contains(node))
    }

    fn hold_back(&mut self, now: Instant, node: NodeId, id: AttemptId) {
        let (most, withdrawals) = (self.quorum.nodes().len(), &self.withdrawals);
        // Those that a hung node has outlived are still in its line.
        let enough = withdrawals.len().saturating_mul(most).saturating_mul(2);
        if self.held_back.len() > enough.saturating_add(1_024) {
            self.held_back.retain(|node, id| {
                let withdrawal = withdrawals.get(id);
                withdrawal.is_some_and(|it| it.held_back().contains(node))
            });
        }
        self.held_back.push(now, node, id, PROBE);
    }

    /// Sends releases for which the node's link had no room.
    pub(super) fn release_more(&mut self, now: Instant, node: NodeId) {
        let mut room = self.held_back.room(node);
        while room > 0
            && let Some(id) = self.held_back.pop(node)
        {
            if self.is_held_back(node, id) {
                self.turn_withdrawal(now, id, |withdrawal, outbox| {
                    withdrawal.ask_held_back(now, node, outbox);
                });
                room = room.saturating_sub(1);
            }
        }
    }
}

/// Whether a link that tells this has room for another request to the node.
const fn vote_has_room(vote: &Vote) -> bool {
    match vote {
        Vote::Granted { .. } | Vote::Refused(_) => true,
        Vote::Unknown(fault) => matches!(fault.kind(), FaultKind::Rejected),
    }
}

/// How long a link that is full is left alone if its node answers nothing.
pub(super) const PROBE: Duration = Duration::from_millis(500);
