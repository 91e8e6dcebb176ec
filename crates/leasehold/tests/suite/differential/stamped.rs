//! Locks of the timestamp kind.

use super::{Both, call};

impl Both {
    /// A lock of the timestamp kind, by clocks that differ by some seconds.
    pub(super) fn stamp(&mut self) -> Vec<u8> {
        let now = 1_700_000_000 + self.dice.roll(20);
        let end = now + self.dice.roll(10);
        let (now, end) = (now.to_string(), end.to_string());
        let held = (1_700_000_000 + self.dice.roll(30)).to_string();
        let (name, arguments) = match self.dice.roll(3) {
            0 => ("stamp-acquire", vec![now, end]),
            1 => ("stamp-extend", vec![now, end, held]),
            _ => ("stamp-release", vec![now, held]),
        };
        call(name, "t", &arguments)
    }
}
