//! What lies between clients and nodes.
//!
//! Two laws are known here. By default a connection keeps the promise of the production link: requests
//! take effect in order or not at all, each is answered at most once, and a break is told after the
//! answers that it cost. The lawless network promises nothing: each message travels alone, and may be
//! lost, doubled or overtaken. Safety must not need the first one; being tidy may.

use crate::{
    client::Input,
    queue::{Echo, Event},
    rng::Rng,
    setting::{GHOSTS_NS, Links, Setting},
    time::{MILLISECOND, Moment},
    world::World,
};
use gathered::{Gathered, Sent};
use leasehold_core::{
    Fault, FaultKind, Identity, Instant, NodeId, Reading, Request, Resource, Tag, Vote,
    backoff::Backoff,
};
use std::{collections::VecDeque, rc::Rc};

mod dialling;
mod gathered;
pub(crate) mod hints;
mod reception;

/// A request on its way; one for all the nodes that are asked.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) client: usize,
    pub(crate) tag: Tag,
    pub(crate) request: Request,
    /// Of which list of nodes the client was.
    pub(crate) list: u32,
    /// Before it left, by the client's clock.
    pub(crate) asked: Instant,
}

/// All connections, and what is cut.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) law: Links,
    /// Decides what leaves together. Of its own, so that a seed draws the same of everything else.
    departures: Rng,
    nodes: usize,
    connections: Vec<Connection>,
    down: Fault,
    busy: Fault,
    disconnected: Fault,
    away: Fault,
}

/// The connection of a client to a node.
#[derive(Debug)]
struct Connection {
    /// Counts the changes of `state` that the client knows of: events of former epochs are stale.
    epoch: u32,
    /// Which server it leads to, and which the next one will.
    server: usize,
    /// Which server the node's address leads to by right.
    home: usize,
    /// Which other one it leads to, before this moment.
    detour: (usize, Moment),
    backoff: Backoff,
    state: State,
    /// Whether requests wait for the first connection of the process.
    is_first: bool,
    requests: VecDeque<Sent>,
    /// Which of the requests have not left.
    gathered: Gathered,
    replies: VecDeque<Message>,
    /// The process that the client met when the connection opened.
    met: Option<Identity>,
    /// Before which the client takes the node's votes for abstentions.
    votes_from: Moment,
    /// Sent and not answered, in order, and whether it is a release.
    pending: VecDeque<(Tag, bool)>,
    /// How many messages that travel alone are on their way.
    airborne: usize,
    /// Before which nothing more arrives, since nothing overtakes.
    last_arrival: Moment,
    last_return: Moment,
    /// Until when nothing gets through, to the node and from it.
    cut_there: Moment,
    cut_back: Moment,
}

/// What comes back over a connection.
#[derive(Debug)]
enum Message {
    Reply(Tag, Vote, Option<Reading>),
    Hint(Option<Resource>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// Broken, and the client does not know yet.
    Dead,
    Down,
}

impl Network {
    pub(crate) fn new(setting: &Setting, departures: Rng) -> Self {
        let (nodes, servers) = (setting.nodes, setting.servers());
        let connection = |home| Connection {
            epoch: 0,
            server: home,
            home,
            detour: (home, Moment::START),
            backoff: Backoff::NEW,
            state: State::Down,
            is_first: servers < nodes,
            requests: VecDeque::new(),
            gathered: Gathered::default(),
            replies: VecDeque::new(),
            met: None,
            votes_from: Moment::START,
            pending: VecDeque::new(),
            airborne: 0,
            last_arrival: Moment::START,
            last_return: Moment::START,
            cut_there: Moment::START,
            cut_back: Moment::START,
        };
        Self {
            law: setting.links.clone(),
            departures,
            nodes,
            connections: (0..setting.clients * nodes)
                .map(|link| connection(setting.server(link % nodes)))
                .collect(),
            down: Fault::new(FaultKind::Down, "no connection"),
            busy: Fault::new(FaultKind::Busy, "too many requests wait"),
            disconnected: Fault::new(FaultKind::Disconnected, "the connection broke"),
            away: Fault::new(FaultKind::Rejected, "the proxy reaches no server"),
        }
    }

    pub(crate) const fn link(&self, client: usize, node: usize) -> usize {
        client * self.nodes + node
    }

    /// The client and the server of a connection.
    pub(crate) fn ends(&self, link: usize) -> (usize, usize) {
        (link / self.nodes, self.connections[link].server)
    }

    /// What the client takes the server for.
    const fn node(&self, link: usize) -> usize {
        link % self.nodes
    }

    /// The connections that lead to a server.
    pub(crate) fn leading_to(&self, server: usize) -> Vec<usize> {
        let all = 0..self.links();
        all.filter(|link| self.ends(*link).1 == server).collect()
    }

    pub(crate) fn links(&self) -> usize {
        self.connections.len()
    }

    /// Whether the client can reach the node.
    pub(crate) fn is_up(&self, link: usize) -> bool {
        self.law.lawless || self.connections[link].state == State::Up
    }

    /// The same, and nothing is on its way any more.
    pub(crate) fn is_quiet(&self, link: usize) -> bool {
        let connection = &self.connections[link];
        self.is_up(link) && connection.pending.is_empty() && connection.airborne == 0
    }

    /// Nothing goes wrong any more with what is sent from now on.
    pub(crate) fn heal(&mut self) {
        let law = &mut self.law;
        (law.loss, law.lost_replies, law.doubles, law.tail) = (0, 0, 0, 0);
        // A way that is longer than the nodes' time limit lets nobody win.
        law.delay_ns.1 = law.delay_ns.1.min(MILLISECOND);
        law.room = Links::ROOM;
    }

    /// Until then the address leads to another server, for whoever connects by it.
    pub(crate) fn reroute(&mut self, link: usize, server: usize, until: Moment) {
        self.connections[link].detour = (server, until);
    }

    /// Cuts one direction, or both.
    pub(crate) fn cut(&mut self, link: usize, there: bool, back: bool, until: Moment) {
        let connection = &mut self.connections[link];
        if there {
            connection.cut_there = connection.cut_there.max(until);
        }
        if back {
            connection.cut_back = connection.cut_back.max(until);
        }
    }
}

impl Connection {
    /// Releases have a reserve of their own, as in the production link.
    fn is_full(&self, request: &Request, room: usize) -> bool {
        let release = is_release(request);
        let alike = self.pending.iter().filter(|(_, other)| *other == release);
        alike.count() >= if release { 2 * room } else { room }
    }
}

const fn is_release(request: &Request) -> bool {
    matches!(request, Request::Release { .. })
}

impl World {
    /// Sends a request over the client's connection. What cannot be sent is answered at once.
    pub(crate) fn send(&mut self, link: usize, parcel: &Rc<Parcel>) {
        if self.network.law.lawless {
            return self.send_alone(link, parcel);
        }
        let law = &self.network.law;
        let connection = &mut self.network.connections[link];
        if connection.is_first {
            return self.put(link, parcel, Moment::START);
        }
        if connection.state == State::Down || connection.is_full(&parcel.request, law.room) {
            let is_down = connection.state == State::Down;
            let fault = if is_down {
                &self.network.down
            } else {
                &self.network.busy
            };
            let vote = Vote::Unknown(fault.clone());
            self.reply(link, parcel.tag, vote, None);
            return;
        }
        if connection.state == State::Dead {
            let waits = (parcel.tag, is_release(&parcel.request));
            return connection.pending.push_back(waits);
        }
        let (epoch, loss) = (connection.epoch, law.loss);
        let leaves = self.now.max(connection.cut_there);
        let at = leaves
            .after(self.delay_ns())
            .max(self.network.connections[link].last_arrival);
        self.network.connections[link].last_arrival = at;
        self.put(link, parcel, at);
        self.queue.plan(at, Event::Arrive { link, epoch });
        if self.rng.chance(loss) {
            let at = self.now.after(2 * self.delay_ns());
            self.queue.plan(at, Event::Break { link, epoch });
        }
    }

    pub(crate) fn arrive(&mut self, link: usize, epoch: u32) {
        let (client, node) = self.network.ends(link);
        let hung_until = self.nodes[node].hung_until;
        if self.network.connections[link].epoch == epoch && self.now < hung_until {
            // The request keeps its place; only the occasion to take one is put off.
            return self.queue.plan(hung_until, Event::Arrive { link, epoch });
        }
        let connection = &mut self.network.connections[link];
        if connection.epoch != epoch || connection.state != State::Up {
            return;
        }
        let Some(first) = connection.requests.front() else {
            return;
        };
        if self.now < first.not_before {
            let at = first.not_before;
            return self.queue.plan(at, Event::Arrive { link, epoch });
        }
        let parcels = self.in_one_call(link);
        let answers = self.ask_together(link, &parcels);
        if self.rng.chance(self.network.law.lost_replies) {
            let now = self.now;
            self.trace
                .tell(now, || format!("n{node} → c{client}  the answer is lost"));
            return self.break_connection(link);
        }
        for (parcel, (vote, reading)) in parcels.iter().zip(answers) {
            let reply = Message::Reply(parcel.tag, vote, reading);
            self.network.connections[link].replies.push_back(reply);
            self.return_later(link);
        }
    }

    /// Something sets out for the client, behind what is on its way.
    fn return_later(&mut self, link: usize) {
        let connection = &self.network.connections[link];
        let (epoch, leaves) = (connection.epoch, self.now.max(connection.cut_back));
        let at = leaves
            .after(self.delay_ns())
            .max(self.network.connections[link].last_return);
        self.network.connections[link].last_return = at;
        self.queue.plan(at, Event::Return { link, epoch });
    }

    pub(crate) fn return_reply(&mut self, link: usize, epoch: u32) {
        let connection = &mut self.network.connections[link];
        if connection.epoch != epoch {
            return;
        }
        let (tag, vote, reading) = match connection.replies.pop_front() {
            Some(Message::Reply(tag, vote, reading)) => (tag, vote, reading),
            Some(Message::Hint(resource)) => return self.hear_hint(link, resource),
            None => return,
        };
        assert_eq!(
            connection.pending.pop_front().map(|(tag, _)| tag),
            Some(tag),
            "answers come in order"
        );
        self.reply(link, tag, vote, reading);
    }

    /// Breaks a connection, unless it is broken already. What the node has in its buffer it may still
    /// carry out: at once, or as a ghost, when newer requests may have come over another connection.
    pub(crate) fn break_connection(&mut self, link: usize) {
        let (client, node) = self.network.ends(link);
        let connection = &mut self.network.connections[link];
        if connection.state != State::Up {
            return;
        }
        connection.state = State::Dead;
        self.forget_watches(link);
        let connection = &mut self.network.connections[link];
        let epoch = connection.epoch;
        let requests = std::mem::take(&mut connection.requests);
        connection.gathered = Gathered::default();
        if self.rng.coin() {
            connection.replies.clear();
        }
        let carried_out = self.rng.index(requests.len() + 1);
        let now = self.now;
        self.trace.tell(now, || {
            let lost = requests.len() - carried_out;
            format!("c{client} ⇹ n{node}  the connection breaks: {carried_out} in the buffer, {lost} lost")
        });
        let met = self.network.connections[link].met.clone();
        let there = requests.into_iter().take(carried_out);
        self.leave_behind(node, there.map(|sent| sent.parcel), met.as_ref());
        let detected = self.rng.between(0, self.network.law.detect_ns);
        let at = self.now.after(detected);
        self.queue.plan(at, Event::Detect { link, epoch });
    }

    fn leave_behind(
        &mut self,
        node: usize,
        requests: impl Iterator<Item = Rc<Parcel>>,
        met: Option<&Identity>,
    ) {
        if !self.nodes[node].is_up {
            return;
        }
        let mut at = self.now.max(self.nodes[node].hung_until);
        let latest = at.after(GHOSTS_NS);
        for parcel in requests {
            if self.network.law.ghosts {
                let pause_ns = self.rng.between(0, 100 * MILLISECOND);
                at = at.after(pause_ns).min(latest);
            }
            if at == self.now {
                self.execute(node, &parcel, met);
                self.touch(node, None, parcel.request.resource());
            } else {
                let met = met.cloned();
                self.queue.plan(at, Event::Ghost { node, parcel, met });
            }
        }
    }

    /// The client learns that its connection is gone: first what that cost, then that it is so.
    pub(crate) fn detect(&mut self, link: usize, epoch: u32) {
        let connection = &mut self.network.connections[link];
        if connection.epoch != epoch || connection.state == State::Down {
            return;
        }
        connection.epoch += 1;
        connection.state = State::Down;
        connection.replies.clear();
        let pending = std::mem::take(&mut connection.pending);
        for (tag, _) in pending {
            let vote = Vote::Unknown(self.network.disconnected.clone());
            self.reply(link, tag, vote, None);
        }
        self.input(link, Input::Down);
        self.connect_later(link);
    }

    fn send_alone(&mut self, link: usize, parcel: &Rc<Parcel>) {
        let generation = self.clients[self.network.ends(link).0].generation;
        let copies = if self.rng.chance(self.network.law.doubles) {
            2
        } else {
            1
        };
        for _ in 0..copies {
            if self.rng.chance(self.network.law.loss) {
                continue;
            }
            let at = self.now.after(self.delay_ns());
            self.network.connections[link].airborne += 1;
            let parcel = Rc::clone(parcel);
            self.queue.plan(
                at,
                Event::Datagram {
                    link,
                    generation,
                    parcel,
                },
            );
        }
    }

    pub(crate) fn datagram(&mut self, link: usize, generation: u32, parcel: Rc<Parcel>) {
        let (_, node) = self.network.ends(link);
        let hung_until = self.nodes[node].hung_until;
        if self.now < hung_until {
            let event = Event::Datagram {
                link,
                generation,
                parcel,
            };
            return self.queue.plan(hung_until, event);
        }
        self.network.connections[link].airborne -= 1;
        if !self.nodes[node].is_up || self.now < self.network.connections[link].cut_there {
            return;
        }
        let (vote, reading) = self.ask(link, &parcel);
        let law = &self.network.law;
        let is_cut = self.now < self.network.connections[link].cut_back;
        let lost = law.loss.max(law.lost_replies);
        let copies = if self.rng.chance(law.doubles) { 2 } else { 1 };
        for _ in 0..copies {
            if is_cut || self.rng.chance(lost) {
                continue;
            }
            let at = self.now.after(self.delay_ns());
            self.network.connections[link].airborne += 1;
            let (tag, vote) = (parcel.tag, vote.clone());
            let echo = Echo {
                link,
                generation,
                tag,
                vote,
                reading,
            };
            self.queue.plan(at, Event::Echo(Box::new(echo)));
        }
    }

    pub(crate) fn echo(&mut self, echo: Echo) {
        let (client, _) = self.network.ends(echo.link);
        self.network.connections[echo.link].airborne -= 1;
        if self.clients[client].generation == echo.generation {
            self.reply(echo.link, echo.tag, echo.vote, echo.reading);
        }
    }

    /// Puts the answer of the server at the other end before the client.
    fn reply(&mut self, link: usize, tag: Tag, vote: Vote, reading: Option<Reading>) {
        let server = NodeId::new(self.network.ends(link).1).expect("there are few nodes");
        self.input(link, |node| Input::Reply {
            node,
            server,
            tag,
            vote,
            reading,
        });
    }

    /// Puts what the link tells before the client.
    fn input(&mut self, link: usize, input: impl FnOnce(NodeId) -> Input) {
        let (client, _) = self.network.ends(link);
        let node = NodeId::new(self.network.node(link)).expect("there are few nodes");
        self.clients[client].inbox.push_back(input(node));
        self.touched = Some(client);
    }

    /// The connection breaks, if it is still the same one.
    pub(crate) fn break_if(&mut self, link: usize, epoch: u32) {
        if self.network.connections[link].epoch == epoch {
            self.break_connection(link);
        }
    }

    fn delay_ns(&mut self) -> u64 {
        let law = &self.network.law;
        let delay = self.rng.between(law.delay_ns.0, law.delay_ns.1);
        if self.rng.chance(law.tail) {
            delay + self.rng.below(law.tail_ns)
        } else {
            delay
        }
    }
}
