//! One master with replicas, found by asking sentinels.

use crate::{
    stuck_runtime::{self, blocked, two_threads},
    support::{block_on, eventually, when_sentinels_agree},
};
use leasehold::{
    AcquireError, LeaseGuard, LockManager, LockOptions, ManagerBuilder, Mode as Kind,
    operate::NodeAnswer,
};
use leasehold_servers::{Mode, Proxy, Sentinel, Server, require_server};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a master may be silent.
const DOWN_AFTER: Duration = Duration::from_millis(500);

/// A master, a replica behind a proxy, and a sentinel that knows both.
struct Group {
    master: Server,
    proxy: Proxy,
    replica: Server,
    sentinel: Sentinel,
}

impl Group {
    fn start() -> Self {
        Self::with_a_sentinel_of(DOWN_AFTER)
    }

    /// One whose sentinel chooses no other master because the machine is slow.
    fn that_stays() -> Self {
        Self::with_a_sentinel_of(Duration::from_secs(600))
    }

    /// One whose sentinel lets the master be silent for so long.
    fn with_a_sentinel_of(down_after: Duration) -> Self {
        require_server();
        let master = Server::start().expect("it starts");
        let proxy = Proxy::start(master.port()).expect("there is a port");
        let replica = Server::builder()
            .option("replicaof", &["127.0.0.1", &proxy.port().to_string()])
            .start()
            .expect("it starts");
        when_sentinels_agree("the replica follows", || {
            let info = replica.command(&["INFO", "replication"]);
            info.is_ok_and(|info| format!("{info:?}").contains("master_link_status:up"))
        });
        let sentinel = Sentinel::start("locks", &master, 1, down_after).expect("it starts");
        when_sentinels_agree("the sentinel knows the replica", || {
            let replicas = sentinel.command(&["SENTINEL", "REPLICAS", "locks"]);
            // With the replica's own answers, without which it would not be chosen.
            replicas.is_ok_and(|replicas| {
                format!("{replicas:?}").contains("\"master-link-status\"), Text(\"ok\")")
            })
        });
        let group = Self {
            master,
            proxy,
            replica,
            sentinel,
        };
        group.set_failover_timeout(Duration::from_secs(600));
        group
    }

    /// Sets the failover timeout of the sentinel. A failover that failed is tried again after twice this time. A replica
    /// that follows the master by another address is told to use the master's own after this time, and so no longer goes
    /// through the proxy: unless the sentinel holds the master for down.
    fn set_failover_timeout(&self, time: Duration) {
        let time = time.as_millis().to_string();
        let words = ["SENTINEL", "SET", "locks", "failover-timeout", &time];
        self.sentinel.command(&words).expect("it answers");
    }

    fn url(&self) -> String {
        format!("redis+sentinel://127.0.0.1:{}/locks", self.sentinel.port())
    }

    fn builder(&self, ttl: Duration) -> ManagerBuilder {
        builder(&self.url(), ttl)
    }

    fn is_replicated(&self, key: &str) -> bool {
        let exists = self.replica.command(&["EXISTS", key]);
        exists.is_ok_and(|exists| exists.integer() == Some(1))
    }

    /// Waits until the sentinel has made a master of the replica.
    fn await_failover(&self) {
        let mut is_told = false;
        when_sentinels_agree("the sentinel names the replica", || {
            if !is_told && self.is_down() {
                self.set_failover_timeout(Duration::from_secs(3));
                is_told = true;
            }
            self.sentinel
                .master("locks")
                .is_ok_and(|port| port == Some(self.replica.port()))
        });
    }

    /// Whether the master is down in the eyes of the sentinel.
    fn is_down(&self) -> bool {
        let master = self.sentinel.command(&["SENTINEL", "MASTER", "locks"]);
        master.is_ok_and(|master| format!("{master:?}").contains("s_down"))
    }
}

fn builder(url: &str, ttl: Duration) -> ManagerBuilder {
    let options = LockOptions::new().ttl(ttl).node_limit(200 * MS);
    LockManager::builder()
        // A successor waits for longer than a lease lasts, by as much as the word of sentinels may be old.
        .max_ttl(ttl + 1_600 * MS)
        .clock_skew(Duration::ZERO)
        .cluster("a group")
        .nodes([url])
        .defaults(options)
}

/// Where nobody listens.
fn closed_port() -> u16 {
    let server = Server::start().expect("it starts");
    server.port()
}

fn try_once<M: Kind>(manager: &LockManager<M>) -> Result<LeaseGuard<M>, AcquireError> {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.try_acquire())
}

fn wait<M: Kind>(manager: &LockManager<M>) -> LeaseGuard<M> {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.acquire_within(PATIENCE)).expect("it comes about")
}

/// Why no lock is to be had from the node at this address.
fn refusal(url: &str) -> String {
    // Plain, so that nothing but the search itself finds out.
    let manager = builder(url, 400 * MS).build_plain();
    let tried = try_once(&manager.expect("a good address"));
    tried.map(drop).expect_err("there is no master").to_string()
}

#[test]
fn a_lock_is_had_from_the_new_master_after_the_old_one_died() {
    let group = Group::start();
    let manager = group.builder(400 * MS).build().expect("a good address");
    assert!(block_on(wait(&manager).release()).is_released());
    group.master.kill().expect("it runs");
    group.await_failover();
    let guard = wait(&manager);
    let key = group.replica.command(&["GET", "r"]).expect("it answers");
    assert!(key.text().is_some(), "it is on the new master");
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn a_master_that_hangs_is_left_for_the_new_one() {
    let group = Group::start();
    let manager = group.builder(400 * MS).build_plain();
    let manager = manager.expect("a good address");
    assert!(block_on(wait(&manager).release()).is_released());
    // Its connections stay open.
    group.master.pause().expect("it runs");
    group.await_failover();
    drop(wait(&manager));
}

#[test]
fn a_master_that_hangs_is_left_though_every_thread_of_the_runtime_is_blocked() {
    let group = Group::start();
    let runtime = two_threads();
    let manager = {
        let _within = runtime.enter();
        let built = group.builder(400 * MS).build_plain();
        built.expect("a good address")
    };
    let _blocks = blocked(&runtime);
    assert!(block_on(wait(&manager).release()).is_released());
    group.master.pause().expect("it runs");
    group.await_failover();
    drop(wait(&manager));
}

#[test]
fn a_grant_is_confirmed_in_time_though_the_sentinels_were_asked_on_a_runtime_that_is_blocked() {
    let group = Group::that_stays();
    let runtime = two_threads();
    let manager = {
        let _within = runtime.enter();
        let built = group.builder(400 * MS).build();
        built.expect("a good address")
    };
    assert!(block_on(wait(&manager).release()).is_released());
    // Those who ask wait until they are told to, or for a second.
    stuck_runtime::wait(300 * MS);
    let _blocks = blocked(&runtime);
    // It has a thread of its own when this is answered, which no sentinel has to confirm.
    block_on(manager.inspect("r")).expect("one node answers");
    stuck_runtime::wait(300 * MS);
    let guard = try_once(&manager).expect("the sentinel is asked at once");
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn a_master_that_is_replaced_on_purpose_is_left_for_the_new_one() {
    let group = Group::start();
    let manager = group.builder(400 * MS).build().expect("a good address");
    assert!(block_on(wait(&manager).release()).is_released());
    let told = group.sentinel.command(&["SENTINEL", "FAILOVER", "locks"]);
    told.expect("there is a replica");
    group.await_failover();
    when_sentinels_agree("the new master votes", || {
        try_once(&manager).is_ok_and(|_guard| {
            let key = group.replica.command(&["EXISTS", "r"]);
            key.is_ok_and(|key| key.integer() == Some(1))
        })
    });
}

/// The control: what a replica has not heard of, it grants again.
#[test]
fn a_plain_lock_is_held_twice_after_a_replica_that_lagged_was_promoted() {
    let group = Group::start();
    let ttl = 20_000 * MS;
    let kept = LockOptions::new().ttl(ttl).no_renewal();
    let plain = || group.builder(ttl).defaults(kept.clone()).build_plain();
    let (one, two) = (plain().expect("good"), plain().expect("good"));
    group.proxy.set(Mode::BlackHole);
    let first = wait(&one);
    assert!(!group.is_replicated("r"));
    group.master.kill().expect("it runs");
    group.await_failover();
    let second = wait(&two);
    assert!(first.is_valid() && second.is_valid(), "two hold one lock");
}

#[test]
fn a_guarded_lock_is_held_once_after_a_replica_that_lagged_was_promoted() {
    let group = Group::start();
    let ttl = 12_000 * MS;
    let kept = LockOptions::new().ttl(ttl).no_renewal();
    let guarded = || group.builder(ttl).defaults(kept.clone());
    // The operator's word, given through the sentinel too.
    for told in
        block_on(guarded().operator().expect("good addresses").admit()).expect("a good address")
    {
        assert!(matches!(told.answer, NodeAnswer::Told(_)), "{told:?}");
    }
    let one = guarded().build().expect("a good address");
    let two = guarded().build().expect("a good address");
    when_sentinels_agree("the replica knows its master", || {
        group.is_replicated("leasehold:node")
    });
    group.proxy.set(Mode::BlackHole);
    let first = wait(&one);
    assert!(!group.is_replicated("r"));
    group.master.kill().expect("it runs");
    group.await_failover();
    when_sentinels_agree("the new master abstains", || match try_once(&two) {
        Err(AcquireError::Abstained(abstained)) => {
            let why = abstained.faults[0].to_string();
            assert!(why.contains("was a replica"), "{why}");
            true
        }
        Ok(_) => panic!("it may have forgotten"),
        // Nobody is there yet.
        Err(_) => false,
    });
    assert!(first.is_valid(), "or it would prove nothing");
    let second = wait(&two);
    assert!(!first.is_valid(), "its time is over");
    assert!(second.fencing_token() > first.fencing_token());
}

// Argument S9: a look by a client that was told of an earlier failover begins no quarantine that counts.
#[test]
fn a_master_waits_from_the_first_client_on_that_was_told_of_its_failover() {
    let group = Group::that_stays();
    let ttl = 4_000 * MS;
    let build = || group.builder(ttl).build().expect("a good address");
    let admitted = block_on(group.builder(ttl).operator().expect("an address").admit());
    for told in admitted.expect("a good address") {
        assert!(matches!(told.answer, NodeAnswer::Told(_)), "{told:?}");
    }
    let epoch = group
        .master
        .command(&["HGET", "leasehold:node", "failover"]);
    assert_eq!(epoch.expect("it answers").text(), Some("0"));
    drop(try_once(&build()).expect("who was told of the same failover does not wait"));
    let earlier = ["HSET", "leasehold:node", "failover", "7"];
    group.master.command(&earlier).expect("it answers");
    let refused = try_once(&build()).expect_err("nobody has told it of this one");
    let AcquireError::Abstained(abstained) = refused else {
        panic!("{refused}");
    };
    let why = abstained.faults[0].to_string();
    assert!(why.contains("was a replica"), "{why}");
    let epoch = group
        .master
        .command(&["HGET", "leasehold:node", "failover"]);
    assert_eq!(epoch.expect("it answers").text(), Some("0"));
}

#[test]
fn a_wrong_name_of_a_master_is_told_with_the_right_one() {
    let group = Group::that_stays();
    let url = format!("redis+sentinel://127.0.0.1:{}/lokcs", group.sentinel.port());
    let why = refusal(&url);
    let place = format!("sentinel 127.0.0.1:{}", group.sentinel.port());
    assert!(why.contains(&place), "{why}");
    assert!(
        why.contains("knows no master \"lokcs\", only \"locks\""),
        "{why}"
    );
}

#[test]
fn a_sentinel_that_names_a_replica_is_not_believed() {
    let group = Group::that_stays();
    let stale = Sentinel::start("locks", &group.replica, 1, 60_000 * MS).expect("it starts");
    let (stale, good) = (stale.port(), group.sentinel.port());
    let why = refusal(&format!("redis+sentinel://127.0.0.1:{stale}/locks"));
    let place = format!("names 127.0.0.1:{}: is a replica", group.replica.port());
    assert!(why.contains(&place), "{why}");
    let second = Sentinel::start("locks", &group.master, 1, 60_000 * MS).expect("it starts");
    let second = second.port();
    let url =
        format!("redis+sentinel://127.0.0.1:{stale},127.0.0.1:{good},127.0.0.1:{second}/locks");
    let manager = builder(&url, 400 * MS).build_plain();
    drop(wait(&manager.expect("a good address")));
}

#[test]
fn every_sentinel_that_was_asked_is_named_with_its_reason() {
    require_server();
    let server = Server::start().expect("it starts");
    let (nobody, other) = (closed_port(), server.port());
    let why = refusal(&format!(
        "redis+sentinel://127.0.0.1:{nobody},127.0.0.1:{other}/locks"
    ));
    for part in [
        format!("sentinel 127.0.0.1:{nobody}: connection refused"),
        format!("sentinel 127.0.0.1:{other}: is no sentinel"),
    ] {
        assert!(why.contains(&part), "{why}");
    }
}

#[test]
fn servers_and_sentinels_have_passwords_of_their_own_and_none_is_shown() {
    require_server();
    let master = Server::builder().password("hunter2").start();
    let master = master.expect("it starts");
    let sentinel = Sentinel::builder("locks", &master).password("hunter3");
    let sentinel = sentinel.start().expect("it starts");
    let url = |login: &str, options: &str| {
        let port = sentinel.port();
        format!("redis+sentinel://{login}127.0.0.1:{port}/locks{options}")
    };
    let manager = builder(&url(":hunter2@", "?sentinel_password=hunter3"), 400 * MS);
    drop(wait(&manager.build_plain().expect("a good address")));
    for (login, options) in [
        (":hunter2@", ""),
        (":hunter2@", "?sentinel_password=hunter2"),
        ("", "?sentinel_password=hunter3"),
        (":hunter3@", "?sentinel_password=hunter3"),
    ] {
        let why = refusal(&url(login, options));
        let is_told = ["authentication failed", "needs a password"];
        assert!(is_told.iter().any(|told| why.contains(told)), "{why}");
        assert!(!why.contains("hunter"), "{why}");
    }
}

#[test]
fn a_vote_that_no_replica_has_heard_of_does_not_count_and_is_taken_back() {
    let group = Group::that_stays();
    let ttl = 60_000 * MS;
    let options = LockOptions::new().ttl(ttl).no_renewal().tries(1);
    let manager = group
        .builder(ttl)
        .defaults(options.node_limit(400 * MS))
        .replicated(1, 200 * MS)
        .build_plain()
        .expect("good options");
    let guard = wait(&manager);
    assert!(
        group.is_replicated("r"),
        "it was heard of before it counted"
    );
    // In the same millisecond an extension would change nothing, of which nobody had to hear.
    eventually("it has less time left", || {
        let left = group.master.command(&["PTTL", "r"]);
        left.is_ok_and(|left| left.integer().is_some_and(|left| left < 60_000))
    });
    group.proxy.set(Mode::BlackHole);
    let valid_until = guard.remaining();
    let error = block_on(guard.extend()).expect_err("nobody has heard of it");
    assert!(error.to_string().contains("0 of 1 replicas"), "{error}");
    assert!(guard.remaining() <= valid_until);
    assert!(block_on(guard.release()).is_released());
    let error = try_once(&manager).map(drop).expect_err("nobody has heard");
    assert!(error.to_string().contains("0 of 1 replicas"), "{error}");
    eventually("it is taken back", || {
        let exists = group.master.command(&["EXISTS", "r"]);
        exists.is_ok_and(|exists| exists.integer() == Some(0))
    });
}

#[test]
fn waiting_for_replicas_has_bounds() {
    let replicated = |replicas, within| {
        let options = LockOptions::new().ttl(10_000 * MS).node_limit(100 * MS);
        let builder = LockManager::builder().nodes(["redis://127.0.0.1:1"]);
        let builder = builder.defaults(options).replicated(replicas, within);
        builder.build().map(drop)
    };
    assert!(replicated(1, 100 * MS).is_ok());
    for (replicas, within) in [(0, 100 * MS), (1, Duration::ZERO), (1, 101 * MS)] {
        let error = replicated(replicas, within).expect_err("out of bounds");
        let text = error.to_string();
        assert!(
            text.contains("from 1 ms to the node limit, 100 ms"),
            "{text}"
        );
    }
}

/// A master that does not know that it was replaced grants and extends for a while; whoever relies on it must be
/// gone when the new one begins to vote.
#[test]
fn a_lease_of_a_master_that_was_replaced_while_it_answered_ends_before_the_new_one_votes() {
    let group = Group::start();
    let ttl = 3_000 * MS;
    let guarded = || group.builder(ttl).clock_skew(2_000 * MS);
    block_on(guarded().operator().expect("good addresses").admit()).expect("a good address");
    let one = guarded().build().expect("a good address");
    let two = guarded().build().expect("a good address");
    when_sentinels_agree("the replica knows its master", || {
        group.is_replicated("leasehold:node")
    });
    group.proxy.set(Mode::BlackHole);
    let first = wait(&one);
    let told = group.sentinel.command(&["SENTINEL", "FAILOVER", "locks"]);
    told.expect("there is a replica");
    group.await_failover();
    assert!(first.is_valid(), "or it would prove nothing");
    let second = wait(&two);
    assert!(group.is_replicated("r"), "it is on the new master");
    assert!(!first.is_valid(), "its time is over");
    assert!(second.fencing_token() > first.fencing_token());
}

#[test]
fn a_master_that_hangs_is_left_although_a_sentinel_died_with_it() {
    let group = Group::start();
    let [first, second] = [(); 2].map(|()| {
        let started = Sentinel::start("locks", &group.master, 1, DOWN_AFTER);
        started.expect("it starts")
    });
    for sentinel in [&group.sentinel, &first, &second] {
        when_sentinels_agree("the sentinels know each other", || {
            let told = sentinel.command(&["SENTINEL", "CKQUORUM", "locks"]);
            told.is_ok_and(|told| {
                told.text()
                    .is_some_and(|told| told.contains("3 usable Sentinels"))
            })
        });
    }
    let all = [&first, &second, &group.sentinel];
    let all = all.map(|sentinel| format!("127.0.0.1:{}", sentinel.port()));
    let url = format!("redis+sentinel://{}/locks", all.join(","));
    let manager = builder(&url, 400 * MS).build_plain();
    let manager = manager.expect("a good address");
    assert!(block_on(wait(&manager).release()).is_released());
    group.master.pause().expect("it runs");
    drop(first);
    group.await_failover();
    drop(wait(&manager));
}

#[test]
fn a_user_who_may_not_ask_for_the_role_is_told_which_right_is_missing() {
    require_server();
    let master = Server::start().expect("it starts");
    let user = [
        "ACL", "SETUSER", "locks", "on", ">hunter2", "~*", "+@all", "-role",
    ];
    master.command(&user).expect("it answers");
    let sentinel = Sentinel::start("locks", &master, 1, 60_000 * MS).expect("it starts");
    let port = sentinel.port();
    let why = refusal(&format!(
        "redis+sentinel://locks:hunter2@127.0.0.1:{port}/locks"
    ));
    assert!(why.contains("(+role): NOPERM"), "{why}");
}
