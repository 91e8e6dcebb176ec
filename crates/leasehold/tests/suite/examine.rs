//! What an operator is told of nodes and of their locks.

use crate::support::{block_on, eventually};
use leasehold::{
    Inspection, Key, KeyFormat, LockManager, ManagerBuilder, RestartGuard,
    operate::{Examination, Listing, NodeAnswer, Search},
};
use leasehold_servers::{Server, ServerSet, require_server};
use std::time::Duration;

pub(crate) fn builder(urls: &[String]) -> ManagerBuilder {
    LockManager::builder()
        .restart_guard(RestartGuard::Off)
        .nodes(urls)
}

pub(crate) fn examine(builder: &ManagerBuilder) -> Vec<NodeAnswer<Examination>> {
    let told =
        block_on(builder.operator().expect("good addresses").examine()).expect("good addresses");
    told.into_iter().map(|told| told.answer).collect()
}

fn list(builder: &ManagerBuilder, prefix: &str, most: usize) -> Listing {
    block_on(
        builder
            .operator()
            .expect("good addresses")
            .list(prefix, most),
    )
    .expect("good addresses")
}

fn names(listing: &Listing) -> Vec<&str> {
    let locks = listing.locks.iter();
    locks.map(|lock| lock.resource().as_str()).collect()
}

#[test]
fn a_server_is_told_with_everything_that_matters_to_locks() {
    require_server();
    let server = Server::builder()
        .option("appendonly", &["yes"])
        .option("maxmemory", &["100mb"])
        .start()
        .expect("it starts");
    let replica = Server::builder().replica_of(&server).start();
    let replica = replica.expect("it starts");
    let urls = [
        server.url(),
        "redis://127.0.0.1:1".to_owned(),
        replica.url(),
    ];
    let told = examine(&builder(&urls));
    let [
        NodeAnswer::Told(seen),
        NodeAnswer::Silent(why),
        NodeAnswer::Told(of_replica),
    ] = &told[..]
    else {
        panic!("{told:?}");
    };
    assert!(why.contains("refused"), "{why}");
    assert_eq!(seen.role.as_deref(), Some("master"));
    assert_eq!(of_replica.role.as_deref(), Some("slave"));
    assert_ne!(seen.run_id, of_replica.run_id);
    let round_trip = seen.round_trip().expect("it was measured");
    assert!(round_trip < Duration::from_secs(1), "{round_trip:?}");
    let clock = seen.clock.expect("it tells");
    // One machine, one clock.
    assert!(
        clock.by <= clock.uncertainty + Duration::from_millis(5),
        "{clock:?}"
    );
    let memory = seen.memory.as_ref().expect("it tells");
    assert_eq!(memory.limit, Some(100 << 20));
    assert_eq!(memory.policy, "noeviction");
    assert_eq!(seen.persistence.has_log, Some(true));
    assert_eq!(seen.persistence.fsync.as_deref(), Some("everysec"));
    assert_eq!(seen.lacking, Some(Vec::new()));
    assert_eq!(seen.lacking_for_fair, Some(Vec::new()));
    let Some(NodeAnswer::Told(survey)) = &seen.survey else {
        panic!("{seen:?}");
    };
    assert_eq!(survey.unsuitable, None);
    // Nothing was written.
    let keys = server.command(&["DBSIZE"]).expect("it answers");
    assert_eq!(keys.integer(), Some(0));
}

#[test]
fn all_locks_are_listed_node_by_node_and_leftovers_with_them() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let urls = servers.urls();
    let manager = builder(&urls).build().expect("good addresses");
    let lock = |name: &str| {
        let mutex = manager.mutex(name).expect("a plain name");
        block_on(mutex.try_acquire()).expect("it is free")
    };
    let (one, _other) = (lock("orders/1"), lock("orders/2"));
    let first = servers.iter().next().expect("three");
    for words in [
        &["SET", "orders/3", "somebody", "PX", "60000"][..],
        &["SET", "session", "x"],
        &["HSET", "orders/hash", "a", "b"],
        &["SET", "or*", "sly", "PX", "60000"],
    ] {
        first.command(words).expect("it is taken");
    }
    let all = list(&builder(&urls), "", 100);
    assert_eq!(names(&all), ["or*", "orders/1", "orders/2", "orders/3"]);
    let some = list(&builder(&urls), "orders/", 100);
    assert_eq!(names(&some), ["orders/1", "orders/2", "orders/3"]);
    assert_eq!(some.locks[0].holder(), Some(one.owner()));
    assert_eq!(some.locks[0].differing().count(), 0);
    let left_over = &some.locks[2];
    assert!(left_over.is_free());
    assert_eq!(left_over.differing().count(), 1);
    assert!(matches!(left_over.nodes()[0].key, Key::Held { .. }));
    assert_eq!(names(&list(&builder(&urls), "or*", 100)), ["or*"]);
    // No more than were asked for, and it is told that there are more.
    let few = list(&builder(&urls), "orders/", 1);
    assert!(few.locks.len() < 3, "{few:?}");
    let NodeAnswer::Told(scanned) = &few.nodes[0].answer else {
        panic!("{few:?}");
    };
    assert!(scanned.has_more);
    // With another key format it is another world.
    let format = || KeyFormat::new("session{}").expect("one place");
    assert!(
        list(&builder(&urls).key_format(format()), "", 9)
            .locks
            .is_empty()
    );
}

#[test]
fn a_look_tells_of_what_type_the_key_is_that_is_no_lock() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let urls = servers.urls();
    let thread = "9a1b3c4d-0000-4000-8000-123456789abc:71";
    let long = "x".repeat(256);
    for server in servers.iter().take(2) {
        for words in [
            &["HSET", "cart:1", "9a1b", "3"][..],
            &["RPUSH", "queue", "job"],
            &["HSET", "redisson", thread, "1"],
            &["PEXPIRE", "redisson", "60000"],
            &["SET", "page", &long, "PX", "60000"],
            &["SET", "lock", "somebody", "PX", "60000"],
        ] {
            server.command(words).expect("it is taken");
        }
    }
    let operator = builder(&urls).operator().expect("good addresses");
    let look = |name: &str| block_on(operator.look(name)).expect("a name");
    for (name, other_type) in [
        ("cart:1", Some("hash")),
        ("queue", Some("list")),
        ("redisson", None),
        ("page", None),
        ("lock", None),
        ("nothing", None),
    ] {
        let seen = look(name);
        assert_eq!(seen.other_type(), other_type, "{seen:?}");
        assert_eq!(seen.is_free(), name == "nothing", "{seen:?}");
    }
    let first = |name: &str| look(name).nodes()[0].key.clone();
    let Key::Foreign { redisson, .. } = first("redisson") else {
        panic!("a hash is no text");
    };
    assert_eq!(redisson.as_deref(), Some(thread));
    let Key::Foreign { kind, .. } = first("page") else {
        panic!("no owner is so long");
    };
    assert_eq!(kind.as_deref(), Some("string"));
    // One node alone does not keep the others from being a quorum.
    let second = servers.get(1).expect("three");
    second.command(&["DEL", "cart:1"]).expect("it is taken");
    assert_eq!(look("cart:1").other_type(), None);
    // Who waits for what is no lock is told at once, and not when it is gone.
    let seen = block_on(operator.until_free("queue", None)).expect("good addresses");
    assert_eq!(seen.other_type(), Some("list"));
    // Hashes are listed only for those who ask for them, and only if they are locks.
    assert_eq!(names(&list(&builder(&urls), "", 9)), ["lock"]);
    let search = Search::new("").most(9).hashes();
    let found = block_on(operator.search(search)).expect("good addresses");
    assert_eq!(names(&found), ["lock", "redisson"]);
}

#[test]
fn a_node_that_cannot_be_listed_is_not_taken_for_an_empty_one() {
    require_server();
    let server = Server::start().expect("it starts");
    let words = ["ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "-scan"];
    server.command(&words).expect("it is taken");
    let urls = [server.url(), "redis://127.0.0.1:1".to_owned()];
    server
        .command(&["SET", "r", "me", "PX", "60000"])
        .expect("it is taken");
    let listing = list(&builder(&urls), "", 9);
    assert_eq!(names(&listing), ["r"]);
    assert!(matches!(listing.locks[0].nodes()[1].key, Key::Unknown(_)));
    assert!(!listing.locks[0].is_free());
    let forbidden = [format!("redis://u:p@127.0.0.1:{}", server.port())];
    let listing = list(&builder(&forbidden), "", 9);
    let NodeAnswer::Silent(why) = &listing.nodes[0].answer else {
        panic!("{listing:?}");
    };
    assert!(why.contains("+scan"), "{why}");
}

#[test]
fn a_file_tells_what_is_held_in_it_and_by_which_process() {
    let folder = std::env::temp_dir().join(format!("leasehold-examine-{}", std::process::id()));
    let builder = || LockManager::builder().file(&folder);
    let manager = builder().build().expect("it can be made");
    let lock = |name: &str| block_on(manager.mutex(name).expect("a plain name").try_acquire());
    let guard = lock("a").expect("it is free");
    let gone = lock("b").expect("it is free");
    assert!(block_on(gone.release()).is_released());
    let told = examine(&builder());
    let [NodeAnswer::Told(seen)] = &told[..] else {
        panic!("{told:?}");
    };
    let file = seen.file.as_ref().expect("it is one");
    assert_eq!(
        file.path.file_name().and_then(|name| name.to_str()),
        Some("data.mdb")
    );
    assert_eq!(file.holders, [(std::process::id(), "a".to_owned())]);
    assert!(0 < file.used && file.used < file.room, "{file:?}");
    let listing = list(&builder(), "", 9);
    assert_eq!(names(&listing), ["a"]);
    assert_eq!(listing.locks[0].holder(), Some(guard.owner()));
    let waits = |limit| {
        block_on(
            builder()
                .operator()
                .expect("good addresses")
                .until_free("a", limit),
        )
        .expect("a plain name")
    };
    let held = waits(Some(Duration::from_millis(10)));
    assert_eq!(held.holder(), Some(guard.owner()));
    assert!(block_on(guard.release()).is_released());
    assert!(waits(None).is_free());
    assert!(list(&builder(), "", 9).locks.is_empty());
    drop(manager);
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn a_wait_for_a_lock_that_nobody_wants_ends_when_it_is_free_by_the_servers_word() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let urls = servers.urls();
    let manager = builder(&urls).build().expect("good addresses");
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.try_acquire()).expect("it is free");
    let clock = manager.clock();
    let until_free = |limit| {
        let seen = block_on(
            builder(&urls)
                .operator()
                .expect("good addresses")
                .until_free("r", limit),
        )
        .expect("good addresses");
        (seen.is_free(), clock.now())
    };
    let began = clock.now();
    let (is_free, now) = until_free(Some(Duration::from_millis(200)));
    let waited = now.saturating_since(began);
    assert!(
        !is_free && waited >= Duration::from_millis(200),
        "{waited:?}"
    );
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| until_free(None));
        // Until all three have been told to tell: from then on nobody asks for a second.
        let is_watched = || {
            let count = |server: &Server| {
                let info = server.command(&["INFO", "stats"]).expect("it answers");
                let info = info.text().unwrap_or_default().to_owned();
                info.contains("tracking_total_keys:1")
            };
            servers.iter().all(count)
        };
        eventually("they watch", is_watched);
        let began = clock.now();
        assert!(block_on(guard.release()).is_released());
        let (is_free, now) = waiting.join().expect("it does not panic");
        let late = now.saturating_since(began);
        // Asked by the clock alone it would be half a second late on the average.
        assert!(is_free && late < Duration::from_millis(300), "{late:?}");
    });
    // It took nothing.
    assert!(block_on(mutex.try_acquire()).is_ok());
}

#[test]
fn whoever_looks_on_is_told_of_every_holder_by_the_servers_word() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let urls = servers.urls();
    let manager = builder(&urls).build().expect("good addresses");
    let mutex = manager.mutex("r").expect("a plain name");
    let mut watcher = builder(&urls)
        .operator()
        .expect("good addresses")
        .look_on("r")
        .expect("good addresses");
    let mut until = |is_so: &dyn Fn(&Inspection) -> bool| {
        let began = manager.clock().now();
        while !is_so(&block_on(watcher.next()).expect("it goes on")) {}
        manager.clock().now().saturating_since(began)
    };
    until(&Inspection::is_free);
    let mut latest = Vec::new();
    for _ in 0..5 {
        let guard = block_on(mutex.try_acquire()).expect("it is free");
        latest.push(until(&|seen| seen.holder() == Some(guard.owner())));
        assert!(block_on(guard.release()).is_released());
        latest.push(until(&Inspection::is_free));
    }
    // By the clock alone each would take half a second on the average.
    let all: Duration = latest.iter().sum();
    assert!(all < Duration::from_secs(2), "{latest:?}");
}

#[test]
fn whoever_came_after_the_look_is_not_put_out() {
    let manager = LockManager::builder()
        .memory(3)
        .build()
        .expect("three nodes");
    let mutex = manager.mutex("r").expect("a plain name");
    let first = block_on(mutex.try_acquire()).expect("it is free");
    let seen = block_on(manager.inspect("r")).expect("a plain name");
    assert!(block_on(first.release()).is_released());
    let second = block_on(mutex.try_acquire()).expect("it is free");
    let eviction = block_on(manager.evict(seen));
    assert_eq!(eviction.evicted.len(), 1);
    let now = block_on(manager.inspect("r")).expect("a plain name");
    assert_eq!(now.holder(), Some(second.owner()));
}
