//! What the programs do with their locks: acquire, hold, extend, release, cancel, forget.

use crate::{
    check::Holder,
    queue::Event,
    time::{MILLISECOND, Moment},
    world::World,
};
use leasehold_core::{Event as Told, Instant, Lease, Operation, OperationId, Wish};
use std::{sync::Arc, time::Duration};

/// One thread of the application: at any time it wants at most one resource.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) state: State,
    /// The timer that counts; earlier ones are stale.
    ticket: u32,
}

#[derive(Debug, Default)]
pub(crate) enum State {
    #[default]
    Idle,
    Acquiring(OperationId),
    Holding(Guard),
    Releasing(OperationId),
}

/// A lease in the application's hands, as the facade's guard is.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) operation: OperationId,
    pub(crate) lease: Lease,
    extending: Option<OperationId>,
    /// When the application is done with the resource.
    until: Moment,
    extends: bool,
}

impl Slot {
    pub(crate) fn forget(&mut self) {
        self.state = State::Idle;
        self.ticket += 1;
    }
}

impl World {
    /// Lets the slot act after a while, instead of whatever was planned for it.
    pub(crate) fn act_later(&mut self, client: usize, slot: usize, after_ns: u64) {
        let this = &mut self.clients[client].slots[slot];
        this.ticket += 1;
        let ticket = this.ticket;
        let event = Event::Act {
            client,
            slot,
            ticket,
        };
        self.queue.plan(self.now.after(after_ns), event);
    }

    pub(crate) fn act(&mut self, client: usize, slot: usize, ticket: u32) {
        let this = &self.clients[client];
        if this.slots[slot].ticket != ticket || !this.is_alive {
            return;
        }
        let runs_from = this.stopped_until.max(this.starved_until);
        if self.now < runs_from {
            let event = Event::Act {
                client,
                slot,
                ticket,
            };
            return self.queue.plan(runs_from, event);
        }
        match &this.slots[slot].state {
            State::Idle if self.is_resting => {}
            State::Idle => self.acquire(client, slot),
            State::Acquiring(_) => self.cancel(client, slot),
            State::Holding(guard) if self.now >= guard.until => self.release(client, slot),
            State::Holding(_) => self.extend(client, slot),
            State::Releasing(_) => {}
        }
    }

    fn acquire(&mut self, client: usize, slot: usize) {
        let resource = self.rng.pick_ref(&self.resources).clone();
        let plan = Arc::clone(&self.plans[client]);
        let habits = &self.setting.habits;
        let ttl_ns = self.setting.ttl_ns;
        let impatient = self.rng.chance(habits.patience);
        let patience = impatient.then(|| Duration::from_nanos(self.rng.between(0, 2 * ttl_ns)));
        let (cancels, idle_ns) = (self.rng.chance(habits.cancels), habits.idle_ns);
        let now = self.now;
        self.trace
            .tell(now, || format!("c{client}.{slot}     wants {resource}"));
        let wish = Wish {
            resource,
            plan,
            patience,
        };
        let operation = self.submit(client, Operation::Acquire(wish));
        self.clients[client].slots[slot].state = State::Acquiring(operation);
        if cancels {
            // Most often in the middle of a vote.
            let vote_ns = self.rng.between(0, 4 * self.network.law.delay_ns.1);
            let rest_ns = if self.rng.coin() {
                0
            } else {
                self.rng.below(idle_ns + ttl_ns / 2)
            };
            self.act_later(client, slot, vote_ns + rest_ns);
        }
    }

    pub(crate) fn cancel(&mut self, client: usize, slot: usize) {
        let this = &mut self.clients[client].slots[slot];
        let State::Acquiring(operation) = this.state else {
            return;
        };
        this.state = State::Idle;
        let now = self.now;
        self.trace.tell(now, || {
            format!("c{client}.{slot}     gives up op {}", operation.number())
        });
        self.submit(client, Operation::Cancel(operation));
        self.rest(client, slot);
    }

    fn extend(&mut self, client: usize, slot: usize) {
        let State::Holding(guard) = &self.clients[client].slots[slot].state else {
            return;
        };
        let (operation, until, busy) = (guard.operation, guard.until, guard.extending.is_some());
        if guard.extends && !busy {
            let id = self.submit(client, Operation::Extend(operation));
            if let State::Holding(guard) = &mut self.clients[client].slots[slot].state {
                guard.extending = Some(id);
            }
        }
        let next_ns = until
            .since_ns(self.now)
            .min(self.setting.habits.extend_every_ns);
        self.act_later(client, slot, next_ns.max(MILLISECOND));
    }

    pub(crate) fn release(&mut self, client: usize, slot: usize) {
        let this = &mut self.clients[client].slots[slot];
        let State::Holding(guard) = &this.state else {
            return;
        };
        let operation = guard.operation;
        // From here on nobody can ask the guard any more.
        self.checks.exclusion.ends(Holder { client, operation });
        let now = self.now;
        self.trace.tell(now, || {
            format!("c{client}.{slot}     releases op {}", operation.number())
        });
        let id = self.submit(client, Operation::Release(operation));
        let waits = self.rng.coin();
        self.clients[client].slots[slot].state = if waits {
            State::Releasing(id)
        } else {
            State::Idle
        };
        if !waits {
            self.rest(client, slot);
        }
    }

    /// An operation has ended: the application is told as soon as it runs.
    pub(crate) fn ended(&mut self, client: usize, operation: OperationId, told: Told) {
        self.check_end(client, operation, &told);
        let this = &mut self.clients[client];
        if self.now < this.starved_until || !this.mail.is_empty() {
            this.mail.push_back((operation, told));
            let (at, generation) = (this.starved_until, this.generation);
            self.queue
                .plan(at.max(self.now), Event::Mail { client, generation });
        } else {
            self.deliver(client, operation, told);
        }
    }

    pub(crate) fn read_mail(&mut self, client: usize, generation: u32) {
        let this = &self.clients[client];
        if this.generation != generation || this.mail.is_empty() {
            return;
        }
        let runs_from = this.starved_until.max(this.stopped_until);
        if self.now < runs_from {
            return self
                .queue
                .plan(runs_from, Event::Mail { client, generation });
        }
        self.touched = Some(client);
        while let Some((operation, told)) = self.clients[client].mail.pop_front() {
            self.deliver(client, operation, told);
        }
    }

    fn deliver(&mut self, client: usize, operation: OperationId, told: Told) {
        let slots = &self.clients[client].slots;
        let slot = slots.iter().position(|slot| match &slot.state {
            State::Idle => false,
            State::Acquiring(id) | State::Releasing(id) => *id == operation,
            State::Holding(guard) => guard.extending == Some(operation),
        });
        match (slot, told) {
            (Some(slot), Told::Acquired(lease)) => self.hold(client, slot, operation, lease),
            (Some(slot), Told::NotAcquired(_) | Told::Released(_)) => {
                self.clients[client].slots[slot].state = State::Idle;
                self.rest(client, slot);
            }
            (Some(slot), Told::Extended(until)) => self.extended(client, slot, Some(until)),
            (Some(slot), Told::NotExtended(_)) => self.extended(client, slot, None),
            // Nobody wants it any more: a lease that is dropped is released.
            (None, Told::Acquired(_)) => {
                self.submit(client, Operation::Release(operation));
            }
            (None, _) => {}
        }
    }

    fn hold(&mut self, client: usize, slot: usize, operation: OperationId, lease: Lease) {
        let habits = &self.setting.habits;
        let until = self
            .now
            .after(self.rng.between(habits.hold_ns.0, habits.hold_ns.1));
        let extends = self.rng.chance(habits.extends);
        let first_ns = until.since_ns(self.now);
        let first_ns = if extends {
            first_ns.min(habits.extend_every_ns)
        } else {
            first_ns
        };
        self.leases += 1;
        self.guard_says(client, operation, &lease.resource, lease.valid_until);
        let guard = Guard {
            operation,
            lease,
            extending: None,
            until,
            extends,
        };
        self.clients[client].slots[slot].state = State::Holding(guard);
        let after_ns = if self.is_resting { 0 } else { first_ns };
        self.act_later(client, slot, after_ns);
        if self.is_resting {
            self.release(client, slot);
        }
    }

    fn extended(&mut self, client: usize, slot: usize, until: Option<Instant>) {
        let State::Holding(guard) = &mut self.clients[client].slots[slot].state else {
            return;
        };
        guard.extending = None;
        match until {
            Some(valid_until) => {
                guard.lease.valid_until = guard.lease.valid_until.max(valid_until);
                let lease = guard.lease.clone();
                let operation = guard.operation;
                self.guard_says(client, operation, &lease.resource, lease.valid_until);
            }
            None => {
                // Some give up at once, some hold on as long as the guard is valid, and longer.
                if self.rng.chance(300_000) {
                    self.release(client, slot);
                }
            }
        }
    }

    /// Waits before the slot wants something again.
    fn rest(&mut self, client: usize, slot: usize) {
        let idle_ns = self.rng.between(0, self.setting.habits.idle_ns);
        self.act_later(client, slot, idle_ns);
    }
}
