//! The rule for a request about a fair lock, or a share: who comes first.

use super::{Change, Ruling, Stored, by_readers};
use crate::{
    fence::FencingToken,
    queue::{Barrier, Place, Queue, Queued, Waiter},
    request::{Refusal, Vote},
    time::Instant,
};

/// What becomes of a fair request, of which `ruling` is what it would be without a queue. A queue only adds reasons to
/// refuse: nobody gets by it what it would not have got without.
pub(super) fn decide_place(
    stored: Stored<'_>,
    now: Instant,
    place: Place,
    proposal: Option<FencingToken>,
    ruling: Ruling,
) -> Ruling {
    let none = Queue::default();
    let queue = stored.queue.unwrap_or(&none);
    let proposal = proposal.map_or(0, FencingToken::get);
    let position = queue.position(now, place, proposal);
    let (refusal, barrier, change) = match ruling.vote {
        Vote::Refused(refusal) => (refusal, Barrier::Key, ruling.change),
        // The first in line waits until the last reader has left.
        Vote::Granted { .. } if position.ahead > 0 && by_readers(stored.readers, now).is_some() => {
            let by = by_readers(stored.readers, now).map(|ruling| ruling.vote);
            let Some(Vote::Refused(refusal)) = by else {
                return ruling;
            };
            (refusal, Barrier::Key, Change::Keep)
        }
        // It would take what is free, even if there is no number left to count it with. A waiter that is not next is not counted,
        // so a counter that has come to its end is told to the next alone, and costs nobody else its place.
        Vote::Granted { .. } | Vote::Unknown(_) if position.ahead > 0 => {
            let refusal = Refusal {
                remaining: position.first_left,
                ..Refusal::default()
            };
            let over = stored.key.map_or(Change::Keep, |_| Change::Delete);
            (refusal, Barrier::Queue, over)
        }
        Vote::Granted { .. } | Vote::Unknown(_) => {
            return Ruling {
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
