//! Which request each answer is to.

use super::{
    Backlog, WINDOW,
    pending::{Aside, Due, Pending, PendingRequest},
};
use crate::link::{
    LinkEvent,
    redis::{glance::granted, kind::Kind, reply::SaidTime},
};
use leasehold_core::{Reading, Vote};
use std::time::Duration;

impl Backlog {
    /// The request that the next answer is to, if it is to one and all of it has left.
    #[inline]
    pub(in super::super) fn first(&self) -> Option<&PendingRequest> {
        self.next_of_call().filter(|_| self.has_left())
    }

    /// The request that the next answer of a call is to, some of whose answers have come.
    #[inline]
    pub(in super::super) fn next_of_call(&self) -> Option<&PendingRequest> {
        match self.asked.front()? {
            Due::Request(waiting) => Some(waiting),
            Due::Aside { .. } => None,
        }
    }

    /// Takes out the first place, whose request is answered if it is one of a request.
    pub(in super::super) fn pop(&mut self) {
        let Some(first) = self.asked.front() else {
            return;
        };
        let begins_at = first.begins_at();
        if let Due::Request(waiting) = first {
            *self.count(waiting.kind) -= 1;
            if self.locks.are_counted() {
                self.uncount_first();
            }
        }
        self.asked.pop_front();
        self.no_more_than(begins_at);
    }

    /// Of the bytes before this position, which were answered, not too many are kept. What is answered now may still be
    /// asked for.
    fn no_more_than(&mut self, position: u64) {
        let answered = position - self.base;
        if answered > WINDOW as u64 {
            self.forget(usize::try_from(answered).unwrap_or_default());
        }
    }

    #[cold]
    fn uncount_first(&mut self) {
        if let Some(waiting) = self.next_of_call()
            && let Some(lock) = self.lock(waiting)
        {
            self.locks.pop(lock);
        }
    }

    /// Takes out what the next answer is to. None if nothing has left in full that it could be: whatever
    /// it is to, it is not ours.
    pub(in super::super) fn answered(&mut self) -> Option<Pending> {
        let place = *self.asked.front().filter(|_| self.has_left())?;
        self.pop();
        if let Some(waiting) = place.request() {
            return Some(Pending::Request(waiting));
        }
        let aside = self.asides.pop_front()?;
        if let Aside::Native(waiting, _) = &aside {
            *self.count(waiting.kind) -= 1;
        }
        Some(Pending::Aside(aside))
    }

    /// Whether all that was said at the first place has left.
    #[inline]
    fn has_left(&self) -> bool {
        self.left == self.bytes.len() || self.has_first_left()
    }

    #[inline(never)]
    fn has_first_left(&self) -> bool {
        let behind = self.asked.front().map_or(0, |first| first.behind());
        let next_begins_at = self
            .asked
            .get(1 + behind)
            .map_or(self.end(), |next| next.begins_at());
        next_begins_at <= self.left_at()
    }

    /// Takes the grants that `received` begins with, of those kinds of which `is_set` tells how they are said, until
    /// `limit` events are there. Of a call, `due` answers are still to come, and others have `told` this time. Tells how
    /// many the grants are, and how long.
    pub(in super::super) fn take_grants(
        &mut self,
        received: &[u8],
        (due, told): (usize, &mut Option<Duration>),
        is_set: impl Fn(Kind) -> Option<bool>,
        events: &mut Vec<LinkEvent>,
        limit: usize,
    ) -> (usize, usize) {
        let (mut rest, mut count, mut releases) = (received, 0, 0);
        // What has not left in full is not granted, and locks that are counted are taken out one by one.
        if self.left < self.bytes.len() || self.locks.are_counted() {
            return (0, 0);
        }
        let (mut answered, mut said) = (self.base, SaidTime::default());
        for place in &self.asked {
            let Due::Request(waiting) = place else {
                break;
            };
            let is_open = count < due;
            let stands_alone = waiting.behind == 0 || is_open;
            let is_set = is_set(waiting.kind).filter(|_| stands_alone && events.len() < limit);
            let granted = is_set.and_then(|is_set| granted(rest, is_set, &mut said));
            let Some((counter, time, behind)) = granted else {
                break;
            };
            if let Some(node) = time
                && !(is_open && *told == time)
            {
                let asked = waiting.given;
                events.push(LinkEvent::Clock(Reading { node, asked }));
                *told = time;
            }
            events.push(LinkEvent::Reply(waiting.tag, Vote::Granted { counter }));
            releases += usize::from(waiting.kind == Kind::Release);
            answered = waiting.begins_at;
            (rest, count) = (behind, count + 1);
        }
        if count > 0 {
            match count {
                1 => drop(self.asked.pop_front()),
                _ => drop(self.asked.drain(..count)),
            }
            self.releases -= releases;
            self.votes -= count - releases;
            self.no_more_than(answered);
        }
        (count, received.len() - rest.len())
    }
}
