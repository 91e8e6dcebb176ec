//! A story, played against the engine.

use crate::{
    picture,
    script::{Act, Script, To},
};
use leasehold_core::{
    AcquireRequest, AttemptId, Engine, Instant, NodeId, NodeSet, Operation, OperationId, Owner,
    Reading, Resource, Seed, Tag, Vote,
};
use std::collections::{BTreeMap, VecDeque};

/// What became of the story, line by line.
pub(crate) fn run(script: &Script) -> Vec<String> {
    let mut stage = Stage {
        script,
        engine: Engine::new(script.quorum),
        asleep: false,
        names: BTreeMap::new(),
        operations: BTreeMap::new(),
        open: BTreeMap::new(),
        owners: BTreeMap::new(),
        answered: BTreeMap::new(),
        picture: Vec::new(),
    };
    stage.engine.set_epoch(script.epoch);
    let mut end = Instant::ORIGIN;
    for (at, act) in &script.lines {
        stage.hear_timers(*at);
        stage.play(*at, act);
        stage.note(*at);
        end = *at;
    }
    stage.hear_timers(end.saturating_add(core::time::Duration::from_nanos(1)));
    stage.close(end);
    stage.picture
}

struct Stage<'a> {
    script: &'a Script,
    engine: Engine,
    asleep: bool,
    names: BTreeMap<OperationId, String>,
    operations: BTreeMap<String, OperationId>,
    /// Which requests a node has not answered yet, the oldest first.
    open: BTreeMap<NodeId, VecDeque<Tag>>,
    /// The owners under which attempts ask.
    owners: BTreeMap<AttemptId, Owner>,
    /// Which request a node answered last.
    answered: BTreeMap<NodeId, Tag>,
    picture: Vec<String>,
}

impl Stage<'_> {
    /// Hears every timer that is due before `until`; what the story does comes before a timer of the
    /// same moment.
    fn hear_timers(&mut self, until: Instant) {
        while let Some(at) = self
            .engine
            .poll_timeout()
            .filter(|at| *at < until && !self.asleep)
        {
            self.engine.handle_timeout(at);
            self.note(at);
        }
    }

    fn play(&mut self, at: Instant, act: &Act) {
        match act {
            Act::Acquire(name, wanted) => self.acquire_request(at, name, wanted, None),
            Act::TakeOver(name, from) => self.acquire_request(at, name, name, Some(from)),
            Act::HandOver(name) => {
                let operation = Operation::HandOver(self.operations[name]);
                self.submit(at, format!("hand over {name}"), operation);
            }
            Act::Inspect(name) => {
                let (resource, limit) = (resource(name), self.script.config.timing.node_limit());
                let operation = Operation::Inspect { resource, limit };
                self.submit(at, format!("inspect {name}"), operation);
            }
            Act::Evict(name, owner) => self.act_for_another(at, name, owner, true),
            Act::Prolong(name, owner) => self.act_for_another(at, name, owner, false),
            Act::Extend(name, ttl) => {
                let (lease, ttl) = (self.operations[name], *ttl);
                let operation = Operation::Extend { lease, ttl };
                self.submit(at, format!("extend {name}"), operation);
            }
            Act::Heartbeat(name) => {
                let operation = Operation::Heartbeat(self.operations[name]);
                self.submit(at, format!("heartbeat {name}"), operation);
            }
            Act::Release(name) => {
                let operation = Operation::Release(self.operations[name]);
                self.submit(at, format!("release {name}"), operation);
            }
            Act::Cancel(name) => {
                let operation = Operation::Cancel(self.operations[name]);
                self.submit(at, format!("cancel {name}"), operation);
            }
            Act::Answer(nodes, vote, to) => {
                for node in nodes {
                    self.answer(at, *node, vote, to);
                }
            }
            Act::Link(node, change) => self.engine.handle_link(at, *node, change.clone()),
            Act::Clock(node, reading) => self.clock(at, *node, *reading),
            Act::Hint(node, name) => {
                let named = name.as_deref().map(resource);
                self.engine.handle_hint(at, *node, named.as_ref());
            }
            Act::Asleep => self.asleep = true,
            Act::Awake => {
                self.asleep = false;
                self.engine.handle_timeout(at);
            }
            Act::Wait => self.hear_timers(at.saturating_add(core::time::Duration::from_nanos(1))),
        }
    }

    fn act_for_another(&mut self, at: Instant, name: &str, owner: &Owner, evicts: bool) {
        let (resource, owner, timing) = (resource(name), owner.clone(), self.script.config.timing);
        let (verb, operation) = if evicts {
            let evict = Operation::Evict {
                resource,
                owner,
                timing: Box::new(timing),
            };
            ("evict", evict)
        } else {
            let prolong = Operation::Prolong {
                resource,
                owner,
                timing: Box::new(timing),
            };
            ("prolong", prolong)
        };
        self.submit(at, format!("{verb} {name}"), operation);
    }

    fn clock(&mut self, at: Instant, node: NodeId, reading: Reading) {
        if let Some(step) = self.engine.handle_clock(at, node, reading) {
            let at = picture::moment(at);
            self.picture
                .push(format!("{at} clock of {node}: {}", picture::step(step)));
        }
    }

    fn acquire_request(&mut self, at: Instant, name: &str, wanted: &str, from: Option<&Owner>) {
        let acquire = AcquireRequest {
            resource: match self.script.permits {
                Some(of) => Resource::permit(wanted, of).expect("a story's names are plain"),
                None => resource(wanted),
            },
            config: self.script.config.clone(),
            from: from.cloned(),
            patience: self.script.patience,
        };
        let id = self.submit(at, name.to_owned(), Operation::Acquire(acquire));
        self.operations.insert(name.to_owned(), id);
    }

    fn submit(&mut self, at: Instant, name: String, operation: Operation) -> OperationId {
        let number = u8::try_from(self.names.len()).expect("a story is short");
        let id = OperationId::new(number.into());
        self.engine
            .submit(at, id, || Seed::new([number; Seed::LENGTH]), operation);
        self.names.insert(id, name);
        id
    }

    fn answer(&mut self, at: Instant, node: NodeId, vote: &Vote, to: &To) {
        let open = self.open.entry(node).or_default();
        let tag = match to {
            To::Oldest => open.pop_front().expect("the node has something to answer"),
            To::LastAgain => self.answered[&node],
            To::This(name) => {
                let place = open
                    .iter()
                    .position(|tag| label(&self.names, *tag) == *name);
                open.remove(place.expect("the node was asked that"))
                    .expect("the place was found")
            }
        };
        self.answered.insert(node, tag);
        let vote = self.spoken(tag, vote.clone());
        self.engine.handle_reply(at, node, tag, vote);
        self.note(at);
    }

    /// The vote as the node gives it: `by=itself` is the owner under which this very attempt asks.
    fn spoken(&self, tag: Tag, mut vote: Vote) -> Vote {
        if let Vote::Refused(refusal) = &mut vote
            && let Some(holder) = &mut refusal.holder
            && holder.as_bytes() == b"itself"
        {
            *holder = self.owners[&tag.attempt].clone();
        }
        vote
    }

    /// Writes down what the engine asks and tells.
    fn note(&mut self, at: Instant) {
        let at = picture::moment(at);
        while let Some(send) = self.engine.poll_send() {
            if let Some(owner) = send.request.owner() {
                self.owners.insert(send.tag.attempt, owner.clone());
            }
            for node in send.nodes.iter() {
                self.open.entry(node).or_default().push_back(send.tag);
            }
            let nodes = picture::nodes(send.nodes, self.script.quorum);
            let verb = picture::verb(&send.request, self.script.config.timing.key_ttl());
            let tag = label(&self.names, send.tag);
            self.picture.push(format!("{at} ask {nodes}: {verb} {tag}"));
        }
        while let Some((id, event)) = self.engine.poll_event() {
            let event = picture::event(&event);
            self.picture
                .push(format!("{at} tell {}: {event}", self.names[&id]));
        }
    }

    fn close(&mut self, end: Instant) {
        let left = self.engine.releases();
        assert!(
            !self.engine.owes_release(NodeSet::EMPTY),
            "no node is asked about"
        );
        let owes = self.engine.owes_release(NodeSet::first(NodeId::MOST));
        assert!(!owes || left > 0, "what is owed is to be released");
        let left = match left {
            0 => "nothing to release".to_owned(),
            1 => "1 to release".to_owned(),
            more => format!("{more} to release"),
        };
        let wake = match self.engine.poll_timeout() {
            None => "no timer".to_owned(),
            Some(at) => format!("timer at {}", picture::moment(at)),
        };
        self.picture
            .push(format!("{} end: {left}, {wake}", picture::moment(end)));
    }
}

fn resource(name: &str) -> Resource {
    Resource::new(name).expect("a story's names are plain")
}

fn label(names: &BTreeMap<OperationId, String>, tag: Tag) -> String {
    let name = &names[&tag.attempt.operation];
    format!("{name}.{}.{}", tag.attempt.number, tag.step)
}
