//! Managers whose runtime does not turn them: leases live on, losses are told, and what was dropped is released.

use crate::{
    on_runtime::{ALONE, again_alone},
    support::{block_on, eventually},
};
use leasehold::{
    AcquireError, LeaseGuard, LeaseState, LockManager, LockOptions, LossCause, Observation, Plain,
};
use leasehold_servers::{Proxy, Server, ServerSet, require_server};
use std::{
    pin::pin,
    sync::mpsc,
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

const MS: Duration = Duration::from_millis(1);

fn one_thread() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

pub(crate) fn two_threads() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    let built = builder.worker_threads(2).enable_all().build();
    built.expect("a runtime")
}

/// Built where the runtime runs, and so turned by a task of it.
fn manager(runtime: &Runtime, urls: impl IntoIterator<Item = String>) -> LockManager<Plain> {
    let _within = runtime.enter();
    let built = LockManager::builder().nodes(urls).build_plain();
    built.expect("the nodes and the default options")
}

fn held(runtime: &Runtime, manager: &LockManager<Plain>, ttl: Duration) -> LeaseGuard<Plain> {
    let options = LockOptions::new().ttl(ttl);
    let mutex = manager.mutex_with("r", options).expect("a name");
    let acquired = async move { mutex.acquire_within(60_000 * MS).await };
    let acquired = runtime.block_on(async { tokio::spawn(acquired).await });
    acquired.expect("it does not panic").expect("it is free")
}

/// Blocks both threads of a runtime until what it gives is dropped.
pub(crate) fn blocked(runtime: &Runtime) -> [mpsc::Sender<()>; 2] {
    let (tells, told) = mpsc::channel();
    let blocks = [(); 2].map(|()| {
        let (block, until) = mpsc::channel::<()>();
        let tells = tells.clone();
        runtime.spawn(async move {
            tells.send(()).expect("the test waits for it");
            until.recv().expect_err("it is dropped");
        });
        block
    });
    for _ in &blocks {
        told.recv().expect("each thread begins with one");
    }
    blocks
}

#[expect(
    clippy::disallowed_methods,
    reason = "a lease must last for longer than its TTL by the machine's time"
)]
pub(crate) fn wait(time: Duration) {
    thread::sleep(time);
}

/// A manager of this runtime for which nothing is due.
fn idle(runtime: &Runtime, server: &Server) -> LockManager<Plain> {
    let manager = manager(runtime, [server.url()]);
    let guard = held(runtime, &manager, 60_000 * MS);
    assert!(runtime.block_on(guard.release()).is_released());
    // Of what the release had to do, its driver may have a turn left.
    runtime.block_on(async { tokio::time::sleep(300 * MS).await });
    manager
}

/// How many are open to this server, the one included by which it is asked.
fn connections(server: &Server) -> usize {
    let told = server.command(&["CLIENT", "LIST"]).expect("it answers");
    told.text().map_or(0, |list| list.lines().count())
}

/// A lock that somebody else can have by now.
fn is_free(urls: impl IntoIterator<Item = String>) -> bool {
    let built = LockManager::builder().nodes(urls).build_plain();
    let mutex = built.expect("the nodes").mutex("r").expect("a name");
    block_on(mutex.try_acquire()).is_ok()
}

#[test]
fn leases_are_kept_over_the_same_connections_while_every_thread_of_the_runtime_is_blocked() {
    require_server();
    let server = Server::start().expect("it starts");
    let proxy = Proxy::start(server.port()).expect("it starts");
    for ttl in [200 * MS, 1_000 * MS] {
        let runtime = two_threads();
        let before = proxy.accepted();
        let manager = manager(&runtime, [proxy.url()]);
        let guard = held(&runtime, &manager, ttl);
        let blocks = blocked(&runtime);
        wait(ttl * 3);
        assert!(guard.is_valid(), "{:?}", guard.state());
        assert!(!is_free([server.url()]), "its key was extended");
        assert!(block_on(guard.release()).is_released());
        assert_eq!(proxy.accepted() - before, 1, "it was not connected anew");
        drop(blocks);
        // What was moved serves those whose runtime turns again.
        let guard = held(&runtime, &manager, ttl);
        assert!(runtime.block_on(guard.release()).is_released());
    }
}

#[test]
fn what_was_dropped_is_released_though_every_thread_of_the_runtime_is_blocked() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let runtime = two_threads();
    let manager = manager(&runtime, servers.urls());
    let guard = held(&runtime, &manager, 60_000 * MS);
    // Nothing is due for twenty seconds, so the guardian sleeps; and for a minute no key ends by itself.
    wait(300 * MS);
    let _blocks = blocked(&runtime);
    drop(guard);
    eventually("it is released", || is_free(servers.urls()));
}

#[test]
fn a_loss_is_told_in_time_though_every_thread_of_the_runtime_is_blocked() {
    require_server();
    let server = Server::start().expect("it starts");
    let runtime = two_threads();
    let manager = manager(&runtime, [server.url()]);
    let guard = held(&runtime, &manager, 500 * MS);
    let _blocks = blocked(&runtime);
    server.pause().expect("it can be paused");
    let lost = block_on(guard.lost());
    assert!(matches!(lost.cause, LossCause::TimedOut { .. }), "{lost}");
    assert!(!guard.is_valid());
    server.resume().expect("it goes on");
}

#[test]
fn a_lost_connection_is_found_again_though_every_thread_of_the_runtime_is_blocked() {
    require_server();
    let server = Server::start().expect("it starts");
    let proxy = Proxy::start(server.port()).expect("it starts");
    let runtime = two_threads();
    let manager = manager(&runtime, [proxy.url()]);
    let guard = held(&runtime, &manager, 1_000 * MS);
    let _blocks = blocked(&runtime);
    proxy.cut();
    wait(2_500 * MS);
    assert!(guard.is_valid(), "{:?}", guard.state());
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn leases_outlive_the_runtime_that_their_manager_was_built_on() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    for runtime in [one_thread(), two_threads()] {
        let manager = manager(&runtime, servers.urls());
        let guard = held(&runtime, &manager, 300 * MS);
        drop(runtime);
        wait(900 * MS);
        assert!(guard.is_valid(), "{:?}", guard.state());
        // And so does the manager: on another runtime, and on none.
        drop(guard);
        let next = one_thread();
        let guard = held(&next, &manager, 300 * MS);
        drop(next);
        assert!(block_on(guard.release()).is_released());
        assert_eq!(block_on(manager.shutdown()), Some(0));
    }
}

#[test]
fn a_manager_that_is_dropped_after_its_runtime_closes_its_connections() {
    require_server();
    let server = Server::start().expect("it starts");
    let runtime = two_threads();
    let manager = idle(&runtime, &server);
    drop(runtime);
    wait(500 * MS);
    assert!(connections(&server) > 1, "it has one beside ours");
    drop(manager);
    eventually("ours is the last", || connections(&server) == 1);
}

#[test]
fn a_manager_that_is_dropped_closes_its_connections_though_nobody_polls_its_runtime() {
    require_server();
    let server = Server::start().expect("it starts");
    let runtime = one_thread();
    let manager = idle(&runtime, &server);
    wait(500 * MS);
    drop(manager);
    eventually("ours is the last", || connections(&server) == 1);
    drop(runtime);
}

#[test]
fn a_manager_whose_runtime_has_ended_connects_again() {
    require_server();
    let server = Server::start().expect("it starts");
    let runtime = two_threads();
    let manager = idle(&runtime, &server);
    // Nobody posts from now on.
    drop(runtime);
    wait(500 * MS);
    let killed = server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    assert_eq!(killed.expect("it answers").integer(), Some(1));
    eventually("it has a new connection", || connections(&server) > 1);
    drop(manager);
}

#[test]
fn a_manager_on_a_runtime_that_nobody_polls_serves_callers_elsewhere() {
    require_server();
    let server = Server::start().expect("it starts");
    let runtime = one_thread();
    let manager = manager(&runtime, [server.url()]).blocking();
    let mutex = manager.mutex("r").expect("a name");
    let guard = mutex.acquire().expect("it is free");
    assert!(guard.release().is_released());
}

#[test]
fn a_manager_on_a_runtime_that_has_ended_serves_callers_elsewhere() {
    let runtime = two_threads();
    let there = runtime.handle().clone();
    runtime.shutdown_background();
    let builder = LockManager::builder().memory(3).on_runtime(there);
    let manager = builder.build().expect("nothing is wrong with the options");
    let mutex = manager.mutex("r").expect("a name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn the_blocking_locks_of_a_task_that_blocks_its_own_runtime_are_served() {
    require_server();
    let server = Server::start().expect("it starts");
    one_thread().block_on(async {
        let built = LockManager::builder().nodes([server.url()]).build_plain();
        let mutex = built
            .expect("one node")
            .blocking()
            .mutex("r")
            .expect("a name");
        let guard = mutex.acquire().expect("it is free");
        assert!(guard.release().is_released());
    });
}

#[cfg(feature = "tls")]
#[test]
fn leases_are_kept_over_tls_while_every_thread_of_the_runtime_is_blocked() {
    use leasehold_servers::{Certificates, StartError, skip};
    require_server();
    let Ok(certificates) = Certificates::generate() else {
        return skip("no certificates can be made");
    };
    let server = match Server::builder().tls(&certificates).start() {
        Ok(server) => server,
        Err(error @ StartError::NoTls) => return skip(&format!("no TLS: {error}")),
        Err(error) => panic!("the server starts: {error}"),
    };
    let url = server.tls_url().expect("it was asked for");
    let url = format!("{url}?ca={}", certificates.authority().display());
    let runtime = two_threads();
    let manager = manager(&runtime, [url]);
    let guard = held(&runtime, &manager, 400 * MS);
    let _blocks = blocked(&runtime);
    wait(1_200 * MS);
    assert!(guard.is_valid(), "{:?}", guard.state());
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn an_observer_that_blocks_costs_no_holder_the_news_of_a_loss() {
    require_server();
    let server = Server::start().expect("it starts");
    let (blocks, until) = mpsc::channel::<()>();
    let until = std::sync::Mutex::new(until);
    let runtime = two_threads();
    let manager = {
        let _within = runtime.enter();
        let builder = LockManager::builder().nodes([server.url()]);
        let builder = builder.observer(move |seen: &Observation<'_>| {
            if matches!(seen, Observation::Extended { .. }) {
                let until = until.lock().expect("it does not panic");
                until.recv().expect_err("it is dropped");
            }
        });
        builder.build_plain().expect("one node")
    };
    let guard = held(&runtime, &manager, 300 * MS);
    let lost = block_on(guard.lost());
    assert!(matches!(lost.cause, LossCause::TimedOut { .. }), "{lost}");
    drop(blocks);
}

#[test]
fn a_runtime_whose_time_is_paused_or_that_has_no_timers_is_not_used() {
    require_server();
    if std::env::var_os(ALONE).is_none() {
        let name =
            "stuck_runtime::a_runtime_whose_time_is_paused_or_that_has_no_timers_is_not_used";
        return again_alone(name);
    }
    let server = Server::start().expect("it starts");
    let mut paused = Builder::new_current_thread();
    let paused = paused.enable_all().start_paused(true).build();
    let bare = Builder::new_current_thread().build();
    for runtime in [paused.expect("a runtime"), bare.expect("a runtime")] {
        runtime.block_on(async {
            let built = LockManager::builder().nodes([server.url()]).build_plain();
            let mutex = built.expect("one node").mutex("r").expect("a name");
            let guard = mutex.acquire().await.expect("it is free");
            assert!(matches!(guard.state(), LeaseState::Held));
            assert!(guard.release().await.is_released());
        });
    }
}

/// What a child that was forked finds, told by its exit code.
#[cfg(target_os = "linux")]
#[test]
fn a_fork_is_told_to_make_a_manager_of_its_own_and_disturbs_nothing() {
    require_server();
    if std::env::var_os(ALONE).is_none() {
        let name =
            "stuck_runtime::a_fork_is_told_to_make_a_manager_of_its_own_and_disturbs_nothing";
        return again_alone(name);
    }
    let [server, other] = [(); 2].map(|()| Server::start().expect("it starts"));
    let runtime = two_threads();
    let manager = manager(&runtime, [server.url()]);
    let mut guard = Some(held(&runtime, &manager, 500 * MS));
    let child = fork(|| {
        let mutex = manager.mutex("other").expect("a name");
        let tried = pin!(mutex.acquire()).poll(&mut Context::from_waker(Waker::noop()));
        if !matches!(tried, Poll::Ready(Err(AcquireError::Forked { .. }))) {
            return 1;
        }
        // What it has a copy of is the parent's, which may let it go at any time.
        let mut guard = guard.take().expect("it was held");
        let mut cx = Context::from_waker(Waker::noop());
        if guard.is_valid() || !guard.state().is_lost() {
            return 3;
        }
        if pin!(guard.lost()).poll(&mut cx).is_pending() {
            return 4;
        }
        match pin!(guard.extend()).poll(&mut cx) {
            Poll::Ready(Err(error)) if error.is_lost() => {}
            _ => return 6,
        }
        if pin!(guard.release_in_place()).poll(&mut cx).is_pending() {
            return 5;
        }
        drop(guard);
        // One of its own serves it, with all that runs beside it.
        let runtime = two_threads();
        let own = self::manager(&runtime, [other.url()]);
        let guard = held(&runtime, &own, 200 * MS);
        let _blocks = blocked(&runtime);
        wait(600 * MS);
        match guard.is_valid() {
            true => 0,
            false => 2,
        }
    });
    assert_eq!(child, 0);
    wait(600 * MS);
    let guard = guard.expect("the child had a copy");
    assert!(guard.is_valid(), "{:?}", guard.state());
    assert!(runtime.block_on(guard.release()).is_released());
}

/// The exit code of a child that does this.
#[cfg(target_os = "linux")]
fn fork(child: impl FnOnce() -> i32) -> i32 {
    // What panics in the child must not unwind into what belongs to the parent.
    let child = || std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(101);
    #[expect(
        unsafe_code,
        reason = "the child is a copy of a test that runs alone; what it calls does not wait for threads that it lacks"
    )]
    unsafe {
        match libc::fork() {
            0 => libc::_exit(child()),
            pid => {
                let mut status = 0;
                assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
                assert!(libc::WIFEXITED(status), "it was killed: {status}");
                libc::WEXITSTATUS(status)
            }
        }
    }
}
