//! Leadership in somebody's hands.

use crate::{
    error::LeaseLost,
    guard::LeaseGuard,
    mode::{Fenced, Mode},
    outcome::ReleaseOutcome,
    state::LeaseState,
    work::Done,
};
use leasehold_core::{FencingToken, Instant, Owner, Resource};
use std::time::Duration;

/// The right to lead, from the election until [`valid_until`](Self::valid_until), which moves on as the manager extends it.
///
/// It is a [`LeaseGuard`] that [`Election::campaign`](crate::Election::campaign) won, and can be
/// [turned into one](Self::into_guard), or be made [of one](Self::from). All that is said there holds here: it is told in time
/// when the leadership is lost, at any moment from the clock, whether or not anything else of the program runs.
///
/// Dropping it resigns in the background, so another candidate is elected at once, and not when a TTL is over. **A program that
/// ends at once takes the background with it**: call [`LockManager::shutdown`](crate::LockManager::shutdown) at the end of
/// `main`. To know what became of it, call [`resign`](Self::resign).
#[derive(Debug)]
#[must_use = "dropping it resigns"]
pub struct Leadership<M: Mode = Fenced>(LeaseGuard<M>);

impl<M: Mode> From<LeaseGuard<M>> for Leadership<M> {
    /// Whoever holds the lock of an election's name is its leader: one that was [handed over](LeaseGuard::hand_over), say. Its
    /// options stay what they are, a [`max_hold`](crate::LockOptions::max_hold) of a day among them.
    fn from(guard: LeaseGuard<M>) -> Self {
        Self(guard)
    }
}

impl Leadership {
    /// The number of this leadership: larger than that of every leader before, whatever clocks, networks and pauses did, as
    /// long as the nodes keep their counters. It is the lease's [fencing token](LeaseGuard::fencing_token).
    ///
    /// Send it with everything that is to be done by the leader alone, and let the receiver refuse a term that is smaller
    /// than the largest it has seen, in the step that does it: [`fence`](crate::fence) has that for databases. A leader
    /// that does not know yet that it was succeeded can then do no harm.
    ///
    /// Terms are not consecutive. [`token`](Self::token) is for code that is generic over the mode.
    ///
    /// # Panics
    /// Never: a leadership of this kind is not handed out without a term.
    ///
    /// # Source
    /// Argument [S4](crate::safety#s4).
    #[must_use]
    pub fn term(&self) -> FencingToken {
        self.0.fencing_token()
    }
}

impl<M: Mode> Leadership<M> {
    /// The [term](Leadership::term), for code that is generic over the mode: none for [`Plain`](crate::Plain) locks, which have
    /// none, and never none for others.
    #[must_use]
    pub const fn token(&self) -> Option<FencingToken> {
        self.0.token()
    }

    /// The lease that it is.
    pub const fn as_guard(&self) -> &LeaseGuard<M> {
        &self.0
    }

    /// The lease that it is, to be kept or [handed over](LeaseGuard::hand_over).
    pub fn into_guard(self) -> LeaseGuard<M> {
        self.0
    }

    /// The election's name.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        self.0.resource()
    }

    /// The value that signs the leader's keys, another one for each leadership: what observers know it by.
    #[must_use]
    pub const fn owner(&self) -> &Owner {
        self.0.owner()
    }

    /// Whether this is the leader now: nobody else has been elected. Reads the clock.
    ///
    /// **A program may be stopped between this answer and what it does upon it**, for any length of time: what must not be
    /// done by a former leader needs the [term](Leadership::term) as well.
    ///
    /// # Source
    /// Argument [S6](crate::safety#s6).
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0.is_valid()
    }

    /// For how long this is the leader if no extension succeeds; zero if it is none. Reads the clock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// The same as a moment of the manager's [`clock`](crate::LockManager::clock); the clock's origin once the leadership is
    /// lost.
    #[must_use]
    pub fn valid_until(&self) -> Instant {
        self.0.valid_until()
    }

    /// How safe the leadership is, by the clock and by what the last extensions met with.
    #[must_use]
    pub fn state(&self) -> LeaseState {
        self.0.state()
    }

    /// Waits until the leadership is lost, and tells why: before anybody else can be elected. The future borrows nothing. It
    /// is never ready after a [resignation](Self::resign). See [`LeaseGuard::lost`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::time::Duration;
    /// use leasehold::{LockManager, LockOptions};
    ///
    /// let manager = LockManager::builder().memory(3).build()?;
    /// // So that it is over soon.
    /// let options = LockOptions::new().max_hold(Duration::from_millis(50));
    /// let leadership = manager.election_with("scheduler", options)?.campaign().await?;
    /// println!("{}; stopping", leadership.lost().await);
    /// assert!(!leadership.is_leader());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Source
    /// Argument [S6](crate::safety#s6).
    pub fn lost(&self) -> impl Future<Output = LeaseLost> + Send + Sync + use<M> {
        self.0.lost()
    }

    /// Waits for the next change of the [state](Self::state). See [`LeaseGuard::changed`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn changed(&self) -> LeaseState {
        self.0.changed().await
    }

    /// A token that is cancelled when the leadership is lost, for code that takes one. It is not cancelled by a resignation.
    #[cfg(feature = "cancellation")]
    #[must_use]
    pub fn cancellation_token(&self) -> tokio_util::sync::CancellationToken {
        self.0.cancellation_token()
    }

    /// Says that the leader is at work. Needed only with [`progress_within`](crate::LockOptions::progress_within), and cheap
    /// enough to be called for every step.
    pub fn heartbeat(&self) {
        self.0.heartbeat();
    }

    /// Does `work` as long as this is the leader, and resigns then. If the leadership is lost, the work is dropped where it
    /// stands, at its last `await`. Work that needs the leadership is given to [`Election::lead`](crate::Election::lead), which
    /// lends it.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work and resigns in the background; so does a panic of the work.
    pub async fn run<T>(self, work: impl Future<Output = T>) -> Done<T> {
        self.0.run(work).await
    }

    /// Ends the leadership on every node, and tells what became of it. The candidates are told, and one of them is elected.
    ///
    /// Waits until a quorum is known to be free of it, for the nodes' time limit at most. Nodes that did not answer are asked
    /// again in the background until the TTL has ended.
    ///
    /// # Cancel safety
    /// The resignation goes on in the background when the future is dropped.
    ///
    /// # Source
    /// As [`LeaseGuard::release`].
    pub async fn resign(self) -> ReleaseOutcome {
        self.0.release().await
    }
}
