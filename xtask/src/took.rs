//! How long things take. It is told, and decides nothing.

use std::time::{Duration, Instant};

pub(crate) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a measurement for people")]
    Instant::now()
}

/// Seconds for people.
pub(crate) fn seconds(took: Duration) -> String {
    let tenths = took.as_millis() / 100;
    if tenths < 600 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else {
        format!("{} min {} s", tenths / 600, tenths / 10 % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_seconds_and_minutes() {
        assert_eq!(seconds(Duration::from_millis(3_456)), "3.4 s");
        assert_eq!(seconds(Duration::from_secs(192)), "3 min 12 s");
    }
}
