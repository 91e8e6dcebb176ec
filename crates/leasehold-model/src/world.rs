//! The world at one moment: clients, nodes, and what is under way between them.

mod closing;
mod exchange;
mod hearing;
mod replacing;

use crate::{
    client::{Client, RESOURCE, resources},
    clock::{self, TICK},
    flaw::Flaw,
    link::Link,
    news::{News, Tidings},
    part::Part,
    shape::Shape,
    step::Step,
    story::Story,
};
use leasehold_core::{Instant, Quorum, Request, Resource, Table, table::Key};
use replacing::Replacement;
use std::{collections::VecDeque, time::Duration};

/// Everything that decides what can happen from here on.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct World {
    /// How many ticks have passed.
    pub(crate) tick: u8,
    pub(crate) clients: Vec<Part<Client>>,
    tables: Vec<Part<Table>>,
    /// Client by client, the links to all nodes.
    links: Vec<Part<Link>>,
    pub(crate) left: Faults,
    /// How far the change of the list of nodes is, if there is one.
    pub(crate) replacement: Replacement,
    /// The nodes on which something has happened that did not happen on all alike, one bit each.
    touched: u8,
    /// How many leases were handed out; two stand for more.
    leases: u8,
    /// What the last step brought about.
    pub(crate) tidings: Tidings,
    pub(crate) flaw: Option<Flaw>,
    has_ended: bool,
}

/// How often something may still go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Faults {
    /// Links that may be slow at the same time: while one is, requests and answers each take any time there,
    /// until nothing is on its way. The others carry a request to the node and its answer back in one step, at
    /// any moment of the tick.
    pub(crate) slow: u8,
    /// Connections lost.
    pub(crate) breaks: u8,
    /// Requests for which a link has no room.
    pub(crate) refusals: u8,
    /// Requests that overtake another.
    pub(crate) overtakings: u8,
    /// Nodes that forget their keys.
    pub(crate) losses: u8,
    /// Keys that somebody deletes blindly.
    pub(crate) deletes: u8,
}

impl World {
    pub(crate) fn new(shape: &Shape) -> Self {
        let quorum = Quorum::majority(shape.nodes).expect("there are nodes");
        let clients = shape.clients.iter();
        Self {
            tick: 0,
            clients: clients
                .map(|habit| Part::new(Client::new(habit, quorum)))
                .collect(),
            tables: vec![Part::new(Table::new()); shape.servers()],
            links: vec![Part::new(Link::default()); shape.nodes * shape.clients.len()],
            left: shape.faults,
            replacement: Replacement::default(),
            // Where one is replaced, no two are alike.
            touched: if shape.newcomer.is_some() { u8::MAX } else { 0 },
            leases: 0,
            tidings: Tidings::default(),
            flaw: None,
            has_ended: false,
        }
    }

    /// Takes a step, and looks whether all is well after it.
    pub(crate) fn take(&mut self, shape: &Shape, step: Step, story: &mut Story) {
        self.tidings = Tidings::default();
        self.act(shape, step, story);
        self.look(shape, story);
        self.clients.iter_mut().for_each(Part::seal);
        self.tables.iter_mut().for_each(Part::seal);
        self.links.iter_mut().for_each(Part::seal);
    }

    fn act(&mut self, shape: &Shape, step: Step, story: &mut Story) {
        match step {
            Step::Tick => self.pass(shape),
            Step::Acquire(client)
            | Step::Extend(client, _)
            | Step::Release(client, _)
            | Step::Cancel(client, _)
            | Step::Wake(client)
            | Step::Stop(client)
            | Step::GoOn(client) => self.on_client(shape, step, client, story),
            Step::CarryOut(client, node)
            | Step::Hear(client, node)
            | Step::SlowDown(client, node)
            | Step::BreakOff(client, node)
            | Step::BreakAfter(client, node)
            | Step::ComeUp(client, node)
            | Step::Refuse(client, node)
            | Step::Overtake(client, node)
            | Step::Haunt(client, node) => self.on_link(shape, step, client, node, story),
            Step::Forget(node) => {
                story.tell(self.tick, || format!("n{node} forgets its keys"));
                self.touch(node);
                self.left.losses -= 1;
                *self.tables[node].open() = Table::new();
            }
            Step::Delete(node) => self.delete(shape, node, story),
            Step::Tell(node) => self.tell_of_the_new_list(node, story),
            Step::Settle => self.settle_the_newcomer(shape, story),
            Step::LetGo => self.let_go(shape, story),
        }
    }

    /// Takes a step of one client, and everything that follows from it without delay.
    fn on_client(&mut self, shape: &Shape, step: Step, number: usize, story: &mut Story) {
        let now = self.client_time();
        let what = match step {
            Step::Acquire(_) => "wants the lease",
            Step::Extend(..) => "wants to extend its lease",
            Step::Release(..) => "lets go of its lease",
            Step::Cancel(..) => "does not want it any more",
            Step::Stop(_) => "stops",
            Step::GoOn(_) => "goes on",
            _ => "looks at the clock",
        };
        story.tell(self.tick, || format!("c{number} {what}"));
        let client = self.clients[number].open();
        match step {
            Step::Acquire(_) => client.acquire(now, number, &shape.clients[number]),
            Step::Extend(_, about) => client.extend(now, about),
            Step::Release(_, about) => client.release(now, about),
            Step::Cancel(_, about) => {
                self.tidings.add(News::Cancelled);
                client.cancel(now, about);
            }
            Step::Stop(_) => client.stop(),
            Step::GoOn(_) => client.is_stopped = false,
            _ => client.engine.handle_timeout(now),
        }
        self.settle(shape, number, VecDeque::new(), story);
    }

    fn pass(&mut self, shape: &Shape) {
        self.tick += 1;
        for node in 0..shape.servers() {
            let now = self.node_time(shape, node);
            if shape.sweeps && !self.has_key(shape, node) {
                self.tables[node].open().sweep(now);
            }
        }
    }

    fn delete(&mut self, shape: &Shape, node: usize, story: &mut Story) {
        self.touch(node);
        self.left.deletes -= 1;
        let now = self.node_time(shape, node);
        let Some(key) = self.tables[node].key(now, &RESOURCE) else {
            return;
        };
        story.tell(self.tick, || {
            format!("somebody deletes the key of {} on n{node}", key.owner)
        });
        let blind = Request::Release {
            resource: RESOURCE.clone(),
            owner: key.owner.clone(),
            keep: None,
        };
        self.tables[node].open().apply(now, &blind);
    }

    fn touch(&mut self, node: usize) {
        self.touched |= 1 << node;
    }

    pub(crate) const fn is_touched(&self, node: usize) -> bool {
        self.touched & (1 << node) != 0
    }

    /// Whether nothing more can happen, or need be looked at.
    pub(crate) const fn is_over(&self) -> bool {
        self.has_ended || self.flaw.is_some()
    }

    pub(crate) fn link(&self, shape: &Shape, client: usize, node: usize) -> &Link {
        &self.links[index(shape, client, node)]
    }

    /// Whether something is on its way that does not take a tick.
    pub(crate) fn is_held_up(&self, shape: &Shape) -> bool {
        let mut links = self.links.iter().enumerate();
        links.any(|(index, link)| link.holds_up_time(self.clients[index / shape.nodes].is_stopped))
    }

    fn true_time(&self) -> Duration {
        TICK * u32::from(self.tick)
    }

    pub(crate) fn client_time(&self) -> Instant {
        clock::of_client(self.true_time())
    }

    fn node_time(&self, shape: &Shape, node: usize) -> Instant {
        clock::of_node(self.true_time(), shape.rate(node))
    }

    /// The keys of all resources.
    fn keys(&self, shape: &Shape, node: usize) -> impl Iterator<Item = &Key> {
        let each = resources().into_iter();
        each.flat_map(move |resource| self.keys_of(shape, node, resource))
    }

    /// The holder's key of a resource, or the shares of all readers.
    fn keys_of(&self, shape: &Shape, node: usize, of: &Resource) -> impl Iterator<Item = &Key> {
        let (now, table) = (self.node_time(shape, node), &self.tables[node]);
        table.key(now, of).into_iter().chain(table.readers(now, of))
    }

    pub(crate) fn has_key(&self, shape: &Shape, node: usize) -> bool {
        self.keys(shape, node).next().is_some()
    }
}

/// Where the link of a client to a node stands.
const fn index(shape: &Shape, client: usize, node: usize) -> usize {
    client * shape.nodes + node
}
