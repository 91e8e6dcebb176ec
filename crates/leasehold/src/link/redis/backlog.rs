//! The requests that were given to the link and are not answered yet, in their order.

use super::scripts::{Encoder, Met};
use leasehold_core::{Fault, FaultKind, Instant, Owner, Request, Resource, Tag, Vote};
use std::collections::{HashMap, VecDeque, hash_map::Entry};

/// Requests on their way, and their bytes as far as these have not left.
///
/// Positions count bytes since the connection began, so that a request is told from the next by where
/// it begins.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    waiting: VecDeque<Waiting>,
    bytes: Vec<u8>,
    /// How many of `bytes` have left.
    left: usize,
    /// The position of the first of `bytes`.
    base: u64,
    votes: usize,
    releases: usize,
    /// How many requests wait for each lock. A node that has forgotten its scripts says so to every
    /// request of a full backlog; to look through all the others each time would be quadratic.
    locks: HashMap<(Resource, Option<Owner>), usize>,
}

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) tag: Tag,
    pub(super) request: Request,
    /// When it was given to the link.
    pub(super) given: Instant,
    begins_at: u64,
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
    pub(super) fn refuse(&self, request: &Request) -> Option<Fault> {
        let (waiting, limit) = match request {
            Request::Release { .. } => (self.releases, MOST_RELEASES),
            _ => (self.votes, MOST_VOTES),
        };
        (waiting >= limit).then(|| {
            Fault::new(
                FaultKind::Busy,
                &format_args!("{waiting} requests wait for this node already"),
            )
        })
    }

    /// Puts a request behind all others.
    pub(super) fn push(&mut self, tag: Tag, request: Request, given: Instant, wire: &[u8]) {
        *self.count(&request) += 1;
        *self.locks.entry(lock(&request)).or_default() += 1;
        self.waiting.push_back(Waiting {
            tag,
            request,
            given,
            begins_at: self.base + self.bytes.len() as u64,
        });
        self.bytes.extend_from_slice(wire);
    }

    /// Adds bytes to the request that was pushed last.
    pub(super) fn append(&mut self, add: impl FnOnce(&mut Vec<u8>)) {
        add(&mut self.bytes);
    }

    /// The bytes that may leave now.
    ///
    /// No more than [`WINDOW`] bytes are on their way without an answer. They find room in the kernel of
    /// a node that has stopped, so its connection is never seen as jammed and cut by the time limit that is
    /// there for vanished hosts; and what is behind them certainly has not left if the connection is lost.
    pub(super) fn ready(&self) -> &[u8] {
        let answered = self
            .waiting
            .front()
            .map_or(self.left_at(), |first| first.begins_at);
        let on_their_way = usize::try_from(self.left_at() - answered).unwrap_or(usize::MAX);
        let bytes = &self.bytes[self.left..];
        &bytes[..bytes.len().min(WINDOW.saturating_sub(on_their_way))]
    }

    /// `count` of the bytes that were [`ready`](Self::ready) have left.
    pub(super) fn sent(&mut self, count: usize) {
        self.left += count;
        if self.left == self.bytes.len() || self.left > WINDOW {
            self.base += self.left as u64;
            self.bytes.drain(..self.left);
            self.left = 0;
        }
    }

    /// Takes out the request that the next answer belongs to. None if none has left in full: whatever
    /// the answer is to, it is not ours.
    pub(super) fn answered(&mut self) -> Option<Waiting> {
        let next_begins_at = self
            .waiting
            .get(1)
            .map_or(self.base + self.bytes.len() as u64, |next| next.begins_at);
        if next_begins_at > self.left_at() {
            return None;
        }
        let waiting = self.waiting.pop_front()?;
        *self.count(&waiting.request) -= 1;
        if let Entry::Occupied(mut count) = self.locks.entry(lock(&waiting.request)) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        Some(waiting)
    }

    /// Deals with a request that the node has no script for: gives it again with the script, behind
    /// all others, or tells why not.
    ///
    /// The request certainly did not take effect, so this is not the sending twice that the link
    /// must not do. But it does change the order, and what was given behind the request may act before it now.
    /// A release that does leaves a ghost: the key is set when its release has been and gone. An extension
    /// to a shorter TTL would be the last word over one to a longer. So a request stays where it is, undone,
    /// if another for the same resource and owner is behind it. Requests of other owners cannot act on
    /// each other's keys; for them, either order is one in which two clients might have come.
    pub(super) fn repeat(
        &mut self,
        waiting: Waiting,
        encoder: &Encoder,
        met: &Met,
    ) -> Result<(), (Tag, Vote)> {
        if self.locks.contains_key(&lock(&waiting.request)) {
            let fault = Fault::new(
                FaultKind::Rejected,
                "the node had forgotten the script, and a later request for the same lock is under way",
            );
            return Err((waiting.tag, Vote::Unknown(fault)));
        }
        let wire = encoder.in_full(&waiting.request, met);
        self.push(waiting.tag, waiting.request, waiting.given, &wire);
        Ok(())
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
        std::mem::take(self)
            .waiting
            .into_iter()
            .map(move |waiting| {
                // A request of which a part has left cannot have taken effect either, but to be sure of that
                // one would have to trust every layer below with it.
                let fault = if waiting.begins_at < left_at {
                    &after
                } else {
                    &before
                };
                (waiting.tag, Vote::Unknown(fault.clone()))
            })
    }

    /// The position of the first byte that has not left.
    fn left_at(&self) -> u64 {
        self.base + self.left as u64
    }

    fn count(&mut self, request: &Request) -> &mut usize {
        match request {
            Request::Release { .. } => &mut self.releases,
            _ => &mut self.votes,
        }
    }
}

/// What two requests have in common if they act on one key of ours.
fn lock(request: &Request) -> (Resource, Option<Owner>) {
    (request.resource().clone(), request.owner().cloned())
}

const MOST_VOTES: usize = 4_096;
const MOST_RELEASES: usize = 2 * MOST_VOTES;
const WINDOW: usize = 32 * 1024;

#[cfg(test)]
mod tests;
