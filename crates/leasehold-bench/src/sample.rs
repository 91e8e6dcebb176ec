//! Many measurements of one thing, and what is said of them.

use std::time::Duration;

/// Times, in no order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    times: Vec<Duration>,
    is_sorted: bool,
}

impl Sample {
    pub(crate) fn push(&mut self, time: Duration) {
        self.times.push(time);
        self.is_sorted = false;
    }

    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Duration> {
        self.times.iter().copied()
    }

    /// The smallest time that `share` of all do not exceed, in microseconds. Not a number if there is none.
    pub(crate) fn percentile(&mut self, share: f64) -> f64 {
        if !self.is_sorted {
            self.times.sort_unstable();
            self.is_sorted = true;
        }
        let rank = (share * self.times.len() as f64).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number between 0 and the length"
        )]
        let place = (rank as usize).saturating_sub(1);
        self.times.get(place).map_or(f64::NAN, micros)
    }

    /// In microseconds.
    pub(crate) fn mean(&self) -> f64 {
        let sum: Duration = self.times.iter().sum();
        micros(&sum) / self.times.len() as f64
    }

    /// In microseconds.
    pub(crate) fn max(&self) -> f64 {
        self.times.iter().max().map_or(f64::NAN, micros)
    }
}

impl Extend<Duration> for Sample {
    fn extend<I: IntoIterator<Item = Duration>>(&mut self, times: I) {
        times.into_iter().for_each(|time| self.push(time));
    }
}

impl FromIterator<Duration> for Sample {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        let mut sample = Self::default();
        sample.extend(times);
        sample
    }
}

fn micros(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// How evenly something was shared out: 1 if all got the same, 1/n if one of n got everything.
pub(crate) fn jain(shares: &[u64]) -> f64 {
    let shares = || shares.iter().map(|&share| share as f64);
    let (sum, squares): (f64, f64) = (shares().sum(), shares().map(|share| share * share).sum());
    sum * sum / (shares().count() as f64 * squares)
}

/// The same figure in several rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// Where the median would be if there were rounds without end, as surely as [`confidence`] says.
    pub(crate) bound: (f64, f64),
}

impl Spread {
    /// Of the values that are numbers. None if there is none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values
            .into_iter()
            .filter(|value| value.is_finite())
            .collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let (middle, last) = (values.len() / 2, values.len() - 1);
        let median = match values.len() % 2 {
            0 => f64::midpoint(values[middle - 1], values[middle]),
            _ => values[middle],
        };
        let outside = outside(values.len());
        Some(Self {
            median,
            least,
            most,
            bound: (values[outside], values[last - outside]),
        })
    }
}

/// How many of so many values lie on each side outside of the bound: as many as can be with a confidence of 95 %, and none
/// if that cannot be had.
fn outside(count: usize) -> usize {
    let enough = |outside: &usize| coverage(count, *outside) >= 0.95;
    (0..count / 2).take_while(enough).last().unwrap_or(0)
}

/// How surely the true median lies within the bound of so many rounds.
pub(crate) fn confidence(rounds: usize) -> f64 {
    coverage(rounds, outside(rounds))
}

/// How surely the true median lies between two of so many values, if so many are outside of them on each side. Each value
/// is above or below it as a coin falls, whatever they are distributed like.
fn coverage(count: usize, outside: usize) -> f64 {
    let (mut ways, mut sum) = (1.0, 0.0);
    for below in 0..=outside {
        sum += ways;
        ways *= (count - below) as f64 / (below + 1) as f64;
    }
    1.0 - sum / 2.0_f64.powf(count as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let mut sample: Sample = (1..=200).rev().map(Duration::from_micros).collect();
        let found = [0.0, 0.5, 0.99, 1.0].map(|share| sample.percentile(share));
        assert_eq!(found.map(f64::round), [1.0, 100.0, 198.0, 200.0]);
        assert_eq!((sample.mean(), sample.max().round()), (100.5, 200.0));
        sample.push(Duration::from_millis(1));
        assert_eq!(sample.percentile(1.0).round(), 1000.0);
        assert!(Sample::default().percentile(0.5).is_nan());
    }

    #[test]
    fn jain_is_one_for_equals_and_one_nth_for_a_glutton() {
        assert_eq!(jain(&[7, 7, 7, 7]), 1.0);
        assert_eq!(jain(&[9, 0, 0]), 1.0 / 3.0);
        assert!((jain(&[1, 2, 3]) - 36.0 / 42.0).abs() < 1e-12);
        assert!(jain(&[0, 0]).is_nan());
    }

    #[test]
    fn the_median_lies_between_the_extremes_and_ignores_what_is_no_number() {
        let spread = Spread::of([3.0, f64::NAN, 1.0, 10.0]).unwrap();
        assert_eq!((spread.least, spread.median, spread.most), (1.0, 3.0, 10.0));
        assert_eq!(Spread::of([2.0, 4.0]).unwrap().median, 3.0);
        assert_eq!(Spread::of([f64::INFINITY]), None);
    }

    #[test]
    fn a_bound_leaves_out_as_many_as_its_confidence_allows() {
        let bound = |count: u32| Spread::of((1..=count).map(f64::from)).unwrap().bound;
        assert_eq!([1, 3, 5].map(bound), [(1.0, 1.0), (1.0, 3.0), (1.0, 5.0)]);
        assert_eq!([9, 12].map(bound), [(2.0, 8.0), (3.0, 10.0)]);
        // 2 of the 8 ways in which three coins fall are all on one side, and 20 of 512 have one of nine at most.
        assert_eq!([1, 3, 9].map(confidence), [0.0, 0.75, 1.0 - 20.0 / 512.0]);
    }
}
