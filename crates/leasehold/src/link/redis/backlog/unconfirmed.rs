//! Answers that were heard and are not told yet: grants that count only when sentinels have been asked since, and the
//! releases of such grants.

use leasehold_core::{AttemptId, Fault, Instant, Tag, Vote};
use std::collections::VecDeque;

/// In the order in which they were heard.
#[derive(Debug, Default)]
pub(in crate::link::redis) struct Unconfirmed(VecDeque<Held>);

#[derive(Debug)]
struct Held {
    /// When it was heard; none if it only waits for what is before it.
    heard: Option<Instant>,
    tag: Tag,
    vote: Vote,
}

impl Unconfirmed {
    /// A grant that was heard at `heard`.
    pub(in crate::link::redis) fn push(&mut self, heard: Instant, tag: Tag, vote: Vote) {
        let heard = Some(heard);
        self.0.push_back(Held { heard, tag, vote });
    }

    /// The answer to a release. None if it is told behind a grant of the same attempt.
    pub(in crate::link::redis) fn release(&mut self, tag: Tag, vote: Vote) -> Option<(Tag, Vote)> {
        // Argument S5: a grant that is told behind its release would have to be taken back once more.
        if !self.has(tag.attempt) {
            return Some((tag, vote));
        }
        let heard = None;
        self.0.push_back(Held { heard, tag, vote });
        None
    }

    /// Takes out the first answer if it can be told by now, by what is known of a grant that was heard then.
    pub(in crate::link::redis) fn take(
        &mut self,
        outcome: impl FnOnce(Instant) -> Option<Result<(), Fault>>,
    ) -> Option<(Tag, Vote)> {
        let outcome = match self.0.front()?.heard {
            Some(heard) => outcome(heard)?,
            None => Ok(()),
        };
        let Held { tag, vote, .. } = self.0.pop_front()?;
        Some((tag, outcome.map_or_else(Vote::Unknown, |()| vote)))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, when the connection is gone: the grants with this fault.
    pub(super) fn abandon(self, fault: Fault) -> impl Iterator<Item = (Tag, Vote)> {
        self.0.into_iter().map(move |held| match held.heard {
            Some(_) => (held.tag, Vote::Unknown(fault.clone())),
            None => (held.tag, held.vote),
        })
    }

    fn has(&self, attempt: AttemptId) -> bool {
        self.0.iter().any(|held| held.tag.attempt == attempt)
    }
}
