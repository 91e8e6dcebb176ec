//! What a server answers to a call of several requests. Nobody has more answers than were asked for, and each has one if the
//! server answers as one does.

#![no_main]

use leasehold::{
    configuration::{Configuration, RestartGuard},
    link::redis::wire::Wire,
};
use leasehold_core::{Quorum, Request, Ttl};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

#[path = "requests/mod.rs"]
mod requests;

fuzz_target!(|told: (u8, u8, &[u8])| {
    let (kind, count, reply) = told;
    let count = usize::from(count % 5) + 1;
    let request = |number: usize| requests::one(kind, &format!("r{number}"));
    let requests: Vec<Request> = (0..count).map(request).collect();
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
    let votes = Wire::new(&fenced).votes(&requests, reply);
    assert_eq!(votes.len(), count);
});
