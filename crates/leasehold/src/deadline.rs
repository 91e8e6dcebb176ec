//! The thread that tells the end of leases, whatever the managers' threads do.
//!
//! A manager's thread tells of a loss as well. But it turns the crank for many, calls functions of the
//! user and waits for a file system; and its timers stand still while the machine sleeps. So one thread of
//! the process does nothing but look at the clock: at each lease's end, and twice a second while there are
//! leases, since no timer tells how much time a suspended or paused machine has lost.

use crate::{
    cell::{Cell, Changes, MOMENT},
    clock::Clock,
    fork::PerProcess,
};
use leasehold_core::Instant;
use std::{
    collections::BTreeMap,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::Duration,
};

/// Lets the process's one thread watch over the ends of leases.
#[derive(Debug)]
pub(crate) struct Deadlines {
    queue: Mutex<DeadlineQueue>,
    added: Condvar,
}

#[derive(Debug, Default)]
struct DeadlineQueue {
    /// By when to look, and a number for those of one moment.
    leases: BTreeMap<(Instant, u64), Weak<Cell>>,
    number: u64,
    /// At how many leases those that nobody has any more are thrown out.
    sweep_at: usize,
}

/// Those of this process, which run from the first manager on.
static DEADLINES: PerProcess<Deadlines> = PerProcess::new();

/// So few are worth no sweep.
const SWEEP: usize = 1_024;

/// How long a change of the clock can stay unnoticed.
const LOOK: Duration = Duration::from_millis(500);

impl Deadlines {
    /// The process's deadlines; starts the thread if it does not run yet.
    ///
    /// # Errors
    /// If the system has no thread to give.
    pub(crate) fn start() -> io::Result<&'static Self> {
        let new = || Self {
            queue: Mutex::new(DeadlineQueue::default()),
            added: Condvar::new(),
        };
        let start = |deadlines: &'static Self| {
            let thread = thread::Builder::new().name("leasehold-ends".into());
            thread.spawn(|| deadlines.watch()).map(drop)
        };
        DEADLINES.get_or_start(new, start)
    }

    /// What the holder of this lease will be told. The first who wants to know lets the deadlines watch: nobody has to be
    /// told of the end of a lease that nobody waits for, and who asks sees it on the clock.
    pub(crate) fn changes(lease: &Arc<Cell>) -> Changes {
        let changes = lease.changes();
        Self::watched(lease);
        changes
    }

    /// The token that is cancelled with the loss of this lease.
    #[cfg(feature = "cancellation")]
    pub(crate) fn token(lease: &Arc<Cell>) -> tokio_util::sync::CancellationToken {
        let token = lease.token();
        Self::watched(lease);
        token
    }

    /// Somebody waits: the lease is watched from now on, if it was not.
    fn watched(lease: &Arc<Cell>) {
        if lease.is_first_watched()
            && let Ok(deadlines) = Self::start()
        {
            deadlines.add(lease);
        }
    }

    /// The lease ends sooner than it was said to.
    pub(crate) fn cut(&self, lease: &Arc<Cell>, valid_until: Instant) {
        if lease.cut(valid_until) {
            self.add(lease);
        }
    }

    /// Watches over this lease, until nobody has it any more.
    fn add(&self, lease: &Arc<Cell>) {
        // Where a test lets time pass, the manager has told all there is before anybody can ask.
        if !lease.clock().passes() {
            return;
        }
        let mut queue = self.lock();
        let earliest = queue.next();
        let at = lease.valid_until();
        queue.push(at, Arc::downgrade(lease));
        drop(queue);
        if earliest.is_none_or(|earliest| at < earliest) {
            self.added.notify_one();
        }
    }

    fn watch(&self) {
        let clock = Clock::system();
        let mut queue = self.lock();
        loop {
            while let Some(lease) = queue.take_due(clock.now()) {
                // A holder that is told may take its time, ask for a lease, or panic: nobody else waits for that.
                drop(queue);
                let next = look(&lease);
                queue = self.lock();
                if let Some(next) = next {
                    queue.push(next, lease);
                }
            }
            let rest = queue
                .next()
                .map(|at| at.saturating_since(clock.now()).min(LOOK));
            queue = match rest {
                None => self
                    .added
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(rest) => {
                    self.added
                        .wait_timeout(queue, rest)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, DeadlineQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the loss, or says when to look again. Most leases were extended since, or are gone.
fn look(lease: &Weak<Cell>) -> Option<Instant> {
    let look = || lease.upgrade().and_then(|lease| lease.look(MOMENT));
    catch_unwind(AssertUnwindSafe(look)).unwrap_or_default()
}

impl DeadlineQueue {
    fn push(&mut self, at: Instant, lease: Weak<Cell>) {
        let number = self.number;
        self.number += 1;
        if self.leases.len() >= self.sweep_at {
            self.leases.retain(|_, lease| lease.strong_count() > 0);
            self.sweep_at = SWEEP.max(2 * self.leases.len());
        }
        self.leases.insert((at, number), lease);
    }

    fn take_due(&mut self, now: Instant) -> Option<Weak<Cell>> {
        let first = self.leases.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// When to look next.
    fn next(&self) -> Option<Instant> {
        self.leases.first_key_value().map(|((at, _), _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::LeaseState;
    use leasehold_core::{OperationId, Resource};

    fn status(valid_until: Instant) -> Arc<Cell> {
        let resource = Resource::new("r").expect("a name");
        let cell = Cell::new(OperationId::new(0), resource, Clock::system());
        cell.begin(valid_until);
        Arc::new(cell)
    }

    /// What was told, which is not what one sees who asks.
    fn is_told(lease: &Cell) -> bool {
        matches!(lease.told(), LeaseState::Lost(_))
    }

    #[test]
    fn leases_are_due_at_their_ends_and_not_before() {
        let (mut queue, now) = (DeadlineQueue::default(), Clock::system().now());
        let over = status(Instant::ORIGIN);
        let lasts = status(now.saturating_add(Duration::from_secs(60)));
        for lease in [&lasts, &over] {
            queue.push(lease.valid_until(), Arc::downgrade(lease));
        }
        let due = queue.take_due(now).expect("one is over");
        assert_eq!(look(&due), None, "what was told is not watched any more");
        assert!(is_told(&over));
        assert!(queue.take_due(now).is_none());
        assert_eq!(queue.next(), Some(lasts.valid_until()));
    }

    #[test]
    fn a_lease_that_was_extended_is_watched_to_its_new_end() {
        let end = Clock::system()
            .now()
            .saturating_add(Duration::from_secs(60));
        let lease = status(end);
        let next = look(&Arc::downgrade(&lease));
        assert!(!is_told(&lease));
        assert_eq!(next, Some(end.saturating_add(MOMENT)));
    }

    #[test]
    fn leases_that_nobody_has_are_thrown_out_long_before_their_ends() {
        let mut queue = DeadlineQueue::default();
        let end = Clock::system()
            .now()
            .saturating_add(Duration::from_secs(3_600));
        let kept = status(end);
        queue.push(end, Arc::downgrade(&kept));
        for _ in 0..10 * SWEEP {
            queue.push(end, Arc::downgrade(&status(end)));
            assert!(queue.leases.len() <= SWEEP);
        }
        assert!(queue.leases.values().any(|lease| lease.strong_count() > 0));
    }

    #[test]
    fn the_thread_tells_a_loss_though_nobody_asks_and_no_shell_runs() {
        let clock = Clock::system();
        let later = |span| clock.now().saturating_add(span);
        let deadlines = Deadlines::start().expect("the system has a thread to give");
        let far = status(later(Duration::from_secs(60)));
        deadlines.add(&far);
        let near = status(later(Duration::from_millis(2)));
        deadlines.add(&near);
        let give_up = later(Duration::from_secs(30));
        while !is_told(&near) {
            assert!(clock.now() < give_up, "it was never told");
            thread::yield_now();
        }
        assert!(!is_told(&far));
    }

    #[test]
    fn the_first_who_waits_lets_the_thread_watch_and_who_cuts_lets_it_look_sooner() {
        let clock = Clock::system();
        let later = |millis| clock.now().saturating_add(Duration::from_millis(millis));
        let deadlines = Deadlines::start().expect("the system has a thread to give");
        let (unseen, near, cut) = (status(later(2)), status(later(2)), status(later(60_000)));
        let _changes = [Deadlines::changes(&near), Deadlines::changes(&cut)];
        for lease in [&unseen, &cut] {
            deadlines.cut(lease, later(1));
        }
        let give_up = later(30_000);
        while !is_told(&near) || !is_told(&cut) {
            assert!(clock.now() < give_up, "it was never told");
            thread::yield_now();
        }
        // Nobody waits, and who asks is told.
        assert!(!is_told(&unseen) && unseen.state().is_lost());
    }
}
