//! What servers keep beside the locks: the marker of the restart guard, and the counters of the tokens.

use crate::support::{block_on, eventually};
use leasehold::{
    AcquireError, LockManager, LockOptions, ManagerBuilder, RestartGuard, operate::Former,
};
use leasehold_servers::{Server, ServerSet, require_server};
use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);

/// The hash of a node, as WIRE.md names it.
const NODE: &str = "leasehold:node";

fn builder(urls: &[String]) -> ManagerBuilder {
    LockManager::builder()
        .max_ttl(400 * MS)
        .clock_skew(Duration::ZERO)
        .nodes(urls)
        // A single try has to do on a busy machine.
        .defaults(LockOptions::new().ttl(300 * MS).node_limit(200 * MS))
}

fn trusting(server: &Server) -> LockManager {
    let builder = builder(&[server.url()]).restart_guard(RestartGuard::TrustAof);
    builder.build().expect("good addresses")
}

/// A server that has every write on its disk before it answers.
fn durable() -> leasehold_servers::ServerBuilder {
    Server::builder()
        .option("appendonly", &["yes"])
        .option("appendfsync", &["always"])
}

/// The token of a lease that is released at once.
fn token(manager: &LockManager) -> Result<u64, AcquireError> {
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.try_acquire())?;
    let token = guard.fencing_token().get();
    assert!(block_on(guard.release()).is_released());
    Ok(token)
}

fn warm(manager: &LockManager) {
    eventually("the servers vote", || token(manager).is_ok());
}

/// The single server's reason not to vote, when it can be asked.
fn abstention(manager: &LockManager) -> String {
    let mut reason = String::new();
    eventually("the server abstains", || match token(manager) {
        Err(AcquireError::Abstained(abstained)) => {
            reason = abstained.faults[0].to_string();
            true
        }
        Ok(_) => panic!("it must not vote"),
        Err(_) => false,
    });
    reason
}

fn kept(server: &Server, field: &str) -> Option<String> {
    let reply = server.command(&["HGET", NODE, field]).expect("it answers");
    reply.text().map(str::to_owned)
}

#[test]
fn the_millisecond_of_a_look_is_not_told_to_replicas() {
    require_server();
    let primary = Server::start().expect("it starts");
    let replica = Server::builder().replica_of(&primary).start();
    let replica = replica.expect("it starts");
    // A full copy would have every field: what is told command by command comes after it.
    eventually("the replica follows", || {
        let info = replica.command(&["INFO", "replication"]);
        info.is_ok_and(|info| {
            info.text()
                .is_some_and(|text| text.contains("link_status:up"))
        })
    });
    let manager = builder(&[primary.url()]).build().expect("good addresses");
    warm(&manager);
    primary.command(&["SET", "last", "1"]).expect("it answers");
    eventually("the replica has heard of everything", || {
        let last = replica.command(&["GET", "last"]);
        last.is_ok_and(|last| last.text() == Some("1"))
    });
    assert!(kept(&primary, "fit").is_some());
    assert_eq!(kept(&replica, "id"), kept(&primary, "id"));
    // Argument S9: by the replica's clock that millisecond may come again, when it has been promoted.
    assert_eq!(kept(&replica, "fit"), None);
}

#[test]
fn a_marker_of_another_process_is_looked_at_in_the_millisecond_that_it_tells() {
    require_server();
    let server = Server::start().expect("it starts");
    // The first look at the marker begins the quarantine, which is to be longer than this test: the process that writes
    // the marker may stand still for a while, and a node whose quarantine is over votes.
    let builder = || builder(&[server.url()]).max_ttl(60_000 * MS);
    block_on(builder().operator().expect("good addresses").admit()).expect("good addresses");
    let manager = builder().build().expect("good addresses");
    warm(&manager);
    // As a promoted replica has it whose clock shows what its master's showed. A millisecond is soon over, so it is
    // written again and again while the votes come.
    let write = format!(
        "local clock = redis.call('TIME') \
         local now = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000)) \
         return redis.call('HSET', '{NODE}', 'id', '0/0', 'until', '0', 'fit', now)"
    );
    let is_over = AtomicBool::new(false);
    let tried = thread::scope(|scope| {
        scope.spawn(|| {
            let mut connection = server.connect().expect("it listens");
            while !is_over.load(SeqCst) {
                connection
                    .command(&["EVAL", &write, "0"])
                    .expect("it answers");
            }
        });
        eventually("the marker is another's", || {
            kept(&server, "id").as_deref() == Some("0/0")
        });
        let tried: Vec<_> = (0..100).map(|_| token(&manager)).collect();
        is_over.store(true, SeqCst);
        tried
    });
    assert!(tried.iter().all(Result::is_err), "it voted");
    let abstained =
        |tried: &Result<u64, AcquireError>| matches!(tried, Err(AcquireError::Abstained(_)));
    assert!(tried.iter().any(abstained), "{:?}", tried.first());
}

#[test]
fn a_promoted_replica_is_not_trusted_for_its_masters_disk() {
    require_server();
    let primary = durable().start().expect("it starts");
    // A node that has replicas is not trusted; this one gets its replica later.
    warm(&trusting(&primary));
    let replica = durable().replica_of(&primary).start().expect("it starts");
    eventually("the replica has what the primary has", || {
        let id = kept(&replica, "id");
        id.is_some() && id == kept(&primary, "id")
    });
    replica
        .command(&["REPLICAOF", "NO", "ONE"])
        .expect("it is promoted");
    // The configuration names another address here.
    replica
        .command(&["HDEL", NODE, "cfg", "about"])
        .expect("it answers");
    assert_eq!(kept(&replica, "logged").as_deref(), Some("1"));
    let why = abstention(&trusting(&replica));
    assert!(why.contains("was a replica"), "{why}");
}

#[test]
fn a_disk_that_did_not_get_everything_for_a_while_is_not_trusted_afterwards() {
    require_server();
    let server = durable().start().expect("it starts");
    let how = |policy: &str| {
        let set = ["CONFIG", "SET", "appendfsync", policy];
        server.command(&set).expect("it answers");
    };
    warm(&trusting(&server));
    assert_eq!(kept(&server, "logged").as_deref(), Some("1"));
    how("everysec");
    // Whether it votes meanwhile or not, it has to be asked.
    let manager = trusting(&server);
    eventually("the server has noted what its disk lacks", || {
        drop(token(&manager));
        kept(&server, "logged").as_deref() == Some("lost")
    });
    drop(manager);
    how("always");
    server.restart().expect("it starts again");
    let why = abstention(&trusting(&server));
    assert!(why.contains("it has restarted"), "{why}");
}

#[test]
fn tokens_go_on_growing_when_all_nodes_are_replaced() {
    require_server();
    let servers = ServerSet::start(4).expect("they start");
    let urls = servers.urls();
    let (old, new) = (|| builder(&urls[..3]), || builder(&urls[3..]));
    block_on(old().operator().expect("good addresses").admit()).expect("good addresses");
    // Ahead of every clock, as a token may be that a quorum has told: only counters that are carried over make the next
    // token larger. The third node was not asked.
    let write = "local ahead = string.format('%.0f', (redis.call('TIME')[1] + 3600) * 1000000) \
                 for number = 0, 1023 do redis.call('HSET', KEYS[1], 'f' .. number, ahead) end \
                 return ahead";
    let mut before = None;
    for server in &servers[..2] {
        let told = server.command(&["EVAL", write, "1", NODE]);
        let told = told.expect("it answers").text().map(str::parse::<u64>);
        before = before.max(told.and_then(Result::ok));
    }
    assert!(before.is_some());
    let former = Former::nodes(&urls[..3]);
    let done = block_on(
        new()
            .operator()
            .expect("good addresses")
            .reconfigure(former),
    )
    .expect("all are there");
    assert!(done.is_complete(), "{done:?}");
    let manager = new().build().expect("good addresses");
    let mut after = None;
    eventually("the new node votes", || {
        after = token(&manager).ok();
        after.is_some()
    });
    // Argument S4: whoever holds under the new nodes comes after all who held under the old ones.
    assert!(after > before, "{after:?} after {before:?}");
}
