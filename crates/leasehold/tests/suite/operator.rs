//! Who is meant by an operator's word, and how long nodes have to answer.

use crate::support::block_on;
use leasehold::{
    AcquireError, Key, LockManager, ManagerBuilder,
    blocking::LeaseGuard,
    operate::{Admission, NodeAnswer},
};
use leasehold_servers::{ServerSet, require_server};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn builder(urls: &[String], max_ttl_ms: u32) -> ManagerBuilder {
    let builder = LockManager::builder().nodes(urls);
    builder.max_ttl(max_ttl_ms * MS)
}

fn tries(builder: ManagerBuilder) -> Result<(), AcquireError> {
    let manager = builder.build().expect("good addresses");
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = block_on(mutex.try_acquire())?;
    assert!(block_on(guard.release()).is_released());
    Ok(())
}

#[test]
fn only_what_is_nobodys_is_admitted_where_only_that_is_meant() {
    require_server();
    let servers = ServerSet::start(3).expect("three servers");
    let urls = servers.urls();
    assert!(tries(builder(&urls, 30_000)).is_err(), "new nodes wait");
    let operator = builder(&urls, 30_000).operator().expect("good addresses");
    let limit = Duration::from_secs(20);
    let told = block_on(operator.within(limit).admit_new()).expect("good addresses");
    for told in told {
        assert!(
            matches!(
                told.answer,
                NodeAnswer::Told(Admission::NotNew { abstains: Some(_) })
            ),
            "{}",
            told.answer
        );
    }
    assert!(tries(builder(&urls, 30_000)).is_err(), "none was admitted");
    // Others, which nobody has asked for a lock.
    let servers = ServerSet::start(3).expect("three servers");
    let urls = servers.urls();
    let operator = builder(&urls, 30_000).operator().expect("good addresses");
    for told in block_on(operator.admit_new()).expect("good addresses") {
        assert!(matches!(
            told.answer,
            NodeAnswer::Told(Admission::Admitted { was: Some(_) })
        ));
    }
    tries(builder(&urls, 30_000)).expect("they vote");
    let other = builder(&urls, 20_000).operator().expect("good addresses");
    for told in block_on(other.admit_new()).expect("good addresses") {
        assert!(matches!(
            told.answer,
            NodeAnswer::Told(Admission::Disagrees { .. })
        ));
    }
}

#[test]
fn a_node_that_hangs_is_silent_when_the_limit_is_over() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one").to_string();
    let operator = builder(&[address], 800).operator().expect("a good address");
    let operator = operator.within(100 * MS);
    let told = block_on(operator.survey()).expect("a good address");
    let told = told[0].answer.to_string();
    assert_eq!(told, "did not answer within the time limit");
    let listing = block_on(operator.list("", 10)).expect("a good address");
    assert_eq!(listing.nodes[0].answer, NodeAnswer::Silent(told));
}

#[test]
fn nodes_in_memory_say_that_they_cannot_be_listed() {
    let builder = LockManager::builder().memory(3);
    let operator = builder.operator().expect("it fits");
    let manager = builder.build().expect("it fits").blocking();
    let guard = manager.mutex("orders/1").expect("a name").acquire();
    let listing = block_on(operator.list("orders/", 100)).expect("a thread");
    for told in listing.nodes {
        assert_eq!(told.answer, NodeAnswer::CannotBeListed);
    }
    let seen = block_on(operator.look("orders/1")).expect("a thread");
    assert!(seen.is_unclear() && seen.holder().is_none());
    let Key::Unknown(fault) = &seen.nodes()[0].key else {
        panic!("it cannot be known: {seen:?}");
    };
    assert!(
        fault.to_string().contains("call `inspect` of a manager"),
        "{fault}"
    );
    let known = manager.inspect("orders/1").expect("a name");
    assert_eq!(known.holder(), guard.as_ref().ok().map(LeaseGuard::owner));
}
