//! Whose turn it is, and who is told that it may be.

use super::Engine;
use crate::{
    acquisition::{Acquisition, Around, Outcome, Turn},
    node_set::NodeId,
    operation::Event,
    outbox::Outbox,
    owner::Seed,
    plan::Wish,
    renewal::Renewal,
    request::OperationId,
    resource::Resource,
    streaks::Rivalry,
    time::Instant,
    won::Won,
};
use alloc::vec::Vec;
use core::time::Duration;

impl Engine {
    /// Takes a node's word that the key of `resource` may have changed; of any key, if none is named.
    pub fn handle_hint(&mut self, now: Instant, node: NodeId, resource: Option<&Resource>) {
        match resource {
            Some(resource) => {
                for id in self.contend.asking(resource) {
                    self.hint(now, node, id);
                }
                if let Some(holder) = self.contend.holder(resource) {
                    self.look_after(now, holder, Duration::ZERO);
                }
            }
            None => {
                // It begins with this whoever goes on telling.
                self.nodes.told(node);
                let all: Vec<_> = self.acquisitions.keys().collect();
                for id in all {
                    self.hint(now, node, id);
                }
                let held: Vec<_> = self.renewals.keys().collect();
                for id in held {
                    // All of them: not all at once.
                    self.look_after(now, id, SPREAD);
                }
            }
        }
    }

    pub(super) fn hint(&mut self, now: Instant, node: NodeId, id: OperationId) {
        self.acquisitions.turn(id, |acquisition| {
            acquisition.handle_hint(now, node);
            ((), Some(acquisition.wake_at()))
        });
    }

    /// Somebody may have touched the keys of a lease.
    fn look_after(&mut self, now: Instant, id: OperationId, within: Duration) {
        self.renewals.turn(id, |renewal| {
            renewal.handle_hint(now, within);
            ((), renewal.wake_at())
        });
    }

    pub(super) fn acquire(&mut self, now: Instant, id: OperationId, seed: Seed, wish: Wish) {
        self.drift = self.drift.or_wider(wish.plan.terms.drift());
        // Whoever does not wait, or takes over what it was given, waits for nobody here either.
        let queues = wish.plan.queues && wish.from.is_none() && !wish.plan.retry.tries_once();
        let resource = wish.resource.clone();
        let mut acquisition = Acquisition::new(now, id, wish, self.quorum, seed);
        let has_turn = self.contend.join(&resource, id, queues);
        if !has_turn {
            acquisition.stand_behind();
        } else if queues {
            let mut coming = self.turn_comes(now, &resource);
            // Whoever comes anew has no such lead over those who wait elsewhere as the next of a queue has: the last
            // release has called them already. So it makes room for those only of whom it is known that they lose.
            coming.others_first &= coming.has_rivals && !acquisition.is_fair();
            coming.give(now, &mut acquisition);
        }
        self.acquisitions.insert(id, acquisition, None);
        self.look_at(now, id);
    }

    /// Lets an acquisition look at the clock.
    pub(super) fn look_at(&mut self, now: Instant, id: OperationId) {
        self.turn_acquisition(now, id, |acquisition, around, outbox| {
            acquisition.handle_timeout(now, around, outbox)
        });
    }

    /// How somebody's turn at a resource comes now.
    fn turn_comes(&mut self, now: Instant, resource: &Resource) -> Coming {
        let waiting = self.contend.waiting(resource);
        Coming {
            has_rivals: self.streaks.has_rivals(now, resource),
            others_first: self.streaks.is_over(now, resource, waiting),
        }
    }

    /// An acquisition or a lease is over: whoever waited for it here has its turn.
    pub(super) fn leave(&mut self, now: Instant, resource: &Resource, id: OperationId) {
        let was_held = self.contend.holder(resource) == Some(id);
        let next = self.contend.leave(resource, id);
        if let Some(next) = next {
            let coming = self.turn_comes(now, resource);
            // Its request leaves with what is on its way out already, but behind it.
            self.acquisitions.turn(next, |acquisition| {
                // Where there is a queue, nobody need make room.
                let coming = Coming {
                    others_first: coming.others_first && !acquisition.is_fair(),
                    ..coming
                };
                coming.give(now, acquisition);
                ((), Some(acquisition.wake_at()))
            });
        }
        if !was_held {
            return;
        }
        // Nodes do not tell us of what we did ourselves.
        for other in self.contend.asking(resource) {
            for node in self.quorum.nodes().iter().filter(|_| next != Some(other)) {
                self.hint(now, node, other);
            }
        }
    }

    pub(super) fn turn_acquisition(
        &mut self,
        now: Instant,
        id: OperationId,
        run: impl FnOnce(&mut Acquisition, &mut Around<'_>, &mut Outbox) -> Turn,
    ) {
        let (epoch, nodes, outbox) = (self.epoch, &mut self.nodes, &mut self.outbox);
        let turn = self.acquisitions.turn(id, |acquisition| {
            let turn = run(acquisition, &mut Around { epoch, nodes }, outbox);
            let goes_on = turn.outcome.is_none();
            (turn, goes_on.then(|| acquisition.wake_at()))
        });
        let Some(turn) = turn else {
            return;
        };
        if let Some(claim) = turn.abandoned {
            self.withdraw(now, *claim, None, None);
        }
        let Some(outcome) = turn.outcome else {
            return;
        };
        let ended = self.acquisitions.remove(id);
        if let Some(ended) = &ended {
            let won = match &outcome {
                Outcome::Won(won) => Some(&**won),
                Outcome::Failed(_) => None,
            };
            self.leave_queue(ended, won);
        }
        let rivalry = ended.as_ref().map_or(Rivalry::None, |it| it.rivalry());
        let event = self.acquired(now, id, outcome);
        match (&event, ended) {
            (Event::Acquired(lease), _) => {
                self.streaks.won(now, &lease.resource, rivalry);
                self.contend.won(&lease.resource, id);
                self.events.push_back((id, event));
            }
            (_, ended) => {
                self.events.push_back((id, event));
                if let Some(ended) = ended {
                    self.leave(now, ended.resource(), id);
                }
            }
        }
    }

    /// Tells the nodes that somebody waits no longer, but for those that took it out of their queues when it won. A place
    /// that is kept all the same ends by itself.
    pub(super) fn leave_queue(&mut self, ended: &Acquisition, won: Option<&Won>) {
        if let Some((nodes, tag, request)) = ended.leaving(won) {
            self.outbox.send(nodes, tag, request);
        }
    }

    fn acquired(&mut self, now: Instant, id: OperationId, outcome: Outcome) -> Event {
        match outcome {
            Outcome::Failed(failure) => Event::NotAcquired(failure),
            Outcome::Won(won) => {
                let lease = won.lease.clone();
                let telling = self.nodes.telling();
                let renewal = Renewal::new(now, *won, self.quorum, telling);
                let wake_at = renewal.wake_at();
                self.renewals.insert(id, renewal, wake_at);
                Event::Acquired(lease)
            }
        }
    }
}

/// How somebody's turn comes.
#[derive(Clone, Copy, Debug)]
struct Coming {
    /// Other processes want the resource too.
    has_rivals: bool,
    /// It is time to let them have theirs.
    others_first: bool,
}

impl Coming {
    fn give(self, now: Instant, acquisition: &mut Acquisition) {
        if self.has_rivals {
            acquisition.have_rivals();
        }
        acquisition.have_turn(now, self.others_first);
    }
}

/// Within which time all leases are looked after if any of their keys may have changed.
const SPREAD: Duration = Duration::from_millis(200);
