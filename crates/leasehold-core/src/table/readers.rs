//! The rule for a request about a part of a name, which is a share or a permit: several callers have one, as long as nobody has the
//! name itself.
//!
//! Each has an end of its own. One end for all would let a reader that has died live on by what others extend, or end
//! those that live.

use super::{
    Change, Key, Ruling, Stored, grant, permits, permits::beside, raise, refuse, twin, until,
};
use crate::{
    fence::FencingToken,
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
    let part = |owner: &Owner, ttl| Key {
        owner: owner.clone(),
        expires_at: until(now, ttl),
    };
    match request {
        // Argument S1: as with a vote for the name itself.
        Request::Acquire { .. } | Request::Transfer { .. } if ours.is_some() => twin(),
        // Argument S3: nobody reads what somebody has for itself, and the comparison and the change are one step.
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
        } if whole.is_none() => {
            let part = part(owner, *ttl);
            join((stored, readers), ours.is_some(), (part, *proposal), now)
        }
        Request::Transfer {
            from,
            owner,
            ttl,
            proposal,
            ..
        } => {
            let part = part(owner, *ttl);
            take_over((stored, whole), &readers, from, (part, *proposal), now)
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
        Request::Raise { owner, token, .. } if ours.is_some() && owner.permit().is_some() => {
            raise(stored.counter, *token)
        }
        // Who reads is counted by nobody, so there is no counter to raise.
        Request::Acquire { .. }
        | Request::Repair { .. }
        | Request::Inspect { .. }
        | Request::Raise { .. }
        | Request::Leave { .. } => refuse_share(stored, &readers, now),
    }
}

/// The answer to a vote for a part that nobody has the whole name beside; it is there already if a repair finds its own.
fn join(
    (stored, readers): (Stored<'_>, Vec<Key>),
    is_there: bool,
    (part, proposal): (Key, Option<FencingToken>),
    now: Instant,
) -> Ruling {
    let owner = part.owner.clone();
    if !is_there && let Some(refused) = beside(&readers, &owner, now) {
        return refused;
    }
    let mut after = readers;
    // Of a repair that finds its part, the end stays: an earlier repair's counts.
    if !is_there {
        after.push(part);
    }
    let counts = !is_there || stored.counter.is_none();
    counted((stored, after), &owner, proposal, counts)
}

/// What becomes of a share, or the whole name, that is another's from then on.
fn take_over(
    (stored, whole): (Stored<'_>, Option<&Key>),
    readers: &[Key],
    from: &Owner,
    (share, proposal): (Key, Option<FencingToken>),
    now: Instant,
) -> Ruling {
    let owner = share.owner.clone();
    if whole.is_some_and(|key| key.owner == *from) {
        let ruling = counted((stored, vec![share]), &owner, proposal, true);
        // The name is let go only with a share in its place.
        return match ruling.vote {
            Vote::Granted { .. } => Ruling {
                change: Change::Delete,
                ..ruling
            },
            _ => ruling,
        };
    }
    let Some(at) = readers.iter().position(|reader| reader.owner == *from) else {
        return refuse_share(stored, readers, now);
    };
    let mut others = readers.to_vec();
    others.remove(at);
    if beside(&others, &owner, now).is_some() {
        // Whose part it would be is told of as well: it stays where it is.
        return refuse_share(stored, readers, now);
    }
    others.insert(at, share);
    counted((stored, others), &owner, proposal, true)
}

/// These have parts from now on; of a permit, the grant counts if a token is wanted. Of those who read, no grant does.
fn counted(
    (stored, readers): (Stored<'_>, Vec<Key>),
    owner: &Owner,
    proposal: Option<FencingToken>,
    counts: bool,
) -> Ruling {
    let ruling = granted(stored, readers);
    let proposal = proposal.filter(|_| owner.permit().is_some());
    let counted = grant(ruling.change.clone(), stored.counter, proposal, counts);
    match counted.vote {
        Vote::Granted { .. } => Ruling {
            readers: ruling.readers,
            ..counted
        },
        _ => counted,
    }
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
    match permits::refused(readers, now) {
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
pub(super) fn live(readers: &[Key], now: Instant) -> Vec<Key> {
    let live = readers.iter().filter(|reader| reader.expires_at > now);
    live.cloned().collect()
}

#[cfg(test)]
mod tests;
