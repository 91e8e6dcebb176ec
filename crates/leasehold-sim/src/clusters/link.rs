//! A client's link to a cluster: a connection to each server, and the production rule of what is given where.

use super::{Clustered, Event, Lane, SLOTS, Spot, slot_of};
use crate::{
    small::SmallWorld as _,
    time::{MILLISECOND, Moment, SECOND},
};
use leasehold_core::{
    Fault, FaultKind, NodeId, Request, Tag, Vote,
    outstanding::{Course, Outstanding, Redirected},
};
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Link {
    outstanding: Outstanding,
    /// Which server keeps each slot, as far as the client knows.
    keepers: [usize; SLOTS],
    connections: Vec<Connection>,
}

/// What a server is asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    number: u64,
    pub(super) request: Request,
    /// Whether it is told that it is about to get the slot.
    pub(super) is_asked: bool,
}

#[derive(Debug, Default)]
struct Connection {
    epoch: u32,
    is_down: bool,
    requests: VecDeque<Asked>,
    replies: VecDeque<(u64, Result<Vote, Redirected>)>,
    /// What was not answered yet.
    pending: VecDeque<u64>,
    last_arrival: u64,
    last_return: u64,
}

impl Link {
    pub(super) fn new(servers: usize) -> Self {
        Self {
            outstanding: Outstanding::default(),
            keepers: [0, 1],
            connections: (0..servers).map(|_| Connection::default()).collect(),
        }
    }
}

impl Clustered {
    fn link(&mut self, client: usize, node: usize) -> &mut Link {
        &mut self.stage.clients[client].way[node]
    }

    fn connection(&mut self, client: usize, spot: Spot) -> &mut Connection {
        &mut self.link(client, spot.node).connections[spot.server]
    }

    /// The engine asks a node.
    pub(super) fn give_to(&mut self, client: usize, node: usize, tag: Tag, request: &Request) {
        let (now, slot) = (
            self.stage.clients[client].time(self.stage.now),
            slot_of(request.resource()),
        );
        let number_of_slot = u16::try_from(slot).expect("there are two");
        let link = self.link(client, node);
        let (number, way) = link.outstanding.add(tag, (request, number_of_slot), now);
        let server = way.unwrap_or(link.keepers[slot]);
        self.give(client, (node, number), (server, false));
    }

    /// Gives a request to a server.
    fn give(
        &mut self,
        client: usize,
        (node, number): (usize, u64),
        (server, is_asked): (usize, bool),
    ) {
        let spot = Spot { node, server };
        let delay_ns = self.delay_ns();
        let now = self.stage.now;
        let link = self.link(client, node);
        let Some(given) = link.outstanding.get(number) else {
            return;
        };
        (given.at, given.tries) = (Some(server), given.tries + 1);
        let request = given.request.clone();
        let connection = &mut link.connections[server];
        if connection.is_down {
            return self.tell_vote(
                client,
                node,
                number,
                fault(FaultKind::Down, "no connection"),
            );
        }
        let at = now.after(delay_ns).ns().max(connection.last_arrival);
        connection.last_arrival = at;
        connection.pending.push_back(number);
        connection.requests.push_back(Asked {
            number,
            request,
            is_asked,
        });
        let epoch = connection.epoch;
        let lane = Lane {
            client,
            spot,
            epoch,
        };
        self.stage
            .plan(Moment::from_ns(at).since_ns(now), Event::Request(lane));
    }

    /// A request arrives at its server.
    pub(super) fn carry_out(&mut self, lane: Lane) {
        let Lane {
            client,
            spot,
            epoch,
        } = lane;
        let hung_until = self.nodes[spot.node].servers[spot.server].hung_until;
        if self.connection(client, spot).epoch != epoch {
            return;
        }
        if self.stage.now < hung_until {
            return self
                .stage
                .plan(hung_until.since_ns(self.stage.now), Event::Request(lane));
        }
        let Some(asked) = self.connection(client, spot).requests.pop_front() else {
            return;
        };
        let answer = self.execute(spot, &asked);
        self.stage.tell(|| {
            let Spot { node, server } = spot;
            let (what, resource) = (kind(&asked.request), asked.request.resource());
            format!(
                "c{client} → n{node}.{server}  #{} {what} {resource}: {answer:?}",
                asked.number
            )
        });
        let at = self.stage.now.after(self.delay_ns()).ns();
        let now = self.stage.now;
        let connection = self.connection(client, spot);
        connection.replies.push_back((asked.number, answer));
        let at = at.max(connection.last_return);
        connection.last_return = at;
        self.stage
            .plan(Moment::from_ns(at).since_ns(now), Event::Reply(lane));
    }

    /// An answer arrives at its client.
    pub(super) fn hear(&mut self, lane: Lane) {
        let Lane {
            client,
            spot,
            epoch,
        } = lane;
        if self.connection(client, spot).epoch != epoch {
            return;
        }
        let until = self.stage.clients[client].stopped_until;
        if self.stage.now < until {
            return self
                .stage
                .plan(until.since_ns(self.stage.now), Event::Reply(lane));
        }
        let Some((number, answer)) = self.connection(client, spot).replies.pop_front() else {
            return;
        };
        self.connection(client, spot).pending.pop_front();
        match answer {
            Ok(vote) => self.tell_vote(client, spot.node, number, vote),
            Err(redirected) => self.redirect(client, spot, number, redirected),
        }
        self.turn(client);
    }

    /// A server has not carried out a request.
    fn redirect(&mut self, client: usize, spot: Spot, number: u64, redirected: Redirected) {
        let now = self.stage.clients[client].time(self.stage.now);
        let (node, server) = (spot.node, spot.server);
        let link = self.link(client, node);
        let slot = link
            .outstanding
            .get(number)
            .map(|given| usize::from(given.slot));
        if let (Some(slot), Redirected::Moved(to)) = (slot, redirected) {
            link.keepers[slot] = to;
        }
        match link
            .outstanding
            .redirected(number, (server, redirected), now)
        {
            Some(Course::Give { to, asked }) => self.give(client, (node, number), (to, asked)),
            Some(Course::Rest) => {
                if let Some(given) = link.outstanding.get(number) {
                    given.at = None;
                }
                let event = Event::Resume {
                    client,
                    node,
                    number,
                };
                self.stage.plan(REST_NS, event);
            }
            Some(Course::Overtaken | Course::Spent) => {
                self.tell_vote(
                    client,
                    node,
                    number,
                    fault(FaultKind::Rejected, "not again"),
                );
            }
            None => {}
        }
    }

    /// A request has rested.
    pub(super) fn resume(&mut self, client: usize, node: usize, number: u64) {
        let until = self.stage.clients[client].stopped_until;
        if self.stage.now < until {
            let event = Event::Resume {
                client,
                node,
                number,
            };
            return self.stage.plan(until.since_ns(self.stage.now), event);
        }
        let now = self.stage.clients[client].time(self.stage.now);
        let link = self.link(client, node);
        match link.outstanding.again(number, now) {
            Some(Course::Overtaken | Course::Spent) => {
                self.tell_vote(
                    client,
                    node,
                    number,
                    fault(FaultKind::Rejected, "not again"),
                );
            }
            Some(_) => {
                let slot = link.outstanding.get(number).map_or(0, |given| given.slot);
                let keeper = link.keepers[usize::from(slot)];
                self.give(client, (node, number), (keeper, false));
            }
            None => {}
        }
        self.turn(client);
    }

    /// Some server tells where the slots are, as far as it knows.
    pub(super) fn learn(&mut self, client: usize, node: usize) {
        let told = self.stage.rng.index(self.setting.servers);
        let keepers = self.nodes[node].servers[told].keepers;
        self.link(client, node).keepers = keepers;
        let after_ns = self.stage.rng.between(SECOND / 10, SECOND);
        self.stage.plan(after_ns, Event::Learn { client, node });
    }

    /// A connection is no more. Its requests may still be carried out, the first of them, and nobody is told.
    pub(super) fn break_lane(&mut self, client: usize, spot: Spot, why: &str) {
        let connection = self.connection(client, spot);
        if connection.is_down {
            return;
        }
        connection.is_down = true;
        connection.epoch += 1;
        let epoch = connection.epoch;
        connection.replies.clear();
        let (pending, requests) = (
            std::mem::take(&mut connection.pending),
            std::mem::take(&mut connection.requests),
        );
        self.stage
            .tell(|| format!("c{client} ⇹ n{}.{} {why}", spot.node, spot.server));
        let acting = self.stage.rng.index(requests.len() + 1);
        let mut after_ns = 0;
        for asked in requests.into_iter().take(acting) {
            self.haunted.extend(asked.request.owner().cloned());
            after_ns += self.stage.rng.below(SECOND / 10);
            self.stage
                .plan(after_ns, Event::Ghost(spot, Box::new(asked)));
        }
        let lane = Lane {
            client,
            spot,
            epoch,
        };
        let pause_ns = self.stage.rng.between(MILLISECOND, SECOND / 2);
        self.stage.plan(pause_ns, Event::Connect(lane));
        for number in pending {
            let vote = fault(FaultKind::Disconnected, "the connection broke");
            self.tell_vote(client, spot.node, number, vote);
        }
        self.turn(client);
    }

    pub(super) fn connect(&mut self, lane: Lane) {
        let connection = self.connection(lane.client, lane.spot);
        if connection.epoch == lane.epoch {
            connection.is_down = false;
        }
    }

    /// A server carries out what stood in the buffer of a dead connection.
    pub(super) fn haunt(&mut self, spot: Spot, asked: Asked) {
        let hung_until = self.nodes[spot.node].servers[spot.server].hung_until;
        if self.stage.now < hung_until {
            let event = Event::Ghost(spot, Box::new(asked));
            return self.stage.plan(hung_until.since_ns(self.stage.now), event);
        }
        // A redirection is not followed: the connection over which it would be told is gone.
        drop(self.execute(spot, &asked));
    }

    /// The engine is told the answer to a request.
    fn tell_vote(&mut self, client: usize, node: usize, number: u64, vote: Vote) {
        let Some(given) = self.link(client, node).outstanding.take(number) else {
            return;
        };
        let this = &mut self.stage.clients[client];
        let now = this.time(self.stage.now);
        let id = NodeId::new(node).expect("there are three");
        this.engine.handle_reply(now, id, given.tag, vote);
    }
}

fn fault(kind: FaultKind, why: &str) -> Vote {
    Vote::Unknown(Fault::new(kind, why))
}

const fn kind(request: &Request) -> &'static str {
    match request {
        Request::Acquire { .. } => "acquire",
        Request::Repair { .. } => "repair",
        Request::Extend { .. } => "extend",
        Request::Release { .. } => "release",
        _ => "another",
    }
}

/// How long a request rests before it is given again, as the link has it.
const REST_NS: u64 = 20 * MILLISECOND;
