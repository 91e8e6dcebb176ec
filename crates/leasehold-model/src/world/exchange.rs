//! What moves between engines, links and nodes.

use super::{World, index};
use crate::{
    client::RESOURCE,
    clock::TICK,
    news::News,
    shape::{Rule, Shape, Way},
    step::Step,
    story::Story,
};
use leasehold_core::{
    Barrier, Instant, LinkChange, NodeId, Owner, Refusal, Request, Resource, Send, Table, Tag,
    Vote, attempt::Attempt,
};
use std::{collections::VecDeque, sync::Arc};

impl World {
    /// Takes a step that happens on a link, and everything that follows from it without delay.
    pub(super) fn on_link(
        &mut self,
        shape: &Shape,
        step: Step,
        client: usize,
        node: usize,
        story: &mut Story,
    ) {
        self.touch(node);
        let index = index(shape, client, node);
        let mut heard = VecDeque::new();
        match step {
            Step::CarryOut(..) => {
                if let Some(send) = self.links[index].open().take_request() {
                    heard.extend(self.carry_out(shape, client, node, &send, story));
                }
            }
            Step::Overtake(..) => self.overtake(client, node, index, story),
            Step::Haunt(..) => self.haunt(shape, client, node, story),
            Step::Hear(..) => {
                let reply = self.links[index].open().take_reply();
                heard.extend(reply.map(|(tag, vote)| (node, tag, vote)));
            }
            Step::Refuse(..) => {
                self.left.refusals -= 1;
                let refused = self.links[index].open().refuse_last();
                heard.extend(refused.map(|(tag, vote)| (node, tag, vote)));
            }
            Step::SlowDown(..) => {
                self.left.slow -= 1;
                self.links[index].open().slow_down();
            }
            Step::BreakOff(..) | Step::BreakAfter(..) => {
                if let (Step::BreakAfter(..), Some(send)) = (step, self.links[index].next_request())
                {
                    self.carry_out_unheard(shape, node, &send, story);
                }
                self.break_off(shape, client, node, story);
            }
            _ => {
                story.tell(self.tick, || {
                    format!("the link of c{client} to n{node} is back")
                });
                self.links[index].open().come_up();
                let now = self.client_time();
                let engine = &mut self.clients[client].open().engine;
                engine.handle_link(now, node_id(node), LinkChange::Up(None));
            }
        }
        self.settle(shape, client, heard, story);
        if self.links[index].is_slow() && self.links[index].is_empty() {
            self.links[index].open().speed_up();
            self.left.slow += 1;
        }
    }

    /// The link answers for everything that was lost, then tells that it is down: all before the engine's next
    /// requests are taken from it.
    fn break_off(&mut self, shape: &Shape, client: usize, node: usize, story: &mut Story) {
        let now = self.client_time();
        self.left.breaks -= 1;
        story.tell(self.tick, || {
            format!("the link of c{client} to n{node} breaks")
        });
        let link = &mut self.links[index(shape, client, node)];
        let answers = link.open().break_off(shape.is_haunted);
        for (tag, vote) in answers {
            story.tell(self.tick, || {
                format!("c{client} hears of n{node}: {} is lost", name(tag))
            });
            let engine = &mut self.clients[client].open().engine;
            engine.handle_reply(now, node_id(node), tag, vote);
        }
        let engine = &mut self.clients[client].open().engine;
        engine.handle_link(now, node_id(node), LinkChange::Down);
    }

    fn overtake(&mut self, client: usize, node: usize, index: usize, story: &mut Story) {
        story.tell(self.tick, || {
            format!("a request of c{client} to n{node} overtakes another")
        });
        self.left.overtakings -= 1;
        self.links[index].open().overtake();
    }

    /// A node does what was given up with its connection.
    fn haunt(&mut self, shape: &Shape, client: usize, node: usize, story: &mut Story) {
        let ghost = self.links[index(shape, client, node)].open().take_ghost();
        if let Some(send) = ghost {
            self.carry_out_unheard(shape, node, &send, story);
        }
    }

    fn carry_out_unheard(&mut self, shape: &Shape, node: usize, send: &Send, story: &mut Story) {
        let now = self.node_time(shape, node);
        let vote = self.apply(shape, node, now, &send.request);
        story.tell(self.tick, || {
            format!(
                "n{node} does, and nobody will hear of it: {}: {}",
                asked(send),
                said(&vote)
            )
        });
    }

    /// Moves everything between an engine, its links and its application that moves without delay. `heard` are
    /// the answers that reach the engine first.
    pub(super) fn settle(
        &mut self,
        shape: &Shape,
        client: usize,
        mut heard: VecDeque<(usize, Tag, Vote)>,
        story: &mut Story,
    ) {
        let now = self.client_time();
        loop {
            if let Some((node, tag, vote)) = heard.pop_front() {
                story.tell(self.tick, || {
                    format!("c{client} hears of n{node}: {} {}", name(tag), said(&vote))
                });
                let is_grant = tag.step == Attempt::ACQUIRE_STEP && vote == Vote::GRANTED;
                if self.learns(shape, client, node, &vote, story) {
                    // What has come in over the connection that was given up is not taken.
                    heard.retain(|(from, ..)| *from + 1 != shape.nodes);
                }
                let engine = &mut self.clients[client].open().engine;
                engine.handle_reply(now, node_id(node), tag, vote);
                if is_grant {
                    self.watch_straggler(client, tag);
                }
            } else if let Some(send) = self.clients[client].open().engine.poll_send() {
                heard.extend(self.send(shape, client, send, story));
            } else if let Some((operation, event)) = self.clients[client].open().engine.poll_event()
            {
                self.hear(shape, client, operation, event, story);
            } else {
                break;
            }
        }
        self.clients[client].open().tidy();
    }

    /// Hands a request to the links of its nodes. Gives back the answers that are there at once.
    fn send(
        &mut self,
        shape: &Shape,
        client: usize,
        send: Send,
        story: &mut Story,
    ) -> Vec<(usize, Tag, Vote)> {
        story.tell(self.tick, || {
            format!("c{client} asks {:?}: {}", send.nodes, asked(&send))
        });
        if matches!(send.request, Request::Acquire { .. }) && send.tag.step == 0 {
            self.watch_owner(shape, client, &send, story);
        }
        let is_release = matches!(send.request, Request::Release { .. });
        let send = Arc::new(send);
        let mut heard = Vec::new();
        for node in send.nodes.iter().map(NodeId::index) {
            let link = self.links[index(shape, client, node)].open();
            if let Some(vote) = link.send(&send) {
                heard.push((node, send.tag, vote));
            } else if shape.releases == Way::AtOnce
                && is_release
                && link.has_one_request()
                && !link.is_slow()
            {
                let _ = link.take_request();
                heard.extend(self.carry_out(shape, client, node, &send, story));
            }
        }
        heard
    }

    /// What the rule of the shape's nodes says.
    fn apply(&mut self, shape: &Shape, node: usize, now: Instant, request: &Request) -> Vote {
        let of = request.resource().permits();
        let table = self.tables[node].open();
        let of = match (shape.rule, of) {
            (Rule::Counts, Some(of)) => of,
            (Rule::InPart, _) => return table.apply(now, &without_taken(table, now, request)),
            _ => return table.apply(now, request),
        };
        let taken = table.readers(now, &RESOURCE).count();
        if matches!(request, Request::Acquire { .. }) && taken >= of.get().into() {
            return Vote::Refused(Refusal::default());
        }
        table.apply(now, &without_slot(request))
    }

    /// A node does what it is asked. Gives back the answer if it is there at once.
    fn carry_out(
        &mut self,
        shape: &Shape,
        client: usize,
        node: usize,
        send: &Send,
        story: &mut Story,
    ) -> Option<(usize, Tag, Vote)> {
        let server = self.server_of(shape, client, node);
        let now = self.node_time(shape, server);
        let mut vote = match self.of_another_list(shape, client, server, &send.request) {
            Some(vote) => vote,
            None => self.apply(shape, server, now, &send.request),
        };
        if vote == Vote::GRANTED && server == shape.nodes && send.request.is_vote() {
            self.tidings.add(News::NewcomerGranted);
        }
        story.tell(self.tick, || {
            format!(
                "n{server} does for c{client}: {}: {}",
                asked(send),
                said(&vote)
            )
        });
        if vote == Vote::GRANTED && matches!(send.request, Request::Release { .. }) {
            self.watch_taken_back(client, send);
        }
        if let Vote::Refused(Refusal {
            remaining,
            queued,
            permits,
            ..
        }) = &mut vote
        {
            if queued.is_some_and(|queued| queued.barrier == Barrier::Queue) {
                self.tidings.add(News::Queued);
            }
            // Nodes need not know it, and nothing is decided by it: worlds that differ in it alone are one.
            *remaining = None;
            let slots = permits.iter_mut().flat_map(|taken| &mut taken.slots);
            slots.for_each(|(_, left)| *left = TICK);
        }
        let is_stopped = self.clients[client].is_stopped;
        let link = &mut self.links[index(shape, client, node)];
        if !link.is_slow() && !link.has_replies() && !is_stopped {
            return Some((node, send.tag, vote));
        }
        link.open().answer(send.tag, vote);
        None
    }
}

/// The request as a node takes it that grants the names that are free: without those that are another's.
fn without_taken(table: &Table, now: Instant, request: &Request) -> Request {
    let mut request = request.clone();
    if let Request::Acquire {
        resource, owner, ..
    } = &mut request
        && resource.is_several()
    {
        let free = resource.each().find(|name| {
            let key = table.key(now, name);
            key.is_none_or(|key| key.owner == *owner)
        });
        *resource = free.unwrap_or_else(|| resource.clone());
    }
    request
}

/// The request as a node takes it that knows no slots: whose owner has none.
fn without_slot(request: &Request) -> Request {
    let mut request = request.clone();
    if let Request::Acquire {
        resource, owner, ..
    }
    | Request::Extend {
        resource, owner, ..
    }
    | Request::Repair {
        resource, owner, ..
    }
    | Request::Release {
        resource, owner, ..
    } = &mut request
    {
        *resource = Resource::shared(resource.as_str()).expect("a name");
        let digits = owner.as_bytes().get(..40).unwrap_or(owner.as_bytes());
        *owner = Owner::from_bytes(digits).expect("some bytes");
    }
    request
}

pub(super) fn node_id(node: usize) -> NodeId {
    NodeId::new(node).expect("nodes are few")
}

/// A request by its place: acquisition, attempt and step.
fn name(tag: Tag) -> String {
    let attempt = tag.attempt;
    format!(
        "request {}.{}.{}",
        attempt.operation.number(),
        attempt.number,
        tag.step
    )
}

fn asked(send: &Send) -> String {
    let what = match send.request {
        Request::Acquire { .. } => "acquire",
        Request::Repair { .. } => "repair",
        Request::Raise { .. } => "raise",
        Request::Extend { .. } => "extend",
        Request::Transfer { .. } => "take over",
        Request::Inspect { .. } => "inspect",
        Request::Release { .. } => "release",
        Request::Leave { .. } => "leave",
    };
    let owner = send.request.owner().map(ToString::to_string);
    format!("{what} {} ({})", owner.unwrap_or_default(), name(send.tag))
}

fn said(vote: &Vote) -> String {
    match vote {
        Vote::Granted { .. } => "granted".to_owned(),
        Vote::Refused(Refusal {
            holder: Some(holder),
            ..
        }) => format!("refused, it is {holder}'s"),
        Vote::Refused(_) => "refused, there is no key".to_owned(),
        Vote::Unknown(fault) => format!("unknown ({:?})", fault.kind()),
    }
}
