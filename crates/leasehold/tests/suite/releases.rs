//! More releases at once than a link keeps.

use crate::support::{block_on, cluster::Cluster};
use leasehold::{LeaseGuard, LockManager, LockOptions};
use leasehold_servers::Server;
use std::{
    future::Future,
    task::{Context, Poll, Waker},
    time::Duration,
};

const MANY: usize = 12_000;
/// A link keeps so many votes only.
const AT_ONCE: usize = 1_000;

fn options() -> LockOptions {
    let ttl = Duration::from_secs(30);
    LockOptions::new().ttl(ttl).no_renewal()
}

fn hold_many(manager: &LockManager) -> Vec<LeaseGuard> {
    let mut guards = Vec::new();
    for first in (0..MANY).step_by(AT_ONCE) {
        let names = (first..first + AT_ONCE).map(|number| format!("many/{number}"));
        let mutexes: Vec<_> = names
            .map(|name| manager.mutex(&name).expect("a plain name"))
            .collect();
        let mut waiting: Vec<_> = mutexes.iter().map(|it| Box::pin(it.acquire())).collect();
        // All are asked for before the first is waited for. Some are won before they are looked at again.
        let mut cx = Context::from_waker(Waker::noop());
        let begun: Vec<_> = waiting
            .iter_mut()
            .map(|it| it.as_mut().poll(&mut cx))
            .collect();
        let held = waiting.into_iter().zip(begun).map(|(it, begun)| {
            let ended = match begun {
                Poll::Ready(ended) => ended,
                Poll::Pending => block_on(it),
            };
            ended.expect("it is free")
        });
        guards.extend(held);
    }
    guards
}

/// How many locks are on a server, beside the hash of the node.
fn locks_on(server: &Server) -> usize {
    let keys = server.command(&["KEYS", "many/*"]).expect("it answers");
    keys.texts().len()
}

#[test]
fn more_releases_than_a_link_has_room_for_are_confirmed_when_the_manager_has_ended() {
    let cluster = Cluster::start(3);
    let manager = cluster.direct(options());
    drop(hold_many(&manager));
    assert_eq!(block_on(manager.shutdown()), Some(0));
    for server in cluster.servers.iter() {
        assert_eq!(locks_on(server), 0);
    }
}

#[test]
fn releases_wait_for_the_nodes_that_answer_and_for_no_other() {
    let cluster = Cluster::start(3);
    let manager = cluster.direct(options());
    let guards = hold_many(&manager);
    let hung = &cluster.servers[2];
    hung.pause().expect("it can be stopped");
    drop(guards);
    assert_eq!(
        block_on(manager.shutdown()),
        Some(MANY),
        "one has confirmed none"
    );
    for server in cluster.servers.iter().take(2) {
        assert_eq!(locks_on(server), 0);
    }
    hung.resume().expect("it can be continued");
}
