//! How an acquisition of a fair lock keeps its place among those who want the same.
//!
//! Its first vote goes to all nodes. Each that refuses puts it into its queue and tells a ticket; the largest of those
//! that a quorum told is the ticket that it shows from then on, the same everywhere. It shows itself to all nodes once
//! in a second at least, or they give its place away. When it has the lock or gives up, it leaves.

use super::{Acquisition, Phase};
use crate::{
    node_set::{NodeId, NodeSet},
    owner::Seed,
    queue::{LEAVING, Place, Queue, Ticket, Waiter},
    request::{AttemptId, Refusal, Request, Tag},
    resource::Wanted,
    round::Round,
    time::Instant,
};
use core::time::Duration;

/// Where an acquisition stands.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Queueing {
    waiter: Waiter,
    /// None until a quorum has told one.
    ticket: Option<Ticket>,
    /// How many came before it when it last asked.
    ahead: u32,
    /// How often in a row it was refused what was free.
    looks: u32,
}

impl Queueing {
    pub(super) fn new(seed: &Seed, what: Wanted) -> Self {
        Self {
            // From the part of the seed that no owner is made of: all who look at the nodes see it.
            waiter: Waiter::wanting(seed.jitter(WAITER), what),
            ticket: None,
            ahead: 0,
            looks: 0,
        }
    }

    /// What it says of itself to the nodes.
    pub(super) const fn place(&self) -> Place {
        Place {
            waiter: self.waiter,
            ticket: self.ticket,
        }
    }

    /// Takes note of what nodes told that refused. Says whether they have to be told which ticket it is.
    fn learn(&mut self, refusals: &[(NodeId, Refusal)]) -> bool {
        let told = || refusals.iter().filter_map(|(_, refusal)| refusal.queued);
        let Some(largest) = told().map(|queued| queued.ticket).max() else {
            return false;
        };
        let drew = self.ticket.is_none();
        self.ticket.get_or_insert(largest);
        let each = || refusals.iter().map(|(_, refusal)| refusal);
        self.ahead = each().filter_map(Refusal::ahead).max().unwrap_or(0);
        let is_free = each().any(Refusal::is_by_the_queue);
        self.looks = if is_free {
            self.looks.saturating_add(1)
        } else {
            0
        };
        drew && told().any(|queued| queued.ticket != largest)
    }

    /// After which time to ask again where others come first: one of them may have it long before its place is over,
    /// or may just have left, and of neither is told.
    fn look_after(&self) -> Duration {
        SOON.saturating_mul(1 << self.looks.min(MOST_DOUBLINGS))
    }
}

impl Acquisition {
    /// Whether it has no ticket yet: then all nodes are asked, since it needs a place on all of them.
    pub(super) const fn draws_a_ticket(&self) -> bool {
        matches!(&self.queueing, Some(queueing) if queueing.ticket.is_none())
    }

    /// Whether nodes serve those who want this in order, so that nobody need make room for others.
    pub(crate) const fn is_fair(&self) -> bool {
        self.queueing.is_some()
    }

    /// Whether it takes over what another owner had.
    pub(crate) const fn takes_over(&self) -> bool {
        self.from.is_some()
    }

    /// Takes note of what the nodes told of its place. Says whether they have to be told which ticket it is.
    pub(super) fn learn_place(&mut self, round: &Round) -> bool {
        let Some(queueing) = &mut self.queueing else {
            return false;
        };
        queueing.learn(round.refusals())
    }

    /// How long what stands in the way will stay there, as far as this refusal tells.
    pub(super) fn stays(&self, refusal: &Refusal) -> Option<Duration> {
        match &self.queueing {
            Some(queueing) if refusal.is_by_the_queue() => {
                let after = queueing.look_after();
                Some(refusal.remaining.map_or(after, |left| left.min(after)))
            }
            _ => refusal.remaining,
        }
    }

    /// When to ask all nodes again, so that they keep its place (argument S10).
    pub(super) fn shows_itself_at(&self) -> Instant {
        match &self.queueing {
            Some(queueing) if queueing.ticket.is_some() && !self.is_behind => self
                .asked_all
                .map_or(Instant::NEVER, |asked| asked.saturating_add(HEARTBEAT)),
            _ => Instant::NEVER,
        }
    }

    /// How long to wait when it is called: the next in the queue not at all, the others for so long that the next has
    /// asked before. None where there is no queue.
    pub(super) fn gives_way(&self) -> Option<Duration> {
        let queueing = self.queueing.filter(|it| it.ticket.is_some())?;
        Some(if queueing.ahead == 0 {
            Duration::ZERO
        } else {
            self.contention.way().saturating_add(WAY).min(LONGEST_WAY)
        })
    }

    /// Whether it is next, and those who have come before cannot have a quorum either: nodes that give nobody a place serve
    /// nobody. Then what each takes back frees it within moments, and whoever waited to be told of it, or for the time that is told,
    /// might divide the nodes with the same others again.
    pub(super) fn is_next_to_nobody(&self, round: &Round) -> bool {
        let is_next = self.queueing.is_some_and(|it| it.ahead == 0);
        let refusals = round.refusals().iter();
        let places = refusals.filter(|(_, refusal)| refusal.queued.is_some());
        let others = places.count().saturating_add(round.tally().unknown().len());
        is_next && others < self.quorum.needed()
    }

    /// What tells nodes that it waits no longer, and whom of those that may keep its place.
    pub(crate) fn leaving(&self) -> Option<(NodeSet, Tag, Request)> {
        let queueing = self.queueing.as_ref()?;
        let all = self.quorum.nodes();
        let won = match &self.phase {
            Phase::Won(attempt, confirmed) => Some((attempt, confirmed)),
            _ => None,
        };
        let nodes = match (won, queueing.ticket) {
            // A caller that has won at once is in the queues of the nodes that refused, and of no others.
            (Some((attempt, _)), None) => attempt.queued(),
            (Some((_, confirmed)), Some(_)) => all.without(confirmed.nodes),
            (None, _) if self.tries.attempts() == 0 => NodeSet::EMPTY,
            (None, _) => all,
        };
        if nodes.is_empty() {
            return None;
        }
        let tag = Tag {
            attempt: AttemptId {
                operation: self.operation,
                number: LEAVING,
            },
            step: 0,
        };
        let request = Request::Leave {
            resource: self.resource.clone(),
            waiter: queueing.waiter,
        };
        Some((nodes, tag, request))
    }
}

/// How often a waiter shows itself to all nodes: often enough that two in a row may be lost.
const HEARTBEAT: Duration = Duration::from_secs(1);
const _: () = assert!(Queue::LIFE.as_millis() >= 3 * HEARTBEAT.as_millis());

/// When to ask again at first where others come first, and how often that is doubled: up to 320 ms.
const SOON: Duration = Duration::from_millis(5);
const MOST_DOUBLINGS: u32 = 6;

/// For how long a waiter that is not next lets the next ask before, on top of its own way to the nodes.
const WAY: Duration = Duration::from_millis(1);
const LONGEST_WAY: Duration = Duration::from_millis(10);

/// Which of the seed's throws names the waiter: none of those for pauses, calls and extensions.
const WAITER: u32 = u32::MAX;
