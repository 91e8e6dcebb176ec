//! Hints: a node tells whom it has answered of the next change of a key, once.
//!
//! They are told as a server does that tracks what each connection has read: the next time that the key is touched
//! and is not what it was, all who asked are told, but not by whose connection it changed. A key that only ended is
//! not touched by that.

use super::{Message, State};
use crate::{client::Input, queue::Event, time::Moment, world::World};
use leasehold_core::{NodeId, Request, Resource, Vote, table::Key};

/// Somebody who is to be told.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    link: usize,
    resource: Resource,
    /// What stood under it then.
    seen: Vec<Key>,
}

impl World {
    /// The keys of this resource were touched on the node, by a request over this link if it was one.
    pub(crate) fn touch(&mut self, node: usize, by: Option<usize>, resource: &Resource) {
        if self.nodes[node].watches.is_empty() {
            return;
        }
        if resource.is_several() || resource.is_part() {
            return resource.each().for_each(|name| self.touch(node, by, &name));
        }
        let this = &mut self.nodes[node];
        let keys = this.keys(self.now, resource);
        let is_told = |watch: &Watch| watch.resource == *resource && watch.seen != keys;
        let told: Vec<_> = this.watches.iter().filter(|it| is_told(it)).collect();
        let told: Vec<_> = told.into_iter().map(|watch| watch.link).collect();
        this.watches.retain(|watch| !is_told(watch));
        for link in told {
            if Some(link) != by {
                self.tell_change(link, Some(resource));
            }
        }
    }

    /// Everything on the node was touched.
    pub(crate) fn touch_all(&mut self, node: usize) {
        for index in 0..self.resources.len() {
            let resource = self.resources[index].clone();
            self.touch(node, None, &resource);
        }
    }

    /// The node has answered a request: it tells of what comes after it.
    pub(super) fn watch(&mut self, link: usize, request: &Request, vote: &Vote) {
        let (_, node) = self.network.ends(link);
        if !self.setting.waits.tells(node) {
            return;
        }
        let is_clear = !matches!(vote, Vote::Unknown(_));
        let watches = match request {
            Request::Acquire {
                proposal, resource, ..
            } => (proposal.is_some() || resource.is_part()) && is_clear,
            Request::Extend { .. } => matches!(vote, Vote::Granted { .. }),
            Request::Inspect { .. } => is_clear,
            Request::Repair { .. }
            | Request::Raise { .. }
            | Request::Transfer { .. }
            | Request::Release { .. }
            | Request::Leave { .. } => false,
        };
        let this = &mut self.nodes[node];
        for resource in request.resource().each().filter(|_| watches) {
            let seen = this.keys(self.now, &resource);
            let is_other = |watch: &Watch| watch.link != link || watch.resource != resource;
            this.watches.retain(is_other);
            this.watches.push(Watch {
                link,
                resource,
                seen,
            });
        }
        if self.rng.chance(self.setting.waits.spurious) {
            let other = self.network.link(
                self.rng.index(self.setting.clients),
                node.min(self.setting.nodes - 1),
            );
            let some = self.rng.pick_ref(&self.resources).clone();
            let what = Some(some).filter(|_| self.rng.coin());
            self.tell_change(other, what.as_ref());
        }
    }

    /// The node forgets what it was to tell over this link.
    pub(super) fn forget_watches(&mut self, link: usize) {
        let (_, node) = self.network.ends(link);
        self.nodes[node].watches.retain(|watch| watch.link != link);
    }

    /// A hint sets out, behind the answers that are on their way.
    fn tell_change(&mut self, link: usize, resource: Option<&Resource>) {
        let copies = if self.rng.chance(self.setting.waits.doubles) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            if !self.rng.chance(self.setting.waits.lost) {
                self.send_hint(link, resource.cloned());
            }
        }
    }

    fn send_hint(&mut self, link: usize, resource: Option<Resource>) {
        let (client, _) = self.network.ends(link);
        let law = &self.network.law;
        let connection = &mut self.network.connections[link];
        if law.lawless {
            let is_cut = self.now < connection.cut_back;
            if is_cut || self.rng.chance(law.loss.max(law.lost_replies)) {
                return;
            }
            let at = self.now.after(self.delay_ns());
            let generation = self.clients[client].generation;
            let event = Event::Hint {
                link,
                generation,
                resource,
            };
            return self.queue.plan(at, event);
        }
        if connection.state == State::Up {
            connection.replies.push_back(Message::Hint(resource));
            self.return_later(link);
        }
    }

    /// A hint that travels alone has come.
    pub(crate) fn hint(&mut self, link: usize, generation: u32, resource: Option<Resource>) {
        let (client, _) = self.network.ends(link);
        if self.clients[client].generation == generation {
            self.hear_hint(link, resource);
        }
    }

    pub(super) fn hear_hint(&mut self, link: usize, resource: Option<Resource>) {
        self.input(link, |node: NodeId| Input::Hint(node, resource));
    }

    /// A link that gives hints begins with one about everything.
    pub(super) fn begin_hints(&mut self, link: usize) {
        let (_, node) = self.network.ends(link);
        if self.setting.waits.tells(node) {
            self.hear_hint(link, None);
        }
    }

    /// Where there are no connections, that one has to be sent.
    pub(crate) fn send_first_hints(&mut self) {
        for link in 0..self.network.links() {
            let (_, node) = self.network.ends(link);
            if self.setting.waits.tells(node) {
                self.send_hint(link, None);
            }
        }
    }

    /// Whether the client can ask the node and hear its answer, now, and not only behind something that is late.
    pub(crate) fn can_ask(&self, link: usize) -> bool {
        let connection = &self.network.connections[link];
        let is_cut = self.now < connection.cut_there.max(connection.cut_back);
        let usual = self.now.after(self.network.law.delay_ns.1);
        let is_late = connection.last_arrival.max(connection.last_return) > usual;
        (self.network.law.lawless || connection.state == State::Up) && !is_cut && !is_late
    }

    /// Which connection it is, and until when it was cut.
    pub(crate) fn way(&self, link: usize) -> (u32, Moment) {
        let connection = &self.network.connections[link];
        let cut = connection.cut_there.max(connection.cut_back);
        (connection.epoch, cut)
    }
}
