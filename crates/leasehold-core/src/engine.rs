//! Everything that a manager is doing, as one state machine.
//!
//! Operations go in, requests come out; answers go in, events come out. The engine routes: an answer's
//! tag names the attempt that it belongs to, and an attempt is with exactly one machine at any time,
//! first with its acquisition, then, if it won, with a renewal, at last with a withdrawal. What belongs
//! to no machine any more is too late to matter.
//!
//! Timers only wake: whether time is up is decided by the machines, from the `now` that they are given.

mod contention;
mod held_back;
mod machines;
mod prolonging;
mod releasing;

use crate::{
    acquisition::Acquisition,
    contend::Contend,
    extension::Extension,
    failure::ExtendFailure,
    inquiry::Inquiry,
    loss::LeaseChange,
    node_clock::{ClockStep, Reading},
    node_set::NodeId,
    nodes::Nodes,
    operation::{Event, LinkChange, Operation},
    outbox::{Outbox, Send},
    owner::Seed,
    quorum::Quorum,
    renewal::{self, Ended, Renewal},
    request::{AttemptId, OperationId, Request, Tag, Vote},
    resource::Resource,
    streaks::Streaks,
    terms::{Drift, Ttl},
    time::Instant,
    withdrawal::Withdrawal,
};
use alloc::{collections::VecDeque, vec::Vec};
use core::time::Duration;
use held_back::HeldBack;
use machines::Machines;
use releasing::PROBE;

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
    acquisitions: Machines<OperationId, Acquisition>,
    /// By the acquisitions that have won.
    renewals: Machines<OperationId, Renewal>,
    withdrawals: Machines<AttemptId, Withdrawal>,
    held_back: HeldBack,
    inquiries: Machines<OperationId, Inquiry>,
    /// Extensions of leases that are nobody's here.
    prolongations: Machines<OperationId, Extension>,
    /// Whose turn it is at which resource.
    contend: Contend,
    streaks: Streaks,
    outbox: Outbox,
    events: VecDeque<(OperationId, Event)>,
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
            acquisitions: Machines::new(),
            renewals: Machines::new(),
            withdrawals: Machines::new(),
            held_back: HeldBack::default(),
            inquiries: Machines::new(),
            prolongations: Machines::new(),
            contend: Contend::default(),
            streaks: Streaks::new(),
            outbox: Outbox::default(),
            events: VecDeque::new(),
        }
    }

    /// Tells what the wall clock shows at the origin of the clock, from which fencing tokens are proposed. No
    /// safety depends on it.
    pub const fn set_epoch(&mut self, epoch: Duration) {
        self.epoch = epoch;
    }

    /// Tells what the nodes are called, in their order. Those who want the same resource meet on a node that is
    /// chosen by these names; no safety depends on it.
    pub fn name_nodes<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        self.nodes.name(names);
    }

    /// Begins an operation at `now`, read before anything is sent for it. The caller draws its `id`, and never the same
    /// one twice for this engine: by it answers find the operation. `seed` is called if the operation is to make owners,
    /// and what it returns must be fresh.
    pub fn submit(
        &mut self,
        now: Instant,
        id: OperationId,
        seed: impl FnOnce() -> Seed,
        operation: Operation,
    ) {
        match operation {
            Operation::Acquire(wish) => {
                self.drift = self.drift.or_wider(wish.plan.terms.drift());
                self.acquire(now, id, seed(), wish);
            }
            Operation::Extend { lease, ttl } => self.extend(now, id, lease, ttl),
            Operation::Prolong {
                resource,
                owner,
                terms,
            } => self.prolong(now, id, resource, owner, terms),
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
    }

    /// Takes a node's answer.
    pub fn handle_reply(&mut self, now: Instant, node: NodeId, tag: Tag, vote: Vote) {
        if !self.quorum.nodes().contains(node) {
            return;
        }
        if !matches!(vote, Vote::Unknown(_)) {
            self.nodes.heard(node);
        }
        let attempt = tag.attempt;
        if self.withdrawals.has(attempt) {
            return self.hear_release(now, node, tag, vote);
        }
        let server = self.nodes.server(node);
        let id = attempt.operation;
        let renewal = self.renewals.get(id);
        if renewal.is_some_and(|renewal| renewal.attempt() == attempt) {
            self.turn_renewal(now, id, |renewal, outbox| {
                renewal.handle_reply(now, (node, server), tag, vote, outbox)
            });
        } else if self.acquisitions.has(id) {
            self.turn_acquisition(now, id, |acquisition, _, outbox| {
                acquisition.handle_reply(now, (node, server), tag, vote, outbox)
            });
        } else if self.prolongations.has(id) {
            self.turn_prolongation(now, id, |extension| {
                extension.round.handle_from(node, tag.step, vote, server);
            });
        } else {
            self.turn_inquiry(now, id, |inquiry| inquiry.handle_reply(node, server, vote));
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
                let releasing: Vec<_> = self.withdrawals.keys().collect();
                for attempt in releasing {
                    self.turn_withdrawal(now, attempt, |withdrawal, outbox| {
                        withdrawal.handle_up(now, node, outbox);
                    });
                }
                self.held_back.make_room(node);
                self.release_more(now, node);
                let held: Vec<_> = self.renewals.keys().collect();
                for id in held {
                    self.renewals.turn(id, |renewal| {
                        renewal.handle_up(now);
                        ((), renewal.wake_at())
                    });
                }
                // Whatever happened there meanwhile was not told.
                let waiting: Vec<_> = self.acquisitions.keys().collect();
                for id in waiting {
                    self.hint(now, node, id);
                }
            }
            // The link has answered every request that was lost; those answers say all there is. Another server may
            // have the identity now.
            LinkChange::Down => self.nodes.part(node),
        }
    }

    /// Looks at the clock.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(at) = self.poll_timeout().filter(|at| *at <= now) {
            if let Some(id) = self.acquisitions.take_due(at) {
                self.look_at(now, id);
            } else if let Some(id) = self.renewals.take_due(at) {
                let telling = self.nodes.telling();
                self.turn_renewal(now, id, |renewal, outbox| {
                    renewal.handle_timeout(now, telling, outbox)
                });
            } else if let Some(id) = self.withdrawals.take_due(at) {
                self.turn_withdrawal(now, id, |withdrawal, outbox| {
                    withdrawal.handle_timeout(now, outbox);
                });
            } else if let Some(node) = self.held_back.take_due(at, PROBE) {
                self.release_more(now, node);
            } else if let Some(id) = self.inquiries.take_due(at) {
                self.turn_inquiry(now, id, |_| ());
            } else if let Some(id) = self.prolongations.take_due(at) {
                self.turn_prolongation(now, id, |_| ());
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
        let next = [
            self.acquisitions.next(),
            self.renewals.next(),
            self.withdrawals.next(),
            self.held_back.next(),
            self.inquiries.next(),
            self.prolongations.next(),
        ];
        next.into_iter().flatten().min()
    }

    /// A node's clock was set forward: what it has granted ends before its time.
    fn set_forward(&mut self, now: Instant, node: NodeId, step: Duration) {
        let waiting: Vec<_> = self.acquisitions.keys().collect();
        for id in waiting {
            self.turn_acquisition(now, id, |acquisition, _, outbox| {
                acquisition.handle_step(now, node, step, outbox)
            });
        }
        let held: Vec<_> = self.renewals.keys().collect();
        for id in held {
            self.turn_renewal(now, id, |renewal, outbox| {
                renewal.handle_step(now, node, step, outbox)
            });
        }
        let prolonged: Vec<_> = self.prolongations.keys().collect();
        for id in prolonged {
            self.turn_prolongation(now, id, |extension| extension.set_forward(node, step));
        }
    }

    fn extend(&mut self, now: Instant, id: OperationId, lease: OperationId, ttl: Option<Ttl>) {
        if !self.renewals.has(lease) {
            self.events
                .push_back((id, Event::NotExtended(ExtendFailure::Released)));
            return;
        }
        self.turn_renewal(now, lease, |renewal, outbox| {
            renewal.extend(now, id, ttl, outbox)
        });
    }

    fn heartbeat(&mut self, now: Instant, lease: OperationId) {
        self.renewals.turn(lease, |renewal| {
            renewal.heartbeat(now);
            ((), renewal.wake_at())
        });
    }

    fn hand_over(&mut self, now: Instant, id: OperationId, lease: OperationId) {
        let ended = self.end_lease(now, lease);
        let in_time = ended.as_ref().is_some_and(|(_, ended)| ended.in_time);
        self.events.push_back((id, Event::HandedOver(in_time)));
        let Some((resource, ended)) = ended else {
            return;
        };
        // What was lost is nobody's to take over.
        if let Some(claim) = ended.claim.filter(|_| !in_time) {
            self.withdraw(now, claim, None, None);
        }
        self.leave(now, &resource, lease);
    }

    /// Takes the lease out of the holder's hands.
    fn end_lease(&mut self, now: Instant, lease: OperationId) -> Option<(Resource, Ended)> {
        let renewal = self.renewals.remove(lease)?;
        let resource = renewal.resource().clone();
        let mut ended = renewal.end(now);
        let turn = core::mem::take(&mut ended.turn);
        self.tell(lease, turn);
        Some((resource, ended))
    }

    fn inspect(&mut self, now: Instant, id: OperationId, resource: Resource, limit: Duration) {
        let tag = Tag {
            attempt: AttemptId::only_of(id),
            step: 0,
        };
        self.outbox
            .send(self.quorum.nodes(), tag, Request::Inspect { resource });
        let inquiry = Inquiry::new(self.quorum, now, limit);
        self.inquiries.insert(id, inquiry, None);
        self.turn_inquiry(now, id, |_| ());
    }

    fn cancel(&mut self, now: Instant, id: OperationId) {
        let Some(acquisition) = self.acquisitions.remove(id) else {
            return;
        };
        let resource = acquisition.resource().clone();
        self.leave_queue(&acquisition, None);
        let (failure, claim) = acquisition.cancel(now);
        self.events.push_back((id, Event::NotAcquired(failure)));
        if let Some(claim) = claim {
            self.withdraw(now, claim, None, None);
        }
        self.leave(now, &resource, id);
    }

    fn turn_renewal(
        &mut self,
        now: Instant,
        id: OperationId,
        run: impl FnOnce(&mut Renewal, &mut Outbox) -> renewal::Turn,
    ) {
        let outbox = &mut self.outbox;
        let turn = self.renewals.turn(id, |renewal| {
            let turn = run(renewal, outbox);
            (turn, renewal.wake_at())
        });
        let Some(turn) = turn else {
            return;
        };
        let is_lost = |change: &LeaseChange| matches!(change, LeaseChange::Lost(_));
        let is_lost = turn.changes.iter().any(is_lost);
        self.tell(id, turn);
        if let Some(renewal) = self.renewals.get(id).filter(|_| is_lost) {
            let resource = renewal.resource().clone();
            self.leave(now, &resource, id);
        }
    }

    fn tell(&mut self, id: OperationId, turn: renewal::Turn) {
        for change in turn.changes {
            self.events.push_back((id, Event::Changed(change)));
        }
        for (caller, result) in turn.extended {
            let event = match result {
                Ok(valid_until) => Event::Extended(valid_until),
                Err(failure) => Event::NotExtended(failure),
            };
            self.events.push_back((caller, event));
        }
    }

    fn turn_inquiry(&mut self, now: Instant, id: OperationId, run: impl FnOnce(&mut Inquiry)) {
        let answers = self.inquiries.turn(id, |inquiry| {
            run(inquiry);
            let answers = inquiry.take_answers(now);
            let closes = answers.is_none().then(|| inquiry.closes());
            (answers, closes)
        });
        if let Some(answers) = answers.flatten() {
            self.inquiries.remove(id);
            self.events.push_back((id, Event::Inspected(answers)));
        }
    }
}
