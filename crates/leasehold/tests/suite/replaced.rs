//! One node takes the place of another while clients lock, on real servers.

use crate::support::{block_on, eventually};
use leasehold::{
    AcquireError, Key, LeaseGuard, LockManager, LockOptions, ManagerBuilder, ReconfigureError,
    link::redis::wire,
    operate::{Former, Membership, NodeAnswer, Outcome, Reconfiguration},
};
use leasehold_servers::{Reply, ServerSet, require_server};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Of clients that wait for a new node for two seconds, and hold locks for no longer.
fn builder(urls: &[String]) -> ManagerBuilder {
    LockManager::builder()
        .max_ttl(2000 * MS)
        .clock_skew(Duration::ZERO)
        .nodes(urls)
        .defaults(LockOptions::new().ttl(2000 * MS).node_limit(500 * MS))
}

/// Servers, and two lists of them: in the second the last one has taken the place of the one before it.
struct Lists {
    servers: ServerSet,
    old: Vec<String>,
    new: Vec<String>,
}

impl Lists {
    fn of(count: usize) -> Self {
        require_server();
        let servers = ServerSet::start(count + 1).expect("they start");
        let urls = servers.urls();
        let old = urls[..count].to_vec();
        let new = [&urls[..count - 1], &urls[count..]].concat();
        let admitted = block_on(builder(&old).operator().expect("good addresses").admit());
        admitted.expect("there is a thread");
        Self { servers, old, new }
    }

    fn replace(&self) -> Reconfiguration {
        let operator = builder(&self.new).operator().expect("good addresses");
        let done = block_on(operator.reconfigure(Former::nodes(&self.old)));
        let done = done.expect("enough nodes are there");
        assert!(done.goes_on, "{done:?}");
        done
    }
}

fn take(manager: &LockManager, name: &str) -> Result<LeaseGuard, AcquireError> {
    block_on(manager.mutex(name).expect("a plain name").try_acquire())
}

fn names_of(urls: &[String]) -> Vec<String> {
    let name = |url: &String| url.trim_start_matches("redis://").to_owned();
    urls.iter().map(name).collect()
}

/// Waits until the manager asks the nodes of this list, and keeps locking meanwhile: it learns the list by that.
fn learns(manager: &LockManager, list: &[String]) {
    let names = names_of(list);
    eventually("it learns the new list", || {
        drop(take(manager, "by-the-way"));
        manager
            .nodes()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            == names
    });
}

#[test]
fn a_lease_goes_on_while_a_node_is_replaced() {
    let lists = Lists::of(3);
    let manager = builder(&lists.old).build().expect("good addresses");
    let guard = take(&manager, "r").expect("it is free");
    let done = lists.replace();
    assert!(done.is_complete(), "{done:?}");
    let goes_on = Outcome::Changed {
        left: Duration::ZERO,
    };
    let that_go_on = done.nodes.iter().filter(|node| node.outcome == goes_on);
    assert_eq!(that_go_on.count(), 2, "{done:?}");
    learns(&manager, &lists.new);
    // Who knows the new list from the start finds it taken, and takes what is free while the new node waits.
    let newcomer = builder(&lists.new).build().expect("good addresses");
    assert!(matches!(take(&newcomer, "r"), Err(AcquireError::Held(_))));
    drop(take(&newcomer, "s").expect("two nodes are enough"));
    // It lives for longer than any TTL, and the node that left is not needed for that.
    lists.servers[2].kill().expect("it runs");
    // By now it stands on the new node as well, which votes.
    eventually("the new node is given the key", || {
        let seen = lists.servers[3]
            .command(&["EXISTS", "r"])
            .expect("it answers");
        seen == Reply::Integer(1)
    });
    lists.servers[1].kill().expect("it runs");
    let end = guard.valid_until();
    eventually("it is extended by those that are left", || {
        guard.valid_until().saturating_since(end) > 2000 * MS
    });
    assert!(guard.is_valid());
    assert!(matches!(take(&newcomer, "r"), Err(AcquireError::Held(_))));
    assert!(block_on(guard.release()).is_released());
    let next = take(&newcomer, "r").expect("it is free");
    assert!(next.is_valid());
}

/// Nobody has to try twice: the list is learned before the first lock is wanted.
#[test]
fn a_program_that_starts_with_the_former_list_locks_at_once() {
    let lists = Lists::of(3);
    let done = lists.replace();
    assert!(done.is_complete(), "{done:?}");
    for (with, count) in [("the node that left", 3), ("without it", 2)] {
        if count == 2 {
            lists.servers[2].kill().expect("it runs");
        }
        let late = builder(&lists.old).build().expect("good addresses");
        let guard = take(&late, "r").unwrap_or_else(|error| panic!("{with}: {error}"));
        assert!(block_on(guard.release()).is_released());
    }
}

/// One of the nodes that stay has its list from the first program that came after it was flushed; the one that left is enough to
/// tell that this list follows the former one.
#[test]
fn the_node_that_left_names_the_list_that_it_was_on() {
    let lists = Lists::of(3);
    let done = lists.replace();
    assert!(done.is_complete(), "{done:?}");
    let about = || {
        let seen = lists.servers[0].command(&["HGET", "leasehold:node", "about"]);
        seen.expect("it answers")
            .text()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(about().contains(" after="), "{}", about());
    lists.servers[0].command(&["FLUSHALL"]).expect("it answers");
    let newcomer = builder(&lists.new).build().expect("good addresses");
    drop(take(&newcomer, "s"));
    eventually("it has the new list from somebody", || {
        about().contains("nodes=")
    });
    assert!(!about().contains(" after="), "{}", about());
    lists.servers[1].pause().expect("it runs");
    let late = builder(&lists.old).build().expect("good addresses");
    learns(&late, &lists.new);
}

/// The node that leaves is dead, and one of the others comes back later: it is told by another run.
/// Who looks goes by the list that locks go by.
#[test]
fn an_operator_with_the_former_list_looks_at_the_nodes_that_locks_are_on() {
    let lists = Lists::of(3);
    let done = lists.replace();
    assert!(done.is_complete(), "{done:?}");
    // Who is told that nodes have forgotten nothing does not forget what they follow.
    let admitted = block_on(
        builder(&lists.new)
            .operator()
            .expect("good addresses")
            .admit(),
    );
    admitted.expect("there is a thread");
    lists.servers[2].kill().expect("it runs");
    let operator = builder(&lists.old).operator().expect("good addresses");
    for told in [
        block_on(operator.examine()),
        block_on(operator.examine_votes()),
    ] {
        let told = told.expect("there is a thread");
        let names: Vec<_> = told.iter().map(|told| told.node.to_string()).collect();
        assert_eq!(names, names_of(&lists.new));
        let formers = told
            .iter()
            .map(|told| told.former.as_ref().map(ToString::to_string));
        let former = names_of(&lists.old).pop();
        assert_eq!(formers.collect::<Vec<_>>(), [None, None, former]);
        for told in &told {
            let NodeAnswer::Told(seen) = &told.answer else {
                panic!("{told:?}");
            };
            let Some(NodeAnswer::Told(survey)) = &seen.survey else {
                panic!("{seen:?}");
            };
            assert_eq!(survey.membership, Membership::Ours, "{told:?}");
        }
    }
    // What a manager tells of the new node is not what it has from the former one, nor the other way round.
    let manager = builder(&lists.old).build().expect("good addresses");
    let seen = block_on(manager.inspect("r")).expect("it runs");
    let names = seen.nodes().iter().map(|node| node.node.to_string());
    assert_eq!(names.collect::<Vec<_>>(), names_of(&lists.new));
    assert!(
        seen.nodes().iter().all(|node| node.key == Key::Free),
        "{seen:?}"
    );
}

#[test]
fn a_list_that_differs_in_two_nodes_or_in_more_than_nodes_is_not_followed() {
    let lists = Lists::of(3);
    let done = lists.replace();
    assert!(done.is_complete(), "{done:?}");
    let nobody = [
        "redis://127.0.0.1:1".to_owned(),
        "redis://127.0.0.1:2".to_owned(),
    ];
    let strangers = [&lists.new[..1], &nobody].concat();
    // Nor is one that follows no list of ours, as where an address is mistaken.
    let mistaken = [&lists.new[..2], &nobody[..1]].concat();
    let another = builder(&lists.old).max_ttl(3000 * MS);
    for (builder, disagrees) in [
        (builder(&strangers), false),
        (builder(&mistaken), true),
        (another, true),
    ] {
        let operator = builder.operator().expect("good addresses");
        let told = block_on(operator.examine_votes()).expect("there is a thread");
        assert!(told.iter().all(|told| told.former.is_none()), "{told:?}");
        let manager = builder.build().expect("good addresses");
        let refused = take(&manager, "r").expect_err("two of its nodes do not vote");
        let is_told = matches!(refused, AcquireError::Disagreement { .. });
        assert_eq!(is_told, disagrees, "{refused}");
    }
}

#[test]
fn a_dead_node_is_replaced_and_one_that_was_away_is_told_later() {
    let lists = Lists::of(5);
    let manager = builder(&lists.old).build().expect("good addresses");
    let guard = take(&manager, "r").expect("it is free");
    lists.servers[4].kill().expect("it runs");
    lists.servers[0].pause().expect("it runs");
    let done = lists.replace();
    assert!(!done.is_complete(), "{done:?}");
    learns(&manager, &lists.new);
    lists.servers[0].resume().expect("it was stopped");
    eventually("the other node is told", || {
        let missed = |node: &leasehold::operate::Reconfigured| {
            matches!(node.outcome, Outcome::Missed { .. })
        };
        lists
            .replace()
            .nodes
            .iter()
            .filter(|node| missed(node))
            .count()
            == 1
    });
    let newcomer = builder(&lists.new).build().expect("good addresses");
    assert!(matches!(take(&newcomer, "r"), Err(AcquireError::Held(_))));
    assert!(guard.is_valid());
    assert!(block_on(guard.release()).is_released());
}

/// Argument S9: the nodes that stay go on with the former list while the new node cannot be told to vote for nobody.
#[test]
fn a_change_without_the_new_node_leaves_the_former_list_in_use() {
    let lists = Lists::of(3);
    let manager = builder(&lists.old).build().expect("good addresses");
    let guard = take(&manager, "r").expect("it is free");
    lists.servers[3].kill().expect("it runs");
    let operator = builder(&lists.new).operator().expect("good addresses");
    let failed = block_on(operator.reconfigure(Former::nodes(&lists.old)));
    assert!(
        matches!(failed, Err(ReconfigureError::Unfinished { .. })),
        "{failed:?}"
    );
    drop(take(&manager, "s").expect("two nodes of the former list go on"));
    lists.servers[3].restart().expect("it starts again");
    let done = lists.replace();
    assert!(done.is_complete(), "{done:?}");
    learns(&manager, &lists.new);
    assert!(guard.is_valid());
}

/// Tokens go on growing over the change, also those that only the node that left and one other have counted.
#[test]
fn tokens_grow_over_a_replacement() {
    let lists = Lists::of(3);
    let manager = builder(&lists.old).build().expect("good addresses");
    // Far ahead of every clock, on two nodes of three: only the change itself brings it to the new node.
    lists.servers[1].pause().expect("it runs");
    let guard = take(&manager, "r").expect("two nodes are enough");
    let first = guard.fencing_token();
    assert!(block_on(guard.release()).is_released());
    raise_counters(&lists, 0, first.get() + HOUR_US);
    // The other one that has counted it is gone.
    lists.servers[2].kill().expect("it runs");
    lists.servers[1].resume().expect("it was stopped");
    lists.replace();
    learns(&manager, &lists.new);
    eventually(
        "the new node votes, and the first one is not needed",
        || {
            lists.servers[0].pause().expect("it runs");
            let next = take(&manager, "r").map(|guard| guard.fencing_token());
            lists.servers[0].resume().expect("it was stopped");
            next.is_ok_and(|next| {
                assert!(
                    next.get() > first.get() + HOUR_US,
                    "{next:?} after {first:?}"
                );
                true
            })
        },
    );
}

const HOUR_US: u64 = 3_600_000_000;

fn raise_counters(lists: &Lists, server: usize, to: u64) {
    let fields = (0..1024).flat_map(|number| [format!("f{number}"), to.to_string()]);
    let words: Vec<_> = ["HSET".to_owned(), "leasehold:node".to_owned()]
        .into_iter()
        .chain(fields)
        .collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    lists.servers[server].command(&words).expect("it answers");
}

/// Argument S9: one step, and only from what the operator has seen.
#[test]
fn a_node_is_of_the_list_that_it_was_told_last() {
    require_server();
    let servers = ServerSet::start(1).expect("it starts");
    let texts = wire::texts();
    let found = texts.iter().find(|(name, _)| *name == "succeed");
    let (_, script) = found.expect("there is one");
    let tell = |seen: &str, configuration: &str| {
        let words = [
            "EVAL",
            script,
            "1",
            "leasehold:node",
            seen,
            configuration,
            "its text",
            "2",
        ];
        match servers[0].command(&words).expect("it answers") {
            Reply::Array(parts) => parts[0].integer().expect("a number"),
            other => panic!("{other:?}"),
        }
    };
    let kept = || {
        servers[0]
            .command(&["HGET", "leasehold:node", "cfg"])
            .expect("it answers")
    };
    assert_eq!(
        (tell("", "old"), kept()),
        (1, Reply::Text("old".to_owned()))
    );
    assert_eq!(
        (tell("old", "new"), kept()),
        (1, Reply::Text("new".to_owned()))
    );
    assert_eq!(tell("old", "new"), 1, "it was told before");
    assert_eq!(
        (tell("old", "other"), kept()),
        (-2, Reply::Text("new".to_owned()))
    );
}
