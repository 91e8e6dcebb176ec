//! What a node's answers mean, each to what was asked.

mod usual;

use super::{
    backlog::{Again, Aside, Backlog, Pending, PendingRequest},
    codec::{self, Frame, ReceiveBuffer},
    copies::{self, Copied, Copies},
    failover::SentinelWatch,
    greeting,
    kind::Kind,
    look::{self, Hints, SeenValue},
    native,
    reply::{self, Reply, Verdict},
    rights::{self, is_about_rights},
    scripts::{Encoder, ServerInfo},
};
use crate::link::LinkEvent;
use leasehold_core::{
    Fault, FaultKind, Reading, Refusal, Request, Tag, Vote,
    discovery::{Heard, Need},
};
use std::{
    task::{Context, Poll},
    time::Duration,
};

/// What it takes to understand the node's answers.
pub(super) struct Interpreter {
    encoder: Encoder,
    /// Whom the connection was opened to.
    met: ServerInfo,
    /// Whether the node tells of changes to keys.
    hints: Hints,
    /// The answers to the first commands of a request that is made of several.
    heard: native::NativeReplies,
    /// Whether the node was asked for its settings and has not answered.
    asked: bool,
    /// How many answers of a call are still to come, of which some have.
    due: usize,
    /// What the node's clock showed when it answered the last call, if that was told. All its answers show the same.
    told: Option<Duration>,
    /// Who says that this is the node; none if its own address does.
    watch: Option<Box<SentinelWatch>>,
}

/// Why no more answers were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// All that have come in are.
    All,
    /// There may be more.
    Enough,
}

impl Interpreter {
    /// Of a connection to whom was `met`, which says whether it gives hints.
    pub(super) const fn new(encoder: Encoder, met: ServerInfo, hints: Hints) -> Self {
        Self {
            encoder,
            met,
            hints,
            heard: native::NativeReplies::NOTHING,
            asked: false,
            due: 0,
            told: None,
            watch: None,
        }
    }

    /// From now on this says whether the server is the node.
    pub(super) fn obey(&mut self, watch: SentinelWatch) {
        self.watch = Some(Box::new(watch));
    }

    /// Who says whether the server is the node is asked within the runtime that runs here.
    pub(super) fn change_runtime(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.change_runtime();
        }
    }

    /// Whether the node tells of changes to keys.
    pub(super) const fn hints(&self) -> Hints {
        self.hints
    }

    /// Whom the connection was opened to.
    pub(super) const fn met(&self) -> &ServerInfo {
        &self.met
    }

    /// What puts requests into words, and whom the connection was opened to.
    pub(super) const fn speaker(&self) -> (&Encoder, &ServerInfo) {
        (&self.encoder, &self.met)
    }

    /// Ready when another server is the node now, with a fragment for people. Tells of the answers that can be told by the
    /// last word of who says so.
    #[inline]
    pub(super) fn poll_departure(
        &mut self,
        cx: &mut Context<'_>,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Poll<String> {
        let Some(watch) = &mut self.watch else {
            return Poll::Pending;
        };
        let departure = watch.poll_departure(cx);
        if departure.is_pending() {
            self.settle(backlog, events);
        }
        departure
    }

    /// Asks for the settings that `INFO` does not tell. A node that hangs is asked once.
    pub(super) fn ask_settings(&mut self, backlog: &mut Backlog) {
        if !self.asked {
            self.asked = true;
            backlog.ask_settings();
        }
    }

    /// Takes the answers that have come in, until `limit` events are there.
    pub(super) fn take(
        &mut self,
        received: &mut ReceiveBuffer,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
        limit: usize,
    ) -> Result<Drained, String> {
        while events.len() < limit {
            let bytes = received.bytes();
            if bytes.is_empty() {
                return Ok(Drained::All);
            }
            let (count, length) = self.take_grants(bytes, backlog, events, limit);
            let length = if count > 0 {
                length
            } else if let Some(length) = self.glance(bytes, backlog, events)? {
                length
            } else {
                let decoded = codec::decode(bytes).map_err(|odd| odd.to_string())?;
                let Some((frame, length)) = decoded else {
                    return Ok(Drained::All);
                };
                self.hear(&frame, backlog, events)?;
                length
            };
            received.taken(length);
        }
        Ok(Drained::Enough)
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
        match backlog.answered() {
            None => Err(reply::unasked(frame)),
            Some(Pending::Request(waiting)) => {
                let several = if self.due > 0 {
                    1
                } else {
                    usize::from(waiting.behind) + 1
                };
                self.due = self.due.saturating_sub(1);
                self.hear_reply(frame, waiting, several, backlog, events)
            }
            Some(Pending::Aside(aside)) => self.hear_aside(frame, aside, backlog, events),
        }
    }

    /// Takes the reply to a request, which is that to all others of its call as well if there are `several`.
    fn hear_reply(
        &mut self,
        frame: &Frame<'_>,
        first: PendingRequest,
        several: usize,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<(), String> {
        let is_set = self.is_set(first.kind);
        // Asked once for all: it is a list of nodes that we are about to learn, and no other configuration.
        let is_superseded =
            reply::other_configuration(frame).is_some_and(|text| self.encoder.is_superseded(text));
        let read = || match is_set {
            true => reply::of_set(frame),
            false if is_superseded => reply::of_script(frame).map(Reply::superseded),
            false => reply::of_script(frame),
        };
        let again = match read().map(|reply| reply.verdict) {
            Some(Verdict::ScriptMissing) => Some(Again::WithScript(several)),
            Some(Verdict::Vote(Vote::Unknown(fault))) if self.lacks_a_right(&fault) => {
                // One key among them may be out of reach.
                (several > 1).then_some(Again::Alone)
            }
            Some(_) if several > 1 && reply::is_divided(frame) => Some(Again::Alone),
            _ => None,
        };
        if again.is_some() {
            // It counts as behind what is given again.
            backlog.say_gathered(&self.encoder, &self.met);
        }
        let mut next = Some(Pending::Request(first));
        for behind in (0..several).rev() {
            let Some(Pending::Request(waiting)) = next else {
                return Err(reply::unasked(frame));
            };
            match again {
                Some(again) => {
                    let said = backlog.repeat(waiting, again, &self.encoder, &self.met);
                    events.extend(said.err().map(|(tag, vote)| LinkEvent::Reply(tag, vote)));
                }
                None => self.weigh(read(), waiting, None, backlog, events)?,
            }
            next = if behind > 0 { backlog.answered() } else { None };
        }
        Ok(())
    }

    /// Takes the answer to what was asked beside requests, or for one without scripts.
    fn hear_aside(
        &mut self,
        frame: &Frame<'_>,
        aside: Aside,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<(), String> {
        let understood = match aside {
            Aside::Native(waiting, request) => {
                let reply = self.heard.reply(&request, frame);
                return self.weigh(reply, waiting, Some(*request), backlog, events);
            }
            Aside::Change => self.heard.change(frame),
            Aside::Key => self.heard.key(frame),
            Aside::Asking | Aside::Watch => Some(()),
            Aside::Settings => {
                self.asked = false;
                // Who does not tell any more may have been changed.
                let is_durable = greeting::is_durable(frame).unwrap_or(false);
                self.met.rely(self.encoder.disk(Some(is_durable)));
                self.met.own_disk = self.met.own_disk.with(is_durable);
                Some(())
            }
            Aside::Copies {
                turn,
                tag,
                vote,
                need,
            } => self.copied(frame, turn, (tag, *vote, need), backlog, events),
            Aside::Count { tag, fault, needed } => {
                let fault = copies::with_count(*fault, needed, frame);
                events.push(LinkEvent::Reply(tag, Vote::Unknown(fault)));
                Some(())
            }
            Aside::Found(tag, request) => self.found(frame, tag, &request, events),
            Aside::Rights(tag, fault) => {
                let named = rights::lacking(frame).map(|why| Fault::new(FaultKind::Rejected, &why));
                let vote = Vote::Unknown(named.unwrap_or(*fault));
                events.push(LinkEvent::Reply(tag, vote));
                Some(())
            }
            Aside::Look(look) => {
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
        // The key was there, and may have gone to another server of the cluster since. The request has changed nothing.
        let redirection = reply::redirection(frame).filter(|_| self.encoder.is_sharded());
        if let Some(fault) = redirection {
            events.push(LinkEvent::Reply(tag, Vote::Unknown(fault)));
            return Some(());
        }
        let vote = native::found(request, frame)?;
        let said = SeenValue::of(&vote, request).filter(|_| self.hints == Hints::Given);
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
        waiting: PendingRequest,
        request: Option<Request>,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<(), String> {
        if let Some(node) = reply.as_ref().and_then(|reply| reply.time) {
            let asked = waiting.given;
            events.push(LinkEvent::Clock(Reading { node, asked }));
        }
        match reply.map(|reply| reply.verdict) {
            Some(Verdict::Vote(Vote::Refused(_))) if self.is_set(waiting.kind) => {
                // `SET … NX` does not say whose the key is, and it may be our own.
                let Some(request) = backlog.recall(&waiting, &self.encoder) else {
                    return Err(doubt(waiting.tag, UNREADABLE.to_owned(), events));
                };
                let watches = SeenValue::of(&Vote::Refused(Refusal::default()), &request);
                let watches = watches.is_some() && self.hints == Hints::Given;
                backlog.ask_whose(&waiting, request, watches, &self.encoder);
                Ok(())
            }
            Some(Verdict::Vote(Vote::Unknown(fault))) if self.lacks_a_right(&fault) => {
                backlog.ask_rights(waiting.tag, fault, &self.encoder);
                Ok(())
            }
            Some(Verdict::Vote(vote)) => {
                let vote = match self.encoder.is_sharded() {
                    true => vote,
                    false => reply::with_way_out(vote),
                };
                if let Some(request) = &request {
                    backlog.settled(request);
                }
                if !self.is_awaited() && !self.looks_behind(&vote, &waiting) {
                    events.push(LinkEvent::Reply(waiting.tag, vote));
                    return Ok(());
                }
                let request = request.or_else(|| backlog.recall(&waiting, &self.encoder));
                let Some(request) = request else {
                    return Err(doubt(waiting.tag, UNREADABLE.to_owned(), events));
                };
                self.count(vote, waiting.tag, &request, backlog, events);
                Ok(())
            }
            // Nothing tells when a node that has failed can be asked again, but a new connection does.
            Some(Verdict::Unclear(words)) => Err(doubt(waiting.tag, words, events)),
            // Of scripts that are missing it was told before.
            Some(Verdict::ScriptMissing) | None => Err(doubt(waiting.tag, ODD.to_owned(), events)),
        }
    }

    /// Whether a vote may lead to a look at the key.
    fn looks(&self, vote: &Vote, kind: Kind) -> bool {
        self.hints == Hints::Given && SeenValue::may_be_by(vote, kind)
    }

    /// The same of the vote that answers this request. Who was asked for a slot that it is about to get is not asked for
    /// more: the key would be out of its reach again.
    fn looks_behind(&self, vote: &Vote, waiting: &PendingRequest) -> bool {
        !waiting.is_asking && self.looks(vote, waiting.kind)
    }

    /// Whether others must have heard of votes, or confirm that this is the node, before they count.
    fn is_awaited(&self) -> bool {
        self.watch.is_some() || !self.encoder.copies().is_empty()
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
            && let Some(said) = SeenValue::of(&vote, request)
        {
            backlog.look(request.resource(), said, &self.encoder);
        }
        let need = Need::of(request, self.encoder.quarantine());
        let vote = match &self.watch {
            Some(watch) => watch.judge(need, vote),
            None => vote,
        };
        if let Some(first) = self.encoder.copies().first()
            && Copies::concern(request, &vote)
        {
            backlog.wait(tag, vote, need, (0, *first));
        } else {
            self.tell(tag, vote, need, backlog, events);
        }
    }

    /// Takes the answer to a question about the copies of a vote.
    fn copied(
        &self,
        frame: &Frame<'_>,
        turn: usize,
        (tag, vote, need): (Tag, Vote, Need),
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Option<()> {
        let mut asked = self.encoder.copies().iter().skip(turn);
        match asked.next()?.judge(frame, self.met.own_disk) {
            Copied::Enough => match asked.next() {
                Some(next) => backlog.wait(tag, vote, need, (turn + 1, *next)),
                None => self.tell(tag, vote, need, backlog, events),
            },
            Copied::TooFew(fault, Some(needed)) => backlog.count_replicas(tag, fault, needed),
            Copied::TooFew(fault, None) => {
                events.push(LinkEvent::Reply(tag, Vote::Unknown(fault)));
            }
        }
        Some(())
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
