//! What must be true in every world, one property per file.
//!
//! The checkers see true time and all clocks at once, and recompute what the engine decided from the
//! messages alone, by the book and not by the core's arithmetic.

use crate::{setting::Setting, time::Moment};
use leasehold_core::{Instant, OperationId, Send};

pub(crate) mod exclusion;
pub(crate) mod leftovers;
pub(crate) mod loss;
pub(crate) mod progress;
pub(crate) mod validity;

use exclusion::Exclusion;
use loss::Loss;
use progress::Progress;
use validity::Validity;

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
    /// No guard is valid for longer than the votes that it stands on.
    Validity,
    /// No key outlives its TTL, and none that could be taken back is left.
    Leftovers,
    /// The holder is told of a loss in time, and of no other.
    Loss,
    /// Operations end, and once the faults are over somebody acquires.
    Progress,
    /// The engine's own assertions.
    Assertion,
}

impl Property {
    pub(crate) fn find(name: &str) -> Option<Self> {
        let all = [
            ("exclusion", Self::Exclusion),
            ("validity", Self::Validity),
            ("leftovers", Self::Leftovers),
            ("loss", Self::Loss),
            ("progress", Self::Progress),
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
}

impl Checks {
    pub(crate) fn new(setting: &Setting) -> Self {
        Self {
            exclusion: Exclusion::default(),
            validity: Validity::new(setting),
            loss: Loss::new(setting),
            progress: Progress::new(setting),
        }
    }

    pub(crate) fn sent(&mut self, client: usize, now: Instant, send: &Send) {
        self.validity.sent(client, now, send);
    }

    /// The process is gone, and with it all its guards.
    pub(crate) fn died(&mut self, client: usize) {
        self.exclusion.died(client);
        self.validity.died(client);
        self.loss.died(client);
        self.progress.died(client);
    }
}

/// Seconds for people.
pub(crate) fn seconds(at: Moment) -> String {
    let micros = at.ns() / 1_000;
    format!("{}.{:06} s", micros / 1_000_000, micros % 1_000_000)
}
