//! What must be true in every world, one property per file.
//!
//! The checkers see true time and all clocks at once, and recompute what the engine decided from the
//! messages alone, by the book and not by the core's arithmetic.

use crate::{setting::Setting, time::Moment};
use leasehold_core::{Instant, OperationId, Send};

pub(crate) mod detached;
pub(crate) mod exclusion;
pub(crate) mod guard;
pub(crate) mod leftovers;
#[cfg(test)]
pub(crate) mod lone;
pub(crate) mod loss;
pub(crate) mod order;
pub(crate) mod progress;
pub(crate) mod store;
pub(crate) mod tokens;
pub(crate) mod validity;
pub(crate) mod waiting;

use detached::Detached;
use exclusion::Exclusion;
use guard::Guard;
use loss::Loss;
use order::Order;
use progress::Progress;
use store::Store;
use tokens::Tokens;
use validity::Validity;
use waiting::Waiting;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) property: Property,
    pub(crate) what: String,
}

/// What was violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    /// At most one guard is valid at any true instant.
    Exclusion,
    /// Of so many permits, no more are held at any true instant.
    Count,
    /// No guard is valid for longer than the votes that it stands on.
    Validity,
    /// No key outlives its TTL, and none that could be taken back is left.
    Leftovers,
    /// The holder is told of a loss in time, and of no other; until then extensions go on.
    Loss,
    /// Tokens are told once, and grow from holder to holder.
    Tokens,
    /// What checks tokens is not written by a holder of the past.
    Store,
    /// A node does not vote that has forgotten what may be relied upon.
    Guard,
    /// Operations end, and once the faults are over somebody acquires.
    Progress,
    /// Callers that wait are served in turn, and as soon as there is something to have.
    Waiting,
    /// Those who want a fair lock have it in the order of their tickets.
    Order,
    /// The engine's own assertions.
    Assertion,
}

impl Property {
    /// Whether who asks for `other` wants to hear of this: a store that checks tokens shows what they are worth.
    pub(crate) fn belongs_to(self, other: Self) -> bool {
        self == other || (self == Self::Store && other == Self::Tokens)
    }

    pub(crate) fn find(name: &str) -> Option<Self> {
        let all = [
            ("exclusion", Self::Exclusion),
            ("count", Self::Count),
            ("validity", Self::Validity),
            ("leftovers", Self::Leftovers),
            ("loss", Self::Loss),
            ("tokens", Self::Tokens),
            ("store", Self::Store),
            ("guard", Self::Guard),
            ("progress", Self::Progress),
            ("waiting", Self::Waiting),
            ("order", Self::Order),
        ];
        let mut all = all.into_iter();
        all.find(|(other, _)| *other == name)
            .map(|(_, property)| property)
    }
}

/// A lease as the checkers name it: the client and the acquisition that won it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) client: usize,
    pub(crate) operation: OperationId,
}

/// All checkers that remember something.
#[derive(Debug)]
pub(crate) struct Checks {
    pub(crate) exclusion: Exclusion,
    pub(crate) validity: Validity,
    pub(crate) loss: Loss,
    pub(crate) progress: Progress,
    pub(crate) tokens: Tokens,
    pub(crate) store: Store,
    pub(crate) guard: Guard,
    pub(crate) waiting: Waiting,
    pub(crate) order: Order,
    pub(crate) detached: Detached,
}

impl Checks {
    pub(crate) fn new(setting: &Setting) -> Self {
        Self {
            exclusion: Exclusion::default(),
            validity: Validity::new(setting),
            loss: Loss::new(setting),
            progress: Progress::new(setting),
            tokens: Tokens::default(),
            store: Store::default(),
            guard: Guard::new(setting.nodes.max(setting.servers())),
            waiting: Waiting::default(),
            order: Order::default(),
            detached: Detached::new(setting),
        }
    }

    /// A request leaves. `is_heard` if all nodes can be asked then.
    pub(crate) fn sent(
        &mut self,
        client: usize,
        (now, at): (Instant, Moment),
        send: &Send,
        is_heard: bool,
    ) {
        self.validity.sent(client, now, at, send);
        self.tokens.sent(client, send);
        self.order.sent(client, at, send, is_heard);
        self.detached.sent(client, now, send);
        self.loss.tries.sent(client, send);
    }

    /// The process is gone, and with it all its guards.
    pub(crate) fn died(&mut self, client: usize) {
        self.exclusion.died(client);
        self.validity.died(client);
        self.loss.died(client);
        self.progress.died(client);
        self.tokens.died(client);
        self.waiting.died(client);
        self.order.died(client);
        self.detached.died(client);
    }
}

/// Seconds for people.
pub(crate) fn seconds(at: Moment) -> String {
    let micros = at.ns() / 1_000;
    format!("{}.{:06} s", micros / 1_000_000, micros % 1_000_000)
}
