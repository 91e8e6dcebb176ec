//! One node is replaced by another while clients lock, as `leasehold reconfigure` does it.
//!
//! A node is of the list that it was told last, among its data, and votes for clients of that list alone. A client learns a list
//! when so many nodes say so that its own has no quorum any more.

use crate::{
    client::Input,
    node::Node,
    queue::Event,
    time::{MILLISECOND, Moment, SECOND},
    world::World,
};
use leasehold_core::{
    AbstentionCause, Fault, FaultKind, LinkChange, NodeId, Request, Vote, quarantine::Marker,
};

/// What the new node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newcomer {
    /// It waits until all leases of the former list have ended.
    Waits,
    /// It votes as soon as it was told.
    VotesAtOnce,
}

/// The list of nodes before the change, and the one after it.
pub(crate) const FORMER: u32 = 0;
pub(crate) const NEW: u32 = 1;
/// What a node is of that votes for nobody.
const NOBODYS: u32 = 2;

/// How far the change is.
#[derive(Debug, Default)]
pub(crate) struct Replacement {
    is_marked: bool,
    is_settled: bool,
    /// Whether the operator reaches the node that leaves.
    tells_former: bool,
}

impl World {
    /// The operator begins some time.
    pub(crate) fn plan_replacement(&mut self) {
        if self.setting.newcomer.is_none() {
            return;
        }
        self.replacement.tells_former = self.rng.coin();
        for node in &mut self.nodes[..self.setting.nodes] {
            node.data.list = Some(FORMER);
        }
        let at = self.now.after(self.rng.between(SECOND, 8 * SECOND));
        self.queue.plan(at, Event::Replace);
    }

    /// The operator takes one step: tells the nodes that can be reached, in the order of the procedure.
    pub(crate) fn replace(&mut self) {
        let Some(newcomer) = self.setting.newcomer else {
            return;
        };
        let (leaving, coming) = (self.setting.nodes - 1, self.setting.nodes);
        if !self.replacement.is_marked && self.is_reached(coming) {
            self.replacement.is_marked = true;
            self.tell_list(coming, NOBODYS);
            if self.replacement.tells_former && self.is_reached(leaving) {
                self.tell_list(leaving, NOBODYS);
            }
        } else if self.replacement.is_marked {
            for node in 0..leaving {
                if self.is_reached(node) && self.rng.coin() {
                    self.tell_list(node, NEW);
                }
            }
            let stay = &self.nodes[..leaving];
            let told = stay
                .iter()
                .filter(|node| node.data.list == Some(NEW))
                .count();
            if told >= self.blocking() && !self.replacement.is_settled && self.is_reached(coming) {
                self.replacement.is_settled = true;
                self.settle(coming, newcomer);
            }
        }
        let pause_ns = self.rng.between(MILLISECOND, self.setting.ttl_ns / 4);
        self.queue.plan(self.now.after(pause_ns), Event::Replace);
    }

    /// So many nodes are in every quorum, at least one of them.
    const fn blocking(&self) -> usize {
        self.setting.nodes + 1 - self.setting.needed()
    }

    fn is_reached(&self, node: usize) -> bool {
        self.nodes[node].is_up && self.now >= self.nodes[node].hung_until
    }

    fn tell_list(&mut self, node: usize, list: u32) {
        let before = self.nodes[node].data.list.replace(list);
        if before != Some(list) {
            self.trace.tell(self.now, || {
                let what = match list {
                    NOBODYS => "votes for nobody",
                    _ => "votes for the new list",
                };
                format!("operator → n{node}  {what}")
            });
        }
    }

    /// The new node is told how long to wait.
    fn settle(&mut self, node: usize, newcomer: Newcomer) {
        self.tell_list(node, NEW);
        let now = self.now;
        let this = &mut self.nodes[node];
        match newcomer {
            Newcomer::Waits => this.wait_for_the_former_list(now),
            Newcomer::VotesAtOnce => this.admit(now),
        }
    }

    /// Why the node does not do what a client of another list asks for.
    pub(crate) fn of_another_list(
        &mut self,
        node: usize,
        list: u32,
        request: &Request,
    ) -> Option<Vote> {
        self.setting.newcomer?;
        if !(request.is_vote() || matches!(request, Request::Extend { .. } | Request::Raise { .. }))
        {
            return None;
        }
        let theirs = *self.nodes[node].data.list.get_or_insert(list);
        (theirs != list).then(|| {
            let kind = match theirs {
                NOBODYS => FaultKind::Rejected,
                _ => FaultKind::Superseded,
            };
            Vote::Unknown(Fault::new(kind, &theirs))
        })
    }

    /// A client is told that a node is of another list. It learns that list when its own has no quorum any more.
    pub(crate) fn hear_of_a_list(&mut self, client: usize, node: NodeId, vote: &Vote) {
        let Vote::Unknown(fault) = vote else { return };
        if fault.kind() != FaultKind::Superseded {
            return;
        }
        let list = fault.to_string().parse().expect("the number of a list");
        let blocking = self.blocking();
        let this = &mut self.clients[client];
        if list == this.list {
            return;
        }
        this.told.insert(node);
        if this.told.len() >= blocking {
            self.follow(client, list);
        }
    }

    fn follow(&mut self, client: usize, list: u32) {
        let (now, at) = (self.clients[client].time(self.now), self.now);
        self.trace
            .tell(at, || format!("c{client}       learns list {list}"));
        let replaced = self.setting.nodes - 1;
        let node = NodeId::new(replaced).expect("there are few nodes");
        self.take_list(client, list);
        self.checks
            .validity
            .replaced(client, node, self.setting.nodes);
        self.clients[client]
            .engine
            .handle_link(now, node, LinkChange::Replaced);
        // What has come in over the connection that is given up is not taken.
        for input in &mut self.clients[client].inbox {
            if let Input::Reply {
                node: from,
                vote,
                reading,
                ..
            } = input
                && *from == node
            {
                *vote = Vote::Unknown(Fault::replaced());
                *reading = None;
            }
        }
        for node in 0..self.setting.nodes {
            self.dial_anew(self.network.link(client, node));
        }
    }

    /// A process that starts may have been given the new list, once the change has begun.
    pub(crate) fn start_with_a_list(&mut self, client: usize) {
        if self.setting.newcomer.is_some() {
            let is_new = self.replacement.is_marked && self.rng.coin();
            self.take_list(client, if is_new { NEW } else { FORMER });
        }
    }

    /// The client goes by this list from now on.
    fn take_list(&mut self, client: usize, list: u32) {
        let this = &mut self.clients[client];
        this.list = list;
        this.told = Default::default();
        let replaced = self.setting.nodes - 1;
        let server = self.server_of(client, replaced);
        let link = self.network.link(client, replaced);
        self.network.lead(link, server);
    }

    /// Which server this node of a client is.
    pub(crate) fn server_of(&self, client: usize, node: usize) -> usize {
        let is_replaced = self.setting.newcomer.is_some() && node == self.setting.nodes - 1;
        match is_replaced && self.clients[client].list == NEW {
            true => self.setting.nodes,
            false => node,
        }
    }

    /// Whether a server is on the list that a client knows.
    pub(crate) fn is_known_to(&self, client: usize, server: usize) -> bool {
        let stays = self.setting.newcomer.is_none() || server < self.setting.nodes - 1;
        stays || self.server_of(client, self.setting.nodes - 1) == server
    }

    /// Whether a server votes for clients of the same list, if one of the nodes is replaced at all.
    pub(crate) fn is_of_the_list(&self, client: usize, server: usize) -> bool {
        let this = &self.nodes[server];
        let waits = || {
            let marker = this.data.marker.as_ref();
            marker.is_some_and(|marker| marker.until > this.time(self.now))
        };
        self.setting.newcomer.is_none()
            || (this.data.list == Some(self.clients[client].list) && !waits())
    }

    /// Whether nobody may have had time to take anything back from this node.
    pub(crate) fn has_left(&self, node: usize) -> bool {
        self.setting.newcomer.is_some() && node >= self.setting.nodes - 1
    }
}

impl Node {
    /// It does not vote until all leases have ended that are held now.
    fn wait_for_the_former_list(&mut self, now: Moment) {
        let guard = self.guard.expect("new nodes are guarded");
        let until = self.time(now).saturating_add(guard.span);
        self.data.marker = Some(Marker {
            id: self.identity().clone(),
            until,
            cause: AbstentionCause::Reconfigured,
            wait: Some(guard.span),
            seen_ms: None,
            evictions: None,
            durability: Default::default(),
            failover: None,
        });
    }
}
