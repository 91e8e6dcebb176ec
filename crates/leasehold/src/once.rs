//! Work that is done once in each period, by whichever process comes first.

use crate::{
    error::{AcquireError, ConfigError, NotKept},
    guard::LeaseGuard,
    mutex::Mutex,
    options::LockOptions,
    outcome::ReleaseOutcome,
};
use leasehold_core::{Resource, Timing, Ttl};
use std::{
    ops::Deref,
    time::{Duration, SystemTime},
};

/// A lock whose holder says at the end that its work is done, and then nobody has it again in the same period.
///
/// Made by [`Mutex::once_per`]. Who [begins](Self::begin) holds the lock like any other: nobody else does the work at the
/// same time. [`OnceGuard::done`] keeps the lock until the period ends, so that those who come later in this period are told
/// [`AlreadyDone`](AcquireError::AlreadyDone). A holder that fails drops its guard, and the next may try in the same period.
///
/// # Periods
/// Time is cut into periods of equal length that begin at midnight UTC of 1 January 1970, or [later](Self::starting): with an
/// hour, one begins on every full hour, whenever the work was begun in the period before. So a job that is started hourly
/// runs every hour, also if it was started 0.8 s late the last time. Which period it is, the clock of the machine says that
/// wins the lock; it is read when the lock is won.
///
/// * Work that is started shortly before a period ends may be done twice, by two machines whose clocks disagree on the
///   period. Let periods begin shortly before the work is started.
/// * Work that takes until after the period's end frees the lock when it is done.
/// * In the last [`max_ttl`](crate::ManagerBuilder::max_ttl) of a period, 30 s by default, work that was done looks like work
///   that is being done: callers wait, or are told [`Held`](AcquireError::Held).
///
/// * Where no such limit is agreed upon (without a [restart guard](crate::RestartGuard::Off), and in memory), a key that lives
///   longer than a lease of the caller's TTL tells that the work was done: all who do it must use one TTL.
///
/// # What it survives
/// The lock is kept in the nodes' keys, by a quorum. Fewer nodes than that may fail, and those that come back empty count as
/// failed. If a quorum of the nodes forgets its keys, the work may be done again in that period, after the time in which
/// such nodes do not vote ([`RestartGuard`](crate::RestartGuard)): nodes that write their data to a disk do not forget. A
/// holder that dies after its work and before [`done`](OnceGuard::done) has told nobody, so the work is done again when its
/// lease has ended: it is done at least once, and never twice at the same time. In the store of one machine, and in memory, the
/// lock ends with the process.
///
/// All who do the work must use one period, and locks of the same name that have none are kept out as well.
///
/// # Examples
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::time::Duration;
/// use leasehold::{AcquireError, LockManager};
///
/// let manager = LockManager::builder().memory(3).build()?;
/// let hourly = manager.mutex("report")?.once_per(Duration::from_secs(60 * 60))?;
/// match hourly.try_begin().await {
///     Ok(turn) => {
///         // … nobody else does it now. An early return, or a panic, frees the lock.
///         turn.done().await?;
///     }
///     Err(AcquireError::AlreadyDone(_)) => {}
///     Err(error) => return Err(error.into()),
/// }
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
///
/// # Source
/// The name is locked, extended and kept by Redlock as any other.
#[derive(Clone, Debug)]
pub struct OncePer {
    mutex: Mutex,
    periods: Periods,
}

/// The right to do the work of this period, until [`valid_until`](LeaseGuard::valid_until): a [`LeaseGuard`] that can say in
/// the end that the work is [done](Self::done).
///
/// Dropping it frees the lock in the background, for another who tries in the same period.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock"]
pub struct OnceGuard {
    guard: LeaseGuard,
    periods: Periods,
    timing: Timing,
    /// When this period ends, as time since 1970.
    ends: Duration,
}

/// How time is cut into periods.
#[derive(Clone, Copy, Debug)]
struct Periods {
    length: Duration,
    /// By how much later than 1970 the first one begins; shorter than a period.
    offset: Duration,
}

impl Periods {
    /// When the period ends in which it is `now`, both as time since 1970.
    fn end(self, now: Duration) -> Duration {
        let length = self.length.as_nanos().max(1);
        let since = now.as_nanos() + length - self.offset.as_nanos();
        let end = (since / length + 1) * length + self.offset.as_nanos() - length;
        u64::try_from(end).map_or(Duration::MAX, Duration::from_nanos)
    }
}

impl Mutex {
    /// The same lock for work that is to be done once in each period of this length: 1 s to 30 days. Sends nothing. See
    /// [`OncePer`].
    ///
    /// Only with fencing tokens: without scripts a key that is kept cannot be told from one that is held.
    ///
    /// # Errors
    /// [`ConfigError::Period`] if the period is too short or too long.
    pub fn once_per(&self, period: Duration) -> Result<OncePer, ConfigError> {
        let periods = Periods {
            length: period,
            offset: Duration::ZERO,
        };
        if !(SHORTEST..=Ttl::LONGEST.as_duration()).contains(&period) {
            return Err(ConfigError::Period { period });
        }
        let mutex = self.giving_up_if_done();
        Ok(OncePer { mutex, periods })
    }
}

impl OncePer {
    /// The same with periods that begin so much later: with a day and two hours, at 02:00 UTC. What is more than a whole
    /// period does not count.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// const HOUR: Duration = Duration::from_secs(60 * 60);
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// let nightly = manager.mutex("report")?.once_per(24 * HOUR)?.starting(2 * HOUR);
    /// # assert_eq!(nightly.period(), 24 * HOUR);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    #[expect(clippy::arithmetic_side_effects, reason = "a period is not zero")]
    pub fn starting(self, offset: Duration) -> Self {
        let length = self.periods.length;
        let offset = offset.as_nanos() % length.as_nanos();
        let offset = u64::try_from(offset).map_or(Duration::ZERO, Duration::from_nanos);
        let periods = Periods { length, offset };
        Self { periods, ..self }
    }

    /// How long a period is.
    #[must_use]
    pub const fn period(&self) -> Duration {
        self.periods.length
    }

    /// What is locked.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.mutex.resource()
    }

    /// The same with other options of the lock, which `change` makes of those that it has. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        let mutex = self.mutex.with(change)?.giving_up_if_done();
        let periods = self.periods;
        Ok(Self { mutex, periods })
    }

    /// Waits until nobody does the work, and gives up after about five seconds: when the tries of its options are used up. If
    /// another one does it meanwhile and is [done](OnceGuard::done), this is told within about a second.
    ///
    /// # Errors
    /// [`AlreadyDone`](AcquireError::AlreadyDone) if the work was done in this period, and else as
    /// [`Mutex::acquire`](crate::Mutex::acquire).
    ///
    /// # Cancel safety
    /// As [`Mutex::acquire`](crate::Mutex::acquire).
    pub async fn begin(&self) -> Result<OnceGuard, AcquireError> {
        self.mutex.acquire().await.map(|guard| self.won(guard))
    }

    /// Makes one attempt. It waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`Held`](AcquireError::Held) if another one does the work now.
    ///
    /// # Cancel safety
    /// As [`begin`](Self::begin).
    pub async fn try_begin(&self) -> Result<OnceGuard, AcquireError> {
        self.mutex.try_acquire().await.map(|guard| self.won(guard))
    }

    /// Waits until nobody does the work, for `patience` at most. No patience at all means one attempt.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`TimedOut`](AcquireError::TimedOut) if `patience` ran out.
    ///
    /// # Cancel safety
    /// As [`begin`](Self::begin).
    pub async fn begin_within(&self, patience: Duration) -> Result<OnceGuard, AcquireError> {
        let guard = self.mutex.acquire_within(patience).await;
        guard.map(|guard| self.won(guard))
    }

    fn won(&self, guard: LeaseGuard) -> OnceGuard {
        OnceGuard {
            ends: self.periods.end(self.mutex.handle().clock().wall()),
            periods: self.periods,
            timing: self.mutex.timing(),
            guard,
        }
    }
}

impl OnceGuard {
    /// When the next period begins, by this machine's wall clock.
    #[must_use]
    pub fn next_period(&self) -> SystemTime {
        let next = SystemTime::UNIX_EPOCH.checked_add(self.ends);
        next.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Says that the work of this period is done: nobody has the lock again before the next one begins.
    ///
    /// Waits until a quorum keeps it, for the nodes' time limit at most. The others are told in the background.
    ///
    /// # Errors
    /// [`NotKept`] if the lease was over before, or too few nodes answered: then the work may be done again in this period.
    ///
    /// # Cancel safety
    /// If the future is dropped before it was polled, the lock is freed; after that the nodes are told in the background.
    ///
    /// # Source
    /// Arguments [S3](crate::safety#s3) and [S5](crate::safety#s5): each node gives its key another end in the step in which it
    /// compares the owner.
    pub async fn done(self) -> Result<(), NotKept> {
        let (resource, owner) = (self.resource().clone(), self.owner().clone());
        let (handle, timing) = (self.guard.handle().clone(), self.timing);
        // A clock that was set back keeps nothing for longer than a period.
        let clock = handle.clock();
        let left = self.ends.saturating_sub(clock.wall());
        let release = match left.min(self.periods.length) {
            Duration::ZERO => self.guard.release().await,
            left => {
                let until = clock.now().saturating_add(left);
                self.guard.keep(until).await
            }
        };
        match release {
            ReleaseOutcome::Released => Ok(()),
            // They are told in the background, and may yet be a quorum.
            ReleaseOutcome::Unknown { .. } => Err(NotKept { resource, release }),
            // What a few nodes keep would only be in the way.
            _ => {
                handle.evict_later(resource.clone(), owner, timing);
                Err(NotKept { resource, release })
            }
        }
    }

    /// The lease that it is, for work that is done as often as anybody likes.
    pub fn into_guard(self) -> LeaseGuard {
        self.guard
    }
}

impl Deref for OnceGuard {
    type Target = LeaseGuard;

    fn deref(&self) -> &LeaseGuard {
        &self.guard
    }
}

const SHORTEST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_follow_each_other_without_a_gap() {
        let at = Duration::from_millis;
        for (length, offset) in [(1_000, 0), (1_000, 999), (60_000, 1), (2_592_000_000, 0)] {
            let (length, offset) = (at(length), at(offset));
            let periods = Periods { length, offset };
            let begin = length * 700 + offset;
            assert_eq!(periods.end(begin), begin + length);
            assert_eq!(periods.end(begin + length - at(1)), begin + length);
            assert_eq!(periods.end(begin + length), begin + length * 2);
        }
    }

    #[test]
    fn the_first_period_may_begin_after_now() {
        let hour = Duration::from_secs(3_600);
        let periods = Periods {
            length: hour,
            offset: hour / 2,
        };
        assert_eq!(periods.end(Duration::ZERO), hour / 2);
        assert_eq!(periods.end(hour / 2), hour * 3 / 2);
    }
}
