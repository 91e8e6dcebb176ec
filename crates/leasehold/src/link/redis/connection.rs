//! A connection that is ready for requests.

use super::{
    backlog::Backlog,
    codec::ReceiveBuffer,
    copies::Copies,
    failover::SentinelWatch,
    handshake::Opened,
    interpreter::{Drained, Interpreter},
    look::Hints,
    scripts::{Encoder, ServerInfo},
    socket::{self, Stream},
};
use crate::link::LinkEvent;
use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// The stream to a node, and what came over it in part.
pub(super) struct Connection {
    stream: Stream,
    received: ReceiveBuffer,
    /// Whether answers may have come in that were not looked at, since enough were told.
    holds_answers: bool,
    /// Bytes were written that the stream may still keep to itself (TLS does).
    flush: bool,
    interpreter: Interpreter,
    /// When the node is next asked for its settings; none if nobody wants to know.
    question: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub(super) fn new(opened: Opened, encoder: Encoder) -> Self {
        let Opened {
            stream,
            received,
            met,
            hints,
        } = opened;
        let asks = encoder.trusts_disk() || Copies::any_on_own_disk(encoder.copies());
        let question = asks.then(|| Box::pin(sleep(PERIOD)));
        Self {
            stream,
            // Argument S10: a hint may have come with the last answer to the introduction.
            holds_answers: !received.bytes().is_empty(),
            received,
            flush: false,
            interpreter: Interpreter::new(encoder, met, hints),
            question,
        }
    }

    /// The same, to a server that is the node by the word of sentinels. It is of use while they name it.
    pub(super) fn watched(mut self, watch: SentinelWatch) -> Self {
        self.interpreter.obey(watch);
        self
    }

    /// Goes on within the runtime that runs here. The error is a fragment for people.
    pub(super) fn change_runtime(&mut self) -> Result<(), String> {
        if let Some(question) = &mut self.question {
            *question = Box::pin(sleep(PERIOD));
        }
        self.interpreter.change_runtime();
        let changed = self.stream.change_runtime();
        changed.map_err(|error| socket::reason(&error))
    }

    /// Whether the node tells of changes to keys.
    pub(super) const fn hints(&self) -> Hints {
        self.interpreter.hints()
    }

    /// Whom the connection was opened to.
    pub(super) const fn met(&self) -> &ServerInfo {
        self.interpreter.met()
    }

    /// Reads and writes all that can be now, until `limit` events are there. Pending when nothing more can be done; ready
    /// when there may be more events, or with the reason why the connection is of no more use.
    ///
    /// Reads first: if the node is gone, what has not left yet is better off not having left. Only what is given while
    /// answers wait to be taken is written without that: a read has just been.
    pub(super) fn exchange(
        &mut self,
        cx: &mut Context<'_>,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
        limit: usize,
    ) -> Poll<Result<(), String>> {
        if self.holds_answers {
            // The node has something to do meanwhile. A connection that takes nothing more is given up behind the answers
            // that are still to be read.
            drop(self.write(cx, backlog));
        }
        if let Poll::Ready(reason) = self.interpreter.poll_departure(cx, backlog, events) {
            return Poll::Ready(Err(reason));
        }
        self.question(cx, backlog);
        loop {
            let read = self.read(cx, backlog, events, limit)?;
            if self.holds_answers {
                drop(self.write(cx, backlog));
                return Poll::Ready(Ok(()));
            }
            let written = self.write(cx, backlog)?;
            if read.is_pending() && written.is_pending() {
                backlog.rest();
                return Poll::Pending;
            }
        }
    }

    /// Asks for the settings that `INFO` does not tell, from time to time: they can be changed while the connection lasts.
    fn question(&mut self, cx: &mut Context<'_>, backlog: &mut Backlog) {
        while let Some(question) = &mut self.question
            && question.as_mut().poll(cx).is_ready()
        {
            *question = Box::pin(sleep(PERIOD));
            self.interpreter.ask_settings(backlog);
        }
    }

    /// The answers that have come in, or one read and those in it, as far as they are no more than `limit`.
    fn read(
        &mut self,
        cx: &mut Context<'_>,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
        limit: usize,
    ) -> Poll<Result<(), String>> {
        if !self.holds_answers {
            let mut space = ReadBuf::new(self.received.space());
            let read = Pin::new(&mut self.stream).poll_read(cx, &mut space);
            ready!(read).map_err(|error| socket::reason(&error))?;
            let count = space.filled().len();
            if count == 0 {
                return Poll::Ready(Err("the node closed the connection".to_owned()));
            }
            self.received.filled(count);
        }
        self.holds_answers = true;
        let taken = self
            .interpreter
            .take(&mut self.received, backlog, events, limit);
        self.holds_answers = taken? == Drained::Enough;
        Poll::Ready(Ok(()))
    }

    /// Writes what may leave. Pending when nothing is left to write, or nothing can be written.
    pub(super) fn write(
        &mut self,
        cx: &mut Context<'_>,
        backlog: &mut Backlog,
    ) -> Poll<Result<(), String>> {
        let mut stream = Pin::new(&mut self.stream);
        while backlog.has_more() {
            let (encoder, met) = self.interpreter.speaker();
            backlog.say_if_room(encoder, met);
            let ready = backlog.ready();
            if ready.is_empty() {
                break;
            }
            match stream.as_mut().poll_write(cx, ready) {
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(Err("the node takes no more bytes".to_owned()));
                }
                Poll::Ready(Ok(count)) => {
                    backlog.sent(count);
                    self.flush = true;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(socket::reason(&error))),
                Poll::Pending => break,
            }
        }
        if self.flush {
            ready!(stream.poll_flush(cx)).map_err(|error| socket::reason(&error))?;
            self.flush = false;
        }
        Poll::Pending
    }
}

/// How often a node is asked for the settings that `INFO` does not tell.
const PERIOD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
