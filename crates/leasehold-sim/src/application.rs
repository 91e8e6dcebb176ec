//! What the programs do with their locks: acquire, hold, extend, release, cancel, forget.

mod wishes;

use crate::{
    check::{Holder, store::Write, tokens::counted},
    queue::Event,
    time::{MILLISECOND, Moment},
    world::World,
};
use leasehold_core::{
    AcquireRequest, Event as Told, Instant, Lease, LeaseChange, Operation, OperationId, Owner,
    Resource, Ttl,
};
use std::time::Duration;

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
    HandingOver(OperationId, Lease),
    /// A lease without a guard is extended, or released.
    Tending(OperationId),
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
            State::Holding(guard) if self.now >= guard.until => {
                if self.rng.chance(self.setting.habits.hands_over) {
                    self.hand_over(client, slot);
                } else {
                    self.release(client, slot);
                }
            }
            State::Holding(_) => self.extend(client, slot),
            State::Releasing(_) | State::HandingOver(..) | State::Tending(_) => {}
        }
    }

    fn acquire(&mut self, client: usize, slot: usize) {
        if self.tends(client, slot) {
            return;
        }
        let resource = self.wanted();
        self.acquire_this(client, slot, resource);
    }

    fn acquire_this(&mut self, client: usize, slot: usize, resource: Resource) {
        let config = self.config_for(client, &resource);
        let habits = &self.setting.habits;
        let ttl_ns = self.setting.ttl_ns;
        let stays = self.nobody_gives_up();
        let impatient = self.rng.chance(habits.patience) && !stays;
        let patience = impatient.then(|| Duration::from_nanos(self.rng.between(0, 2 * ttl_ns)));
        let (cancels, idle_ns) = (self.rng.chance(habits.cancels) && !stays, habits.idle_ns);
        let now = self.now;
        self.trace
            .tell(now, || format!("c{client}.{slot}     wants {resource:?}"));
        let offered = |(offered, _): &(Resource, Owner)| *offered == resource;
        let at = self.offers.iter().position(offered);
        let from = at.map(|at| self.offers.swap_remove(at).1);
        let acquire = AcquireRequest {
            resource,
            config,
            from,
            patience,
        };
        // Whoever takes over waits for what may be gone.
        let manner = self.manner(client, &acquire);
        let waits_for = Some(acquire.resource.clone()).filter(|_| acquire.from.is_none());
        let operation = self.submit(client, Operation::Acquire(acquire));
        if let Some(resource) = waits_for {
            let waiting = &mut self.checks.waiting;
            waiting.began(client, operation, &resource, now, manner);
        }
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
        let (lease, until, busy) = (guard.operation, guard.until, guard.extending.is_some());
        let extends = guard.extends;
        let habits = &self.setting.habits;
        if self.rng.chance(habits.heartbeats) {
            self.submit(client, Operation::Heartbeat(lease));
        }
        if extends && !busy {
            let other = self.rng.chance(self.setting.habits.other_ttls);
            let ttl = other.then(|| self.other_ttl());
            let id = self.submit(client, Operation::Extend { lease, ttl });
            if let State::Holding(guard) = &mut self.clients[client].slots[slot].state {
                guard.extending = Some(id);
            }
        }
        let next_ns = until
            .since_ns(self.now)
            .min(self.setting.habits.extend_every_ns);
        self.act_later(client, slot, next_ns.max(MILLISECOND));
    }

    /// From half the TTL of the world to twice that.
    fn other_ttl(&mut self) -> Ttl {
        let ttl_ns = self.setting.ttl_ns;
        let other_ns = self.rng.between(ttl_ns / 2, 2 * ttl_ns);
        Ttl::new(Duration::from_nanos(other_ns)).expect("0.2 to 10 seconds")
    }

    pub(crate) fn release(&mut self, client: usize, slot: usize) {
        let this = &mut self.clients[client].slots[slot];
        let State::Holding(guard) = &this.state else {
            return;
        };
        let operation = guard.operation;
        // From here on nobody can ask the guard any more.
        self.checks.exclusion.ends(Holder { client, operation });
        self.checks.loss.ended(Holder { client, operation });
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

    /// Gives the lease out of hand. The guard ends with that.
    fn hand_over(&mut self, client: usize, slot: usize) {
        let this = &mut self.clients[client].slots[slot];
        let State::Holding(guard) = &this.state else {
            return;
        };
        let (operation, mut lease) = (guard.operation, guard.lease.clone());
        lease.valid_until = self.clients[client].valid_until[&operation];
        self.checks.exclusion.ends(Holder { client, operation });
        self.checks.loss.ended(Holder { client, operation });
        let id = self.submit(client, Operation::HandOver(operation));
        self.clients[client].slots[slot].state = State::HandingOver(id, lease);
    }

    /// A lease has changed: the guard knows at once, whether or not the application runs.
    pub(crate) fn changed(&mut self, client: usize, operation: OperationId, change: &LeaseChange) {
        self.check_change(client, operation, change);
        match change {
            LeaseChange::Confirmed { valid_until } | LeaseChange::Cut { valid_until, .. } => {
                self.clients[client]
                    .valid_until
                    .insert(operation, *valid_until);
                let holds = self.clients[client]
                    .slots
                    .iter()
                    .find_map(|slot| match &slot.state {
                        State::Holding(guard) if guard.operation == operation => {
                            Some(guard.lease.clone())
                        }
                        _ => None,
                    });
                if let Some(lease) = holds {
                    self.guard_says(Holder { client, operation }, &lease, *valid_until);
                }
            }
            LeaseChange::InDanger(_) => {}
            LeaseChange::Lost(_) => {
                self.clients[client]
                    .valid_until
                    .insert(operation, Instant::ORIGIN);
            }
        }
    }

    /// An operation has ended: the application is told as soon as it runs.
    pub(crate) fn ended(&mut self, client: usize, operation: OperationId, told: Told) {
        self.check_end(client, operation, &told);
        if let Told::Acquired(lease) = &told {
            let valid_until = lease.valid_until;
            self.clients[client]
                .valid_until
                .insert(operation, valid_until);
            let holder = Holder { client, operation };
            self.checks.loss.acquired(self.now, holder, lease);
        }
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
            State::Acquiring(id)
            | State::Releasing(id)
            | State::HandingOver(id, _)
            | State::Tending(id) => *id == operation,
            State::Holding(guard) => guard.extending == Some(operation),
        });
        let is_tending = |slot: usize| matches!(slots[slot].state, State::Tending(_));
        let is_tending = slot.is_some_and(is_tending);
        match (slot, told) {
            (Some(slot), Told::Acquired(lease)) => self.hold(client, slot, operation, lease),
            (Some(slot), Told::Extended(_) | Told::NotExtended(_)) if is_tending => {
                self.is_done(client, slot);
            }
            (Some(slot), Told::NotAcquired(_) | Told::Released(_)) => self.is_done(client, slot),
            (Some(slot), Told::Extended(_)) => self.extended(client, slot, true),
            (Some(slot), Told::NotExtended(_)) => self.extended(client, slot, false),
            // Nobody wants it any more: a lease that is dropped is released.
            (None, Told::Acquired(_)) => {
                self.checks.loss.ended(Holder { client, operation });
                self.submit(client, Operation::Release(operation));
            }
            (Some(slot), Told::HandedOver(in_time)) => {
                let this = &mut self.clients[client].slots[slot];
                if let State::HandingOver(_, lease) = std::mem::take(&mut this.state)
                    && in_time
                {
                    if self.rng.chance(self.setting.habits.detaches) {
                        self.leave_to_all(Holder { client, operation }, lease);
                        return self.rest(client, slot);
                    }
                    return self.offer(client, slot, lease);
                }
                self.rest(client, slot);
            }
            (_, Told::Changed(_) | Told::Inspected(_)) | (None, _) => {}
        }
    }

    /// What the slot had under way is over.
    fn is_done(&mut self, client: usize, slot: usize) {
        self.clients[client].slots[slot].state = State::Idle;
        self.rest(client, slot);
    }

    fn hold(&mut self, client: usize, slot: usize, operation: OperationId, lease: Lease) {
        let habits = &self.setting.habits;
        let until = self
            .now
            .after(self.rng.between(habits.hold_ns.0, habits.hold_ns.1));
        let (extends, beats) = (self.rng.chance(habits.extends), habits.heartbeats > 0);
        let first_ns = until.since_ns(self.now);
        let first_ns = if extends || beats {
            first_ns.min(habits.extend_every_ns)
        } else {
            first_ns
        };
        self.leases += 1;
        let valid_until = self.clients[client].valid_until[&operation];
        self.guard_says(Holder { client, operation }, &lease, valid_until);
        self.begin_to_write(client, operation, &lease, until);
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

    /// A holder writes at once, once more while it means to hold, and at last when that may be long over:
    /// writes wait in buffers as well.
    fn begin_to_write(
        &mut self,
        client: usize,
        operation: OperationId,
        lease: &Lease,
        until: Moment,
    ) {
        let began = self.checks.validity.began(client, operation);
        let Some((token, began)) = lease.token.zip(began) else {
            return;
        };
        for (resource, slot) in counted(&lease.resource, &lease.owner) {
            let write = Write {
                client,
                resource,
                slot,
                token,
                began,
                decided: self.now,
            };
            self.write(&write);
            let held_ns = until.since_ns(self.now);
            for most_ns in [held_ns, held_ns + 2 * self.setting.ttl_ns] {
                let at = self.now.after(self.rng.between(0, most_ns));
                self.queue.plan(at, Event::Write(Box::new(write.clone())));
            }
        }
    }

    /// A write reaches what the lock protects.
    pub(crate) fn write(&mut self, write: &Write) {
        let written = self.checks.store.write(write);
        self.trace.tell(self.now, || {
            let Write {
                client,
                resource,
                token,
                ..
            } = write;
            format!("c{client} → store  writes {resource} with {token}: {written:?}")
        });
        self.note(written.map(|_| ()));
    }

    fn extended(&mut self, client: usize, slot: usize, is_confirmed: bool) {
        let State::Holding(guard) = &mut self.clients[client].slots[slot].state else {
            return;
        };
        guard.extending = None;
        // Some give up at once, some hold on as long as the guard is valid, and longer.
        if !is_confirmed && self.rng.chance(300_000) {
            self.release(client, slot);
        }
    }

    /// Waits before the slot wants something again.
    pub(crate) fn rest(&mut self, client: usize, slot: usize) {
        let idle_ns = self.rng.between(0, self.setting.habits.idle_ns);
        self.act_later(client, slot, idle_ns);
    }
}
