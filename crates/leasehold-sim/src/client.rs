//! A process that uses the engine: what the shell and the facade do in production, on simulated ground.

use crate::{
    application::Slot,
    clock::Clock,
    network::Parcel,
    queue::Event,
    replacement::FORMER,
    time::Moment,
    world::{World, signer},
};
use leasehold_core::{
    Engine, Event as Told, Identity, Instant, LinkChange, NodeId, NodeSet, Operation, OperationId,
    Quorum, Reading, Refusal, Resource, Seed, Tag, Vote, owner,
};
use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    time::Duration,
};

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) engine: Engine,
    /// How many operations this engine was asked to do.
    operations: u64,
    pub(crate) clock: Clock,
    /// What the wall clock shows at the clock's origin.
    epoch: Duration,
    /// Counts the processes that ran here one after another.
    pub(crate) generation: u32,
    pub(crate) is_alive: bool,
    /// The whole process stands still until then.
    pub(crate) stopped_until: Moment,
    /// The application does not get to run until then; the engine does.
    pub(crate) starved_until: Moment,
    /// Which list of nodes it knows.
    pub(crate) list: u32,
    /// The nodes that have said that they are of another.
    pub(crate) told: NodeSet,
    /// What the links tell.
    pub(crate) inbox: VecDeque<Input>,
    /// What the application was told and has not seen yet.
    pub(crate) mail: VecDeque<(OperationId, Told)>,
    pub(crate) slots: Vec<Slot>,
    /// Until when the leases that were handed out are valid, as the guards see it: written by the engine's
    /// side, whether or not the application runs.
    pub(crate) valid_until: BTreeMap<OperationId, Instant>,
    /// When the engine will be woken.
    wakes_at: Moment,
}

/// What a link tells.
#[derive(Debug)]
pub(crate) enum Input {
    Reply {
        node: NodeId,
        /// Which server has answered: for the checkers alone.
        server: NodeId,
        tag: Tag,
        vote: Vote,
        reading: Option<Reading>,
    },
    /// Connected, to this process.
    Up(NodeId, Option<Identity>),
    Down(NodeId),
    /// The key of this resource may have changed, or any.
    Hint(NodeId, Option<Resource>),
}

impl Client {
    pub(crate) fn new(quorum: Quorum, clock: Clock, epoch: Duration, slots: usize) -> Self {
        Self {
            engine: engine(quorum, epoch),
            operations: 0,
            clock,
            epoch,
            generation: 0,
            is_alive: true,
            stopped_until: Moment::START,
            starved_until: Moment::START,
            list: FORMER,
            told: NodeSet::EMPTY,
            inbox: VecDeque::new(),
            mail: VecDeque::new(),
            slots: (0..slots).map(|_| Slot::default()).collect(),
            valid_until: BTreeMap::new(),
            wakes_at: Moment::NEVER,
        }
    }

    /// Whether the process runs at `now`.
    pub(crate) fn runs(&self, now: Moment) -> bool {
        self.is_alive && now >= self.stopped_until
    }

    pub(crate) fn time(&self, now: Moment) -> Instant {
        self.clock.read(now)
    }

    /// The process is gone, and everything that it knew.
    pub(crate) fn die(&mut self, quorum: Quorum) {
        self.generation += 1;
        self.is_alive = false;
        self.engine = engine(quorum, self.epoch);
        self.operations = 0;
        self.inbox.clear();
        self.mail.clear();
        self.valid_until.clear();
        for slot in &mut self.slots {
            slot.forget();
        }
        self.wakes_at = Moment::NEVER;
    }
}

fn engine(quorum: Quorum, epoch: Duration) -> Engine {
    let mut engine = Engine::new(quorum);
    engine.set_epoch(epoch);
    engine
}

impl World {
    /// Lets a client do everything that there is to do, as the shell does when something wakes it.
    pub(crate) fn turn(&mut self, client: usize) {
        let mut rounds = 0;
        while self.clients[client].runs(self.now) && self.turn_once(client) {
            rounds += 1;
            assert!(
                rounds < 10_000,
                "the engine comes to rest when nothing happens"
            );
        }
        self.wake_later(client);
    }

    fn turn_once(&mut self, client: usize) -> bool {
        let now = self.clients[client].time(self.now);
        let mut moved = false;
        // After a pause, timers are due and answers wait: either may come first.
        let timers_first = self.clients[client].inbox.is_empty() || self.rng.coin();
        if timers_first {
            moved |= self.look_at_the_clock(client, now);
        }
        while let Some(input) = self.clients[client].inbox.pop_front() {
            moved = true;
            self.hear(client, now, input);
        }
        if !timers_first {
            moved |= self.look_at_the_clock(client, now);
        }
        let mut asked = Vec::new();
        while let Some(send) = self.clients[client].engine.poll_send() {
            moved = true;
            let mut nodes = 0..self.setting.nodes;
            let is_heard = nodes.all(|node| self.network.is_up(self.network.link(client, node)));
            self.checks.sent(client, (now, self.now), &send, is_heard);
            asked.push(send.tag.attempt.operation);
            let (tag, request) = (send.tag, send.request);
            let parcel = Rc::new(Parcel {
                client,
                tag,
                request,
                list: self.clients[client].list,
                asked: now,
            });
            self.tell_send(&parcel, send.nodes);
            for node in send.nodes.iter() {
                self.send(self.network.link(client, node.index()), &parcel);
            }
        }
        while let Some((operation, told)) = self.clients[client].engine.poll_event() {
            moved = true;
            match told {
                Told::Changed(change) => self.changed(client, operation, &change),
                told => self.ended(client, operation, told),
            }
        }
        // Whoever was before them has been told by now if it gave up.
        for operation in asked {
            let in_turn = self.checks.waiting.has_turn(client, operation);
            self.note(in_turn);
        }
        let told_in_time = self.checks.loss.nothing_untold(client, now);
        self.note(told_in_time);
        moved
    }

    fn look_at_the_clock(&mut self, client: usize, now: Instant) -> bool {
        let engine = &mut self.clients[client].engine;
        let due = engine.poll_timeout().is_some_and(|at| at <= now);
        if due {
            engine.handle_timeout(now);
        }
        due
    }

    fn hear(&mut self, client: usize, now: Instant, input: Input) {
        let engine = &mut self.clients[client].engine;
        match input {
            Input::Reply {
                node,
                server,
                tag,
                vote,
                reading,
            } => {
                // The clock before the vote: a vote that was cast after a step is as good as any.
                let step = reading.and_then(|reading| engine.handle_clock(now, node, reading));
                if let Some(step) = step {
                    self.trace.tell(self.now, || {
                        format!("c{client}       sees a step of {node}'s clock: {step:?}")
                    });
                }
                self.checks.validity.heard(client, now, server, tag, &vote);
                self.checks.detached.heard(client, server, tag, &vote);
                self.checks.loss.tries.heard(client, now, node, tag, &vote);
                let at = self.now;
                self.trace.tell(at, || {
                    format!("{node} → c{client}  {} {}", name(tag), answer(&vote))
                });
                self.hear_of_a_list(client, node, &vote);
                let engine = &mut self.clients[client].engine;
                engine.handle_reply(now, node, tag, vote);
            }
            Input::Up(node, identity) => {
                engine.handle_link(now, node, LinkChange::Up(identity));
            }
            Input::Hint(node, resource) => {
                self.trace.tell(self.now, || {
                    let what = resource
                        .as_ref()
                        .map_or("anything".into(), ToString::to_string);
                    format!("{node} → c{client}  {what} may have changed")
                });
                engine.handle_hint(now, node, resource.as_ref());
            }
            Input::Down(node) => engine.handle_link(now, node, LinkChange::Down),
        }
    }

    /// Submits an operation of the application. What follows from it happens in the client's turn.
    pub(crate) fn submit(&mut self, client: usize, operation: Operation) -> OperationId {
        let about = match operation {
            Operation::Acquire(_)
            | Operation::Inspect { .. }
            | Operation::Evict { .. }
            | Operation::Prolong { .. } => None,
            Operation::Extend { lease, .. }
            | Operation::Heartbeat(lease)
            | Operation::HandOver(lease)
            | Operation::Release(lease)
            | Operation::Cancel(lease) => Some(lease),
        };
        let ends_with_an_event =
            !matches!(operation, Operation::Cancel(_) | Operation::Heartbeat(_));
        let mut bytes = [0; Seed::LENGTH];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.rng.next().to_le_bytes()[..chunk.len()]);
        }
        self.touched = Some(client);
        let client_id = client;
        let client = &mut self.clients[client];
        let now = client.clock.read(self.now);
        let id = OperationId::new(client.operations);
        client.operations += 1;
        client
            .engine
            .submit(now, id, || Seed::new(bytes), operation);
        if ends_with_an_event {
            self.checks
                .progress
                .begun(client_id, id, about.unwrap_or(id));
        }
        id
    }

    fn wake_later(&mut self, client: usize) {
        let now = self.now;
        let this = &mut self.clients[client];
        let Some(reading) = this.engine.poll_timeout() else {
            return;
        };
        let at = this.clock.when(reading).max(now);
        if this.runs(now) && (at < this.wakes_at || this.wakes_at <= now) {
            this.wakes_at = at;
            let generation = this.generation;
            self.queue.plan(at, Event::Wake { client, generation });
        }
    }

    pub(crate) fn wake(&mut self, client: usize, generation: u32) {
        let this = &mut self.clients[client];
        if this.generation == generation {
            if this.wakes_at <= self.now {
                this.wakes_at = Moment::NEVER;
            }
            self.touched = Some(client);
        }
    }

    /// Stops the whole process for a while.
    pub(crate) fn stop(&mut self, client: usize, until: Moment) {
        let this = &mut self.clients[client];
        this.stopped_until = until;
        let generation = this.generation;
        self.queue.plan(until, Event::Resume { client, generation });
    }

    pub(crate) fn resume(&mut self, client: usize, generation: u32) {
        let this = &mut self.clients[client];
        // The machine wakes whether or not the process is still the same.
        this.clock.go(self.now);
        if this.generation == generation {
            self.touched = Some(client);
        }
    }
}

/// What the story calls an answer.
pub(crate) fn answer(vote: &Vote) -> String {
    match vote {
        Vote::Granted { .. } => "granted".to_owned(),
        Vote::Unknown(fault) => format!("unknown: {fault}"),
        Vote::Refused(refusal) => format!("{}{}", refused(refusal), place(refusal)),
    }
}

fn place(refusal: &Refusal) -> String {
    refusal.queued.map_or_else(String::new, |queued| {
        format!(", behind {} with ticket {}", queued.ahead, queued.ticket)
    })
}

fn refused(refusal: &Refusal) -> String {
    match (&refusal.holder, refusal.remaining) {
        (Some(holder), Some(left)) => {
            let bytes = holder.as_bytes();
            let start = owner::hexadecimal(&bytes[..bytes.len().min(4)]);
            match signer(holder) {
                Some((client, _)) => format!("refused: {start}… of c{client} for {left:?}"),
                None => format!("refused: another program for {left:?}"),
            }
        }
        (None, left) => match (refusal.permits.as_deref(), left) {
            (Some(taken), _) => {
                let slots = taken.slots.iter().map(|(slot, _)| slot.to_string());
                let slots = slots.collect::<Vec<_>>().join(", ");
                format!("refused: of {}, {slots} are taken", taken.of)
            }
            (None, Some(left)) => format!("refused: others have parts for {left:?}"),
            (None, None) => "refused: no such key".to_owned(),
        },
        (Some(_), None) => "refused: a key for ever".to_owned(),
    }
}

/// What the story calls a request.
pub(crate) fn name(tag: Tag) -> String {
    let attempt = tag.attempt;
    format!(
        "[{}.{}.{}]",
        attempt.operation.number(),
        attempt.number,
        tag.step
    )
}
