//! How long each test takes, seen from outside.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

/// The tests of one program, which runs so many at once: in the order of its list, the next when one has ended.
#[derive(Debug)]
pub(super) struct Stopwatch {
    waiting: VecDeque<String>,
    running: HashMap<String, Instant>,
    taken: Vec<(String, Duration)>,
}

impl Stopwatch {
    pub(super) fn start(now: Instant, tests: Vec<String>, at_once: usize) -> Self {
        let mut this = Self {
            waiting: tests.into(),
            running: HashMap::new(),
            taken: Vec::new(),
        };
        for _ in 0..at_once {
            this.next(now);
        }
        this
    }

    /// The program has printed this line.
    pub(super) fn note(&mut self, now: Instant, line: &str) {
        let Some(name) = ended(line) else {
            return;
        };
        if let Some(began) = self.running.remove(name) {
            self.taken.push((name.to_owned(), now - began));
            self.next(now);
        }
    }

    /// The tests that have begun and not ended, and when each began: the longest first.
    pub(super) fn running(&self) -> Vec<(&str, Instant)> {
        let running = self.running.iter();
        let mut running: Vec<_> = running.map(|(name, at)| (name.as_str(), *at)).collect();
        running.sort_unstable_by_key(|&(name, began)| (began, name));
        running
    }

    /// The tests that have ended, and how long each took.
    pub(super) fn taken(self) -> Vec<(String, Duration)> {
        self.taken
    }

    fn next(&mut self, now: Instant) {
        if let Some(name) = self.waiting.pop_front() {
            self.running.insert(name, now);
        }
    }
}

/// `a::b` out of `test a::b ... ok`.
fn ended(line: &str) -> Option<&str> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let is_result = ["ok", "FAILED"].contains(&result) || result.starts_with("ignored");
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    is_result.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_begins_when_one_before_it_has_ended() {
        let zero = crate::took::now();
        let at = |millis| zero + Duration::from_millis(millis);
        let names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let mut watch = Stopwatch::start(zero, names, 2);
        watch.note(at(1), "running 4 tests");
        watch.note(at(30), "test b ... ok");
        watch.note(at(31), "test nobody ... ok");
        let running = watch.running().into_iter();
        let running: Vec<_> = running.map(|(name, began)| (name, began - zero)).collect();
        let millis = Duration::from_millis;
        assert_eq!(running, [("a", millis(0)), ("c", millis(30))]);
        watch.note(at(50), "test a - should panic ... ok");
        watch.note(at(70), "test c ... FAILED");
        watch.note(at(90), "test d ... ignored, not here");
        let taken = watch.taken().into_iter();
        let taken: Vec<_> = taken.map(|(name, took)| (name, took.as_millis())).collect();
        let expected = [("b", 30), ("a", 50), ("c", 40), ("d", 40)];
        assert_eq!(taken, expected.map(|(name, took)| (name.to_owned(), took)));
    }
}
