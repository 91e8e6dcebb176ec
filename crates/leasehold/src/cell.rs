//! What everybody who is concerned with one acquisition, and with the lease that it wins, has in common: the caller,
//! the guard, the shell and the deadlines.
//!
//! Several threads are here at once, so `tests/orders` tries the orders in which they can come.

use crate::{
    answer::Awaited,
    clock::Clock,
    error::{Danger, LeaseLost, LossCause},
    fork::Process,
    state::LeaseState,
    sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering, PoisonError},
};
use leasehold_core::{AcquireFailure, Instant, Lease, OperationId, ReleaseOutcome, Resource};
use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

/// One acquisition, and its lease. The shell writes it, the deadlines end it, the guard reads it.
#[derive(Debug)]
pub(crate) struct Cell {
    /// The acquisition.
    operation: OperationId,
    /// What the caller waits for.
    pub(crate) acquired: Awaited<Acquired>,
    /// What the holder waits for that has let go.
    pub(crate) ended: Awaited<Ended>,
    resource: Resource,
    clock: Clock,
    /// The one whose lease it is. A child that was forked has a copy, which nobody keeps.
    process: Process,
    /// In nanoseconds since the clock's origin: 0 before there is a lease. Moves forward only, until it is 0: lost.
    valid_until_ns: AtomicU64,
    /// When the first request left since the lease was last confirmed, in the same way: 0 if none has.
    tried_ns: AtomicU64,
    /// Whether the loss was seen on the clock before the shell had told why.
    is_by_clock: AtomicBool,
    /// Whether somebody was told that nothing is left.
    is_told: AtomicBool,
    /// Whether the holder has let go, so that there is nothing to lose any more.
    is_let_go: AtomicBool,
    /// When progress was last reported to the shell, in milliseconds.
    heartbeat_ms: AtomicU64,
    told: Mutex<LeaseNews>,
}

/// What was told of a lease, and who is to be told more. Nothing in it is made before somebody asks for it: most
/// leases are released before anybody waits for their loss.
#[derive(Debug)]
struct LeaseNews {
    state: LeaseState,
    /// How often the state has changed.
    changes: u64,
    /// Who waits for the next change, by the numbers of their waits.
    waiting: Vec<(u64, Waker)>,
    waits: u64,
    /// The process whose deadlines watch over the lease.
    watched_by: Option<Process>,
    /// Cancelled with the loss.
    #[cfg(feature = "cancellation")]
    token: Option<tokio_util::sync::CancellationToken>,
}

/// The shell's side of a cell. If it is dropped, what it owes does not come any more.
#[derive(Debug)]
pub(crate) struct ShellSide(pub(crate) Arc<Cell>);

impl Drop for ShellSide {
    fn drop(&mut self) {
        self.0.acquired.desert();
        self.0.ended.desert();
    }
}

/// What became of an acquisition.
pub(crate) type Acquired = Result<Lease, Box<AcquireFailure>>;

/// What became of a lease that its holder has let go.
#[derive(Debug)]
pub(crate) enum Ended {
    Released(ReleaseOutcome),
    /// Whether it was there to be handed over.
    HandedOver(bool),
}

/// How long the shell has to tell why a lease is over, before the clock's word must do.
pub(crate) const MOMENT: Duration = Duration::from_millis(5);

/// Heartbeats that come sooner after another are not passed on.
const HEARTBEAT_MS: u64 = 5;

impl Cell {
    pub(crate) fn new(operation: OperationId, resource: Resource, clock: Clock) -> Self {
        Self {
            operation,
            acquired: Awaited::new(),
            ended: Awaited::new(),
            resource,
            clock,
            process: Process::this(),
            valid_until_ns: AtomicU64::new(0),
            tried_ns: AtomicU64::new(0),
            is_by_clock: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
            is_let_go: AtomicBool::new(false),
            heartbeat_ms: AtomicU64::new(0),
            told: Mutex::new(LeaseNews {
                state: LeaseState::Held,
                changes: 0,
                waiting: Vec::new(),
                waits: 0,
                watched_by: None,
                #[cfg(feature = "cancellation")]
                token: None,
            }),
        }
    }

    /// The acquisition.
    pub(crate) const fn operation(&self) -> OperationId {
        self.operation
    }

    /// Gives the lease to the caller; false if the caller has gone.
    pub(crate) fn win(&self, lease: Lease) -> bool {
        // Before anybody can have it.
        self.begin(lease.valid_until);
        self.acquired.give(Ok(lease)).is_ok()
    }

    /// There is a lease from now on, until then.
    pub(crate) fn begin(&self, valid_until: Instant) {
        self.valid_until_ns
            .store(valid_until.nanos(), Ordering::Release);
    }

    /// A request to extend it leaves now. Only the shell says so.
    pub(crate) fn try_now(&self, now: Instant) {
        if self.tried().is_none() {
            self.tried_ns.store(now.nanos(), Ordering::Relaxed);
        }
    }

    /// When the first request left since the lease was last confirmed, if any did.
    pub(crate) fn tried(&self) -> Option<Instant> {
        let nanos = self.tried_ns.load(Ordering::Relaxed);
        (nanos > 0).then(|| Instant::from_nanos(nanos))
    }

    pub(crate) const fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) const fn resource(&self) -> &Resource {
        &self.resource
    }

    pub(crate) fn valid_until(&self) -> Instant {
        // Argument S6: of a copy in a child nobody is told anything any more, and the parent may release the lease.
        if !self.process.is_this() {
            return Instant::ORIGIN;
        }
        Instant::from_nanos(self.valid_until_ns.load(Ordering::Acquire))
    }

    /// How much of the lease is left, by the clock.
    pub(crate) fn remaining(&self) -> Duration {
        // Argument S6: from the clock, at the moment of the question. The clock is read last.
        let left = || self.valid_until().saturating_since(self.clock.now());
        let mut remaining = left();
        if remaining.is_zero() && !self.is_told.load(Ordering::Relaxed) {
            // A confirmation that was in time may be on its way. It comes before this answer, or it
            // comes too late.
            let _told = self.lock();
            remaining = left();
            self.is_told.store(remaining.is_zero(), Ordering::Relaxed);
        }
        remaining
    }

    /// The state, by the clock and not by what was told so far.
    pub(crate) fn state(&self) -> LeaseState {
        self.look(Duration::ZERO);
        match self.told() {
            LeaseState::Held | LeaseState::InDanger(_) if self.is_let_go() => LeaseState::Released,
            state => state,
        }
    }

    /// What was told so far.
    pub(crate) fn told(&self) -> LeaseState {
        self.lock().state.clone()
    }

    fn is_let_go(&self) -> bool {
        self.is_let_go.load(Ordering::Relaxed)
    }

    /// Why the lease is lost, if it is. The shell has a moment to tell, since it knows best.
    pub(crate) fn loss(&self) -> Option<LeaseLost> {
        self.look(MOMENT);
        match self.told() {
            LeaseState::Lost(lost) => {
                // A holder that hears of the loss here finds the token cancelled, also if another thread is about to do it.
                self.cancel();
                Some(lost)
            }
            _ => None,
        }
    }

    /// What there will be to tell from now on.
    pub(crate) fn changes(self: &Arc<Self>) -> Changes {
        let mut told = self.lock();
        told.waits += 1;
        let (seen, wait) = (told.changes, told.waits);
        drop(told);
        let cell = Arc::clone(self);
        Changes { cell, seen, wait }
    }

    /// Says whether this is the first time that somebody is to be told, so that the deadlines must watch from now on.
    pub(crate) fn is_first_watched(&self) -> bool {
        let this = Some(Process::this());
        std::mem::replace(&mut self.lock().watched_by, this) != this
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

    /// The lease ends sooner than it was said to. Says whether the deadlines must be told.
    pub(crate) fn cut(&self, valid_until: Instant) -> bool {
        let told = self.lock();
        self.valid_until_ns
            .fetch_min(valid_until.nanos(), Ordering::AcqRel);
        told.watched_by.is_some()
    }

    /// A quorum has confirmed the lease.
    pub(crate) fn confirm(&self, valid_until: Instant) {
        self.change(|state| {
            // Argument S6: what somebody may have been told to be over does not come back.
            if state.is_lost() || self.is_told.load(Ordering::Relaxed) {
                return false;
            }
            self.valid_until_ns
                .fetch_max(valid_until.nanos(), Ordering::AcqRel);
            self.tried_ns.store(0, Ordering::Relaxed);
            let changes = *state != LeaseState::Held;
            *state = LeaseState::Held;
            changes
        });
    }

    pub(crate) fn endanger(&self, danger: Danger) {
        self.change(|state| {
            let changes = !state.is_lost();
            if changes {
                *state = LeaseState::InDanger(danger);
            }
            changes
        });
    }

    /// Ends the lease. Only the first cause counts, but a cause counts more than the clock's word.
    pub(crate) fn lose(&self, cause: LossCause) {
        self.change(|state| {
            let changes = !state.is_lost() || self.is_by_clock.swap(false, Ordering::Relaxed);
            if changes {
                self.end(state, cause);
            }
            changes
        });
    }

    /// Ends the lease if its time was up `since` so long; says when to look again if it was not.
    pub(crate) fn look(&self, since: Duration) -> Option<Instant> {
        let mut next = None;
        self.change(|state| {
            if state.is_lost() || self.is_let_go() {
                return false;
            }
            // Read inside, so that a confirmation comes before or after, not in between.
            let over = self.valid_until().saturating_add(since);
            let now = self.clock.now();
            if now < over {
                next = Some(over);
                return false;
            }
            self.is_by_clock.store(true, Ordering::Relaxed);
            let trouble = match state {
                LeaseState::InDanger(danger) => danger.trouble_at(now, self.tried()),
                _ => None,
            };
            let cause = match self.process.is_this() {
                true => LossCause::TimedOut { trouble },
                false => LossCause::Forked,
            };
            self.end(state, cause);
            true
        });
        next
    }

    /// The holder lets go: what ends from now on is no loss.
    pub(crate) fn let_go(&self) {
        let _told = self.lock();
        self.is_let_go.store(true, Ordering::Relaxed);
        // Argument S6: who keeps the guard and asks it is told that nothing is left, whatever is confirmed later.
        self.is_told.store(true, Ordering::Relaxed);
        self.valid_until_ns.fetch_min(0, Ordering::AcqRel);
    }

    fn end(&self, state: &mut LeaseState, cause: LossCause) {
        self.valid_until_ns.store(0, Ordering::Release);
        let resource = self.resource.clone();
        *state = LeaseState::Lost(LeaseLost { resource, cause });
    }

    /// Changes the state, and tells those who wait if it did.
    fn change(&self, change: impl FnOnce(&mut LeaseState) -> bool) {
        let mut told = self.lock();
        if !change(&mut told.state) {
            return;
        }
        told.changes += 1;
        let (waiting, is_lost) = (std::mem::take(&mut told.waiting), told.state.is_lost());
        drop(told);
        // A waiter that is woken may ask for the state: only when nothing is locked any more.
        for (_, waker) in waiting {
            waker.wake();
        }
        if is_lost {
            self.cancel();
        }
    }

    /// Cancels the token, if there is one.
    fn cancel(&self) {
        #[cfg(feature = "cancellation")]
        {
            let token = self.lock().token.clone();
            if let Some(token) = token {
                token.cancel();
            }
        }
    }

    /// The token that is cancelled with the loss.
    #[cfg(feature = "cancellation")]
    pub(crate) fn token(&self) -> tokio_util::sync::CancellationToken {
        let mut told = self.lock();
        let (token, is_lost) = (
            told.token.get_or_insert_default().clone(),
            told.state.is_lost(),
        );
        drop(told);
        if is_lost {
            self.cancel();
        }
        // A child: a holder that cancels its own must not cancel everybody's.
        token.child_token()
    }

    /// How many wait for a change.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, LeaseNews> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one who waits has seen of a lease's changes.
#[derive(Debug)]
pub(crate) struct Changes {
    cell: Arc<Cell>,
    seen: u64,
    wait: u64,
}

impl Changes {
    /// Waits until the state has changed since the last time.
    pub(crate) async fn next(&mut self) {
        std::future::poll_fn(|cx| self.poll(cx)).await;
    }

    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut told = self.cell.lock();
        if told.changes != self.seen {
            self.seen = told.changes;
            return Poll::Ready(());
        }
        let before = told.stop(self.wait);
        told.waiting.push((self.wait, waker));
        drop(told);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let waker = self.cell.lock().stop(self.wait);
        drop(waker);
    }
}

impl LeaseNews {
    /// Who waits no more. It may be the last that keeps a task: to be dropped only when nothing is locked any more.
    fn stop(&mut self, wait: u64) -> Option<Waker> {
        let place = self.waiting.iter().position(|(it, _)| *it == wait)?;
        Some(self.waiting.swap_remove(place).1)
    }
}
