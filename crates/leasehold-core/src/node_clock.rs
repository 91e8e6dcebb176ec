//! The clocks of the nodes, as far as their answers tell.
//!
//! A node counts TTLs by its wall clock. If that is set forward, keys end early, and nobody is told. But every
//! answer carries the node's time, so a step shows with the next answer at the latest.

use crate::{time::Instant, timing::Drift};
use core::time::Duration;

/// A node's clock, read while a request was with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "links make it, field by field")]
pub struct Reading {
    /// What the node's clock showed, since an origin of its own.
    pub node: Duration,
    /// Before the request had left, by our clock.
    pub asked: Instant,
}

/// A node's clock that was set while we looked elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there are two directions")]
pub enum ClockStep {
    /// Forward, by at least so much.
    Forward(Duration),
    /// Back, by at least so much.
    Back(Duration),
}

/// What is known of one node's clock: by how much it is ahead of ours, between two bounds, in nanoseconds.
#[derive(Clone, Debug, Default, Hash)]
pub struct NodeClock {
    bounds: Option<(i64, i64)>,
    read: Option<Instant>,
}

impl NodeClock {
    /// Takes a reading that came in at `now`; says whether the clock has been set since the one before.
    /// `rate` is how far clocks may drift apart.
    pub fn read(&mut self, now: Instant, reading: Reading, rate: Drift) -> Option<ClockStep> {
        // The node read its clock after the request had left and before its answer was here.
        let theirs = nanos(reading.node);
        let ahead_of = |ours: Instant| theirs.saturating_sub(word(ours.nanos()));
        let drifted = |since: Instant| {
            let span = now.nanos().saturating_sub(since.nanos());
            word(rate.share_of_nanos(span))
        };
        let (low, high) = (
            ahead_of(now).saturating_sub(COARSE),
            ahead_of(reading.asked)
                .saturating_add(COARSE)
                // If it read its clock that long ago, the clocks may have drifted apart since.
                .saturating_add(drifted(reading.asked)),
        );
        let before = self.bounds.replace((low, high));
        let then = self.read.replace(now);
        let (before, then) = before.zip(then)?;
        // Clocks that run at different speeds drift apart (assumption A1). Nothing is allowed on top for each
        // reading: with many readings, that would let a clock run away unseen.
        let allowed = drifted(then);
        let (before_low, before_high) = (
            before.0.saturating_sub(allowed),
            before.1.saturating_add(allowed),
        );
        if low > before_high {
            // Only so much is certain now; what a quicker answer shows beyond it is told then.
            self.bounds = Some((low, low));
            return Some(ClockStep::Forward(span(low.saturating_sub(before_high))));
        }
        if high < before_low {
            return Some(ClockStep::Back(span(before_low.saturating_sub(high))));
        }
        self.bounds = Some((low.max(before_low), high.min(before_high)));
        None
    }
}

/// By how much a reading may be off: some nodes tell whole milliseconds.
const COARSE: i64 = 1_000_000;

fn nanos(span: Duration) -> i64 {
    word(Instant::from_origin(span).nanos())
}

/// Beyond 292 years all is one.
fn word(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

fn span(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// Each row: when the request left, when the answer was here, what the node's clock showed, all in
    /// milliseconds.
    fn story(rows: &[(u64, u64, u64, Option<ClockStep>)]) {
        let mut clock = NodeClock::default();
        for &(asked, now, node, expected) in rows {
            let reading = Reading {
                node: ms(node),
                asked: Instant::from_origin(ms(asked)),
            };
            let step = clock.read(Instant::from_origin(ms(now)), reading, Drift::DEFAULT);
            assert_eq!(step, expected, "at {now} ms");
        }
    }

    #[test]
    fn a_clock_that_runs_with_ours_is_not_set() {
        story(&[
            (0, 10, 5_005, None),
            (1_000, 1_004, 6_002, None),
            // A slow answer may have been read at any time.
            (2_000, 2_500, 7_499, None),
            (3_000, 3_010, 8_010, None),
        ]);
    }

    #[test]
    fn a_step_is_seen_by_as_much_as_is_certain() {
        story(&[
            (0, 10, 5_005, None),
            // 1 % of the time between and 2 ms are allowed, and the answer of 10 ms is not exact.
            (1_000, 1_010, 6_105, Some(ClockStep::Forward(us(77_900)))),
            (1_100, 1_110, 6_205, None),
            (1_200, 1_210, 5_300, Some(ClockStep::Back(us(991_900)))),
        ]);
    }

    #[test]
    fn what_a_slow_answer_left_open_of_a_step_is_told_with_the_next_quick_one() {
        story(&[
            (0, 0, 5_000, None),
            (100, 400, 5_500, Some(ClockStep::Forward(ms(94)))),
            (400, 400, 5_700, Some(ClockStep::Forward(ms(200)))),
        ]);
    }

    #[test]
    fn a_clock_that_runs_away_is_seen_however_often_it_is_read() {
        let mut clock = NodeClock::default();
        // A tenth too fast, read every 10 ms: by 1 ms each time.
        let steps = (0..100).filter_map(|number| {
            let (ours, node) = (ms(number * 10), ms(number * 11));
            let now = Instant::from_origin(ours);
            clock.read(now, Reading { node, asked: now }, Drift::DEFAULT)
        });
        let seen: Duration = steps
            .map(|step| match step {
                ClockStep::Forward(by) | ClockStep::Back(by) => by,
            })
            .sum();
        assert!(seen >= ms(80), "{seen:?} of 99 ms");
    }

    #[test]
    fn what_was_known_exactly_is_not_forgotten_for_a_slow_answer() {
        story(&[
            (0, 1, 5_000, None),
            (10, 400, 5_200, None),
            (410, 411, 5_450, Some(ClockStep::Forward(us(32_890)))),
        ]);
    }

    #[test]
    fn a_clock_that_drifts_while_an_answer_is_on_its_way_is_not_set() {
        // It is fast by nearly 1 %, and was read when the request had just left.
        story(&[(0, 10_000, 5_000, None), (10_000, 10_001, 15_099, None)]);
    }
}
