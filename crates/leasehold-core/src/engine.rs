//! Everything that a manager is doing, as one state machine.
//!
//! Operations go in, requests come out; answers go in, events come out. The engine routes: an answer's
//! tag names the attempt that it belongs to, and an attempt is with exactly one machine at any time,
//! first with its acquisition, then, if it won, with a renewal, at last with a withdrawal. What belongs
//! to no machine any more is too late to matter.
//!
//! Timers only wake: whether time is up is decided by the machines, from the `now` that they are given.

use crate::{
    acquisition::{Acquisition, Outcome, Turn},
    claim::Claim,
    failure::ExtendFailure,
    inquiry::Inquiry,
    node_clock::{ClockStep, Reading},
    node_set::NodeId,
    nodes::Nodes,
    operation::{Event, LinkChange, Operation},
    outbox::{Outbox, Send},
    owner::{Owner, Seed},
    quorum::Quorum,
    renewal::{self, Ended, Renewal},
    request::{AttemptId, OperationId, Request, Tag, Vote},
    resource::Resource,
    terms::{Drift, Terms, Ttl},
    time::Instant,
    timers::Timers,
    withdrawal::{ReleaseOutcome, Report, Withdrawal},
};
use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use core::time::Duration;

/// All that a manager is doing. After every call that begins with `submit` or `handle`, poll until
/// there is nothing left.
#[derive(Clone, Debug, Hash)]
pub struct Engine {
    quorum: Quorum,
    /// What the wall clock shows at the clock's origin.
    epoch: Duration,
    /// By how much clocks may drift apart, as the plans have it.
    drift: Drift,
    nodes: Nodes,
    operations: u64,
    acquisitions: BTreeMap<OperationId, Acquisition>,
    renewals: BTreeMap<AttemptId, Renewal>,
    withdrawals: BTreeMap<AttemptId, Withdrawal>,
    inquiries: BTreeMap<OperationId, Inquiry>,
    /// Which attempt won the acquisition.
    winners: BTreeMap<OperationId, AttemptId>,
    /// And which of these are being released.
    released: BTreeMap<OperationId, AttemptId>,
    timers: Timers<Machine>,
    outbox: Outbox,
    events: VecDeque<(OperationId, Event)>,
}

/// Whose timer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Machine {
    Acquisition(OperationId),
    Renewal(AttemptId),
    Withdrawal(AttemptId),
    Inquiry(OperationId),
}

impl Engine {
    /// An engine with nothing to do.
    #[must_use]
    pub fn new(quorum: Quorum) -> Self {
        Self {
            quorum,
            epoch: Duration::ZERO,
            drift: Drift::DEFAULT,
            nodes: Nodes::new(quorum.nodes()),
            operations: 0,
            acquisitions: BTreeMap::new(),
            renewals: BTreeMap::new(),
            withdrawals: BTreeMap::new(),
            inquiries: BTreeMap::new(),
            winners: BTreeMap::new(),
            released: BTreeMap::new(),
            timers: Timers::default(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
        }
    }

    /// Tells what the wall clock shows at the origin of the clock, from which fencing tokens are proposed. No
    /// safety depends on it.
    pub const fn set_epoch(&mut self, epoch: Duration) {
        self.epoch = epoch;
    }

    /// Begins an operation at `now`, read before anything is sent for it. `seed` must be fresh.
    pub fn submit(&mut self, now: Instant, seed: Seed, operation: Operation) -> OperationId {
        let id = OperationId::new(self.operations);
        self.operations = self.operations.saturating_add(1);
        match operation {
            Operation::Acquire(wish) => {
                self.drift = self.drift.or_wider(wish.plan.terms.drift());
                let mut acquisition = Acquisition::new(now, id, wish, self.quorum, seed);
                let turn = acquisition.handle_timeout(now, self.epoch, &mut self.outbox);
                self.acquisitions.insert(id, acquisition);
                self.after_turn(now, id, turn);
            }
            Operation::Extend { lease, ttl } => self.extend(now, id, lease, ttl),
            Operation::Heartbeat(lease) => self.heartbeat(now, lease),
            Operation::Release(lease) => self.release(now, id, lease),
            Operation::HandOver(lease) => self.hand_over(now, id, lease),
            Operation::Inspect { resource, limit } => self.inspect(now, id, resource, limit),
            Operation::Evict {
                resource,
                owner,
                terms,
            } => self.evict(now, id, resource, owner, terms),
            Operation::Cancel(acquisition) => self.cancel(now, acquisition),
        }
        id
    }

    /// Takes a node's answer.
    pub fn handle_reply(&mut self, now: Instant, node: NodeId, tag: Tag, vote: Vote) {
        if !self.quorum.nodes().contains(node) {
            return;
        }
        let attempt = tag.attempt;
        if let Some(withdrawal) = self.withdrawals.get_mut(&attempt) {
            withdrawal.handle_reply(now, node, tag, vote, &mut self.outbox);
            return self.after_withdrawal(now, attempt);
        }
        let vote = self.nodes.counted(node, vote);
        if let Some(renewal) = self.renewals.get_mut(&attempt) {
            let turn = renewal.handle_reply(now, node, tag, vote, &mut self.outbox);
            self.after_renewal(attempt, turn);
        } else if let Some(acquisition) = self.acquisitions.get_mut(&attempt.operation) {
            let turn = acquisition.handle_reply(now, node, tag, vote, &mut self.outbox);
            self.after_turn(now, attempt.operation, turn);
        } else if let Some(inquiry) = self.inquiries.get_mut(&attempt.operation) {
            inquiry.handle_reply(node, vote);
            self.after_inquiry(now, attempt.operation);
        }
    }

    /// Takes note of what a node's clock showed. Says whether it has been set since the last time.
    pub fn handle_clock(
        &mut self,
        now: Instant,
        node: NodeId,
        reading: Reading,
    ) -> Option<ClockStep> {
        let step = self.nodes.read(now, node, reading, self.drift);
        if let Some(ClockStep::Forward(step)) = step {
            self.set_forward(now, node, step);
        }
        step
    }

    /// Takes note that a connection came or went.
    pub fn handle_link(&mut self, now: Instant, node: NodeId, change: LinkChange) {
        match change {
            LinkChange::Up(identity) => {
                self.nodes.meet(node, identity);
                for withdrawal in self.withdrawals.values_mut() {
                    withdrawal.handle_up(now, node, &mut self.outbox);
                }
                for (id, renewal) in &mut self.renewals {
                    renewal.handle_up(now);
                    self.timers.set(Machine::Renewal(*id), renewal.wake_at());
                }
            }
            // The link has answered every request that was lost; those answers say all there is. Another server may
            // have the identity now.
            LinkChange::Down => self.nodes.meet(node, None),
        }
    }

    /// Looks at the clock.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(machine) = self.timers.take_due(now) {
            match machine {
                Machine::Acquisition(id) => {
                    if let Some(acquisition) = self.acquisitions.get_mut(&id) {
                        let turn = acquisition.handle_timeout(now, self.epoch, &mut self.outbox);
                        self.after_turn(now, id, turn);
                    }
                }
                Machine::Renewal(id) => {
                    if let Some(renewal) = self.renewals.get_mut(&id) {
                        let turn = renewal.handle_timeout(now, &mut self.outbox);
                        self.after_renewal(id, turn);
                    }
                }
                Machine::Withdrawal(id) => {
                    if let Some(withdrawal) = self.withdrawals.get_mut(&id) {
                        withdrawal.handle_timeout(now, &mut self.outbox);
                        self.after_withdrawal(now, id);
                    }
                }
                Machine::Inquiry(id) => self.after_inquiry(now, id),
            }
        }
    }

    /// What to ask of which nodes. The order must be kept for each node.
    pub fn poll_send(&mut self) -> Option<Send> {
        self.outbox.take()
    }

    /// Which operation has ended, and how.
    pub fn poll_event(&mut self) -> Option<(OperationId, Event)> {
        self.events.pop_front()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// How many releases are not confirmed by every node yet.
    #[must_use]
    pub fn withdrawals(&self) -> usize {
        self.withdrawals.len()
    }

    /// How many releases are still worth waiting for: answers are missing, and the nodes' time limit is
    /// not over.
    #[must_use]
    pub fn awaited_withdrawals(&self, now: Instant) -> usize {
        self.withdrawals
            .values()
            .filter(|withdrawal| withdrawal.is_awaited(now))
            .count()
    }

    /// A node's clock was set forward: what it has granted ends before its time.
    fn set_forward(&mut self, now: Instant, node: NodeId, step: Duration) {
        let acquisitions: Vec<_> = self.acquisitions.keys().copied().collect();
        for id in acquisitions {
            if let Some(acquisition) = self.acquisitions.get_mut(&id) {
                let turn = acquisition.handle_step(now, node, step, &mut self.outbox);
                self.after_turn(now, id, turn);
            }
        }
        let attempts: Vec<_> = self.renewals.keys().copied().collect();
        for attempt in attempts {
            if let Some(renewal) = self.renewals.get_mut(&attempt) {
                let turn = renewal.handle_step(now, node, step, &mut self.outbox);
                self.after_renewal(attempt, turn);
            }
        }
    }

    fn extend(&mut self, now: Instant, id: OperationId, lease: OperationId, ttl: Option<Ttl>) {
        let Some(attempt) = self.winners.get(&lease).copied() else {
            self.events
                .push_back((id, Event::NotExtended(ExtendFailure::Released)));
            return;
        };
        let renewal = self
            .renewals
            .get_mut(&attempt)
            .expect("a winner's lease has a renewal");
        let turn = renewal.extend(now, id, ttl, &mut self.outbox);
        self.after_renewal(attempt, turn);
    }

    fn heartbeat(&mut self, now: Instant, lease: OperationId) {
        let attempt = self.winners.get(&lease);
        if let Some((id, renewal)) = attempt.and_then(|id| Some((*id, self.renewals.get_mut(id)?)))
        {
            renewal.heartbeat(now);
            self.timers.set(Machine::Renewal(id), renewal.wake_at());
        }
    }

    fn release(&mut self, now: Instant, id: OperationId, lease: OperationId) {
        if let Some(attempt) = self.released.get(&lease).copied() {
            if let Some(withdrawal) = self.withdrawals.get_mut(&attempt) {
                withdrawal.repeat(now, id, &mut self.outbox);
            }
            return self.after_withdrawal(now, attempt);
        }
        let ended = self.end_lease(now, lease);
        let Some((claim, keep, in_time)) =
            ended.and_then(|ended| Some((ended.claim?, ended.keep, ended.in_time)))
        else {
            let expired = Event::Released(ReleaseOutcome::AlreadyExpired);
            return self.events.push_back((id, expired));
        };
        self.released.insert(lease, claim.id());
        self.withdraw(now, claim, keep, Some(Report { to: id, in_time }));
    }

    fn hand_over(&mut self, now: Instant, id: OperationId, lease: OperationId) {
        let ended = self.end_lease(now, lease);
        let in_time = ended.as_ref().is_some_and(|ended| ended.in_time);
        self.events.push_back((id, Event::HandedOver(in_time)));
        // What was lost is nobody's to take over.
        if let Some(claim) = ended.and_then(|ended| ended.claim).filter(|_| !in_time) {
            self.withdraw(now, claim, None, None);
        }
    }

    /// Takes the lease out of the holder's hands.
    fn end_lease(&mut self, now: Instant, lease: OperationId) -> Option<Ended> {
        let attempt = self.winners.remove(&lease)?;
        self.timers.clear(Machine::Renewal(attempt));
        let renewal = self
            .renewals
            .remove(&attempt)
            .expect("a winner's lease has a renewal");
        let mut ended = renewal.end(now);
        let turn = core::mem::take(&mut ended.turn);
        self.tell(attempt, turn);
        Some(ended)
    }

    fn inspect(&mut self, now: Instant, id: OperationId, resource: Resource, limit: Duration) {
        let tag = Tag {
            attempt: only_attempt(id),
            step: 0,
        };
        self.outbox
            .send(self.quorum.nodes(), tag, Request::Inspect { resource });
        let inquiry = Inquiry::new(self.quorum, now, limit);
        self.inquiries.insert(id, inquiry);
        self.after_inquiry(now, id);
    }

    fn evict(
        &mut self,
        now: Instant,
        id: OperationId,
        resource: Resource,
        owner: Owner,
        terms: Terms,
    ) {
        let attempt = only_attempt(id);
        let claim = Claim::on_foreign(attempt, resource, owner, terms, self.quorum, now);
        let (to, in_time) = (id, true);
        self.withdraw(now, claim, None, Some(Report { to, in_time }));
    }

    fn cancel(&mut self, now: Instant, id: OperationId) {
        let Some(acquisition) = self.acquisitions.remove(&id) else {
            return;
        };
        self.timers.clear(Machine::Acquisition(id));
        let (failure, claim) = acquisition.cancel(now);
        self.events.push_back((id, Event::NotAcquired(failure)));
        if let Some(claim) = claim {
            self.withdraw(now, claim, None, None);
        }
    }

    fn after_turn(&mut self, now: Instant, id: OperationId, turn: Turn) {
        if let Some(claim) = turn.abandoned {
            self.withdraw(now, claim, None, None);
        }
        match turn.outcome {
            None => {
                let wake_at = self.acquisitions.get(&id).map(Acquisition::wake_at);
                self.timers.set(Machine::Acquisition(id), wake_at);
            }
            Some(outcome) => {
                self.acquisitions.remove(&id);
                self.timers.clear(Machine::Acquisition(id));
                let event = self.acquired(id, outcome);
                self.events.push_back((id, event));
            }
        }
    }

    fn acquired(&mut self, id: OperationId, outcome: Outcome) -> Event {
        match outcome {
            Outcome::Failed(failure) => Event::NotAcquired(failure),
            Outcome::Won(won) => {
                let (attempt, lease) = (won.claim.id(), won.lease.clone());
                let renewal = Renewal::new(won, self.quorum);
                self.timers
                    .set(Machine::Renewal(attempt), renewal.wake_at());
                self.winners.insert(id, attempt);
                self.renewals.insert(attempt, renewal);
                Event::Acquired(lease)
            }
        }
    }

    fn after_renewal(&mut self, id: AttemptId, turn: renewal::Turn) {
        self.tell(id, turn);
        let wake_at = self.renewals.get(&id).and_then(Renewal::wake_at);
        self.timers.set(Machine::Renewal(id), wake_at);
    }

    fn tell(&mut self, id: AttemptId, turn: renewal::Turn) {
        for change in turn.changes {
            self.events
                .push_back((id.operation, Event::Changed(change)));
        }
        for (caller, result) in turn.extended {
            let event = match result {
                Ok(valid_until) => Event::Extended(valid_until),
                Err(failure) => Event::NotExtended(failure),
            };
            self.events.push_back((caller, event));
        }
    }

    fn after_inquiry(&mut self, now: Instant, id: OperationId) {
        let Some(inquiry) = self.inquiries.get_mut(&id) else {
            return;
        };
        match inquiry.take_answers(now) {
            Some(answers) => {
                self.inquiries.remove(&id);
                self.timers.clear(Machine::Inquiry(id));
                self.events.push_back((id, Event::Inspected(answers)));
            }
            None => {
                let closes = Some(inquiry.closes());
                self.timers.set(Machine::Inquiry(id), closes);
            }
        }
    }

    fn withdraw(
        &mut self,
        now: Instant,
        claim: Claim,
        keep: Option<Instant>,
        report: Option<Report>,
    ) {
        let (id, quorum) = (claim.id(), self.quorum);
        let withdrawal = Withdrawal::begin(now, claim, quorum, keep, report, &mut self.outbox);
        self.withdrawals.insert(id, withdrawal);
        self.after_withdrawal(now, id);
    }

    fn after_withdrawal(&mut self, now: Instant, id: AttemptId) {
        let Some(withdrawal) = self.withdrawals.get_mut(&id) else {
            return;
        };
        if let Some((waiting, outcome)) = withdrawal.take_outcome() {
            let told = |id| (id, Event::Released(outcome.clone()));
            self.events.extend(waiting.into_iter().map(told));
        }
        if withdrawal.is_over(now) {
            self.withdrawals.remove(&id);
            if self.released.get(&id.operation) == Some(&id) {
                self.released.remove(&id.operation);
            }
            self.timers.clear(Machine::Withdrawal(id));
        } else {
            let wake_at = withdrawal.wake_at(now);
            self.timers.set(Machine::Withdrawal(id), wake_at);
        }
    }
}

/// The attempt of an operation that has only one.
const fn only_attempt(operation: OperationId) -> AttemptId {
    AttemptId {
        operation,
        number: 0,
    }
}
