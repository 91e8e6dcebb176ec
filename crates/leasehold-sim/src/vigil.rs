//! Looking after those who wait: whether they could have what they wait for.

use crate::{
    check::waiting::Manner,
    course::Phase,
    node::Node,
    queue::Event,
    setting::Guard,
    time::{MILLISECOND, SECOND},
    world::World,
};
use leasehold_core::{AcquireRequest, Resource, table::Key};

impl World {
    /// How the caller of this acquisition waits.
    pub(crate) fn manner(&self, client: usize, acquire: &AcquireRequest) -> Manner {
        Manner {
            // Nobody waits here for those who read, nor do these.
            queues: self.setting.waits.queues(client)
                && self.setting.tries != Some(1)
                && !acquire.resource.is_shared(),
            is_patient: acquire.patience.is_none() && self.setting.tries.is_none(),
            has_place: acquire.config.is_fair,
        }
    }

    /// Looks at everybody, every now and then.
    pub(crate) fn look(&mut self) {
        self.look_at_waiters();
        self.look_for_untold_losses();
        if self.phase != Phase::Over {
            self.queue.plan(self.now.after(LOOKS_EVERY_NS), Event::Look);
        }
    }

    fn look_at_waiters(&mut self) {
        let served_ns = self.served_ns();
        let longest_ns = self.setting.waits.longest_ns;
        let mut waiting = std::mem::take(&mut self.checks.waiting);
        let could = |client: usize, resource: &Resource| self.could_have(client, resource);
        let served = waiting.look(self.now, served_ns, longest_ns, could);
        self.checks.waiting = waiting;
        if !self.is_beyond_judgement() {
            self.note(served);
        }
    }

    /// Where requests are lost without a word, or nodes keep their votes to themselves, nobody can say who must win.
    fn is_beyond_judgement(&self) -> bool {
        self.network.law.lawless
            || self.setting.guard != Guard::Nobody
            || self.setting.hides_restarts
    }

    /// How long a resource may be free while somebody waits who could have it: until it looks at the clock, has
    /// asked, and, if that was in vain, has asked again after a pause.
    fn served_ns(&self) -> u64 {
        let setting = &self.setting;
        let asking_ns = 8 * setting.links.delay_ns.1 + 2 * LOOKS_EVERY_NS;
        let pause_ns = setting.pause_ns.1;
        // Those who come first in a queue may have gone: their places are kept for three seconds from then on, and the
        // others look now and then.
        let queue_ns = match setting.waits.fair {
            0 => 0,
            _ => 4 * SECOND,
        };
        if setting.waits.is_prompt {
            return pause_ns + asking_ns + queue_ns;
        }
        // A node is given half a second; who is told of changes looks after a second by itself.
        let silent_ns = 2 * (SECOND / 2 + setting.links.tail_ns);
        SECOND + 3 * pause_ns + asking_ns + silent_ns + queue_ns
    }

    /// Whether the client could have the resource now, if it asked.
    fn could_have(&self, client: usize, resource: &Resource) -> bool {
        let Some(of) = resource.permits() else {
            return self.could_have_if(client, resource, |this, name| {
                let keys = this.keys(self.now, name);
                let are_read = || keys.iter().all(|key| key.owner.permit().is_none());
                match resource.is_shared() {
                    true => this.key(self.now, name).is_none() && are_read(),
                    false => keys.is_empty(),
                }
            });
        };
        // One slot has to be free on a quorum.
        let is_beside = |slot: u16, key: &Key| {
            let other = key.owner.permit();
            other.is_some_and(|other| other.of() == of && other.slot() != slot)
        };
        of.slots().any(|slot| {
            self.could_have_if(client, resource, |this, name| {
                let mut keys = this.keys(self.now, name).into_iter();
                keys.all(|key| is_beside(slot, &key))
            })
        })
    }

    /// Whether enough nodes can be asked on which the names are open.
    fn could_have_if(
        &self,
        client: usize,
        resource: &Resource,
        is_open: impl Fn(&Node, &Resource) -> bool,
    ) -> bool {
        let is_free = |node: &usize| {
            let server = self.server_of(client, *node);
            let this = &self.nodes[server];
            let link = self.network.link(client, *node);
            this.is_up
                && self.now >= this.hung_until
                && self.now >= this.rejects_until
                && resource
                    .each()
                    .all(|name| this.foreign_type.as_ref() != Some(&name) && is_open(this, &name))
                && self.network.ends(link).1 == server
                && self.is_of_the_list(client, server)
                && self.can_ask(link)
        };
        let free = (0..self.setting.nodes.min(self.nodes.len()))
            .filter(is_free)
            .count();
        self.clients[client].runs(self.now) && free >= self.setting.needed()
    }
}

const LOOKS_EVERY_NS: u64 = 20 * MILLISECOND;
