//! Servers that forbid, rename or hide some of what locks use, as managed services do: what works there, and what whoever
//! asks is told.

use crate::{
    calls,
    support::{block_on, cluster, eventually},
};
use leasehold::{AcquireError, LockManager, LockOptions, ManagerBuilder, Mode, RestartGuard};
use leasehold_servers::{Managed, ManagedBuilder, Server, ServerBinary, ServerSet, require_server};
use std::{thread, time::Duration};

const MS: Duration = Duration::from_millis(1);

fn builder(urls: impl IntoIterator<Item = String>) -> ManagerBuilder {
    // A single try has to do on a busy machine.
    let options = LockOptions::new().ttl(300 * MS).node_limit(200 * MS);
    LockManager::builder()
        .max_ttl(400 * MS)
        .clock_skew(Duration::ZERO)
        .cluster("fenced in")
        .nodes(urls)
        .defaults(options)
}

fn builder_of(url: &str, namespace: &str) -> ManagerBuilder {
    builder([url.to_owned()]).namespace(namespace)
}

fn try_once<M: Mode>(manager: &LockManager<M>) -> Result<leasehold::LeaseGuard<M>, AcquireError> {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.try_acquire())
}

/// Has a lock, extends it and gives it back; or tells why it cannot. Waits for the end of a quarantine.
fn lock<M: Mode>(manager: &LockManager<M>) -> Result<(), String> {
    let mut outcome = Ok(());
    eventually("there is an answer", || match try_once(manager) {
        Err(AcquireError::Abstained(_)) => false,
        Err(error) => {
            outcome = Err(error.to_string());
            !is_late(&outcome)
        }
        Ok(guard) => {
            let told = block_on(guard.extend()).map(drop);
            outcome = told.map_err(|error| error.to_string());
            block_on(guard.release()).is_released() && !is_late(&outcome)
        }
    });
    outcome
}

/// Whether a machine that is busy has not answered in time, and was not asked for anything else.
fn is_late(outcome: &Result<(), String>) -> bool {
    let why = outcome.as_ref().err();
    why.is_some_and(|why| why.contains("no answer within"))
}

/// What somebody gets for whom something is forbidden: none if all goes well, or else a part of what is said.
#[derive(Clone, Copy)]
struct Expected {
    guarded: Option<&'static str>,
    trusting: Option<&'static str>,
    unguarded: Option<&'static str>,
    plain: Option<&'static str>,
}

const ALL_GOES_WELL: Expected = Expected {
    guarded: None,
    trusting: None,
    unguarded: None,
    plain: None,
};

const fn refused_by_all(why: &'static str) -> Expected {
    Expected {
        guarded: Some(why),
        trusting: Some(why),
        unguarded: Some(why),
        plain: Some(why),
    }
}

impl Expected {
    /// Tries each kind of lock at this address.
    #[track_caller]
    fn check(self, url: &str, title: &str) {
        let tried = [
            ("guarded", self.guarded, RestartGuard::Quarantine),
            ("trusting", self.trusting, RestartGuard::TrustAof),
            ("unguarded", self.unguarded, RestartGuard::Off),
        ];
        for (kind, expected, guard) in tried {
            let builder = builder_of(url, kind).restart_guard(guard);
            let manager = builder.build().expect("a good address");
            check(&lock(&manager), expected, &format!("{title}: {kind}"));
        }
        let manager = builder_of(url, "plain").build_plain();
        let outcome = lock(&manager.expect("a good address"));
        check(&outcome, self.plain, &format!("{title}: plain"));
    }
}

#[track_caller]
fn check(outcome: &Result<(), String>, expected: Option<&str>, title: &str) {
    match (outcome, expected) {
        (Ok(()), None) => {}
        (Err(told), Some(part)) => assert!(told.contains(part), "{title}: no {part:?} in {told}"),
        _ => panic!("{title}: {outcome:?}"),
    }
}

const NO_SCRIPTS: &str =
    "lets us run no scripts, which locks with fencing tokens need: allow +eval +evalsha";

/// What comes of a command that is forbidden to a user, and of one that was renamed. On a server with a log that can be
/// trusted.
fn commands(is_renamed: bool) -> Vec<(&'static str, Expected)> {
    let named = |forbidden, renamed| if is_renamed { renamed } else { forbidden };
    let no_info = Some(named(
        "run INFO, which a lease needs before it ends: allow +info (restart guard off does without INFO)",
        "does not know INFO, which a lease needs before it ends: undo rename-command (restart guard off does without INFO)",
    ));
    let scripts = Expected {
        guarded: Some(NO_SCRIPTS),
        trusting: Some(NO_SCRIPTS),
        unguarded: Some(NO_SCRIPTS),
        plain: None,
    };
    vec![
        (
            "CONFIG",
            Expected {
                trusting: Some("as restart guard trust-aof needs (+config|get)"),
                ..ALL_GOES_WELL
            },
        ),
        (
            "INFO",
            Expected {
                guarded: no_info,
                trusting: no_info,
                ..ALL_GOES_WELL
            },
        ),
        ("CLIENT", ALL_GOES_WELL),
        ("SCRIPT", ALL_GOES_WELL),
        ("HELLO", ALL_GOES_WELL),
        // What SCRIPT LOAD has loaded can be called.
        ("EVAL", scripts),
        (
            "PEXPIRE",
            refused_by_all(named(
                "run PEXPIRE, which a lease needs before it ends: allow +pexpire",
                "does not know PEXPIRE, which a lease needs before it ends: undo rename-command",
            )),
        ),
        (
            "TIME",
            refused_by_all(named(
                "run TIME, which a lease needs before it ends: allow +time",
                "does not know TIME, which a lease needs before it ends: undo rename-command",
            )),
        ),
    ]
}

fn durable(binary: &ServerBinary) -> leasehold_servers::ServerBuilder {
    Server::builder()
        .binary(binary)
        .option("appendonly", &["yes"])
        .option("appendfsync", &["always"])
}

/// No lock is left, and none was ever set where it was refused.
#[track_caller]
fn expect_no_locks(server: &Server, title: &str) {
    let keys = server.command(&["KEYS", "*"]).expect("it answers");
    let of_locks = keys
        .texts()
        .into_iter()
        .filter(|key| !key.ends_with(":node"));
    assert_eq!(of_locks.collect::<Vec<_>>(), [""; 0], "{title}");
}

#[test]
fn what_a_user_may_not_run_leaves_the_safest_lock_that_does_without_or_is_named() {
    require_server();
    for binary in ServerBinary::find_all().expect("this test needs a real server") {
        let version = binary.version().expect("it tells its version");
        let server = durable(&binary).start().expect("the server starts");
        for (command, expected) in commands(false) {
            let title = format!("{version}: {command}");
            let right = format!("-{}", command.to_ascii_lowercase());
            let words = ["ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "+@all"];
            let words = [&words[..], &[right.as_str()]].concat();
            server.command(&words).expect("it answers");
            let url = format!("redis://u:pw@127.0.0.1:{}", server.port());
            expected.check(&url, &title);
            expect_no_locks(&server, &title);
            server.command(&["FLUSHALL"]).expect("it answers");
        }
    }
}

#[test]
fn what_was_renamed_leaves_the_safest_lock_that_does_without_or_is_named() {
    require_server();
    for binary in ServerBinary::find_all().expect("this test needs a real server") {
        let version = binary.version().expect("it tells its version");
        for (command, expected) in commands(true) {
            let title = format!("{version}: {command}");
            let server = durable(&binary).option("rename-command", &[command, "\"\""]);
            let server = server.start().expect("the server starts");
            expected.check(&server.url(), &title);
            expect_no_locks(&server, &title);
        }
    }
}

#[test]
fn plain_locks_without_any_scripts_are_had_where_a_server_compares_and_else_refused_by_name() {
    require_server();
    for binary in ServerBinary::find_all().expect("this test needs a real server") {
        let version = binary.version().expect("it tells its version");
        let server = Server::builder().binary(&binary).start();
        let server = server.expect("the server starts");
        let compares = server.command(&["DELIFEQ", "k", "v"]).is_ok()
            || server.command(&["DELEX", "k", "IFEQ", "v"]).is_ok();
        let managed = ["EVAL", "EVALSHA", "SCRIPT"]
            .iter()
            .fold(Managed::before(server.port()), |managed, command| {
                managed.refuses(command, "ERR command is disabled by the service")
            });
        let managed = managed.start().expect("a free port");
        let expected = Expected {
            guarded: Some(NO_SCRIPTS),
            trusting: Some(NO_SCRIPTS),
            unguarded: Some(NO_SCRIPTS),
            plain: (!compares)
                .then_some("lets us run no scripts, and has no commands that do without"),
        };
        expected.check(&managed.url(), &version.to_string());
        expect_no_locks(&server, &version.to_string());
    }
}

/// A service of this server whose INFO is not that of the server.
fn hiding(server: &Server) -> Vec<(&'static str, ManagedBuilder)> {
    let zeros = "0".repeat(40);
    let before = || Managed::before(server.port());
    vec![
        ("run_id", before().shows("run_id", None)),
        ("run_id", before().shows("run_id", Some(""))),
        ("run_id", before().shows("run_id", Some(&zeros))),
        ("master_replid", before().shows("master_replid", None)),
        (
            "master_replid",
            before().shows("master_replid", Some(&zeros)),
        ),
        ("maxmemory", before().shows("maxmemory", None)),
    ]
}

#[test]
fn a_service_that_hides_what_the_guard_compares_is_refused_by_name_and_marked_by_nobody() {
    require_server();
    let server = Server::start().expect("it starts");
    for (field, managed) in hiding(&server) {
        let managed = managed.start().expect("a free port");
        for guard in [RestartGuard::Quarantine, RestartGuard::TrustAof] {
            let builder = builder_of(&managed.url(), "hidden").restart_guard(guard);
            let told = lock(&builder.build().expect("good")).expect_err("it hides something");
            let part = format!("does not tell its {field} (INFO), without which nobody sees");
            assert!(told.contains(&part), "{field}: {told}");
            assert!(told.contains("restart guard off does without"), "{told}");
            let keys = server.command(&["DBSIZE"]).expect("it answers");
            assert_eq!(keys.integer(), Some(0), "{field}: nothing was written");
        }
        // So what was advised can be done at once, without a change of configuration.
        let builder = builder_of(&managed.url(), "hidden").restart_guard(RestartGuard::Off);
        assert_eq!(lock(&builder.build().expect("good")), Ok(()), "{field}");
        let manager = builder_of(&managed.url(), "plain").build_plain();
        assert_eq!(lock(&manager.expect("good")), Ok(()), "{field}");
        server.command(&["FLUSHALL"]).expect("it answers");
    }
}

#[test]
fn a_service_that_lets_no_script_look_is_refused_by_name_and_does_for_the_guard_off() {
    require_server();
    let server = Server::start().expect("it starts");
    let managed = Managed::before(server.port()).refuses_in_scripts("INFO");
    let managed = managed.start().expect("a free port");
    let manager = builder_of(&managed.url(), "n").build().expect("good");
    let told = lock(&manager).expect_err("the guard cannot look");
    let part = "lets no script run INFO, which a lease needs before it ends (restart guard off does without INFO)";
    assert!(told.contains(part), "{told}");
    let keys = server.command(&["DBSIZE"]).expect("it answers");
    assert_eq!(keys.integer(), Some(0), "nothing was written");
    let unguarded = builder_of(&managed.url(), "n").restart_guard(RestartGuard::Off);
    assert_eq!(lock(&unguarded.build().expect("good")), Ok(()));
    // The guard needs nothing of what is said outside of scripts.
    let managed = Managed::before(server.port())
        .refuses("INFO", "ERR unknown command 'INFO'")
        .refuses("CONFIG", "ERR unknown command 'CONFIG'");
    let managed = managed.start().expect("a free port");
    let manager = builder_of(&managed.url(), "m").build().expect("good");
    assert_eq!(lock(&manager), Ok(()));
}

/// What some services tell of each of their servers.
const EVERYBODYS: &str = "3f0a5d1c8b7e42961c0d4f8a2b6e9d7c5a1f3e08";

fn same_for_all(server: &Server) -> Managed {
    let managed = Managed::before(server.port()).shows("run_id", Some(EVERYBODYS));
    managed.start().expect("a free port")
}

/// Why the single node does not vote.
fn abstention(manager: &LockManager) -> String {
    let mut why = String::new();
    eventually("the server abstains", || match try_once(manager) {
        Err(AcquireError::Abstained(abstained)) => {
            why = abstained.faults[0].to_string();
            true
        }
        Ok(_) => panic!("it must not vote"),
        // It is not back yet.
        Err(_) => false,
    });
    why
}

#[test]
fn a_run_id_that_all_servers_share_hides_no_restart_with_old_data() {
    require_server();
    let server = Server::start().expect("it starts");
    let managed = same_for_all(&server);
    let manager = builder_of(&managed.url(), "n").build().expect("good");
    assert_eq!(lock(&manager), Ok(()));
    server.save().expect("it has a disk");
    let guard = try_once(&manager).expect("it votes");
    server.restart().expect("it starts again");
    let why = abstention(&manager);
    assert!(why.contains("it has restarted, or was a replica"), "{why}");
    drop(guard);
}

#[test]
fn a_run_id_that_all_servers_share_hides_no_promotion_and_makes_no_two_servers_one() {
    require_server();
    let primary = Server::start().expect("it starts");
    let replica = Server::builder().replica_of(&primary).start();
    let replica = replica.expect("it starts");
    let [first, second] = [&primary, &replica].map(same_for_all);
    let manager = builder_of(&first.url(), "n").build().expect("good");
    assert_eq!(lock(&manager), Ok(()));
    eventually("the replica has what the primary has", || {
        let node = replica.command(&["HGET", "n:node", "id"]);
        node.is_ok_and(|reply| reply.text().is_some())
    });
    let promote = ["REPLICAOF", "NO", "ONE"];
    replica.command(&promote).expect("it is promoted");
    let why = abstention(&builder_of(&second.url(), "n").build().expect("good"));
    assert!(why.contains("was a replica"), "{why}");

    let servers = ServerSet::start(3).expect("they start");
    let managed: Vec<_> = servers.iter().map(same_for_all).collect();
    let manager = builder(managed.iter().map(Managed::url)).build();
    let manager = manager.expect("good addresses");
    assert_eq!(lock(&manager), Ok(()));
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire()).expect("they vote");
    eventually("each of three has the key", || {
        let mut keys = servers
            .iter()
            .map(|server| server.command(&["EXISTS", "r"]));
        keys.all(|key| key.is_ok_and(|key| key.integer() == Some(1)))
    });
    drop(guard);
}

/// How services say that they do not know the newer protocol.
const NO_HELLO: [&str; 4] = [
    "ERR unknown command 'HELLO'",
    "NOPROTO unsupported protocol version",
    "ERR command 'HELLO' is not allowed",
    "ERR HELLO is not supported",
];

#[test]
fn without_the_newer_protocol_each_lock_is_asked_for_alone() {
    require_server();
    let server = Server::start().expect("it starts");
    for words in NO_HELLO {
        let managed = Managed::before(server.port()).refuses("HELLO", words);
        let managed = managed.start().expect("a free port");
        let calls = calls::calls_for_many(&server, &managed.url());
        assert_eq!(calls, calls::MANY, "{words}");
    }
    // Whoever speaks it is a server, and has a call for several.
    let calls = calls::calls_for_many(&server, &server.url());
    assert!(calls <= 8, "{calls} calls");
}

#[test]
fn without_the_newer_protocol_a_waiter_looks_by_the_clock() {
    require_server();
    let server = Server::start().expect("it starts");
    let managed = Managed::before(server.port()).refuses("HELLO", NO_HELLO[0]);
    let managed = managed.start().expect("a free port");
    let [holder, waiter] = [0, 1].map(|_| {
        let manager = builder_of(&managed.url(), "n").build().expect("good");
        assert_eq!(lock(&manager), Ok(()));
        manager
    });
    let guard = try_once(&holder).expect("it votes");
    let before = cluster::calls_of(&server);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mutex = waiter.mutex("r").expect("a plain name");
            block_on(mutex.acquire()).map(|guard| block_on(guard.release()))
        });
        eventually("it is asked for again and again", || {
            cluster::calls_of(&server) > before + 2
        });
        assert!(block_on(guard.release()).is_released());
        let released = waiting.join().expect("it does not panic");
        assert!(released.expect("it has its turn").is_released());
    });
}

#[test]
fn a_look_that_is_forbidden_while_a_lease_is_held_ends_it_by_its_time_and_by_name() {
    require_server();
    let server = Server::start().expect("it starts");
    let words = ["ACL", "SETUSER", "u", "on", ">pw", "~*", "+@all"];
    server.command(&words).expect("it answers");
    let url = format!("redis://u:pw@127.0.0.1:{}", server.port());
    let manager = builder_of(&url, "n").build().expect("good");
    assert_eq!(lock(&manager), Ok(()));
    let guard = try_once(&manager).expect("it votes");
    let words = ["ACL", "SETUSER", "u", "-info"];
    server.command(&words).expect("it answers");
    let mut told = String::new();
    // It looks once in a millisecond.
    eventually("the guard cannot look", || {
        let extended = block_on(guard.extend()).map_err(|error| told = error.to_string());
        extended.is_err()
    });
    assert!(told.contains("allow +info (restart guard off"), "{told}");
    assert!(block_on(guard.release()).is_released());
}
