//! Threads that want the same lock all the time, and what they have seen.

use super::block_on;
use leasehold::{AcquireError, Instant, LockManager, ManagerBuilder, clock::Clock};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// Somebody had the lock from then until then at least, with this token.
#[derive(Clone, Copy, Debug)]
struct Hold {
    from: Instant,
    until: Instant,
    token: u64,
}

/// Threads that want the same lock all the time.
#[derive(Default)]
pub(crate) struct Rivals {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    holds: Mutex<Vec<Hold>>,
    disagreements: AtomicUsize,
    lost: AtomicUsize,
}

impl Rivals {
    /// Adds one that gives the lock back after so many turns of 2 ms.
    pub(crate) fn join(&mut self, builder: ManagerBuilder, turns: usize) -> Arc<AtomicUsize> {
        let (shared, wins) = (Arc::clone(&self.shared), Arc::new(AtomicUsize::new(0)));
        let won = Arc::clone(&wins);
        let manager = builder.build().expect("good addresses");
        self.threads.push(thread::spawn(move || {
            while !shared.stop.load(SeqCst) {
                shared.turn(&manager, turns, &won);
                pause();
            }
        }));
        wins
    }

    pub(crate) fn disagreements(&self) -> usize {
        self.shared.disagreements.load(SeqCst)
    }

    /// How often one held on until it was lost.
    pub(crate) fn lost(&self) -> usize {
        self.shared.lost.load(SeqCst)
    }

    /// Nobody ever had it while another had, and tokens only grew.
    pub(crate) fn end(self) {
        self.shared.stop.store(true, SeqCst);
        for thread in self.threads {
            thread.join().expect("it only tries");
        }
        let mut holds = self.shared.holds.lock().expect("none panicked").clone();
        holds.sort_by_key(|hold| hold.from);
        for pair in holds.windows(2) {
            assert!(pair[0].until <= pair[1].from, "overlap: {pair:?}");
            assert!(pair[0].token < pair[1].token, "tokens: {pair:?}");
        }
    }
}

impl Shared {
    fn turn(&self, manager: &LockManager, turns: usize, won: &AtomicUsize) {
        let clock = Clock::system();
        let mutex = manager.mutex("r").expect("a plain name");
        let guard = match block_on(mutex.try_acquire()) {
            Ok(guard) => guard,
            Err(error) => {
                let disagrees = matches!(error, AcquireError::Disagreement { .. });
                self.disagreements.fetch_add(disagrees.into(), SeqCst);
                return;
            }
        };
        let from = clock.now();
        won.fetch_add(1, SeqCst);
        let mut until = from;
        for _ in 0..turns {
            let now = clock.now();
            if !guard.is_valid() {
                self.lost.fetch_add(1, SeqCst);
                break;
            }
            until = now;
            if self.stop.load(SeqCst) {
                break;
            }
            pause();
        }
        let token = guard.fencing_token().get();
        let hold = Hold { from, until, token };
        self.holds.lock().expect("none panicked").push(hold);
        drop(block_on(guard.release()));
    }
}

#[expect(clippy::disallowed_methods, reason = "rivals give each other turns")]
fn pause() {
    thread::sleep(Duration::from_millis(2));
}
