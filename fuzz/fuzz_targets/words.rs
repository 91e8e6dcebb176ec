//! Lengths of time, and what votes wait for, as people write them.

#![no_main]

use leasehold::{
    Disks,
    config::{Waited, parse_duration},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(why) = parse_duration(text) {
        assert!(!why.is_empty());
    }
    drop(text.parse::<Waited<u32>>());
    drop(text.parse::<Waited<Disks>>());
});
