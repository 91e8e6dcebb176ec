//! Leases without a guard: left to whoever knows the owner, who extends and releases them, from any process.

use crate::{application::State, check::Holder, world::World};
use leasehold_core::{Event as Told, Instant, Lease, Operation, Resource, Timing, Ttl};
use std::time::Duration;

/// What the processes tell each other of such a lease.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    lease: Lease,
    /// Who extends it now. Nobody releases what somebody extends: that is the callers' part.
    busy: Vec<usize>,
}

/// So many are kept in mind.
const MOST_TEXTS: usize = 4;

impl World {
    /// A lease was given out of hand, and all may know its owner. It is valid for as long as its guard said last.
    pub(crate) fn leave_to_all(&mut self, holder: Holder, lease: Lease) {
        self.handed_over.push(lease.owner.clone());
        self.checks.detached.relies(holder.client, &lease);
        self.guard_says(holder, &lease, lease.valid_until);
        if self.detached.len() >= MOST_TEXTS {
            self.detached.remove(0);
        }
        self.detached.push(Text {
            lease,
            busy: Vec::new(),
        });
    }

    /// Whether the slot turns to a lease without a guard instead of one of its own.
    pub(crate) fn tends(&mut self, client: usize, slot: usize) -> bool {
        if self.detached.is_empty() || self.rng.coin() {
            return false;
        }
        let most = u64::try_from(self.detached.len()).expect("a few");
        let at = usize::try_from(self.rng.below(most)).expect("a few");
        if self.detached[at].busy.is_empty() && self.rng.chance(200_000) {
            self.evict(client, slot, at);
        } else {
            self.prolong(client, slot, at);
        }
        true
    }

    fn prolong(&mut self, client: usize, slot: usize, at: usize) {
        let text = &mut self.detached[at];
        text.busy.push(client);
        let lease = text.lease.clone();
        let timing = self.timing_for_all(client);
        let operation = self.submit(
            client,
            Operation::Prolong {
                resource: lease.resource.clone(),
                owner: lease.owner.clone(),
                timing: Box::new(timing),
            },
        );
        let holder = Holder { client, operation };
        self.checks.detached.begun(holder, &lease);
        self.clients[client].slots[slot].state = State::Tending(operation);
    }

    fn evict(&mut self, client: usize, slot: usize, at: usize) {
        let lease = self.detached.swap_remove(at).lease;
        // From here on nobody relies on it.
        self.checks.detached.given_up(&lease.owner);
        self.checks.exclusion.given_up(&lease.owner);
        let timing = self.configs[client].timing;
        let operation = self.submit(
            client,
            Operation::Evict {
                resource: lease.resource.clone(),
                owner: lease.owner.clone(),
                timing: Box::new(timing),
            },
        );
        self.clients[client].slots[slot].state = State::Tending(operation);
    }

    fn timing_for_all(&mut self, client: usize) -> Timing {
        let ttl_ns = self.setting.ttl_ns;
        let ttl_ns = self.rng.between(ttl_ns / 2, 2 * ttl_ns);
        let ttl = Ttl::new(Duration::from_nanos(ttl_ns)).expect("0.2 to 10 seconds");
        let timing = self.configs[client].timing.with_ttl(ttl);
        timing.expect("margins are small")
    }

    /// Checks what the engine says about the end of an extension by owner, if it is one.
    pub(crate) fn check_prolonged(&mut self, holder: Holder, now: Instant, told: &Told) {
        let Some(votes) = self.checks.detached.ended(holder) else {
            return;
        };
        for text in &mut self.detached {
            if text.lease.owner == votes.lease.owner {
                let busy = text.busy.iter().position(|busy| *busy == holder.client);
                busy.map(|at| text.busy.swap_remove(at));
            }
        }
        let Told::Extended(valid_until) = told else {
            return;
        };
        let stands = self
            .checks
            .detached
            .extended(holder.client, now, &votes, *valid_until);
        self.note(stands);
        let mut lease = votes.lease;
        lease.valid_until = *valid_until;
        self.guard_says(holder, &lease, *valid_until);
        self.check_promises(&lease.resource);
    }

    /// Whatever was done to a resource, what anybody was told of it stands on a quorum of keys still.
    pub(crate) fn check_promises(&mut self, resource: &Resource) {
        let (now, clients, nodes) = (self.now, &self.clients, &self.nodes);
        let is_valid = |client: usize, lease: &Lease| lease.is_valid(clients[client].time(now));
        let promises = self.checks.detached.promises(resource, is_valid);
        let validity = &self.checks.validity;
        let broken = promises.iter().find_map(|(client, lease)| {
            let clock = &clients[*client].clock;
            validity.backed(clock, now, nodes, lease).err()
        });
        self.note(broken.map_or(Ok(()), Err));
    }

    /// A process is gone, and with it whatever it was about to do.
    pub(crate) fn forget_texts_of(&mut self, client: usize) {
        self.detached.retain(|text| !text.busy.contains(&client));
    }
}
