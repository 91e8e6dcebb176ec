//! Several names that are locked together: all of them, or none.

use crate::support::{block_on, eventually};
use leasehold::{
    AcquireError, ConfigError, LockManager, LockOptions, ManagerBuilder, NodeConnection,
    RestartGuard,
    clock::Clock,
    configuration::{Configuration, KeyFormat},
    conformance,
    link::{memory::MemoryNode, redis::RedisLink},
};
use leasehold_servers::{Server, require_server};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

fn servers(count: usize) -> Vec<Server> {
    require_server();
    let servers = (0..count).map(|_| Server::start());
    servers.collect::<Result<_, _>>().expect("they start")
}

fn builder(servers: &[Server]) -> ManagerBuilder {
    LockManager::builder()
        .nodes(servers.iter().map(Server::url))
        .max_ttl(Duration::from_secs(2))
        .clock_skew(Duration::ZERO)
        .restart_guard(RestartGuard::Off)
        .defaults(LockOptions::new().ttl(2_000 * MS))
}

/// The whole story on nodes of any kind: two managers, which know each other by the nodes alone.
fn all_or_none([one, two]: [LockManager; 2]) {
    let both = one.mutex_all(["b", "a"]).expect("good names");
    let guard = block_on(both.acquire()).expect("all are free");
    assert_eq!(guard.resource().to_string(), "a, b");
    let token = guard.fencing_token();
    for name in ["a", "b"] {
        for manager in [&one, &two] {
            let alone = manager.mutex(name).expect("a good name");
            let refused = block_on(alone.try_acquire()).expect_err("it is held");
            // By a quorum at least: one node may hear of the winner later.
            assert!(refused.is_contention(), "{refused}");
        }
    }
    let other = two.mutex_all(["c", "b"]).expect("good names");
    let refused = block_on(other.try_acquire()).expect_err("one is held");
    assert!(
        refused.to_string().starts_with(r#"lock "b", "c": "#),
        "{refused}"
    );
    // It has left nothing behind on the other.
    let c = block_on(
        two.mutex("c")
            .expect("a good name")
            .acquire_within(PATIENCE),
    );
    let c = c.expect("it is free");
    assert!(block_on(guard.extend()).is_ok());
    assert!(block_on(guard.release()).is_released());
    assert!(block_on(c.release()).is_released());
    let other = block_on(other.acquire_within(PATIENCE)).expect("all are free");
    assert!(other.fencing_token() > token);
    let text = block_on(other.hand_over()).expect("it is valid");
    let adopted = block_on(one.adopt(&text)).expect("it is there");
    assert_eq!(adopted.resource().as_str(), "b\nc");
    assert!(block_on(two.mutex("c").expect("a good name").try_acquire()).is_err());
    assert!(block_on(adopted.release()).is_released());
}

#[test]
fn on_servers_all_are_held_or_none() {
    let servers = servers(3);
    all_or_none([0, 1].map(|_| builder(&servers).build().expect("good addresses")));
}

#[test]
fn in_memory_all_are_held_or_none() {
    let nodes = [MemoryNode::new(), MemoryNode::new(), MemoryNode::new()];
    all_or_none([0, 1].map(|_| {
        let builder = LockManager::builder();
        let builder = nodes.iter().fold(builder, ManagerBuilder::memory_node);
        builder.build().expect("three nodes")
    }));
}

#[cfg(feature = "file")]
#[test]
fn in_a_file_all_are_held_or_none() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!("several-{}", std::process::id()));
    all_or_none([0, 1].map(|_| {
        let builder = LockManager::builder().file(&folder);
        builder.build().expect("a folder of our own")
    }));
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn several_names_are_extended_for_as_long_as_the_first_of_them_lasts() {
    let manager = LockManager::builder()
        .memory(3)
        .build()
        .expect("three nodes");
    let second = Duration::from_secs(1);
    let options = LockOptions::new().ttl(second).no_renewal();
    let both = manager
        .mutex_all_with(["a", "b"], options)
        .expect("good names");
    let guard = block_on(both.acquire()).expect("both are free");
    let owner = block_on(guard.detach()).expect("it is held");
    let one = manager.detached("a", owner.clone()).expect("a good name");
    assert!(block_on(one.extend(20 * second)).is_ok_and(|told| told > 19 * second));
    let both = manager.detached_all(["a", "b"], owner).expect("good names");
    let told = block_on(both.extend(second)).expect("both are held");
    assert!(told <= second, "{told:?}");
    // Nothing was taken away from the other either.
    let told = block_on(one.extend(second)).expect("it is held");
    assert!(told > 18 * second, "{told:?}");
}

#[test]
fn plain_locks_of_several_names_exclude_and_are_excluded() {
    let servers = servers(3);
    let [one, two] = [0, 1].map(|_| builder(&servers).build_plain().expect("good addresses"));
    let both = one.mutex_all(["a", "b"]).expect("good names");
    let guard = block_on(both.acquire()).expect("all are free");
    let alone = two.mutex("b").expect("a good name");
    assert!(block_on(alone.try_acquire()).is_err());
    assert!(block_on(guard.extend()).is_ok());
    assert!(block_on(guard.release()).is_released());
    let alone = block_on(alone.acquire_within(PATIENCE)).expect("it is free");
    assert!(block_on(both.try_acquire()).is_err());
    assert!(block_on(alone.release()).is_released());
}

#[test]
fn who_waits_for_several_names_is_woken_when_the_last_is_free() {
    let servers = servers(5);
    let [one, two] = [0, 1].map(|_| builder(&servers).build().expect("good addresses"));
    for holder in [&one, &two] {
        let mut guards: Vec<_> = ["a", "b"]
            .map(|name| block_on(holder.mutex(name).expect("a good name").acquire()))
            .into_iter()
            .map(|guard| guard.expect("it is free"))
            .collect();
        // A TTL of minutes: nothing but the release lets it go on in time.
        let both = two.mutex_all(["a", "b"]).expect("good names");
        let (done, waited) = std::sync::mpsc::channel();
        let waits = std::thread::spawn(move || {
            let guard = block_on(both.acquire_within(PATIENCE)).expect("it comes about");
            done.send(()).expect("it is awaited");
            assert!(block_on(guard.release()).is_released());
        });
        while let Some(guard) = guards.pop() {
            assert!(waited.try_recv().is_err(), "one is held");
            assert!(block_on(guard.release()).is_released());
        }
        waits.join().expect("it was woken");
    }
}

/// Who waits for whom in a circle, if each took one name after the other.
#[test]
fn sets_that_overlap_are_locked_by_all_without_end_and_without_two_at_once() {
    let servers = servers(3);
    let sets = [["a", "b"], ["b", "c"], ["c", "a"], ["b", "a"]];
    let inside: [AtomicU64; 3] = Default::default();
    let counted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for set in sets {
            let (servers, inside, counted) = (&servers, &inside, &counted);
            scope.spawn(move || {
                let manager = builder(servers).build().expect("good addresses");
                let mutex = manager.mutex_all(set).expect("good names");
                let places = set.map(|name| &inside[usize::from(name.as_bytes()[0] - b'a')]);
                for _ in 0..25 {
                    let guard = block_on(mutex.acquire_within(PATIENCE)).expect("it comes about");
                    for place in places {
                        assert_eq!(place.fetch_add(1, Ordering::SeqCst), 0, "alone with a name");
                    }
                    counted.fetch_add(1, Ordering::SeqCst);
                    for place in places {
                        place.fetch_sub(1, Ordering::SeqCst);
                    }
                    assert!(block_on(guard.release()).is_released());
                }
            });
        }
    });
    assert_eq!(counted.into_inner(), 100);
}

#[test]
fn to_lose_one_name_is_to_lose_all() {
    let servers = servers(3);
    let manager = builder(&servers).build().expect("good addresses");
    let both = manager.mutex_all(["a", "b"]).expect("good names");
    let guard = block_on(both.acquire()).expect("all are free");
    // Somebody takes one of them by force, and keeps it.
    for server in &servers {
        server.command(&["SET", "b", "thief"]).expect("it answers");
    }
    let lost = block_on(guard.lost());
    assert!(
        lost.to_string().starts_with(r#"lost the lock "a", "b": "#),
        "{lost}"
    );
    drop(guard);
    eventually("what is left of it goes", || {
        let left = servers
            .iter()
            .map(|server| server.command(&["EXISTS", "a"]));
        left.flatten().all(|left| left.integer() == Some(0))
    });
    let kept = servers[0].command(&["GET", "b"]).expect("it answers");
    assert_eq!(kept.text(), Some("thief"));
}

#[test]
fn a_name_that_a_node_has_lost_is_set_again() {
    let servers = servers(3);
    let manager = builder(&servers).build().expect("good addresses");
    let both = manager.mutex_all(["a", "b"]).expect("good names");
    let guard = block_on(both.acquire()).expect("all are free");
    servers[1].command(&["DEL", "b"]).expect("it answers");
    eventually("it is there again", || {
        let there = servers[1].command(&["EXISTS", "b"]);
        there.is_ok_and(|there| there.integer() == Some(1))
    });
    assert!(guard.is_valid());
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn one_node_of_five_may_be_dead_and_another_may_die() {
    let mut servers = servers(5);
    drop(servers.remove(0));
    let closed = Server::start().expect("it starts").url();
    let urls: Vec<String> = servers.iter().map(Server::url).chain([closed]).collect();
    let manager = LockManager::builder()
        .nodes(urls)
        .restart_guard(RestartGuard::Off)
        .max_ttl(Duration::from_secs(20))
        .defaults(LockOptions::new().ttl(Duration::from_secs(20)));
    let manager = manager.build().expect("good addresses");
    // One that was asked by nobody yet has no keys, and after the next death three would not be enough.
    let up = || {
        let nodes = manager.health().into_iter();
        nodes
            .filter(|node| node.connection == NodeConnection::Up)
            .count()
    };
    eventually("four are connected", || up() == 4);
    let both = manager.mutex_all(["a", "b"]).expect("good names");
    let guard = block_on(both.acquire_within(PATIENCE)).expect("four are enough");
    // Three grant it, and the fourth may come to it later.
    eventually("all four have both", || {
        let there = servers.iter().map(|it| it.command(&["EXISTS", "a", "b"]));
        there.flatten().all(|there| there.integer() == Some(2))
    });
    servers.pop().expect("four").kill().expect("it runs");
    block_on(guard.extend()).expect("three are enough");
    assert!(block_on(guard.release()).is_released());
}

#[test]
fn names_that_cannot_be_locked_together_are_told() {
    let manager = LockManager::builder().memory(1).build();
    let manager = manager.expect("one node");
    let why = |names: &[String]| {
        manager
            .mutex_all(names)
            .expect_err("it is wrong")
            .to_string()
    };
    let numbered = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(why(&[]), "no name of a resource was given");
    assert_eq!(
        why(&numbered(65)),
        "65 names are to be locked together, at most 64 are allowed"
    );
    assert_eq!(
        why(&["a".to_owned(), String::new()]),
        "the resource's name is empty"
    );
    let fair = manager.mutex_all_with(["a", "b"], LockOptions::new().fair());
    assert!(matches!(fair, Err(ConfigError::UnfairTogether)));
    let mutex = manager.mutex_all(["a", "b"]).expect("good names");
    let fair = mutex.with(LockOptions::fair);
    assert!(matches!(fair, Err(ConfigError::UnfairTogether)));
    // One that is named twice is one, and may be fair.
    assert!(
        manager
            .mutex_all_with(["a", "a"], LockOptions::new().fair())
            .is_ok()
    );
    let reserved = builder(&servers(1)).build().expect("a good address");
    let error = reserved.mutex_all(["a", "leasehold:node"]);
    assert!(matches!(error, Err(ConfigError::Reserved { .. })));
}

#[test]
fn as_many_and_as_long_names_as_are_allowed_are_locked() {
    let servers = servers(1);
    // Nobody has given it the scripts yet, so the first request brings the text along.
    let manager = builder(&servers).build().expect("a good address");
    let names: Vec<String> = (0..64).map(|n| format!("{n:0>128}")).collect();
    let all = manager.mutex_all(&names).expect("8,192 bytes");
    let guard = block_on(all.acquire_within(PATIENCE)).expect("they are free");
    let last = manager.mutex(&names[63]).expect("a good name");
    assert!(block_on(last.try_acquire()).is_err());
    assert!(block_on(guard.extend()).is_ok());
    assert!(block_on(guard.release()).is_released());
    // What stands around the names in the keys is sent with each of them.
    let prefix = "x".repeat(200) + "{}";
    let format = prefix.parse::<KeyFormat>().expect("not too long");
    let manager = builder(&servers).key_format(format);
    let manager = manager.build().expect("a good address");
    let short: Vec<String> = (0..64).map(|n| n.to_string()).collect();
    let error = manager.mutex_all(&short).expect_err("64 times 200");
    assert!(error.to_string().contains("12918 bytes"), "{error}");
    assert!(manager.mutex_all(&short[..32]).is_ok());
}

#[test]
fn a_key_of_another_type_under_one_of_the_names_is_another_programs() {
    let servers = servers(1);
    servers[0]
        .command(&["LPUSH", "b", "x"])
        .expect("it answers");
    let manager = builder(&servers).build().expect("a good address");
    let both = manager.mutex_all(["a", "b"]).expect("good names");
    let error = block_on(both.try_acquire()).expect_err("it is there");
    assert!(matches!(error, AcquireError::Held(_)), "{error}");
    let kind = servers[0].command(&["TYPE", "b"]).expect("it answers");
    assert_eq!(kind.text(), Some("list"));
    let left = servers[0].command(&["EXISTS", "a"]).expect("it answers");
    assert_eq!(left.integer(), Some(0));
}

#[test]
fn who_may_not_write_to_one_of_the_names_takes_none() {
    let servers = servers(1);
    let user = ["ACL", "SETUSER", "u", "on", ">pw", "+@all"];
    // As much as a connection tries, and to read the second name.
    let keys = ["%RW~a", "%R~b", "%RW~leasehold*"];
    let words = [&user[..], &keys].concat();
    servers[0].command(&words).expect("it answers");
    let url = format!("redis://u:pw@127.0.0.1:{}", servers[0].port());
    let builder = LockManager::builder().nodes([url]);
    let manager = builder.build_plain().expect("a good address");
    let alone = block_on(
        manager
            .mutex("a")
            .expect("a good name")
            .acquire_within(PATIENCE),
    );
    assert!(block_on(alone.expect("it may").release()).is_released());
    let both = manager.mutex_all(["a", "b"]).expect("good names");
    let error = block_on(both.try_acquire()).expect_err("it may not");
    assert!(matches!(error, AcquireError::Unreachable(_)), "{error}");
    let left = servers[0]
        .command(&["EXISTS", "a", "b"])
        .expect("it answers");
    assert_eq!(left.integer(), Some(0), "nothing is left");
}

#[test]
fn names_are_not_locked_under_another_configuration() {
    let servers = servers(1);
    let ours = builder(&servers).build().expect("a good address");
    let guard = block_on(ours.mutex_all(["a", "b"]).expect("good names").acquire());
    assert!(block_on(guard.expect("they are free").release()).is_released());
    let theirs = builder(&servers).max_ttl(Duration::from_secs(3));
    // A connection says so as well, so this one was opened before it was so.
    servers[0]
        .command(&["DEL", "leasehold:node"])
        .expect("it answers");
    let theirs = theirs.build().expect("a good address");
    let both = theirs.mutex_all(["a", "b"]).expect("good names");
    let guard = block_on(both.acquire_within(PATIENCE)).expect("they are free");
    assert!(block_on(guard.release()).is_released());
    let error = block_on(
        ours.mutex_all(["a", "b"])
            .expect("good names")
            .try_acquire(),
    );
    let error = error.expect_err("it has another configuration");
    assert!(
        matches!(error, AcquireError::Disagreement { .. }),
        "{error}"
    );
}

#[test]
fn changes_to_the_names_of_plain_locks_are_told() {
    let servers = servers(1);
    let configuration = Configuration::plain();
    let link = || {
        let url = servers[0].url().parse().expect("a server's own address");
        RedisLink::new(url, Clock::system(), &configuration)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        conformance::check_several_hints(link).await;
    });
}
