//! A node that is a Redis or Valkey server: Redis 7.0 or Valkey 7.2, or newer, a master of its own.
//!
//! One connection serves all locks of a manager. Requests leave in the order in which they come, all that
//! are ready in one write, and are answered in that order. What this link does not do is what it is there
//! for:
//!
//! * It does not connect on a lock's path. A node that is down answers at once that it is, and the link
//!   tries in the background, after 50 ms to 2 s, whether it is back.
//! * It does not drop the connection when an answer is late. The request in a hung server's buffer takes
//!   effect when the server wakes, and on the same connection its release stands behind it; on a new one,
//!   the release would be carried out first, and the lock would be a ghost's until its TTL ends.
//! * It does not send anything twice, unless the server has said that it did not do it.
//!
//! On the node a lock is the key of the resource's name, with the owner as its value, a plain string: the
//! same as that of every program that locks by `SET NX PX` and releases by compare-and-delete.

mod codec;
mod handshake;
mod reply;
mod scripts;
mod session;
mod socket;
#[cfg(feature = "tls")]
mod tls;
mod url;

pub use url::{RedisUrl, RedisUrlError};

use super::{Link, LinkEvent, Parcel};
use crate::clock::Clock;
use leasehold_core::{Fault, FaultKind, Request, Tag, Vote};
use session::Session;
use socket::Socket;
use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Sleep;

/// How many requests may wait for one node's answers. Releases have as much room again: what was set
/// must be taken back.
const MOST_UNANSWERED: usize = 4096;

/// The link to one server.
pub struct RedisLink {
    url: RedisUrl,
    clock: Clock,
    state: State,
    events: VecDeque<LinkEvent>,
    /// How often in a row there was no connection.
    failures: u32,
}

enum State {
    /// A connection is being made. The first time, requests wait for how it ends; later, they are told
    /// why the last one ended.
    Connecting(Opening, Meanwhile),
    Up(Session),
    /// Resting before the next try.
    Resting(Pin<Box<Sleep>>, Fault),
}

type Opening = Pin<Box<dyn Future<Output = Result<Box<dyn Socket>, String>>>>;

enum Meanwhile {
    Wait(Vec<(Tag, Request)>),
    Refuse(Fault),
}

impl RedisLink {
    /// A link that begins to connect when it is polled first, on a tokio runtime with I/O and time.
    #[must_use]
    pub fn new(url: RedisUrl, clock: Clock) -> Self {
        let opening = Box::pin(handshake::open(url.clone()));
        let state = State::Connecting(opening, Meanwhile::Wait(Vec::new()));
        Self {
            url,
            clock,
            state,
            events: VecDeque::new(),
            failures: 0,
        }
    }

    /// One step towards an event.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Connecting(opening, meanwhile) => {
                let opened = ready!(opening.as_mut().poll(cx));
                let waiting = match meanwhile {
                    Meanwhile::Wait(waiting) => std::mem::take(waiting),
                    Meanwhile::Refuse(_) => Vec::new(),
                };
                match opened {
                    Ok(socket) => self.begin(socket, waiting),
                    Err(why) => {
                        let fault = Fault::new(FaultKind::Down, &why);
                        let told = |(tag, _)| LinkEvent::Reply(tag, Vote::Unknown(fault.clone()));
                        self.events.extend(waiting.into_iter().map(told));
                        self.rest(why);
                    }
                }
            }
            State::Up(session) => {
                let why = match session.poll(cx, &mut self.events) {
                    Poll::Ready(why) => why,
                    Poll::Pending if self.events.is_empty() => return Poll::Pending,
                    Poll::Pending => return Poll::Ready(()),
                };
                self.rest(why);
            }
            State::Resting(sleep, fault) => {
                ready!(sleep.as_mut().poll(cx));
                let opening = Box::pin(handshake::open(self.url.clone()));
                self.state = State::Connecting(opening, Meanwhile::Refuse(fault.clone()));
            }
        }
        Poll::Ready(())
    }

    fn begin(&mut self, socket: Box<dyn Socket>, waiting: Vec<(Tag, Request)>) {
        self.failures = 0;
        let mut session = Session::new(socket);
        for (tag, request) in waiting {
            let wire = scripts::by_hash(&request);
            session.enqueue(tag, request, &wire);
        }
        self.state = State::Up(session);
        self.events.push_back(LinkEvent::Up);
    }

    fn rest(&mut self, why: String) {
        let sleep = Box::pin(tokio::time::sleep(self.pause()));
        self.failures = self.failures.saturating_add(1);
        let fault = Fault::new(FaultKind::Down, &why);
        if let State::Up(session) = std::mem::replace(&mut self.state, State::Resting(sleep, fault))
        {
            self.events.extend(session.end(&why));
        }
        self.events.push_back(LinkEvent::Down(why));
    }

    /// Nothing after a connection that had worked, then 50 ms, doubled up to 2 s; spread by up to a half,
    /// so that the clients of a server that comes back do not come all at once.
    fn pause(&self) -> Duration {
        let Some(doubled) = self.failures.checked_sub(1) else {
            return Duration::ZERO;
        };
        let pause = Duration::from_millis(50 << doubled.min(6)).min(Duration::from_secs(2));
        let now = self.clock.now().since_origin();
        pause + pause.mul_f64(f64::from(now.subsec_nanos() % 1_000) / 2_000.0)
    }
}

impl Link for RedisLink {
    fn send(&mut self, parcel: &Parcel) {
        let (tag, request) = (parcel.tag, &parcel.request);
        let most = match request {
            Request::Release { .. } => 2 * MOST_UNANSWERED,
            Request::Acquire { .. } | Request::Extend { .. } => MOST_UNANSWERED,
        };
        let fault = match &mut self.state {
            State::Up(session) if session.unanswered() < most => {
                session.enqueue(tag, request.clone(), parcel.wire(scripts::by_hash));
                return;
            }
            State::Connecting(_, Meanwhile::Wait(waiting)) if waiting.len() < most => {
                waiting.push((tag, request.clone()));
                return;
            }
            State::Up(_) | State::Connecting(_, Meanwhile::Wait(_)) => Fault::new(
                FaultKind::Busy,
                &format_args!("{most} requests wait for it already"),
            ),
            State::Connecting(_, Meanwhile::Refuse(fault)) | State::Resting(_, fault) => {
                fault.clone()
            }
        };
        self.events
            .push_back(LinkEvent::Reply(tag, Vote::Unknown(fault)));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Poll::Ready(event);
            }
            ready!(self.advance(cx));
        }
    }
}

impl fmt::Debug for RedisLink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Connecting(..) => "connecting",
            State::Up(_) => "up",
            State::Resting(..) => "resting",
        };
        write!(out, "RedisLink({}, {state})", self.url)
    }
}
