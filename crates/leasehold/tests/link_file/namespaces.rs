//! Processes whose clocks show another time since boot.

#![cfg(target_os = "linux")]

use crate::{
    client::{Client, Folder},
    processes::{Process, this_test},
};
use leasehold::link::file::{FileError, FileNode};
use leasehold_core::Vote;
use leasehold_servers::{ahead_since_boot, skip};
use std::{fs, path::Path, process::Command, thread};

/// A process of this test whose clock is ahead by more than any TTL; none if this machine has none to give.
fn ahead(role: &str, path: &Path) -> Option<Process> {
    match ahead_since_boot(1_000_000, this_test()) {
        Ok(command) => Some(Process::start_by(command, role, path)),
        Err(reason) => {
            skip(&reason);
            None
        }
    }
}

fn own_namespace() -> String {
    let name = fs::read_link("/proc/self/ns/time").expect("the kernel has time namespaces");
    name.display().to_string()
}

#[test]
fn a_store_that_is_in_use_is_refused_to_another_time_namespace() {
    let folder = Folder::new();
    let mut here = Client::open(&folder.store(), "here");
    assert_eq!(here.acquire("r"), Vote::GRANTED);
    let Some(mut other) = ahead("try", &folder.store()) else {
        return;
    };
    let words = other.words();
    let names = words.matches("time:[").count();
    assert!(words.contains("cannot open the lock store"), "{words}");
    assert!(words.contains(&own_namespace()) && names == 2, "{words}");
    // Who was there first is in nobody's way, and has lost nothing.
    assert_eq!(here.release("r"), Vote::GRANTED);
    let mut like_us = Process::start_by(Command::new(this_test()), "try", &folder.store());
    assert!(like_us.words().contains("Granted"));
}

#[test]
fn a_store_of_a_time_namespace_that_nobody_uses_any_more_is_taken_over_without_its_keys() {
    let folder = Folder::new();
    let Some(mut other) = ahead("hold", &folder.store()) else {
        return;
    };
    other.hear("held");
    let error = FileNode::open(&folder.store()).expect_err("another clock counts there");
    assert!(
        matches!(error, FileError::OtherTimeNamespace { .. }),
        "{error}"
    );
    assert!(error.to_string().contains(&own_namespace()), "{error}");
    other.kill();
    // The one that was killed is gone when its parent in between has seen to it.
    while let Err(FileError::OtherTimeNamespace { .. }) = FileNode::open(&folder.store()) {
        thread::yield_now();
    }
    // By our clock, the key that it left would last for another million seconds.
    assert_eq!(
        Client::open(&folder.store(), "here").acquire("r"),
        Vote::GRANTED
    );
}
