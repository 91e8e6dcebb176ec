//! Locks for threads, of any kind of thread.

use crate::support::eventually;
use leasehold::{
    AcquireError, AdoptError, LockManager, LockOptions, LossCause, ReleaseOutcome, blocking,
    link::memory::MemoryNode,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);

fn manager() -> blocking::LockManager {
    let builder = LockManager::builder().memory(3);
    builder.build().expect("three nodes").blocking()
}

#[test]
fn threads_have_the_lock_one_after_the_other() {
    let manager = manager();
    let mutex = manager.mutex("r").expect("a plain name");
    let (inside, turns) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..25 {
                    let guard = mutex.acquire_within(MINUTE).expect("others give it back");
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    thread::yield_now();
                    assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                    turns.fetch_add(1, Ordering::SeqCst);
                    assert_eq!(guard.release(), ReleaseOutcome::Released);
                }
            });
        }
    });
    assert_eq!(turns.into_inner(), 100);
}

#[test]
fn a_dropped_guard_releases_and_so_does_a_panic_in_the_work() {
    let manager = manager();
    let mutex = manager.mutex("r").expect("a plain name");
    drop(mutex.acquire().expect("it is free"));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = mutex.hold(|_| panic!("the work fails"));
    }));
    assert!(panicked.is_err());
    let guard = mutex.acquire_within(MINUTE).expect("it was released");
    assert!(
        mutex
            .try_acquire()
            .is_err_and(|error| error.is_contention())
    );
    assert!(guard.release().is_released());
    assert_eq!(manager.shutdown(), Some(0));
}

#[test]
fn patience_ends_by_the_clock() {
    let manager = manager();
    let mutex = manager.mutex("r").expect("a plain name");
    let _guard = mutex.acquire().expect("it is free");
    let refused = mutex.acquire_within(20 * MS).expect_err("it is held");
    assert!(
        matches!(refused, AcquireError::TimedOut { .. }),
        "{refused}"
    );
}

#[test]
fn work_is_told_afterwards_that_its_lease_was_lost() {
    let manager = manager();
    let options = LockOptions::new().ttl(200 * MS).no_renewal();
    let mutex = manager.mutex_with("r", options).expect("they go together");
    let done = mutex
        .hold(|lease| {
            let lost = lease.lost();
            assert!(!lease.is_valid());
            assert_eq!(lease.lost_within(Duration::ZERO), Some(lost.clone()));
            assert!(lease.changed().is_lost());
            lost
        })
        .expect("it is free");
    assert_eq!(done.lost, Some(done.work));
    assert_eq!(done.release, ReleaseOutcome::AlreadyExpired);
}

#[test]
fn a_lease_of_a_thread_is_extended_and_handed_over_as_that_of_a_task() {
    let manager = manager();
    let guard = manager.mutex("r").map(|mutex| mutex.acquire());
    let guard = guard.expect("a plain name").expect("it is free");
    let before = guard.valid_until();
    guard.extend().expect("the nodes are there");
    assert!(guard.valid_until() > before);
    guard.extend_to(MINUTE).expect("the nodes are there");
    guard.ensure(30 * 1_000 * MS).expect("a minute is left");
    guard.heartbeat();
    let token = guard.fencing_token();
    let text = guard.hand_over().expect("it is held");
    let short = LockOptions::new().ttl(500 * MS);
    let guard = manager.adopt_with(&text, short);
    let guard = guard.expect("nobody was faster");
    assert!(guard.fencing_token() > token);
    let again = manager.adopt(&text).expect_err("it was adopted");
    assert!(matches!(again, AdoptError::Gone { .. }), "{again}");
    let holder = manager.inspect("r").expect("a plain name");
    assert_eq!(holder.holder(), Some(guard.owner()));
    let eviction = manager.force_release("r").expect("a plain name");
    assert_eq!(eviction.evicted.len(), 1);
    let lost = guard.lost_within(MINUTE).expect("its keys are gone");
    assert!(matches!(lost.cause, LossCause::Gone { .. }), "{lost}");
}

#[test]
fn a_shutdown_ends_the_waiting_of_other_threads() {
    let manager = manager();
    let options = LockOptions::new().tries_unlimited();
    let mutex = manager.mutex_with("r", options).expect("they go together");
    let _guard = mutex.acquire().expect("it is free");
    thread::scope(|threads| {
        let waiting = threads.spawn(|| mutex.acquire().map(drop));
        // Whether it waits already makes no difference to what it is told.
        assert_eq!(manager.shutdown(), Some(0));
        let told = waiting.join().expect("it does not panic");
        assert!(
            matches!(told, Err(AcquireError::ShutDown { .. })),
            "{told:?}"
        );
    });
}

/// More calls than tokio lets a task make before it must let others run: then whatever is awaited says that it is not
/// ready, and whoever asks is woken when the task has let them.
const CALLS: u32 = 400;

#[test]
fn a_call_in_a_task_ends_though_the_task_never_yields() {
    let threads = tokio::runtime::Builder::new_multi_thread().build();
    let one = tokio::runtime::Builder::new_current_thread().build();
    for runtime in [threads, one] {
        let runtime = runtime.expect("a runtime");
        let turns = runtime.block_on(async {
            let task = tokio::spawn(async {
                let manager = manager();
                let mutex = manager.mutex("r").expect("a plain name");
                let turns = (0..CALLS).filter(|_| {
                    let guard = mutex.acquire().expect("nobody else wants it");
                    guard.release().is_released()
                });
                turns.count()
            });
            task.await.expect("it does not panic")
        });
        assert_eq!(turns, CALLS as usize);
    }
}

#[test]
fn threads_and_tasks_of_one_manager_exclude_each_other() {
    let node = MemoryNode::new();
    let builder = LockManager::builder().memory_node(&node);
    let manager = builder.build().expect("one node");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(async {
        let mutex = manager.mutex("r").expect("a plain name");
        let guard = mutex.acquire().await.expect("it is free");
        let other = manager.blocking();
        let thread = thread::spawn(move || {
            let mutex = other.mutex("r").expect("a plain name");
            let guard = mutex.acquire_within(MINUTE).expect("it is given back");
            guard.into_async()
        });
        eventually("it is held", || !guard.remaining().is_zero());
        assert!(guard.release().await.is_released());
        let guard = thread.join().expect("it does not panic");
        assert!(guard.is_valid());
        assert!(guard.release().await.is_released());
    });
}
