//! Who may have a part of a name beside those who have one: readers beside readers, and a permit beside others of as many, in
//! other slots.

use super::{Change, Key, Ruling};
use crate::{
    owner::Owner,
    permit::{Permit, PermitCount, TakenPermits},
    request::{Refusal, Vote},
    time::Instant,
};
use alloc::{boxed::Box, vec::Vec};

/// Why `owner` cannot have a part beside those who have one, of whom none has ended; none if it can.
pub(super) fn beside(others: &[Key], owner: &Owner, now: Instant) -> Option<Ruling> {
    let permit = |key: &Key| key.owner.permit();
    let is_beside = match owner.permit() {
        None => others.iter().all(|key| permit(key).is_none()),
        // Argument S3: a slot has one owner at a time, and all say the same of how many there are: with another number, some of
        // theirs would be slots that we do not look at.
        Some(ours) => others.iter().all(|key| {
            let other = permit(key);
            other.is_some_and(|other| other.of() == ours.of() && other.slot() != ours.slot())
        }),
    };
    if is_beside {
        None
    } else {
        refused(others, now)
    }
}

/// The answer to a request about a name of which these have parts; none if nobody has.
pub(super) fn refused(others: &[Key], now: Instant) -> Option<Ruling> {
    let taken = taken(others, now);
    let ends = others.iter().map(|key| key.expires_at);
    // The next permit is free with the first of them, and everything else with the last.
    let end = match taken {
        Some(_) => ends.min(),
        None => ends.max(),
    };
    Some(Ruling {
        vote: Vote::Refused(Refusal {
            remaining: Some(end?.saturating_since(now)),
            permits: taken,
            ..Refusal::default()
        }),
        ..Ruling::granted(Change::Keep)
    })
}

/// How many are free yet; none if those who have parts have no permits of so many.
pub(super) fn free(others: &[Key], of: PermitCount) -> usize {
    usize::from(of.get()).saturating_sub(others.len())
}

/// The permits of those who have parts, if they have permits.
fn taken(others: &[Key], now: Instant) -> Option<Box<TakenPermits>> {
    let slot = |key: &Key| {
        let left = key.expires_at.saturating_since(now);
        key.owner.permit().map(|permit| (permit.slot(), left))
    };
    let of = others.first()?.owner.permit().map(Permit::of)?;
    let mut slots: Vec<_> = others.iter().filter_map(slot).collect();
    slots.sort_unstable();
    Some(Box::new(TakenPermits { of, slots }))
}

#[cfg(test)]
mod tests;
