//! What a lease's keeper is told between extensions: clocks that were set, nodes that are back, keys that were touched.

use super::{Effects, JITTER, LeaseState, Renewal};
use crate::{loss::LeaseChange, node_set::NodeId, outbox::Outbox, retry::between, time::Instant};
use core::time::Duration;

impl Renewal {
    /// A node's clock was set forward by `step`: the keys that it has set before end sooner.
    pub(crate) fn handle_step(
        &mut self,
        now: Instant,
        node: NodeId,
        step: Duration,
        effects: &mut Effects,
        outbox: &mut Outbox,
    ) {
        self.look_at_the_end(now, effects);
        if self.state == LeaseState::Lost {
            return;
        }
        self.confirmed.set_forward(node, step);
        let valid_until = self
            .confirmed
            .valid_until(self.quorum, self.timing())
            .min(self.config.policy.ends_at(self.begun));
        if valid_until < self.valid_until {
            self.valid_until = valid_until;
            self.plan_warning();
            self.stepped = Some((node, step));
            // The next extension makes up for it, and comes at once if there is much to make up for. Every answer
            // tells of a clock that runs away, and must not lead to another extension.
            if step >= MUCH {
                self.next = self.next.map(|_| now);
            }
            effects.changes.push(LeaseChange::Cut {
                valid_until,
                node,
                step,
            });
            self.look_at_the_end(now, effects);
        }
        if let Some(extension) = &mut self.extension {
            extension.set_forward(node, step);
            self.decide(now, effects, outbox);
        }
    }

    /// Another server is this node from now on. A lease that stands on the one before keeps its time; what extends it has to be
    /// confirmed by the new list.
    pub(crate) fn handle_replacement(
        &mut self,
        now: Instant,
        node: NodeId,
        effects: &mut Effects,
        outbox: &mut Outbox,
    ) {
        if let Some(extension) = &mut self.extension {
            extension.replaced(node);
            self.decide(now, effects, outbox);
        }
    }

    /// A node that could not be asked can be asked again.
    pub(crate) fn handle_up(&mut self, now: Instant) {
        if self.trouble.is_some() && self.next.is_some() {
            self.next = Some(now);
        }
        if let Some(extension) = self.extension.as_mut().filter(|it| !it.only_waits()) {
            extension.hurry(now);
        }
    }

    /// Somebody may have touched the keys: the next extension tells, and comes within this time.
    pub(crate) fn handle_hint(&mut self, now: Instant, within: Duration) {
        // A holder that may extend only so often needs them all.
        if self.config.policy.most_extensions.is_some() {
            return;
        }
        let random = self.seed.jitter(JITTER.wrapping_add(self.extensions));
        let soon = now.saturating_add(between(Duration::ZERO, within, random));
        // Somebody who touches the keys all the time must not lead to nothing but extensions.
        let calm = self.extended.map(|begun| begun.saturating_add(CALM));
        let soon = calm.map_or(soon, |calm| soon.max(calm));
        let soon = self.touched.map_or(soon, |before| before.min(soon));
        self.touched = Some(soon);
        self.next = self.next.map(|next| next.min(soon));
    }
}

/// How long after an extension began nobody is hurried again.
const CALM: Duration = Duration::from_millis(10);

/// By how much a clock must be set forward for an extension at once.
const MUCH: Duration = Duration::from_millis(10);
