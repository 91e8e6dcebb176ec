//! A node that is a Redis or Valkey server.
//!
//! One connection, and on it the requests for each lock in the order in which they were given. Votes and releases that are
//! ready together leave in one call each, the releases first: a script costs a server less for many locks than for one. Three
//! things no client library does, and a lock needs:
//!
//! * A request that ran out of time keeps its place. If it were dropped before it left, or its connection
//!   closed, its release would not be behind it any more, and a node that had only stopped would set a
//!   key that nobody releases. So there are no time limits here, and nothing but the end of the connection
//!   takes a request out of its place.
//! * Nothing is sent twice. When the connection is lost, each request is told apart by whether a byte of
//!   it had left.
//! * A request costs no future: [`send`](Link::send) copies bytes, and one [`poll`](Link::poll) writes
//!   what all operations have given and reads what all of them get.
//!
//! The way of a request: `scripts` makes words of it, on `heads` that are made once, for all links that say it so; or
//! `native` does where no scripts can be run. `backlog` gathers it with others, and keeps it until its answer comes, of which `kind`
//! is enough to remember, and `recall` reads the rest back where it is wanted. `connection` moves the bytes, and `interpreter`
//! understands them: `glance` reads the usual answers where they lie, `codec` reads every other and `reply` makes a vote
//! of it, which counts when there are `copies` of it, if that is wanted. `look` is how hints come. `url`, `socket`, `talk`,
//! `handshake` and `greeting` are the way to a connection, and `leasehold_core::backoff` spaces the tries; where
//! sentinels are asked for the way, `search` asks them, by a talk with each `sentinel`, and `failover` goes on asking:
//! when another has become the master, and whether votes count. `admin_client` comes for the operator and not for locks, and
//! `stamp` for the locks of `timestamp`, which know nothing of votes. `cluster` is another link, to many servers that are one
//! node, and has one like this to each. Who may know whom: the floors of
//! `docs/ARCHITECTURE.md`.

pub(crate) mod admin_client;
mod backlog;
mod cluster;
mod codec;
mod connection;
mod copies;
mod failover;
mod glance;
mod greeting;
mod handshake;
mod heads;
mod interpreter;
mod kind;
mod look;
mod native;
mod recall;
mod reply;
mod rights;
mod scripts;
mod search;
mod sentinel;
mod socket;
pub(crate) mod stamp;
pub(crate) mod succession;
mod talk;
mod texts;
mod url;
#[cfg(feature = "wire")]
#[doc(hidden)]
pub mod wire;

pub use cluster::ClusterLink;
pub(crate) use scripts::Encoder;
pub use url::{RedisUrl, RedisUrlError};

use super::{Link, LinkEvent, Message};
use crate::{clock::Clock, configuration::Configuration, disks::Disks};
use backlog::{Backlog, Loss, fit_for};
use connection::Connection;
use heads::Call;
use kind::Kind;
use leasehold_core::{Fault, FaultKind, Identity, Tag, Vote, backoff::Backoff};
use look::Hints;
use scripts::ServerInfo;
use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use succession::Change;
use tokio::time::{Sleep, sleep};

/// The link to a Redis (7.0 or later) or Valkey (7.2 or later) server.
///
/// It connects at the first [`poll`](Link::poll), which must happen within a tokio runtime that has I/O
/// and time enabled; all polls must be within the same one, until [`change_runtime`](Link::change_runtime) is called within
/// another.
///
/// At most 4,096 acquires and extensions and 8,192 releases wait for an answer; a request beyond that
/// is answered [`Busy`](FaultKind::Busy).
pub struct RedisLink {
    url: RedisUrl,
    encoder: Encoder,
    /// The server, as long as it is not known.
    nobody: ServerInfo,
    clock: Clock,
    state: ConnectionState,
    /// Why the node cannot be asked. None while it can, and before that is known.
    down: Option<String>,
    backlog: Backlog,
    backoff: Backoff,
    /// How often the node was found to vote for another list of nodes, one time after the other.
    superseded: u32,
    /// What was answered when it was given, without the node.
    refused: Vec<LinkEvent>,
}

enum ConnectionState {
    /// Between two tries; no pause before the first.
    Resting(Option<Pin<Box<Sleep>>>),
    Dialling(Dialling),
    Up(Box<Connection>),
}

type Dialling = Pin<Box<dyn Future<Output = Result<Connection, String>> + Send>>;

impl RedisLink {
    /// A link to the node at `url`. `clock` spaces the tries to connect, and tells how old the word of sentinels is.
    #[must_use]
    pub fn new(url: RedisUrl, clock: Clock, configuration: &Configuration) -> Self {
        Self::speaking(url, clock, Encoder::new(configuration))
    }

    /// The same, which says things as all do that have a clone of this.
    pub(crate) fn speaking(url: RedisUrl, clock: Clock, encoder: Encoder) -> Self {
        Self {
            nobody: ServerInfo::nobody(encoder.disk(None)),
            encoder: encoder.to(url.name()),
            url,
            state: ConnectionState::Resting(None),
            down: None,
            backlog: Backlog::default(),
            backoff: Backoff::NEW,
            superseded: 0,
            clock,
            refused: Vec::new(),
        }
    }

    /// Votes count only when so many replicas of the node have heard of them, `within` this time. Requests behind
    /// such a vote wait as well, releases among them.
    #[must_use]
    pub fn replicated(self, replicas: u32, within: Duration) -> Self {
        Self {
            encoder: self.encoder.heard_by(replicas, within),
            ..self
        }
    }

    /// Votes count only when they are on these disks, for which the node waits `within` this time. Requests behind such a
    /// vote wait as well, releases among them. A node that cannot tell of disks, or whose word on its own comes too early,
    /// is not used.
    #[must_use]
    pub fn on_disk(self, disks: Disks, within: Duration) -> Self {
        Self {
            encoder: self.encoder.written_to(disks, within),
            ..self
        }
    }

    /// Goes one step on. Ready when there is another step to go, or `limit` events are there.
    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        events: &mut Vec<LinkEvent>,
        limit: usize,
    ) -> Poll<()> {
        let outcome = match &mut self.state {
            ConnectionState::Resting(pause) => {
                if let Some(pause) = pause {
                    ready!(pause.as_mut().poll(cx));
                }
                self.state = ConnectionState::Dialling(Box::pin(search::dial(
                    self.url.clone(),
                    self.encoder.clone(),
                    self.clock,
                )));
                Ok(())
            }
            ConnectionState::Dialling(dialling) => match ready!(dialling.as_mut().poll(cx)) {
                // It is a moment until the other links have heard of the new list as well.
                Ok(connection) if connection.met().is_superseding && self.superseded < PATIENCE => {
                    self.superseded += 1;
                    self.state = ConnectionState::Resting(Some(Box::pin(sleep(MOMENT))));
                    Ok(())
                }
                dialled => dialled.map(|connection| {
                    let id = Some(connection.met().id()).filter(|id| !id.is_empty());
                    let identity = id.map(Identity::new);
                    self.down = None;
                    self.backoff.succeeded(self.clock.now());
                    events.push(LinkEvent::Up(identity));
                    if connection.hints() == Hints::Given {
                        events.push(LinkEvent::Changed(None));
                    }
                    if let Some(native) = connection.met().native {
                        // What waits for the very first connection was put into words before this was known.
                        let faults = self.backlog.say_natively(&self.encoder, native);
                        events.extend(faults.into_iter().map(unsaid));
                    } else if connection.met().is_proxied {
                        let faults = self.backlog.say_alone(&self.encoder, connection.met());
                        events.extend(faults.into_iter().map(unsaid));
                    }
                    self.superseded = 0;
                    self.state = ConnectionState::Up(Box::new(connection));
                }),
            },
            ConnectionState::Up(connection) => {
                ready!(connection.exchange(cx, &mut self.backlog, events, limit))
            }
        };
        if let Err(reason) = outcome {
            self.lose(reason, events);
        }
        Poll::Ready(())
    }

    /// Takes a request, or answers it.
    fn give(&mut self, message: &mut Message<'_>, asks: bool) {
        let said = match &self.down {
            Some(reason) => Err(Fault::new(FaultKind::Down, reason)),
            None => self.say(message, asks),
        };
        if let Err(fault) = said {
            self.refused.push(unsaid((message.tag(), fault)));
        }
    }

    /// Puts a request behind the others; to a server of a cluster that is about to get the slot if it `asks`.
    fn say(&mut self, message: &mut Message<'_>, asks: bool) -> Result<(), Fault> {
        let (tag, request, given) = (message.tag(), message.request(), message.given());
        let kind = Kind::of(request);
        if let Some(fault) = self.backlog.refuse(kind) {
            return Err(fault);
        }
        let (backlog, encoder) = (&mut self.backlog, &self.encoder);
        let met = match &self.state {
            ConnectionState::Up(connection) => connection.met(),
            ConnectionState::Resting(_) | ConnectionState::Dialling(_) => &self.nobody,
        };
        if let Some(native) = met.native {
            return backlog.push_native(tag, request.clone(), given, encoder, native);
        }
        let call = encoder.call_of(request);
        fit_for(call, encoder, met)?;
        let words = encoder.words(message);
        if asks {
            let asked = (tag, kind, given);
            backlog.ask(asked, (encoder, met), |wire| {
                encoder.say(wire, call, words, met);
            });
            return Ok(());
        }
        if call.is_for_several() {
            let asked = (tag, kind, given);
            backlog.gather(asked, request, words, encoder, met);
            return Ok(());
        }
        match call {
            Call::Set => backlog.make_way(request.resource(), encoder, met),
            _ => backlog.say_gathered(encoder, met),
        }
        backlog.push(tag, kind, given, |wire| encoder.say(wire, call, words, met));
        Ok(())
    }

    /// Whether another list of nodes is known to have followed that of which this speaks.
    #[inline]
    fn is_superseded(&self) -> bool {
        let succession = self.encoder.succession();
        succession.is_some_and(|succession| succession.is_decided())
    }

    /// Does what follows from a list of nodes in which one was replaced. Says whether there was something to do.
    #[cold]
    fn succeed(&mut self, events: &mut Vec<LinkEvent>) -> bool {
        let step = self
            .encoder
            .succession()
            .and_then(|it| it.step(&self.url, Encoder::following));
        let (encoder, former) = match step {
            None => return false,
            Some(Change::Speak(encoder)) => (encoder, None),
            Some(Change::GoTo(url, encoder)) => (encoder, Some(mem::replace(&mut self.url, url))),
        };
        let encoder = encoder.copied_as(&self.encoder).to(self.url.name());
        self.nobody = ServerInfo::nobody(encoder.disk(None));
        let was_never_up = !matches!(self.state, ConnectionState::Up(_)) && self.down.is_none();
        if was_never_up {
            // What waits for the very first connection has not left, and is said as the new list does.
            let backlog = &mut self.backlog;
            let faults = backlog.say_for_another_list(&self.encoder, &encoder, &self.nobody);
            events.extend(faults.into_iter().map(unsaid));
        } else {
            // What was given to the connection before was said as the former list does: it is given up with it.
            self.lose("the list of nodes has changed".to_owned(), events);
        }
        self.encoder = encoder;
        self.superseded = 0;
        self.backoff = Backoff::NEW;
        self.state = ConnectionState::Resting(None);
        self.down = None;
        if former.is_some() {
            // Argument S9: told before any other link speaks as the new list does, so before a node can have voted for it.
            events.push(LinkEvent::Replaced(self.url.name()));
        }
        true
    }

    /// There is no connection, or none any more.
    fn lose(&mut self, reason: String, events: &mut Vec<LinkEvent>) {
        let answers = self.backlog.abandon(match self.state {
            ConnectionState::Up(_) => Loss::Lost(&reason),
            ConnectionState::Resting(_) | ConnectionState::Dialling(_) => Loss::NeverUp(&reason),
        });
        let pause = self.backoff.failed(self.clock.now());
        self.state = ConnectionState::Resting((!pause.is_zero()).then(|| Box::pin(sleep(pause))));
        events.extend(answers.map(|(tag, vote)| LinkEvent::Reply(tag, vote)));
        events.push(LinkEvent::Down(reason.clone()));
        self.down = Some(reason);
    }
}

impl Link for RedisLink {
    fn send(&mut self, message: &mut Message<'_>) {
        self.give(message, false);
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()> {
        let limit = events.len().saturating_add(most);
        if !self.refused.is_empty() {
            events.append(&mut self.refused);
        }
        if self.is_superseded() && self.succeed(events) {
            // The others are to look as well.
            cx.waker().wake_by_ref();
            return Poll::Ready(());
        }
        let polled = loop {
            if self.advance(cx, events, limit).is_pending() {
                break Poll::Pending;
            }
            if events.len() >= limit {
                break Poll::Ready(());
            }
        };
        if self.is_superseded() {
            cx.waker().wake_by_ref();
        }
        polled
    }

    fn change_runtime(&mut self) {
        match &mut self.state {
            // Both wait by the runtime before: begin anew.
            ConnectionState::Resting(_) | ConnectionState::Dialling(_) => {
                self.state = ConnectionState::Resting(None);
            }
            ConnectionState::Up(connection) => {
                if let Err(reason) = connection.change_runtime() {
                    let mut events = mem::take(&mut self.refused);
                    self.lose(reason, &mut events);
                    self.refused = events;
                }
            }
        }
    }
}

/// So often a node that votes for a newer list of nodes is connected to before it is asked as one of the former list.
const PATIENCE: u32 = 20;

/// How long the link waits between two of these times.
const MOMENT: Duration = Duration::from_millis(10);

/// The answer to a request that is not sent.
fn unsaid((tag, fault): (Tag, Fault)) -> LinkEvent {
    LinkEvent::Reply(tag, Vote::Unknown(fault))
}

impl fmt::Debug for RedisLink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match (&self.state, &self.down) {
            (ConnectionState::Up(_), _) => "up",
            (_, None) => "connecting",
            (_, Some(reason)) => reason,
        };
        out.debug_struct("RedisLink")
            .field("url", &self.url)
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
