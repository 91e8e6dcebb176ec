//! What a server answers to one request, whatever it is that answers.

#![no_main]

use leasehold::{
    configuration::{Configuration, RestartGuard},
    link::redis::wire::Wire,
};
use leasehold_core::{Quorum, Ttl, Vote, quarantine::Disk};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

#[path = "requests/mod.rs"]
mod requests;

fuzz_target!(|told: (u8, &[u8])| {
    let (number, reply) = told;
    let request = requests::one(number, "r");
    let quorum = Quorum::majority(3).expect("three nodes");
    let guard = RestartGuard::Quarantine;
    let fenced = Configuration::new(
        "leasehold",
        "n",
        quorum,
        guard,
        Ttl::DEFAULT,
        Duration::ZERO,
    );
    for configuration in [Configuration::plain(), fenced] {
        let wire = Wire::new(&configuration);
        let (vote, _) = wire.vote(&request, reply);
        // A grant is an answer, and never nothing.
        assert!(!reply.is_empty() || !matches!(vote, Vote::Granted { .. }));
        for disk in [Disk::Ignored, Disk::Trusted] {
            drop(wire.greeted(reply, disk));
        }
    }
});
