//! Telling callers, holders and observers what became of what they wanted.

use super::{Shell, Stage, Underway};
use crate::{
    cell::Ended,
    error::{Danger, LossCause},
};
use leasehold_core::{
    Event, Instant, Lease, LeaseChange, Loss, Operation, OperationId, Request, Send, Trouble,
};

impl Shell {
    /// Tells callers how their operations ended; says whether anybody was told anything.
    pub(super) fn tell(&mut self) -> bool {
        let mut told = false;
        while let Some((id, event)) = self.engine.poll_event() {
            told = true;
            if let Some(instrumentation) = &mut self.instrumentation {
                instrumentation.ended(self.clock.now(), id, &event);
            }
            match event {
                Event::Changed(change) => self.change(id, change),
                Event::Acquired(lease) => self.win(id, lease),
                event => self.end(id, event),
            }
        }
        told
    }

    /// Gives a lease to the caller that waits for it. If that caller has gone, even in the same moment, it is released.
    fn win(&mut self, id: OperationId, lease: Lease) {
        if let Some(Underway::Lease { side, stage }) = self.pending.get_mut(&id) {
            let is_held = side.0.win(lease);
            if is_held {
                *stage = Stage::Held;
                self.held += 1;
                return;
            }
        }
        self.pending.remove(&id);
        self.submit(self.clock.now(), Operation::Release(id));
    }

    /// Tells the caller that waits what became of an operation.
    fn end(&mut self, id: OperationId, event: Event) {
        match (self.pending.remove(&id), event) {
            (Some(Underway::Lease { side, .. }), Event::NotAcquired(failure)) => {
                drop(side.0.acquired.give(Err(failure)));
            }
            (Some(Underway::Lease { side, .. }), Event::Released(outcome)) => {
                drop(side.0.ended.give(Ended::Released(outcome)));
            }
            (Some(Underway::Lease { side, .. }), Event::HandedOver(in_time)) => {
                drop(side.0.ended.give(Ended::HandedOver(in_time)));
            }
            (Some(Underway::Extend(answer)), Event::Extended(until)) => answer.give(Ok(until)),
            (Some(Underway::Extend(answer)), Event::NotExtended(failure)) => {
                answer.give(Err(failure));
            }
            (Some(Underway::Evict(answer)), Event::Released(outcome)) => answer.give(outcome),
            (Some(Underway::Inspect(answer)), Event::Inspected(votes)) => answer.give(votes),
            // The caller has gone, or did not want to know.
            (None, _) => {}
            (Some(_), event) => unreachable!("an operation ended as {event:?}"),
        }
    }

    /// Takes note of when a lease is to be extended: nobody else knows when an extension began that fails.
    pub(super) fn note_extension(&self, send: &Send, now: Instant) {
        if matches!(send.request, Request::Extend { .. })
            && let Some(Underway::Lease { side, .. }) =
                self.pending.get(&send.tag.attempt.operation)
        {
            side.0.try_now(now);
        }
    }

    /// Tells the holder what became of the lease.
    fn change(&mut self, id: OperationId, change: LeaseChange) {
        let (Some(pending), Some(handle)) = (self.pending.get(&id), self.handle.upgrade()) else {
            return;
        };
        // Who has let it go has nothing to lose any more.
        let Underway::Lease {
            side,
            stage: Stage::Held,
        } = pending
        else {
            return;
        };
        let lease = &side.0;
        let (clock, names, resource) = (self.clock, handle.names(), lease.resource());
        match change {
            LeaseChange::Confirmed { valid_until } => {
                let before = lease.valid_until();
                lease.confirm(valid_until);
                if let Some(instrumentation) = &mut self.instrumentation {
                    instrumentation.confirmed(clock.now(), id, before, valid_until);
                }
            }
            LeaseChange::InDanger(mut danger) => {
                begin(danger.trouble.as_mut(), lease.tried());
                let danger = Danger::from_core(danger, clock.now(), resource, &names);
                lease.endanger(danger.clone());
                if let Some(instrumentation) = &mut self.instrumentation {
                    instrumentation.endangered(id, &danger);
                }
            }
            LeaseChange::Cut { valid_until, .. } => {
                self.deadlines.cut(lease, valid_until);
            }
            LeaseChange::Lost(mut loss) => {
                if let Loss::TimedOut { trouble } = &mut loss {
                    begin(trouble.as_mut(), lease.tried());
                }
                let now = clock.now();
                let cause = LossCause::from_core(loss, now, resource, &names);
                lease.lose(cause.clone());
                if let Some(instrumentation) = &mut self.instrumentation {
                    instrumentation.lost(now, id, &cause);
                }
            }
        }
    }
}

/// Extensions fail since the first of them began, and not only since that is known.
fn begin(trouble: Option<&mut Trouble>, tried: Option<Instant>) {
    if let (Some(trouble), Some(tried)) = (trouble, tried) {
        trouble.since = trouble.since.min(tried);
    }
}
