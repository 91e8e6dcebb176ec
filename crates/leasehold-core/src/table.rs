//! What a node must do, as plain code.
//!
//! This is the heart of the memory and the file store and the oracle that the Redis scripts are tested
//! against. A key is there until its TTL has passed, then it is gone for every purpose.

use crate::{
    owner::Owner,
    request::{Refusal, Request, Vote},
    resource::Resource,
    time::Instant,
};
use alloc::collections::BTreeMap;

/// The keys of one node.
#[derive(Clone, Debug, Default, Hash)]
pub struct Table {
    keys: BTreeMap<Resource, Key>,
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
        }
    }

    /// Carries out a request as one step at the node's time `now`.
    pub fn apply(&mut self, now: Instant, request: &Request) -> Vote {
        let resource = request.resource();
        let (vote, change) = decide(self.keys.get(resource), now, request);
        match change {
            Change::Keep => {}
            Change::Set(key) => {
                self.keys.insert(resource.clone(), key);
            }
            Change::Delete => {
                self.keys.remove(resource);
            }
        }
        vote
    }

    /// The key of `resource`, if it is still there at `now`.
    #[must_use]
    pub fn key(&self, now: Instant, resource: &Resource) -> Option<&Key> {
        self.keys.get(resource).filter(|key| key.expires_at > now)
    }

    /// Drops the keys whose TTL has passed.
    pub fn sweep(&mut self, now: Instant) {
        self.keys.retain(|_, key| key.expires_at > now);
    }
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

/// The answer to `request` at `now` when `stored` is what the node has under its key, and what becomes
/// of the key: the rule that every store follows.
#[must_use]
pub fn decide(stored: Option<&Key>, now: Instant, request: &Request) -> (Vote, Change) {
    let live = stored.filter(|key| key.expires_at > now);
    // Argument S3: the comparison and the change are one step.
    let ours = live.is_some_and(|key| Some(&key.owner) == request.owner());
    let set = |owner: &Owner, expires_at: Instant| {
        let owner = owner.clone();
        Change::Set(Key { owner, expires_at })
    };
    match request {
        Request::Acquire { owner, ttl, .. } if live.is_none() => (
            Vote::Granted,
            set(owner, now.saturating_add(ttl.as_duration())),
        ),
        // A request that arrives twice changes nothing: the first one's TTL is the one that counts.
        Request::Acquire { .. } | Request::Transfer { .. } if ours => (Vote::Granted, Change::Keep),
        Request::Transfer {
            from, owner, ttl, ..
        } if live.is_some_and(|key| key.owner == *from) => (
            Vote::Granted,
            set(owner, now.saturating_add(ttl.as_duration())),
        ),
        Request::Inspect { .. } if live.is_none() => (Vote::Granted, Change::Keep),
        Request::Extend { owner, ttl, .. } if ours => {
            let wanted = now.saturating_add(ttl.as_duration());
            // Argument S7: what somebody may rely on is never cut short, not even by an extension with
            // a shorter TTL that comes late.
            let at_least = live.map_or(wanted, |key| key.expires_at.max(wanted));
            (Vote::Granted, set(owner, at_least))
        }
        Request::Release { keep: None, .. } if ours => (Vote::Granted, Change::Delete),
        Request::Release {
            owner,
            keep: Some(keep),
            ..
        } if ours => (
            Vote::Granted,
            set(owner, now.saturating_add(keep.as_duration())),
        ),
        Request::Acquire { .. }
        | Request::Extend { .. }
        | Request::Transfer { .. }
        | Request::Inspect { .. }
        | Request::Release { .. } => {
            let refusal = Refusal {
                holder: live.map(|key| key.owner.clone()),
                remaining: live.map(|key| key.expires_at.saturating_since(now)),
            };
            // What is over need not be kept: whoever held it has come to clean up.
            let over = stored.is_some() && live.is_none();
            (
                Vote::Refused(refusal),
                if over { Change::Delete } else { Change::Keep },
            )
        }
    }
}

#[cfg(test)]
mod tests;
