//! The rule for a request about a fair lock, or a share: who comes first.

use super::{
    Change, Ruling, Stored,
    permits::{self, free},
    readers::live,
};
use crate::{
    fence::FencingToken,
    permit::Permit,
    queue::{Barrier, Place, Queue, Queued, Waiter},
    request::{Refusal, Request, Vote},
    time::Instant,
};

/// What becomes of a fair request, of which `ruling` is what it would be without a queue. A queue only adds reasons to
/// refuse: nobody gets by it what it would not have got without.
pub(super) fn decide_place(
    stored: Stored<'_>,
    now: Instant,
    (place, proposal): (Place, Option<FencingToken>),
    request: &Request,
    ruling: Ruling,
) -> Ruling {
    let none = Queue::default();
    let queue = stored.queue.unwrap_or(&none);
    let proposal = proposal.map_or(0, FencingToken::get);
    let permits = request.permit().map(Permit::of);
    let position = queue.position(now, place, proposal, permits);
    let parts = live(stored.readers, now);
    // As many as there are permits left are next at the same time.
    let next = permits.map_or(1, |of| free(&parts, of));
    let is_next = usize::try_from(position.ahead).is_ok_and(|ahead| ahead < next);
    let by_parts = permits::refused(&parts, now).map(|ruling| ruling.vote);
    let (refusal, barrier, change) = match (ruling.vote, by_parts) {
        (Vote::Refused(refusal), _) => (refusal, Barrier::Key, ruling.change),
        // The first in line waits until the last reader has left, or a permit is left for it.
        (Vote::Granted { .. } | Vote::Unknown(_), Some(Vote::Refused(refusal))) if !is_next => {
            (refusal, Barrier::Key, Change::Keep)
        }
        // It would take what is free, even if there is no number left to count it with. A waiter that is not next is not counted,
        // so a counter that has come to its end is told to the next alone, and costs nobody else its place.
        (Vote::Granted { .. } | Vote::Unknown(_), _) if !is_next => {
            let refusal = Refusal {
                remaining: position.first_left,
                ..Refusal::default()
            };
            let over = stored.key.map_or(Change::Keep, |_| Change::Delete);
            (refusal, Barrier::Queue, over)
        }
        (vote @ (Vote::Granted { .. } | Vote::Unknown(_)), _) => {
            return Ruling {
                vote,
                queue: without(stored.queue, now, place.waiter),
                ..ruling
            };
        }
    };
    let queued = Some(Queued {
        ticket: position.ticket,
        ahead: position.ahead,
        barrier,
    });
    Ruling {
        vote: Vote::Refused(Refusal { queued, ..refusal }),
        change,
        readers: None,
        counter: None,
        queue: Some(queue.with(now, place.waiter, position.ticket)),
    }
}

/// The queue without this waiter, if that is another one.
pub(super) fn without(queue: Option<&Queue>, now: Instant, waiter: Waiter) -> Option<Queue> {
    let left = queue.map(|queue| queue.without(now, waiter));
    left.filter(|left| Some(left) != queue)
}
