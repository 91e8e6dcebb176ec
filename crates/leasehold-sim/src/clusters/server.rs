//! The servers of a cluster, and the slots that move between them.

use super::{Clustered, Event, SLOTS, Spot, Weakness, link::Asked, names, slot_of};
use crate::{
    check::Property,
    node::{Data, Node},
    rng::Rng,
    time::{MILLISECOND, Moment, SECOND},
};
use leasehold_core::{Owner, Request, Resource, Ttl, Vote, outstanding::Redirected, table::Key};
use std::collections::BTreeSet;

#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) servers: Vec<Server>,
    slots: [Slot; SLOTS],
    /// Whose releases were carried out.
    released: BTreeSet<Owner>,
}

#[derive(Debug)]
pub(super) struct Server {
    node: Node,
    /// Which server keeps each slot, as this one knows it.
    pub(super) keepers: [usize; SLOTS],
    pub(super) hung_until: Moment,
    /// What its replica has.
    copy: Data,
}

/// A slot, and where it is.
#[derive(Clone, Copy, Debug)]
struct Slot {
    keeper: usize,
    /// The server that it is moving to; none if it rests.
    to: Option<usize>,
    /// Before that it does not move again: what was on its way to a server that was about to get it has come there.
    rests_until: Moment,
}

impl Cluster {
    pub(super) fn new(servers: usize, rng: &mut Rng) -> Self {
        let keepers = [0, 1];
        let server = |_| {
            let ppm = i64::try_from(rng.below(2_000)).expect("few millionths") - 1_000;
            Server {
                node: Node::new(rng, ppm),
                keepers,
                hung_until: Moment::START,
                copy: Data::default(),
            }
        };
        let slot = |keeper| Slot {
            keeper,
            to: None,
            rests_until: Moment::START,
        };
        Self {
            servers: (0..servers).map(server).collect(),
            slots: keepers.map(slot),
            released: BTreeSet::new(),
        }
    }

    /// A server hears where a slot is. While the slot moves, that does not change.
    pub(super) fn hear(&mut self, server: usize, slot: usize) {
        let Slot { keeper, to, .. } = self.slots[slot];
        if to.is_none() {
            self.servers[server].keepers[slot] = keeper;
        }
    }

    /// Where the request has to go, if not here; as a server looks before it runs a command.
    fn redirection(
        &self,
        now: Moment,
        server: usize,
        (resource, asked): (&Resource, bool),
    ) -> Option<Redirected> {
        let (slot, this) = (slot_of(resource), &self.servers[server]);
        let state = self.slots[slot];
        let has = |name: &Resource| this.node.key(now, name).is_some();
        let here = resource.each().filter(has).count();
        let all = resource.each().count();
        if this.keepers[slot] == server {
            return match state.to.filter(|to| *to != server) {
                Some(to) if here == 0 => Some(Redirected::Ask(to)),
                Some(_) if here < all => Some(Redirected::Later),
                _ => None,
            };
        }
        if asked && state.to == Some(server) {
            return (all > 1 && here < all).then_some(Redirected::Later);
        }
        Some(Redirected::Moved(this.keepers[slot]))
    }
}

impl Clustered {
    /// A server carries out a request, or says who else is to be asked.
    pub(super) fn execute(&mut self, spot: Spot, asked: &Asked) -> Result<Vote, Redirected> {
        let (now, request) = (self.stage.now, &asked.request);
        let cluster = &mut self.nodes[spot.node];
        let about = (request.resource(), asked.is_asked);
        if let Some(redirected) = cluster.redirection(now, spot.server, about) {
            return Err(redirected);
        }
        let vote = cluster.servers[spot.server].node.vote(now, request, None).0;
        let Some(owner) = request.owner().cloned() else {
            return Ok(vote);
        };
        match request {
            Request::Release { .. } => {
                cluster.released.insert(owner);
            }
            // Argument S5: nothing is set that was taken back before.
            Request::Acquire { .. } | Request::Repair { .. }
                if matches!(vote, Vote::Granted { .. })
                    && cluster.released.contains(&owner)
                    && !self.haunted.contains(&owner) =>
            {
                let what = format!(
                    "{} is set on n{} after its release",
                    request.resource(),
                    spot.node
                );
                self.stage.violate(Property::Leftovers, what);
            }
            _ => {}
        }
        Ok(vote)
    }

    /// A slot begins to move, unless one does or has just done so.
    pub(super) fn begin_to_move(&mut self, node: usize) {
        let slot = self.stage.rng.index(SLOTS);
        let servers = self.setting.servers;
        let state = self.nodes[node].slots[slot];
        if state.to.is_some() || self.stage.now < state.rests_until {
            return;
        }
        let to = (state.keeper + 1 + self.stage.rng.index(servers - 1)) % servers;
        self.nodes[node].slots[slot].to = Some(to);
        self.stage
            .tell(|| format!("n{node}    slot {slot} begins to move to .{to}"));
        let after_ns = self.stage.rng.between(MILLISECOND, SECOND / 5);
        self.stage.plan(after_ns, Event::Move { node, slot });
    }

    /// A key moves, or the slot has.
    pub(super) fn move_on(&mut self, node: usize, slot: usize) {
        let (now, Slot { keeper, to, .. }) = (self.stage.now, self.nodes[node].slots[slot]);
        let Some(to) = to else { return };
        let source = &self.nodes[node].servers[keeper].node;
        let of_slot = names()
            .into_iter()
            .filter(|(name, at)| *at == slot && !name.is_several());
        let keys = of_slot.filter_map(|(name, _)| Some((name.clone(), source.key(now, &name)?)));
        let keys: Vec<_> = keys.collect();
        let is_early = self.setting.weakness == Weakness::AssignsEarly && self.stage.rng.coin();
        let hangs = [keeper, to].map(|at| self.nodes[node].servers[at].hung_until);
        let hung_until = hangs[0].max(hangs[1]);
        let after_ns = match keys.first() {
            _ if now < hung_until => hung_until.since_ns(now),
            Some(_) if !is_early => {
                let (name, key) = self.stage.rng.pick_ref(&keys).clone();
                self.move_key((node, keeper, to), &name, &key);
                self.stage.rng.between(MILLISECOND / 10, SECOND / 10)
            }
            _ => return self.end_move(node, slot, to),
        };
        self.stage.plan(after_ns, Event::Move { node, slot });
    }

    /// In one step: the key is at one of both servers at any time.
    fn move_key(&mut self, (node, from, to): (usize, usize, usize), name: &Resource, key: &Key) {
        let now = self.stage.now;
        let servers = &mut self.nodes[node].servers;
        let left = key
            .expires_at
            .saturating_since(servers[from].node.time(now));
        // What is about to end is not worth a move.
        let Ok(ttl) = Ttl::new(left) else { return };
        let owner = key.owner.clone();
        let (resource, keep) = (name.clone(), None);
        let delete = Request::Release {
            resource: resource.clone(),
            owner: owner.clone(),
            keep,
        };
        let set = Request::Acquire {
            resource,
            owner,
            ttl,
            proposal: None,
            place: None,
        };
        servers[from].node.execute(now, &delete);
        servers[to].node.execute(now, &set);
        self.stage
            .tell(|| format!("n{node}    the key {name} moves from .{from} to .{to}"));
    }

    /// The server that gets the slot is told first, and the others hear of it.
    fn end_move(&mut self, node: usize, slot: usize, to: usize) {
        let rests_until = self.stage.now.after(2 * SECOND);
        let cluster = &mut self.nodes[node];
        let former = cluster.slots[slot].keeper;
        cluster.slots[slot] = Slot {
            keeper: to,
            to: None,
            rests_until,
        };
        cluster.servers[to].keepers[slot] = to;
        cluster.servers[former].keepers[slot] = to;
        // Who does not keep a slot has none of its keys.
        let of_slot = names()
            .into_iter()
            .filter(|(name, at)| *at == slot && !name.is_several());
        for (name, _) in of_slot {
            let this = &mut cluster.servers[former].node;
            if let Some(key) = this.key(self.stage.now, &name) {
                let (resource, keep) = (name, None);
                let owner = key.owner;
                let delete = Request::Release {
                    resource,
                    owner,
                    keep,
                };
                this.execute(self.stage.now, &delete);
            }
        }
        self.stage
            .tell(|| format!("n{node}    slot {slot} is kept by .{to}"));
        for server in 0..self.setting.servers {
            let after_ns = self.stage.rng.below(SECOND);
            let spot = Spot { node, server };
            self.stage.plan(after_ns, Event::Hear { spot, slot });
        }
    }

    /// A replica takes a server's place, and all connections end.
    pub(super) fn take_over(&mut self, spot: Spot) {
        let Spot { node, server } = spot;
        let lags = self.setting.weakness == Weakness::Lags;
        let this = &mut self.nodes[node].servers[server];
        if lags {
            this.node.data = this.copy.clone();
        }
        self.stage
            .tell(|| format!("n{node}.{server} is replaced by its replica, which forgets: {lags}"));
        for client in 0..self.stage.clients.len() {
            self.break_lane(client, spot, "ends with the server");
        }
    }

    pub(super) fn copy(&mut self) {
        for server in self.nodes.iter_mut().flat_map(|node| &mut node.servers) {
            server.copy = server.node.data.clone();
        }
        let after_ns = self.stage.rng.between(MILLISECOND, 2 * super::COPY_NS);
        self.stage.plan(after_ns, Event::Copy);
    }
}
