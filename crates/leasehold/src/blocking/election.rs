//! One leader among many candidates.

use super::{
    guard::{Done, LeaseGuard},
    wait::{wait, wait_within},
};
use crate::{
    election::{self, ElectionState},
    error::{AcquireError, ConfigError, InspectError, LeaseLost},
    inspection::Inspection,
    mode::{Fenced, Mode},
    options::LockOptions,
    outcome::ReleaseOutcome,
    state::LeaseState,
};
use leasehold_core::{FencingToken, Owner, Resource};
use std::{ops::ControlFlow, task::Poll, time::Duration};

/// A leader election: at most one of its candidates leads at a time. As [`leasehold::Election`](crate::Election), for threads.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::time::Duration;
/// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
/// let election = manager.election("scheduler")?;
/// let leadership = election.campaign_within(Duration::from_secs(60))?;
/// assert!(leadership.is_leader());
/// assert!(election.try_campaign().unwrap_err().is_contention());
/// assert!(leadership.resign().is_released());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Election<M: Mode = Fenced>(election::Election<M>);

/// The right to lead. As [`leasehold::Leadership`](crate::Leadership), for threads.
///
/// The manager's thread extends it while this lives, whatever the leader's thread does. Dropping it resigns in the background.
/// Call [`shutdown`](super::LockManager::shutdown) before the program ends, or the background ends with it.
#[derive(Debug)]
#[must_use = "dropping it resigns"]
pub struct Leadership<M: Mode = Fenced>(election::Leadership<M>);

/// Who leads, told again with every change. As [`leasehold::Leaders`](crate::Leaders), for threads.
#[derive(Debug)]
pub struct Leaders(election::Leaders);

impl<M: Mode> Clone for Election<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Mode> From<election::Election<M>> for Election<M> {
    fn from(election: election::Election<M>) -> Self {
        Self(election)
    }
}

impl<M: Mode> From<election::Leadership<M>> for Leadership<M> {
    fn from(leadership: election::Leadership<M>) -> Self {
        Self(leadership)
    }
}

impl From<election::Leaders> for Leaders {
    /// Those of an operator as well as those of a manager.
    fn from(leaders: election::Leaders) -> Self {
        Self(leaders)
    }
}

impl<M: Mode> Election<M> {
    /// The same election, for tasks that await.
    #[must_use]
    pub const fn as_async(&self) -> &election::Election<M> {
        &self.0
    }

    /// The name.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// The same election with other options, which `change` makes of those that it has. Sends nothing.
    ///
    /// # Errors
    /// A [`ConfigError`] if the options do not go together.
    pub fn with(
        &self,
        change: impl FnOnce(LockOptions) -> LockOptions,
    ) -> Result<Self, ConfigError> {
        self.0.with(change).map(Self)
    }

    /// The same election for a candidate that tells this text of itself. Sends nothing. See
    /// [`Election::labelled`](crate::Election::labelled).
    ///
    /// # Errors
    /// [`ConfigError::Label`] if it cannot be used.
    pub fn labelled(&self, label: &str) -> Result<Self, ConfigError> {
        self.0.labelled(label).map(Self)
    }

    /// Waits until this candidate is elected, **for ever, if it is not**: only another thread's
    /// [`shutdown`](super::LockManager::shutdown) ends it. See [`Election::campaign`](crate::Election::campaign).
    ///
    /// # Errors
    /// As [`Election::campaign`](crate::Election::campaign).
    #[track_caller]
    pub fn campaign(&self) -> Result<Leadership<M>, AcquireError> {
        wait(self.0.campaign()).map(Leadership)
    }

    /// As [`campaign`](Self::campaign), for `patience` at most. No patience at all means one attempt.
    ///
    /// # Errors
    /// As [`Election::campaign_within`](crate::Election::campaign_within).
    #[track_caller]
    pub fn campaign_within(&self, patience: Duration) -> Result<Leadership<M>, AcquireError> {
        wait(self.0.campaign_within(patience)).map(Leadership)
    }

    /// Makes one attempt. Waits for the nodes' answers, for their time limit at most.
    ///
    /// # Errors
    /// As [`Election::try_campaign`](crate::Election::try_campaign).
    #[track_caller]
    pub fn try_campaign(&self) -> Result<Leadership<M>, AcquireError> {
        wait(self.0.try_campaign()).map(Leadership)
    }

    /// Leads once: [campaigns](Self::campaign), calls `work`, and resigns, also if it panics.
    ///
    /// **`work` is not stopped when the leadership is lost**, since nobody can stop a function: see [`Done::lost`]. Let it ask
    /// [`is_leader`](Leadership::is_leader) before each step, or rest by [`lost_within`](Leadership::lost_within).
    ///
    /// # Errors
    /// As [`campaign`](Self::campaign); then `work` was not called.
    #[track_caller]
    pub fn lead<T>(&self, work: impl FnOnce(&Leadership<M>) -> T) -> Result<Done<T>, AcquireError> {
        Ok(self.campaign()?.run(work))
    }

    /// Leads again and again, until `work` or `lost` says [`Break`](ControlFlow::Break). See
    /// [`Election::lead_repeatedly`](crate::Election::lead_repeatedly). `work` is not stopped when the leadership is lost: `lost`
    /// is told afterwards, unless `work` has said `Break`.
    ///
    /// # Errors
    /// As [`campaign`](Self::campaign).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::ops::ControlFlow;
    ///
    /// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
    /// let mut orders = 0..;
    /// let ended = manager.election("scheduler")?.lead_repeatedly(
    ///     |leadership| {
    ///         while leadership.is_leader() {
    ///             if orders.next() == Some(3) {
    ///                 return ControlFlow::Break("all orders are given");
    ///             }
    ///         }
    ///         ControlFlow::Continue(())
    ///     },
    ///     |lost| {
    ///         eprintln!("{lost}; campaigning again");
    ///         ControlFlow::Continue(())
    ///     },
    /// );
    /// assert_eq!(ended?, "all orders are given");
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn lead_repeatedly<B>(
        &self,
        mut work: impl FnMut(&Leadership<M>) -> ControlFlow<B>,
        mut lost: impl FnMut(LeaseLost) -> ControlFlow<B>,
    ) -> Result<B, AcquireError> {
        loop {
            let done = self.lead(&mut work)?;
            let next = match (done.work, done.lost) {
                (ControlFlow::Continue(()), Some(why)) => lost(why),
                (next, _) => next,
            };
            if let ControlFlow::Break(end) = next {
                return Ok(end);
            }
        }
    }

    /// Who leads, as far as the nodes say now; it may be over when it is read. Waits for the nodes' time limit at most. See
    /// [`Election::leader`](crate::Election::leader).
    ///
    /// # Errors
    /// As [`Election::leader`](crate::Election::leader).
    #[track_caller]
    pub fn leader(&self) -> Result<ElectionState, InspectError> {
        wait(self.0.leader())
    }

    /// Tells who leads, now and after every change. See [`Election::observe`](crate::Election::observe).
    #[must_use]
    pub fn observe(&self) -> Leaders {
        Leaders(self.0.observe())
    }
}

impl Leadership {
    /// The number of this leadership: larger than that of every leader before. See
    /// [`Leadership::term`](crate::Leadership::term).
    ///
    /// # Panics
    /// Never: a leadership of this kind is not handed out without a term.
    ///
    /// # Source
    /// Argument [S4](crate::safety#s4).
    #[must_use]
    pub fn term(&self) -> FencingToken {
        self.0.term()
    }
}

impl<M: Mode> Leadership<M> {
    /// The same leadership, for tasks that await.
    pub const fn as_async(&self) -> &election::Leadership<M> {
        &self.0
    }

    /// Hands it to a task that awaits.
    pub fn into_async(self) -> election::Leadership<M> {
        self.0
    }

    /// The lease that it is.
    pub fn into_guard(self) -> LeaseGuard<M> {
        LeaseGuard::from(self.0.into_guard())
    }

    /// The [term](Leadership::term), for code that is generic over the mode: none for [`Plain`](crate::Plain) locks.
    #[must_use]
    pub const fn token(&self) -> Option<FencingToken> {
        self.0.token()
    }

    /// The election's name.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// The value that signs the leader's keys: what observers know it by.
    #[must_use]
    pub const fn owner(&self) -> &Owner {
        self.0.owner()
    }

    /// Whether this is the leader now. Reads the clock, and waits for nothing. A program may be stopped between this answer
    /// and what it does upon it, for any length of time.
    ///
    /// # Source
    /// Argument [S6](crate::safety#s6).
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0.is_leader()
    }

    /// For how long this is the leader if no extension succeeds; zero if it is none. Reads the clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// How safe the leadership is. Waits for nothing.
    #[must_use]
    pub fn state(&self) -> LeaseState {
        self.0.state()
    }

    /// Waits until the leadership is lost, and tells why: **for ever, if it is not**.
    ///
    /// # Source
    /// Argument [S6](crate::safety#s6).
    #[track_caller]
    pub fn lost(&self) -> LeaseLost {
        wait(self.0.lost())
    }

    /// Waits until the leadership is lost, for `limit` of the machine's time at most, and tells why; none if it was not lost so
    /// long. In place of a sleep it lets work rest that must stop at once.
    #[must_use]
    pub fn lost_within(&self, limit: Duration) -> Option<LeaseLost> {
        wait_within(limit, self.0.as_guard().loss())
    }

    /// A token that is cancelled when the leadership is lost, for code that takes one.
    #[cfg(feature = "cancellation")]
    #[must_use]
    pub fn cancellation_token(&self) -> tokio_util::sync::CancellationToken {
        self.0.cancellation_token()
    }

    /// Says that the leader is at work. Needed only with [`progress_within`](crate::LockOptions::progress_within).
    pub fn heartbeat(&self) {
        self.0.heartbeat();
    }

    /// Calls `work`, and resigns then, also if it panics. Work is not stopped when the leadership is lost; see [`Done::lost`].
    #[track_caller]
    pub fn run<T>(self, work: impl FnOnce(&Self) -> T) -> Done<T> {
        let work = self.0.as_guard().hold().within(|| work(&self));
        self.into_guard().done(work)
    }

    /// Ends the leadership on every node, and tells what became of it. Waits until a quorum is known to be free of it, for the
    /// nodes' time limit at most.
    ///
    /// # Source
    /// As [`LeaseGuard::release`].
    #[track_caller]
    pub fn resign(self) -> ReleaseOutcome {
        wait(self.0.resign())
    }
}

impl Leaders {
    /// Waits for the next change as the iterator does, but for `limit` of the machine's time at most:
    /// [`Pending`](Poll::Pending) if there was nothing to tell so long. That loses nothing: the next call tells what this one would
    /// have told.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// use leasehold::ElectionState;
    ///
    /// let manager = leasehold::LockManager::builder().memory(3).build()?.blocking();
    /// let mut leaders = manager.election("scheduler")?.observe();
    /// assert_eq!(leaders.next(), Some(ElectionState::NoLeader));
    /// assert!(leaders.next_within(Duration::from_millis(10)).is_pending());
    /// # Ok(())
    /// # }
    /// ```
    pub fn next_within(&mut self, limit: Duration) -> Poll<Option<ElectionState>> {
        wait_within(limit, self.0.next()).map_or(Poll::Pending, Poll::Ready)
    }

    /// What each node said at the last look; none before the first one.
    #[must_use]
    pub const fn inspection(&self) -> Option<&Inspection> {
        self.0.inspection()
    }
}

/// Waits until it is known who leads, the first time, and until that has changed after that: **for ever, if it does not**. It
/// ends when the manager was shut down. See [`Leaders::next`](crate::Leaders::next).
impl Iterator for Leaders {
    type Item = ElectionState;

    #[track_caller]
    fn next(&mut self) -> Option<ElectionState> {
        wait(self.0.next())
    }
}
