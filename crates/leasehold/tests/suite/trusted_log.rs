//! Which process is trusted to have read its own log, on real servers.

use crate::support::{block_on, eventually};
use leasehold::{AcquireError, LeaseGuard, LockManager, LockOptions, RestartGuard};
use leasehold_servers::{Server, ServerBuilder, require_server};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

fn manager(server: &Server) -> LockManager {
    LockManager::builder()
        .max_ttl(MINUTE)
        .restart_guard(RestartGuard::TrustAof)
        .nodes([server.url()])
        .defaults(LockOptions::new().ttl(MINUTE))
        .build()
        .expect("an address")
}

fn take(manager: &LockManager) -> Result<LeaseGuard, AcquireError> {
    block_on(manager.mutex("r").expect("a plain name").try_acquire())
}

fn says(server: &Server, words: &[&str]) -> String {
    format!("{:?}", server.command(words).expect("it answers"))
}

/// Waits until the server has a whole log and votes, though it is new.
fn votes(server: &Server, manager: &LockManager) {
    eventually("it looks at itself", || take(manager).is_err());
    says(server, &["HSET", "leasehold:node", "until", "0"]);
    eventually("it votes", || take(manager).is_ok());
}

fn logging(builder: ServerBuilder) -> ServerBuilder {
    let builder = builder.option("appendonly", &["yes"]);
    builder.option("appendfsync", &["always"])
}

/// The setting was never written to the file of the server, which so reads its last snapshot.
fn started_without_its_log(is_looked_at: bool) {
    require_server();
    let server = Server::builder().option("appendfsync", &["always"]);
    let server = server.start().expect("it starts");
    says(&server, &["CONFIG", "SET", "appendonly", "yes"]);
    let holder = manager(&server);
    votes(&server, &holder);
    says(&server, &["SAVE"]);
    // A client that is connected looks at once, and would find the server without its log.
    drop(holder);
    eventually("nobody is connected", || {
        says(&server, &["INFO", "clients"]).contains("connected_clients:1\\r")
    });
    server.kill().expect("it runs");
    server.restart().expect("it starts again");
    let logged = says(&server, &["HGET", "leasehold:node", "logged"]);
    assert!(logged.contains('1'), "the snapshot was not read: {logged}");
    let rival = is_looked_at.then(|| manager(&server));
    if let Some(rival) = &rival {
        let error = take(rival).expect_err("it has no log");
        assert!(error.to_string().contains("appendonly"), "{error}");
    }
    says(&server, &["CONFIG", "SET", "appendonly", "yes"]);
    eventually("the log is whole", || {
        let info = says(&server, &["INFO", "persistence"]);
        info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
    });
    let error = take(&manager(&server)).expect_err("it may have forgotten a vote");
    assert!(error.to_string().contains("does not vote"), "{error}");
}

#[test]
fn a_server_that_started_without_its_log_is_not_trusted_when_it_has_one() {
    started_without_its_log(false);
    started_without_its_log(true);
}

#[test]
fn the_disk_of_a_former_replica_is_not_trusted() {
    require_server();
    let master = logging(Server::builder()).start().expect("it starts");
    let holder = manager(&master);
    votes(&master, &holder);
    let replica = logging(Server::builder().replica_of(&master));
    let replica = replica.start().expect("it starts");
    eventually(
        "it has copied what says that the log has everything, or not",
        || {
            let error = take(&holder).err().map(|error| error.to_string());
            let logged = says(&replica, &["HGET", "leasehold:node", "logged"]);
            error.is_some_and(|error| error.contains("replica")) && logged.contains("lost")
        },
    );
    eventually("its own log is whole", || {
        says(&replica, &["INFO", "persistence"]).contains("aof_rewrite_in_progress:0")
    });
    replica.kill().expect("it runs");
    // The history of its data changed with the first replica, and what it waited for then is over.
    says(&master, &["HSET", "leasehold:node", "until", "0"]);
    let mut held = None;
    eventually("the master votes again", || {
        held = take(&holder).ok();
        held.is_some()
    });
    block_on(holder.shutdown());
    // The machine of the replica takes the place of the master's.
    master.kill().expect("it runs");
    let folder = replica.folder().to_str().expect("a plain name").to_owned();
    let heir = Server::builder()
        .port(master.port())
        .option("dir", &[&folder]);
    let heir = logging(heir).start().expect("it starts");
    let error = take(&manager(&heir)).expect_err("somebody holds it");
    assert!(error.to_string().contains("does not vote"), "{error}");
}
