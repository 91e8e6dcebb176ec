//! Requests that leave in one call, and those that are given again.

use super::{
    Backlog, NO_COMMAND, WINDOW,
    gathered::{CALLS, Mark},
    pending::PendingRequest,
};
use crate::link::redis::{
    heads::Call,
    kind::Kind,
    scripts::{Encoder, ServerInfo},
};
use leasehold_core::{Fault, FaultKind, Instant, Request, Resource, Tag, Vote};

/// How a request is given again that certainly did not take effect.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Again {
    /// With the script that the node has forgotten: the one for so many.
    WithScript(usize),
    /// And not in a call with others, since the node refuses the call as a whole for what one of them asks.
    Alone,
}

impl Again {
    /// Why it is not given again, if a later request for the same lock is under way.
    const fn overtaken(self) -> &'static str {
        match self {
            Self::WithScript(_) => {
                "the node had forgotten the script, and a later request for the same lock is under way"
            }
            Self::Alone => {
                "the node refused the call in which it was with others, and a later request for the same lock is under way"
            }
        }
    }
}

/// Whether a request that is said so may be said to this server.
///
/// # Errors
/// The fault to answer with, if not.
pub(in super::super) fn fit_for(
    call: Call,
    encoder: &Encoder,
    met: &ServerInfo,
) -> Result<(), Fault> {
    if call.is_of_a_share() && !encoder.is_fenced() {
        return Err(Fault::new(FaultKind::Rejected, NO_SHARES));
    }
    // Argument S1: behind a proxy a call goes where its first name is kept, and who wants another of them alone goes
    // elsewhere.
    match met.is_proxied && call.is_of_several_names() {
        true => Err(Fault::new(FaultKind::Rejected, DIVISIBLE)),
        false => Ok(()),
    }
}

/// Plain locks are `SET NX`, which knows no queue: who writes would wait for ever.
pub(in super::super) const NO_SHARES: &str =
    "readers and writers need fenced locks, and these are plain";
const DIVISIBLE: &str = "several names cannot be locked together behind a proxy, which may keep them on different \
                         servers: give the server's own address";

impl Backlog {
    /// Puts a vote or a release behind all others of its sort, with which it leaves: its key, and its arguments. Requests for
    /// one lock keep their order; those for parts of different names do not leave together.
    #[inline(always)]
    pub(in super::super) fn gather(
        &mut self,
        (tag, kind, given): (Tag, Kind, Instant),
        request: &Request,
        (key, arguments): (&[u8], Option<&[u8]>),
        encoder: &Encoder,
        met: &ServerInfo,
    ) {
        let (lock, call) = (Mark::of_request(request), encoder.call_of(request));
        let is_release = kind == Kind::Release;
        // No two in one call are for the same lock. Argument S5: nor does a release overtake the vote that it takes back.
        if self.unsaid.may_have_vote(lock)
            || is_release && self.unsaid.may_have_release(lock)
            || !self.unsaid.of(call).takes(lock, key)
        {
            self.say_gathered(encoder, met);
        }
        let waiting = self.expect(tag, kind, given);
        let gathered = self.unsaid.of(call);
        let arguments = arguments.unwrap_or_default();
        gathered.push(waiting, lock, key, (call, arguments));
        // Behind a proxy a call would go where the first of its locks is kept. Argument S1: the votes for one lock are one
        // server's. And a server of a cluster refuses a call as a whole for one lock that is not its own.
        if gathered.is_full() || met.is_proxied || encoder.is_sharded() {
            self.say_gathered(encoder, met);
        }
    }

    /// Makes sure that a vote which is no call comes behind the releases for the same lock.
    pub(in super::super) fn make_way(
        &mut self,
        resource: &Resource,
        encoder: &Encoder,
        met: &ServerInfo,
    ) {
        if self.unsaid.may_have_release(Mark::of(resource)) {
            self.say_gathered(encoder, met);
        }
    }

    /// Says what was gathered, if it could leave now.
    pub(in super::super) fn say_if_room(&mut self, encoder: &Encoder, met: &ServerInfo) {
        if self.left == self.bytes.len() && self.on_their_way() < WINDOW {
            self.say_gathered(encoder, met);
        }
    }

    /// Says what was gathered: the releases in one call, and the votes in another.
    pub(in super::super) fn say_gathered(&mut self, encoder: &Encoder, met: &ServerInfo) {
        for call in CALLS {
            if !self.unsaid.of(call).is_empty() {
                self.say_call(call, encoder, met);
            }
        }
    }

    fn say_call(&mut self, call: Call, encoder: &Encoder, met: &ServerInfo) {
        let mut gathered = std::mem::take(self.unsaid.of(call));
        let (begins_at, locks) = (self.end(), gathered.len());
        encoder.call(&mut self.bytes, (call, locks), gathered.words(), met);
        for (waiting, behind) in gathered.drain().zip((0..locks).rev()) {
            self.said(PendingRequest {
                begins_at,
                behind: u16::try_from(behind).unwrap_or_default(),
                ..waiting
            });
        }
        // Its room is of use to the next.
        *self.unsaid.of(call) = gathered;
    }

    /// Deals with a request that the node has refused before it did anything, since it does not know the script, say: gives
    /// it again, behind all others, or tells why not. What was gathered before must be said.
    ///
    /// The request certainly did not take effect, so this is not the sending twice that the link
    /// must not do. But it does change the order, and what was given behind the request may act before it now.
    /// A release that does leaves a ghost: the key is set when its release has been and gone. An extension
    /// to a shorter TTL would be the last word over one to a longer. So a request stays where it is, undone,
    /// if another for the same resource and owner is behind it. Requests of other owners cannot act on
    /// each other's keys; for them, either order is one in which two clients might have come. Nor can those of other waiters on
    /// each other's places in line.
    pub(in super::super) fn repeat(
        &mut self,
        waiting: PendingRequest,
        again: Again,
        encoder: &Encoder,
        met: &ServerInfo,
    ) -> Result<(), (Tag, Vote)> {
        let lock = self.lock(&waiting);
        let request = self.recall(&waiting, encoder);
        let (Some(lock), Some(request)) = (lock, request) else {
            let fault = Fault::new(FaultKind::Rejected, NO_COMMAND);
            return Err((waiting.tag, Vote::Unknown(fault)));
        };
        if !self.locks.are_counted() {
            let waiting = self.asked.iter().filter_map(|place| place.request());
            let locks: Vec<_> = waiting.filter_map(|waiting| self.lock(&waiting)).collect();
            self.locks.begin(locks);
        }
        // A look changes nothing, so it may come at any time.
        if waiting.kind != Kind::Inspect && self.locks.has(&lock) {
            let fault = Fault::new(FaultKind::Rejected, again.overtaken());
            return Err((waiting.tag, Vote::Unknown(fault)));
        }
        let (tag, kind, given, behind) = (waiting.tag, waiting.kind, waiting.given, waiting.behind);
        match again {
            // The last of a call brings the script along; the others leave together once more, behind it.
            Again::WithScript(_) if behind > 0 => {
                let mut words = Vec::new();
                let at = encoder.write(&request, &mut words).unwrap_or(words.len());
                let (before, behind) = words.split_at(at);
                let asked = (tag, kind, given);
                let words = (before, Some(behind));
                self.gather(asked, &request, words, encoder, met);
            }
            Again::WithScript(several) => self.push_again(&waiting, |wire| {
                encoder.say_in_full(wire, &request, several, met);
            }),
            Again::Alone => self.push_again(&waiting, |wire| {
                encoder.say_request(wire, &request, met);
            }),
        }
        Ok(())
    }
}
