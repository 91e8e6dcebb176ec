//! A connection that is ready for requests.

use super::{
    backlog::{Asked, Backlog, Waiting},
    codec::{self, Frame, Inbox},
    failover::Watch,
    glance::{Glance, at_a_glance},
    greeting,
    handshake::is_about_rights,
    look::{self, Hints, Said},
    native,
    recall::Kind,
    replicas::Replicas,
    reply::{self, Reply, Verdict},
    rights,
    scripts::{Encoder, Met},
    socket::{self, Stream},
};
use crate::link::LinkEvent;
use leasehold_core::{
    Fault, FaultKind, Reading, Refusal, Request, Tag, Vote,
    discovery::{Heard, Need},
};
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
    inbox: Inbox,
    /// Whether answers may have come in that were not looked at, since enough were told.
    holds_answers: bool,
    /// Bytes were written that the stream may still keep to itself (TLS does).
    flush: bool,
    listener: Listener,
    /// When the node is next asked for its settings; none if nobody wants to know.
    question: Option<Pin<Box<Sleep>>>,
}

/// What it takes to understand the node's answers.
struct Listener {
    encoder: Encoder,
    /// Whom the connection was opened to.
    met: Met,
    /// Whether the node tells of changes to keys.
    hints: Hints,
    /// The answers to the first commands of a request that is made of several.
    heard: native::Heard,
    /// Whether the node was asked for its settings and has not answered.
    asked: bool,
    /// Who says that this is the node; none if its own address does.
    watch: Option<Box<Watch>>,
}

impl Connection {
    pub(super) fn new(
        stream: Stream,
        inbox: Inbox,
        encoder: Encoder,
        met: Met,
        hints: Hints,
    ) -> Self {
        let question = encoder.trusts_disk().then(|| Box::pin(sleep(PERIOD)));
        Self {
            stream,
            inbox,
            holds_answers: false,
            flush: false,
            listener: Listener {
                encoder,
                met,
                hints,
                heard: native::Heard::NOTHING,
                asked: false,
                watch: None,
            },
            question,
        }
    }

    /// The same, to a server that is the node by the word of sentinels. It is of use while they name it.
    pub(super) fn watched(mut self, watch: Watch) -> Self {
        self.listener.watch = Some(Box::new(watch));
        self
    }

    /// Whether the node tells of changes to keys.
    pub(super) const fn hints(&self) -> Hints {
        self.listener.hints
    }

    /// Whom the connection was opened to.
    pub(super) const fn met(&self) -> &Met {
        &self.listener.met
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
        if let Some(watch) = &mut self.listener.watch {
            if let Poll::Ready(reason) = watch.poll_departure(cx) {
                return Poll::Ready(Err(reason));
            }
            self.listener.settle(backlog, events);
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
            // A node that hangs is asked once.
            if !self.listener.asked {
                self.listener.asked = true;
                backlog.ask_settings();
            }
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
            let mut space = ReadBuf::new(self.inbox.space());
            let read = Pin::new(&mut self.stream).poll_read(cx, &mut space);
            ready!(read).map_err(|error| socket::reason(&error))?;
            let count = space.filled().len();
            if count == 0 {
                return Poll::Ready(Err("the node closed the connection".to_owned()));
            }
            self.inbox.filled(count);
        }
        self.holds_answers = true;
        while events.len() < limit {
            let Some(length) = self.listener.take(self.inbox.bytes(), backlog, events)? else {
                self.holds_answers = false;
                break;
            };
            self.inbox.taken(length);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what may leave. Pending when nothing is left to write, or nothing can be written.
    pub(super) fn write(
        &mut self,
        cx: &mut Context<'_>,
        backlog: &mut Backlog,
    ) -> Poll<Result<(), String>> {
        let mut stream = Pin::new(&mut self.stream);
        while !backlog.ready().is_empty() {
            match stream.as_mut().poll_write(cx, backlog.ready()) {
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

impl Listener {
    /// Takes the first frame of these bytes, and says how long it is; none if it is not complete yet.
    fn take(
        &mut self,
        bytes: &[u8],
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<Option<usize>, String> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if let Some(length) = backlog.looked(bytes) {
            return Ok(Some(length));
        }
        if let Some(Asked::Request(first)) = backlog.first()
            && self.met.native.is_none()
            && let Some((glance, length)) = at_a_glance(bytes, self.is_set(first.kind))
            && let Some(Asked::Request(waiting)) = backlog.answered()
        {
            self.take_vote(glance, waiting, backlog, events)?;
            return Ok(Some(length));
        }
        let Some((frame, length)) = codec::decode(bytes).map_err(|odd| odd.to_string())? else {
            return Ok(None);
        };
        self.hear(&frame, backlog, events)?;
        Ok(Some(length))
    }

    /// Takes a vote that was read at a glance.
    fn take_vote(
        &mut self,
        Glance { vote, time }: Glance,
        waiting: Waiting,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<(), String> {
        if self.is_awaited() {
            let verdict = Verdict::Vote(vote);
            let reply = Some(Reply { verdict, time });
            return self.weigh(reply, waiting, None, backlog, events);
        }
        if self.looks(&vote, waiting.kind) && backlog.look_behind(&waiting, &vote).is_none() {
            return Err(doubt(waiting.tag, UNREADABLE.to_owned(), events));
        }
        if let Some(node) = time {
            let asked = waiting.given;
            events.push(LinkEvent::Clock(Reading { node, asked }));
        }
        events.push(LinkEvent::Reply(waiting.tag, vote));
        Ok(())
    }

    /// Takes one frame for what it is: a hint, or the answer to what was asked first.
    fn hear(
        &mut self,
        frame: &Frame<'_>,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<(), String> {
        if let Frame::Push(push) = frame {
            look::hear(push, self.encoder.key_format(), events);
            return Ok(());
        }
        // A node that answers what it was not asked, or as nothing of ours is answered, is out of step with us.
        // From here on no answer could be laid at the right request's door.
        let understood = match backlog.answered() {
            None => return Err(reply::unasked(frame)),
            Some(Asked::Request(waiting)) => {
                let reply = match self.is_set(waiting.kind) {
                    true => reply::of_set(frame),
                    false => reply::of_script(frame),
                };
                return self.weigh(reply, waiting, None, backlog, events);
            }
            Some(Asked::Native(waiting, request)) => {
                let reply = self.heard.reply(&request, frame);
                return self.weigh(reply, waiting, Some(*request), backlog, events);
            }
            Some(Asked::Change) => self.heard.change(frame),
            Some(Asked::Key) => self.heard.key(frame),
            Some(Asked::Watch) => Some(()),
            Some(Asked::Settings) => {
                self.asked = false;
                // Who does not tell any more may have been changed.
                let is_durable = Some(greeting::is_durable(frame).unwrap_or(false));
                self.met.rely(self.encoder.disk(is_durable));
                Some(())
            }
            Some(Asked::Replicas { tag, vote, need }) => {
                let vote = match self.encoder.replicas() {
                    Some(replicas) => replicas.judge(frame, *vote),
                    None => *vote,
                };
                self.tell(tag, vote, need, backlog, events);
                Some(())
            }
            Some(Asked::Found(tag, request)) => self.found(frame, tag, &request, events),
            Some(Asked::Rights(tag, fault)) => {
                let named = rights::lacking(frame).map(|why| Fault::new(FaultKind::Rejected, &why));
                let vote = Vote::Unknown(named.unwrap_or(*fault));
                events.push(LinkEvent::Reply(tag, vote));
                Some(())
            }
            Some(Asked::Look(look)) => {
                if look.said.is_outdated(frame) {
                    let changed = backlog.looked_at(&look, &self.encoder);
                    events.extend(changed.map(|resource| LinkEvent::Changed(Some(resource))));
                }
                Some(())
            }
        };
        understood.ok_or_else(|| ODD.to_owned())
    }

    /// Takes the answer about a key that a `SET … NX` has found.
    fn found(
        &self,
        frame: &Frame<'_>,
        tag: Tag,
        request: &Request,
        events: &mut Vec<LinkEvent>,
    ) -> Option<()> {
        let vote = native::found(request, frame)?;
        let said = Said::of(&vote, request).filter(|_| self.hints == Hints::Given);
        events.push(LinkEvent::Reply(tag, vote));
        if let Some(said) = said
            && said.is_outdated(frame)
        {
            let resource = request.resource().clone();
            events.push(LinkEvent::Changed(Some(resource)));
        }
        Some(())
    }

    /// Whether the request is said by Redlock's own command, beside scripts.
    const fn is_set(&self, kind: Kind) -> bool {
        self.met.native.is_none() && self.encoder.is_native(kind)
    }

    /// Whether a script has failed for lack of a right, which was taken away after the handshake.
    fn lacks_a_right(&self, fault: &Fault) -> bool {
        self.met.native.is_none() && is_about_rights(&fault.to_string())
    }

    /// Takes what a request was answered; none if nothing of ours is answered so. `request` is what was asked, if nobody
    /// has to read it back.
    fn weigh(
        &mut self,
        reply: Option<Reply>,
        waiting: Waiting,
        request: Option<Request>,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<(), String> {
        if let Some(node) = reply.as_ref().and_then(|reply| reply.time) {
            let asked = waiting.given;
            events.push(LinkEvent::Clock(Reading { node, asked }));
        }
        let (tag, vote) = match reply.map(|reply| reply.verdict) {
            Some(Verdict::Vote(Vote::Refused(_))) if self.is_set(waiting.kind) => {
                // `SET … NX` does not say whose the key is, and it may be our own.
                let Some(request) = backlog.recall(&waiting, &self.encoder) else {
                    return Err(doubt(waiting.tag, UNREADABLE.to_owned(), events));
                };
                let watches = Said::of(&Vote::Refused(Refusal::default()), &request);
                let watches = watches.is_some() && self.hints == Hints::Given;
                backlog.ask_whose(waiting.tag, request, watches, &self.encoder);
                return Ok(());
            }
            Some(Verdict::Vote(Vote::Unknown(fault))) if self.lacks_a_right(&fault) => {
                backlog.ask_rights(waiting.tag, fault, &self.encoder);
                return Ok(());
            }
            Some(Verdict::Vote(vote)) => {
                if let Some(request) = &request {
                    backlog.settled(request);
                }
                if !self.is_awaited() && !self.looks(&vote, waiting.kind) {
                    events.push(LinkEvent::Reply(waiting.tag, vote));
                    return Ok(());
                }
                let request = request.or_else(|| backlog.recall(&waiting, &self.encoder));
                let Some(request) = request else {
                    return Err(doubt(waiting.tag, UNREADABLE.to_owned(), events));
                };
                self.count(vote, waiting.tag, &request, backlog, events);
                return Ok(());
            }
            Some(Verdict::ScriptMissing) => {
                match backlog.repeat(waiting, &self.encoder, &self.met) {
                    Ok(()) => return Ok(()),
                    Err(undone) => undone,
                }
            }
            // Nothing tells when a node that has failed can be asked again, but a new connection does.
            Some(Verdict::Unclear(words)) => return Err(doubt(waiting.tag, words, events)),
            None => return Err(doubt(waiting.tag, ODD.to_owned(), events)),
        };
        events.push(LinkEvent::Reply(tag, vote));
        Ok(())
    }

    /// Whether a vote may lead to a look at the key.
    fn looks(&self, vote: &Vote, kind: Kind) -> bool {
        self.hints == Hints::Given && Said::may_be_by(vote, kind)
    }

    /// Whether others must have heard of votes, or confirm that this is the node, before they count.
    fn is_awaited(&self) -> bool {
        self.watch.is_some() || self.encoder.replicas().is_some()
    }

    /// Takes the vote that answers a request.
    fn count(
        &self,
        vote: Vote,
        tag: Tag,
        request: &Request,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) {
        if self.hints == Hints::Given
            && let Some(said) = Said::of(&vote, request)
        {
            backlog.look(request.resource(), said, &self.encoder);
        }
        let need = Need::of(request, self.encoder.quarantine());
        let vote = match &self.watch {
            Some(watch) => watch.judge(need, vote),
            None => vote,
        };
        if let Some(replicas) = self.encoder.replicas()
            && Replicas::concern(request, &vote)
        {
            backlog.wait(tag, vote, need, replicas);
        } else {
            self.tell(tag, vote, need, backlog, events);
        }
    }

    /// Tells of a vote, or keeps it until it can be told.
    fn tell(
        &self,
        tag: Tag,
        vote: Vote,
        need: Need,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) {
        let heard = match &self.watch {
            Some(watch) => watch.hear(need, tag, vote, &mut backlog.unconfirmed),
            None => Heard::Told(tag, vote),
        };
        match heard {
            Heard::Told(tag, vote) => events.push(LinkEvent::Reply(tag, vote)),
            Heard::Asks => self.settle(backlog, events),
            Heard::Waits => {}
        }
    }

    /// Tells of the answers that can be told by now.
    fn settle(&self, backlog: &mut Backlog, events: &mut Vec<LinkEvent>) {
        let Some(watch) = &self.watch else {
            return;
        };
        while let Some((tag, vote)) = watch.settle(&mut backlog.unconfirmed) {
            events.push(LinkEvent::Reply(tag, vote));
        }
    }
}

/// How often a node is asked for the settings that `INFO` does not tell.
const PERIOD: Duration = Duration::from_secs(1);

const UNREADABLE: &str = "a request cannot be told from its own bytes, which is a bug of leasehold";

const ODD: &str = "the node gave an answer that none of our scripts gives";

/// Answers a request of which nobody knows whether it took effect. Gives the reason back, with which the
/// connection ends.
fn doubt(tag: Tag, reason: String, events: &mut Vec<LinkEvent>) -> String {
    let fault = Fault::new(FaultKind::Disconnected, &reason);
    events.push(LinkEvent::Reply(tag, Vote::Unknown(fault)));
    reason
}

#[cfg(test)]
mod tests;
