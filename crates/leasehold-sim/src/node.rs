//! One node: the production table, and what may happen to the machine that it is on.

use crate::{clock::Clock, rng::Rng, time::Moment};
use leasehold_core::{
    Fault, FaultKind, Instant, Refusal, Request, Resource, Table, Vote, table::Key,
};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) table: Table,
    pub(crate) clock: Clock,
    /// What a snapshot or a lagging replica has.
    pub(crate) snapshot: Table,
    pub(crate) is_up: bool,
    /// Requests wait until then.
    pub(crate) hung_until: Moment,
    /// Requests are refused by the server, not by the lock, until then.
    pub(crate) rejects_until: Moment,
    /// Under this name stands a key of another type.
    pub(crate) foreign_type: Option<Resource>,
}

impl Node {
    pub(crate) fn new(rng: &mut Rng, drift_ppm: i64) -> Self {
        // Far from every other clock, so that a reading of the wrong one shows.
        let reading_ns = rng.between(1 << 40, 1 << 50);
        Self {
            table: Table::new(),
            clock: Clock::new(reading_ns, drift_ppm),
            snapshot: Table::new(),
            is_up: true,
            hung_until: Moment::START,
            rejects_until: Moment::START,
            foreign_type: None,
        }
    }

    /// What the node takes for the time: whole milliseconds, as Redis does.
    pub(crate) fn time(&self, now: Moment) -> Instant {
        let millis = self.clock.read_ns(now) / 1_000_000;
        Instant::from_origin(Duration::from_millis(millis))
    }

    pub(crate) fn execute(&mut self, now: Moment, request: &Request) -> Vote {
        if now < self.rejects_until {
            return Vote::Unknown(Fault::new(FaultKind::Rejected, "out of memory"));
        }
        if self.foreign_type.as_ref() == Some(request.resource()) {
            return Vote::Refused(Refusal::default());
        }
        self.table.apply(self.time(now), request)
    }

    pub(crate) fn key(&self, now: Moment, resource: &Resource) -> Option<&Key> {
        self.table.key(self.time(now), resource)
    }

    /// Deletes the key without asking whose it is.
    pub(crate) fn delete(&mut self, now: Moment, resource: &Resource) {
        let Some(owner) = self.key(now, resource).map(|key| key.owner.clone()) else {
            return;
        };
        let resource = resource.clone();
        let time = self.time(now);
        let release = Request::Release {
            resource,
            owner,
            keep: None,
        };
        self.table.apply(time, &release);
    }
}
