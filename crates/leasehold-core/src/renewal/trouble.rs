//! Extensions that fail, and those to which the nodes say nothing.

use super::{Effects, JITTER, LeaseState, Renewal};
use crate::{
    failure::ExtendFailure,
    loss::{Danger, LeaseChange, Loss, Trouble},
    time::Instant,
};
use alloc::boxed::Box;

impl Renewal {
    /// Looks whether the nodes have had enough time for the extension.
    pub(super) fn look_at_silence(&mut self, now: Instant, effects: &mut Effects) {
        let Some(extension) = &mut self.extension else {
            return;
        };
        if now < extension.round.closes() || !extension.only_waits() {
            return extension.round.handle_timeout(now);
        }
        // Nothing was lost, or we were told: the nodes answer as soon as they come to it. To ask them again would make that
        // later, and what they answer to the first request would not count. Where more leases are to be extended at once
        // than the nodes can serve in the time, all of them would be lost so.
        let mut silent = extension.round.clone();
        silent.handle_timeout(now);
        let patience = self
            .config
            .policy
            .patience(&extension.timing, now, self.valid_until);
        let closes = extension.round.closes().saturating_add(patience);
        extension.round.put_off(closes);
        let failure = ExtendFailure::of_lost(self.quorum, silent);
        self.note_trouble(now, failure, effects);
    }

    pub(super) fn failed(
        &mut self,
        now: Instant,
        (started, step): (Instant, u32),
        failure: &ExtendFailure,
        effects: &mut Effects,
    ) {
        if let ExtendFailure::Gone(opposition) = failure {
            // Fewer nodes than a quorum carry the key, and none of them gets it back by itself: others
            // may hold the resource already.
            return self.lose(Loss::Gone(opposition.clone()), effects);
        }
        let random = self.seed.jitter(JITTER.wrapping_sub(step));
        let times = (started, now, self.valid_until);
        self.next = self.config.policy.next_try(self.timing(), times, random);
        self.note_trouble(now, failure.clone(), effects);
    }

    fn note_trouble(&mut self, now: Instant, failure: ExtendFailure, effects: &mut Effects) {
        let since = self.trouble.as_ref().map_or(now, |trouble| trouble.since);
        self.trouble = Some(Box::new(Trouble { since, failure }));
        if self.state == LeaseState::InDanger {
            self.warn(effects);
        }
    }

    pub(super) fn warn(&self, effects: &mut Effects) {
        effects.changes.push(LeaseChange::InDanger(Danger {
            valid_until: self.valid_until,
            trouble: self.trouble.as_deref().cloned(),
        }));
    }
}
