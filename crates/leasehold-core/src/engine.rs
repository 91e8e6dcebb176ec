//! Everything that a manager is doing, as one state machine.
//!
//! Operations go in, requests come out; answers go in, events come out. The engine routes: an answer's
//! tag names the attempt that it belongs to, and an attempt is with exactly one machine at any time,
//! first with its acquisition, then, if it won, with a renewal, at last with a withdrawal. What belongs
//! to no machine any more is too late to matter.
//!
//! Timers only wake: whether time is up is decided by the machines, from the `now` that they are given.

use crate::{
    acquisition::{Acquisition, Outcome, Turn, Wish},
    claim::Claim,
    failure::{AcquireFailure, ExtendFailure},
    lease::Lease,
    node_set::NodeId,
    outbox::{Outbox, Send},
    owner::Seed,
    quorum::Quorum,
    renewal::{Ended, Extended, Renewal},
    request::{AttemptId, OperationId, Tag, Vote},
    time::Instant,
    timers::Timers,
    withdrawal::{ReleaseOutcome, Report, Withdrawal},
};
use alloc::collections::{BTreeMap, VecDeque};

/// Something to do.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whoever drives the engine submits them all"
)]
pub enum Operation {
    /// Acquire a resource. Ends with [`Event::Acquired`] or [`Event::NotAcquired`].
    Acquire(Wish),
    /// Extend the lease that this acquisition won. Ends with [`Event::Extended`] or
    /// [`Event::NotExtended`].
    Extend(OperationId),
    /// Release the lease that this acquisition won. Ends with [`Event::Released`], and goes on in the
    /// background where nodes did not answer.
    Release(OperationId),
    /// Give up this acquisition. The acquisition ends with [`Event::NotAcquired`], this operation
    /// without an event. Does nothing to an acquisition that has ended.
    Cancel(OperationId),
}

/// The end of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whoever drives the engine must know them all"
)]
pub enum Event {
    /// The resource is ours until the lease's end.
    Acquired(Lease),
    /// The resource is not ours.
    NotAcquired(AcquireFailure),
    /// The lease is valid until then.
    Extended(Instant),
    /// The lease is as valid as it was.
    NotExtended(ExtendFailure),
    /// The lease was given back.
    Released(ReleaseOutcome),
}

/// What happened to the connection to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection is there or not")]
pub enum LinkChange {
    /// The node can be asked.
    Up,
    /// The node cannot be asked.
    Down,
}

/// All that a manager is doing. After every call that begins with `submit` or `handle`, poll until
/// there is nothing left.
#[derive(Clone, Debug, Hash)]
pub struct Engine {
    quorum: Quorum,
    operations: u64,
    acquisitions: BTreeMap<OperationId, Acquisition>,
    renewals: BTreeMap<AttemptId, Renewal>,
    withdrawals: BTreeMap<AttemptId, Withdrawal>,
    /// Which attempt won the acquisition.
    winners: BTreeMap<OperationId, AttemptId>,
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
}

impl Engine {
    /// An engine with nothing to do.
    #[must_use]
    pub fn new(quorum: Quorum) -> Self {
        Self {
            quorum,
            operations: 0,
            acquisitions: BTreeMap::new(),
            renewals: BTreeMap::new(),
            withdrawals: BTreeMap::new(),
            winners: BTreeMap::new(),
            timers: Timers::default(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
        }
    }

    /// Begins an operation at `now`, read before anything is sent for it. `seed` must be fresh.
    pub fn submit(&mut self, now: Instant, seed: Seed, operation: Operation) -> OperationId {
        let id = OperationId::new(self.operations);
        self.operations = self.operations.saturating_add(1);
        match operation {
            Operation::Acquire(wish) => {
                let mut acquisition = Acquisition::new(now, id, wish, self.quorum, seed);
                let turn = acquisition.handle_timeout(now, &mut self.outbox);
                self.acquisitions.insert(id, acquisition);
                self.after_turn(now, id, turn);
            }
            Operation::Extend(lease) => self.extend(now, id, lease),
            Operation::Release(lease) => self.release(now, id, lease),
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
            self.after_withdrawal(now, attempt);
        } else if let Some(renewal) = self.renewals.get_mut(&attempt) {
            let extended = renewal.handle_reply(now, node, tag, vote);
            self.after_renewal(attempt, extended);
        } else if let Some(acquisition) = self.acquisitions.get_mut(&attempt.operation) {
            let turn = acquisition.handle_reply(now, node, tag, vote);
            self.after_turn(now, attempt.operation, turn);
        }
    }

    /// Takes note that a connection came or went.
    pub fn handle_link(&mut self, _now: Instant, node: NodeId, change: LinkChange) {
        match change {
            LinkChange::Up => {
                for withdrawal in self.withdrawals.values_mut() {
                    withdrawal.handle_up(node, &mut self.outbox);
                }
            }
            // The link has answered every request that was lost; those answers say all there is.
            LinkChange::Down => {}
        }
    }

    /// Looks at the clock.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(machine) = self.timers.take_due(now) {
            match machine {
                Machine::Acquisition(id) => {
                    if let Some(acquisition) = self.acquisitions.get_mut(&id) {
                        let turn = acquisition.handle_timeout(now, &mut self.outbox);
                        self.after_turn(now, id, turn);
                    }
                }
                Machine::Renewal(id) => {
                    if let Some(renewal) = self.renewals.get_mut(&id) {
                        let extended = renewal.handle_timeout(now);
                        self.after_renewal(id, extended);
                    }
                }
                Machine::Withdrawal(id) => {
                    if let Some(withdrawal) = self.withdrawals.get_mut(&id) {
                        withdrawal.handle_timeout(now, &mut self.outbox);
                        self.after_withdrawal(now, id);
                    }
                }
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

    fn extend(&mut self, now: Instant, id: OperationId, lease: OperationId) {
        let Some(attempt) = self.winners.get(&lease).copied() else {
            self.events
                .push_back((id, Event::NotExtended(ExtendFailure::Released)));
            return;
        };
        let renewal = self
            .renewals
            .get_mut(&attempt)
            .expect("a winner's lease has a renewal");
        let extended = renewal.extend(now, id, &mut self.outbox);
        self.after_renewal(attempt, extended);
    }

    fn release(&mut self, now: Instant, id: OperationId, lease: OperationId) {
        let Some(attempt) = self.winners.remove(&lease) else {
            self.events
                .push_back((id, Event::Released(ReleaseOutcome::AlreadyExpired)));
            return;
        };
        self.timers.clear(Machine::Renewal(attempt));
        let renewal = self
            .renewals
            .remove(&attempt)
            .expect("a winner's lease has a renewal");
        let Ended {
            claim,
            in_time,
            extended,
        } = renewal.end(now);
        self.tell_extended(extended);
        self.withdraw(now, claim, Some(Report { to: id, in_time }));
    }

    fn cancel(&mut self, now: Instant, id: OperationId) {
        let Some(acquisition) = self.acquisitions.remove(&id) else {
            return;
        };
        self.timers.clear(Machine::Acquisition(id));
        let (failure, claim) = acquisition.cancel(now);
        self.events.push_back((id, Event::NotAcquired(failure)));
        if let Some(claim) = claim {
            self.withdraw(now, claim, None);
        }
    }

    fn after_turn(&mut self, now: Instant, id: OperationId, turn: Turn) {
        if let Some(claim) = turn.abandoned {
            self.withdraw(now, claim, None);
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
            Outcome::Won(lease, claim) => {
                let attempt = claim.id();
                self.winners.insert(id, attempt);
                self.renewals
                    .insert(attempt, Renewal::new(lease.clone(), claim, self.quorum));
                Event::Acquired(lease)
            }
        }
    }

    fn after_renewal(&mut self, id: AttemptId, extended: Option<Extended>) {
        self.tell_extended(extended);
        let wake_at = self.renewals.get(&id).and_then(Renewal::wake_at);
        self.timers.set(Machine::Renewal(id), wake_at);
    }

    fn tell_extended(&mut self, extended: Option<Extended>) {
        let Some(Extended { callers, result }) = extended else {
            return;
        };
        for caller in callers {
            let event = match result.clone() {
                Ok(valid_until) => Event::Extended(valid_until),
                Err(failure) => Event::NotExtended(failure),
            };
            self.events.push_back((caller, event));
        }
    }

    fn withdraw(&mut self, now: Instant, claim: Claim, report: Option<Report>) {
        let id = claim.id();
        let withdrawal = Withdrawal::begin(now, claim, self.quorum, report, &mut self.outbox);
        self.withdrawals.insert(id, withdrawal);
        self.after_withdrawal(now, id);
    }

    fn after_withdrawal(&mut self, now: Instant, id: AttemptId) {
        let Some(withdrawal) = self.withdrawals.get_mut(&id) else {
            return;
        };
        if let Some((operation, outcome)) = withdrawal.take_outcome() {
            self.events.push_back((operation, Event::Released(outcome)));
        }
        if withdrawal.is_over(now) {
            self.withdrawals.remove(&id);
            self.timers.clear(Machine::Withdrawal(id));
        } else {
            let wake_at = withdrawal.wake_at(now);
            self.timers.set(Machine::Withdrawal(id), wake_at);
        }
    }
}
