//! The one place of this crate that reads a clock or sleeps.

use std::time::{Duration, Instant};

/// The time now.
#[expect(
    clippy::disallowed_methods,
    reason = "bounds of waiting for other processes; no lease depends on it"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Asks `check` again and again until it has an answer, for `limit` at most.
#[expect(
    clippy::disallowed_methods,
    reason = "another process tells nobody when it is ready; one can only ask again"
)]
pub(crate) fn until<T>(limit: Duration, mut check: impl FnMut() -> Option<T>) -> Option<T> {
    let end = now() + limit;
    loop {
        if let Some(answer) = check() {
            return Some(answer);
        }
        if now() >= end {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

const PAUSE: Duration = Duration::from_millis(3);
