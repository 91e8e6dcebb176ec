//! A client's way to the master: what the link of production does, with the production decisions.

use super::{Event, Grouped, Party, server::Role};
use crate::{
    small::{SmallClient, SmallWorld as _},
    time::{Moment, SECOND},
};
use leasehold_core::{
    Fault, FaultKind, Identity, Instant, LinkChange, NodeId, Request, Tag, Vote,
    backoff::Backoff,
    discovery::{self, Choice, Confirmation, Discovery, Heard, Naming, Need, Unconfirmed},
};
use std::collections::VecDeque;

/// A client's connection, or what is to become one.
#[derive(Debug)]
pub(crate) struct Link {
    /// Counts the tries.
    pub(super) epoch: u32,
    state: State,
    discovery: Discovery<usize>,
    /// What is on its way to the server, and back.
    requests: VecDeque<(Tag, Request)>,
    replies: VecDeque<(Tag, Vote, Request)>,
    /// What was heard and is not told yet.
    unconfirmed: Confirmation,
    backoff: Backoff,
    /// What was not answered yet.
    pending: VecDeque<Tag>,
    last_arrival: Moment,
    last_return: Moment,
}

#[derive(Clone, Debug)]
enum State {
    Down,
    /// A server was greeted that had been started so often.
    Greeting {
        server: usize,
        starts: u32,
    },
    Up {
        server: usize,
        starts: u32,
        met: Identity,
    },
}

/// What a client asks a sentinel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    client: usize,
    epoch: u32,
    sentinel: usize,
    /// By the client's clock, before it left.
    asked: Instant,
    /// Whether it is asked for once, and not again after a while.
    is_extra: bool,
}

/// Which server is the master, by which failover.
pub(crate) type Word = (usize, u64);

impl Link {
    pub(super) fn new() -> Self {
        Self {
            epoch: 0,
            state: State::Down,
            discovery: Discovery::new(0, discovery::Rule::DEFAULT),
            requests: VecDeque::new(),
            replies: VecDeque::new(),
            unconfirmed: Confirmation::default(),
            backoff: Backoff::NEW,
            pending: VecDeque::new(),
            last_arrival: Moment::START,
            last_return: Moment::START,
        }
    }
}

impl Grouped {
    fn is_current(&self, client: usize, epoch: u32) -> bool {
        self.stage.clients[client].way.epoch == epoch
    }

    /// Whether the client's process runs; if not, this happens when it does.
    fn runs(&mut self, client: usize, event: Event) -> Option<Event> {
        let until = self.stage.clients[client].stopped_until;
        if self.stage.now >= until {
            return Some(event);
        }
        self.stage.plan(until.since_ns(self.stage.now), event);
        None
    }

    pub(super) fn dial(&mut self, client: usize, epoch: u32) {
        let event = Event::Dial { client, epoch };
        if !self.is_current(client, epoch) || self.runs(client, event).is_none() {
            return;
        }
        let count = self.sentinels.len();
        let link = &mut self.stage.clients[client].way;
        link.discovery = Discovery::new(count, self.group.rule);
        for sentinel in 0..count {
            self.ask(client, epoch, sentinel);
        }
    }

    pub(super) fn ask(&mut self, client: usize, epoch: u32, sentinel: usize) {
        self.question(client, epoch, sentinel, false);
    }

    fn question(&mut self, client: usize, epoch: u32, sentinel: usize, is_extra: bool) {
        let event = Event::Ask {
            client,
            epoch,
            sentinel,
        };
        if !self.is_current(client, epoch) || self.runs(client, event).is_none() {
            return;
        }
        let asked = self.stage.clients[client].time(self.stage.now);
        let question = Question {
            client,
            epoch,
            sentinel,
            asked,
            is_extra,
        };
        let delay_ns = self.delay_ns();
        self.stage.plan(delay_ns, Event::Asked(question));
    }

    pub(super) fn asked(&mut self, question: Question) {
        let Question {
            client, sentinel, ..
        } = question;
        let hears =
            self.is_awake(sentinel) && self.reach(Party::Client(client), Party::Sentinel(sentinel));
        if !hears {
            return self.stage.plan(SECOND, Event::Answered(question, None));
        }
        let this = &self.sentinels[sentinel];
        let word = (this.names, this.epoch);
        let mut delay_ns = self.delay_ns();
        if self.stage.rng.below(10) == 0 {
            delay_ns += self.stage.rng.below(SECOND);
        }
        self.stage
            .plan(delay_ns, Event::Answered(question, Some(word)));
    }

    pub(super) fn answered(&mut self, question: Question, word: Option<Word>) {
        let Question {
            client,
            epoch,
            sentinel,
            asked,
            is_extra,
        } = question;
        let event = Event::Answered(question, word);
        if !self.is_current(client, epoch) || self.runs(client, event).is_none() {
            return;
        }
        if !is_extra {
            let again = Event::Ask {
                client,
                epoch,
                sentinel,
            };
            self.stage.plan(SECOND, again);
        }
        let now = self.stage.clients[client].time(self.stage.now);
        let link = &mut self.stage.clients[client].way;
        match word {
            Some((server, epoch)) => {
                let by = None;
                let naming = Naming { server, epoch, by };
                link.discovery.hear(sentinel, asked, Some(naming));
            }
            None => link.discovery.miss(sentinel),
        }
        match &link.state {
            State::Down => match link.discovery.choose(now) {
                Choice::Follow(server) => self.follow(client, server),
                Choice::Nowhere => self.lose(client, "no master is to be found"),
                Choice::Wait => {}
            },
            State::Up { .. } if link.discovery.departure().is_some() => {
                self.lose(client, "a sentinel names another master");
            }
            State::Up { .. } => self.settle(client),
            State::Greeting { .. } => {}
        }
    }

    /// Tells the engine of the answers that can be told by now.
    fn settle(&mut self, client: usize) {
        let now = self.stage.clients[client].time(self.stage.now);
        let SmallClient {
            way: link, engine, ..
        } = &mut self.stage.clients[client];
        while let Some((tag, vote)) = link.unconfirmed.take(&link.discovery, unconfirmed) {
            engine.handle_reply(now, node(), tag, vote);
        }
        self.turn(client);
    }

    /// Goes to the server that sentinels name.
    fn follow(&mut self, client: usize, server: usize) {
        let starts = self.servers[server].starts;
        let link = &mut self.stage.clients[client].way;
        link.state = State::Greeting { server, starts };
        let epoch = link.epoch;
        let delay_ns = self.delay_ns();
        self.stage.plan(delay_ns, Event::Greet { client, epoch });
    }

    pub(super) fn greet(&mut self, client: usize, epoch: u32) {
        let State::Greeting { server, .. } = self.stage.clients[client].way.state else {
            return;
        };
        if !self.is_current(client, epoch) {
            return;
        }
        let answers = self.servers[server].is_up
            && self.servers[server].role == Role::Master
            && self.reach(Party::Client(client), Party::Server(server));
        let now = self.stage.now;
        let failover = self.stage.clients[client].way.discovery.failover();
        let met = answers.then(|| {
            let node = &mut self.servers[server].node;
            node.greet(now);
            node.follow(now, failover);
            node.identity().clone()
        });
        let delay_ns = self.delay_ns();
        self.stage
            .plan(delay_ns, Event::Greeted { client, epoch, met });
    }

    pub(super) fn greeted(&mut self, client: usize, epoch: u32, met: Option<Identity>) {
        let event = Event::Greeted { client, epoch, met };
        if !self.is_current(client, epoch) {
            return;
        }
        let Some(Event::Greeted { met, .. }) = self.runs(client, event) else {
            return;
        };
        let link = &mut self.stage.clients[client].way;
        let State::Greeting { server, starts } = link.state else {
            return;
        };
        let Some(met) = met.filter(|_| link.discovery.departure().is_none()) else {
            return self.lose(client, "the server that was named is no master");
        };
        let up = Some(met.clone());
        link.state = State::Up {
            server,
            starts,
            met,
        };
        self.stage
            .tell(|| format!("c{client} ⇄ n{server}  connected"));
        let this = &mut self.stage.clients[client];
        let now = this.time(self.stage.now);
        this.way.backoff.succeeded(now);
        this.engine.handle_link(now, node(), LinkChange::Up(up));
        self.turn(client);
    }

    /// There is no connection any more, or still none.
    fn lose(&mut self, client: usize, why: &str) {
        self.stage.tell(|| format!("c{client} ⇹ {why}"));
        let now = self.stage.clients[client].time(self.stage.now);
        let link = &mut self.stage.clients[client].way;
        link.epoch += 1;
        let epoch = link.epoch;
        let before = std::mem::replace(&mut link.state, State::Down);
        link.replies.clear();
        let pending = std::mem::take(&mut link.pending);
        let untold = std::mem::take(&mut link.unconfirmed);
        let pause = link.backoff.failed(now);
        let requests = std::mem::take(&mut link.requests);
        // What was on its way may still be carried out; nobody is told.
        if let (State::Up { server, .. }, Some((_, request))) = (before, requests.front())
            && self.stage.rng.coin()
        {
            self.haunt(client, server, request);
        }
        let engine = &mut self.stage.clients[client].engine;
        let fault = Fault::new(FaultKind::Disconnected, why);
        let lost = pending
            .into_iter()
            .map(|tag| (tag, Vote::Unknown(fault.clone())));
        for (tag, vote) in untold.abandon(fault.clone()).chain(lost) {
            engine.handle_reply(now, node(), tag, vote);
        }
        engine.handle_link(now, node(), LinkChange::Down);
        let pause_ns = u64::try_from(pause.as_nanos()).expect("some seconds");
        let after_ns = pause_ns + self.delay_ns();
        self.stage.plan(after_ns, Event::Dial { client, epoch });
        self.turn(client);
    }

    /// Carries out what stood in the buffer of a connection that is no more.
    fn haunt(&mut self, client: usize, server: usize, request: &Request) {
        let is_there = self.reach(Party::Client(client), Party::Server(server));
        let now = self.stage.now;
        let this = &mut self.servers[server];
        if is_there && this.is_up && this.role == Role::Master {
            this.node.vote(now, request, None);
        }
    }

    pub(super) fn give(&mut self, client: usize, tag: Tag, request: Request) {
        let now = self.stage.clients[client].time(self.stage.now);
        let link = &self.stage.clients[client].way;
        if !matches!(link.state, State::Up { .. }) {
            let fault = Fault::new(FaultKind::Down, "no master");
            let engine = &mut self.stage.clients[client].engine;
            return engine.handle_reply(now, node(), tag, Vote::Unknown(fault));
        }
        let epoch = link.epoch;
        let at = self.stage.now.after(self.delay_ns());
        let link = &mut self.stage.clients[client].way;
        let at = at.max(link.last_arrival);
        link.last_arrival = at;
        link.pending.push_back(tag);
        link.requests.push_back((tag, request));
        self.stage.plan(
            at.since_ns(self.stage.now),
            Event::Request { client, epoch },
        );
    }

    pub(super) fn carry_out(&mut self, client: usize, epoch: u32) {
        let State::Up {
            server,
            starts,
            met,
        } = self.stage.clients[client].way.state.clone()
        else {
            return;
        };
        if !self.is_current(client, epoch) {
            return;
        }
        let this = &self.servers[server];
        if this.starts != starts {
            return self.lose(client, "the server hung up");
        }
        if !self.reach(Party::Client(client), Party::Server(server)) {
            return self.held_up(client, Event::Request { client, epoch });
        }
        let Some((tag, request)) = self.stage.clients[client].way.requests.pop_front() else {
            return;
        };
        let now = self.stage.now;
        let vote = match self.servers[server].role {
            Role::Master => self.servers[server].node.vote(now, &request, Some(&met)).0,
            Role::Replica(_) => {
                let why = "READONLY You can't write against a read only replica.";
                Vote::Unknown(Fault::new(FaultKind::Rejected, why))
            }
        };
        self.stage.tell(|| {
            let answer = crate::client::answer(&vote);
            let name = crate::client::name(tag);
            format!("c{client} → n{server}  {name} {}: {answer}", kind(&request))
        });
        let at = now.after(self.delay_ns());
        let link = &mut self.stage.clients[client].way;
        link.replies.push_back((tag, vote, request));
        let at = at.max(link.last_return);
        link.last_return = at;
        self.stage
            .plan(at.since_ns(now), Event::Reply { client, epoch });
    }

    /// The network keeps something back for a while; after too long, the client gives the connection up.
    fn held_up(&mut self, client: usize, event: Event) {
        if self.stage.rng.below(200) == 0 {
            return self.lose(client, "nothing comes through");
        }
        self.stage.plan(SECOND / 20, event);
    }

    pub(super) fn hear(&mut self, client: usize, epoch: u32) {
        let State::Up { server, .. } = self.stage.clients[client].way.state else {
            return;
        };
        let event = Event::Reply { client, epoch };
        if !self.is_current(client, epoch) {
            return;
        }
        let Some(event) = self.runs(client, event) else {
            return;
        };
        if !self.reach(Party::Client(client), Party::Server(server)) {
            return self.held_up(client, event);
        }
        let now = self.stage.clients[client].time(self.stage.now);
        let quarantine = self.group.quarantine;
        let link = &mut self.stage.clients[client].way;
        let Some((tag, vote, request)) = link.replies.pop_front() else {
            return;
        };
        link.pending.pop_front();
        let need = Need::of(&request, Some(quarantine));
        let vote = need.judge(vote, now, &link.discovery, unconfirmed);
        let (tag, vote) = match link.unconfirmed.hear(need, now, tag, vote) {
            Heard::Told(tag, vote) => (tag, vote),
            Heard::Asks => {
                for sentinel in 0..self.sentinels.len() {
                    self.question(client, epoch, sentinel, true);
                }
                return self.settle(client);
            }
            Heard::Waits => return,
        };
        self.stage.tell(|| {
            let name = crate::client::name(tag);
            format!(
                "n{server} → c{client}  {name} {}",
                crate::client::answer(&vote)
            )
        });
        let engine = &mut self.stage.clients[client].engine;
        engine.handle_reply(now, node(), tag, vote);
        self.turn(client);
    }
}

fn unconfirmed(_: Unconfirmed) -> Fault {
    let why = "too few sentinels have named it";
    Fault::new(FaultKind::Unconfirmed, why)
}

/// The only node that there is.
pub(super) fn node() -> NodeId {
    NodeId::new(0).expect("one is possible")
}

const fn kind(request: &Request) -> &'static str {
    match request {
        Request::Acquire { .. } => "acquire",
        Request::Extend { .. } => "extend",
        Request::Release { .. } => "release",
        _ => "another",
    }
}
