//! A lease between acquire and release, on nodes in memory and on real servers.

use crate::support::{begin, block_on, cluster::Cluster, eventually};
use leasehold::{
    AdoptError, ConfigError, ExtendError, Key, LeaseGuard, LeaseState, LockManager, LockOptions,
    LossCause, Owner, clock::Clock, link::memory::MemoryNode,
};
use leasehold_servers::require_server;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);

fn hold(manager: &LockManager, options: LockOptions) -> LeaseGuard {
    let mutex = manager.mutex_with("r", options).expect("a plain name");
    block_on(mutex.acquire()).expect("it is free")
}

fn memory() -> LockManager {
    LockManager::builder()
        .memory(3)
        .build()
        .expect("three nodes")
}

#[test]
fn a_lease_lives_on_by_itself() {
    let manager = memory();
    let guard = hold(&manager, LockOptions::new().ttl(100 * MS));
    let clock = Clock::system();
    let started = clock.now();
    eventually("five TTLs have passed", || {
        assert!(guard.is_valid(), "{:?}", guard.state());
        clock.now().saturating_since(started) > 500 * MS
    });
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn a_lease_that_nobody_extends_is_lost_and_says_why() {
    let manager = memory();
    let guard = hold(&manager, LockOptions::new().ttl(100 * MS).no_renewal());
    let lost = block_on(guard.lost());
    assert_eq!(lost.cause, LossCause::TimedOut { trouble: None });
    assert!(!guard.is_valid());
    assert_eq!(guard.state(), LeaseState::Lost(lost));
    assert!(matches!(
        block_on(guard.extend()),
        Err(ExtendError::Lost { .. })
    ));
}

#[test]
fn a_token_is_cancelled_by_the_loss_and_by_nothing_else() {
    let manager = memory();
    let guard = hold(&manager, LockOptions::new().ttl(50 * MS).no_renewal());
    let (token, other) = (guard.cancellation_token(), guard.cancellation_token());
    other.cancel();
    assert!(!token.is_cancelled(), "each has its own");
    block_on(guard.lost());
    assert!(token.is_cancelled());
    assert!(guard.cancellation_token().is_cancelled());
    drop(guard);
    let guard = hold(&manager, LockOptions::new());
    let token = guard.cancellation_token();
    assert!(block_on(guard.release()).is_released());
    assert!(!token.is_cancelled());
}

#[test]
fn a_lease_that_was_released_is_never_told_to_be_lost() {
    let manager = memory();
    let options = LockOptions::new().ttl(300 * MS).no_renewal();
    let released = hold(&manager, options.clone());
    let mut lost = Box::pin(released.lost());
    begin(&mut lost);
    assert!(block_on(released.release()).is_released());
    // By the time that the next one is lost, the end of the first has long passed.
    let next = hold(&manager, options.ttl(400 * MS));
    block_on(next.lost());
    begin(&mut lost);
}

#[test]
fn a_guard_in_a_table_is_released_where_it_is_and_holds_nothing_then() {
    let manager = memory();
    let mut held = HashMap::from([("r", hold(&manager, LockOptions::new()))]);
    let guard = held.get_mut("r").expect("it was put there");
    assert!(block_on(guard.release_in_place()).is_released());
    assert!(!guard.is_valid());
    assert_eq!(block_on(guard.changed()), LeaseState::Released);
    let refused = block_on(guard.extend()).expect_err("nobody holds it");
    assert!(matches!(refused, ExtendError::Released { .. }), "{refused}");
    // Somebody else has it, and the guard that is dropped later takes nothing away.
    let other = hold(&manager, LockOptions::new());
    assert!(
        block_on(guard.release_in_place()).is_released(),
        "told again"
    );
    let guard = held.remove("r").expect("it is still there");
    let done = block_on(guard.run(async { "work" }));
    let lost = done.work.expect_err("no work is done without the lock");
    assert_eq!(lost.cause, LossCause::Released);
    block_on(other.extend()).expect("it is untouched");
}

#[test]
fn a_lock_with_other_options_is_the_same_lock() {
    let manager = memory();
    let mutex = manager.mutex("r").expect("a plain name");
    let long = mutex.with(|options| options.ttl(Duration::from_secs(25)));
    let guard = block_on(long.expect("they go together").acquire()).expect("it is free");
    assert!(guard.remaining() > Duration::from_secs(20));
    assert_eq!(guard.token(), Some(guard.fencing_token()));
    assert!(block_on(mutex.try_acquire()).is_err());
    let wrong = mutex.with(|options| options.tries(0));
    assert!(matches!(wrong, Err(ConfigError::NoTries)));
}

#[test]
fn a_loss_is_told_while_the_managers_thread_is_stuck() {
    let manager = memory();
    let guard = hold(&manager, LockOptions::new().ttl(500 * MS).no_renewal());
    let (tell, told) = mpsc::channel();
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    // What it must not do: it waits, and the thread with it.
    let options = LockOptions::new().tries(2).pause_function(move |_| {
        let _ = tell.send("stuck");
        let wait = wait.lock().expect("nobody panics with it");
        let _ = wait.recv_timeout(Duration::from_secs(5));
        let _ = tell.send("goes on");
        MS
    });
    let mutex = manager.mutex_with("r", options).expect("a plain name");
    let mut second = Box::pin(mutex.acquire());
    begin(&mut second);
    assert_eq!(told.recv_timeout(Duration::from_secs(10)), Ok("stuck"));
    let lost = block_on(guard.lost());
    assert_eq!(lost.cause, LossCause::TimedOut { trouble: None });
    assert!(told.try_recv().is_err(), "the thread is still stuck");
    go.send(()).expect("it waits for this");
    drop((guard, second));
}

#[test]
fn limits_end_a_lease_and_are_named() {
    // On a busy machine the clock's word comes first, and the manager's, which knows why, replaces it.
    let why = |guard: &LeaseGuard, is_it: &dyn Fn(&LossCause) -> bool| {
        block_on(guard.lost());
        eventually("the cause is told", || match guard.state() {
            LeaseState::Lost(lost) => is_it(&lost.cause),
            _ => false,
        });
    };
    let manager = memory();
    let options = LockOptions::new().ttl(300 * MS);
    let held = hold(&manager, options.clone().max_hold(750 * MS));
    why(&held, &|cause| {
        *cause == LossCause::HoldLimit { held: 750 * MS }
    });
    drop(held);
    let often = hold(&manager, options.clone().max_extensions(2));
    why(&often, &|cause| {
        *cause == LossCause::ExtensionLimit { extensions: 2 }
    });
    assert_eq!(
        block_on(often.lost()).to_string(),
        r#"lost the lock "r": it had been extended 2 times, as often as it may be"#
    );
    assert_eq!(
        block_on(often.extend())
            .expect_err("it is lost")
            .to_string(),
        r#"extend the lock "r": it is lost: it had been extended 2 times, as often as it may be"#
    );
    drop(often);
    let silent = hold(&manager, options.progress_within(10 * MS));
    why(&silent, &|cause| {
        matches!(cause, LossCause::NoProgress { .. })
    });
}

#[test]
fn a_holder_at_work_keeps_its_lease() {
    let manager = memory();
    let options = LockOptions::new().ttl(100 * MS).progress_within(50 * MS);
    let guard = hold(&manager, options);
    let clock = Clock::system();
    let started = clock.now();
    eventually("three TTLs have passed", || {
        guard.heartbeat();
        assert!(guard.is_valid(), "{:?}", guard.state());
        clock.now().saturating_since(started) > 300 * MS
    });
}

#[test]
fn work_is_dropped_when_the_lease_is_lost() {
    struct Dropped(Arc<AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let manager = memory();
    let guard = hold(&manager, LockOptions::new().ttl(50 * MS).no_renewal());
    let dropped = Arc::new(AtomicBool::new(false));
    let inside = Dropped(Arc::clone(&dropped));
    let done = block_on(guard.run(async move {
        std::future::pending::<()>().await;
        drop(inside);
    }));
    assert!(done.work.is_err_and(|lost| lost.resource.as_str() == "r"));
    assert!(
        dropped.load(Ordering::Acquire),
        "it was dropped, not forgotten"
    );
    assert!(!done.release.is_released());
}

#[test]
fn a_hold_releases_after_success_error_panic_and_cancellation() {
    let manager = memory();
    let options = LockOptions::new().ttl(Duration::from_secs(60));
    let mutex = manager.mutex_with("r", options).expect("a plain name");
    let free = || block_on(mutex.try_acquire()).is_ok();
    let done = block_on(mutex.hold(async |_| 7)).expect("it is free");
    assert_eq!((done.work, done.release.is_released()), (Ok(7), true));
    assert!(free());
    let done = block_on(mutex.hold(async |_| Err::<(), _>("its own"))).expect("it is free");
    assert_eq!(
        done.work,
        Ok(Err("its own")),
        "the work's result is not masked"
    );
    eventually("it is free after an error", free);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        block_on(mutex.hold(async |_| -> () { panic!("the work failed") }))
    }));
    assert!(panicked.is_err());
    eventually("it is free after a panic", free);
    let mut cancelled = Box::pin(mutex.hold(async |_| std::future::pending::<()>().await));
    begin(&mut cancelled);
    drop(cancelled);
    eventually("it is free after a cancellation", free);
}

#[test]
fn a_short_hold_stays_locked_for_the_rest() {
    let manager = memory();
    let guard = hold(
        &manager,
        LockOptions::new().min_hold(Duration::from_secs(60)),
    );
    assert!(block_on(guard.release()).is_released());
    let error = block_on(manager.mutex("r").expect("a plain name").try_acquire());
    let error = error.expect_err("it stays locked");
    let left = error.remaining().expect("the nodes tell");
    assert!(left > Duration::from_secs(50), "{left:?}");
}

#[test]
fn after_a_loss_the_resource_stays_locked_for_the_delay() {
    let manager = memory();
    let options = LockOptions::new().ttl(50 * MS).no_renewal();
    let guard = hold(&manager, options.lock_delay(Duration::from_secs(60)));
    block_on(guard.lost());
    drop(guard);
    let error = block_on(manager.mutex("r").expect("a plain name").try_acquire());
    assert!(error.expect_err("it stays locked").is_contention());
    // A clean release frees it at once.
    let options = LockOptions::new().lock_delay(Duration::from_secs(60));
    let mutex = manager.mutex_with("s", options).expect("a plain name");
    assert!(block_on(block_on(mutex.acquire()).expect("free").release()).is_released());
    assert!(block_on(mutex.try_acquire()).is_ok());
}

#[test]
fn a_text_is_good_for_one_adoption() {
    let manager = memory();
    let guard = hold(&manager, LockOptions::new());
    let before = guard.owner().clone();
    let text = block_on(guard.hand_over()).expect("it is held");
    let mutex = manager.mutex("r").expect("a plain name");
    assert!(block_on(mutex.try_acquire()).is_err(), "it stays locked");
    let guard = block_on(manager.adopt(&text)).expect("it was handed over");
    assert!(guard.is_valid());
    assert_ne!(*guard.owner(), before);
    assert!(matches!(
        block_on(manager.adopt(&text)),
        Err(AdoptError::Gone { holder: Some(holder), .. }) if holder == *guard.owner()
    ));
    assert!(matches!(
        block_on(manager.adopt("something else")),
        Err(AdoptError::Malformed)
    ));
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn a_hand_over_that_nobody_waits_for_frees_the_lock() {
    let manager = memory();
    let guard = hold(&manager, LockOptions::new().ttl(Duration::from_secs(60)));
    let mut handing = Box::pin(guard.hand_over());
    // It waits for the extension that comes first.
    begin(&mut handing);
    drop(handing);
    let mutex = manager.mutex("r").expect("a plain name");
    eventually("it is free", || block_on(mutex.try_acquire()).is_ok());
}

#[test]
fn an_inspection_tells_holder_and_leftovers_and_force_puts_them_out() {
    let nodes: [MemoryNode; 3] = std::array::from_fn(|_| MemoryNode::new());
    let of = |nodes: &[MemoryNode]| {
        let builder = LockManager::builder();
        let builder = nodes
            .iter()
            .fold(builder, leasehold::ManagerBuilder::memory_node);
        builder.build().expect("a few nodes")
    };
    let manager = of(&nodes);
    let stray = hold(&of(&nodes[..1]), LockOptions::new());
    let options = LockOptions::new().label("db1");
    let guard = hold(&manager, options);
    let seen = block_on(manager.inspect("r")).expect("a plain name");
    assert_eq!(seen.holder(), Some(guard.owner()));
    assert_eq!(seen.holder().and_then(leasehold::Owner::label), Some("db1"));
    let differing: Vec<_> = seen.differing().map(|node| &node.key).collect();
    assert!(
        matches!(differing[..], [Key::Held { holder, .. }] if holder == stray.owner()),
        "{differing:?}"
    );
    let eviction = block_on(manager.force_release("r")).expect("a plain name");
    let evicted: Vec<_> = eviction.evicted.iter().map(|(owner, _)| owner).collect();
    assert_eq!(evicted, [guard.owner(), stray.owner()]);
    assert!(block_on(manager.inspect("r")).expect("still").is_free());
    // The holder learns of it by the next extension.
    assert!(block_on(guard.extend()).expect_err("gone").is_lost());
    assert!(matches!(
        block_on(guard.lost()).cause,
        LossCause::Gone { refused: 2, .. }
    ));
}

#[test]
fn a_lease_without_a_guard_is_extended_and_released_by_its_owner_alone() {
    let nodes: [MemoryNode; 3] = std::array::from_fn(|_| MemoryNode::new());
    let manager = || {
        let builder = LockManager::builder();
        let builder = nodes
            .iter()
            .fold(builder, leasehold::ManagerBuilder::memory_node);
        builder.build().expect("a few nodes")
    };
    let guard = hold(&manager(), LockOptions::new().ttl(200 * MS));
    let owner = block_on(guard.detach()).expect("it is held");
    // Another process.
    let manager = manager();
    let lease = manager.detached("r", owner).expect("a plain name");
    let left = block_on(lease.extend(20_000 * MS)).expect("it is there");
    assert!((19_000 * MS..20_000 * MS).contains(&left), "{left:?}");
    let left = block_on(lease.extend(1_000 * MS)).expect("it is there");
    assert!(
        left > 18_000 * MS,
        "no extension takes anything away: {left:?}"
    );
    // Its own TTL would have ended by now.
    let clock = Clock::system();
    let started = clock.now();
    eventually("its TTL is over", || {
        clock.now().saturating_since(started) > 250 * MS
    });
    let mutex = manager.mutex("r").expect("a plain name");
    assert!(block_on(mutex.try_acquire()).is_err());
    let stranger = Owner::from_bytes(b"somebody else").expect("a few bytes");
    let other = manager.detached("r", stranger).expect("a plain name");
    let gone = block_on(other.extend(20_000 * MS)).expect_err("it is not theirs");
    assert!(gone.is_lost(), "{gone}");
    assert!(!block_on(other.release()).is_released());
    assert!(block_on(mutex.try_acquire()).is_err());
    assert!(block_on(lease.release()).is_released());
    assert!(!block_on(lease.release()).is_released());
    assert!(
        block_on(lease.extend(200 * MS))
            .expect_err("gone")
            .is_lost()
    );
    assert!(block_on(mutex.try_acquire()).is_ok());
}

#[test]
fn two_of_three_servers_stopped_for_a_while_lose_nothing() {
    require_server();
    let cluster = Cluster::start(3);
    let (one, other) = (
        cluster.direct(LockOptions::new()),
        cluster.direct(LockOptions::new()),
    );
    let guard = hold(&one, LockOptions::new());
    for server in &cluster.servers[..2] {
        server.pause().expect("it runs");
    }
    assert!(block_on(guard.extend()).is_err(), "no quorum answers");
    assert!(guard.is_valid(), "a failed extension takes nothing away");
    let mutex = other.mutex("r").expect("a plain name");
    assert!(block_on(mutex.acquire_within(700 * MS)).is_err());
    for server in &cluster.servers[..2] {
        server.resume().expect("it is stopped");
    }
    eventually("the lease is extended again", || {
        block_on(guard.extend()).is_ok()
    });
    assert!(
        block_on(mutex.try_acquire())
            .expect_err("held")
            .is_contention()
    );
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn a_lease_survives_the_restart_of_a_server_without_its_data() {
    require_server();
    let cluster = Cluster::start(3);
    let options = LockOptions::new().ttl(Duration::from_secs(3));
    let manager = cluster.direct(options.clone());
    let guard = hold(&manager, options);
    cluster.servers[1].restart_empty().expect("it starts again");
    // It is given the key again, and the next server may go.
    eventually("the restarted server has the key again", || {
        let seen = block_on(manager.inspect("r")).expect("a plain name");
        seen.nodes()
            .iter()
            .all(|node| node.key.holder() == Some(guard.owner()))
    });
    assert!(guard.is_valid());
    assert!(block_on(guard.release()).is_released());
}

/// How often a client has asked each server to watch a key.
fn watched(cluster: &Cluster) -> Vec<usize> {
    let lines = cluster.servers.iter().map(|server| {
        let info = server
            .command(&["INFO", "commandstats"])
            .expect("it answers");
        let told = info.text().expect("a text").to_owned();
        let calls = told.lines().find_map(|line| {
            let rest = line.strip_prefix("cmdstat_client|caching:calls=")?;
            rest.split(',').next()?.parse::<usize>().ok()
        });
        calls.unwrap_or_default()
    });
    lines.collect()
}

#[test]
fn a_key_that_another_deletes_is_told_long_before_the_first_extension() {
    let cluster = Cluster::start(3);
    // The first extension comes after twenty minutes, so whatever is told here is told by the servers.
    let options = || {
        LockOptions::new()
            .ttl(3_600_000 * MS)
            .node_limit(5_000 * MS)
    };
    let manager = cluster.direct(options());
    // A lease that nobody extends is not watched.
    let brief = hold(&manager, options().no_renewal());
    // Each connection begins with the question whether it may be asked.
    eventually("all are connected", || {
        watched(&cluster).iter().all(|&count| count > 0)
    });
    assert!(block_on(brief.release()).is_released());
    let before = watched(&cluster);
    let guard = hold(&manager, options());
    eventually("the keys are watched", || {
        let now = watched(&cluster);
        now.iter().zip(&before).all(|(now, before)| now > before)
    });
    for server in cluster.servers.iter() {
        server.command(&["DEL", "r"]).expect("it answers");
    }
    eventually("the loss is told", || !guard.is_valid());
    let lost = block_on(guard.lost());
    assert!(matches!(lost.cause, LossCause::Gone { .. }), "{lost:?}");
}
