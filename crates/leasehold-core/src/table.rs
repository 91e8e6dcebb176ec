//! What a node must do, as plain code.
//!
//! This is the heart of the memory and the file store and the oracle that the Redis scripts are tested
//! against. A key is there until its TTL has passed, then it is gone for every purpose.

mod permits;
mod queueing;
mod readers;
mod several;

use crate::{
    fence::{FencingToken, counter_of, grown},
    owner::Owner,
    queue::Queue,
    request::{Fault, FaultKind, Refusal, Request, Vote},
    resource::Resource,
    time::Instant,
    timing::Ttl,
};
use alloc::{collections::BTreeMap, vec::Vec};

use queueing::{decide_place, without};
use readers::{by_readers, decide_share};
pub use several::{RulingOfSeveral, decide_several};

/// The keys of one node, and the counters that outlive them.
#[derive(Clone, Debug, Default, Hash)]
pub struct Table {
    keys: BTreeMap<Resource, Key>,
    counters: BTreeMap<u16, FencingToken>,
    /// Those who have shares of a name, by the name.
    readers: BTreeMap<Resource, Vec<Key>>,
    /// Who waits for fair locks.
    queues: BTreeMap<Resource, Queue>,
}

/// One key: whose it is and until when.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "stores write it down and read it back"
)]
pub struct Key {
    /// The owner that signed it.
    pub owner: Owner,
    /// When its TTL ends, by the node's clock.
    pub expires_at: Instant,
}

impl Table {
    /// A table without keys.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            keys: BTreeMap::new(),
            counters: BTreeMap::new(),
            readers: BTreeMap::new(),
            queues: BTreeMap::new(),
        }
    }

    /// Carries out a request as one step at the node's time `now`.
    pub fn apply(&mut self, now: Instant, request: &Request) -> Vote {
        let resource = &request.resource().whole();
        if resource.is_several() {
            return self.apply_to_several(now, request);
        }
        let counter = request.counter();
        let stored = Stored {
            key: self.keys.get(resource),
            readers: self.readers_of(resource),
            counter: self.counters.get(&counter).copied(),
            queue: self.queues.get(resource),
        };
        let ruling = decide(stored, now, request);
        // Argument S4: the counter before the key, wherever these are two steps.
        if let Some(token) = ruling.counter {
            self.counters.insert(counter, token);
        }
        self.change(resource, ruling.change);
        if let Some(readers) = ruling.readers {
            self.keep_readers(resource, readers);
        }
        if let Some(queue) = ruling.queue {
            if queue.entries().is_empty() {
                self.queues.remove(resource);
            } else {
                self.queues.insert(resource.clone(), queue);
            }
        }
        ruling.vote
    }

    fn apply_to_several(&mut self, now: Instant, request: &Request) -> Vote {
        let each: Vec<Resource> = request.resource().each().collect();
        let stored = each.iter().map(|resource| Stored {
            key: self.keys.get(resource),
            readers: self.readers_of(resource),
            counter: self.counter(resource),
            queue: None,
        });
        let ruling = decide_several(&stored.collect::<Vec<_>>(), now, request);
        // Argument S4: likewise.
        for counter in each.iter().map(counter_of) {
            if let Some(token) = ruling.counter {
                let kept = self.counters.entry(counter).or_insert(token);
                *kept = token.max(*kept);
            }
        }
        for (resource, change) in each.iter().zip(ruling.changes) {
            self.change(resource, change);
        }
        ruling.vote
    }

    fn change(&mut self, resource: &Resource, change: Change) {
        match change {
            Change::Keep => {}
            Change::Set(key) => {
                // All who read have ended, or it would not be set.
                self.readers.remove(resource);
                self.keys.insert(resource.clone(), key);
            }
            Change::Delete => {
                self.keys.remove(resource);
            }
        }
    }

    fn keep_readers(&mut self, resource: &Resource, readers: Vec<Key>) {
        if readers.is_empty() {
            self.readers.remove(resource);
        } else {
            self.readers.insert(resource.clone(), readers);
        }
    }

    fn readers_of(&self, resource: &Resource) -> &[Key] {
        self.readers.get(resource).map_or(&[], Vec::as_slice)
    }

    /// Those who have a share of `resource`, which is a whole name, at `now`.
    pub fn readers(&self, now: Instant, resource: &Resource) -> impl Iterator<Item = &Key> {
        let readers = self.readers_of(resource).iter();
        readers.filter(move |reader| reader.expires_at > now)
    }

    /// The counter that counts the grants of `resource`, if there were any.
    #[must_use]
    pub fn counter(&self, resource: &Resource) -> Option<FencingToken> {
        self.counted(counter_of(resource))
    }

    /// What this one of the [counters](crate::fence::COUNTERS) has counted, if anything.
    #[must_use]
    pub fn counted(&self, counter: u16) -> Option<FencingToken> {
        self.counters.get(&counter).copied()
    }

    /// The key of `resource`, if it is still there at `now`.
    #[must_use]
    pub fn key(&self, now: Instant, resource: &Resource) -> Option<&Key> {
        self.keys.get(resource).filter(|key| key.expires_at > now)
    }

    /// Everything that is locked at `now`, in the order of the names, behind them what is read.
    pub fn locked(&self, now: Instant) -> impl Iterator<Item = &Resource> {
        let keys = self.keys.iter();
        let live = keys.filter(move |(_, key)| key.expires_at > now);
        let read = self.readers.keys();
        let read = read.filter(move |name| self.readers(now, name).next().is_some());
        live.map(|(resource, _)| resource).chain(read)
    }

    /// Who waits for `resource`, if anybody does.
    #[must_use]
    pub fn queue(&self, resource: &Resource) -> Option<&Queue> {
        self.queues.get(resource)
    }

    /// Drops the keys whose TTL has passed, and the queues of which all places are over.
    pub fn sweep(&mut self, now: Instant) {
        self.keys.retain(|_, key| key.expires_at > now);
        self.readers.retain(|_, readers| {
            readers.retain(|reader| reader.expires_at > now);
            !readers.is_empty()
        });
        self.queues.retain(|_, queue| !queue.is_over(now));
    }
}

/// What a node has of the resource that a request is about.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "a store gives all that it has")]
pub struct Stored<'a> {
    /// Its key.
    pub key: Option<&'a Key>,
    /// Those who have shares of it.
    pub readers: &'a [Key],
    /// What its counter has counted.
    pub counter: Option<FencingToken>,
    /// Who waits for it.
    pub queue: Option<&'a Queue>,
}

/// What a step does to the key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a store must carry out every change"
)]
pub enum Change {
    /// Nothing.
    Keep,
    /// The key is now this.
    Set(Key),
    /// The key is gone.
    Delete,
}

/// What a node does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a store must carry out all of it"
)]
pub struct Ruling {
    /// What it answers.
    pub vote: Vote,
    /// What becomes of the key.
    pub change: Change,
    /// Those who have shares from then on; none if they stay. A key that is set leaves none.
    pub readers: Option<Vec<Key>>,
    /// What the counter becomes; none if it stays. Where this and the change are two steps, it comes first.
    pub counter: Option<FencingToken>,
    /// What becomes of the queue; none if it stays. In the same step as the rest.
    pub queue: Option<Queue>,
}

impl Ruling {
    const fn granted(change: Change) -> Self {
        Self {
            vote: Vote::GRANTED,
            change,
            readers: None,
            counter: None,
            queue: None,
        }
    }

    fn is_twin(&self) -> bool {
        matches!(&self.vote, Vote::Unknown(fault) if fault.kind() == FaultKind::SameNode)
    }
}

/// The answer to `request` at `now` when `stored` is what the node has, and what becomes of that: the rule that every
/// store follows. It knows no wall clock, so its caller has bounded the request's proposal, for the counter and for the
/// ticket alike, by [`Request::as_seen_at`].
#[must_use]
pub fn decide(stored: Stored<'_>, now: Instant, request: &Request) -> Ruling {
    if let Request::Leave { waiter, .. } = request {
        return Ruling {
            queue: without(stored.queue, now, *waiter),
            ..Ruling::granted(Change::Keep)
        };
    }
    let ruling = match request.resource().is_part() {
        true => decide_share(stored, now, request),
        false => decide_key(stored, stored.counter, now, request),
    };
    match request {
        // A server that is asked a second time by one attempt gives it no place either.
        _ if ruling.is_twin() => ruling,
        Request::Acquire {
            place: Some(place),
            proposal,
            ..
        } => decide_place(stored, now, (*place, *proposal), request, ruling),
        _ => ruling,
    }
}

/// The answer about the key alone.
fn decide_key(
    stored: Stored<'_>,
    counter: Option<FencingToken>,
    now: Instant,
    request: &Request,
) -> Ruling {
    // Argument S3: nobody has for itself what somebody reads.
    if let Some(refused) = by_readers(stored.readers, now) {
        return refused;
    }
    let stored = stored.key;
    let live = stored.filter(|key| key.expires_at > now);
    // Argument S3: the comparison and the change are one step.
    let ours = live.is_some_and(|key| Some(&key.owner) == request.owner());
    let until = |ttl: Ttl| until(now, ttl);
    let set = |owner: &Owner, expires_at: Instant| {
        let owner = owner.clone();
        Change::Set(Key { owner, expires_at })
    };
    match request {
        Request::Acquire { .. } | Request::Repair { .. } | Request::Transfer { .. } => {
            decide_vote((stored, live, ours), counter, now, request)
        }
        Request::Inspect { .. } if live.is_none() => Ruling::granted(Change::Keep),
        Request::Raise { token, .. } if ours => raise(counter, *token),
        Request::Extend { owner, ttl, .. } if ours => {
            // Argument S7: what somebody may rely on is never cut short, not even by an extension with
            // a shorter TTL that comes late.
            let at_least = live.map_or(until(*ttl), |key| key.expires_at.max(until(*ttl)));
            Ruling::granted(set(owner, at_least))
        }
        Request::Release { keep: None, .. } if ours => Ruling::granted(Change::Delete),
        Request::Release {
            owner,
            keep: Some(keep),
            ..
        } if ours => Ruling::granted(set(owner, until(*keep))),
        Request::Raise { .. }
        | Request::Extend { .. }
        | Request::Inspect { .. }
        | Request::Release { .. }
        | Request::Leave { .. } => refuse(stored, live, now),
    }
}

/// The answer to a vote. Of the key, `stored` is what is there and `live` what counts, and it may be the vote's own.
fn decide_vote(
    (stored, live, ours): (Option<&Key>, Option<&Key>, bool),
    counter: Option<FencingToken>,
    now: Instant,
    request: &Request,
) -> Ruling {
    let until = |ttl: Ttl| until(now, ttl);
    let set = |owner: &Owner, expires_at: Instant| {
        let owner = owner.clone();
        Change::Set(Key { owner, expires_at })
    };
    match request {
        // One server, one vote. Argument S1: nothing is sent twice, so a first vote that finds its own owner has come, by
        // another address, to a server that has voted already.
        Request::Acquire { .. } | Request::Transfer { .. } if ours => twin(),
        // An earlier repair has set it: that one's TTL is the one that counts.
        Request::Repair { proposal, .. } if ours => {
            grant(Change::Keep, counter, *proposal, counter.is_none())
        }
        Request::Acquire {
            owner,
            ttl,
            proposal,
            ..
        }
        | Request::Repair {
            owner,
            ttl,
            proposal,
            ..
        } if live.is_none() => grant(set(owner, until(*ttl)), counter, *proposal, true),
        Request::Transfer {
            from,
            owner,
            ttl,
            proposal,
            ..
        } if live.is_some_and(|key| key.owner == *from) => {
            grant(set(owner, until(*ttl)), counter, *proposal, true)
        }
        _ => refuse(stored, live, now),
    }
}

/// When a TTL ends that begins now.
fn until(now: Instant, ttl: Ttl) -> Instant {
    now.saturating_add(ttl.as_duration())
}

/// The answer to a first vote on a server that has had one of this owner.
fn twin() -> Ruling {
    Ruling {
        vote: Vote::Unknown(Fault::same_node()),
        ..Ruling::granted(Change::Keep)
    }
}

/// A grant, which counts if a token is wanted. A repeated one does not count again.
fn grant(
    change: Change,
    counter: Option<FencingToken>,
    proposal: Option<FencingToken>,
    counts: bool,
) -> Ruling {
    let Some(proposal) = proposal else {
        return Ruling::granted(change);
    };
    if !counts {
        let vote = Vote::Granted { counter };
        return Ruling {
            vote,
            ..Ruling::granted(change)
        };
    }
    match grown(counter, proposal) {
        Some(token) => Ruling {
            vote: Vote::Granted {
                counter: Some(token),
            },
            counter: Some(token),
            ..Ruling::granted(change)
        },
        None => Ruling {
            vote: Vote::Unknown(Fault::new(
                FaultKind::Rejected,
                "the node's counter has come to its end",
            )),
            ..Ruling::granted(Change::Keep)
        },
    }
}

/// Lets the counter be the token, on a node that carries the key of who asks.
fn raise(counter: Option<FencingToken>, token: FencingToken) -> Ruling {
    // Argument S4: a counter beyond the token may be a later holder's, if a request that came late has set our
    // key again after that. Who stands here for the token would come after who has a larger one.
    if counter > Some(token) {
        let beyond = Fault::new(
            FaultKind::Rejected,
            "the node's counter is beyond the token",
        );
        return Ruling {
            vote: Vote::Unknown(beyond),
            ..Ruling::granted(Change::Keep)
        };
    }
    Ruling {
        counter: Some(token).filter(|_| counter < Some(token)),
        ..Ruling::granted(Change::Keep)
    }
}

fn refuse(stored: Option<&Key>, live: Option<&Key>, now: Instant) -> Ruling {
    let refusal = Refusal {
        holder: live.map(|key| key.owner.clone()),
        remaining: live.map(|key| key.expires_at.saturating_since(now)),
        ..Refusal::default()
    };
    // What is over need not be kept: its holder has come to clean up.
    let over = stored.is_some() && live.is_none();
    Ruling {
        vote: Vote::Refused(refusal),
        ..Ruling::granted(if over { Change::Delete } else { Change::Keep })
    }
}

#[cfg(test)]
mod tests;
