//! Taking back what attempts have set, also where a link has no room for it now.

use super::{
    Engine,
    held_back::HeldBack,
    index::SlotKey,
    slots::{SlotNumber, Slots, Work},
};
use crate::{
    attempt::Attempt,
    node_set::{NodeId, NodeSet},
    operation::Event,
    outbox::Outbox,
    owner::Owner,
    releasing::{ReleaseOutcome, Releasing, Report},
    request::{AttemptId, FaultKind, OperationId, Reply, Vote},
    resource::Resource,
    time::Instant,
    timing::Timing,
};
use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;

impl Engine {
    /// How many releases are not confirmed by every node yet.
    #[must_use]
    pub fn releases(&self) -> usize {
        self.releasing
    }

    /// Whether one of these nodes has not confirmed a release yet.
    #[must_use]
    pub fn owes_release(&self, nodes: NodeSet) -> bool {
        let owes = |work: &Work| {
            work.releasing()
                .is_some_and(|it| !it.owed().intersection(nodes).is_empty())
        };
        self.slots.any(owes)
    }

    pub(super) fn release(&mut self, now: Instant, id: OperationId, lease: OperationId) {
        let expired = Event::Released(ReleaseOutcome::AlreadyExpired);
        let Some((place, resource, ended)) = self.end_lease(now, lease) else {
            let is_release = |work: &Work| work.releasing().is_some_and(Releasing::is_release);
            match self.slots.find(lease, is_release) {
                Some(place) => self.turn_releasing(now, place, |releasing, outbox| {
                    releasing.repeat(now, id, outbox);
                }),
                None => self.events.push_back((id, expired)),
            }
            return;
        };
        let (keep, in_time) = (ended.keep, ended.in_time);
        match ended.attempt {
            Some(attempt) => {
                self.release_at(now, place, attempt, keep, Some(Report { to: id, in_time }));
            }
            None => {
                self.slots.remove(place);
                self.events.push_back((id, expired));
            }
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
        timing: Timing,
    ) {
        let its_id = AttemptId::only_of(id);
        let attempt = Attempt::on_foreign(its_id, resource, owner, timing, self.quorum, now);
        let (to, in_time) = (id, true);
        let place = self.slots.insert(SlotKey::of(id), Work::Between);
        self.release_at(now, place, attempt, None, Some(Report { to, in_time }));
    }

    /// Takes back what an attempt may have set while its acquisition goes on.
    pub(super) fn release_abandoned(&mut self, now: Instant, attempt: Box<Attempt>) {
        let place = self
            .slots
            .insert(SlotKey::of_given_up(attempt.id()), Work::Between);
        self.release_at(now, place, attempt, None, None);
    }

    /// Takes back what may have been set by what was in this slot.
    pub(super) fn release_at(
        &mut self,
        now: Instant,
        place: SlotNumber,
        attempt: Box<Attempt>,
        keep: Option<Instant>,
        report: Option<Report>,
    ) {
        let (quorum, outbox) = (self.quorum, &mut self.outbox);
        let releasing = Releasing::begin(now, attempt, quorum, keep, report, outbox);
        let (wake_at, has_ended) = (releasing.wake_at(now), releasing.has_ended(now));
        let work = Work::Releasing(releasing);
        self.slots.put(place, work, wake_at);
        self.releasing = self.releasing.saturating_add(1);
        if has_ended {
            self.end_release(now, place);
        }
    }

    pub(super) fn turn_releasing(
        &mut self,
        now: Instant,
        place: SlotNumber,
        run: impl FnOnce(&mut Releasing, &mut Outbox),
    ) {
        let Some(Work::Releasing(releasing)) = self.slots.work_mut(place) else {
            return;
        };
        run(releasing, &mut self.outbox);
        if releasing.has_ended(now) {
            self.end_release(now, place);
        } else {
            let wake_at = releasing.wake_at(now);
            self.slots.wake(place, wake_at);
        }
    }

    /// Tells what became of a release, if that is known by now. Says whether it goes on.
    #[inline(never)]
    fn end_release(&mut self, now: Instant, place: SlotNumber) -> bool {
        let Some(Work::Releasing(releasing)) = self.slots.work_mut(place) else {
            return false;
        };
        if let Some((first, others, outcome)) = releasing.take_outcome() {
            let told = |id, outcome| (id, Event::Released(outcome));
            self.events.push_back(told(first, outcome.clone()));
            for id in others {
                self.events.push_back(told(id, outcome.clone()));
            }
        }
        if !releasing.is_over(now) {
            let wake_at = releasing.wake_at(now);
            self.slots.wake(place, wake_at);
            return true;
        }
        self.slots.remove(place);
        self.releasing = self.releasing.saturating_sub(1);
        if self.releasing == 0 {
            // What still waits in a line is over, and wakes nobody.
            self.held_back = HeldBack::default();
        }
        false
    }

    /// A node has answered a request of an attempt whose keys are taken back.
    #[inline]
    pub(super) fn hear_release(&mut self, place: SlotNumber, reply: &Reply<'_>) {
        let Some(Work::Releasing(releasing)) = self.slots.work_mut(place) else {
            return;
        };
        let (now, node, tag, vote) = (reply.now, reply.node, reply.tag, reply.vote);
        let is_release = releasing.is_release_step(tag.step);
        releasing.handle_reply(reply, &mut self.outbox);
        let is_held_back = releasing.held_back().contains(node);
        let has_ended = releasing.has_ended(now);
        // Of several names, those that were ours are free even where not all were.
        let frees = match vote {
            Vote::Refused(_) => releasing.resource().is_several(),
            _ => vote.is_granted(),
        };
        if is_release && frees {
            if let Some(asking) = self.queue.asking(releasing.resource()) {
                self.hint_others(now, node, tag.attempt.operation, asking);
            }
        } else {
            // A deletion leaves the time as it is.
            let wake_at = releasing.wake_at(now);
            self.slots.wake(place, wake_at);
        }
        let goes_on = !has_ended || self.end_release(now, place);
        if is_held_back && goes_on {
            self.hold_back(now, node, tag.attempt);
        } else if is_release && vote_has_room(vote) {
            self.release_more(now, node);
        }
    }

    /// Nodes do not tell us of what we did ourselves. What the node refused before was heard before (argument S10).
    #[inline(never)]
    fn hint_others(
        &mut self,
        now: Instant,
        node: NodeId,
        own: OperationId,
        asking: Vec<OperationId>,
    ) {
        for other in asking {
            if other != own {
                self.hint(now, node, other);
            }
        }
    }

    #[inline(never)]
    fn hold_back(&mut self, now: Instant, node: NodeId, id: AttemptId) {
        let (most, slots) = (self.quorum.nodes().len(), &self.slots);
        // Those that a hung node has outlived are still in its line.
        let enough = self.releasing.saturating_mul(most).saturating_mul(2);
        if self.held_back.len() > enough.saturating_add(1_024) {
            self.held_back
                .retain(|node, id| held_back(slots, node, id).is_some());
        }
        self.held_back.push(now, node, id, PROBE);
    }

    /// Sends releases for which the node's link had no room.
    #[inline]
    pub(super) fn release_more(&mut self, now: Instant, node: NodeId) {
        let room = self.held_back.room(node);
        if room > 0 {
            self.release_so_many(now, node, room);
        }
    }

    #[inline(never)]
    fn release_so_many(&mut self, now: Instant, node: NodeId, mut room: u32) {
        while room > 0
            && let Some(id) = self.held_back.pop(node)
        {
            if let Some(place) = held_back(&self.slots, node, id) {
                self.turn_releasing(now, place, |releasing, outbox| {
                    releasing.ask_held_back(now, node, outbox);
                });
                room = room.saturating_sub(1);
            }
        }
    }
}

/// Where this attempt is released, if its release is held back from this node.
fn held_back(slots: &Slots, node: NodeId, id: AttemptId) -> Option<SlotNumber> {
    let place = slots.of(id)?;
    let releasing = slots.work(place)?.releasing()?;
    (releasing.attempt_id() == id && releasing.held_back().contains(node)).then_some(place)
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
