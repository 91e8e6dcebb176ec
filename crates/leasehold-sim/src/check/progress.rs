//! Every operation ends, once and in time, and when the faults are over somebody acquires.

use super::{Property, Violation, seconds};
use crate::{
    setting::{GHOSTS_NS, Setting},
    time::{Moment, SECOND},
};
use leasehold_core::{OperationId, Queue};

/// For how long nodes keep the place of somebody who is gone.
const PLACE_NS: u64 = Queue::LIFE.as_secs() * SECOND;

/// An operation that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    client: usize,
    operation: OperationId,
    /// The acquisition that it is about: itself, or the one whose lease it extends or releases.
    about: OperationId,
}

#[derive(Debug)]
pub(crate) struct Progress {
    open: Vec<Open>,
    /// How long it takes at most from the end of the faults to the next lease.
    pub(crate) bound_ns: u64,
    acquired_at: Moment,
}

impl Progress {
    pub(crate) fn new(setting: &Setting) -> Self {
        // Keys of processes that died, and of others, live for a TTL, and places in queues that nobody gave up for
        // theirs; a clock that was stepped back adds its steps. Then somebody's next try must succeed.
        let place_ns = if setting.waits.fair == 0 { 0 } else { PLACE_NS };
        let longest_ns = setting.longest_life_ns().max(place_ns) + 4 * setting.clocks.step_ns;
        let ghosts_ns = if setting.links.ghosts { GHOSTS_NS } else { 0 };
        let stuck_ns = setting.links.tail_ns + setting.links.detect_ns + ghosts_ns;
        // A node that forgot something may be looked at only when somebody wants to lock again. Those who wait
        // for it look again after a second at most.
        let waits_ns = match setting.quarantine_ns() {
            0 => 0,
            span_ns => span_ns + span_ns / 100 + SECOND,
        };
        Self {
            open: Vec::new(),
            bound_ns: longest_ns
                + stuck_ns
                + 4 * setting.pause_ns.1
                + 2 * setting.habits.idle_ns
                + waits_ns
                + 2 * SECOND,
            acquired_at: Moment::START,
        }
    }

    pub(crate) fn begun(&mut self, client: usize, operation: OperationId, about: OperationId) {
        self.open.push(Open {
            client,
            operation,
            about,
        });
    }

    /// The operation has ended; which acquisition was it about?
    pub(crate) fn ended(
        &mut self,
        client: usize,
        operation: OperationId,
    ) -> Result<OperationId, Violation> {
        let mut open = self.open.iter();
        let at = open.position(|open| open.client == client && open.operation == operation);
        let Some(at) = at else {
            let what = format!("op {} of c{client} ended twice", operation.number());
            return Err(violation(what));
        };
        Ok(self.open.swap_remove(at).about)
    }

    pub(crate) fn died(&mut self, client: usize) {
        self.open.retain(|open| open.client != client);
    }

    pub(crate) fn acquired(&mut self, now: Moment) {
        self.acquired_at = now;
    }

    /// Whether somebody acquired since `since`.
    pub(crate) fn has_acquired_since(&self, since: Moment) -> bool {
        self.acquired_at >= since
    }

    /// Nobody has acquired since `since`, and the time for it is over.
    pub(crate) fn missed(&self, since: Moment, now: Moment) -> Violation {
        violation(format!(
            "nobody acquired from {} to {}, though nothing was wrong any more",
            seconds(since),
            seconds(now)
        ))
    }

    /// All applications have let go a while ago: nothing may be left undone.
    pub(crate) fn nothing_open(&self) -> Result<(), Violation> {
        match self.open.first() {
            None => Ok(()),
            Some(open) => Err(violation(format!(
                "op {} of c{} does not end",
                open.operation.number(),
                open.client
            ))),
        }
    }
}

fn violation(what: String) -> Violation {
    Violation {
        property: Property::Progress,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn what_ends_twice_or_never_is_found() {
        let mut progress = Progress::new(&Setting::draw(&mut Rng::new(1)));
        let id = OperationId::new(3);
        progress.begun(0, id, id);
        assert!(progress.nothing_open().is_err());
        assert_eq!(progress.ended(0, id), Ok(id));
        assert_eq!(progress.nothing_open(), Ok(()));
        assert!(progress.ended(0, id).is_err());
    }
}
