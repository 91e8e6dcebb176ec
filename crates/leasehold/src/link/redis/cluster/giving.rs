//! To which server of a cluster a request is given, and when it is given again.

use super::{ClusterLink, redirection::Redirection};
use crate::link::{Draft, LinkEvent, Message, redis::RedisLink};
use leasehold_core::{
    Fault, FaultKind, Instant, Vote,
    outstanding::{Course, OutstandingRequest, Redirected, tag_of},
};
use std::{task::Context, time::Duration};
use tokio::time::sleep;

impl ClusterLink {
    /// Gives a new request to this server, or to whoever keeps its slot.
    pub(super) fn pass(&mut self, message: &mut Message<'_>, number: u64, way: Option<usize>) {
        let Some(given) = self.outstanding.get(number) else {
            return;
        };
        match way.or_else(|| self.places.owner(given.slot)) {
            Some(at) => {
                (given.at, given.tries) = (Some(at), 1);
                let given = message.given();
                if let Some(link) = self.link_to(at, given) {
                    link.give(&mut message.tagged(tag_of(number)), false);
                }
            }
            None => self.pause(number),
        }
    }

    /// Gives a request once more, to whoever keeps its slot.
    fn give(&mut self, number: u64) {
        let slot = self.outstanding.get(number).map(|given| given.slot);
        match slot.and_then(|slot| self.places.owner(slot)) {
            Some(at) => self.say(number, at, false),
            None => self.pause(number),
        }
    }

    /// Gives a request to this server, which has the slot, or is about to get it if it is `asked` so.
    fn say(&mut self, number: u64, at: usize, asked: bool) {
        let Some(given) = self.outstanding.get(number) else {
            return;
        };
        (given.at, given.tries) = (Some(at), given.tries + 1);
        let (request, since) = (given.request.clone(), given.given);
        let (now, mut draft) = (self.clock.now(), Draft::default());
        if let Some(link) = self.link_to(at, now) {
            let mut message = Message::new(tag_of(number), &request, since, &mut draft);
            link.give(&mut message, asked);
        }
    }

    /// The link to this server, which is needed `now`.
    fn link_to(&mut self, at: usize, now: Instant) -> Option<&mut RedisLink> {
        let (url, clock, encoder) = (&self.url, self.clock, &self.encoder);
        let place = self.places.get(at)?;
        place.used = now;
        place.notifier.notify();
        let (host, port) = &place.address;
        let link = place.link.get_or_insert_with(|| {
            let url = url.at(host, *port);
            Box::new(RedisLink::speaking(url, clock, encoder.clone()))
        });
        Some(link)
    }

    /// Goes to the master of the first slot, though nobody has asked for it yet: so it is known whether servers tell of
    /// changes to keys.
    pub(super) fn meet_one(&mut self) {
        let now = self.clock.now();
        if let Some(at) = self.places.first() {
            self.link_to(at, now);
        }
    }

    /// Gives a request again after a while.
    pub(super) fn pause(&mut self, number: u64) {
        if let Some(given) = self.outstanding.get(number) {
            given.at = None;
            let due = self.clock.now().saturating_add(PAUSE);
            self.paused.push_back((due, number));
        }
        self.hurry();
    }

    pub(super) fn set_busy(&self, is_busy: bool) {
        if let Some(watch) = &self.watch {
            watch.set_busy(is_busy);
        }
    }

    pub(super) fn hurry(&self) {
        if let Some(watch) = &self.watch {
            watch.hurry();
        }
    }

    /// Tells the answer to a request.
    pub(super) fn tell(&mut self, number: u64, vote: Vote, events: &mut Vec<LinkEvent>) {
        if let Some(OutstandingRequest { tag, .. }) = self.outstanding.take(number) {
            events.push(LinkEvent::Reply(tag, vote));
            if self.outstanding.is_empty() {
                self.set_busy(false);
            }
        }
    }

    /// Goes on with what has waited long enough. Whether there was anything.
    pub(super) fn resume(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>) -> bool {
        if self.paused.is_empty() {
            return false;
        }
        let now = self.clock.now();
        let mut has_gone_on = false;
        while let Some((due, number)) = self.paused.front().copied()
            && due <= now
        {
            self.paused.pop_front();
            has_gone_on = true;
            match self.outstanding.again(number, now) {
                Some(Course::Overtaken) => self.tell(number, rejected(OVERTAKEN), events),
                Some(Course::Spent) => self.give_up(number, events),
                Some(_) => self.give(number),
                None => {}
            }
        }
        loop {
            let Some((due, _)) = self.paused.front() else {
                self.timer = None;
                return has_gone_on;
            };
            let rest = due.saturating_since(self.clock.now());
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(rest)));
            if timer.as_mut().poll(cx).is_pending() {
                return has_gone_on;
            }
            self.timer = None;
            if rest.is_zero() {
                return true;
            }
        }
    }

    /// Tells why a request is not given once more.
    fn give_up(&mut self, number: u64, events: &mut Vec<LinkEvent>) {
        let now = self.clock.now();
        if let Some(given) = self.outstanding.get(number) {
            let why = given.why.as_deref().unwrap_or(UNKEPT);
            let waited = now.saturating_since(given.given).as_millis();
            let words = format!("{why} (asked {} times in {waited} ms)", given.tries);
            self.tell(number, rejected(&words), events);
        }
    }

    pub(super) fn answered(
        &mut self,
        at: usize,
        number: u64,
        vote: Vote,
        events: &mut Vec<LinkEvent>,
    ) {
        let redirection = match &vote {
            Vote::Unknown(_) => {
                let host = self.places.get(at).map(|place| place.address.0.as_str());
                Redirection::read(&vote, host.unwrap_or_default())
            }
            _ => None,
        };
        match redirection {
            Some((redirection, fault)) => self.redirect(at, number, &redirection, &fault, events),
            None => {
                let vote = self.by(at, vote);
                self.tell(number, vote, events);
            }
        }
    }

    /// The vote, with the name of the server in a fault: the address of the cluster says little about one of many.
    fn by(&self, at: usize, vote: Vote) -> Vote {
        match vote {
            Vote::Unknown(fault)
                if matches!(
                    fault.kind(),
                    FaultKind::Down | FaultKind::Disconnected | FaultKind::Rejected
                ) =>
            {
                let words = format!("{} of the cluster: {fault}", self.places.name(at));
                Vote::Unknown(Fault::new(fault.kind(), &words))
            }
            vote => vote,
        }
    }

    /// Deals with a request that a server has not carried out.
    fn redirect(
        &mut self,
        at: usize,
        number: u64,
        redirection: &Redirection,
        fault: &Fault,
        events: &mut Vec<LinkEvent>,
    ) {
        let now = self.clock.now();
        let Some(slot) = self.outstanding.get(number).map(|given| given.slot) else {
            return;
        };
        let told = match redirection {
            Redirection::Moved(to) => Redirected::Moved(self.places.number(to, now)),
            Redirection::Ask(to) => Redirected::Ask(self.places.number(to, now)),
            Redirection::Later => Redirected::Later,
        };
        if let Redirected::Moved(to) = told
            && self.places.set(slot, to)
        {
            self.hurry();
            self.wake(events);
        }
        let name = self.places.name(at);
        if let Some(given) = self.outstanding.get(number) {
            given.why = Some(format!("{name}: {fault}"));
        }
        match self.outstanding.redirected(number, (at, told), now) {
            Some(Course::Give { to, asked }) => self.say(number, to, asked),
            Some(Course::Rest) => self.pause(number),
            Some(Course::Overtaken) => {
                self.tell(number, rejected(&format!("{fault}: {OVERTAKEN}")), events);
            }
            Some(Course::Spent) => self.give_up(number, events),
            None => {}
        }
    }

    /// Gives a request that was given before it was known where, unless its release has been since.
    pub(super) fn give_first(&mut self, number: u64, events: &mut Vec<LinkEvent>) {
        match self.outstanding.get(number).map(|given| given.is_overtaken) {
            Some(true) => self.tell(number, rejected(OVERTAKEN), events),
            Some(false) => self.give(number),
            None => {}
        }
    }
}

fn rejected(why: &str) -> Vote {
    Vote::Unknown(Fault::new(FaultKind::Rejected, why))
}

/// Between two tries, where nobody is named who could be asked.
const PAUSE: Duration = Duration::from_millis(20);

const OVERTAKEN: &str = "was not asked again, since a later request for the same lock is under way";
const UNKEPT: &str = "nobody is known who keeps the slot of this lock";
