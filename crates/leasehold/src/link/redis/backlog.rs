//! The requests that were given to the link and are not answered yet, in their order.

mod answered;
mod asking;
mod calls;
mod gathered;
mod locks;
mod pending;

pub(super) use calls::{Again, fit_for};
pub(super) use pending::{Aside, Pending, PendingLook, PendingRequest};

use super::{
    codec,
    copies::{self, Copies},
    greeting,
    kind::Kind,
    look::{self, SeenValue},
    native::{Lives, Native},
    recall, rights,
    scripts::{Encoder, ServerInfo},
};
use gathered::Unsaid;
use leasehold_core::{
    Fault, FaultKind, Instant, Refusal, Request, Resource, Tag, Vote,
    discovery::{Confirmation, Need},
};
use locks::{LockedKey, Locks};
use pending::Due;
use std::collections::VecDeque;

/// Requests on their way, and their bytes until they are answered.
///
/// Positions count bytes since the connection began, so that a request is told from the next by where
/// it begins.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    asked: VecDeque<Due>,
    /// Of `asked`, what is no request.
    asides: VecDeque<Aside>,
    /// What was said and is not answered, and some of what is.
    bytes: Vec<u8>,
    /// How many of `bytes` have left.
    left: usize,
    /// The position of the first of `bytes`.
    base: u64,
    /// It leaves with what is given until something can be written.
    unsaid: Unsaid,
    votes: usize,
    releases: usize,
    locks: Locks,
    /// What was answered and is not told.
    pub(super) unconfirmed: Confirmation,
    /// How long the keys live that were set without scripts. Outlives the connection.
    lives: Lives,
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss<'a> {
    /// None came about.
    NeverUp(&'a str),
    /// There was one.
    Lost(&'a str),
}

impl Backlog {
    /// Whether there is no room for another request of this kind.
    ///
    /// Releases have a reserve of their own, twice as large, so that whatever was acquired can be
    /// released however many acquires wait.
    pub(super) fn refuse(&self, kind: Kind) -> Option<Fault> {
        let (waiting, limit) = match kind {
            Kind::Release => (self.releases, MOST_RELEASES),
            _ => (self.votes + self.unconfirmed.len(), MOST_VOTES),
        };
        (waiting >= limit).then(|| {
            Fault::new(
                FaultKind::Busy,
                &format_args!("{waiting} requests wait for this node already"),
            )
        })
    }

    /// An answer to this request will come, which stands in the bytes.
    #[inline]
    fn said(&mut self, waiting: PendingRequest) {
        if self.locks.are_counted() {
            self.count_lock(&waiting);
        }
        self.asked.push_back(Due::Request(waiting));
    }

    #[cold]
    fn count_lock(&mut self, waiting: &PendingRequest) {
        if let Some(lock) = self.lock(waiting) {
            self.locks.push(lock);
        }
    }

    /// Puts a request behind all others, as `encode` writes it. Nothing must be gathered.
    pub(super) fn push(
        &mut self,
        tag: Tag,
        kind: Kind,
        given: Instant,
        encode: impl FnOnce(&mut Vec<u8>),
    ) {
        let waiting = self.expect(tag, kind, given);
        encode(&mut self.bytes);
        self.said(waiting);
    }

    /// Puts a request behind all others, for a node that runs no scripts.
    ///
    /// # Errors
    /// The fault to answer with, if it must not be sent.
    pub(super) fn push_native(
        &mut self,
        tag: Tag,
        request: Request,
        given: Instant,
        encoder: &Encoder,
        native: Native,
    ) -> Result<(), Fault> {
        if request.resource().is_several() {
            return Err(Fault::new(FaultKind::Rejected, NO_SEVERAL));
        }
        if request.resource().is_part() {
            return Err(Fault::new(FaultKind::Rejected, calls::NO_SHARES));
        }
        let life_ms = self.lives.ask(&request, given)?;
        let waiting = self.expect(tag, Kind::of(&request), given);
        let key = encoder.key(request.resource()).into_owned();
        if native.change(&mut self.bytes, &request, key.as_bytes(), life_ms) {
            self.place_at(waiting.begins_at, Aside::Change);
        }
        self.place(Aside::Key);
        codec::encode(&mut self.bytes, &[b"GET", key.as_bytes()]);
        self.place(Aside::Native(waiting, Box::new(request)));
        codec::encode(&mut self.bytes, &[b"PTTL", key.as_bytes()]);
        Ok(())
    }

    /// Says all that waits in another way, since the node runs no scripts. Nothing of it has left.
    pub(super) fn say_natively(&mut self, encoder: &Encoder, native: Native) -> Vec<(Tag, Fault)> {
        self.say_anew(encoder, |this, (tag, request, given)| {
            this.push_native(tag, request, given, encoder, native)
        })
    }

    /// Says all that waits in another way, since a proxy may stand before the node: each lock alone. Nothing of it has left.
    pub(super) fn say_alone(&mut self, encoder: &Encoder, met: &ServerInfo) -> Vec<(Tag, Fault)> {
        self.say_anew(encoder, |this, (tag, request, given)| {
            let call = encoder.call_of(&request);
            calls::fit_for(call, encoder, met)?;
            this.push(tag, Kind::of(&request), given, |wire| {
                encoder.say_request(wire, &request, met);
            });
            Ok(())
        })
    }

    /// Says all that waits as another list of nodes does. Nothing of it has left.
    pub(super) fn say_for_another_list(
        &mut self,
        before: &Encoder,
        after: &Encoder,
        met: &ServerInfo,
    ) -> Vec<(Tag, Fault)> {
        self.say_anew(before, |this, (tag, request, given)| {
            this.push(tag, Kind::of(&request), given, |wire| {
                after.say_request(wire, &request, met);
            });
            Ok(())
        })
    }

    fn say_anew(
        &mut self,
        encoder: &Encoder,
        say: impl Fn(&mut Self, (Tag, Request, Instant)) -> Result<(), Fault>,
    ) -> Vec<(Tag, Fault)> {
        self.say_gathered(encoder, &ServerInfo::nobody(encoder.disk(None)));
        let lives = std::mem::take(&mut self.lives);
        let mut before = std::mem::take(self);
        self.lives = lives;
        let mut unsaid = Vec::new();
        for place in std::mem::take(&mut before.asked) {
            let Some(waiting) = place.request() else {
                continue;
            };
            let (tag, given) = (waiting.tag, waiting.given);
            let said = match before.recall(&waiting, encoder) {
                Some(request) => say(self, (tag, request, given)),
                None => Err(Fault::new(FaultKind::Down, NO_COMMAND)),
            };
            unsaid.extend(said.err().map(|fault| (tag, fault)));
        }
        unsaid
    }

    /// An answer to this request will come, of which nothing is said yet.
    fn expect(&mut self, tag: Tag, kind: Kind, given: Instant) -> PendingRequest {
        if self.asked.is_empty() && self.left > 0 {
            self.forget(self.bytes.len());
        }
        *self.count(kind) += 1;
        let begins_at = self.end();
        PendingRequest {
            tag,
            kind,
            given,
            begins_at,
            behind: 0,
            is_asking: false,
        }
    }

    /// The bytes of a request that was just answered or is not yet, and whatever is behind them.
    fn command(&self, waiting: &PendingRequest) -> &[u8] {
        self.at(waiting.begins_at)
            .map_or(&[], |at| &self.bytes[at..])
    }

    /// Where in `bytes` this position is, if it is.
    fn at(&self, position: u64) -> Option<usize> {
        let at = usize::try_from(position.checked_sub(self.base)?).ok()?;
        (at <= self.bytes.len()).then_some(at)
    }

    /// What was asked by a request that was just answered or is not yet; none if its bytes do not tell.
    pub(super) fn recall(&self, waiting: &PendingRequest, encoder: &Encoder) -> Option<Request> {
        encoder.recall((waiting.kind, waiting.behind), self.command(waiting))
    }

    /// The first `count` of the bytes, which were answered, are not needed any more.
    #[inline(never)]
    fn forget(&mut self, count: usize) {
        let count = count.min(self.left);
        self.bytes.drain(..count);
        self.left -= count;
        self.base += count as u64;
    }

    /// Asks what the key of `resource` is, of which an answer `said` something, and for the next change to it.
    pub(super) fn look(&mut self, resource: &Resource, said: SeenValue, encoder: &Encoder) {
        self.expect_look(said);
        if resource.is_several() {
            let keys: Vec<_> = resource.names().map(|name| encoder.key_of(name)).collect();
            let keys = keys.iter().map(|key| key.as_bytes());
            look::encode_several(&mut self.bytes, keys);
        } else {
            look::encode(&mut self.bytes, encoder.key(resource).as_bytes());
        }
    }

    /// The same of a key that a request was about which was just answered by this `vote`. None if its bytes do not tell.
    pub(super) fn look_behind(&mut self, waiting: &PendingRequest, vote: &Vote) -> Option<()> {
        let at = self.at(waiting.begins_at)?;
        let lock = recall::lock((waiting.kind, waiting.behind), &self.bytes[at..])?;
        let key = at + lock.key.start..at + lock.key.end;
        if let Some(said) = SeenValue::by(vote, waiting.kind, lock.owner) {
            let mut several = Vec::new();
            if let Some(keys) = lock.several {
                look::encode_several(&mut several, keys);
            }
            self.expect_look(said);
            if several.is_empty() {
                look::encode_within(&mut self.bytes, key);
            } else {
                self.bytes.extend_from_slice(&several);
            }
        }
        Some(())
    }

    fn expect_look(&mut self, said: SeenValue) {
        self.watch();
        let begins_at = self.end();
        self.place(Aside::Look(PendingLook { said, begins_at }));
    }

    /// Takes the answer that nearly every look gets, if `bytes` begin with it and are to one. Tells how long it is.
    pub(super) fn looked(&mut self, bytes: &[u8]) -> Option<usize> {
        let Due::Aside { .. } = self.asked.front()? else {
            return None;
        };
        let rest = match self.asides.front()? {
            Aside::Watch => bytes.strip_prefix(look::WATCHES)?,
            Aside::Look(look) => look.said.confirmed(bytes)?,
            _ => return None,
        };
        self.answered().map(|_| bytes.len() - rest.len())
    }

    /// Whose key was looked at by a look that was just answered; none if that is no resource's.
    pub(super) fn looked_at(&self, look: &PendingLook, encoder: &Encoder) -> Option<Resource> {
        let wire = &self.bytes[self.at(look.begins_at)?..];
        recall::looked_at(wire, encoder.key_format())
    }

    /// Asks which rights are lacking. Tells the fault only then: servers do not always name the command.
    pub(super) fn ask_rights(&mut self, tag: Tag, fault: Fault, encoder: &Encoder) {
        self.place(Aside::Rights(tag, Box::new(fault)));
        self.bytes.extend_from_slice(&rights::question(encoder));
    }

    /// Asks how the node writes to its disk.
    pub(super) fn ask_settings(&mut self) {
        self.place(Aside::Settings);
        codec::encode(&mut self.bytes, &greeting::DURABILITY);
    }

    /// Asks for the copies of a vote, which is kept until then. `turn` says which of the questions about it that is.
    pub(super) fn wait(
        &mut self,
        tag: Tag,
        vote: Vote,
        need: Need,
        (turn, copies): (usize, Copies),
    ) {
        let vote = Box::new(vote);
        self.place(Aside::Copies {
            turn,
            tag,
            vote,
            need,
        });
        copies.encode(&mut self.bytes);
    }

    /// Asks how many replicas there are, of which so many were needed. Tells the fault only then.
    pub(super) fn count_replicas(&mut self, tag: Tag, fault: Fault, needed: u32) {
        let fault = Box::new(fault);
        self.place(Aside::Count { tag, fault, needed });
        codec::encode(&mut self.bytes, &copies::COUNT);
    }

    /// Asks the node to tell of the next change to what it is asked for next.
    fn watch(&mut self) {
        self.place(Aside::Watch);
        self.bytes.extend_from_slice(look::WATCH);
    }

    fn place(&mut self, aside: Aside) {
        self.place_at(self.end(), aside);
    }

    fn place_at(&mut self, begins_at: u64, aside: Aside) {
        self.asked.push_back(Due::Aside { begins_at });
        self.asides.push_back(aside);
    }

    /// Whether anything has not left.
    pub(super) fn has_more(&self) -> bool {
        self.left < self.bytes.len() || !self.unsaid.is_empty()
    }

    /// The bytes that may leave now.
    ///
    /// No more than [`WINDOW`] bytes are on their way without an answer. They find room in the kernel of
    /// a node that has stopped, so its connection is never seen as jammed and cut by the time limit that is
    /// there for vanished hosts; and what is behind them certainly has not left if the connection is lost.
    pub(super) fn ready(&self) -> &[u8] {
        let bytes = &self.bytes[self.left..];
        &bytes[..bytes.len().min(WINDOW.saturating_sub(self.on_their_way()))]
    }

    /// How many bytes have left that are not answered.
    fn on_their_way(&self) -> usize {
        let answered = self
            .asked
            .front()
            .map_or(self.left_at(), |first| first.begins_at());
        usize::try_from(self.left_at() - answered).unwrap_or(usize::MAX)
    }

    /// `count` of the bytes that were [`ready`](Self::ready) have left.
    pub(super) fn sent(&mut self, count: usize) {
        self.left += count;
    }

    /// Gives back the room that a rush has needed, once everything is answered and taken.
    pub(super) fn rest(&mut self) {
        if self.asked.is_empty() && self.bytes.capacity() > WINDOW {
            self.forget(self.bytes.len());
            self.bytes.shrink_to_fit();
            (self.asked, self.asides) = (VecDeque::new(), VecDeque::new());
        }
    }

    /// Nobody need doubt any more whether this request took effect.
    pub(super) fn settled(&mut self, request: &Request) {
        self.lives.answered(request);
    }

    /// The lock that a request is about.
    fn lock(&self, waiting: &PendingRequest) -> Option<LockedKey> {
        let wire = self.command(waiting);
        let lock = recall::lock((waiting.kind, waiting.behind), wire)?;
        Some((wire[lock.key].to_vec(), lock.owner.map(<[u8]>::to_vec)))
    }

    /// Gives up all requests because the connection is gone, and begins anew.
    pub(super) fn abandon(&mut self, loss: Loss<'_>) -> impl Iterator<Item = (Tag, Vote)> + use<> {
        let left_at = self.left_at();
        let (Loss::NeverUp(reason) | Loss::Lost(reason)) = loss;
        let after = Fault::new(
            FaultKind::Disconnected,
            &format_args!("lost the connection after the request was sent: {reason}"),
        );
        let before = match loss {
            Loss::NeverUp(reason) => Fault::new(FaultKind::Down, reason),
            Loss::Lost(reason) => Fault::new(
                FaultKind::Down,
                &format_args!("lost the connection before the request was sent: {reason}"),
            ),
        };
        let in_doubt = |tag, fault: &Fault| Some((tag, Vote::Unknown(fault.clone())));
        let mut lives = std::mem::take(&mut self.lives);
        lives.lose();
        let Self {
            asked: lost,
            mut asides,
            unconfirmed,
            mut unsaid,
            ..
        } = std::mem::take(self);
        self.lives = lives;
        let untold = unconfirmed.abandon(after.clone());
        let unsaid: Vec<_> = { unsaid.drain() }
            .map(|waiting| (waiting.tag, Vote::Unknown(before.clone())))
            .collect();
        let lost = lost.into_iter().filter_map(move |place| {
            let waiting = match place {
                Due::Request(waiting) => waiting,
                Due::Aside { .. } => match asides.pop_front()? {
                    Aside::Native(waiting, _) => waiting,
                    // Its request was answered, so it has left.
                    Aside::Copies { tag, .. } => return in_doubt(tag, &after),
                    Aside::Rights(tag, fault) | Aside::Count { tag, fault, .. } => {
                        return in_doubt(tag, &fault);
                    }
                    // It was refused, whosever the key is.
                    Aside::Found(tag, _) => return Some((tag, Vote::Refused(Refusal::default()))),
                    Aside::Change
                    | Aside::Asking
                    | Aside::Key
                    | Aside::Watch
                    | Aside::Look(_)
                    | Aside::Settings => {
                        return None;
                    }
                },
            };
            // A request of which a part has left cannot have taken effect either, but to be sure of that
            // one would have to trust every layer below with it.
            let has_begun = waiting.begins_at < left_at;
            in_doubt(waiting.tag, if has_begun { &after } else { &before })
        });
        untold.chain(lost).chain(unsaid)
    }

    /// The position behind the last byte.
    fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// The position of the first byte that has not left.
    fn left_at(&self) -> u64 {
        self.base + self.left as u64
    }

    const fn count(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Release => &mut self.releases,
            _ => &mut self.votes,
        }
    }
}

const MOST_VOTES: usize = 4_096;
const MOST_RELEASES: usize = 2 * MOST_VOTES;
const WINDOW: usize = 32 * 1024;

const NO_SEVERAL: &str = "several names can only be locked together by a script, and the node runs none: let \
                          this user call EVAL and EVALSHA, or lock the names one by one, in one order everywhere";

const NO_COMMAND: &str =
    "the request cannot be told from its own bytes, which is a bug of leasehold";

#[cfg(test)]
mod tests;
