//! What the programs want next, and how.

use crate::{course::Phase, world::World};
use leasehold_core::{Lease, LockConfig, PermitCount, Resource};
use std::sync::Arc;

impl World {
    /// What somebody wants: a resource, or several of them together.
    pub(super) fn wanted(&mut self) -> Resource {
        let several = self.setting.habits.several;
        if several == 0 || !self.rng.chance(several) {
            let name = self.rng.pick_ref(&self.resources).clone();
            if let Some(permit) = self.wanted_permit(&name) {
                return permit;
            }
            let reads = self.setting.habits.reads;
            return match reads > 0 && self.rng.chance(reads) {
                true => share_of(&name),
                false => name,
            };
        }
        let all = self.resources.len();
        let (first, count) = (self.rng.index(all), self.rng.pick(&[2, 2, 3]).min(all));
        let names = (first..first + count).map(|at| self.resources[at % all].as_str());
        Resource::several(names).expect("few short names")
    }

    fn wanted_permit(&mut self, name: &Resource) -> Option<Resource> {
        let (permits, others) = (self.setting.habits.permits, self.setting.habits.misled);
        if permits == 0 || !self.rng.chance(permits) {
            return None;
        }
        let is_misled = others > 0 && self.rng.chance(others);
        let of = self.setting.permits + u16::from(is_misled);
        let of = PermitCount::new(of).expect("a few");
        Some(Resource::permit(name.as_str(), of).expect("a name"))
    }

    /// How a client locks this: who reads has no token and queues in any case, and who wants several names does not.
    pub(super) fn config_for(&self, client: usize, resource: &Resource) -> Arc<LockConfig> {
        let config = &self.configs[client];
        if self.setting.habits.reads == 0 || !(resource.is_shared() || resource.is_several()) {
            return Arc::clone(config);
        }
        Arc::new(LockConfig {
            is_fenced: config.is_fenced && resource.is_several(),
            is_fair: resource.is_shared(),
            ..LockConfig::clone(config)
        })
    }

    /// A waiter's last request that is overtaken by its leave puts it into the queue again, for three seconds. So where
    /// messages overtake each other, somebody must succeed within a bound only if nobody gives up meanwhile.
    pub(super) fn nobody_gives_up(&self) -> bool {
        let recovers = matches!(self.phase, Phase::Recovery(_));
        recovers && self.network.law.lawless && self.setting.waits.fair != 0
    }

    /// A lease is out of hand: another gets it, or a share of it.
    pub(super) fn offer(&mut self, client: usize, slot: usize, lease: Lease) {
        let downgrades = self.setting.habits.downgrades;
        let is_whole = !lease.resource.is_part() && !lease.resource.is_several();
        let downgrades = downgrades > 0 && is_whole && self.rng.chance(downgrades);
        // Some texts are used twice: at most one of the two gets anything.
        let times = if self.rng.coin() { 1 } else { 2 };
        for _ in 0..times {
            let resource = match downgrades {
                true => share_of(&lease.resource),
                false => lease.resource.clone(),
            };
            self.offers.push((resource, lease.owner.clone()));
        }
        self.handed_over.push(lease.owner);
        // Most who downgrade do so for themselves.
        if downgrades && !self.is_resting && self.rng.chance(700_000) {
            return self.acquire_this(client, slot, share_of(&lease.resource));
        }
        self.rest(client, slot);
    }
}

fn share_of(name: &Resource) -> Resource {
    Resource::shared(name.as_str()).expect("a name")
}
