//! Managers whose work is a task of the caller's runtime, as long as that turns it.

use crate::support::{block_on, eventually};
use leasehold::{LockManager, LockOptions, ManagerBuilder};
use leasehold_servers::{ServerSet, require_server};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

const MS: Duration = Duration::from_millis(1);

fn one_thread() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

fn two_threads() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

fn manager(runtime: &Runtime) -> LockManager {
    let builder = LockManager::builder().memory(3);
    let builder = builder.on_runtime(runtime.handle().clone());
    builder
        .build()
        .expect("three nodes and the default options")
}

/// How many threads this process has that are called as a manager's own.
fn own_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("this is Linux");
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|name| name.trim() == "leasehold")
        .count()
}

#[test]
fn it_locks_on_real_servers_on_either_kind_of_runtime() {
    require_server();
    let servers = ServerSet::start(3).expect("the servers start");
    for runtime in [one_thread(), two_threads()] {
        let builder = LockManager::builder().nodes(servers.urls());
        let builder = builder.on_runtime(runtime.handle().clone());
        let manager = builder.build_plain().expect("three nodes");
        let inside = Arc::new(AtomicU32::new(0));
        runtime.block_on(async {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..8 {
                let (mutex, inside) = (manager.mutex("r").expect("a name"), Arc::clone(&inside));
                tasks.spawn(async move {
                    let guard = mutex
                        .acquire_within(60_000 * MS)
                        .await
                        .expect("in its turn");
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "alone");
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    assert!(guard.release().await.is_released());
                });
            }
            while let Some(done) = tasks.join_next().await {
                done.expect("no task panics");
            }
            assert_eq!(manager.shutdown().await, Some(0));
        });
    }
}

/// What marks the process of its own in which a test runs once more.
pub(crate) const ALONE: &str = "LEASEHOLD_TEST_ALONE";

#[test]
fn a_manager_on_a_runtime_has_no_thread_of_its_own() {
    alone(
        "on_runtime::a_manager_on_a_runtime_has_no_thread_of_its_own",
        || {
            let runtime = one_thread();
            eventually("it is a task", || {
                threads_of_a_manager(&runtime, |builder| builder) == 0
            });
            let other = two_threads();
            let named = |builder: ManagerBuilder| builder.on_runtime(other.handle().clone());
            eventually("it is a task", || {
                threads_of_a_manager(&runtime, named) == 0
            });
            // The counting is not blind.
            let apart = ManagerBuilder::own_thread;
            eventually("it has a thread", || {
                threads_of_a_manager(&runtime, apart) == 1
            });
        },
    );
}

/// How many threads of ours there are while a lock is held. More, if the runtime was kept from turning it in time by whatever
/// else this machine does, or if one before was.
fn threads_of_a_manager(
    runtime: &Runtime,
    place: impl FnOnce(ManagerBuilder) -> ManagerBuilder,
) -> usize {
    runtime.block_on(async {
        let builder = place(LockManager::builder().memory(3));
        let manager = builder.build_plain().expect("three nodes");
        let mutex = manager.mutex("r").expect("a name");
        let guard = mutex.acquire().await.expect("it is free");
        let threads = own_threads();
        assert!(guard.release().await.is_released());
        threads
    })
}

/// Runs this part of the test of this name in a process of its own: other tests have managers with threads.
fn alone(name: &str, part: impl FnOnce()) {
    match std::env::var_os(ALONE) {
        None => again_alone(name),
        Some(_) => part(),
    }
}

/// Runs the test of this name in a process in which nothing else runs.
pub(crate) fn again_alone(name: &str) {
    let program = std::env::current_exe().expect("this program has a file");
    let output = std::process::Command::new(program)
        .args(["--exact", name, "--test-threads", "1", "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("it runs once more");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("test result: ok. 1 passed"),
        "{told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn callers_need_not_be_on_that_runtime() {
    let runtime = two_threads();
    let manager = manager(&runtime);
    let mutex = manager.mutex("r").expect("a name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    assert!(
        block_on(mutex.try_acquire())
            .expect_err("it is held")
            .is_contention()
    );
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn leases_are_extended_while_the_runtime_has_a_thread_to_spare() {
    let runtime = two_threads();
    let manager = manager(&runtime);
    let options = LockOptions::new().ttl(200 * MS);
    let mutex = manager.mutex_with("r", options).expect("a name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    let first = guard.valid_until();
    eventually("it was extended", || guard.valid_until() > first);
    assert!(guard.is_valid());
}
