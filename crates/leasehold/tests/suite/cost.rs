//! What a lock costs the servers, in commands.

use crate::support::{
    block_on,
    cluster::{Cluster, calls},
    real::Real,
};
use leasehold::{
    LockManager, LockOptions, RestartGuard, configuration::Configuration, link::redis::wire::Wire,
};
use leasehold_core::{Quorum, Ttl, quarantine::Disk};
use leasehold_fake_redis::Reply;
use leasehold_servers::{Server, require_server};
use std::time::Duration;

const CYCLES: usize = 200;
const PATIENCE: Duration = Duration::from_secs(20);

/// Long enough that no answer counts as missing on a busy machine: one that does is asked for again.
const NODE_LIMIT: Duration = Duration::from_secs(5);

/// How many scripts one manager had the servers run while it did this, connecting included.
fn cost(cluster: &Cluster, run: impl FnOnce(&LockManager)) -> usize {
    let before = calls(&cluster.servers);
    // A lease that nobody extends is not watched either, if this machine stands still for a moment.
    let manager = cluster.direct(LockOptions::new().node_limit(NODE_LIMIT).no_renewal());
    run(&manager);
    assert_eq!(block_on(manager.shutdown()), Some(0), "all is confirmed");
    calls(&cluster.servers) - before
}

fn cycle(manager: &LockManager, name: &str) {
    let mutex = manager.mutex(name).expect("a plain name");
    // Released at once: two of the five grants are heard when their release is on its way.
    drop(block_on(mutex.acquire_within(PATIENCE)).expect("the servers are well"));
}

#[test]
fn a_cycle_asks_each_node_twice_however_soon_the_lease_is_released() {
    let cluster = Cluster::start(5);
    // The servers do not know the scripts yet.
    cost(&cluster, |manager| cycle(manager, "first"));
    let one = cost(&cluster, |manager| cycle(manager, "one"));
    let many = cost(&cluster, |manager| {
        for number in 0..=CYCLES {
            cycle(manager, &format!("many/{number}"));
        }
    });
    assert_eq!(many - one, 2 * 5 * CYCLES);
}

#[test]
fn a_greeting_asks_the_node_once_what_it_is() {
    require_server();
    let quorum = Quorum::majority(1).expect("one node");
    let mut real = Real::new(Server::start().expect("it starts"), "ns:node", &[]);
    for (guard, disk) in [
        (RestartGuard::Quarantine, Disk::Ignored),
        (RestartGuard::TrustAof, Disk::Trusted),
        (RestartGuard::Off, Disk::Ignored),
    ] {
        let configuration = Configuration::new("ns", "n", quorum, guard, Ttl::SHORTEST, PATIENCE);
        let greeting = Wire::new(&configuration).greeting(disk, None);
        real.command(&["FLUSHALL"]);
        real.command(&["CONFIG", "RESETSTAT"]);
        real.answer(&greeting.expect("there is a hash"));
        let Reply::Bulk(stats) = real.command(&["INFO", "commandstats"]) else {
            panic!("INFO is a text");
        };
        let stats = String::from_utf8_lossy(&stats).into_owned();
        assert!(
            stats.contains("cmdstat_info:calls=1,"),
            "{guard:?}: {stats}"
        );
    }
}
