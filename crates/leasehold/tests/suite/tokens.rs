//! Fencing tokens on real servers, and locks without any.

use crate::support::{
    block_on,
    cluster::{Cluster, manager},
    driven::{Driven, MINUTE, acquire, fault, release},
    eventually,
};
use leasehold::{LockManager, LockOptions};
use leasehold_core::{FaultKind, FencingToken, Request, Vote};
use leasehold_servers::{Server, require_server};

fn token(number: u64) -> FencingToken {
    FencingToken::new(number).expect("in range")
}

fn proposing(name: &str, by: &str, proposal: u64) -> Request {
    let Request::Acquire {
        resource,
        owner,
        ttl,
        ..
    } = acquire(name, by, MINUTE)
    else {
        unreachable!("it is one");
    };
    Request::Acquire {
        resource,
        owner,
        ttl,
        proposal: Some(token(proposal)),
        place: None,
    }
}

fn counter(number: u64) -> Vote {
    Vote::Granted {
        counter: Some(token(number)),
    }
}

#[test]
fn a_counter_keeps_every_digit() {
    require_server();
    let server = Server::start().expect("it starts");
    let mut link = Driven::up(&server.url());
    let mut expect = |proposal, told| {
        assert_eq!(link.ask(&proposing("r", "us", proposal)), told);
        assert!(link.ask(&release("r", "us")).is_granted());
    };
    expect(9, counter(9));
    expect(9, counter(10));
    expect(1_000_000_000_000_007, counter(1_000_000_000_000_007));
    expect(5, counter(1_000_000_000_000_008));
    // The largest that a node takes from a client is a second ahead of its clock.
    let Vote::Granted {
        counter: Some(wild),
    } = link.ask(&proposing("r", "us", FencingToken::LAST.get()))
    else {
        panic!("it is free");
    };
    assert!(wild < FencingToken::LAST);
    assert!(link.ask(&release("r", "us")).is_granted());
    let field = format!(
        "f{}",
        leasehold_core::fence::counter_of(&crate::support::driven::name("r"))
    );
    let last = (FencingToken::LAST.get() - 1).to_string();
    server
        .command(&["HSET", "leasehold:node", &field, &last])
        .expect("it answers");
    assert_eq!(
        link.ask(&proposing("r", "us", 5)),
        counter(FencingToken::LAST.get())
    );
    assert_eq!(
        fault(&link.ask(&proposing("r", "us", 5))).0,
        FaultKind::SameNode,
        "asked twice"
    );
    assert!(link.ask(&release("r", "us")).is_granted());
    let Vote::Unknown(fault) = link.ask(&proposing("r", "us", 5)) else {
        panic!("there is no number left");
    };
    assert!(fault.to_string().contains("come to its end"), "{fault}");
}

#[test]
fn only_the_owner_raises_a_counter_and_never_down() {
    require_server();
    let server = Server::start().expect("it starts");
    let mut link = Driven::up(&server.url());
    let raise = |by: &str, number| Request::Raise {
        resource: crate::support::driven::name("r"),
        owner: crate::support::driven::by(by),
        token: token(number),
    };
    assert_eq!(link.ask(&proposing("r", "us", 100)), counter(100));
    assert!(!link.ask(&raise("them", 500)).is_granted());
    assert!(link.ask(&raise("us", 200)).is_granted());
    let beyond = link.ask(&raise("us", 150));
    assert!(
        matches!(&beyond, Vote::Unknown(fault) if !fault.may_have_happened()),
        "{beyond:?}"
    );
    assert!(link.ask(&release("r", "us")).is_granted());
    assert!(!link.ask(&raise("us", 900)).is_granted());
    assert_eq!(link.ask(&proposing("r", "them", 1)), counter(201));
}

#[test]
fn tokens_grow_over_nodes_that_count_differently() {
    let cluster = Cluster::start(3);
    let manager = cluster.direct(LockOptions::new());
    let mutex = manager.mutex("r").expect("a plain name");
    let first = block_on(mutex.acquire()).expect("it is free");
    let before = first.fencing_token();
    assert!(block_on(first.release()).is_released());
    // One node is far ahead of the others: the others are raised to it.
    let field = format!("f{}", leasehold_core::fence::counter_of(mutex.resource()));
    let ahead = (before.get() + 5_000_000_000).to_string();
    let server = cluster.servers.iter().next().expect("there are three");
    server
        .command(&["HSET", "leasehold:node", &field, &ahead])
        .expect("it answers");
    let mut last = before;
    // It is asked by everybody, but may be the last to answer for a while.
    for _ in 0..2_000 {
        if last.get() > before.get() + 5_000_000_000 {
            break;
        }
        let guard = block_on(mutex.acquire()).expect("it is free");
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        assert!(block_on(guard.release()).is_released());
    }
    assert!(last.get() > before.get() + 5_000_000_000);
}

#[test]
fn plain_locks_are_redlocks_own_and_nothing_else() {
    require_server();
    let server = Server::start().expect("it starts");
    let plain = LockManager::builder()
        .nodes([server.url()])
        .build_plain()
        .expect("good addresses");
    let mutex = plain.mutex("r").expect("a plain name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    let value = server.command(&["GET", "r"]).expect("it answers");
    assert_eq!(
        value.text().map(str::as_bytes),
        Some(guard.owner().as_bytes())
    );
    let keys = server
        .command(&["EXISTS", "leasehold:node"])
        .expect("it answers");
    assert_eq!(keys.integer(), Some(0), "no hash of the node's own");
    let fenced = manager([server.url()], LockOptions::new());
    let theirs = fenced.mutex("r").expect("a plain name");
    assert!(
        block_on(theirs.try_acquire()).is_err(),
        "they exclude each other"
    );
    block_on(guard.extend()).expect("it is ours");
    assert!(block_on(guard.release()).is_released());
    eventually("it is free", || block_on(theirs.try_acquire()).is_ok());
}
