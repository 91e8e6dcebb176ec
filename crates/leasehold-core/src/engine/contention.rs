//! Whose turn it is, and who is told that it may be.

use super::{
    Engine,
    index::SlotKey,
    slots::{SlotNumber, Work},
};
use crate::{
    acquisition::{Acquisition, Around, End, Progress},
    local_queue::{Coming, SlotsHere},
    lock_config::AcquireRequest,
    node_set::NodeId,
    operation::Event,
    outbox::Outbox,
    owner::Seed,
    renewal::Renewal,
    request::OperationId,
    resource::Resource,
    time::Instant,
};
use alloc::vec::Vec;
use core::time::Duration;

impl Engine {
    /// Takes a node's word that the key of `resource` may have changed; of any key, if none is named.
    pub fn handle_hint(&mut self, now: Instant, node: NodeId, resource: Option<&Resource>) {
        self.nodes.changed(node, resource);
        match resource {
            Some(resource) => {
                for id in self.queue.asking(resource).into_iter().flatten() {
                    self.hint(now, node, id);
                }
                let mut holders = self.queue.holders(resource);
                let first = holders.next();
                // Of other resources that the name is one of: seldom any.
                let others: Vec<_> = holders.collect();
                for holder in first.into_iter().chain(others) {
                    if let Some(place) = self.held(holder) {
                        self.look_after(now, place, Duration::ZERO);
                    }
                }
            }
            None => {
                // A node that goes on telling begins with this.
                self.nodes.told(node);
                self.hint_all(now, node);
                for place in self.slots.all(Work::is_held) {
                    // All of them: not all at once.
                    self.look_after(now, place, SPREAD);
                }
            }
        }
    }

    /// Whatever waits may have become free.
    pub(super) fn hint_all(&mut self, now: Instant, node: NodeId) {
        for place in self.slots.all(Work::is_acquiring) {
            self.nudge(place, |acquisition| acquisition.handle_hint(now, node));
        }
    }

    pub(super) fn hint(&mut self, now: Instant, node: NodeId, id: OperationId) {
        if let Some(place) = self.slots.find(id, Work::is_acquiring) {
            self.nudge(place, |acquisition| {
                acquisition.handle_hint(now, node);
            });
        }
    }

    /// Who had the name itself reads on, so others may read as well. Nodes do not tell us of what we did ourselves.
    fn call_readers(&mut self, now: Instant, whole: &Resource) {
        for id in self.queue.asking(whole).into_iter().flatten() {
            for node in self.quorum.nodes().iter() {
                self.hint(now, node, id);
            }
        }
    }

    /// Tells an acquisition something that it only takes note of.
    fn nudge(&mut self, place: SlotNumber, tell: impl FnOnce(&mut Acquisition)) {
        if let Some(Work::Acquiring(acquisition)) = self.slots.work_mut(place) {
            tell(acquisition);
            let wake_at = acquisition.wake_at();
            self.slots.wake(place, Some(wake_at));
        }
    }

    /// Somebody may have touched the keys of a lease.
    fn look_after(&mut self, now: Instant, place: SlotNumber, within: Duration) {
        self.tell_renewal(place, |renewal| renewal.handle_hint(now, within));
    }

    pub(super) fn acquire(
        &mut self,
        now: Instant,
        id: OperationId,
        seed: Seed,
        acquire: AcquireRequest,
    ) {
        self.drift = self.drift.or_wider(acquire.config.timing.drift());
        // A caller that does not wait, or takes over what it was given, or wants a share, waits for nobody here either.
        let resource = acquire.resource.clone();
        let queues = acquire.config.queues
            && acquire.from.is_none()
            && !acquire.config.retry.tries_once()
            && !resource.is_shared();
        let mut acquisition = Acquisition::new(now, id, acquire, self.quorum, seed);
        let has_turn = self.queue.join(&resource, id, queues);
        if !has_turn {
            acquisition.stand_behind();
        } else if queues {
            let mut coming = self.queue.coming(now, &resource);
            // A new caller has no head start over callers that wait in other processes: the last release has notified them
            // already. It yields only to others that are known to lose.
            let yields = coming.is_contended && !acquisition.is_fair();
            coming.others_first = coming.others_first.filter(|_| yields);
            coming.give(now, &mut acquisition);
        }
        let place = self
            .slots
            .insert(SlotKey::of(id), Work::Acquiring(acquisition));
        self.look_at(now, place);
    }

    /// Lets an acquisition look at the clock.
    pub(super) fn look_at(&mut self, now: Instant, place: SlotNumber) {
        self.turn_acquisition(now, place, |acquisition, around, outbox| {
            acquisition.handle_timeout(now, around, outbox)
        });
    }

    /// An acquisition or a lease is over: the next waiter here has its turn.
    pub(super) fn leave(&mut self, now: Instant, resource: &Resource, id: OperationId) {
        let (next, another) = self.queue.leave(resource, id);
        if let Some(place) = next.and_then(|next| self.slots.find(next, Work::is_acquiring)) {
            let coming = self.queue.coming(now, resource);
            // Its request leaves with what is on its way out already, but behind it.
            self.give_turn(now, place, coming);
            if let Some(place) = another.and_then(|id| self.slots.find(id, Work::is_acquiring)) {
                self.give_turn(now, place, coming);
            }
        }
    }

    fn give_turn(&mut self, now: Instant, place: SlotNumber, coming: Coming) {
        self.nudge(place, |acquisition| {
            // Where there is a queue, nobody need make room.
            let coming = Coming {
                others_first: coming.others_first.filter(|_| !acquisition.is_fair()),
                ..coming
            };
            coming.give(now, acquisition);
        });
    }

    #[inline(never)]
    pub(super) fn turn_acquisition(
        &mut self,
        now: Instant,
        place: SlotNumber,
        run: impl FnOnce(&mut Acquisition, &mut Around<'_>, &mut Outbox) -> Progress,
    ) {
        let (epoch, nodes, outbox) = (self.epoch, &mut self.nodes, &mut self.outbox);
        let Some(Work::Acquiring(acquisition)) = self.slots.work_mut(place) else {
            return;
        };
        let id = acquisition.operation();
        let slots = match acquisition.wants_permit() {
            true => self.queue.slots(acquisition.resource(), id),
            false => SlotsHere::default(),
        };
        let mut around = Around {
            epoch,
            nodes,
            slots,
        };
        let progress = run(acquisition, &mut around, outbox);
        if acquisition.wants_permit() {
            let slot = acquisition.slot();
            self.queue.ask_for(acquisition.resource(), id, slot);
        }
        // What has ended is woken for what follows from it, or not at all.
        if !progress.has_ended {
            let wake_at = acquisition.wake_at();
            self.slots.wake(place, Some(wake_at));
        }
        if let Some(attempt) = progress.abandoned {
            self.release_abandoned(now, attempt);
        }
        if progress.has_ended {
            self.end_acquisition(now, place);
        }
    }

    fn end_acquisition(&mut self, now: Instant, place: SlotNumber) {
        let Some(Work::Acquiring(ended)) = self.slots.work_mut(place) else {
            return;
        };
        leave_queue(ended, &mut self.outbox);
        let (id, level) = (ended.operation(), ended.contention_level());
        let resource = ended.resource().clone();
        let reads_on = ended.takes_over() && resource.is_shared();
        match ended.take_end() {
            Some(End::Won(won)) => {
                let (lease, telling) = (won.lease(), self.nodes.telling());
                let renewal = Renewal::new(now, won, self.quorum, telling);
                let wake_at = renewal.wake_at();
                self.slots.put(place, Work::Held(renewal), wake_at);
                self.queue.won(now, &resource, id, level);
                self.events.push_back((id, Event::Acquired(lease)));
                if reads_on {
                    self.call_readers(now, &resource.whole());
                }
            }
            Some(End::Failed(failure)) => {
                self.slots.remove(place);
                self.events.push_back((id, Event::NotAcquired(failure)));
                self.leave(now, &resource, id);
            }
            None => self.slots.remove(place),
        }
    }
}

/// Tells the nodes that somebody waits no longer, but for those that took it out of their queues when it won. A place
/// that is kept all the same ends by itself.
pub(super) fn leave_queue(ended: &Acquisition, outbox: &mut Outbox) {
    if let Some((nodes, tag, request)) = ended.leaving() {
        outbox.send(nodes, tag, request);
    }
}

impl Coming {
    fn give(self, now: Instant, acquisition: &mut Acquisition) {
        if self.is_contended {
            acquisition.have_rivals();
        }
        acquisition.have_turn(now, self.others_first);
    }
}

/// Within which time all leases are looked after if any of their keys may have changed.
const SPREAD: Duration = Duration::from_millis(200);
