//! Time, chance and what is planned, and the clients.

use super::client::SmallClient;
use crate::{
    check::{Property, Violation, exclusion::Exclusion},
    rng::Rng,
    small::Rhythm,
    time::Moment,
    trace::Trace,
    world::Report,
};
use std::collections::BTreeMap;

/// Time, chance, what is planned, and the clients.
#[derive(Debug)]
pub(crate) struct Stage<E, W> {
    pub(crate) now: Moment,
    planned: BTreeMap<(Moment, u64), Happening<E>>,
    /// How many events were ever planned.
    plans: u64,
    events: u64,
    pub(crate) rng: Rng,
    trace: Trace,
    pub(crate) clients: Vec<SmallClient<W>>,
    pub(super) rhythm: Rhythm,
    pub(super) exclusion: Exclusion,
    pub(super) leases: u64,
    /// Whether somebody has acquired since the faults were over.
    pub(super) has_recovered: bool,
    pub(crate) is_healed: bool,
    pub(super) violation: Option<Violation>,
}

/// Something that happens at a moment.
#[derive(Debug)]
pub(crate) enum Happening<E> {
    /// What happens in this world alone.
    Own(E),
    /// A timer of a client's engine.
    Wake {
        client: usize,
    },
    /// A client's application does the next thing.
    Act {
        client: usize,
        ticket: u32,
    },
    Fault,
    /// The faults are over.
    Heal,
    End,
}

impl<E, W> Stage<E, W> {
    pub(crate) fn new(
        clients: Vec<SmallClient<W>>,
        rhythm: Rhythm,
        (rng, trace): (Rng, Trace),
    ) -> Self {
        Self {
            now: Moment::START,
            planned: BTreeMap::new(),
            plans: 0,
            events: 0,
            rng,
            trace,
            clients,
            rhythm,
            exclusion: Exclusion::default(),
            leases: 0,
            has_recovered: false,
            is_healed: false,
            violation: None,
        }
    }

    /// Plans the faults, and their end.
    pub(crate) fn begin(&mut self) {
        let Rhythm {
            calm_ns,
            faults_ns,
            recovery_ns,
            ..
        } = self.rhythm;
        self.plan_common(calm_ns, Happening::Fault);
        self.plan_common(faults_ns, Happening::Heal);
        self.plan_common(faults_ns + recovery_ns, Happening::End);
    }

    pub(super) fn plan_fault(&mut self) {
        let calm_ns = self.rhythm.calm_ns;
        let after_ns = self.rng.between(calm_ns / 4, calm_ns * 3 / 2);
        self.plan_common(after_ns, Happening::Fault);
    }

    pub(crate) fn plan(&mut self, after_ns: u64, event: E) {
        self.plan_common(after_ns, Happening::Own(event));
    }

    pub(super) fn plan_common(&mut self, after_ns: u64, event: Happening<E>) {
        let at = self.now.after(after_ns);
        // Events of one moment happen in the order in which they were planned.
        self.plans += 1;
        self.planned.insert((at, self.plans), event);
    }

    /// What happens next; nothing after a violation.
    pub(super) fn next(&mut self) -> Option<Happening<E>> {
        if self.violation.is_some() {
            return None;
        }
        let ((at, _), event) = self.planned.pop_first()?;
        self.now = at;
        self.events += 1;
        Some(event)
    }

    pub(crate) fn tell(&mut self, line: impl FnOnce() -> String) {
        self.trace.tell(self.now, line);
    }

    pub(crate) fn violate(&mut self, property: Property, what: String) {
        self.violation.get_or_insert(Violation { property, what });
    }

    /// What became of the run, with the violation that was found.
    pub(super) fn finish(&mut self) -> Report {
        if let Some(Violation { property, what }) = self.violation.clone() {
            self.tell(|| format!("VIOLATION    {property:?}: {what}"));
        }
        let violation = self.violation.take();
        self.report(violation)
    }

    /// What became of the run.
    pub(crate) fn report(&self, violation: Option<Violation>) -> Report {
        Report {
            events: self.events,
            leases: self.leases,
            violation: violation.map(|violation| (self.now, violation)),
        }
    }
}
