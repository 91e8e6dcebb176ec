//! Extending the keys of a lease that no renewal of this engine looks after.

use super::{
    Engine,
    index::SlotKey,
    slots::{SlotNumber, Work},
};
use crate::{
    extension::Extension,
    failure::ExtendFailure,
    operation::Event,
    owner::Owner,
    quorum::Decision,
    request::{AttemptId, OperationId, Request, Tag},
    resource::Resource,
    round::Round,
    time::Instant,
    timing::Timing,
};
use alloc::vec::Vec;

impl Engine {
    /// One vote on the keys of an owner about which nothing else is known: neither until when its lease was valid, nor
    /// with whom it is.
    pub(super) fn prolong(
        &mut self,
        now: Instant,
        id: OperationId,
        resource: Resource,
        owner: Owner,
        timing: Timing,
    ) {
        self.drift = self.drift.or_wider(timing.drift());
        let tag = Tag {
            attempt: AttemptId::only_of(id),
            step: 0,
        };
        let ttl = timing.key_ttl();
        // Argument S3: a node does it only if the key carries this owner, so it takes nobody else's.
        let request = Request::Extend {
            resource,
            owner,
            ttl,
        };
        self.outbox.send(self.quorum.nodes(), tag, request);
        let closes = now.saturating_add(timing.node_limit());
        let round = Round::new(self.quorum, tag.step, now, closes);
        let extension = Extension::new(round, timing, Vec::new());
        let place = self
            .slots
            .insert(SlotKey::of(id), Work::Prolonging(extension));
        self.turn_prolongation(now, place, |_| ());
    }

    #[inline(never)]
    pub(super) fn turn_prolongation(
        &mut self,
        now: Instant,
        place: SlotNumber,
        run: impl FnOnce(&mut Extension),
    ) {
        let id = self.slots.operation(place);
        let Some((id, Work::Prolonging(extension))) = id.zip(self.slots.work_mut(place)) else {
            return;
        };
        run(extension);
        extension.round.handle_timeout(now);
        if !extension.is_decided(now) {
            let closes = extension.round.closes();
            return self.slots.wake(place, Some(closes));
        }
        let ended = self.slots.take(place);
        self.slots.remove(place);
        let Some(Work::Prolonging(extension)) = ended else {
            return;
        };
        let event = match extension.round.decision() {
            Decision::Won => {
                // Argument S2: counted from before the first request. The keys of a quorum carry the owner, and nobody
                // else's quorum does without one of these nodes (argument S1).
                let valid_until = extension.timing.valid_until(extension.round.started());
                if now < valid_until {
                    Event::Extended(valid_until)
                } else {
                    Event::NotExtended(ExtendFailure::Lost)
                }
            }
            Decision::Lost | Decision::Pending => {
                Event::NotExtended(ExtendFailure::of_lost(self.quorum, extension.round))
            }
        };
        self.events.push_back((id, event));
    }
}
