//! A world in one thread: who does what when, and what must hold meanwhile.

use crate::acquire_request;
use core::time::Duration;
use leasehold_core::{
    AttemptId, AutoRenewal, Engine, Event, Fault, FaultKind, Instant, LeaseChange, LinkChange,
    NodeId, NodeSet, Operation, OperationId, Owner, Permit, PermitCount, Quorum, RenewalPolicy,
    Request, Resource, Seed, Table, Tag, Vote,
};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const TTL: Duration = Duration::from_millis(1_000);
const ALLOWANCE: Duration = Duration::from_millis(12);

/// Whether messages may be lost or repeated, or delayed beyond the TTL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kindness {
    Delivers,
    Loses,
}

pub(crate) struct World {
    now: Instant,
    kindness: Kindness,
    quorum: Quorum,
    /// Of how many permits each client wants one, if it does not want all of the resource.
    permits: Option<PermitCount>,
    clients: Vec<Client>,
    tables: Vec<Table>,
    queue: BTreeMap<(Instant, u64), Happening>,
    queued: u64,
    dice: Vec<u8>,
    /// Whose keys must be gone at the end.
    given_back: BTreeSet<Vec<u8>>,
}

struct Client {
    engine: Engine,
    wishes: u8,
    /// The acquisition whose lease is held, until when.
    held: Option<(OperationId, Instant)>,
    /// The permit that it has, or had last.
    permit: Option<Permit>,
    sent: BTreeMap<Tag, Instant>,
    granted: BTreeMap<Tag, NodeSet>,
    released: BTreeMap<AttemptId, NodeSet>,
    attempts: BTreeMap<AttemptId, Owner>,
    extending: BTreeMap<OperationId, Tag>,
    last_extension: Option<Tag>,
}

#[derive(Clone)]
enum Happening {
    Arrival(usize, NodeId, Tag, Request),
    Answer(usize, NodeId, Tag, Vote),
    Up(usize, NodeId),
    Wake(usize),
    Want(usize),
    Extend(usize, OperationId),
    Release(usize, OperationId),
    Cancel(usize, OperationId),
}

impl World {
    pub(crate) fn new(nodes: usize, clients: usize, kindness: Kindness, dice: Vec<u8>) -> Self {
        let quorum = Quorum::majority(nodes).expect("1 to 5 nodes");
        let client = |_| Client {
            engine: Engine::new(quorum),
            wishes: 3,
            held: None,
            permit: None,
            sent: BTreeMap::new(),
            granted: BTreeMap::new(),
            released: BTreeMap::new(),
            attempts: BTreeMap::new(),
            extending: BTreeMap::new(),
            last_extension: None,
        };
        let mut world = Self {
            now: Instant::from_origin(Duration::from_secs(1)),
            kindness,
            quorum,
            permits: None,
            clients: (0..clients).map(client).collect(),
            tables: vec![Table::new(); nodes],
            queue: BTreeMap::new(),
            queued: 0,
            dice,
            given_back: BTreeSet::new(),
        };
        for client in 0..clients {
            world.soon(0, Happening::Want(client));
        }
        world
    }

    /// The same, where each client wants one of so many permits.
    pub(crate) fn of_permits(mut self, permits: u16) -> Self {
        self.permits = PermitCount::new(permits);
        self
    }

    pub(crate) fn run(mut self) {
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            self.now = at;
            self.happen(happening);
        }
        for client in &self.clients {
            assert_eq!(client.engine.releases(), 0, "everything was given back");
            assert_eq!(
                client.engine.poll_timeout(),
                None,
                "nobody waits for anything"
            );
        }
        let end = match self.kindness {
            Kindness::Delivers => self.now,
            Kindness::Loses => self.now.saturating_add(TTL),
        };
        let resource = Resource::new("r").expect("a plain name");
        for table in &self.tables {
            let parts = table.readers(end, &resource);
            for key in table.key(end, &resource).into_iter().chain(parts) {
                let left = self.given_back.contains(key.owner.as_bytes());
                assert!(!left, "a key of {} was left", key.owner);
            }
        }
    }

    fn die(&mut self) -> u8 {
        self.dice.pop().unwrap_or(0)
    }

    fn at(&mut self, at: Instant, happening: Happening) {
        self.queued += 1;
        self.queue.insert((at, self.queued), happening);
    }

    fn soon(&mut self, millis: u64, happening: Happening) {
        self.at(
            self.now.saturating_add(Duration::from_millis(millis)),
            happening,
        );
    }

    /// Mostly quick, sometimes slower than a node's time limit; in an unkind world also than the TTL.
    fn delay(&mut self) -> u64 {
        match (self.die(), self.kindness) {
            (die @ 0..200, _) => 1 + u64::from(die) / 20,
            (die, Kindness::Delivers) => u64::from(die) / 2,
            (die, Kindness::Loses) => (u64::from(die) - 199) * 25,
        }
    }

    fn happen(&mut self, happening: Happening) {
        let now = self.now;
        match happening {
            Happening::Arrival(client, node, tag, request) => {
                let vote = self.tables[node.index()].apply(now, &request);
                let delay = self.delay();
                if self.kindness == Kindness::Delivers || self.die() < 225 {
                    self.soon(delay, Happening::Answer(client, node, tag, vote.clone()));
                } else {
                    self.give_up_connection(client, node, tag);
                }
                if self.die() > 230 {
                    let delay = self.delay();
                    self.soon(delay, Happening::Answer(client, node, tag, vote));
                }
                return;
            }
            Happening::Answer(client, node, tag, vote) => {
                let client = &mut self.clients[client];
                if vote == Vote::GRANTED {
                    client.granted.entry(tag).or_default().insert(node);
                }
                client.engine.handle_reply(now, node, tag, vote);
            }
            Happening::Up(client, node) => {
                self.clients[client]
                    .engine
                    .handle_link(now, node, LinkChange::Up(None));
            }
            Happening::Wake(client) => self.clients[client].engine.handle_timeout(now),
            Happening::Want(client) => self.want(client),
            Happening::Extend(client, id) => {
                let extension = self.submit(
                    client,
                    Operation::Extend {
                        lease: id,
                        ttl: None,
                    },
                );
                self.note_extension(client, extension);
            }
            Happening::Release(client, id) => {
                self.clients[client].held.take_if(|(held, _)| *held == id);
                self.submit(client, Operation::Release(id));
            }
            Happening::Cancel(client, id) => {
                self.submit(client, Operation::Cancel(id));
            }
        }
        self.drain();
    }

    fn submit(&mut self, client: usize, operation: Operation) -> OperationId {
        let mut bytes = [0; Seed::LENGTH];
        self.queued += 1;
        bytes[..8].copy_from_slice(&self.queued.to_be_bytes());
        bytes[20] = self.die();
        let (seed, id) = (Seed::new(bytes), OperationId::new(self.queued));
        self.clients[client]
            .engine
            .submit(self.now, id, || seed, operation);
        id
    }

    fn want(&mut self, client: usize) {
        if self.clients[client].wishes == 0 {
            return;
        }
        self.clients[client].wishes -= 1;
        let patience = (self.die() > 200).then_some(Duration::from_millis(90));
        let policy = RenewalPolicy {
            renewal: if self.die() > 150 {
                AutoRenewal::Thirds
            } else {
                AutoRenewal::Off
            },
            ..RenewalPolicy::default()
        };
        let mut acquire = acquire_request(patience, policy);
        if let Some(of) = self.permits {
            acquire.resource = Resource::permit(acquire.resource.as_str(), of).expect("a name");
        }
        let id = self.submit(client, Operation::Acquire(acquire));
        if self.die() > 230 {
            let delay = self.delay();
            self.soon(delay, Happening::Cancel(client, id));
        }
    }

    /// Which request belongs to an extension that was just submitted: its own, or, if it sent none, that
    /// of the extension under way, whose result it shares.
    fn note_extension(&mut self, client: usize, extension: OperationId) {
        while let Some(send) = self.clients[client].engine.poll_send() {
            self.send(client, &send);
        }
        let it = &mut self.clients[client];
        if let Some(tag) = it.last_extension {
            it.extending.insert(extension, tag);
        }
    }

    fn drain(&mut self) {
        for client in 0..self.clients.len() {
            while let Some(send) = self.clients[client].engine.poll_send() {
                self.send(client, &send);
            }
            while let Some((id, event)) = self.clients[client].engine.poll_event() {
                self.told(client, id, event);
            }
            if let Some(at) = self.clients[client].engine.poll_timeout() {
                // A thread is never woken too early, and sometimes late.
                let late = self.die().saturating_sub(235);
                let at = at
                    .max(self.now)
                    .saturating_add(Duration::from_millis(u64::from(late)));
                let asked = |((when, _), it): (&(Instant, u64), &Happening)| {
                    *when <= at && matches!(it, Happening::Wake(who) if *who == client)
                };
                if !self.queue.iter().any(asked) {
                    self.at(at, Happening::Wake(client));
                }
            }
        }
    }

    fn send(&mut self, client: usize, send: &leasehold_core::Send) {
        let (tag, now) = (send.tag, self.now);
        let it = &mut self.clients[client];
        it.sent.insert(tag, now);
        match &send.request {
            Request::Acquire { owner, .. } => {
                it.attempts.insert(tag.attempt, owner.clone());
            }
            Request::Repair { .. }
            | Request::Transfer { .. }
            | Request::Raise { .. }
            | Request::Inspect { .. }
            | Request::Leave { .. } => {}
            Request::Extend { .. } => it.last_extension = Some(tag),
            Request::Release { owner, .. } => {
                let nodes = it.released.entry(tag.attempt).or_default();
                *nodes = nodes.union(send.nodes);
                self.given_back.insert(owner.as_bytes().to_vec());
            }
        }
        for node in send.nodes.iter() {
            self.carry(client, node, tag, &send.request);
        }
    }

    fn carry(&mut self, client: usize, node: NodeId, tag: Tag, request: &Request) {
        let arrival = Happening::Arrival(client, node, tag, request.clone());
        let fault = |kind| Vote::Unknown(Fault::new(kind, "fault"));
        let delay = self.delay();
        // A release that is repeated reaches its node in the end.
        let spared = self.kindness == Kindness::Delivers && tag.step > 2;
        match (self.die(), self.kindness) {
            (0..200, _) => self.soon(delay, arrival),
            _ if spared => self.soon(delay, arrival),
            (200..215, _) => {
                self.soon(
                    1,
                    Happening::Answer(client, node, tag, fault(FaultKind::Down)),
                );
                self.soon(30, Happening::Up(client, node));
            }
            (215..225, _) => self.soon(
                1,
                Happening::Answer(client, node, tag, fault(FaultKind::Busy)),
            ),
            (225..240, _) => {
                if self.die() >= 128 {
                    self.tables[node.index()].apply(self.now, request);
                }
                self.soon(
                    2,
                    Happening::Answer(client, node, tag, fault(FaultKind::Disconnected)),
                );
                self.soon(30, Happening::Up(client, node));
            }
            (_, Kindness::Delivers) => self.soon(delay, arrival),
            (240..248, Kindness::Loses) => {
                self.soon(delay, arrival.clone());
                let delay = self.delay();
                self.soon(delay, arrival);
            }
            (_, Kindness::Loses) => self.give_up_connection(client, node, tag),
        }
    }

    /// A message is lost with its connection only, and that is noticed in the end.
    fn give_up_connection(&mut self, client: usize, node: NodeId, tag: Tag) {
        let fault = Fault::new(FaultKind::Disconnected, "no sign of life");
        let answer = Happening::Answer(client, node, tag, Vote::Unknown(fault));
        self.soon(2_500, answer);
        self.soon(2_501, Happening::Up(client, node));
    }

    fn told(&mut self, client: usize, id: OperationId, event: Event) {
        match event {
            Event::Acquired(lease) => {
                self.clients[client].permit = lease.owner.permit();
                self.acquired(client, id, lease.valid_until);
            }
            Event::NotAcquired(_) => {
                self.all_lost_are_released(client, id, None);
                self.soon(40, Happening::Want(client));
            }
            Event::Extended(valid_until) => {
                let tag = self.clients[client].extending[&id];
                self.stands(client, tag, valid_until);
            }
            Event::Changed(LeaseChange::Cut { .. }) => panic!("no clock was set"),
            Event::Changed(LeaseChange::Confirmed { valid_until }) => {
                let extension = self.clients[client].last_extension;
                self.stands(client, extension.expect("it was asked for"), valid_until);
                if let Some((_, until)) = &mut self.clients[client].held {
                    assert!(self.now < *until, "what was lost is never revived");
                    *until = valid_until;
                }
            }
            Event::Released(_) => self.soon(5, Happening::Want(client)),
            Event::Changed(LeaseChange::Lost(_)) => {
                self.clients[client].held.take_if(|(held, _)| *held == id);
            }
            Event::NotExtended(_)
            | Event::HandedOver(_)
            | Event::Inspected(_)
            | Event::Changed(LeaseChange::InDanger(_)) => {}
        }
    }

    fn acquired(&mut self, client: usize, id: OperationId, valid_until: Instant) {
        let holds = |other: &&Client| other.held.is_some_and(|(_, until)| self.now < until);
        let others: Vec<_> = self.clients.iter().filter(holds).collect();
        let most = self.permits.map_or(1, PermitCount::get);
        assert!(
            others.len() < usize::from(most),
            "more than {most} hold the resource at {:?}",
            self.now
        );
        let slot = self.clients[client].permit.map(Permit::slot);
        for other in others {
            let other = other.permit.map(Permit::slot);
            assert!(other != slot, "two have one slot at {:?}", self.now);
        }
        let of = |tag: &&Tag| tag.attempt.operation == id && tag.step == 0;
        let tag = *self.clients[client]
            .sent
            .keys()
            .rfind(of)
            .expect("it was asked for");
        self.all_lost_are_released(client, id, Some(tag.attempt));
        self.stands(client, tag, valid_until);
        self.clients[client].held = Some((id, valid_until));
        let hold = match self.kindness {
            Kindness::Delivers => u64::from(self.die()) * 2,
            Kindness::Loses => u64::from(self.die()) * 5,
        };
        if self.die() > 100 {
            self.soon(hold / 2, Happening::Extend(client, id));
        }
        if self.die() > 100 {
            self.soon(hold / 2 + 20, Happening::Extend(client, id));
        }
        self.soon(hold + 30, Happening::Release(client, id));
    }

    /// A validity stands on a quorum of distinct nodes and on the time before the first request.
    fn stands(&self, client: usize, tag: Tag, valid_until: Instant) {
        let client = &self.clients[client];
        let granted = client.granted.get(&tag).copied().unwrap_or_default();
        assert!(
            granted.len() >= self.quorum.needed(),
            "{granted:?} are no quorum"
        );
        let elapsed = self.now.saturating_since(client.sent[&tag]);
        let validity = valid_until.saturating_since(self.now);
        assert!(
            validity + elapsed + ALLOWANCE <= TTL,
            "validity {validity:?} is too long"
        );
    }

    fn all_lost_are_released(&self, client: usize, id: OperationId, won: Option<AttemptId>) {
        let client = &self.clients[client];
        let lost = client
            .attempts
            .keys()
            .filter(|it| it.operation == id && Some(**it) != won);
        for attempt in lost {
            let released = client.released.get(attempt).copied().unwrap_or_default();
            assert_eq!(
                released,
                self.quorum.nodes(),
                "{attempt:?} is released everywhere"
            );
        }
    }
}
