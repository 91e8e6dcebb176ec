//! Servers that were fit to keep locks on when a client connected, and are not any more.

use crate::support::{block_on, eventually};
use leasehold::{
    AbstentionCause, AcquireError, LeaseGuard, LockManager, LockOptions, ManagerBuilder,
    ReconfigureError, RestartGuard,
    operate::{Former, NodeAnswer},
};
use leasehold_servers::{Server, require_server};
use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::Duration,
};
use tokio::runtime::{self, Runtime};

const MS: Duration = Duration::from_millis(1);

/// Longer than any test lasts.
const MAX_TTL: Duration = Duration::from_secs(120);

pub(crate) fn builder(urls: impl IntoIterator<Item = String>) -> ManagerBuilder {
    let options = LockOptions::new()
        .ttl(60_000 * MS)
        .node_limit(500 * MS)
        .no_renewal();
    LockManager::builder()
        .max_ttl(MAX_TTL)
        .clock_skew(Duration::ZERO)
        .nodes(urls)
        .defaults(options)
}

/// A manager whose nodes vote at once.
pub(crate) fn admitted(builder: impl Fn() -> ManagerBuilder) -> LockManager {
    let manager = builder().build().expect("good addresses");
    try_once(&manager).expect_err("its nodes are new");
    block_on(builder().operator().expect("good addresses").admit()).expect("good addresses");
    eventually("they vote", || {
        try_once(&manager).is_ok_and(|guard| block_on(guard.release()).is_released())
    });
    manager
}

pub(crate) fn try_once(manager: &LockManager) -> Result<LeaseGuard, AcquireError> {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.try_acquire())
}

/// A manager whose votes leave in calls: it is a task, and takes in one turn what is asked for in one.
struct InCalls {
    runtime: Runtime,
    manager: LockManager,
}

impl InCalls {
    /// One that is connected. Its nodes vote.
    fn connect(builder: ManagerBuilder) -> Self {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let manager = runtime.block_on(async { builder.build().expect("good addresses") });
        let this = Self { runtime, manager };
        assert!(this.try_some().iter().all(|won| *won), "they vote");
        this
    }

    /// Tries for two locks at a time. Whether each was won.
    fn try_some(&self) -> Vec<bool> {
        let names = ["one", "other"].map(|name| self.manager.mutex(name).expect("a plain name"));
        let [one, other] = names;
        self.runtime.block_on(async {
            let mut tried = Vec::new();
            for _ in 0..25 {
                let (one, other) = tokio::join!(one.try_acquire(), other.try_acquire());
                for got in [one, other] {
                    tried.push(got.is_ok());
                    if let Ok(guard) = got {
                        assert!(guard.release().await.is_released());
                    }
                }
            }
            tried
        })
    }
}

/// Why the first of the nodes that do not vote does not, and in its words.
pub(crate) fn abstention(manager: &LockManager) -> (Option<AbstentionCause>, String) {
    let error = try_once(manager).expect_err("it must not vote");
    let fault = error.faults().first().expect("a reason");
    let cause = fault.abstention().map(|abstention| abstention.cause);
    (cause, error.to_string())
}

pub(crate) fn set(server: &Server, words: &[&str]) {
    change(server, &[&["CONFIG", "SET"], words].concat());
}

/// Changes what the next look at the server finds: there is one in a millisecond of its clock.
fn change(server: &Server, words: &[&str]) {
    server.command(words).expect("it answers");
    let millisecond = || {
        let time = server.command(&["TIME"]).expect("it answers");
        let parts = time.texts();
        let micros: u64 = parts[1].parse().expect("a number");
        (parts[0].to_owned(), micros / 1_000)
    };
    let changed = millisecond();
    while millisecond() == changed {}
}

#[test]
fn a_replica_that_can_be_written_to_does_not_vote() {
    require_server();
    let server = Server::start().expect("it starts");
    let manager = admitted(|| builder([server.url()]));
    let held = try_once(&manager).expect("it votes");
    set(&server, &["replica-read-only", "no"]);
    // Of a master that is not there, so it keeps its keys.
    change(&server, &["REPLICAOF", "127.0.0.1", "1"]);
    let (cause, why) = abstention(&manager);
    assert_eq!(cause, Some(AbstentionCause::Replica), "{why}");
    let error = block_on(held.extend()).expect_err("it does not decide");
    assert!(error.to_string().contains("it is a replica now"), "{error}");
}

fn durable() -> Server {
    let server = Server::builder()
        .option("appendonly", &["yes"])
        .option("appendfsync", &["always"]);
    server.start().expect("it starts")
}

fn trusting(server: &Server) -> impl Fn() -> ManagerBuilder {
    let url = server.url();
    move || builder([url.clone()]).restart_guard(RestartGuard::TrustAof)
}

#[test]
fn a_server_that_stops_to_write_what_its_disk_is_trusted_with_does_not_vote() {
    require_server();
    let server = durable();
    let build = trusting(&server);
    let manager = admitted(&build);
    set(&server, &["appendonly", "no"]);
    let (cause, why) = abstention(&manager);
    assert_eq!(cause, Some(AbstentionCause::NotDurable), "{why}");
    assert!(why.contains("CONFIG SET appendonly yes"), "{why}");
    let why = unsuitable(&build());
    assert!(why.contains("CONFIG SET appendonly yes"), "{why}");
    // A new client that finds it so changes nothing of it, nor does a log that is not whole yet.
    let late = build().build().expect("good addresses");
    assert_eq!(abstention(&late).0, Some(AbstentionCause::NotDurable));
    server.restart().expect("it starts again");
    // It has its old log, and everything that it was ever asked for stands there.
    eventually("it votes at once", || try_once(&manager).is_ok());
}

/// Why no locks can be kept on the only node, as an operator is told.
fn unsuitable(builder: &ManagerBuilder) -> String {
    let operator = builder.operator().expect("good addresses");
    let told = block_on(operator.survey()).expect("good addresses");
    let NodeAnswer::Told(survey) = &told[0].answer else {
        panic!("{told:?}");
    };
    survey.unsuitable.clone().unwrap_or_default()
}

/// As if its time had passed.
fn end_quarantine(server: &Server) {
    let end = ["HSET", "leasehold:node", "until", "0"];
    server.command(&end).expect("it answers");
}

#[test]
fn a_server_that_was_flushed_while_its_log_was_off_does_not_vote_until_it_has_a_log() {
    require_server();
    let server = durable();
    let manager = admitted(trusting(&server));
    set(&server, &["appendonly", "no"]);
    // The note that its log was trusted goes with the data.
    server.command(&["FLUSHALL"]).expect("it answers");
    assert!(try_once(&manager).is_err(), "it was flushed");
    end_quarantine(&server);
    // What is granted now no log has: a restart would find the old one, which says that it has every vote.
    let (cause, why) = abstention(&manager);
    assert_eq!(cause, Some(AbstentionCause::NotDurable), "{why}");
    assert!(why.contains("CONFIG SET appendonly yes"), "{why}");
    server.restart().expect("it starts again");
    eventually("it votes with its old log", || try_once(&manager).is_ok());
}

#[test]
fn a_server_that_never_had_a_log_does_not_vote_until_it_has_a_whole_one() {
    require_server();
    let server = Server::builder().option("appendfsync", &["always"]);
    let server = server.start().expect("it starts");
    let manager = trusting(&server)().build().expect("good addresses");
    let (cause, why) = abstention(&manager);
    assert_eq!(cause, Some(AbstentionCause::NotDurable), "{why}");
    assert!(why.contains("CONFIG SET appendonly yes"), "{why}");
    end_quarantine(&server);
    assert_eq!(abstention(&manager).0, Some(AbstentionCause::NotDurable));
    set(&server, &["appendonly", "yes"]);
    eventually("the manager has asked again, and the log is whole", || {
        try_once(&manager).is_ok()
    });
}

/// Changes the guard of a server whose log was trusted, as the user of this address.
fn distrust(url: String) -> Result<(), ReconfigureError> {
    let operator = builder([url]).operator()?;
    let done = block_on(operator.reconfigure(Former::same()))?;
    assert!(done.is_complete(), "{done:?}");
    Ok(())
}

/// Argument S9.
#[test]
fn a_server_whose_log_is_trusted_and_off_is_not_marked() {
    require_server();
    let server = durable();
    let manager = admitted(trusting(&server));
    // Nobody has looked since.
    set(&server, &["appendonly", "no"]);
    let refused = distrust(server.url()).expect_err("a restart undoes it");
    let refused = refused.to_string();
    assert!(refused.contains("CONFIG SET appendonly yes"), "{refused}");
    // Nor after somebody has, until the log has been rewritten.
    try_once(&manager).expect_err("it does not vote");
    distrust(server.url()).expect_err("the log is off");
    set(&server, &["appendonly", "yes"]);
    eventually("its log is whole", || distrust(server.url()).is_ok());
}

/// Argument S9.
#[test]
fn a_server_whose_log_is_trusted_and_may_lose_the_mark_is_not_marked() {
    require_server();
    let server = durable();
    admitted(trusting(&server));
    for (name, value, right) in [
        ("appendfsync", "everysec", "always"),
        ("no-appendfsync-on-rewrite", "yes", "no"),
    ] {
        set(&server, &[name, value]);
        let refused = distrust(server.url()).expect_err("its disk may lose the mark");
        let refused = refused.to_string();
        assert!(refused.contains("CONFIG SET appendonly yes"), "{refused}");
        set(&server, &[name, right]);
    }
    let user = "ACL SETUSER u on >pw ~* &* +@all -config";
    let words: Vec<_> = user.split(' ').collect();
    server.command(&words).expect("it answers");
    let url = || format!("redis://u:pw@127.0.0.1:{}", server.port());
    let refused = distrust(url()).expect_err("nobody knows whether it has the mark");
    let refused = refused.to_string();
    assert!(refused.contains("+config|get"), "{refused}");
    let why = unsuitable(&builder([url()]).restart_guard(RestartGuard::TrustAof));
    assert!(why.contains("+config|get"), "{why}");
    distrust(server.url()).expect("its disk has the mark");
    // From the first look on nobody relies on its log any more, so nobody has to ask.
    let manager = builder([url()]).build().expect("a good address");
    try_once(&manager).expect_err("it waits for the leases of before");
    let shorter = builder([url()]).max_ttl(MAX_TTL / 2);
    let operator = shorter.operator().expect("a good address");
    let done = block_on(operator.reconfigure(Former::same()));
    assert!(done.expect("it may be marked").is_complete());
}

/// Writes what clients of the version before write with each greeting and each look, for as long as `meanwhile` lasts:
/// also what they found of the log, '1' if it was whole.
fn beside_an_older_client<T>(server: &Server, log: &str, meanwhile: impl FnOnce() -> T) -> T {
    let write = "local clock = redis.call('TIME') \
                 local now = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000)) \
                 return redis.call('HSET', 'leasehold:node', 'seen', now, 'durable', ARGV[1])";
    let (is_over, has_begun) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut connection = server.connect().expect("it listens");
            while !is_over.load(SeqCst) {
                let told = connection.command(&["EVAL", write, "0", log]);
                told.expect("it answers");
                has_begun.store(true, SeqCst);
            }
        });
        eventually("it writes", || has_begun.load(SeqCst));
        let outcome = meanwhile();
        is_over.store(true, SeqCst);
        outcome
    })
}

#[test]
fn a_client_of_the_version_before_makes_no_server_fit_that_may_evict() {
    require_server();
    for leaves_in_calls in [false, true] {
        let server = Server::start().expect("it starts");
        let manager = admitted(|| builder([server.url()]));
        let in_calls = InCalls::connect(builder([server.url()]));
        set(
            &server,
            &["maxmemory-policy", "allkeys-lru", "maxmemory", "1gb"],
        );
        let won = beside_an_older_client(&server, "0", || match leaves_in_calls {
            true => in_calls.try_some(),
            false => (0..100).map(|_| try_once(&manager).is_ok()).collect(),
        });
        assert!(won.iter().all(|won| !won), "it voted");
        assert_eq!(abstention(&manager).0, Some(AbstentionCause::MayEvict));
    }
}

#[test]
fn a_client_of_the_version_before_makes_no_server_fit_whose_log_was_turned_off() {
    require_server();
    let server = durable();
    let manager = admitted(trusting(&server));
    let in_calls = InCalls::connect(trusting(&server)());
    set(&server, &["appendonly", "no"]);
    assert_eq!(abstention(&manager).0, Some(AbstentionCause::NotDurable));
    let has_voted = || try_once(&manager).is_ok() || in_calls.try_some().contains(&true);
    let has_voted_beside = |log| beside_an_older_client(&server, log, has_voted);
    assert!(!has_voted_beside("0"), "a restart would trust the old log");
    assert_eq!(abstention(&manager).0, Some(AbstentionCause::NotDurable));
    // The new log is not whole yet, whatever an older client has found of the log before.
    write_the_log_anew(&server);
    assert!(!has_voted_beside("1"), "a restart would trust the old log");
    assert_eq!(abstention(&manager).0, Some(AbstentionCause::NotDurable));
}

/// Turns the log on again. It takes the server 2 s to write it, and until then a restart would find the old one.
fn write_the_log_anew(server: &Server) {
    let fill = "for i = 1, 400 do redis.call('SET', 'filler' .. i, 'x') end";
    server.command(&["EVAL", fill, "0"]).expect("it answers");
    set(server, &["rdb-key-save-delay", "5000"]);
    set(server, &["appendonly", "yes"]);
}

#[test]
fn a_server_that_writes_everything_again_votes_again() {
    require_server();
    let server = durable();
    let manager = admitted(trusting(&server));
    let held = try_once(&manager).expect("it votes");
    set(&server, &["appendonly", "no"]);
    let error = block_on(held.extend()).expect_err("a restart would cut it short");
    assert!(error.to_string().contains("appendonly yes"), "{error}");
    write_the_log_anew(&server);
    block_on(held.extend()).expect_err("its log is not whole");
    eventually("its log is whole", || block_on(held.extend()).is_ok());
    assert!(block_on(held.release()).is_released());
}

#[test]
fn a_server_that_answers_before_its_disk_has_the_vote_is_found_out() {
    require_server();
    let server = durable();
    let manager = admitted(trusting(&server));
    set(&server, &["appendfsync", "everysec"]);
    let votes = || try_once(&manager).is_ok_and(|guard| block_on(guard.release()).is_released());
    eventually("the manager has asked", || !votes());
    let (cause, why) = abstention(&manager);
    assert_eq!(cause, Some(AbstentionCause::NotDurable), "{why}");
    set(&server, &["appendfsync", "always"]);
    eventually("the manager has asked again", votes);
}

#[test]
fn a_server_whose_disk_is_trusted_does_not_vote_while_it_has_replicas() {
    require_server();
    let server = durable();
    let manager = admitted(trusting(&server));
    let replica = Server::builder().replica_of(&server).start();
    let _replica = replica.expect("it starts");
    eventually("it has a replica", || {
        let error = try_once(&manager).map(drop);
        error.is_err_and(|error| error.to_string().contains("it has replicas now"))
    });
}
