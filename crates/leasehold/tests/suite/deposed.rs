//! A master that was replaced and does not know it, with one of three sentinels on its side.

use crate::support::{block_on, when_sentinels_agree};
use leasehold::{
    AcquireError, LeaseGuard, LockManager, LockOptions, ManagerBuilder, operate::NodeAnswer,
};
use leasehold_servers::{Mode, Proxy, Sentinel, Server, require_server};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a master may be silent.
const DOWN_AFTER: Duration = Duration::from_secs(1);

const TTL: Duration = Duration::from_secs(4);

/// The locks' own and two seconds more, which is what a replaced master may go on for.
const MAX_TTL: Duration = Duration::from_secs(6);

/// The password of the users as which the sentinels log in.
const PASSWORD: &str = "hunter2";

/// A master, a replica, and three sentinels, each behind a proxy of its own. The first hears nothing of the others.
struct Split {
    master: Server,
    replica: Server,
    sentinels: [Sentinel; 3],
    routes: [Proxy; 3],
}

impl Split {
    fn start() -> Self {
        require_server();
        let master = Server::start().expect("it starts");
        let replica = Server::builder()
            .option("replicaof", &["127.0.0.1", &master.port().to_string()])
            .start()
            .expect("it starts");
        for server in [&master, &replica] {
            for (user, rights) in [("lone", "-@pubsub"), ("most", "+@pubsub")] {
                let user = [
                    "ACL", "SETUSER", user, "on", ">hunter2", "~*", "&*", "+@all",
                ];
                let user = [&user[..], &[rights]].concat();
                server.command(&user).expect("it answers");
            }
        }
        when_sentinels_agree("the replica follows", || {
            let info = replica.command(&["INFO", "replication"]);
            info.is_ok_and(|info| {
                info.text()
                    .is_some_and(|info| info.contains("master_link_status:up"))
            })
        });
        let sentinel = |user, quorum| {
            let user = (user, PASSWORD);
            let sentinel = Sentinel::builder("locks", &master).quorum(quorum);
            let started = sentinel.down_after(DOWN_AFTER).as_user(user).start();
            started.expect("it starts")
        };
        let sentinels = [
            sentinel("lone", 2),
            sentinel("most", 2),
            sentinel("most", 2),
        ];
        for sentinel in &sentinels[1..] {
            when_sentinels_agree("the sentinel knows the replica and the other one", || {
                let replicas = sentinel.command(&["SENTINEL", "REPLICAS", "locks"]);
                let knows_it = replicas.is_ok_and(|replicas| {
                    format!("{replicas:?}").contains("\"master-link-status\"), Text(\"ok\")")
                });
                let usable = sentinel.command(&["SENTINEL", "CKQUORUM", "locks"]);
                knows_it
                    && usable.is_ok_and(|told| {
                        told.text()
                            .is_some_and(|told| told.contains("2 usable Sentinels"))
                    })
            });
        }
        let routes = [0, 1, 2].map(|turn: usize| {
            let route = Proxy::start(sentinels[turn].port());
            route.expect("there is a port")
        });
        Self {
            master,
            replica,
            sentinels,
            routes,
        }
    }

    /// As somebody who reaches all three sees them, whatever becomes of the routes.
    fn direct(&self) -> String {
        let [first, second, third] = self.sentinels.each_ref().map(Sentinel::port);
        url([third, second, first])
    }

    /// As somebody sees them whose routes may be cut.
    fn routed(&self) -> String {
        url(self.routes.each_ref().map(Proxy::port))
    }

    /// What the routes to all sentinels but the first do from now on.
    fn reroute(&self, how: Mode) {
        for route in &self.routes[1..] {
            route.set(how);
        }
    }

    /// From here on two sentinels do not reach the master any more.
    fn isolate_master(&self) {
        let off = ["ACL", "SETUSER", "most", "off"];
        // A login that fails leaves them what everybody is.
        let everybody = [
            "ACL",
            "SETUSER",
            "default",
            "-ping",
            "-slaveof",
            "-replicaof",
        ];
        for change in [&off[..], &everybody] {
            self.master.command(change).expect("it answers");
        }
        // Those who are in stay in, with commands.
        for kind in ["normal", "pubsub"] {
            let kill = ["CLIENT", "KILL", "USER", "most", "TYPE", kind];
            self.master.command(&kill).expect("it answers");
        }
    }

    fn await_failover(&self) {
        for sentinel in &self.sentinels[1..] {
            when_sentinels_agree("the sentinel names the replica", || {
                sentinel
                    .master("locks")
                    .is_ok_and(|port| port == Some(self.replica.port()))
            });
        }
        let first = self.sentinels[0].master("locks").expect("it answers");
        assert_eq!(first, Some(self.master.port()), "it has heard of nothing");
        let role = self.master.command(&["ROLE"]).expect("it answers");
        assert_eq!(role.texts().first(), Some(&"master"));
    }
}

fn url(ports: [u16; 3]) -> String {
    let [a, b, c] = ports.map(|port| format!("127.0.0.1:{port}"));
    format!("redis+sentinel://{a},{b},{c}/locks")
}

fn builder(url: &str) -> ManagerBuilder {
    let options = LockOptions::new().ttl(TTL).node_limit(400 * MS);
    LockManager::builder()
        .max_ttl(MAX_TTL)
        .clock_skew(Duration::ZERO)
        .cluster("a group")
        .nodes([url])
        .defaults(options)
}

fn manager(url: &str) -> LockManager {
    builder(url).build().expect("a good address")
}

fn try_once(manager: &LockManager) -> Result<LeaseGuard, AcquireError> {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.try_acquire())
}

fn wait(manager: &LockManager) -> LeaseGuard {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.acquire_within(PATIENCE)).expect("it comes about")
}

/// The operator's word that nothing is held.
fn admit(split: &Split) {
    for told in block_on(
        builder(&split.direct())
            .operator()
            .expect("good addresses")
            .admit(),
    )
    .expect("a good address")
    {
        assert!(matches!(told.answer, NodeAnswer::Told(_)), "{told:?}");
    }
}

// Argument S9: votes of a master that may have been replaced do not count for longer than its successor waits.
#[test]
fn a_holder_that_hears_only_the_sentinel_of_the_old_master_has_lost_its_lease_when_the_new_one_votes()
 {
    let split = Split::start();
    admit(&split);
    let (one, two) = (manager(&split.routed()), manager(&split.direct()));
    let first = wait(&one);
    split.reroute(Mode::BlackHole);
    split.isolate_master();
    split.await_failover();
    let second = wait(&two);
    let key = split.replica.command(&["GET", "r"]).expect("it answers");
    assert!(key.text().is_some(), "it is on the new master");
    assert!(!first.is_valid(), "it has been told in time");
    assert!(second.fencing_token() > first.fencing_token());
    when_sentinels_agree(
        "its key there has ended, and the old master is not believed",
        || {
            let tried = try_once(&one).map(drop);
            // How many, depends on who has answered since the vote.
            tried.is_err_and(|why| why.to_string().contains("of 3 sentinels have named"))
        },
    );
    let late = manager(&split.routed());
    let place = format!("names 127.0.0.1:{}", split.master.port());
    when_sentinels_agree("a new connection does not go there either", || {
        let why = try_once(&late)
            .map(drop)
            .expect_err("it does not go there")
            .to_string();
        why.contains(&place) && why.contains("2 of 3 sentinels must agree")
    });
    // With all of them in reach it finds the new one.
    split.reroute(Mode::Pass);
    assert!(block_on(second.release()).is_released());
    drop(wait(&one));
}

/// The control: whoever believes the sentinel of the old master holds what another holds.
#[test]
fn without_a_majority_two_hold_one_lock() {
    let split = Split::start();
    admit(&split);
    let one = manager(&format!(
        "{}?dangerous_sentinel_minority=yes",
        split.routed()
    ));
    let two = manager(&split.direct());
    let first = wait(&one);
    split.reroute(Mode::Refuse);
    split.isolate_master();
    split.await_failover();
    let second = wait(&two);
    assert!(first.is_valid() && second.is_valid(), "two hold one lock");
}

#[test]
fn a_client_that_hears_a_minority_of_the_sentinels_has_no_lock_until_it_hears_more() {
    let split = Split::start();
    let routed = |options: &str| manager(&format!("{}?{options}", split.routed()));
    let one = routed("sentinel_bound_ms=1500");
    assert!(block_on(wait(&one).release()).is_released());
    split.reroute(Mode::Refuse);
    when_sentinels_agree("its votes do not count", || {
        let Err(error) = try_once(&one) else {
            return false;
        };
        let why = error.to_string();
        why.contains("only 1 of 3 sentinels have named")
            && why.contains("within the last 1.5 s, and 2 must")
            && why.contains("connection refused")
    });
    // Somebody new does not even go there.
    let why = try_once(&routed("")).map(drop).expect_err("too few");
    let why = why.to_string();
    assert!(why.contains("no master \"locks\" to be found"), "{why}");
    assert!(why.contains("2 of 3 sentinels must agree"), "{why}");
    // Unless it was told to.
    let dangerous = routed("dangerous_sentinel_minority=yes");
    assert!(block_on(wait(&dangerous).release()).is_released());
    split.reroute(Mode::Pass);
    assert!(block_on(wait(&one).release()).is_released());
}

/// What is given to hold the lock for as long as the successor waits leaves no room.
#[test]
fn a_ttl_that_is_all_that_a_successor_waits_for_is_refused() {
    let of = |url: &str, ttl: Duration| {
        let options = LockOptions::new().ttl(ttl);
        let built = builder(url).defaults(options).build();
        built.map(drop).map_err(|error| error.to_string())
    };
    let (named, direct) = ("redis+sentinel://127.0.0.1:1/locks", "redis://127.0.0.1:1");
    assert_eq!(of(named, 4_400 * MS), Ok(()));
    assert_eq!(of(direct, MAX_TTL), Ok(()));
    let why = of(named, 5_000 * MS).expect_err("too long");
    assert!(
        why.contains("for only 999 ms after sentinels have named it, and needs 1.5 s"),
        "{why}"
    );
}
