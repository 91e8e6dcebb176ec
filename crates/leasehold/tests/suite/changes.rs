//! Changes of the configuration that follow one another, on real servers.

use crate::support::block_on;
use leasehold::{
    LockManager, LockOptions, ManagerBuilder, ReconfigureError,
    operate::{Former, Outcome, Reconfiguration, Reconfigured},
};
use leasehold_servers::{ServerSet, require_server};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);

fn builder(urls: &[String], max_ttl: Duration) -> ManagerBuilder {
    LockManager::builder()
        .max_ttl(max_ttl)
        .clock_skew(Duration::ZERO)
        .nodes(urls)
        .defaults(LockOptions::new().ttl(max_ttl).node_limit(500 * MS))
}

fn change(list: &[String], former: &[String]) -> Result<Reconfiguration, ReconfigureError> {
    let operator = builder(list, 1000 * MS).operator().expect("good addresses");
    block_on(operator.reconfigure(Former::nodes(former)))
}

/// Servers, of which the first few are in use, by clients whose leases last for a minute.
fn servers(count: usize, used: usize) -> (ServerSet, Vec<String>) {
    require_server();
    let servers = ServerSet::start(count).expect("they start");
    let urls = servers.urls();
    let operator = builder(&urls[..used], MINUTE).operator();
    block_on(operator.expect("good addresses").admit()).expect("there is a thread");
    (servers, urls)
}

/// Those that a node of the last list still has to wait for.
fn assert_waits_for_the_first(done: &Reconfiguration) {
    assert!(
        done.is_complete() && done.quarantine > MINUTE / 2,
        "{done:?}"
    );
    let left = done.nodes.iter().filter_map(|node| match node.outcome {
        Outcome::Changed { left } if left > Duration::ZERO => Some(left),
        _ => None,
    });
    assert!(left.min().is_some_and(|left| left > MINUTE / 2), "{done:?}");
}

#[test]
fn a_second_change_waits_for_the_leases_that_the_first_has_ended() {
    let (_servers, urls) = servers(6, 3);
    let (old, new) = urls.split_at(3);
    let manager = builder(old, MINUTE).build().expect("good addresses");
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.try_acquire()).expect("it is free");
    change(old, old).expect("all are there");
    let done = change(new, old).expect("all are there");
    assert_waits_for_the_first(&done);
    // For which there is a reason.
    let manager = builder(new, 1000 * MS).build().expect("good addresses");
    let mutex = manager.mutex("r").expect("a plain name");
    assert!(block_on(mutex.try_acquire()).is_err() && guard.is_valid());
}

#[test]
fn nodes_that_come_one_by_one_wait_for_the_leases_that_the_first_change_has_ended() {
    let (_servers, urls) = servers(5, 3);
    let list = |places: [usize; 3]| places.map(|place| urls[place].clone());
    let (first, second, third) = (list([0, 1, 2]), list([3, 1, 2]), list([3, 4, 2]));
    change(&first, &first).expect("all are there");
    for (new, old) in [(&second, &first), (&third, &second)] {
        let done = change(new, old).expect("all are there");
        assert!(done.goes_on, "{done:?}");
        assert_waits_for_the_first(&done);
    }
}

#[test]
fn nodes_that_stay_and_do_not_vote_yet_say_so() {
    require_server();
    let servers = ServerSet::start(4).expect("they start");
    let urls = servers.urls();
    let (old, new) = (&urls[..3], &urls[1..]);
    let manager = builder(old, MINUTE).build().expect("good addresses");
    let mutex = manager.mutex("r").expect("a plain name");
    assert!(block_on(mutex.try_acquire()).is_err(), "they are new");
    let operator = builder(new, MINUTE).operator().expect("good addresses");
    let done = block_on(operator.reconfigure(Former::nodes(old))).expect("all are there");
    assert!(done.goes_on, "{done:?}");
    let waits = |node: &&Reconfigured| matches!(node.outcome, Outcome::Changed { left } if left > MINUTE / 2);
    // Those that stay, the one that comes, and the one that leaves.
    assert_eq!(done.nodes.iter().filter(waits).count(), 4, "{done:?}");
}

#[test]
fn a_quorum_of_the_new_list_is_told_to_wait() {
    let (servers, urls) = servers(5, 1);
    let (old, new) = urls.split_at(1);
    // Two of four can be looked at, and not be told: a log that was relied on does not get it.
    for server in &servers[3..] {
        let relied_on = ["HSET", "leasehold:node", "logged", "1"];
        server.command(&relied_on).expect("it answers");
    }
    let error = change(new, old).expect_err("the next change may reach these two alone");
    assert!(
        matches!(&error, ReconfigureError::Unfinished { faults } if faults.len() == 2),
        "{error}"
    );
    for server in &servers[3..] {
        let forget = ["HDEL", "leasehold:node", "logged"];
        server.command(&forget).expect("it answers");
    }
    assert_waits_for_the_first(&change(new, old).expect("all are there"));
}

#[test]
fn a_node_that_came_with_a_change_that_is_not_finished_leaves_with_none() {
    let (servers, urls) = servers(4, 3);
    // As a run leaves a new node that ends in the middle.
    let mark = [
        "HSET",
        "leasehold:node",
        "cfg",
        "pending:0123",
        "about",
        "a change was begun",
        "was",
        "",
    ];
    servers[2].command(&mark).expect("it answers");
    let error = change(&urls[1..], &urls[..3]).expect_err("nobody knows for how long it waits");
    assert!(matches!(error, ReconfigureError::Begun { .. }), "{error}");
    let says = "a change was begun; run that change again first; nothing was changed";
    assert!(error.to_string().ends_with(says), "{error}");
}

#[test]
fn a_change_does_not_lead_to_another_database_of_the_same_servers() {
    let urls = ["db1", "db2", "db3"].map(|host| format!("redis://{host}"));
    let elsewhere = urls.clone().map(|url| url + "/1");
    let error = change(&elsewhere, &urls).expect_err("clients of the former would go on");
    let numbers = matches!(error, ReconfigureError::Databases { former: 0, new: 1 });
    assert!(numbers, "{error}");
    let mixed = [urls[0].clone(), elsewhere[1].clone()];
    let error = change(&urls, &mixed).expect_err("a list has one number");
    assert!(
        error.to_string().contains("db2:6379 is database 1"),
        "{error}"
    );
}
