//! When the answers of a server that sentinels name are told, and as what.
//!
//! More time for a key counts by the age of the last word of the sentinels. A new key waits for a later word, where a
//! successor of the server abstains: see [`discovery`](super). What is answered behind a grant that waits, and undoes it,
//! waits with it. A link that loses its connection cannot hear that word any more, so grants that wait are in doubt.

use super::{Discovery, Unconfirmed, room};
use crate::{
    request::{AttemptId, Fault, Request, Tag, Vote},
    time::Instant,
};
use alloc::collections::VecDeque;
use core::time::Duration;

/// What the answer to a request needs before it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a link must know all of it")]
pub enum Need {
    /// Nothing.
    Nothing,
    /// If it is a grant: that a majority of the sentinels has named the server at most so long ago; none if only the
    /// bound of the [`Rule`](super::Rule) limits that.
    Recent(Option<Duration>),
    /// If it is a grant: that a majority names the server which was asked after the grant was heard.
    Later,
    /// That it is not told before a grant of the same attempt that waits for the sentinels. A grant that waits for replicas
    /// may be told after it: then the node is asked for one more release.
    Turn,
}

/// What a link does about an answer that it has heard.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a link must do all of it")]
#[must_use]
pub enum Heard {
    /// It is told now.
    Told(Tag, Vote),
    /// It waits, and all sentinels are to be asked for the master.
    Asks,
    /// It waits for another.
    Waits,
}

/// The answers that were heard over one connection and are not told yet, in the order in which they were heard.
#[derive(Debug, Default)]
pub struct Confirmation(VecDeque<Held>);

#[derive(Debug)]
struct Held {
    /// When it was heard; none if it only waits for what is before it.
    heard: Option<Instant>,
    tag: Tag,
    vote: Vote,
}

impl Need {
    /// What an answer to `request` needs, where a server that may have forgotten votes abstains for `quarantine`; none if it
    /// does not abstain.
    #[must_use]
    pub fn of(request: &Request, quarantine: Option<Duration>) -> Self {
        let Some(ttl) = request.ttl() else {
            return match request {
                Request::Release { .. } => Self::Turn,
                _ => Self::Nothing,
            };
        };
        let is_for_a_key = !matches!(request, Request::Extend { .. });
        match quarantine {
            // Argument S9: a lease that was carried over to a successor may have ended here.
            Some(_) if is_for_a_key => Self::Later,
            quarantine => Self::Recent(quarantine.map(|span| room(span, ttl))),
        }
    }

    /// The vote as it counts when it is heard at `now`: nobody relies on a grant of a master that may have been replaced.
    /// `fault` says why.
    #[must_use]
    pub fn judge<A: Clone + PartialEq>(
        self,
        vote: Vote,
        now: Instant,
        discovery: &Discovery<A>,
        fault: impl FnOnce(Unconfirmed) -> Fault,
    ) -> Vote {
        // A word that sentinels are asked for later confirms more than the last that they gave.
        let Self::Recent(room) = self else {
            return vote;
        };
        if !vote.is_granted() {
            return vote;
        }
        // Argument S9: judged when it is heard. It was asked for before that, and its lease counts from then.
        match discovery.confirm(now, room) {
            Ok(()) => vote,
            Err(unconfirmed) => Vote::Unknown(fault(unconfirmed)),
        }
    }
}

impl Confirmation {
    /// An answer was heard at `now`, a clock that is read before sentinels are asked about it.
    pub fn hear(&mut self, need: Need, now: Instant, tag: Tag, vote: Vote) -> Heard {
        match need {
            Need::Later if vote.is_granted() => {
                self.hold(Some(now), tag, vote);
                Heard::Asks
            }
            // Argument S5: a grant that is told behind its release would have to be taken back once more.
            Need::Turn if self.has(tag.attempt) => {
                self.hold(None, tag, vote);
                Heard::Waits
            }
            _ => Heard::Told(tag, vote),
        }
    }

    /// Takes out the first answer if it can be told by now. `fault` says why a grant does not count.
    pub fn take<A: Clone + PartialEq>(
        &mut self,
        discovery: &Discovery<A>,
        fault: impl FnOnce(Unconfirmed) -> Fault,
    ) -> Option<(Tag, Vote)> {
        let outcome = match self.0.front()?.heard {
            Some(heard) => discovery.confirm_grant(heard)?,
            None => Ok(()),
        };
        let Held { tag, vote, .. } = self.0.pop_front()?;
        let in_doubt = |unconfirmed| Vote::Unknown(fault(unconfirmed));
        Some((tag, outcome.map_or_else(in_doubt, |()| vote)))
    }

    /// How many answers wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that wait, when the connection is gone: the grants with this fault, since nobody knows what they are worth.
    pub fn abandon(self, fault: Fault) -> impl Iterator<Item = (Tag, Vote)> {
        self.0.into_iter().map(move |held| match held.heard {
            // Argument S5: the key may be there, so it is to be released.
            Some(_) => (held.tag, Vote::Unknown(fault.clone())),
            None => (held.tag, held.vote),
        })
    }

    fn hold(&mut self, heard: Option<Instant>, tag: Tag, vote: Vote) {
        self.0.push_back(Held { heard, tag, vote });
    }

    fn has(&self, attempt: AttemptId) -> bool {
        self.0.iter().any(|held| held.tag.attempt == attempt)
    }
}

#[cfg(test)]
mod tests;
