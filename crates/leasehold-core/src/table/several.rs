//! The rule for a request about several names that are locked together: what it asks is done to all of them, or to none.

use super::{Change, Key, Ruling, Stored, decide_key, until};
use crate::{
    fence::FencingToken,
    owner::Owner,
    request::{Refusal, Request, Vote},
    time::Instant,
};
use alloc::vec::Vec;

/// What a node does with a request about several names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a store must carry out all of it"
)]
pub struct RulingOfSeveral {
    /// What it answers.
    pub vote: Vote,
    /// What becomes of each key.
    pub changes: Vec<Change>,
    /// What the counters of all of them are at least; none if they stay. Where this and the changes are two steps, it
    /// comes first.
    pub counter: Option<FencingToken>,
}

/// The answer to `request` at `now` when `stored` is what the node has of each of its names, in their order: [`decide`]
/// for all of them at once. Nobody queues for several names.
///
/// [`decide`]: super::decide
#[must_use]
pub fn decide_several(stored: &[Stored<'_>], now: Instant, request: &Request) -> RulingOfSeveral {
    // Argument S4: one token, so one counter: the largest, and all of them are raised to what is told.
    let counter = stored.iter().filter_map(|stored| stored.counter).max();
    let decide = |stored: &Stored<'_>| decide_key(*stored, counter, now, request);
    let rulings: Vec<Ruling> = stored.iter().map(decide).collect();
    let is_unknown = |ruling: &&Ruling| matches!(ruling.vote, Vote::Unknown(_));
    // Argument S1: whoever finds its owner under one of the names has voted here already.
    let twin = rulings.iter().find(|ruling| ruling.is_twin());
    let doubt = rulings.iter().find(is_unknown);
    if let Some(doubt) = twin.or(doubt.filter(|_| !rulings.iter().any(is_refused))) {
        return RulingOfSeveral {
            vote: doubt.vote.clone(),
            changes: stored.iter().map(|_| Change::Keep).collect(),
            counter: None,
        };
    }
    // Argument S3: one step. Where one name is refused, all are.
    if let Some(mut refusal) = refused(&rulings) {
        if matches!(request, Request::Inspect { .. }) {
            refusal.holder = only_holder(stored, now).cloned();
        }
        // What is ours goes all the same: a holder that has lost one of them has no use for the others.
        let is_release = matches!(request, Request::Release { .. });
        let change = |ruling: Ruling| match is_release || is_refused(&ruling) {
            true => ruling.change,
            false => Change::Keep,
        };
        return RulingOfSeveral {
            vote: Vote::Refused(refusal),
            changes: rulings.into_iter().map(change).collect(),
            counter: None,
        };
    }
    let told = rulings.iter().filter_map(told).max();
    let changes = rulings.into_iter().zip(stored);
    RulingOfSeveral {
        vote: Vote::Granted { counter: told },
        changes: changes
            .map(|(ruling, stored)| repaired(ruling.change, stored.key, now, request))
            .collect(),
        counter: match request {
            Request::Raise { token, .. } => Some(*token),
            _ => told,
        },
    }
}

/// Argument S7: of the names that a repair finds, and of those that it sets again, all live for as long as it says.
fn repaired(change: Change, stored: Option<&Key>, now: Instant, request: &Request) -> Change {
    match (change, stored, request) {
        (Change::Keep, Some(key), Request::Repair { ttl, .. }) => Change::Set(Key {
            owner: key.owner.clone(),
            expires_at: key.expires_at.max(until(now, *ttl)),
        }),
        (change, ..) => change,
    }
}

/// The refusal by the first name that is in the way, and for how long any of them is; none if none is.
fn refused(rulings: &[Ruling]) -> Option<Refusal> {
    let refusals = rulings.iter().filter_map(|ruling| match &ruling.vote {
        Vote::Refused(refusal) => Some(refusal),
        _ => None,
    });
    let first = refusals.clone().next()?;
    Some(Refusal {
        remaining: refusals.filter_map(|refusal| refusal.remaining).max(),
        ..first.clone()
    })
}

/// Who has all of the names: whoever has lost one of them must see it.
fn only_holder<'a>(stored: &[Stored<'a>], now: Instant) -> Option<&'a Owner> {
    let holder = |stored: &Stored<'a>| {
        let live = stored.key.filter(|key| key.expires_at > now);
        live.map(|key| &key.owner)
    };
    let first = stored.first().and_then(holder);
    first.filter(|_| stored.iter().all(|stored| holder(stored) == first))
}

const fn is_refused(ruling: &Ruling) -> bool {
    matches!(ruling.vote, Vote::Refused(_))
}

const fn told(ruling: &Ruling) -> Option<FencingToken> {
    match ruling.vote {
        Vote::Granted { counter } => counter,
        _ => None,
    }
}

#[cfg(test)]
mod tests;
