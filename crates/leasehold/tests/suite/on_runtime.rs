//! Managers whose work is a task of the caller's runtime, as long as that turns it.

use crate::support::{block_on, eventually};
use leasehold::{LockManager, LockOptions};
use leasehold_servers::{Server, ServerSet, require_server};
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
    // Other tests of this program have managers with threads.
    require_server();
    if std::env::var_os(ALONE).is_none() {
        return again_alone("on_runtime::a_manager_on_a_runtime_has_no_thread_of_its_own");
    }
    let server = Server::start().expect("it starts");
    for (is_named, runtime) in [false, true].into_iter().zip([one_thread(), two_threads()]) {
        runtime.block_on(async {
            let mut builder = LockManager::builder().nodes([server.url()]);
            if is_named {
                builder = builder.on_runtime(runtime.handle().clone());
            }
            let manager = builder.build_plain().expect("one node");
            let mutex = manager.mutex("r").expect("a name");
            let guard = mutex.acquire().await.expect("it is free");
            assert!(guard.release().await.is_released());
            // If the runtime ended first, a thread would see to what is left.
            assert_eq!(manager.shutdown().await, Some(0));
            assert_eq!(own_threads(), 0);
        });
    }
    // The counting is not blind: without a runtime there is such a thread.
    let manager = LockManager::builder().memory(3).build();
    let mutex = manager.expect("three nodes").mutex("r").expect("a name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    assert_eq!(own_threads(), 1);
    drop(guard);
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
