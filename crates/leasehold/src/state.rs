//! How safe a lease is, as the guard, the shell and the deadlines share it.

use crate::{
    clock::Clock,
    error::{Danger, LeaseLost, LossCause},
};
use leasehold_core::{Instant, Resource};
use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};
use tokio::sync::watch;

/// How safe a lease is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeaseState {
    /// A quorum has confirmed it, and enough of its time is left.
    Held,
    /// It is valid, but nobody has confirmed it for long, and it ends soon.
    InDanger(Danger),
    /// It is over, for good.
    Lost(LeaseLost),
    /// Its holder has given it back.
    Released,
}

impl LeaseState {
    /// Whether the lease is over.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }

    /// Whether the lease is lost or released: it never changes again.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Released)
    }
}

/// `held`, `in danger: …`, `lost the lock "orders/42": …`, `released`.
impl fmt::Display for LeaseState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held => out.write_str("held"),
            Self::InDanger(danger) => write!(out, "in danger: {danger}"),
            Self::Lost(lost) => lost.fmt(out),
            Self::Released => out.write_str("released"),
        }
    }
}

/// What is known about one lease. The shell writes it, the deadlines end it, the guard reads it.
#[derive(Debug)]
pub(crate) struct LeaseStatus {
    resource: Resource,
    clock: Clock,
    /// In nanoseconds since the clock's origin. Moves forward only, until it is 0: lost.
    valid_until_ns: AtomicU64,
    state: watch::Sender<LeaseState>,
    /// Whether the loss was seen on the clock before the shell had told why.
    is_by_clock: AtomicBool,
    /// Whether somebody was told that nothing is left.
    is_told: AtomicBool,
    /// Whether the holder has let go, so that there is nothing to lose any more.
    is_let_go: AtomicBool,
    /// Cancelled with the loss.
    #[cfg(feature = "cancellation")]
    token: tokio_util::sync::CancellationToken,
    /// When progress was last reported to the shell, in milliseconds.
    heartbeat_ms: AtomicU64,
}

/// How long the shell has to tell why a lease is over, before the clock's word must do.
pub(crate) const MOMENT: Duration = Duration::from_millis(5);

/// Heartbeats that come sooner after another are not passed on.
const HEARTBEAT_MS: u64 = 5;

impl LeaseStatus {
    pub(crate) fn new(resource: Resource, clock: Clock, valid_until: Instant) -> Self {
        Self {
            resource,
            clock,
            valid_until_ns: AtomicU64::new(nanoseconds(valid_until)),
            state: watch::Sender::new(LeaseState::Held),
            is_by_clock: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
            is_let_go: AtomicBool::new(false),
            #[cfg(feature = "cancellation")]
            token: tokio_util::sync::CancellationToken::new(),
            heartbeat_ms: AtomicU64::new(0),
        }
    }

    pub(crate) const fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) const fn resource(&self) -> &Resource {
        &self.resource
    }

    pub(crate) fn valid_until(&self) -> Instant {
        Instant::from_origin(Duration::from_nanos(
            self.valid_until_ns.load(Ordering::Acquire),
        ))
    }

    /// How much of the lease is left, by the clock.
    pub(crate) fn remaining(&self) -> Duration {
        // Argument S6: from the clock, at the moment of the question. The clock is read last.
        let left = || self.valid_until().saturating_since(self.clock.now());
        let mut remaining = left();
        if remaining.is_zero() && !self.is_told.load(Ordering::Relaxed) {
            // A confirmation that was in time may be on its way. It comes before this answer, or it
            // comes too late.
            self.state.send_if_modified(|_| {
                remaining = left();
                self.is_told.store(remaining.is_zero(), Ordering::Relaxed);
                false
            });
        }
        remaining
    }

    /// The state, by the clock and not by what was told so far.
    pub(crate) fn state(&self) -> LeaseState {
        self.look(Duration::ZERO);
        match self.state.borrow().clone() {
            LeaseState::Held | LeaseState::InDanger(_) if self.is_let_go() => LeaseState::Released,
            state => state,
        }
    }

    fn is_let_go(&self) -> bool {
        self.is_let_go.load(Ordering::Relaxed)
    }

    /// Why the lease is lost, if it is. The shell has a moment to tell, since it knows best.
    pub(crate) fn loss(&self) -> Option<LeaseLost> {
        self.look(MOMENT);
        let loss = match &*self.state.borrow() {
            LeaseState::Lost(lost) => Some(lost.clone()),
            _ => None,
        };
        // Whoever hears of the loss here finds the token cancelled, also if another is about to do it.
        self.cancel_if(loss.is_some());
        loss
    }

    /// Waits for a change of the state after `seen`.
    pub(crate) fn subscribe(&self) -> watch::Receiver<LeaseState> {
        self.state.subscribe()
    }

    /// Whether a report of progress is worth passing on.
    pub(crate) fn is_heartbeat_news(&self, now: Instant) -> bool {
        let now_ms = u64::try_from(now.since_origin().as_millis()).unwrap_or(u64::MAX);
        let last_ms = self.heartbeat_ms.load(Ordering::Relaxed);
        let is_news = now_ms >= last_ms.saturating_add(HEARTBEAT_MS);
        if is_news {
            self.heartbeat_ms.store(now_ms, Ordering::Relaxed);
        }
        is_news
    }

    /// The lease ends sooner than it was said to.
    pub(crate) fn cut(&self, valid_until: Instant) {
        let valid_until_ns = nanoseconds(valid_until);
        self.state.send_if_modified(|_| {
            self.valid_until_ns
                .fetch_min(valid_until_ns, Ordering::AcqRel);
            false
        });
    }

    /// A quorum has confirmed the lease.
    pub(crate) fn confirm(&self, valid_until: Instant) {
        self.state.send_if_modified(|state| {
            // Argument S6: what somebody may have been told to be over does not come back.
            if state.is_lost() || self.is_told.load(Ordering::Relaxed) {
                return false;
            }
            self.valid_until_ns
                .fetch_max(nanoseconds(valid_until), Ordering::AcqRel);
            let changes = *state != LeaseState::Held;
            *state = LeaseState::Held;
            changes
        });
    }

    pub(crate) fn endanger(&self, danger: Danger) {
        self.state.send_if_modified(|state| {
            let changes = !state.is_lost();
            if changes {
                *state = LeaseState::InDanger(danger);
            }
            changes
        });
    }

    /// Ends the lease. Only the first cause counts, but a cause counts more than the clock's word.
    pub(crate) fn lose(&self, cause: LossCause) {
        let is_told = self.state.send_if_modified(|state| {
            let changes = !state.is_lost() || self.is_by_clock.swap(false, Ordering::Relaxed);
            if changes {
                self.end(state, cause);
            }
            changes
        });
        self.cancel_if(is_told);
    }

    /// Ends the lease if its time was up `since` so long; says when to look again if it was not.
    pub(crate) fn look(&self, since: Duration) -> Option<Instant> {
        let mut next = None;
        let is_told = self.state.send_if_modified(|state| {
            if state.is_lost() || self.is_let_go() {
                return false;
            }
            // Read inside, so that a confirmation comes before or after, not in between.
            let over = self.valid_until().saturating_add(since);
            if self.clock.now() < over {
                next = Some(over);
                return false;
            }
            self.is_by_clock.store(true, Ordering::Relaxed);
            let trouble = match state {
                LeaseState::InDanger(danger) => danger.trouble.clone(),
                _ => None,
            };
            self.end(state, LossCause::TimedOut { trouble });
            true
        });
        self.cancel_if(is_told);
        next
    }

    /// The holder lets go: what ends from now on is no loss.
    pub(crate) fn let_go(&self) {
        self.is_let_go.store(true, Ordering::Relaxed);
        self.state.send_if_modified(|_| {
            // Argument S6: who keeps the guard and asks it is told that nothing is left, whatever is confirmed later.
            self.is_told.store(true, Ordering::Relaxed);
            self.valid_until_ns.fetch_min(0, Ordering::AcqRel);
            false
        });
    }

    fn end(&self, state: &mut LeaseState, cause: LossCause) {
        self.valid_until_ns.store(0, Ordering::Release);
        let resource = self.resource.clone();
        *state = LeaseState::Lost(LeaseLost { resource, cause });
    }

    /// Whoever is woken by the token may ask for the state: only when nothing is locked any more.
    fn cancel_if(&self, is_told: bool) {
        #[cfg(feature = "cancellation")]
        if is_told {
            self.token.cancel();
        }
        #[cfg(not(feature = "cancellation"))]
        let _ = is_told;
    }

    /// The token that is cancelled with the loss.
    #[cfg(feature = "cancellation")]
    pub(crate) fn token(&self) -> tokio_util::sync::CancellationToken {
        // A child: whoever cancels theirs must not cancel everybody's.
        self.token.child_token()
    }
}

fn nanoseconds(instant: Instant) -> u64 {
    u64::try_from(instant.since_origin().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(left: Duration) -> LeaseStatus {
        let clock = Clock::system();
        let resource = Resource::new("r").expect("a name");
        LeaseStatus::new(resource, clock, clock.now().saturating_add(left))
    }

    #[test]
    fn a_lease_whose_time_is_up_is_lost_whoever_looks() {
        let status = status(Duration::ZERO);
        assert!(status.state().is_lost());
        let later = status.clock.now().saturating_add(Duration::from_secs(9));
        status.confirm(later);
        assert!(status.state().is_lost(), "nothing brings it back");
        assert!(status.remaining().is_zero());
    }

    #[test]
    fn a_lease_of_which_nothing_was_left_does_not_come_back() {
        let status = status(Duration::ZERO);
        assert!(status.remaining().is_zero());
        let later = status.clock.now().saturating_add(Duration::from_secs(9));
        status.confirm(later);
        assert!(status.remaining().is_zero(), "somebody was told");
    }

    #[test]
    fn a_lease_that_is_lost_before_its_end_has_nothing_left() {
        let status = status(Duration::from_secs(60));
        assert!(!status.remaining().is_zero());
        status.lose(LossCause::Stopped);
        assert!(status.remaining().is_zero());
    }

    #[test]
    fn a_lease_that_was_let_go_is_never_lost() {
        let status = status(Duration::ZERO);
        status.let_go();
        assert_eq!(status.look(Duration::ZERO), None);
        assert_eq!(status.loss(), None);
    }

    #[test]
    fn nothing_is_left_of_a_lease_that_was_let_go() {
        let status = status(Duration::from_secs(60));
        status.let_go();
        let later = status.clock.now().saturating_add(Duration::from_secs(9));
        status.confirm(later);
        assert!(status.remaining().is_zero());
        assert_eq!(status.state(), LeaseState::Released);
    }

    #[test]
    fn a_cause_counts_more_than_the_clocks_word() {
        let status = status(Duration::ZERO);
        assert!(status.state().is_lost());
        let limit = LossCause::ExtensionLimit { extensions: 1 };
        status.lose(limit.clone());
        assert_eq!(status.loss().map(|lost| lost.cause), Some(limit));
    }

    #[test]
    fn only_the_first_cause_counts() {
        let status = status(Duration::from_secs(60));
        status.lose(LossCause::ExtensionLimit { extensions: 1 });
        status.lose(LossCause::Stopped);
        let LeaseState::Lost(lost) = status.state() else {
            panic!("it is lost");
        };
        assert_eq!(lost.cause, LossCause::ExtensionLimit { extensions: 1 });
    }

    #[test]
    fn a_confirmation_ends_the_danger_and_shortens_nothing() {
        let status = status(Duration::from_secs(60));
        let before = status.valid_until();
        status.endanger(Danger {
            remaining: Duration::from_secs(1),
            trouble: None,
        });
        assert!(matches!(status.state(), LeaseState::InDanger(_)));
        status.confirm(Instant::ORIGIN);
        assert_eq!(status.state(), LeaseState::Held);
        assert_eq!(status.valid_until(), before);
    }
}
