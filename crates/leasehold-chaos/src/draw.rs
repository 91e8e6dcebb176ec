//! Chance that a seed decides: splitmix64.

use std::{
    ops::{Range, RangeInclusive},
    time::Duration,
};

/// A stream of draws.
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for each `name` under the same seed, whatever the others draw.
    pub(crate) fn named(seed: u64, name: &str) -> Self {
        let mut draw = Self::new(seed);
        for byte in name.bytes() {
            draw = Self::new(draw.next() ^ u64::from(byte));
        }
        draw
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let scaled = (u128::from(self.next()) * end as u128) >> 64;
        usize::try_from(scaled).unwrap_or(0)
    }

    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A time in this range, in steps of a microsecond.
    pub(crate) fn time(&mut self, range: &Range<Duration>) -> Duration {
        let span = range.end.saturating_sub(range.start).as_micros();
        let micros = self.below(usize::try_from(span).unwrap_or(usize::MAX));
        range.start + Duration::from_micros(micros as u64)
    }

    /// A time in this range of percents of `whole`.
    pub(crate) fn share(&mut self, whole: Duration, percents: Range<u32>) -> Duration {
        let part = |percent: u32| whole * percent / 100;
        self.time(&(part(percents.start)..part(percents.end)))
    }

    /// Some of the numbers below `of`: how many, lies in `count`; in random order.
    pub(crate) fn some(&mut self, count: RangeInclusive<usize>, of: usize) -> Vec<usize> {
        let (least, most) = (*count.start(), (*count.end()).min(of));
        let wanted = least + self.below(most.saturating_sub(least) + 1);
        let mut all: Vec<usize> = (0..of).collect();
        let mut chosen = Vec::new();
        while chosen.len() < wanted && !all.is_empty() {
            chosen.push(all.swap_remove(self.below(all.len())));
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_name_decide_the_stream() {
        let draw = |seed, name| -> Vec<u64> {
            let mut draw = Draw::named(seed, name);
            (0..4).map(|_| draw.next()).collect()
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn some_are_different_ones_and_as_many_as_asked_for() {
        let mut draw = Draw::new(7);
        let mut counts = [0; 4];
        for _ in 0..200 {
            let mut some = draw.some(1..=9, 3);
            counts[some.len()] += 1;
            some.sort_unstable();
            some.dedup();
            counts[0] += usize::from(some.len() > 3);
        }
        assert!(counts[0] == 0 && counts[1..].iter().all(|&count| count > 20));
    }
}
