//! The only file that reads clocks and draws entropy.

use leasehold_core::{Instant, Seed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock that leases are held by: it goes on while the machine is suspended.
///
/// On Linux and Android this is `CLOCK_BOOTTIME`. The usual monotonic clock, which `std::time::Instant`
/// reads, stands still in suspend, while the keys on the nodes go on expiring (assumption A4).
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock(());

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub const fn system() -> Self {
        Self(())
    }

    /// Now.
    #[must_use]
    pub fn now(self) -> Instant {
        Instant::from_origin(since_boot())
    }

    /// Now, as the wall clock has it, as time since 1970. For display only: no lease stands on it.
    #[must_use]
    pub fn wall(self) -> Duration {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the file that reads the wall clock"
        )]
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
    }
}

/// Draws a seed from the operating system.
///
/// # Panics
/// If the operating system has no entropy to give, in which case no owner could be told from another.
#[must_use]
pub(crate) fn seed() -> Seed {
    let mut bytes = [0; Seed::LENGTH];
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the file that draws entropy"
    )]
    getrandom::fill(&mut bytes).expect("the operating system has a source of randomness");
    Seed::new(bytes)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Elsewhere the standard clock has to do; where it stands still in suspend, a lease outlives its keys
/// by the time slept.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn since_boot() -> Duration {
    use std::sync::LazyLock;
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the file that reads the clock"
    )]
    static ORIGIN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    ORIGIN.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_does_not_go_back() {
        let clock = Clock::system();
        let first = clock.now();
        assert!(clock.now() >= first);
    }

    #[test]
    fn two_seeds_differ() {
        assert_ne!(seed(), seed());
    }
}
