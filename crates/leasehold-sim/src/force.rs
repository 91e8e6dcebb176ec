//! What operators do by force: they take locks away from those who hold them.
//!
//! As `leasehold force-release` does, by owner, or by `DEL` on one node after the other.

use crate::{
    check::loss::gone::{Sight, Way},
    queue::Event,
    time::MILLISECOND,
    world::World,
};
use leasehold_core::{Operation, Owner, Resource};

impl World {
    /// Takes a lock away on most of the nodes that live, or on all of them.
    pub(crate) fn take_away(&mut self, client: usize) {
        let resource = self.rng.index(self.resources.len());
        let by_owner = self.rng.coin();
        if by_owner && self.clients[client].runs(self.now) {
            let held = self.held(resource);
            if held.is_empty() {
                return;
            }
            let (resource, owner) = self.rng.pick_ref(&held).clone();
            return self.release_by_force(client, resource, &owner);
        }
        let nodes = self.nodes.len();
        let count = match self.rng.coin() {
            true => nodes,
            false => self.setting.needed(),
        };
        let first = self.rng.index(nodes);
        let pause_ns = self.rng.pick(&[0, MILLISECOND, self.setting.ttl_ns / 50]);
        let mut at = self.now;
        let lives =
            |node: &usize| self.nodes[*node].is_up && self.now >= self.nodes[*node].hung_until;
        let living = (first..first + nodes)
            .map(|node| node % nodes)
            .filter(lives);
        for node in living.take(count).collect::<Vec<_>>() {
            self.queue.plan(at, Event::Delete { node, resource });
            at = at.after(self.rng.between(0, pause_ns));
        }
    }

    /// What is held of this name, and by which owners.
    fn held(&self, resource: usize) -> Vec<(Resource, Owner)> {
        let name = &self.resources[resource];
        let leases = self.checks.loss.leases().filter_map(|holder| {
            let lease = self
                .checks
                .validity
                .lease(holder.client, holder.operation)?;
            let mut names = lease.resource.each();
            let is_of_it = names.any(|other| other.whole() == *name);
            is_of_it.then(|| (lease.resource.clone(), lease.owner.clone()))
        });
        leases.collect()
    }

    fn release_by_force(&mut self, client: usize, resource: Resource, owner: &Owner) {
        let now = self.now;
        self.trace.tell(now, || {
            format!("c{client}       releases {resource} by force")
        });
        self.give_up(owner);
        let timing = Box::new(self.configs[client].timing);
        let owner = owner.clone();
        self.submit(
            client,
            Operation::Evict {
                resource,
                owner,
                timing,
            },
        );
    }

    /// Deletes whatever stands under the name on a node, whoever has it.
    pub(crate) fn delete_by_force(&mut self, node: usize, resource: usize) {
        let (now, name) = (self.now, self.resources[resource].clone());
        let this = &self.nodes[node];
        if !this.is_up || now < this.hung_until {
            return;
        }
        for key in this.keys(now, &name) {
            self.give_up(&key.owner);
        }
        self.trace
            .tell(now, || format!("operator → n{node}  DEL {name}"));
        self.nodes[node].delete(now, &name);
        self.touch(node, None, &name);
        self.look_for_untold_losses();
    }

    /// From here on nothing is expected of this owner's leases, except that their holders are told.
    fn give_up(&mut self, owner: &Owner) {
        let (loss, validity) = (&mut self.checks.loss, &self.checks.validity);
        loss.taken_away(self.now, owner, |holder| {
            validity.lease(holder.client, holder.operation)
        });
        self.checks.exclusion.given_up(owner);
        self.look_for_untold_losses();
    }

    /// Looks at all leases whose keys were taken away.
    pub(crate) fn look_for_untold_losses(&mut self) {
        let mut gone = std::mem::take(&mut self.checks.loss.gone);
        let sight = |client, node, key: (&Resource, &Owner)| self.sight(client, node, key);
        let told = gone.look(self.now, sight);
        self.checks.loss.gone = gone;
        self.note(told);
    }

    /// What a client could learn of a node about a key.
    fn sight(&self, client: usize, node: usize, (resource, owner): (&Resource, &Owner)) -> Sight {
        let (this, link) = (&self.nodes[node], self.network.link(client, node));
        let (epoch, cut) = self.way(link);
        let runs_from = self.clients[client].stopped_until;
        let answers = self.clients[client].runs(self.now)
            && this.is_up
            && self.now >= this.hung_until
            && self.now >= this.rejects_until
            && self.can_ask(link);
        Sight {
            way: Way {
                epoch,
                troubles: [cut, this.hung_until, this.rejects_until, runs_from],
            },
            answers,
            lacks: this.key_of(self.now, resource, owner).is_none(),
        }
    }
}
