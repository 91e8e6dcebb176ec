//! Telling callers and holders, and whoever observes, what became of what they wanted.

use super::{Answer, Shell};
use crate::{
    error::{Danger, LossCause},
    handle::HeldLease,
    state::LeaseStatus,
};
use leasehold_core::{Event, Lease, LeaseChange, Operation, OperationId};
use std::sync::Arc;

impl Shell {
    /// Tells callers how their operations ended; says whether anybody was told anything.
    pub(super) fn tell(&mut self) -> bool {
        let mut told = false;
        while let Some((id, event)) = self.engine.poll_event() {
            told = true;
            if let Event::Changed(change) = event {
                self.change(id, change);
                continue;
            }
            if let Some(witness) = &mut self.witness {
                witness.ended(self.clock.now(), id, &event);
            }
            match (self.answers.remove(&id), event) {
                (Some(Answer::Acquire(ticket, answer)), Event::Acquired(lease)) => {
                    self.tickets.remove(&ticket);
                    // Whoever drops the lease releases it: the caller, or this line if the caller has
                    // gone.
                    match self.hold(id, lease) {
                        Some(held) => drop(answer.send(Ok(held))),
                        None => drop(self.submit(self.clock.now(), Operation::Release(id))),
                    }
                }
                (Some(Answer::Acquire(ticket, answer)), Event::NotAcquired(failure)) => {
                    self.tickets.remove(&ticket);
                    let _ = answer.send(Err(failure));
                }
                (Some(Answer::Extend(answer)), Event::Extended(valid_until)) => {
                    let _ = answer.send(Ok(valid_until));
                }
                (Some(Answer::Extend(answer)), Event::NotExtended(failure)) => {
                    let _ = answer.send(Err(failure));
                }
                (Some(Answer::Release(answer)), Event::Released(outcome)) => {
                    let _ = answer.send(outcome);
                }
                (Some(Answer::HandOver(answer)), Event::HandedOver(in_time)) => {
                    let _ = answer.send(in_time);
                }
                (Some(Answer::Inspect(answer)), Event::Inspected(votes)) => {
                    let _ = answer.send(votes);
                }
                // A cancelled acquisition that had won in the same moment.
                (None, Event::Acquired(_)) => {
                    self.submit(self.clock.now(), Operation::Release(id));
                }
                (None, _) => {}
                (Some(_), event) => unreachable!("an operation ended as {event:?}"),
            }
        }
        told
    }

    /// A lease that was just won, as its holder gets it; none if there can be no holder any more.
    fn hold(&mut self, id: OperationId, lease: Lease) -> Option<HeldLease> {
        let handle = self.handle.upgrade()?;
        let (resource, valid_until) = (lease.resource.clone(), lease.valid_until);
        let status = Arc::new(LeaseStatus::new(resource, self.clock, valid_until));
        self.leases.insert(id, Arc::clone(&status));
        Some(HeldLease::new(handle, id, lease, status))
    }

    /// Tells the holder what became of the lease.
    fn change(&mut self, id: OperationId, change: LeaseChange) {
        let (Some(lease), Some(handle)) = (self.leases.get(&id), self.handle.upgrade()) else {
            return;
        };
        let (clock, names, resource) = (self.clock, handle.names(), lease.resource());
        match change {
            LeaseChange::Confirmed { valid_until } => {
                let before = lease.valid_until();
                lease.confirm(valid_until);
                if let Some(witness) = &mut self.witness {
                    witness.confirmed(clock.now(), id, before, valid_until);
                }
            }
            LeaseChange::InDanger(danger) => {
                let danger = Danger::from_core(danger, clock.now(), resource, &names);
                lease.endanger(danger.clone());
                if let Some(witness) = &mut self.witness {
                    witness.endangered(id, &danger);
                }
            }
            LeaseChange::Cut { valid_until, .. } => {
                self.deadlines.cut(lease, valid_until);
            }
            LeaseChange::Lost(loss) => {
                let now = clock.now();
                let cause = LossCause::from_core(loss, now, resource, &names);
                lease.lose(cause.clone());
                if let Some(witness) = &mut self.witness {
                    witness.lost(now, id, &cause);
                }
            }
        }
    }
}
