//! Many seeds, on as many threads as are worth it.

use crate::{
    check::{Property, Violation},
    clusters::Clustered,
    group::Grouped,
    scenario::{Law, Scenario},
    small::SmallWorld,
    time::Moment,
    trace::Trace,
    world::{Report, World},
};
use std::{
    cell::Cell,
    num::NonZeroUsize,
    panic::{self, AssertUnwindSafe},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// What many seeds of one scenario came to.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) seeds: u64,
    pub(crate) events: u64,
    pub(crate) leases: u64,
    /// The seeds with a violation, and the violations.
    pub(crate) violations: Vec<(u64, Moment, Violation)>,
    pub(crate) took: Duration,
}

impl Summary {
    fn add(&mut self, seed: u64, report: Report) {
        self.seeds += 1;
        self.events += report.events;
        self.leases += report.leases;
        if let Some((at, violation)) = report.violation {
            self.violations.push((seed, at, violation));
        }
    }

    /// How many seeds violated this.
    pub(crate) fn count(&self, property: Property) -> usize {
        let of_it = |(_, _, violation): &&(u64, Moment, Violation)| violation.property == property;
        self.violations.iter().filter(of_it).count()
    }

    /// Whether what was found is what must be found.
    pub(crate) fn is_as_it_must_be(&self, law: Law) -> bool {
        match law {
            // A world in which nobody ever holds anything proves nothing.
            Law::Kept | Law::Fenced => self.violations.is_empty() && self.leases > 0,
            Law::Broken(property) => self.count(property) > 0,
        }
    }
}

/// Runs the seeds from `from` on, and tells from time to time how many are done.
pub(crate) fn run(
    scenario: &'static Scenario,
    from: u64,
    count: u64,
    only: Option<Property>,
    mut progress: impl FnMut(u64),
) -> Summary {
    let begun = stopwatch();
    let mut total = Summary::default();
    while total.seeds < count {
        let chunk = CHUNK.min(count - total.seeds);
        total.merge(run_chunk(
            scenario,
            from.wrapping_add(total.seeds),
            chunk,
            only,
        ));
        progress(total.seeds);
    }
    total.violations.sort_by_key(|(seed, ..)| *seed);
    total.took = begun.elapsed();
    total
}

fn run_chunk(
    scenario: &'static Scenario,
    from: u64,
    count: u64,
    only: Option<Property>,
) -> Summary {
    let next = AtomicU64::new(0);
    let total = Mutex::new(Summary::default());
    thread::scope(|scope| {
        for _ in 0..threads() {
            scope.spawn(|| {
                let mut mine = Summary::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let seed = from.wrapping_add(number);
                    mine.add(seed, one(scenario, seed, only, Trace::Off));
                }
                let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                total.merge(mine);
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// How many seeds go by between two words about the progress.
const CHUNK: u64 = 10_000;

impl Summary {
    fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.events += other.events;
        self.leases += other.leases;
        self.violations.extend(other.violations);
    }
}

thread_local! {
    /// Whether a panic of this thread is told as a violation.
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Panics of the engine are told in the table, with their seeds; others where they happen.
pub(crate) fn quieten_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !IS_CAUGHT.get() {
            usual(info);
        }
    }));
}

/// Runs one seed. An assertion that fails in the engine is a violation like any other.
pub(crate) fn one(
    scenario: &'static Scenario,
    seed: u64,
    only: Option<Property>,
    trace: Trace,
) -> Report {
    let (setting, rng) = scenario.draw(seed);
    if let Some(group) = setting.group {
        return small(Grouped::new(group, rng, trace), only);
    }
    if let Some(clusters) = setting.clusters {
        return small(Clustered::new(clusters, rng, trace), only);
    }
    let mut world = World::new(scenario, seed, trace);
    world.only = only.or(world.only);
    IS_CAUGHT.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(|| world.run()));
    IS_CAUGHT.set(false);
    result.unwrap_or_else(|payload| {
        let violation = Violation {
            property: Property::Assertion,
            what: words(payload.as_ref()),
        };
        // Who asks for one property wants to hear of no other.
        let violation = Some((world.now, violation)).filter(|_| only.is_none());
        Report {
            events: world.queue.taken(),
            leases: world.leases,
            violation,
        }
    })
}

/// As [`one`], of a smaller world.
fn small<E, W>(mut world: impl SmallWorld<E, W>, only: Option<Property>) -> Report {
    IS_CAUGHT.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(|| world.run()));
    IS_CAUGHT.set(false);
    let mut report = result.unwrap_or_else(|payload| {
        let what = words(payload.as_ref());
        let property = Property::Assertion;
        let violation = Some(Violation { property, what });
        world.stage().report(violation)
    });
    report.violation = report
        .violation
        .filter(|(_, violation)| only.is_none_or(|only| violation.property.belongs_to(only)));
    report
}

/// What a panic said.
fn words(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let what = text.or_else(|| payload.downcast_ref::<&str>().copied());
    what.unwrap_or("a panic without words").to_owned()
}

/// The only place where real time is read: how fast the worlds go by, never what happens in them.
fn stopwatch() -> std::time::Instant {
    #[expect(
        clippy::disallowed_methods,
        reason = "a measurement, told and not acted upon"
    )]
    std::time::Instant::now()
}
