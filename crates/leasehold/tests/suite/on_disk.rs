//! Votes that must be on disks before they count, on real servers of every kind that there is.

use crate::support::{block_on, eventually};
use leasehold::{
    AcquireError, ConfigError, Disks, LeaseGuard, LockManager, LockOptions, ManagerBuilder, Plain,
};
use leasehold_servers::{Server, ServerBinary, skip};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const TTL: Duration = Duration::from_secs(60);

/// Longer than a server that writes once a second takes.
const LONG: Duration = Duration::from_millis(1_800);

/// A program, and what it can tell of disks.
struct Kind {
    binary: ServerBinary,
    title: String,
    tells: bool,
    /// Whether what it says of its own disk is true whatever its settings are.
    is_exact: bool,
}

fn kinds() -> Vec<Kind> {
    let binaries = ServerBinary::find_all().expect("this test needs a real server");
    let kind = |binary: ServerBinary| {
        let version = binary.version().expect("it tells its version");
        let server = Server::builder().binary(&binary).start();
        let server = server.expect("it starts");
        Kind {
            tells: server.command(&["WAITAOF", "0", "0", "1"]).is_ok(),
            is_exact: version.product == "Redis" && version.numbers.0 >= 8,
            title: version.to_string(),
            binary,
        }
    };
    binaries.into_iter().map(kind).collect()
}

/// Those that tell of disks; says so if there are none.
fn telling() -> Vec<Kind> {
    let (telling, others): (Vec<_>, Vec<_>) = kinds().into_iter().partition(|kind| kind.tells);
    if telling.is_empty() {
        let others: Vec<_> = others.iter().map(|kind| &*kind.title).collect();
        skip(&format!(
            "no server that knows WAITAOF (Redis 7.2, Valkey 7.2), only {}; LEASEHOLD_MORE_SERVERS=path:path names others",
            others.join(", ")
        ));
    }
    telling
}

impl Kind {
    fn start(&self, log: &str, fsync: &str) -> Server {
        let builder = Server::builder().binary(&self.binary);
        let builder = builder.option("appendonly", &[log]);
        let builder = builder.option("appendfsync", &[fsync]);
        let builder = builder.option("repl-diskless-sync-delay", &["0"]);
        builder.start().expect("it starts")
    }
}

fn builder(server: &Server) -> ManagerBuilder {
    let options = LockOptions::new().ttl(TTL).no_renewal().tries(1);
    LockManager::builder()
        .nodes([server.url()])
        .max_ttl(TTL)
        .defaults(options.node_limit(2_000 * MS))
}

fn plain(server: &Server, disks: Disks, within: Duration) -> LockManager<Plain> {
    let built = builder(server).on_disk(disks, within).build_plain();
    built.expect("good options")
}

fn try_once(manager: &LockManager<Plain>) -> Result<LeaseGuard<Plain>, AcquireError> {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.try_acquire())
}

fn refusal(manager: &LockManager<Plain>) -> String {
    let tried = try_once(manager).map(drop);
    tried.expect_err("it must not count").to_string()
}

fn calls(server: &Server) -> bool {
    let told = server.command(&["INFO", "commandstats"]);
    told.is_ok_and(|told| {
        told.text()
            .is_some_and(|told| told.contains("cmdstat_waitaof:"))
    })
}

fn set(server: &Server, name: &str, value: &str) {
    let words = ["CONFIG", "SET", name, value];
    server.command(&words).expect("it takes that");
}

fn is_gone(server: &Server) -> bool {
    let exists = server.command(&["EXISTS", "r"]);
    exists.is_ok_and(|exists| exists.integer() == Some(0))
}

#[test]
fn a_vote_counts_when_it_is_on_the_servers_disk_and_is_there_after_a_restart() {
    for kind in telling() {
        let server = kind.start("yes", "always");
        let manager = plain(&server, Disks::Server, 200 * MS);
        let guard = try_once(&manager).unwrap_or_else(|why| panic!("{}: {why}", kind.title));
        assert!(calls(&server), "{}", kind.title);
        block_on(guard.extend()).expect("it is on the disk as well");
        server.restart().expect("it starts again");
        assert!(!is_gone(&server), "{}", kind.title);
        // With tokens and guard as well, which greet the server.
        let server = kind.start("yes", "always");
        let built = builder(&server).on_disk(Disks::Server, 200 * MS);
        let operator = built.clone().operator().expect("good addresses");
        block_on(operator.admit()).expect("there is a thread");
        let manager = built.build().expect("good options");
        let mutex = manager.mutex("r").expect("a plain name");
        let guard = block_on(mutex.try_acquire());
        drop(guard.unwrap_or_else(|why| panic!("{}: {why}", kind.title)));
    }
}

#[test]
fn a_server_that_cannot_tell_of_disks_is_not_used() {
    let silent: Vec<_> = kinds().into_iter().filter(|kind| !kind.tells).collect();
    if silent.is_empty() {
        return skip("no server without WAITAOF, such as Redis 7.0");
    }
    for kind in silent {
        let server = kind.start("yes", "always");
        for disks in [Disks::Server, Disks::Replicas(1)] {
            let why = refusal(&plain(&server, disks, 200 * MS));
            let told = "(WAITAOF): that needs Redis 7.2 or Valkey 7.2, or newer";
            assert!(why.contains(told), "{}: {why}", kind.title);
        }
        assert!(is_gone(&server), "nothing was even voted");
    }
}

#[test]
fn a_server_without_a_log_is_not_used_for_its_own_disk() {
    for kind in telling() {
        let server = kind.start("no", "always");
        let why = refusal(&plain(&server, Disks::Server, 200 * MS));
        assert!(
            why.contains("set appendonly yes there"),
            "{}: {why}",
            kind.title
        );
        assert!(is_gone(&server), "nothing was even voted");
    }
}

#[test]
fn a_server_that_writes_once_a_second_is_believed_only_where_its_word_is_true() {
    for kind in telling() {
        let server = kind.start("yes", "everysec");
        let manager = plain(&server, Disks::Server, LONG);
        if kind.is_exact {
            for _ in 0..3 {
                let guard =
                    try_once(&manager).unwrap_or_else(|why| panic!("{}: {why}", kind.title));
                assert!(block_on(guard.release()).is_released());
            }
            // At once it is not there: of three votes, that of one at most falls on the end of a second.
            let hasty = plain(&server, Disks::Server, MS);
            let late = (0..3).filter(|_| match try_once(&hasty) {
                Ok(guard) => !block_on(guard.release()).is_released(),
                Err(why) => {
                    let why = why.to_string();
                    assert!(why.contains("the server's disk did not have it"), "{why}");
                    true
                }
            });
            assert!(late.count() > 0, "{}", kind.title);
        } else {
            let why = refusal(&manager);
            assert!(why.contains("comes too early"), "{}: {why}", kind.title);
            assert!(
                why.contains("set appendfsync always"),
                "{}: {why}",
                kind.title
            );
            assert!(is_gone(&server), "nothing was even voted");
        }
    }
}

#[test]
fn a_log_that_is_changed_while_somebody_is_connected_costs_the_vote() {
    for kind in telling() {
        let server = kind.start("yes", "always");
        let manager = plain(&server, Disks::Server, 200 * MS);
        drop(try_once(&manager).unwrap_or_else(|why| panic!("{}: {why}", kind.title)));
        if !kind.is_exact {
            set(&server, "appendfsync", "everysec");
            eventually("its word does not count any more", || {
                try_once(&manager).is_err_and(|why| why.to_string().contains("comes too early"))
            });
            set(&server, "appendfsync", "always");
            eventually("its word counts again", || try_once(&manager).is_ok());
        }
        eventually("nobody has it", || is_gone(&server));
        set(&server, "appendonly", "no");
        let why = refusal(&manager);
        assert!(
            why.contains("set appendonly yes there"),
            "{}: {why}",
            kind.title
        );
        eventually("it is taken back", || is_gone(&server));
    }
}

#[test]
fn a_vote_counts_when_it_is_on_the_disks_of_replicas() {
    for kind in telling() {
        let master = kind.start("yes", "always");
        let alone = plain(&master, Disks::Replicas(1), 100 * MS);
        let why = refusal(&alone);
        let told = "only 0 of 1 replicas had it on their disks within 100 ms: it has 0; connect the others";
        assert!(why.contains(told), "{}: {why}", kind.title);
        eventually("it is taken back", || is_gone(&master));
        let replica = kind.start("yes", "always");
        let follow = ["REPLICAOF", "127.0.0.1", &master.port().to_string()];
        replica.command(&follow).expect("it answers");
        for disks in [Disks::Replicas(1), Disks::ServerAndReplicas(1)] {
            let manager = plain(&master, disks, LONG);
            eventually("the replica has written it", || {
                try_once(&manager).is_ok_and(|guard| {
                    let exists = replica.command(&["EXISTS", "r"]);
                    let is_there = exists.is_ok_and(|exists| exists.integer() == Some(1));
                    assert!(is_there, "{}: it was told so before", kind.title);
                    block_on(guard.release()).is_released()
                })
            });
        }
        // One that has it in memory alone is not enough.
        set(&replica, "appendonly", "no");
        let why = refusal(&plain(&master, Disks::Replicas(1), 100 * MS));
        assert!(
            why.contains("only 0 of 1 replicas"),
            "{}: {why}",
            kind.title
        );
        assert!(
            why.contains("it has 1, of which some"),
            "{}: {why}",
            kind.title
        );
        eventually("it is taken back", || is_gone(&master));
        let heard = builder(&master).replicated(1, LONG).build_plain();
        drop(try_once(&heard.expect("good options")).expect("it has heard of it"));
    }
}

#[test]
fn memory_of_replicas_and_disks_are_asked_for_one_after_the_other() {
    for kind in telling() {
        let server = kind.start("yes", "always");
        let both = builder(&server).replicated(1, 100 * MS);
        let both = both.on_disk(Disks::Server, 100 * MS).build_plain();
        let both = both.expect("good options");
        let why = refusal(&both);
        assert!(why.contains("only 0 of 1 replicas confirmed it"), "{why}");
        assert!(why.contains("it has 0; connect the others"), "{why}");
        let replica = kind.start("no", "always");
        let follow = ["REPLICAOF", "127.0.0.1", &server.port().to_string()];
        replica.command(&follow).expect("it answers");
        eventually("the replica follows", || try_once(&both).is_ok());
        set(&server, "appendonly", "no");
        // On a busy machine the replica may be too slow to be asked for more than itself.
        eventually("the disk is asked for", || {
            refusal(&both).contains("set appendonly yes there")
        });
    }
}

#[test]
fn a_user_who_may_not_ask_about_disks_is_told_which_right_is_missing() {
    for kind in telling() {
        let server = kind.start("yes", "always");
        let user = [
            "ACL", "SETUSER", "u", "on", ">pw", "~*", "+@all", "-waitaof",
        ];
        server.command(&user).expect("it answers");
        let url = format!("redis://u:pw@127.0.0.1:{}", server.port());
        let built = LockManager::builder().nodes([url]);
        let built = built.on_disk(Disks::Server, 100 * MS).build_plain();
        let why = refusal(&built.expect("good options"));
        assert!(why.contains("(+waitaof): NOPERM"), "{}: {why}", kind.title);
    }
}

#[test]
fn waiting_for_disks_has_bounds() {
    let built = |disks, within, replicated| {
        let options = LockOptions::new().ttl(10_000 * MS).node_limit(100 * MS);
        let builder = LockManager::builder().nodes(["redis://127.0.0.1:1"]);
        let builder = builder.defaults(options).on_disk(disks, within);
        let builder = match replicated {
            Some(within) => builder.replicated(1, within),
            None => builder,
        };
        builder.build().map(drop)
    };
    assert!(built(Disks::Server, 100 * MS, None).is_ok());
    assert!(built(Disks::ServerAndReplicas(1), 60 * MS, Some(40 * MS)).is_ok());
    for (disks, within, replicated) in [
        (Disks::Replicas(0), 100 * MS, None),
        (Disks::ServerAndReplicas(0), 100 * MS, None),
        (Disks::Server, Duration::ZERO, None),
        (Disks::Server, 101 * MS, None),
    ] {
        let error = built(disks, within, replicated).expect_err("out of bounds");
        let text = error.to_string();
        assert!(
            text.contains("from 1 ms to the node limit, 100 ms"),
            "{text}"
        );
    }
    // Together they may not take longer either.
    let error = built(Disks::Server, 60 * MS, Some(41 * MS)).expect_err("too long");
    assert!(matches!(error, ConfigError::Replicas { .. }), "{error}");
}
