//! The answers that nearly every request gets, taken as they lie in the buffer.

use super::{Interpreter, UNREADABLE, doubt};
use crate::link::{
    LinkEvent,
    redis::{
        backlog::{Backlog, PendingRequest},
        glance,
        reply::{Reply, SaidTime, Verdict},
    },
};
use leasehold_core::{Instant, Reading, Vote};
use std::time::Duration;

impl Interpreter {
    /// Takes grants on which nothing follows, as most answers are, several at once. Tells how many, and how long they are.
    pub(super) fn take_grants(
        &mut self,
        bytes: &[u8],
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
        limit: usize,
    ) -> (usize, usize) {
        let is_awaited = self.is_awaited();
        let is_set = |kind| {
            let is_all = !is_awaited && !self.looks(&Vote::GRANTED, kind);
            is_all.then(|| self.is_set(kind))
        };
        let mut told = self.told;
        let call = (self.due, &mut told);
        let taken = backlog.take_grants(bytes, call, is_set, events, limit);
        self.told = told;
        self.due = self.due.saturating_sub(taken.0);
        taken
    }

    /// Takes the answer that nearly every request gets, or nearly every look. Tells how long it is; none if there is
    /// another.
    #[inline]
    pub(super) fn glance(
        &mut self,
        bytes: &[u8],
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<Option<usize>, String> {
        let first = match self.due {
            0 => backlog.first(),
            _ => backlog.next_of_call(),
        };
        let Some(&waiting) = first else {
            return Ok(backlog.looked(bytes));
        };
        if self.due == 0 && waiting.behind > 0 {
            let several = usize::from(waiting.behind) + 1;
            if let Some(length) = self.take_grant_of_all(bytes, (waiting, several), backlog, events)
            {
                return Ok(Some(length));
            }
            let opens = glance::opens(bytes, several);
            if opens.is_some() {
                (self.due, self.told) = (several, None);
            }
            return Ok(opens);
        }
        let is_set = self.is_set(waiting.kind);
        let Some((vote, time, length)) = glance::at_a_glance(bytes, is_set) else {
            return Ok(None);
        };
        self.take_vote(vote, time, &waiting, backlog, events)?;
        Ok(Some(length))
    }

    /// Takes one grant that answers all of a call: `several` requests, of which this is the first, and on which nothing
    /// follows. Tells how long it is; none if there is another answer.
    fn take_grant_of_all(
        &mut self,
        bytes: &[u8],
        (first, several): (PendingRequest, usize),
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Option<usize> {
        if self.is_awaited() || self.looks(&Vote::GRANTED, first.kind) {
            return None;
        }
        let (counter, time, rest) = glance::granted(bytes, false, &mut SaidTime::default())?;
        self.tell_time(time, first.given, events);
        for _ in 0..several {
            let tag = backlog.next_of_call()?.tag;
            backlog.pop();
            events.push(LinkEvent::Reply(tag, Vote::Granted { counter }));
        }
        Some(bytes.len() - rest.len())
    }

    /// Takes a vote that was read at a glance.
    fn take_vote(
        &mut self,
        vote: Vote,
        time: Option<Duration>,
        waiting: &PendingRequest,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<(), String> {
        backlog.pop();
        if self.is_awaited() || self.looks_behind(&vote, waiting) {
            self.take_with_care(vote, time, *waiting, backlog, events)?;
        } else {
            self.tell_time(time, waiting.given, events);
            events.push(LinkEvent::Reply(waiting.tag, vote));
        }
        self.due = self.due.saturating_sub(1);
        Ok(())
    }

    /// The same, of a vote on which something else follows.
    #[inline(never)]
    fn take_with_care(
        &mut self,
        vote: Vote,
        time: Option<Duration>,
        waiting: PendingRequest,
        backlog: &mut Backlog,
        events: &mut Vec<LinkEvent>,
    ) -> Result<(), String> {
        if self.is_awaited() {
            let verdict = Verdict::Vote(vote);
            let reply = Some(Reply { verdict, time });
            return self.weigh(reply, waiting, None, backlog, events);
        }
        if backlog.look_behind(&waiting, &vote).is_none() {
            return Err(doubt(waiting.tag, UNREADABLE.to_owned(), events));
        }
        self.tell_time(time, waiting.given, events);
        events.push(LinkEvent::Reply(waiting.tag, vote));
        Ok(())
    }

    /// Tells what the node's clock showed when it answered what was given then, unless an answer of the same call has.
    #[inline]
    fn tell_time(&mut self, time: Option<Duration>, asked: Instant, events: &mut Vec<LinkEvent>) {
        if let Some(node) = time
            && (self.due == 0 || self.told != time)
        {
            events.push(LinkEvent::Clock(Reading { node, asked }));
            self.told = time;
        }
    }
}
