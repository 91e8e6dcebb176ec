//! The options of a timestamp lock.

use super::terms::Timeout;
use crate::error::ConfigError;
use std::time::Duration;

/// How a [`TimestampLock`](super::TimestampLock) behaves.
///
/// | option | default |
/// |---|---|
/// | [`timeout`](Self::timeout) | 3 s, as in the published program |
/// | [`patience`](Self::patience) | 10 s |
/// | [`pause`](Self::pause) | 10 ms |
#[derive(Clone, Debug)]
#[must_use]
pub struct TimestampOptions {
    timeout: Duration,
    patience: Duration,
    pause: Duration,
}

impl Default for TimestampOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(3),
            patience: Duration::from_secs(10),
            pause: Duration::from_millis(10),
        }
    }
}

impl TimestampOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// For how long the lock is taken: `LOCK_TIMEOUT` of the other programs. Whole seconds, from 1 s to 30 days.
    ///
    /// **All programs that use the lock must have the same**, or one that loses a race for it may make the lease of the
    /// winner shorter: see the [module](super). If a holder dies, others wait for one to two seconds more than this.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// How long [`acquire`](super::TimestampLock::acquire) waits at most; zero means one attempt. To outlast a holder
    /// that has died, it must be longer than the timeout by two seconds.
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// How long to rest before the lock is tried again: each time between half of this and all of it, at random. The
    /// published program rests for 1 ms, and so gets the lock more often than one that rests for longer. A node that
    /// cannot be reached is tried every 100 to 200 ms at most.
    pub fn pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    pub(super) fn check(&self) -> Result<Checked, ConfigError> {
        if self.pause.is_zero() {
            return Err(ConfigError::NoTime { option: "pause" });
        }
        Ok(Checked {
            timeout: Timeout::new(self.timeout)?,
            patience: self.patience,
            pause: self.pause,
        })
    }
}

/// Options that go together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    pub(super) timeout: Timeout,
    pub(super) patience: Duration,
    pub(super) pause: Duration,
}
