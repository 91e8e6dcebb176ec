//! The rule for a request about a share of a name: any number of callers have one, as long as nobody has the name itself.
//!
//! Each has an end of its own. One end for all would let a reader that has died live on by what others extend, or end
//! those that live.

use super::{Change, Key, Ruling, Stored, refuse, twin, until};
use crate::{
    owner::Owner,
    request::{Refusal, Request, Vote},
    time::Instant,
};
use alloc::{vec, vec::Vec};

/// The answer to `request`, which is about a share, at `now` when `stored` is what the node has of its name.
pub(super) fn decide_share(stored: Stored<'_>, now: Instant, request: &Request) -> Ruling {
    let readers = live(stored.readers, now);
    let ours = readers
        .iter()
        .position(|reader| Some(&reader.owner) == request.owner());
    let whole = stored.key.filter(|key| key.expires_at > now);
    match request {
        // Argument S1: as with a vote for the name itself.
        Request::Acquire { .. } | Request::Transfer { .. } if ours.is_some() => twin(),
        // Argument S3: nobody reads what somebody has for itself, and the comparison and the change are one step.
        Request::Acquire { owner, ttl, .. } | Request::Repair { owner, ttl, .. }
            if whole.is_none() =>
        {
            let mut after = readers.to_vec();
            // Of a repair that finds its share, the end stays: an earlier repair's counts.
            if ours.is_none() {
                after.push(Key {
                    owner: owner.clone(),
                    expires_at: until(now, *ttl),
                });
            }
            granted(stored, after)
        }
        Request::Transfer {
            from, owner, ttl, ..
        } => {
            let share = Key {
                owner: owner.clone(),
                expires_at: until(now, *ttl),
            };
            take_over((stored, whole), readers, from, share, now)
        }
        Request::Extend { ttl, .. } => change(stored, &readers, ours, now, |end| {
            // Argument S7: what somebody may rely on is never cut short.
            Some(end.max(until(now, *ttl)))
        }),
        Request::Release { keep, .. } => change(stored, &readers, ours, now, |_| {
            keep.map(|keep| until(now, keep))
        }),
        Request::Inspect { .. } if whole.is_none() && readers.is_empty() => {
            Ruling::granted(Change::Keep)
        }
        // Who reads is counted by nobody, so there is no counter to raise.
        Request::Acquire { .. }
        | Request::Repair { .. }
        | Request::Inspect { .. }
        | Request::Raise { .. }
        | Request::Leave { .. } => refuse_share(stored, &readers, now),
    }
}

/// What becomes of a share, or the whole name, that is another's from then on.
fn take_over(
    (stored, whole): (Stored<'_>, Option<&Key>),
    mut readers: Vec<Key>,
    from: &Owner,
    share: Key,
    now: Instant,
) -> Ruling {
    if whole.is_some_and(|key| key.owner == *from) {
        return Ruling {
            change: Change::Delete,
            ..granted(stored, vec![share])
        };
    }
    match readers.iter_mut().find(|reader| reader.owner == *from) {
        Some(reader) => *reader = share,
        None => return refuse_share(stored, &readers, now),
    }
    granted(stored, readers)
}

/// What becomes of the share at `ours`: it ends then, or now.
fn change(
    stored: Stored<'_>,
    readers: &[Key],
    ours: Option<usize>,
    now: Instant,
    ends: impl FnOnce(Instant) -> Option<Instant>,
) -> Ruling {
    let mut after = readers.to_vec();
    let Some((at, share)) = ours.and_then(|at| Some((at, after.get_mut(at)?))) else {
        return refuse_share(stored, readers, now);
    };
    match ends(share.expires_at) {
        Some(end) => share.expires_at = end,
        None => drop(after.remove(at)),
    }
    granted(stored, after)
}

/// These read from now on.
fn granted(stored: Stored<'_>, readers: Vec<Key>) -> Ruling {
    Ruling {
        readers: Some(readers).filter(|readers| *readers != stored.readers),
        // A key of the name that is there has ended.
        ..Ruling::granted(stored.key.map_or(Change::Keep, |_| Change::Delete))
    }
}

fn refuse_share(stored: Stored<'_>, readers: &[Key], now: Instant) -> Ruling {
    match by_readers(readers, now) {
        Some(refusal) => refusal,
        None => refuse(
            stored.key,
            stored.key.filter(|key| key.expires_at > now),
            now,
        ),
    }
}

/// The answer to a request about a name that is read, or to a reader that is not among them; none if nobody reads it.
pub(super) fn by_readers(readers: &[Key], now: Instant) -> Option<Ruling> {
    let live = live(readers, now);
    let ends = live.iter().map(|reader| reader.expires_at);
    let last = ends.max()?;
    Some(Ruling {
        vote: Vote::Refused(Refusal {
            remaining: Some(last.saturating_since(now)),
            ..Refusal::default()
        }),
        ..Ruling::granted(Change::Keep)
    })
}

/// Those whose end has not come.
fn live(readers: &[Key], now: Instant) -> Vec<Key> {
    let live = readers.iter().filter(|reader| reader.expires_at > now);
    live.cloned().collect()
}

#[cfg(test)]
mod tests;
