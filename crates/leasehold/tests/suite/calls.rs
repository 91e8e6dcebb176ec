//! Votes and releases that leave together, on real servers.

use crate::support::cluster::{self, Cluster};
use leasehold::{AcquireError, LeaseGuard, LockManager, LockOptions};
use leasehold_servers::{Server, require_server};
use std::time::Duration;
use tokio::{
    runtime::{self, Runtime},
    task::{JoinSet, yield_now},
    time::sleep,
};

pub(crate) const MANY: usize = 64;

type Got = Result<LeaseGuard, AcquireError>;

pub(crate) fn runtime() -> Runtime {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

pub(crate) fn options() -> LockOptions {
    LockOptions::new()
        .node_limit(Duration::from_secs(5))
        .no_renewal()
}

/// Asks for all of these while the server stands still, so that they are ready together, does this to it, and lets it go
/// on.
async fn acquire_together(
    manager: &LockManager,
    server: &Server,
    names: impl Iterator<Item = String>,
    meanwhile: impl FnOnce(),
) -> Vec<(String, Got)> {
    server.pause().expect("it runs");
    let mut asking = JoinSet::new();
    for name in names {
        let mutex = manager.mutex(&name).expect("a plain name");
        asking.spawn(async move { (name, mutex.try_acquire().await) });
    }
    yield_now().await;
    sleep(Duration::from_millis(300)).await;
    server.resume().expect("it is there");
    meanwhile();
    asking.join_all().await
}

/// A server, and its address for a user who may have the locks of this file.
fn with_user() -> (String, Server) {
    require_server();
    let server = Server::start().expect("it starts");
    let rights = [
        "ACL",
        "SETUSER",
        "u",
        "on",
        ">pw",
        "~calls/*",
        "~leasehold:node",
        "+@all",
    ];
    server.command(&rights).expect("it is taken");
    let url = format!("redis://u:pw@127.0.0.1:{}", server.port());
    (url, server)
}

fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("calls/{number}"))
}

#[test]
fn what_is_ready_together_leaves_in_few_calls_and_each_has_its_own_answer() {
    let cluster = Cluster::start(1);
    let server = cluster.servers.iter().next().expect("there is one");
    // One name is that of a list, and another lock is held.
    server
        .command(&["LPUSH", "calls/7", "x"])
        .expect("it answers");
    server
        .command(&["SET", "calls/9", "other", "PX", "60000"])
        .expect("it answers");
    let manager = cluster.direct(options());
    runtime().block_on(async {
        let mut got = acquire_together(&manager, server, names(MANY), || ()).await;
        got.sort_by_key(|(name, _)| name.clone());
        let (held, refused): (Vec<_>, Vec<_>) = got.into_iter().partition(|(_, got)| got.is_ok());
        let refused: Vec<_> = refused.iter().map(|(name, _)| &**name).collect();
        assert_eq!(refused, ["calls/7", "calls/9"]);
        for (name, _) in &held {
            assert_eq!(cluster.copies(name), 1, "{name}");
        }
        drop(held);
        assert_eq!(manager.shutdown().await, Some(0), "all is confirmed");
    });
    for name in names(MANY) {
        let is_theirs = ["calls/7", "calls/9"].contains(&&*name);
        assert_eq!(cluster.copies(&name), usize::from(is_theirs), "{name}");
    }
    let list = server.command(&["LLEN", "calls/7"]).expect("it answers");
    assert_eq!(list.integer(), Some(1), "another program's data stays");
}

/// How many scripts a server runs for so many locks that are asked for together at this address.
pub(crate) fn calls_for_many(server: &Server, url: &str) -> usize {
    runtime().block_on(async {
        let manager = cluster::manager([url.to_owned()], options());
        let first = manager.mutex("first").expect("a plain name");
        let guard = first.try_acquire().await.expect("it is free");
        assert!(guard.release().await.is_released());
        let before = cluster::calls_of(server);
        let got = acquire_together(&manager, server, names(MANY), || ()).await;
        assert!(got.iter().all(|(_, got)| got.is_ok()), "{got:?}");
        let calls = cluster::calls_of(server) - before;
        drop(got);
        assert_eq!(manager.shutdown().await, Some(0), "all is confirmed");
        calls
    })
}

#[test]
fn sixty_four_locks_are_acquired_by_two_calls() {
    let cluster = Cluster::start(1);
    let server = cluster.servers.iter().next().expect("there is one");
    let count = || cluster::calls(&cluster.servers);
    runtime().block_on(async {
        // A task of this thread: it takes all that are posted in one turn.
        let manager = cluster.direct(options());
        // The connection is there, and the server knows the scripts.
        let first = manager.mutex("first").expect("a plain name");
        drop(first.try_acquire().await.expect("it is free"));
        let before = count();
        let got = acquire_together(&manager, server, names(MANY), || ()).await;
        assert!(got.iter().all(|(_, got)| got.is_ok()), "{got:?}");
        let (asked, held) = (count() - before, got.len());
        assert_eq!(held, MANY);
        // Two for the votes that waited, the first of which may have left alone; and the release of the first.
        assert!(asked <= 8, "{asked} calls");
        drop(got);
        assert_eq!(manager.shutdown().await, Some(0), "all is confirmed");
        let all = count() - before;
        assert!(all <= MANY, "{all} calls for {} requests", 2 * MANY);
    });
}

#[test]
fn a_call_whose_script_was_forgotten_is_given_again() {
    let cluster = Cluster::start(1);
    let server = cluster.servers.iter().next().expect("there is one");
    runtime().block_on(async {
        // A task of this thread: it takes all that are posted in one turn.
        let manager = cluster.direct(options());
        let first = manager.mutex("first").expect("a plain name");
        drop(first.try_acquire().await.expect("it is free"));
        let forget = || {
            server.command(&["SCRIPT", "FLUSH"]).expect("it answers");
        };
        server.command(&["SCRIPT", "FLUSH"]).expect("it answers");
        let before = cluster::calls(&cluster.servers);
        let got = acquire_together(&manager, server, names(MANY), forget).await;
        assert!(got.iter().all(|(_, got)| got.is_ok()), "{got:?}");
        // The first of each sort finds that it is forgotten, and the text goes along once.
        let asked = cluster::calls(&cluster.servers) - before;
        assert!(asked <= 16, "{asked} calls");
        drop(got);
        assert_eq!(manager.shutdown().await, Some(0), "all is confirmed");
    });
    assert!(names(MANY).all(|name| cluster.copies(&name) == 0));
}

#[test]
fn a_lock_that_a_user_may_not_have_is_refused_alone() {
    let (url, server) = with_user();
    let manager = cluster::manager([url], options());
    runtime().block_on(async {
        let names = names(MANY).chain(["forbidden".to_owned()]);
        let got = acquire_together(&manager, &server, names, || ()).await;
        for (name, got) in &got {
            match &**name {
                "forbidden" => {
                    let told = got.as_ref().map(drop).expect_err("it may not").to_string();
                    assert!(told.contains("NOPERM"), "{told}");
                }
                _ => assert!(got.is_ok(), "{name}: {got:?}"),
            }
        }
        drop(got);
        assert_eq!(manager.shutdown().await, Some(0), "all is confirmed");
    });
}

#[test]
fn what_cannot_be_said_of_one_key_costs_no_other_its_lock() {
    let (url, server) = with_user();
    server
        .command(&["SET", "calls/9", "other", "PX", "60000"])
        .expect("it answers");
    let manager = cluster::manager([url], options());
    runtime().block_on(async {
        let first = manager.mutex("calls/first").expect("a plain name");
        drop(first.try_acquire().await.expect("it is free"));
        // From now on the server cannot say for how long a key is held.
        server
            .command(&["ACL", "SETUSER", "u", "-pttl"])
            .expect("it is taken");
        let got = acquire_together(&manager, &server, names(MANY), || ()).await;
        for (name, got) in &got {
            match &**name {
                "calls/9" => {
                    let told = got.as_ref().map(drop).expect_err("it is held").to_string();
                    assert!(told.contains("PTTL"), "{told}");
                }
                _ => assert!(got.is_ok(), "{name}: {got:?}"),
            }
        }
        // Releases likewise, one of which comes to the key of somebody else.
        server
            .command(&["SET", "calls/40", "other", "PX", "60000"])
            .expect("it answers");
        server.pause().expect("it runs");
        let mut releasing = JoinSet::new();
        for (name, lease) in got {
            if let Ok(lease) = lease {
                releasing.spawn(async move { (name, lease.release().await) });
            }
        }
        yield_now().await;
        sleep(Duration::from_millis(300)).await;
        server.resume().expect("it is there");
        for (name, outcome) in releasing.join_all().await {
            assert_eq!(
                outcome.is_released(),
                name != "calls/40",
                "{name}: {outcome}"
            );
        }
    });
}
