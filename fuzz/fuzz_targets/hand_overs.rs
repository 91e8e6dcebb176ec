//! Texts by which a lease goes from process to process. None of them gives a lease that nobody has given out of hand.

#![no_main]

use leasehold::{LockManager, Plain, blocking};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static MANAGER: LazyLock<blocking::LockManager<Plain>> = LazyLock::new(|| {
    let manager = LockManager::builder().memory(1).build_plain();
    manager.expect("memory is there").blocking()
});

fuzz_target!(|text: &str| {
    assert!(MANAGER.adopt(text).is_err());
    // What the text begins with is hard to guess.
    assert!(MANAGER.adopt(&format!("leasehold-lease:1:{text}")).is_err());
});
