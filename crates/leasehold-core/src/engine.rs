//! Everything that a manager is doing, as one state machine.
//!
//! Operations go in, requests come out; answers go in, events come out. The engine routes: an answer's
//! tag names the attempt that it belongs to, and an attempt has exactly one slot at any time: that of its
//! acquisition, which becomes a renewal if it won, and a release at last. What belongs to no slot any
//! more is too late to matter.
//!
//! Timers only wake: whether time is up is decided by the machines, from the `now` that they are given.

mod contention;
mod held_back;
mod index;
mod prolonging;
mod releasing;
mod slots;
mod timers;

use crate::{
    failure::ExtendFailure,
    inquiry::Inquiry,
    local_queue::LocalQueue,
    loss::LeaseChange,
    node_clock::{ClockStep, Reading},
    node_set::NodeId,
    nodes::Nodes,
    operation::{Event, LinkChange, Operation},
    outbox::{Outbox, Send},
    owner::Seed,
    quorum::Quorum,
    renewal::{self, EndedLease, Renewal},
    request::{AttemptId, OperationId, Reply, Request, Tag, Vote},
    resource::Resource,
    time::Instant,
    timing::{Drift, Ttl},
};
use alloc::{boxed::Box, collections::VecDeque};
use contention::leave_queue;
use core::time::Duration;
use held_back::HeldBack;
use index::SlotKey;
use releasing::PROBE;
use slots::{SlotNumber, Slots, Work};

/// All that a manager is doing. After every call that begins with `submit` or `handle`, poll until
/// there is nothing left.
#[derive(Clone, Debug, Hash)]
pub struct Engine {
    quorum: Quorum,
    /// What the wall clock shows at the clock's origin.
    epoch: Duration,
    /// By how much clocks may drift apart, as the configs have it.
    drift: Drift,
    nodes: Nodes,
    slots: Slots,
    /// How many of the slots take back what was set.
    releasing: usize,
    held_back: HeldBack,
    /// Whose turn it is at which resource.
    queue: LocalQueue,
    outbox: Outbox,
    /// What follows for the holder from what a lease has just heard. Empty between two turns.
    effects: renewal::Effects,
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
            slots: Slots::new(),
            releasing: 0,
            held_back: HeldBack::default(),
            queue: LocalQueue::new(),
            outbox: Outbox::default(),
            effects: renewal::Effects::default(),
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
    /// one twice for this engine: by it answers find the operation. But the end of a lease may have the lease's own: what
    /// is told of that id from then on is told of the end. `seed` is called if the operation is to make owners,
    /// and what it returns must be fresh.
    pub fn submit(
        &mut self,
        now: Instant,
        id: OperationId,
        seed: impl FnOnce() -> Seed,
        operation: Operation,
    ) {
        match operation {
            Operation::Acquire(acquire) => {
                self.drift = self.drift.or_wider(acquire.config.timing.drift());
                self.acquire(now, id, seed(), acquire);
            }
            Operation::Extend { lease, ttl } => self.extend(now, id, lease, ttl),
            Operation::Prolong {
                resource,
                owner,
                timing,
            } => self.prolong(now, id, resource, owner, *timing),
            Operation::Heartbeat(lease) => self.heartbeat(now, lease),
            Operation::Release(lease) => self.release(now, id, lease),
            Operation::HandOver(lease) => self.hand_over(now, id, lease),
            Operation::Inspect { resource, limit } => self.inspect(now, id, resource, limit),
            Operation::Evict {
                resource,
                owner,
                timing,
            } => self.evict(now, id, resource, owner, *timing),
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
        let Some(place) = self.slots.of(tag.attempt) else {
            return;
        };
        let server = self.nodes.server(node);
        let reply = Reply {
            now,
            node,
            server,
            tag,
            vote: &vote,
        };
        match self.slots.work(place) {
            Some(Work::Acquiring(_)) => {
                self.turn_acquisition(now, place, |acquisition, _, outbox| {
                    acquisition.handle_reply(&reply, outbox)
                });
            }
            Some(Work::Held(_)) => {
                self.turn_renewal(now, place, |renewal, effects, outbox| {
                    renewal.handle_reply(&reply, effects, outbox);
                });
            }
            Some(Work::Releasing(_)) => self.hear_release(place, &reply),
            Some(Work::Asking(_)) => {
                self.turn_inquiry(now, place, |it| it.handle_reply(node, server, vote));
            }
            Some(Work::Prolonging(_)) => self.turn_prolongation(now, place, |extension| {
                extension.round.handle_from(node, tag.step, &vote, server);
            }),
            Some(Work::Between) | None => {}
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
                for place in self.slots.all(|work| work.releasing().is_some()) {
                    self.turn_releasing(now, place, |releasing, outbox| {
                        releasing.handle_up(now, node, outbox);
                    });
                }
                self.held_back.make_room(node);
                self.release_more(now, node);
                for place in self.slots.all(Work::is_held) {
                    self.tell_renewal(place, |renewal| renewal.handle_up(now));
                }
                // Whatever happened there meanwhile was not told.
                self.hint_all(now, node);
            }
            // The link has answered every request that was lost; those answers say all there is. Another server may
            // have the identity now.
            LinkChange::Down => self.nodes.part(node),
            LinkChange::Replaced => self.replace(now, node),
        }
    }

    /// Looks at the clock.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(at) = self.poll_timeout().filter(|at| *at <= now) {
            if let Some(place) = self.slots.take_due(at) {
                self.wake(now, place);
            } else if let Some(node) = self.held_back.take_due(at, PROBE) {
                self.release_more(now, node);
            }
        }
    }

    /// Whether there is anything to ask.
    #[must_use]
    pub fn has_to_send(&self) -> bool {
        !self.outbox.is_empty()
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
        let next = self.slots.next().into_iter().chain(self.held_back.next());
        next.min()
    }

    /// The time has come for which this waited.
    fn wake(&mut self, now: Instant, place: SlotNumber) {
        match self.slots.work(place) {
            Some(Work::Acquiring(_)) => self.look_at(now, place),
            Some(Work::Held(_)) => {
                let telling = self.nodes.telling();
                self.turn_renewal(now, place, |renewal, effects, outbox| {
                    renewal.handle_timeout(now, telling, effects, outbox);
                });
            }
            Some(Work::Releasing(_)) => self.turn_releasing(now, place, |releasing, outbox| {
                releasing.handle_timeout(now, outbox);
            }),
            Some(Work::Asking(_)) => self.turn_inquiry(now, place, |_| ()),
            Some(Work::Prolonging(_)) => self.turn_prolongation(now, place, |_| ()),
            Some(Work::Between) | None => {}
        }
    }

    /// A node's clock was set forward: what it has granted ends before its time.
    fn set_forward(&mut self, now: Instant, node: NodeId, step: Duration) {
        for place in self.slots.all(Work::is_acquiring) {
            self.turn_acquisition(now, place, |acquisition, _, outbox| {
                acquisition.handle_step(now, node, step, outbox)
            });
        }
        for place in self.slots.all(Work::is_held) {
            self.turn_renewal(now, place, |renewal, effects, outbox| {
                renewal.handle_step(now, node, step, effects, outbox);
            });
        }
        for place in self.slots.all(|work| matches!(work, Work::Prolonging(_))) {
            self.turn_prolongation(now, place, |extension| extension.set_forward(node, step));
        }
    }

    /// Another server is the node from now on.
    fn replace(&mut self, now: Instant, node: NodeId) {
        self.nodes.replace(node);
        // Argument S9: no vote is won by nodes of two lists. The server before may go on to vote for those who know nothing of
        // the change.
        for place in self.slots.all(Work::is_acquiring) {
            self.turn_acquisition(now, place, |acquisition, _, outbox| {
                acquisition.handle_replacement(now, node, outbox)
            });
        }
        for place in self.slots.all(Work::is_held) {
            self.turn_renewal(now, place, |renewal, effects, outbox| {
                renewal.handle_replacement(now, node, effects, outbox);
            });
        }
        for place in self.slots.all(|work| matches!(work, Work::Prolonging(_))) {
            self.turn_prolongation(now, place, |extension| extension.replaced(node));
        }
    }

    /// Where a lease is held.
    fn held(&self, lease: OperationId) -> Option<SlotNumber> {
        self.slots.find(lease, Work::is_held)
    }

    fn extend(&mut self, now: Instant, id: OperationId, lease: OperationId, ttl: Option<Ttl>) {
        let Some(place) = self.held(lease) else {
            self.events
                .push_back((id, Event::NotExtended(ExtendFailure::Released)));
            return;
        };
        self.turn_renewal(now, place, |renewal, effects, outbox| {
            renewal.extend(now, id, ttl, effects, outbox);
        });
    }

    fn heartbeat(&mut self, now: Instant, lease: OperationId) {
        if let Some(place) = self.held(lease) {
            self.tell_renewal(place, |renewal| {
                renewal.heartbeat(now);
            });
        }
    }

    fn hand_over(&mut self, now: Instant, id: OperationId, lease: OperationId) {
        let ended = self.end_lease(now, lease);
        let in_time = ended.as_ref().is_some_and(|(_, _, ended)| ended.in_time);
        self.events.push_back((id, Event::HandedOver(in_time)));
        let Some((place, resource, ended)) = ended else {
            return;
        };
        // What was lost is nobody's to take over.
        match ended.attempt.filter(|_| !in_time) {
            Some(attempt) => self.release_at(now, place, attempt, None, None),
            None => self.slots.remove(place),
        }
        self.leave(now, &resource, lease);
    }

    /// Takes the lease out of the holder's hands, and out of its slot.
    fn end_lease(
        &mut self,
        now: Instant,
        lease: OperationId,
    ) -> Option<(SlotNumber, Resource, EndedLease)> {
        let place = self.held(lease)?;
        let Some(Work::Held(renewal)) = self.slots.take(place) else {
            return None;
        };
        let resource = renewal.resource().clone();
        let ended = renewal.end(now, &mut self.effects);
        if !self.effects.is_empty() {
            self.tell(lease);
        }
        Some((place, resource, ended))
    }

    fn inspect(&mut self, now: Instant, id: OperationId, resource: Resource, limit: Duration) {
        let tag = Tag {
            attempt: AttemptId::only_of(id),
            step: 0,
        };
        self.outbox
            .send(self.quorum.nodes(), tag, Request::Inspect { resource });
        let inquiry = Inquiry::new(self.quorum, now, limit);
        let place = self.slots.insert(SlotKey::of(id), Work::Asking(inquiry));
        self.turn_inquiry(now, place, |_| ());
    }

    fn cancel(&mut self, now: Instant, id: OperationId) {
        let Some(place) = self.slots.find(id, Work::is_acquiring) else {
            return;
        };
        let Some(Work::Acquiring(acquisition)) = self.slots.take(place) else {
            return;
        };
        let resource = acquisition.resource().clone();
        leave_queue(&acquisition, &mut self.outbox);
        let (failure, attempt) = acquisition.cancel(now);
        self.events
            .push_back((id, Event::NotAcquired(Box::new(failure))));
        match attempt {
            Some(attempt) => self.release_at(now, place, attempt, None, None),
            None => self.slots.remove(place),
        }
        self.leave(now, &resource, id);
    }

    #[inline(never)]
    fn turn_renewal(
        &mut self,
        now: Instant,
        place: SlotNumber,
        run: impl FnOnce(&mut Renewal, &mut renewal::Effects, &mut Outbox),
    ) {
        let Some(Work::Held(renewal)) = self.slots.work_mut(place) else {
            return;
        };
        run(renewal, &mut self.effects, &mut self.outbox);
        let wake_at = renewal.wake_at();
        // Most answers change nothing.
        if self.effects.is_empty() {
            return self.slots.wake(place, wake_at);
        }
        let id = renewal.attempt_id().operation;
        let is_lost = |change: &LeaseChange| matches!(change, LeaseChange::Lost(_));
        let is_lost = self.effects.changes.iter().any(is_lost);
        let lost = is_lost.then(|| renewal.resource().clone());
        self.slots.wake(place, wake_at);
        self.tell(id);
        if let Some(resource) = lost {
            self.leave(now, &resource, id);
        }
    }

    /// Tells a lease's keeper something that it only takes note of.
    fn tell_renewal(&mut self, place: SlotNumber, tell: impl FnOnce(&mut Renewal)) {
        if let Some(Work::Held(renewal)) = self.slots.work_mut(place) {
            tell(renewal);
            let wake_at = renewal.wake_at();
            self.slots.wake(place, wake_at);
        }
    }

    /// Tells what follows for the holder of a lease, and for those who have asked to extend it.
    fn tell(&mut self, id: OperationId) {
        for change in self.effects.changes.drain(..) {
            self.events.push_back((id, Event::Changed(change)));
        }
        for (caller, result) in self.effects.extended.drain(..) {
            let event = match result {
                Ok(valid_until) => Event::Extended(valid_until),
                Err(failure) => Event::NotExtended(failure),
            };
            self.events.push_back((caller, event));
        }
    }

    #[inline(never)]
    fn turn_inquiry(&mut self, now: Instant, place: SlotNumber, run: impl FnOnce(&mut Inquiry)) {
        let id = self.slots.operation(place);
        let Some((id, Work::Asking(inquiry))) = id.zip(self.slots.work_mut(place)) else {
            return;
        };
        run(inquiry);
        match inquiry.take_answers(now) {
            Some(answers) => {
                self.slots.remove(place);
                self.events.push_back((id, Event::Inspected(answers)));
            }
            None => {
                let closes = inquiry.closes();
                self.slots.wake(place, Some(closes));
            }
        }
    }
}
