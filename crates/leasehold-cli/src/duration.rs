//! Lengths of time, as people write and read them.

use leasehold::config::parse_duration;
use std::{fmt, time::Duration};

/// Reads `10s`, `500ms`, `1m30s`, `2h` or `1d`.
///
/// # Errors
/// Why it is none, as a fragment, and the way out.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let read = parse_duration(text);
    if read.is_ok() || !text.contains(char::is_whitespace) {
        return read;
    }
    let joined: String = text.split_whitespace().collect();
    match parse_duration(&joined) {
        Ok(_) => Err(format!("no spaces: say {joined}")),
        Err(_) => read,
    }
}

/// Shows a duration: `17 µs`, `250 ms`, `1 s`, `1.2 s`, `3 min 20 s`, `2 h 1 min`. Rounded down.
///
/// As the errors of the library do, which stand beside it in one message.
pub(crate) struct Shown(pub(crate) Duration);

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.as_secs(), self.0.subsec_millis());
        match (seconds, millis) {
            (0, 0) => write!(out, "{} µs", self.0.as_micros()),
            (0, _) => write!(out, "{millis} ms"),
            (1..60, 100..) => write!(out, "{seconds}.{} s", millis / 100),
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
    fn durations_are_shown_rounded_down_as_the_library_shows_them() {
        let shown = [
            (0, "0 µs"),
            (17, "17 µs"),
            (999, "999 µs"),
            (250_999, "250 ms"),
            (1_000_000, "1 s"),
            (1_099_999, "1 s"),
            (1_299_999, "1.2 s"),
            (59_999_999, "59.9 s"),
            (200_000_000, "3 min 20 s"),
            (7_319_999_999, "2 h 1 min"),
        ];
        for (micros, text) in shown {
            assert_eq!(Shown(Duration::from_micros(micros)).to_string(), text);
        }
    }
}
