//! The clock by which leases are held.

// The only file that reads clocks and draws entropy.

#[cfg(any(test, feature = "testing"))]
mod timeline;

#[cfg(any(test, feature = "testing"))]
pub(crate) use timeline::{Actor, Timeline, poll_for_caller};

use leasehold_core::{Instant, Seed};
use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

/// The clock that leases are held by: it goes on while the machine is suspended.
///
/// On Linux and Android this is `CLOCK_BOOTTIME`. The usual monotonic clock, which `std::time::Instant`
/// reads, stands still in suspend, while the keys on the nodes go on expiring (assumption [A4](crate::safety#a4)).
///
/// A virtual machine that is paused stops every clock but the wall clock, which is set right when it goes
/// on. So when the wall clock has gone ahead of this one by more than 20 ms, this one jumps after it, and
/// never back: if that was somebody who set the time, leases end early, which is safe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock(Time);

/// Where a clock has the time from.
#[derive(Clone, Copy, Debug, Default)]
enum Time {
    #[default]
    Machine,
    /// From a test.
    #[cfg(any(test, feature = "testing"))]
    Told(&'static Timeline),
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub const fn system() -> Self {
        Self(Time::Machine)
    }

    /// Now.
    #[must_use]
    pub fn now(self) -> Instant {
        match self.0 {
            Time::Machine => {
                let (boot, wall) = (since_boot(), wall());
                PAUSES.time(boot, wall, both)
            }
            #[cfg(any(test, feature = "testing"))]
            Time::Told(timeline) => timeline.now(),
        }
    }

    /// The time since the machine was started, the same for all of its processes: for them to tell each other of
    /// moments. Unlike [`now`](Self::now) it does not count the pauses of a virtual machine.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[must_use]
    pub fn of_the_machine(self) -> Instant {
        since_boot()
    }

    /// What the wall clock would have shown at the origin of the time of which it is `now`.
    pub(crate) fn epoch(self, now: Instant) -> Duration {
        self.wall().saturating_sub(now.since_origin())
    }

    /// Now, as the wall clock has it, as time since 1970. For display only: no lease stands on it.
    #[must_use]
    pub fn wall(self) -> Duration {
        match self.0 {
            Time::Machine => wall(),
            #[cfg(any(test, feature = "testing"))]
            Time::Told(timeline) => timeline.wall(),
        }
    }

    /// Waits; but in a test's time not for ever for what nobody lets come. `what` says what is waited for.
    pub(crate) async fn wait_for<T>(
        self,
        what: impl Fn() -> String,
        work: impl Future<Output = T>,
    ) -> T {
        #[cfg(any(test, feature = "testing"))]
        if let Some(timeline) = self.timeline() {
            return timeline.unless_stuck(what, work).await;
        }
        let _ = what;
        work.await
    }

    /// Whether this time passes by itself.
    pub(crate) const fn passes(self) -> bool {
        matches!(self.0, Time::Machine)
    }
}

#[cfg(any(test, feature = "testing"))]
impl Clock {
    /// A clock of a time of its own, which stands still until somebody lets it pass.
    pub(crate) fn told() -> Self {
        Self(Time::Told(Timeline::leak()))
    }

    /// The time, if it is a test's.
    pub(crate) const fn timeline(self) -> Option<&'static Timeline> {
        match self.0 {
            Time::Machine => None,
            Time::Told(timeline) => Some(timeline),
        }
    }
}

/// The pauses of the machine that this process has lived through.
static PAUSES: Pauses = Pauses::new();

/// What the wall clock tells of time in which every other clock stood still.
#[derive(Debug)]
struct Pauses {
    /// How far the wall clock has gone ahead of the other while nobody could see it.
    skipped_ns: AtomicU64,
    /// By how much the wall clock was ahead of the other when last seen; `i64::MIN` before.
    ahead_ns: AtomicI64,
}

/// Clocks that are slewed differ by less than this between two looks while a lease is held.
const TOLERANCE_NS: i64 = 20_000_000;

/// Clocks that are read within this time are read at the same moment.
const AT_ONCE_NS: u64 = 1_000_000;

/// Both clocks at the same moment, to a millisecond; without the wall clock, if this thread was
/// interrupted again and again.
fn both() -> (Instant, Option<Duration>) {
    let mut before = since_boot();
    for _ in 0..4 {
        let wall = wall();
        let after = since_boot();
        if after.saturating_since(before) < Duration::from_nanos(AT_ONCE_NS) {
            return (after, Some(wall));
        }
        before = after;
    }
    (before, None)
}

fn ahead(wall: Duration, boot: Instant) -> i64 {
    let nanos = |time: Instant| i64::try_from(time.nanos()).unwrap_or(i64::MAX);
    nanos(Instant::from_origin(wall)).saturating_sub(nanos(boot))
}

impl Pauses {
    const fn new() -> Self {
        Self {
            skipped_ns: AtomicU64::new(0),
            ahead_ns: AtomicI64::new(i64::MIN),
        }
    }

    /// The time by both clocks, which were read one after the other. Where that shows that the wall clock was set, or
    /// that this thread was interrupted in between, `again` reads them so that it can be told which: seldom.
    fn time(
        &self,
        boot: Instant,
        wall: Duration,
        again: impl FnOnce() -> (Instant, Option<Duration>),
    ) -> Instant {
        let ahead_ns = ahead(wall, boot);
        let gained_ns = ahead_ns.saturating_sub(self.ahead_ns.load(Ordering::Acquire));
        if gained_ns.unsigned_abs() < AT_ONCE_NS {
            self.ahead_ns.store(ahead_ns, Ordering::Release);
            return self.counted(boot);
        }
        let (boot, wall) = again();
        self.now(boot, wall)
    }

    /// The time by both clocks, of which the wall clock may not be known.
    fn now(&self, boot: Instant, wall: Option<Duration>) -> Instant {
        if let Some(wall) = wall {
            self.notice(ahead(wall, boot));
        }
        self.counted(boot)
    }

    /// With the pauses of which note was taken.
    fn counted(&self, boot: Instant) -> Instant {
        // Argument S6: no clock of the process counted the pause, but the nodes' did.
        let skipped_ns = self.skipped_ns.load(Ordering::Acquire);
        Instant::from_nanos(boot.nanos().saturating_add(skipped_ns))
    }

    /// Takes note of how far the wall clock is ahead now.
    fn notice(&self, ahead_ns: i64) {
        // The jump is counted first and noted then: a thread that finds it noted finds it counted. Two threads
        // that look at the same moment may count one jump twice, which is safe as well.
        let before_ns = self.ahead_ns.load(Ordering::Acquire);
        let gained_ns = ahead_ns.saturating_sub(before_ns);
        if before_ns != i64::MIN && gained_ns > TOLERANCE_NS {
            self.skipped_ns
                .fetch_add(gained_ns.unsigned_abs(), Ordering::AcqRel);
        }
        self.ahead_ns.store(ahead_ns, Ordering::Release);
    }
}

/// As the standard library's clock has it, without what that checks.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn wall() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    // Before 1970 there is no time.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn wall() -> Duration {
    use std::time::{SystemTime, UNIX_EPOCH};
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the file that reads the wall clock"
    )]
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// Whether the runtime that runs here goes by the machine's time: in tests its own may be paused.
pub(crate) fn is_time_of_the_runtime() -> bool {
    let (theirs, ours) = (tokio::time::Instant::now(), since_boot());
    while since_boot() == ours {}
    tokio::time::Instant::now() > theirs
}

/// Draws a seed from the operating system.
///
/// # Panics
/// If the operating system has no entropy to give, in which case no owner could be told from another.
#[must_use]
pub(crate) fn seed() -> Seed {
    let mut bytes = [0; Seed::LENGTH];
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the file that draws entropy"
    )]
    getrandom::fill(&mut bytes).expect("the operating system has a source of randomness");
    Seed::new(bytes)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn since_boot() -> Instant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = time.tv_sec.unsigned_abs().saturating_mul(1_000_000_000);
    Instant::from_nanos(seconds.saturating_add(time.tv_nsec.unsigned_abs()))
}

/// Elsewhere the standard clock has to do; where it stands still in suspend, a lease outlives its keys
/// by the time slept.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn since_boot() -> Instant {
    use std::sync::LazyLock;
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the file that reads the clock"
    )]
    static ORIGIN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    Instant::from_origin(ORIGIN.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use leasehold_servers::{ahead_since_boot, skip};
    #[cfg(target_os = "linux")]
    use std::io::{Write, stdout};

    #[test]
    fn the_clock_does_not_go_back() {
        let clock = Clock::system();
        let first = clock.now();
        assert!(clock.now() >= first);
    }

    /// Tells another process of this test what the clock shows; nothing when a person runs it.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_reading_for_another_process() {
        if std::env::var_os("LEASEHOLD_READING").is_some() {
            let clock = Clock::system();
            let readings = [clock.of_the_machine(), clock.now(), clock.of_the_machine()];
            let readings = readings.map(|reading| reading.since_origin().as_nanos());
            let [first, own, last] = readings;
            writeln!(stdout(), "\nreading {first} {own} {last}").expect("a pipe");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_clock_is_the_one_that_counts_through_suspend() {
        // Assumption A4. Suspend moves CLOCK_BOOTTIME and leaves CLOCK_MONOTONIC where it is, and so does this
        // namespace.
        let program = std::env::current_exe().expect("the test runs");
        let mut command = match ahead_since_boot(1_000_000, program) {
            Ok(command) => command,
            Err(reason) => return skip(&reason),
        };
        let name = "clock::tests::a_reading_for_another_process";
        command.args(["--exact", name, "--nocapture"]);
        command.env("LEASEHOLD_READING", "1");
        let reading = || Clock::system().of_the_machine().since_origin().as_nanos();
        let before = reading();
        let seen = command.output().expect("it could be run a moment ago");
        let after = reading();
        let seen = String::from_utf8(seen.stdout).expect("it is text");
        let told = seen.lines().find_map(|line| line.strip_prefix("reading "));
        let told = told.unwrap_or_else(|| panic!("no reading in {seen:?}"));
        let told = told
            .split(' ')
            .map(|number| number.parse().expect("a number"));
        let ahead = Duration::from_secs(1_000_000).as_nanos();
        let all: Vec<u128> = [before + ahead]
            .into_iter()
            .chain(told)
            .chain([after + ahead])
            .collect();
        assert!(all.len() == 5 && all.is_sorted(), "{all:?}");
    }

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::from_origin(ms(millis))
    }

    /// Each row: the usual clock, the wall clock, what both come to, all in milliseconds.
    fn readings(rows: &[(u64, u64, u64)]) {
        let pauses = Pauses::new();
        for &(boot, wall, now) in rows {
            let wall = Some(ms(wall)).filter(|wall| !wall.is_zero());
            assert_eq!(pauses.now(at(boot), wall), at(now), "at {boot} ms");
        }
    }

    #[test]
    fn a_pause_of_the_machine_is_counted_and_stays_counted() {
        // Three seconds pass, of which the usual clock sees ten milliseconds.
        readings(&[
            (1_000, 50_000, 1_000),
            (1_010, 53_000, 3_990 + 10),
            (1_020, 53_010, 3_990 + 20),
            // A second one.
            (1_030, 54_010, 3_990 + 990 + 30),
        ]);
    }

    #[test]
    fn a_wall_clock_that_is_set_back_moves_nothing() {
        readings(&[
            (1_000, 50_000, 1_000),
            (1_010, 20_000, 1_010),
            (1_020, 20_010, 1_020),
        ]);
    }

    #[test]
    fn a_wall_clock_that_is_ahead_from_the_start_or_slewed_moves_nothing() {
        readings(&[(1_000, 1_700_000_000_000, 1_000)]);
        readings(&[
            (1_000, 50_000, 1_000),
            (1_100, 50_120, 1_100),
            (1_200, 50_240, 1_200),
            (1_300, 50_360, 1_300),
        ]);
    }

    #[test]
    fn a_pause_is_counted_by_the_next_look_at_the_wall_clock() {
        // No wall clock: the thread was interrupted again and again.
        readings(&[
            (1_000, 50_000, 1_000),
            (1_010, 0, 1_010),
            (1_020, 53_020, 4_020),
        ]);
    }

    #[test]
    fn a_thread_that_is_interrupted_between_two_clocks_has_seen_no_pause() {
        let pauses = Pauses::new();
        let both = |boot, wall| move || (at(boot), Some(ms(wall)));
        let time = pauses.time(at(1_000), ms(50_000), both(1_000, 50_000));
        assert_eq!(time, at(1_000));
        // 30 ms passed between the first and the second.
        let time = pauses.time(at(1_010), ms(50_040), both(1_041, 50_041));
        assert_eq!(time, at(1_041));
        // The machine was paused for three seconds between them.
        let time = pauses.time(at(1_050), ms(53_050), both(1_051, 53_051));
        assert_eq!(time, at(4_051));
    }

    #[test]
    fn clocks_that_agree_are_read_once() {
        let pauses = Pauses::new();
        pauses.now(at(1_000), Some(ms(50_000)));
        let again = || panic!("they agree");
        assert_eq!(pauses.time(at(1_010), ms(50_010), again), at(1_010));
    }

    #[test]
    fn two_seeds_differ() {
        assert_ne!(seed(), seed());
    }
}
