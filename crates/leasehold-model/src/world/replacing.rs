//! One node is replaced by another while clients lock.
//!
//! The last node leaves, and never hears of it: it votes for those who have the former list for ever. The others are told, one by
//! one; then the new node is, which votes for nobody before. A client with the former list learns the new one when so many nodes have
//! said so that the former has no quorum any more, and gives up all its connections.

use super::{World, exchange::node_id};
use crate::{
    clock::TTL_TICKS,
    news::News,
    shape::{Newcomer, Shape},
    story::Story,
};
use leasehold_core::{Fault, FaultKind, LinkChange, Request, Vote};

/// How far the change is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Replacement {
    /// The nodes that were told the new list, one bit each.
    told: u8,
    /// From which tick on the new node votes; none while it was not told.
    votes_from: Option<u8>,
}

impl Replacement {
    pub(crate) const fn was_told(self, node: usize) -> bool {
        self.told & (1 << node) != 0
    }

    /// Whether the new node may be told.
    pub(crate) fn is_to_settle(self, shape: &Shape) -> bool {
        let told = usize::try_from(self.told.count_ones()).unwrap_or(0);
        self.votes_from.is_none() && told >= shape.blocking()
    }
}

impl World {
    pub(super) fn tell_of_the_new_list(&mut self, node: usize, story: &mut Story) {
        story.tell(self.tick, || format!("n{node} is told the new list"));
        self.replacement.told |= 1 << node;
    }

    pub(super) fn settle_the_newcomer(&mut self, shape: &Shape, story: &mut Story) {
        let ttl = u8::try_from(TTL_TICKS).expect("a few ticks");
        let from = match shape.newcomer {
            Some(Newcomer::WaitsTooEarly) => ttl,
            Some(Newcomer::VotesAtOnce) | None => 0,
            Some(Newcomer::Waits) => self.tick + ttl,
        };
        story.tell(self.tick, || {
            format!("n{} votes from tick {from} on", shape.nodes)
        });
        self.replacement.votes_from = Some(from);
    }

    /// Which server a node of a client is.
    pub(super) fn server_of(&self, shape: &Shape, client: usize, node: usize) -> usize {
        let is_replaced = shape.newcomer.is_some() && node + 1 == shape.nodes;
        match is_replaced && self.clients[client].knows_the_new_list {
            true => shape.nodes,
            false => node,
        }
    }

    /// Why a server does not do what a client asks for, whose list is not its own.
    pub(super) fn of_another_list(
        &self,
        shape: &Shape,
        client: usize,
        server: usize,
        request: &Request,
    ) -> Option<Vote> {
        shape.newcomer?;
        let unknown = |kind| Some(Vote::Unknown(Fault::new(kind, "of another list")));
        if !(request.is_vote() || matches!(request, Request::Extend { .. })) {
            return None;
        }
        if server == shape.nodes {
            let votes = self
                .replacement
                .votes_from
                .is_some_and(|from| self.tick >= from);
            return match self.replacement.votes_from {
                None => unknown(FaultKind::Rejected),
                Some(_) if request.is_vote() && !votes => unknown(FaultKind::Abstained),
                Some(_) => None,
            };
        }
        match (
            self.replacement.was_told(server),
            self.clients[client].knows_the_new_list,
        ) {
            (true, false) => unknown(FaultKind::Superseded),
            (false, true) => unknown(FaultKind::Disconnected),
            _ => None,
        }
    }

    /// A client is answered. Says whether it has learned the new list by that.
    pub(super) fn learns(
        &mut self,
        shape: &Shape,
        client: usize,
        node: usize,
        vote: &Vote,
        story: &mut Story,
    ) -> bool {
        let is_told = matches!(vote, Vote::Unknown(fault) if fault.kind() == FaultKind::Superseded);
        if !is_told || self.clients[client].knows_the_new_list {
            return false;
        }
        let now = self.client_time();
        let this = self.clients[client].open();
        this.told |= 1 << node;
        if usize::try_from(this.told.count_ones()).unwrap_or(0) < shape.blocking() {
            return false;
        }
        (this.knows_the_new_list, this.told) = (true, 0);
        story.tell(self.tick, || format!("c{client} learns the new list"));
        self.tidings.add(News::Learned);
        let engine = &mut self.clients[client].open().engine;
        engine.handle_link(now, node_id(shape.nodes - 1), LinkChange::Replaced);
        for node in 0..shape.nodes {
            self.begin_anew(shape, client, node);
        }
        true
    }

    /// A client gives up a connection, and finds another at once.
    fn begin_anew(&mut self, shape: &Shape, client: usize, node: usize) {
        let (now, at) = (self.client_time(), node_id(node));
        let link = self.links[super::index(shape, client, node)].open();
        let answers = link.break_off(false);
        link.come_up();
        if link.is_slow() {
            link.speed_up();
            self.left.slow += 1;
        }
        let engine = &mut self.clients[client].open().engine;
        for (tag, vote) in answers {
            engine.handle_reply(now, at, tag, vote);
        }
        engine.handle_link(now, at, LinkChange::Down);
        engine.handle_link(now, at, LinkChange::Up(None));
    }

    /// Whether a client has gone to the new list, on which fewer nodes may have its key.
    pub(super) fn has_moved(&self, shape: &Shape, client: usize) -> bool {
        shape.newcomer.is_some() && self.clients[client].knows_the_new_list
    }
}
