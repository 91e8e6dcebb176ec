//! twemproxy (nutcracker), run before servers: what locks see through it, and what they do not.

use crate::{
    calls,
    support::{block_on, eventually},
};
use leasehold::{
    AcquireError, LeaseGuard, LockManager, LockOptions, ManagerBuilder, Mode, RestartGuard,
    operate::{Former, NodeAnswer},
};
use leasehold_servers::{Connection, Nutcracker, Server, ServerSet, require_server, skip};
use std::{io, thread, time::Duration};
use tokio::task::{JoinSet, yield_now};

const MS: Duration = Duration::from_millis(1);

/// One before these servers, if it is installed: its address.
fn before<'a>(
    servers: impl IntoIterator<Item = &'a Server>,
    start: fn(&[u16]) -> io::Result<Nutcracker>,
) -> Option<Nutcracker> {
    require_server();
    if Nutcracker::find().is_none() {
        skip("no nutcracker");
        return None;
    }
    let ports: Vec<_> = servers.into_iter().map(Server::port).collect();
    Some(start(&ports).expect("it starts"))
}

fn url(nutcracker: &Nutcracker) -> String {
    format!("redis://127.0.0.1:{}", nutcracker.ports()[0])
}

fn builder(nutcracker: &Nutcracker) -> ManagerBuilder {
    // A single try has to do on a busy machine.
    let options = LockOptions::new().ttl(300 * MS).node_limit(200 * MS);
    LockManager::builder()
        .max_ttl(400 * MS)
        .clock_skew(Duration::ZERO)
        .nodes([url(nutcracker)])
        .defaults(options)
}

fn try_lock<M: Mode>(manager: &LockManager<M>, name: &str) -> Result<LeaseGuard<M>, AcquireError> {
    let mutex = manager.mutex(name).expect("a plain name");
    block_on(mutex.try_acquire())
}

fn warm<M: Mode>(manager: &LockManager<M>, name: &str) {
    eventually("it votes", || {
        try_lock(manager, name).is_ok_and(|guard| block_on(guard.release()).is_released())
    });
}

/// Why the server of this lock does not vote.
fn abstention(manager: &LockManager, name: &str) -> String {
    let mut why = String::new();
    eventually("it abstains", || match try_lock(manager, name) {
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
fn locks_are_had_through_twemproxy_and_a_waiter_looks_by_the_clock() {
    let server = Server::start().expect("it starts");
    let Some(nutcracker) = before([&server], Nutcracker::start) else {
        return;
    };
    let [holder, waiter] = [0, 1].map(|_| {
        let manager = builder(&nutcracker).build().expect("good addresses");
        warm(&manager, "r");
        manager
    });
    let options = LockOptions::new().ttl(300 * MS).fair();
    for manager in [&holder, &waiter] {
        let fair = manager
            .mutex_with("fair", options.clone())
            .expect("a plain name");
        let guard = block_on(fair.acquire()).expect("its turn comes");
        assert!(block_on(guard.release()).is_released());
    }
    let guard = try_lock(&holder, "r").expect("it votes");
    block_on(guard.extend()).expect("it is ours");
    assert!(
        try_lock(&waiter, "r")
            .expect_err("it is held")
            .is_contention()
    );
    let inspected = block_on(waiter.inspect("r")).expect("it tells");
    assert!(inspected.holder().is_some());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mutex = waiter.mutex("r").expect("a plain name");
            block_on(mutex.acquire()).map(|guard| block_on(guard.release()))
        });
        assert!(block_on(guard.release()).is_released());
        let released = waiting.join().expect("it does not panic");
        assert!(released.expect("it has its turn").is_released());
    });
    let plain = builder(&nutcracker).namespace("plain").build_plain();
    let plain = plain.expect("good addresses");
    let guard = try_lock(&plain, "p").expect("it votes");
    block_on(guard.extend()).expect("it is ours");
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn a_restart_behind_twemproxy_is_seen_and_a_disk_cannot_be_asked_about() {
    let server = Server::start().expect("it starts");
    let Some(nutcracker) = before([&server], Nutcracker::start) else {
        return;
    };
    let manager = builder(&nutcracker).build().expect("good addresses");
    warm(&manager, "r");
    server.restart_empty().expect("it starts again");
    let why = abstention(&manager, "r");
    assert!(why.contains("restarted without its data"), "{why}");
    warm(&manager, "r");
    server.save().expect("it has a disk");
    server.restart().expect("it starts again");
    let why = abstention(&manager, "r");
    assert!(why.contains("it has restarted, or was a replica"), "{why}");
    let trusting = builder(&nutcracker).restart_guard(RestartGuard::TrustAof);
    let trusting = trusting.build().expect("good addresses");
    let told = try_lock(&trusting, "r").expect_err("CONFIG is not passed on");
    let told = told.to_string();
    assert!(
        told.contains("restart guard trust-aof needs (+config|get)"),
        "{told}"
    );
}

#[test]
fn a_right_that_a_lease_will_need_is_missed_through_twemproxy_before_it_is_granted() {
    let server = Server::start().expect("it starts");
    let Some(nutcracker) = before([&server], Nutcracker::start) else {
        return;
    };
    let allow = |right: &str| {
        let words = ["ACL", "SETUSER", "default", right];
        server.command(&words).expect("it answers");
    };
    let tried = || {
        let fenced = builder(&nutcracker).build().expect("good addresses");
        let plain = builder(&nutcracker).namespace("plain").build_plain();
        let plain = plain.expect("good addresses");
        let told = [
            try_lock(&fenced, "r").map(drop),
            try_lock(&plain, "p").map(drop),
        ];
        told.map(|told| told.expect_err("it may not").to_string())
    };
    allow("-pexpire");
    for told in tried() {
        assert!(
            told.contains("needs before it ends: allow +pexpire"),
            "{told}"
        );
    }
    allow("+pexpire");
    allow("-eval");
    for told in tried() {
        assert!(
            told.contains("allow +eval +evalsha") || told.contains("closed"),
            "{told}"
        );
    }
    allow("+eval");
    let keys = server.command(&["DBSIZE"]).expect("it answers");
    assert_eq!(keys.integer(), Some(0), "nothing was granted");
}

#[test]
fn whoever_examines_a_server_behind_twemproxy_is_told_of_the_proxy() {
    let server = Server::start().expect("it starts");
    let Some(nutcracker) = before([&server], Nutcracker::start) else {
        return;
    };
    let operator = builder(&nutcracker).operator().expect("good addresses");
    let told = block_on(operator.examine()).expect("good addresses");
    let NodeAnswer::Told(seen) = &told[0].answer else {
        panic!("{told:?}");
    };
    assert!(seen.is_proxied);
    assert_eq!(seen.lacking.as_deref(), Some(&[][..]));
    assert_eq!(seen.role.as_deref(), Some("master"));
    assert!(seen.run_id.is_some() && seen.clock.is_some() && seen.round_trips.len() > 3);
    assert_eq!(seen.others, [""; 0]);
    assert!(matches!(seen.survey, Some(NodeAnswer::Told(_))), "{seen:?}");
}

#[test]
fn nobody_changes_what_is_behind_twemproxy_as_if_it_were_one_server() {
    let server = Server::start().expect("it starts");
    let Some(nutcracker) = before([&server], Nutcracker::start) else {
        return;
    };
    let operator = || builder(&nutcracker).operator().expect("good addresses");
    let told = block_on(operator().admit());
    let told = format!("{told:?}");
    assert!(
        told.contains("give each server by its own address"),
        "{told}"
    );
    let manager = builder(&nutcracker).build().expect("good addresses");
    warm(&manager, "r");
    let longer = builder(&nutcracker).max_ttl(800 * MS).operator();
    let changed = block_on(longer.expect("good addresses").reconfigure(Former::same()));
    let told = format!("{changed:?}");
    assert!(
        told.contains("give each server by its own address"),
        "{told}"
    );
    let about = server.command(&["HGET", "leasehold:node", "about"]);
    let about = about.expect("it answers");
    assert!(
        about
            .text()
            .is_some_and(|text| text.contains("max-ttl=400ms")),
        "{about:?}"
    );
}

/// Two servers over which twemproxy spreads the keys.
struct Pool {
    servers: ServerSet,
    nutcracker: Nutcracker,
}

impl Pool {
    fn start(how: fn(&[u16]) -> io::Result<Nutcracker>) -> Option<Self> {
        require_server();
        let servers = ServerSet::start(2).expect("they start");
        let nutcracker = before(servers.iter(), how)?;
        Some(Self {
            servers,
            nutcracker,
        })
    }

    /// A lock of each server, in their order.
    fn locks(&self) -> [String; 2] {
        let mut connection = Connection::open(self.nutcracker.ports()[0]).expect("it listens");
        let mut found = [None, None];
        for number in 0.. {
            let name = format!("lock {number}");
            connection
                .command(&["SET", &name, "x"])
                .expect("it answers");
            for (server, found) in self.servers.iter().zip(&mut found) {
                let key = server.command(&["DEL", &name]).expect("it answers");
                if key.integer() == Some(1) {
                    found.get_or_insert(name.clone());
                }
            }
            if let [Some(first), Some(second)] = &found {
                return [first.clone(), second.clone()];
            }
        }
        unreachable!("keys are spread")
    }
}

#[test]
fn a_pool_of_two_servers_is_asked_for_each_lock_alone_and_each_lock_has_its_server() {
    let Some(pool) = Pool::start(Nutcracker::spreading) else {
        return;
    };
    let manager = || {
        let builder = builder(&pool.nutcracker).restart_guard(RestartGuard::Off);
        builder.build().expect("good addresses")
    };
    let [ours, theirs] = [manager(), manager()];
    for manager in [&ours, &theirs] {
        pool.locks().iter().for_each(|name| warm(manager, name));
    }
    let names: Vec<_> = (0..calls::MANY).map(|n| format!("calls/{n}")).collect();
    calls::runtime().block_on(async {
        let all = |go: fn(&Server) -> io::Result<()>| {
            pool.servers
                .iter()
                .for_each(|server| go(server).expect("it runs"));
        };
        // So that they are ready together.
        all(Server::pause);
        let mut asking = JoinSet::new();
        for name in &names {
            let mutex = ours.mutex_with(name, calls::options()).expect("a name");
            asking.spawn(async move { mutex.try_acquire().await });
        }
        yield_now().await;
        tokio::time::sleep(300 * MS).await;
        all(Server::resume);
        let held = asking.join_all().await;
        assert!(held.iter().all(Result::is_ok), "{held:?}");
        let mut spread = Vec::new();
        let mut connection = Connection::open(pool.nutcracker.ports()[0]).expect("it listens");
        for name in &names {
            let key = connection.command(&["EXISTS", name]).expect("it answers");
            assert_eq!(
                key.integer(),
                Some(1),
                "{name} is where everybody looks for it"
            );
            let refused = theirs.mutex(name).expect("a name").try_acquire().await;
            let refused = refused.map(drop).expect_err("it is held");
            assert!(refused.is_contention(), "{name}: {refused}");
        }
        for server in pool.servers.iter() {
            let keys = server.command(&["KEYS", "calls/*"]).expect("it answers");
            spread.push(keys.texts().len());
        }
        assert!(!spread.contains(&0), "{spread:?}");
        assert_eq!(spread.iter().sum::<usize>(), calls::MANY);
        drop(held);
        assert_eq!(ours.shutdown().await, Some(0), "all is confirmed");
    });
    for server in pool.servers.iter() {
        let keys = server.command(&["KEYS", "calls/*"]).expect("it answers");
        assert_eq!(keys.texts(), [""; 0]);
    }
}

#[test]
fn a_server_of_a_pool_that_restarts_abstains_for_its_locks_alone() {
    let Some(pool) = Pool::start(Nutcracker::spreading) else {
        return;
    };
    let manager = builder(&pool.nutcracker).build().expect("good addresses");
    let [first, second] = pool.locks();
    for name in [&first, &second] {
        warm(&manager, name);
    }
    let server = pool.servers.iter().next().expect("there are two");
    server.restart_empty().expect("it starts again");
    let why = abstention(&manager, &first);
    assert!(why.contains("restarted without its data"), "{why}");
    let guard = try_lock(&manager, &second).expect("the other one votes");
    assert!(block_on(guard.release()).is_released());
    warm(&manager, &first);
}

/// What must not be done, and what OPERATING.md says of it: nobody notices.
#[test]
fn a_pool_that_ejects_a_server_lets_two_hold_its_locks() {
    let Some(pool) = Pool::start(Nutcracker::ejecting) else {
        return;
    };
    let [ours, theirs] = [0, 1].map(|_| {
        let builder = builder(&pool.nutcracker).max_ttl(2_000 * MS);
        builder.build().expect("good addresses")
    });
    let [first, second] = pool.locks();
    for name in [&first, &second] {
        warm(&ours, name);
        warm(&theirs, name);
    }
    let options = LockOptions::new().ttl(2_000 * MS).no_renewal();
    let mutex = ours.mutex_with(&first, options).expect("a plain name");
    let held = block_on(mutex.acquire()).expect("it votes");
    let server = pool.servers.iter().next().expect("there are two");
    server.pause().expect("it runs");
    let mutex = theirs.mutex(&first).expect("a plain name");
    let other = block_on(mutex.acquire_within(1_500 * MS));
    let _other = other.expect("another server is asked");
    assert!(held.is_valid(), "two hold it");
    server.resume().expect("it is there");
}

#[test]
fn locks_that_are_wanted_before_the_proxy_is_known_are_where_everybody_looks_for_them() {
    let Some(pool) = Pool::start(Nutcracker::spreading) else {
        return;
    };
    let manager = || {
        let builder = builder(&pool.nutcracker).restart_guard(RestartGuard::Off);
        builder.build().expect("good addresses")
    };
    // The first to come find the pool as it is.
    let first = manager();
    pool.locks().iter().for_each(|name| warm(&first, name));
    calls::runtime().block_on(async {
        let ours = manager();
        let mut asking = JoinSet::new();
        let names: Vec<_> = (0..calls::MANY).map(|n| format!("early/{n}")).collect();
        for name in &names {
            let mutex = ours.mutex_with(name, calls::options()).expect("a name");
            asking.spawn(async move { mutex.try_acquire().await });
        }
        let together = ours.mutex_all(["early/a", "early/b"]).expect("good names");
        asking.spawn(async move {
            let error = together.try_acquire().await.expect_err("it is a proxy");
            assert!(error.to_string().contains("behind a proxy"), "{error}");
            Err(error)
        });
        let held = asking.join_all().await;
        let count = held.iter().filter(|held| held.is_ok()).count();
        assert_eq!(count, calls::MANY, "{held:?}");
        let mut connection = Connection::open(pool.nutcracker.ports()[0]).expect("it listens");
        for name in &names {
            let key = connection.command(&["EXISTS", name]).expect("it answers");
            assert_eq!(key.integer(), Some(1), "{name}");
        }
        for name in ["early/a", "early/b"] {
            let key = connection.command(&["EXISTS", name]).expect("it answers");
            assert_eq!(key.integer(), Some(0), "{name}");
        }
    });
}

#[test]
fn several_names_are_not_locked_through_a_proxy_that_may_spread_them() {
    let Some(pool) = Pool::start(Nutcracker::spreading) else {
        return;
    };
    let builder = builder(&pool.nutcracker).restart_guard(RestartGuard::Off);
    let manager = builder.build().expect("good addresses");
    let names = pool.locks();
    names.iter().for_each(|name| warm(&manager, name));
    let both = manager.mutex_all(&names).expect("good names");
    let error = block_on(both.try_acquire()).expect_err("it is a proxy");
    assert!(error.to_string().contains("behind a proxy"), "{error}");
    for server in pool.servers.iter() {
        let keys = server.command(&["KEYS", "lock *"]).expect("it answers");
        assert_eq!(keys.texts(), [""; 0]);
    }
}
