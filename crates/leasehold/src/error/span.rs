//! Durations for people.

use std::{fmt, time::Duration};

/// A duration as a person says it: `250 ms`, `1.2 s`, `3 min 20 s`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span(pub(crate) Duration);

impl fmt::Display for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.as_secs(), self.0.subsec_millis());
        match (seconds, millis) {
            (0, 0) => write!(out, "{} µs", self.0.as_micros()),
            (0, _) => write!(out, "{millis} ms"),
            (1..60, _) if millis >= 100 => write!(out, "{seconds}.{} s", millis / 100),
            (1..60, _) => write!(out, "{seconds} s"),
            (60..3600, _) => write!(out, "{} min {} s", seconds / 60, seconds % 60),
            _ => write!(out, "{} h {} min", seconds / 3600, seconds / 60 % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short_and_have_units() {
        for (micros, text) in [
            (0, "0 µs"),
            (17, "17 µs"),
            (250_000, "250 ms"),
            (1_000_000, "1 s"),
            (1_290_000, "1.2 s"),
            (200_000_000, "3 min 20 s"),
            (7_260_000_000, "2 h 1 min"),
        ] {
            assert_eq!(Span(Duration::from_micros(micros)).to_string(), text);
        }
    }
}
