//! How much is measured.

use crate::turn;
use std::time::Duration;

/// How long, how often, how many.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    pub(crate) is_quick: bool,
    /// Rounds in which all subjects take turns.
    pub(crate) rounds: usize,
    /// How often it is counted below valgrind, which other load changes little.
    pub(crate) counts: usize,
    /// Cycles of a lone task in a round.
    pub(crate) cycles: usize,
    /// For how long many tasks lock their own keys.
    pub(crate) throughput: Duration,
    /// For how long many contend for one key.
    pub(crate) contention: Duration,
    /// Locks before and after a fault.
    pub(crate) faulty: usize,
    pub(crate) leases: usize,
    /// That one manager holds, where only the nodes are looked at.
    pub(crate) many_leases: usize,
    /// That want nothing.
    pub(crate) clients: usize,
    pub(crate) hold: Duration,
    /// That are locked and released once.
    pub(crate) names: usize,
    pub(crate) wakes: usize,
    /// Other keys that live on the nodes while some expire.
    pub(crate) live_keys: usize,
}

impl Effort {
    pub(crate) const QUICK: Self = Self {
        is_quick: true,
        rounds: 3,
        counts: 1,
        cycles: 500,
        throughput: Duration::from_millis(300),
        contention: Duration::from_millis(1_500),
        faulty: 200,
        leases: 2_000,
        many_leases: 10_000,
        clients: 50,
        hold: Duration::from_secs(5),
        names: 200_000,
        wakes: 6,
        live_keys: 20_000,
    };

    pub(crate) const FULL: Self = Self {
        is_quick: false,
        rounds: 9,
        counts: 6,
        cycles: 2_000,
        throughput: Duration::from_millis(600),
        contention: Duration::from_secs(3),
        faulty: 600,
        leases: 10_000,
        many_leases: 100_000,
        clients: 500,
        hold: Duration::from_secs(10),
        names: 1_000_000,
        wakes: 12,
        live_keys: 100_000,
    };
}

/// The subjects of a round, beginning with another one each time; each when it is its turn.
pub(crate) fn rotated<T>(round: usize, subjects: &[T]) -> impl Iterator<Item = &T> {
    let begin = round % subjects.len().max(1);
    let order = subjects[begin..].iter().chain(&subjects[..begin]);
    order.take_while(|_| turn::comes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_begins_with_another_subject_and_has_all() {
        let order = |round| rotated(round, &[1, 2, 3]).copied().collect::<Vec<_>>();
        assert_eq!(
            [order(0), order(1), order(5)],
            [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
        );
    }
}
