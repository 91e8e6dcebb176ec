//! Work that is done once in each period, by whichever process comes first.

use crate::{
    error::{AcquireError, ConfigError, NotKept},
    guard::LeaseGuard,
    mutex::Mutex,
    options::LockOptions,
    state::LeaseState,
};
use leasehold_core::{Instant, Owner, Resource, Ttl};
use std::{
    ops::Deref,
    time::{Duration, SystemTime},
};

/// A lock whose holder says at the end that its work is done, and then nobody has it again in the same period.
///
/// Made by [`Mutex::once_per`]. A caller that [begins](Self::begin) holds the lock like any other: nobody else does the work at
/// the same time. [`OnceGuard::done`] leaves a mark in the lock's keys until the period ends, and callers that come later in this
/// period are told [`AlreadyDone`](AcquireError::AlreadyDone). A holder that fails drops its guard, and the next caller may try
/// in the same period.
///
/// # Periods
/// Time is cut into periods of equal length that begin at midnight UTC of 1 January 1970, or [later](Self::starting): with an
/// hour, one begins on every full hour, whenever the work was begun in the period before. So a job that is started hourly
/// runs every hour, also if it was started 0.8 s late the last time. A caller is in the period that its machine's wall clock
/// shows when it wins the lock.
///
/// * Work that is started shortly before a period ends may be done twice, by two machines whose clocks disagree on the
///   period. Let periods begin shortly before the work is started.
/// * A mark of the period before, left by a machine whose clock is behind, is waited for if it ends within five seconds.
/// * Work that takes until after the period's end frees the lock when it is done.
///
/// # What it survives
/// A quorum of nodes carries the mark. Fewer nodes than that may fail, and those that come back empty count as failed. If a
/// quorum of the nodes forgets its keys, the work may be done again in that period, after the time in which such nodes do not
/// vote ([`RestartGuard`](crate::RestartGuard)): nodes that write their data to a disk do not forget. A holder that dies after
/// its work and before [`done`](OnceGuard::done) has told nobody, so the work is done again when its lease has ended: it is
/// done at least once, and never twice at the same time. In the store of one machine, and in memory, the mark ends with the
/// process.
///
/// All who do the work must use one period. Other callers that lock the name are kept out by the mark as well, as by a holder
/// that does not release it before the period ends.
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
    mutex: Mutex,
    /// When this period ends, as time since 1970.
    ends: Duration,
    /// The same by the clock of leases.
    over_at: Instant,
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
        // Marks tell milliseconds.
        u64::try_from(end / 1_000_000).map_or(Duration::MAX, Duration::from_millis)
    }
}

impl Mutex {
    /// The same lock for work that is to be done once in each period of this length: 1 s to 30 days. Sends nothing. See
    /// [`OncePer`].
    ///
    /// # Errors
    /// [`ConfigError::Period`] if the period is too short or too long, [`ConfigError::OnceTogether`] for several names.
    pub fn once_per(&self, period: Duration) -> Result<OncePer, ConfigError> {
        let periods = Periods {
            length: period,
            offset: Duration::ZERO,
        };
        if !(SHORTEST..=Ttl::LONGEST.as_duration()).contains(&period) {
            return Err(ConfigError::Period { period });
        }
        if self.resource().is_several() {
            return Err(ConfigError::OnceTogether);
        }
        let mutex = self.clone();
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
        let mutex = self.mutex.with(change)?;
        let periods = self.periods;
        Ok(Self { mutex, periods })
    }

    /// Waits until nobody does the work, and gives up after about five seconds: when the tries of its options are used up. If
    /// another one does it meanwhile and is [done](OnceGuard::done), the nodes tell.
    ///
    /// # Errors
    /// [`AlreadyDone`](AcquireError::AlreadyDone) if the work was done in this period, and else as
    /// [`Mutex::acquire`](crate::Mutex::acquire).
    ///
    /// # Cancel safety
    /// As [`Mutex::acquire`](crate::Mutex::acquire).
    pub async fn begin(&self) -> Result<OnceGuard, AcquireError> {
        let (mutex, _) = self.now();
        mutex.acquire().await.map(|guard| self.won(guard))
    }

    /// Makes one attempt. It waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`Held`](AcquireError::Held) if another one does the work now.
    ///
    /// # Cancel safety
    /// As [`begin`](Self::begin).
    pub async fn try_begin(&self) -> Result<OnceGuard, AcquireError> {
        let (mutex, ends) = self.now();
        let mut guard = mutex.try_acquire().await;
        // By a clock that is behind ours, the period before is not over yet.
        if let Some(left) = guard.as_ref().err().and_then(|error| leftover(error, ends)) {
            let patience = left.saturating_add(mutex.node_limit());
            guard = mutex.acquire_within(patience).await;
        }
        guard.map(|guard| self.won(guard))
    }

    /// Waits until nobody does the work, for `patience` at most. No patience at all means one attempt.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`TimedOut`](AcquireError::TimedOut) if `patience` ran out.
    ///
    /// # Cancel safety
    /// As [`begin`](Self::begin).
    pub async fn begin_within(&self, patience: Duration) -> Result<OnceGuard, AcquireError> {
        if patience.is_zero() {
            return self.try_begin().await;
        }
        let (mutex, _) = self.now();
        let guard = mutex.acquire_within(patience).await;
        guard.map(|guard| self.won(guard))
    }

    /// The lock for somebody who wants to do the work of the period in which it is now, and when that ends.
    fn now(&self) -> (Mutex, Duration) {
        let ends = self.periods.end(self.mutex.handle().clock().wall());
        (self.mutex.unless_done(ends), ends)
    }

    fn won(&self, guard: LeaseGuard) -> OnceGuard {
        let clock = self.mutex.handle().clock();
        let wall = clock.wall();
        let ends = self.periods.end(wall);
        OnceGuard {
            ends,
            over_at: clock.now().saturating_add(ends.saturating_sub(wall)),
            mutex: self.mutex.clone(),
            guard,
        }
    }
}

/// How long the work of the period before keeps the lock, if that is what keeps it and it is not long.
fn leftover(error: &AcquireError, ends: Duration) -> Option<Duration> {
    let AcquireError::Held(held) = error else {
        return None;
    };
    let until = held.holder.as_ref()?.done_until()?;
    held.remaining
        .filter(|left| until < ends && *left <= LONGEST_LEFTOVER)
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
    /// Waits until a quorum keeps it, for the nodes' time limit at most. If the period is over by now, it is a release.
    ///
    /// # Errors
    /// [`NotKept`] if the lease was lost, or too few nodes answered: then the work may be done again in this period.
    ///
    /// # Cancel safety
    /// If the future is dropped before it is ready, the work may be done again in this period: the lock is free, at the latest
    /// when its TTL is over.
    ///
    /// # Source
    /// As with [`hand_over`](LeaseGuard::hand_over), in one process: arguments [S3](crate::safety#s3) and
    /// [S8](crate::safety#s8). The keys get another owner in one step, which nobody else has, and by which all can tell that the
    /// work is done.
    pub async fn done(self) -> Result<(), NotKept> {
        let Self {
            guard,
            mutex,
            ends,
            over_at,
        } = self;
        let (handle, timing) = (mutex.handle(), mutex.timing());
        let left = over_at.saturating_since(handle.clock().now());
        if left < SHORTEST_MARK {
            return match guard.state() {
                LeaseState::Lost(lost) => Err(NotKept::Lost(lost)),
                _ => {
                    drop(guard.release().await);
                    Ok(())
                }
            };
        }
        let owner = guard.into_detached().await.map_err(NotKept::Lost)?;
        let by = owner.clone();
        let mark = move |random: &[u8; 20]| Owner::done(random, ends, &by);
        let left = mutex.leave_signed(owner.clone(), mark, left).await;
        left.or_else(|error| {
            // What it has left on a few nodes would only be in the way.
            handle.evict_later(mutex.resource().clone(), owner, timing);
            if handle.clock().now() < over_at {
                Err(NotKept::Failed(error))
            } else {
                Ok(())
            }
        })
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

/// What is left of a period is not worth a mark.
const SHORTEST_MARK: Duration = Duration::from_millis(10);

/// By how much clocks that are set differ at most.
const LONGEST_LEFTOVER: Duration = Duration::from_secs(5);

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
