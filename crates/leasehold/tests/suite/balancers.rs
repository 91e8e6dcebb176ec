//! HAProxy, run before masters: what locks see through it, and what they do not.

use crate::support::{block_on, eventually};
use leasehold::{
    AcquireError, LeaseGuard, LockManager, LockOptions, ManagerBuilder, Mode, operate::NodeAnswer,
};
use leasehold_servers::{HaProxy, HaProxyBuilder, Server, require_server, skip};
use std::{thread, time::Duration};

const MS: Duration = Duration::from_millis(1);

/// One before these servers, if it is installed.
fn before(servers: &[&Server]) -> Option<HaProxyBuilder> {
    require_server();
    if HaProxy::find().is_none() {
        skip("no haproxy");
        return None;
    }
    let ports: Vec<_> = servers.iter().map(|server| server.port()).collect();
    Some(HaProxy::before(&ports))
}

fn builder(url: String) -> ManagerBuilder {
    with_max_ttl(url, 400 * MS)
}

fn with_max_ttl(url: String, max_ttl: Duration) -> ManagerBuilder {
    // A single try has to do on a busy machine.
    let options = LockOptions::new()
        .ttl(max_ttl / 4 * 3)
        .node_limit(max_ttl / 2);
    LockManager::builder()
        .max_ttl(max_ttl)
        .clock_skew(Duration::ZERO)
        .nodes([url])
        .defaults(options)
}

fn guarded(haproxy: &HaProxy) -> LockManager {
    builder(haproxy.url()).build().expect("good addresses")
}

fn try_once<M: Mode>(manager: &LockManager<M>) -> Result<LeaseGuard<M>, AcquireError> {
    let mutex = manager.mutex("r").expect("a plain name");
    block_on(mutex.try_acquire())
}

/// Waits until whoever stands behind the address votes for `manager`.
fn warm<M: Mode>(manager: &LockManager<M>) {
    eventually("it votes", || {
        try_once(manager).is_ok_and(|guard| block_on(guard.release()).is_released())
    });
}

/// Has leases that a busy machine extends in time.
fn patient(haproxy: &HaProxy) -> LockManager {
    let builder = with_max_ttl(haproxy.url(), 2_000 * MS);
    let manager = builder.build().expect("good addresses");
    warm(&manager);
    manager
}

#[expect(
    clippy::disallowed_methods,
    reason = "the time that is let pass is that of a process that tells nobody"
)]
fn pause(time: Duration) {
    thread::sleep(time);
}

#[test]
fn a_lease_behind_haproxy_outlives_connections_that_it_closes_for_being_idle() {
    let server = Server::start().expect("it starts");
    let Some(haproxy) = before(&[&server]) else {
        return;
    };
    // Shorter than the time between two extensions.
    let haproxy = haproxy.idle(60 * MS).start().expect("it starts");
    let [holder, waiter] = [0, 1].map(|_| patient(&haproxy));
    let opened = || -> u64 {
        let info = server.command(&["INFO", "stats"]).expect("it answers");
        let info = info.text().expect("a text").to_owned();
        let count = info.split("total_connections_received:").nth(1);
        let count = count.and_then(|rest| rest.split_whitespace().next());
        count.expect("it is told").parse().expect("a number")
    };
    let guard = try_once(&holder).expect("it votes");
    let before = opened();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mutex = waiter.mutex("r").expect("a plain name");
            block_on(mutex.acquire()).map(drop)
        });
        // Twice as long as the lease would live without an extension.
        pause(3_000 * MS);
        assert!(guard.is_valid(), "it was extended");
        assert!(!waiting.is_finished(), "it is held");
        assert!(opened() > before + 4, "connections were closed");
        // Nobody may have heard the answer: the connection may be closed just then. It is released all the same.
        drop(block_on(guard.release()));
        let waited = waiting.join().expect("it does not panic");
        waited.expect("it has its turn");
    });
}

#[test]
fn a_lease_outlives_a_restart_of_haproxy() {
    let server = Server::start().expect("it starts");
    let Some(haproxy) = before(&[&server]) else {
        return;
    };
    let mut haproxy = haproxy.start().expect("it starts");
    let manager = patient(&haproxy);
    let guard = try_once(&manager).expect("it votes");
    haproxy.restart().expect("it starts again");
    pause(2_000 * MS);
    assert!(guard.is_valid(), "it was extended over a new connection");
    assert!(block_on(guard.release()).is_released());
}

/// A master and its replica behind one address, which leads to whoever says to be the master.
struct Group {
    master: Server,
    replica: Server,
}

impl Group {
    fn start() -> Self {
        require_server();
        let master = Server::start().expect("it starts");
        let replica = Server::builder().replica_of(&master).start();
        let replica = replica.expect("it starts");
        Self { master, replica }
    }

    fn balancer(&self) -> Option<HaProxy> {
        let haproxy = before(&[&self.master, &self.replica])?.to_master();
        Some(haproxy.start().expect("it starts"))
    }

    fn wait_for_copy(&self, key: &str) {
        eventually("the replica has what the master has", || {
            let copy = self.replica.command(&["EXISTS", key]);
            copy.is_ok_and(|reply| reply.integer() == Some(1))
        });
    }

    /// From here on the replica hears nothing of the master. It stays a replica.
    fn detach(&self) {
        let words = ["REPLICAOF", "127.0.0.1", "1"];
        self.replica.command(&words).expect("it follows nobody");
    }

    fn promote(&self) {
        let words = ["REPLICAOF", "NO", "ONE"];
        self.replica.command(&words).expect("it is promoted");
    }
}

#[test]
fn a_failover_behind_haproxy_is_seen_and_the_promoted_replica_abstains() {
    let group = Group::start();
    let Some(haproxy) = group.balancer() else {
        return;
    };
    let manager = guarded(&haproxy);
    warm(&manager);
    group.wait_for_copy("leasehold:node");
    group.detach();
    let held = try_once(&manager).expect("it votes");
    group.master.kill().expect("it runs");
    group.promote();
    let mut why = String::new();
    eventually("the promoted one abstains", || match try_once(&manager) {
        Err(AcquireError::Abstained(abstained)) => {
            why = abstained.faults[0].to_string();
            true
        }
        Ok(_) => panic!("it may have missed a vote"),
        // HAProxy has not found out yet.
        Err(_) => false,
    });
    assert!(why.contains("it has restarted, or was a replica"), "{why}");
    drop(held);
    warm(&manager);
}

/// The control of the test above: what a failover costs where nobody looks.
#[test]
fn a_failover_behind_haproxy_grants_a_plain_lock_twice() {
    let group = Group::start();
    let Some(haproxy) = group.balancer() else {
        return;
    };
    let plain = builder(haproxy.url()).build_plain();
    let plain = plain.expect("good addresses");
    let options = LockOptions::new().ttl(60_000 * MS).no_renewal();
    let mutex = plain.mutex_with("r", options).expect("a plain name");
    // Until HAProxy has asked, it takes a replica for a server like any other; and that refuses all writes.
    warm(&plain);
    group.detach();
    let first = block_on(mutex.try_acquire()).expect("it is free");
    group.master.kill().expect("it runs");
    group.promote();
    let other = builder(haproxy.url()).build_plain();
    let mutex = other.expect("good").mutex("r").expect("a plain name");
    let second = block_on(mutex.acquire()).expect("nobody looks");
    assert!(first.is_valid(), "its holder does not know");
    drop((first, second));
}

#[test]
fn a_master_that_was_replaced_loses_its_clients_when_haproxy_finds_it_a_replica() {
    let group = Group::start();
    let Some(haproxy) = group.balancer() else {
        return;
    };
    let manager = guarded(&haproxy);
    warm(&manager);
    group.wait_for_copy("leasehold:node");
    let guard = try_once(&manager).expect("it votes");
    // As a failover that was asked for: both are there, and change places.
    group.promote();
    let port = group.replica.port().to_string();
    let follow = ["REPLICAOF", "127.0.0.1", &port];
    group.master.command(&follow).expect("it is a replica now");
    let mut told = String::new();
    eventually("the lease ends or is extended by the other", || {
        told = match try_once(&manager) {
            Ok(_) => panic!("it is held, or may be"),
            Err(error) => error.to_string(),
        };
        told.contains("was a replica")
    });
    drop(guard);
    warm(&manager);
}

fn examined(haproxy: &HaProxy) -> leasehold::operate::Examination {
    let operator = builder(haproxy.url()).operator().expect("good addresses");
    let told = block_on(operator.examine()).expect("good addresses");
    match &told[0].answer {
        NodeAnswer::Told(seen) => seen.clone(),
        other => panic!("{other:?}"),
    }
}

/// What must not be done, and what OPERATING.md says of it: the locks do not notice, and `doctor` does.
#[test]
fn two_masters_behind_one_address_let_two_hold_a_lock_and_are_seen_by_whoever_examines() {
    require_server();
    let [one, other] = [0, 1].map(|_| Server::start().expect("it starts"));
    let Some(haproxy) = before(&[&one, &other]) else {
        return;
    };
    let haproxy = haproxy.start().expect("it starts");
    let run_ids = [&one, &other].map(|server| {
        let info = server.command(&["INFO", "server"]).expect("it answers");
        let info = info.text().expect("a text").to_owned();
        let line = info.lines().find_map(|line| line.strip_prefix("run_id:"));
        line.expect("it tells").to_owned()
    });
    // Connections go to one and the other in turn.
    let [first, second] = [0, 1].map(|_| {
        let manager = guarded(&haproxy);
        warm(&manager);
        manager
    });
    let _first = try_once(&first).expect("its server votes");
    let _second = try_once(&second).expect("and so does the other one: two hold it");

    let seen = examined(&haproxy);
    let run_id = seen.run_id.clone().expect("it tells");
    assert!(run_ids.contains(&run_id), "{run_id}");
    assert_eq!(seen.others.len(), 1, "{:?}", seen.others);
    assert!(run_ids.contains(&seen.others[0]) && seen.others[0] != run_id);
    // One server behind a balancer is one.
    let haproxy = before(&[&one]).expect("it is installed");
    let haproxy = haproxy.start().expect("it starts");
    assert_eq!(examined(&haproxy).others, [""; 0]);
}
