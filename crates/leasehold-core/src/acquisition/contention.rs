//! What an acquisition has seen of others who want the same, and what it does about them.

use crate::local_queue::ContentionLevel;
use core::time::Duration;

/// The others, as far as one knows.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(super) struct Contention {
    is_known: bool,
    /// Whether anybody has refused us the resource.
    refused: bool,
    /// Whether another got it when we were called.
    overtook: bool,
    /// How often we were called in vain.
    calls: u32,
    /// How long the last refusal took, from asking to hearing it.
    way: Duration,
    /// How often in a row some nodes granted and others refused.
    splits: u32,
    /// How often the node that was asked first granted, and the others had been given to another.
    bypasses: u32,
}

impl Contention {
    pub(super) const fn is_known(&self) -> bool {
        self.is_known
    }

    /// There are some: this engine has met them before.
    pub(super) const fn is_certain(&mut self) {
        self.is_known = true;
    }

    /// We were called, and ask.
    pub(super) const fn call(&mut self) {
        // Until we have won: a caller that was often too late does not wait for long.
        self.calls = self.calls.saturating_add(1);
    }

    /// A quorum cannot be had, `way` after we asked; with `some` if any node has granted.
    pub(super) const fn hold(&mut self, way: Duration, some: bool) {
        self.way = way;
        self.refused = true;
        self.splits = if some {
            self.splits.saturating_add(1)
        } else {
            0
        };
        if self.calls > 0 {
            self.overtook = true;
            self.is_known = true;
        }
    }

    /// The node on which all meet has given it to another, `way` after we asked.
    pub(super) const fn turn_away(&mut self, way: Duration) {
        self.way = way;
        self.splits = 0;
        self.refused = true;
        self.overtook = true;
        self.is_known = true;
    }

    /// The node that was asked first has granted, and the others had been given to another meanwhile.
    pub(super) const fn bypass(&mut self) {
        self.bypasses = self.bypasses.saturating_add(1);
    }

    /// Whether others do not meet on one node, but ask all at once, as clients with other settings and other libraries do.
    /// Asking one first would always come too late for them.
    pub(super) const fn bypass_the_first(&self) -> bool {
        self.bypasses >= MOST_BYPASSES
    }

    /// How long the last refusal took, from asking to hearing it.
    pub(super) const fn way(&self) -> Duration {
        self.way
    }

    /// How we fared with them.
    pub(super) const fn level(&self) -> ContentionLevel {
        match (self.overtook, self.refused) {
            (true, _) => ContentionLevel::Overtaken,
            (false, true) => ContentionLevel::Refused,
            (false, false) => ContentionLevel::None,
        }
    }

    /// Within which time to ask when we are called. Callers that are notified together do not ask at the same time, and one asks the
    /// sooner the longer it has waited. But what is much shorter than the way to the nodes is lost on the way, and a caller that
    /// has the longest would always be last: so half of the way and back is added to it. It begins at half of what it may be:
    /// nobody has the resource meanwhile, and those who had it lately make room, so not many are called.
    ///
    /// If the nodes were divided among several, nobody has the resource, and what each takes back calls all others: they
    /// would divide them again. So the time doubles each time.
    pub(super) fn window(&self) -> Duration {
        if self.splits > 0 {
            return LONGEST_WINDOW.saturating_mul(1 << self.splits.min(MOST_DOUBLINGS));
        }
        if !self.is_known {
            return Duration::ZERO;
        }
        let shorter = LONGEST_WINDOW.checked_div(self.calls.saturating_add(2));
        let way = self.way.checked_div(2).unwrap_or_default();
        way.saturating_add(shorter.unwrap_or_default())
            .min(LONGEST_WINDOW)
    }
}

/// How often a caller may lose what the first node had granted until it asks all nodes at once. A newcomer that has not
/// met others yet does so once.
const MOST_BYPASSES: u32 = 2;

/// How often the time within which to ask is doubled: up to 64 ms.
const MOST_DOUBLINGS: u32 = 7;

/// How long a notified caller waits at most, so that not all that were notified ask at once.
pub(super) const LONGEST_WINDOW: Duration = Duration::from_micros(500);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// What is so after each of so many calls in vain, the way taking so long.
    fn after_calls<T>(count: u32, way_us: u64, what: impl Fn(&Contention) -> T) -> Vec<T> {
        let mut contention = Contention::default();
        let after = |_| {
            contention.call();
            contention.turn_away(Duration::from_micros(way_us));
            what(&contention)
        };
        (0..count).map(after).collect()
    }

    #[test]
    fn whoever_has_waited_longer_asks_sooner_but_not_much_sooner_than_the_way_takes() {
        let windows =
            |way_us| after_calls(32, way_us, |contention| contention.window().as_micros());
        let (near, far) = (windows(10), windows(200));
        assert_eq!((near[0], near[4], near[31]), (171, 76, 19));
        assert_eq!((far[0], far[4], far[31]), (266, 171, 114));
        assert_eq!(windows(900)[0], 500);
    }

    #[test]
    fn nobody_waits_for_others_who_are_not_known_of() {
        let mut contention = Contention::default();
        assert_eq!(contention.window(), Duration::ZERO);
        contention.hold(Duration::ZERO, false);
        assert_eq!(
            (contention.window(), contention.level()),
            (Duration::ZERO, ContentionLevel::Refused)
        );
        contention.call();
        contention.hold(Duration::ZERO, false);
        assert!(!contention.window().is_zero());
        assert_eq!(contention.level(), ContentionLevel::Overtaken);
    }

    #[test]
    fn whoever_is_divided_from_others_again_and_again_waits_for_longer() {
        let mut contention = Contention::default();
        let windows: Vec<_> = (0..9)
            .map(|_| {
                contention.call();
                contention.hold(Duration::ZERO, true);
                contention.window().as_millis()
            })
            .collect();
        assert_eq!(windows, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        contention.hold(Duration::ZERO, false);
        assert!(contention.window() < LONGEST_WINDOW, "somebody has it");
    }
}
