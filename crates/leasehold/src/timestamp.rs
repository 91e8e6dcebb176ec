//! The older lock of `SETNX` and `GETSET`, to share one with programs that use it.
//!
//! **Do not choose it for anything else.** It trusts the wall clocks of all programs that use it, it lives on one node,
//! it has no fencing tokens, and nobody is told when it becomes free. [`Mutex`](crate::Mutex) has none of these faults.
//!
//! The key carries the Unix second in which the lease ends, as a decimal number, and has no TTL. A program of this kind
//! goes on like this, with `LOCK_TIMEOUT` in whole seconds and the time in whole seconds of its own clock:
//!
//! ```text
//! to acquire:  now = time;  end = now + LOCK_TIMEOUT + 1
//!              SETNX key end                 1: it has the lock
//!              old = GET key                 now <= old: it is held; rest for a millisecond, and begin again
//!              old = GETSET key end          now > old: it has the lock;  else another was quicker, begin again
//! to release:  time < end:  DEL key
//! ```
//!
//! [`TimestampLock`] reads and writes the same bytes by the same rule, so it excludes such programs and is excluded by
//! them. What they do in several steps it does in one, on the node.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = leasehold_servers::Server::start()?;
//! # let url = server.url();
//! use leasehold::timestamp::{TimestampReleaseOutcome, TimestampLock, TimestampOptions};
//! use std::time::Duration;
//!
//! // `url` is "redis://127.0.0.1:6379" or alike; the other programs have `LOCK_TIMEOUT = 3`.
//! let options = TimestampOptions::new().timeout(Duration::from_secs(3));
//! let lock = TimestampLock::with_options(&url, "lock.foo", options)?;
//! let guard = lock.acquire().await?;
//! assert!(guard.is_valid()); // for the next three seconds
//! assert!(lock.try_acquire().await.unwrap_err().is_contention());
//! assert_eq!(guard.release().await, TimestampReleaseOutcome::Released);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! # When at most one has it
//! At most one guard is valid, and no program of the other kind has the lock within its own `LOCK_TIMEOUT`, while
//!
//! 1. the difference between the wall clocks of any two programs, and twice the longest time from when a program reads
//!    its clock to when the command is carried out for which it did so, are **less than one second together**;
//! 2. all programs have **the same timeout**, and the others work for no longer than that: they do not look at their
//!    clocks while they do;
//! 3. the node does not lose the key, and nobody deletes or sets it in another way.
//!
//! A guard is valid for the timeout from before its request left, and the end that it has written is later by more than
//! a second: that second is the room that the first condition takes.
//!
//! # What the other programs can do to a guard
//! * *A loser moves the end.* Two find that a lock's time is up, one takes it, and the other's `GETSET` overwrites the
//!   end before it finds out that it has lost. Mostly it writes the same second, or one that differs by one.
//!   [`is_valid`](TimestampGuard::is_valid) holds by the second above; [`release`](TimestampGuard::release) and
//!   [`extend`](TimestampGuard::extend) find a value that is not ours, cannot know whose it is, and leave it. Then
//!   nobody has the lock until that end has passed ([`Overwritten`](TimestampReleaseOutcome::Overwritten)).
//! * *A loser moves it back*, if it has a shorter timeout, or was stopped for more than a second between its clock and
//!   its `GETSET`. Others then take the lock while the guard is valid.
//! * *A late `DEL`.* A program looks at its clock, is stopped until another has taken the lock over, and deletes the
//!   key of that one. Then the lock is free while the guard is valid ([`Gone`](TimestampReleaseOutcome::Gone)).
//! * *A clock that is ahead* takes a lock over that is held.
//!
//! All but the first need one of the conditions above to be broken.
//!
//! # Two holders can have the same value
//! The value is a time: who acquires a lock in the second in which another has released it writes the same. So nothing
//! here takes the value as a proof that the lock is ours. An acquisition counts only if the node said so; if that answer
//! is lost the lock is not held, even if its key carries what would have been ours
//! ([`Unclear`](TimestampAcquireError::Unclear)). A release is sent once, since a second one could delete the key of the holder that came
//! next. It remains that, after a late `DEL` of another program, the next may write our value in the same second; then
//! neither `release` nor `extend` sees a difference.
//!
//! # What a guard can do to the other programs
//! No more than they to each other, and less: it deletes only what carries its value, before its end, in one step, and
//! never overwrites a lock that it has not won. What remains they have among themselves as well: a program that is
//! written exactly as above and finds no key where it reads a number, since the lock was released at that moment, ends
//! with an error. After its `GET` it tries again if it is started again; after its `GETSET` it has the lock without
//! knowing, and nobody else gets it until its timeout has passed.
//!
//! # To move to `Mutex`
//! Let every program that has this lock acquire a [`Mutex`](crate::Mutex) of another name as well, always this one
//! first. When none is left that uses only this one, drop it.
//!
//! # Source
//! The lock of `SETNX` and `GETSET` as the documentation of Redis had it for `SETNX`, before Redlock, and as a program
//! in Python that was published with it. Arguments T1 to T4 in `docs/SAFETY.md`.

mod acquisition;
mod desk;
mod error;
mod guard;
mod lease;
mod options;
mod outcome;
mod subject;
mod terms;
#[cfg(test)]
mod tests;

pub use error::{TimestampAcquireError, TimestampExtendError, TimestampHeld, TimestampLossCause};
pub use guard::TimestampGuard;
pub use options::TimestampOptions;
pub use outcome::TimestampReleaseOutcome;

use crate::{error::ConfigError, link::redis::RedisUrl};
use desk::{Desk, Order};
use leasehold_core::Resource;
use std::{sync::Arc, time::Duration};
use subject::Subject;
use terms::Clocks;
use tokio::sync::oneshot;

/// A lock that programs of `SETNX` and `GETSET` have as well. See the [module](self) before you use it.
///
/// It owns a thread with one connection. Cloning it is cheap, and clones share the thread, as do the locks that are made
/// by [`sibling`](Self::sibling). When the last of them and of their guards is gone, the thread finishes the releases
/// that are under way, and ends. A program that ends earlier leaves what it did not release to its timeout.
///
/// The futures run on any runtime. There is no reentrancy, and no order: who waits tries again after a pause, and
/// the waiter that comes at the right moment wins.
#[derive(Clone, Debug)]
pub struct TimestampLock {
    desk: Desk,
    subject: Arc<Subject>,
}

impl TimestampLock {
    /// The lock `resource` on the node at `url`, with the default options. Starts a thread, and sends nothing.
    ///
    /// `url` is an address as [`RedisUrl`] has them, with user and password, `rediss://` for TLS, or `unix://`. The
    /// resource's name is the key, in the database that the address names.
    ///
    /// # Errors
    /// [`ConfigError::Node`] if the address cannot be used, [`ConfigError::Resource`] if the name cannot be,
    /// [`ConfigError::Thread`] if the thread cannot be started.
    pub fn new(url: &str, resource: &str) -> Result<Self, ConfigError> {
        Self::with_options(url, resource, TimestampOptions::new())
    }

    /// As [`new`](Self::new), with options.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`ConfigError::Timeout`] if the timeout is not of whole seconds,
    /// [`ConfigError::NoTime`] if the pause is zero.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "options are written where they are used"
    )]
    pub fn with_options(
        url: &str,
        resource: &str,
        options: TimestampOptions,
    ) -> Result<Self, ConfigError> {
        let url: RedisUrl = url
            .parse()
            .map_err(|error| ConfigError::Node(std::sync::Arc::new(error)))?;
        let subject = Subject {
            resource: Resource::new(resource)?,
            node: url.name(),
            options: options.check()?,
            clocks: Clocks::system(),
        };
        Ok(Self {
            desk: Desk::open(url)?,
            subject: Arc::new(subject),
        })
    }

    /// Another lock on the same node, with the same options, over the same connection. Sends nothing.
    ///
    /// # Errors
    /// [`ConfigError::Resource`] if the name cannot be used.
    pub fn sibling(&self, resource: &str) -> Result<Self, ConfigError> {
        let subject = Subject {
            resource: Resource::new(resource)?,
            ..(*self.subject).clone()
        };
        Ok(Self {
            desk: self.desk.clone(),
            subject: Arc::new(subject),
        })
    }

    /// What is locked.
    #[must_use]
    pub fn resource(&self) -> &Resource {
        &self.subject.resource
    }

    /// Waits until the lock is won, for [`patience`](TimestampOptions::patience) at most, which is 10 s unless
    /// configured.
    ///
    /// It tries again after a random pause, whatever the last attempt failed of, as long as another may end otherwise.
    /// Nobody is told when the lock becomes free, and there is no queue.
    ///
    /// # Errors
    /// [`TimedOut`](TimestampAcquireError::TimedOut) if the patience ran out, with what the last attempt failed of: held, node
    /// not reachable, wrong password, answer lost. [`NotATimestamp`](TimestampAcquireError::NotATimestamp) and
    /// [`ClockNotSet`](TimestampAcquireError::ClockNotSet) at once, if the key holds something else, which is left as it is, or
    /// this machine's clock is from before 2001. [`TooLate`](TimestampAcquireError::TooLate) if it was won, but this task
    /// ran again only when nothing was left of the timeout.
    ///
    /// # Cancel safety
    /// Dropping the future gives up. What an attempt that is under way still wins is released in the background.
    ///
    /// # Source
    /// Arguments T1, T2 and T4.
    pub async fn acquire(&self) -> Result<TimestampGuard, TimestampAcquireError> {
        self.acquire_within(self.subject.options.patience).await
    }

    /// As [`acquire`](Self::acquire), for `patience` at most. The last attempt is cut short by its end; no patience at
    /// all means one attempt that is not, as [`try_acquire`](Self::try_acquire) makes it.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    pub async fn acquire_within(
        &self,
        patience: Duration,
    ) -> Result<TimestampGuard, TimestampAcquireError> {
        self.acquire_request(Some(patience).filter(|patience| !patience.is_zero()))
            .await
    }

    /// Makes one attempt. Waits for its turn on the connection and for the node's answer, for two seconds at most, and
    /// about ten more where it has to connect.
    ///
    /// # Errors
    /// [`Held`](TimestampAcquireError::Held) if somebody else has it, [`NotATimestamp`](TimestampAcquireError::NotATimestamp) if the key
    /// holds something else, [`ClockNotSet`](TimestampAcquireError::ClockNotSet) if this machine's clock is from before 2001,
    /// [`Unreachable`](TimestampAcquireError::Unreachable) if the node cannot be asked or refuses,
    /// [`Unclear`](TimestampAcquireError::Unclear) if its answer was lost, [`TooLate`](TimestampAcquireError::TooLate) if it came when
    /// the timeout was over.
    ///
    /// # Cancel safety
    /// As [`acquire`](Self::acquire).
    pub async fn try_acquire(&self) -> Result<TimestampGuard, TimestampAcquireError> {
        self.acquire_request(None).await
    }

    async fn acquire_request(
        &self,
        patience: Option<Duration>,
    ) -> Result<TimestampGuard, TimestampAcquireError> {
        let started = self.subject.clocks.now();
        let (answer, told) = oneshot::channel();
        self.desk.post(Order::Acquire {
            subject: Arc::clone(&self.subject),
            patience,
            desk: self.desk.clone(),
            answer,
        });
        let guard = told.await.unwrap_or_else(|_| {
            let resource = self.subject.resource.clone();
            Err(TimestampAcquireError::ShutDown { resource })
        })?;
        // Argument T2: the clock is read last, after every wait, this task's own included. Dropping the guard releases.
        if guard.is_valid() {
            return Ok(guard);
        }
        Err(self.subject.too_late(started))
    }
}
