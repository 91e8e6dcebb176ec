//! Requests and answers over one connection, in order.

use super::{
    codec::{Malformed, Value, decode},
    reply,
    scripts::by_text,
    socket::{Socket, reason},
};
use crate::link::LinkEvent;
use leasehold_core::{Fault, FaultKind, Request, Tag, Vote};
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// One connection from its greeting to its end.
///
/// A request that ran out of time keeps its place: nobody here knows about time limits. It may still
/// take effect, and its release waits behind it.
pub(super) struct Session {
    socket: Box<dyn Socket>,
    out: Vec<u8>,
    /// How much of `out` was written.
    written: usize,
    /// How many bytes of requests the connection had taken before `out`.
    taken: u64,
    flushed: bool,
    /// What was read, up to `filled`.
    read: Vec<u8>,
    filled: usize,
    in_flight: VecDeque<InFlight>,
}

/// How much is read at a time, unless one answer is longer.
const CHUNK: usize = 16 * 1024;

/// A request that was not answered.
struct InFlight {
    tag: Tag,
    request: Request,
    /// Where its first byte stands in the stream.
    begins: u64,
}

impl Session {
    pub(super) fn new(socket: Box<dyn Socket>) -> Self {
        Self {
            socket,
            out: Vec::new(),
            written: 0,
            taken: 0,
            flushed: true,
            read: vec![0; CHUNK],
            filled: 0,
            in_flight: VecDeque::new(),
        }
    }

    /// How many requests are not answered.
    pub(super) fn unanswered(&self) -> usize {
        self.in_flight.len()
    }

    /// Puts a request behind the others.
    pub(super) fn enqueue(&mut self, tag: Tag, request: Request, wire: &[u8]) {
        let begins = self.taken + self.out.len() as u64;
        self.out.extend_from_slice(wire);
        self.in_flight.push_back(InFlight {
            tag,
            request,
            begins,
        });
    }

    /// Writes and reads what can be written and read, and puts the answers into `events`. Ready with the
    /// reason when the connection has ended.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        events: &mut VecDeque<LinkEvent>,
    ) -> Poll<String> {
        loop {
            if let Err(error) = self.write(cx) {
                return Poll::Ready(reason(&error));
            }
            match ready!(self.read(cx)) {
                Ok(0) => return Poll::Ready("the server closed the connection".to_owned()),
                Ok(_) => {}
                Err(error) => return Poll::Ready(reason(&error)),
            }
            if let Err(malformed) = self.answer(events) {
                return Poll::Ready(malformed.to_string());
            }
            // What came is handed on before more is read; whoever takes it comes back for the rest.
            if !events.is_empty() {
                return Poll::Pending;
            }
        }
    }

    /// The end: what becomes of the requests that were not answered.
    pub(super) fn end(self, why: &str) -> impl Iterator<Item = LinkEvent> {
        let reached = self.taken + self.written as u64;
        let sent = Fault::new(
            FaultKind::Disconnected,
            &format_args!("{why} after the request was sent"),
        );
        let unsent = Fault::new(FaultKind::Down, why);
        self.in_flight.into_iter().map(move |request| {
            // Not one byte of it has left, so it cannot have taken effect.
            let fault = if request.begins >= reached {
                &unsent
            } else {
                &sent
            };
            LinkEvent::Reply(request.tag, Vote::Unknown(fault.clone()))
        })
    }

    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while self.written < self.out.len() {
            let rest = &self.out[self.written..];
            match Pin::new(&mut self.socket).poll_write(cx, rest) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => {
                    self.written += count;
                    self.flushed = false;
                }
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        self.taken += self.out.len() as u64;
        self.out.clear();
        self.written = 0;
        if !self.flushed && Pin::new(&mut self.socket).poll_flush(cx)?.is_ready() {
            self.flushed = true;
        }
        Ok(())
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.filled == self.read.len() {
            self.read.resize(2 * self.filled, 0);
        }
        let mut buffer = ReadBuf::new(&mut self.read[self.filled..]);
        ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buffer))?;
        let count = buffer.filled().len();
        self.filled += count;
        Poll::Ready(Ok(count))
    }

    fn answer(&mut self, events: &mut VecDeque<LinkEvent>) -> Result<(), Malformed> {
        let mut at = 0;
        while let Some((value, length)) = decode(&self.read[at..self.filled])? {
            at += length;
            if value == Value::Push {
                continue;
            }
            // An answer to nothing: whoever sends it is not in step with us.
            let InFlight { tag, request, .. } = self.in_flight.pop_front().ok_or(Malformed)?;
            match reply::vote(value) {
                Some(vote) => events.push_back(LinkEvent::Reply(tag, vote)),
                None => self.say_in_full(tag, request, events),
            }
        }
        self.read.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(())
    }

    /// The server has forgotten the script (`SCRIPT FLUSH`), so it certainly did nothing, and the
    /// request can be sent with the script's text.
    ///
    /// It goes behind all others, which a late extension or release survives: they do nothing to a key
    /// that is not theirs. An acquire does not, if its own release is under way already: it would set a
    /// key that nobody releases any more.
    fn say_in_full(&mut self, tag: Tag, request: Request, events: &mut VecDeque<LinkEvent>) {
        let overtaken = matches!(request, Request::Acquire { .. })
            && self.in_flight.iter().any(|later| {
                matches!(later.request, Request::Release { .. })
                    && later.request.owner() == request.owner()
            });
        if overtaken {
            let vote =
                reply::rejected("the server forgot our scripts while the request was under way");
            events.push_back(LinkEvent::Reply(tag, vote));
        } else {
            let wire = by_text(&request);
            self.enqueue(tag, request, &wire);
        }
    }
}
