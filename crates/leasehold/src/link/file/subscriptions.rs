//! How a store hears of what other processes do to the keys that links wait for.
//!
//! The notifier fires for a commit, and then the thread looks at the watched keys. Two things could go wrong.
//!
//! * **The notifier fires too early.** The last write of a commit is the head page, but a reader sees the commit by a
//!   number in shared memory that its writer sets only after that; a look in between would see the keys as they
//!   were, and nothing would fire again. So the look is within a *write* transaction, though it writes nothing. The
//!   lock for it is free when the commit that fired is over and visible, or its writer is dead, and then LMDB has
//!   settled whether it counts. Nobody else can write during the look, so whatever fires after it is for a commit
//!   that it has not seen, and whatever fired before can be forgotten.
//! * **The notifier was mute.** It fires only while keys are watched, and a key is watched from the moment of an answer.
//!   So after it was unmuted there is one look without a notification.
//!
//! A process that dies fires no notifier: its keys are free without a commit. So while links wait for keys of other
//! processes, the thread looks every [`ROLL_CALL`] whether those live, and at the keys as well: where a write to the
//! file fires no notifier, against all that is promised, that is how late they are told.

use super::{
    inbox::Inbox,
    job::{Job, Sight, StepResult},
    notifier::Notifier,
    process_identity::ProcessIdentity,
    store::Store,
};
use crate::{clock::Clock, link::watch::Watchers};
use leasehold_core::Instant;
use std::{collections::HashSet, time::Duration};

/// How soon after a holder's death who waits for its key is told.
const ROLL_CALL: Duration = Duration::from_millis(50);

/// How long the thread does not look again after a look that found nothing, so that waiting in a store in which much
/// is going on for others costs them little. Ten times what the look took, if that is longer.
const REST: Duration = Duration::from_millis(1);

/// Who is told of what, by the thread of a store.
#[derive(Debug)]
pub(super) struct Subscriptions<'a> {
    watchers: Watchers<Inbox, Sight>,
    notifier: Option<&'a Notifier>,
    is_mute: bool,
    rests_until: Instant,
    /// When it is to be looked whether the holders live, if any of them is another process.
    roll_call: Option<Instant>,
}

impl<'a> Subscriptions<'a> {
    pub(super) fn new(notifier: Option<&'a Notifier>) -> Self {
        Self {
            watchers: Watchers::default(),
            notifier,
            is_mute: true,
            rests_until: Instant::ORIGIN,
            roll_call: None,
        }
    }

    /// Takes note of an answer, and tells other links of this process.
    pub(super) fn note(&mut self, job: &Job, answer: &StepResult) {
        let (vote, sights) = (&answer.vote, &answer.sights);
        if sights.iter().any(|sight| sight.holder.is_some()) && self.roll_call.is_none() {
            // At once, and only then again and again: it was alive in the step.
            self.roll_call = Some(now().saturating_add(ROLL_CALL));
        }
        self.watchers
            .note(&job.inbox, &job.request, vote, sights.iter().cloned());
    }

    /// The notifier, while there is something to listen for.
    pub(super) fn notifier(&self) -> Option<&'a Notifier> {
        self.notifier.filter(|_| !self.watchers.is_empty())
    }

    /// Whether it is time to look. Unless keys are watched, it costs nothing.
    pub(super) fn is_due(&mut self) -> bool {
        let Some(notifier) = self.notifier() else {
            if let Some(notifier) = self.notifier.filter(|_| !self.is_mute) {
                notifier.mute();
                self.is_mute = true;
            }
            self.roll_call = None;
            return false;
        };
        let was_mute = std::mem::replace(&mut self.is_mute, false);
        if was_mute {
            notifier.unmute();
        }
        let now = now();
        let is_rested = now >= self.rests_until;
        let is_called = self.roll_call.is_some_and(|at| now >= at);
        // Argument S10: a key may have changed after it was seen and before the notifier could fire.
        was_mute || is_rested && (is_called || notifier.has_rung())
    }

    /// Waits until it may be time to look, or the notifier is called.
    pub(super) fn wait(&self, notifier: &Notifier) {
        let now = now();
        if now < self.rests_until {
            notifier.wait_for_call(Some(self.rests_until.saturating_since(now)));
        } else {
            notifier.wait_for_any(self.roll_call.map(|at| at.saturating_since(now)));
        }
    }

    /// Looks at the watched keys, and tells who watches those that have changed.
    pub(super) fn look(&mut self, store: &Store) {
        let Some(notifier) = self.notifier() else {
            return;
        };
        let began = now();
        self.watchers.forget_the_gone();
        let gone = match self.roll_call {
            Some(at) if began >= at => self.gone(store),
            _ => HashSet::new(),
        };
        let seen = self.watchers.seen();
        let Ok(changed) = store.look(seen, &gone, || notifier.silence()) else {
            // They will be told the reason when they ask.
            self.watchers.tell_all();
            return;
        };
        for resource in &changed {
            self.watchers.tell(resource);
        }
        let ended = now();
        let strangers = self
            .watchers
            .seen()
            .any(|(_, sight)| sight.holder.is_some());
        self.roll_call = match self.roll_call {
            _ if !strangers => None,
            Some(at) if began < at => Some(at),
            _ => Some(ended.saturating_add(ROLL_CALL)),
        };
        if changed.is_empty() {
            let long = ended.saturating_since(began).saturating_mul(10);
            self.rests_until = ended.saturating_add(long.max(REST));
        }
    }

    /// The processes that hold watched keys and do not live any more.
    fn gone(&self, store: &Store) -> HashSet<ProcessIdentity> {
        let holders = self.watchers.seen().filter_map(|(_, sight)| sight.holder);
        let mut holders: HashSet<ProcessIdentity> = holders.collect();
        holders.retain(|holder| store.knows_gone(holder));
        holders
    }
}

fn now() -> Instant {
    Clock::system().now()
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
