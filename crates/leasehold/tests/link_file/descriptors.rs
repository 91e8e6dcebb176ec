//! That a program which this process starts gets none of its descriptors.

#![cfg(target_os = "linux")]

use crate::{
    client::{Client, Folder},
    processes::Process,
};
use leasehold::{LockManager, LockOptions};
use leasehold_core::Vote;
use rustix::io::{FdFlags, fcntl_setfd};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    process::Command,
    time::Duration,
};

/// The descriptors of this process that lead into a folder or to nothing that has a name, each with its flags.
fn own_descriptors(folder: &Path) -> Vec<(String, bool)> {
    let folder = folder.canonicalize().expect("it was made");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/fd").expect("/proc is there") {
        let number = entry.expect("an entry").file_name();
        let number = number.to_str().expect("a number");
        // Other tests open and close theirs all the while.
        let Ok(target) = fs::read_link(format!("/proc/self/fd/{number}")) else {
            continue;
        };
        if target.starts_with(&folder) {
            let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}"));
            let info = info.expect("it is held open");
            let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
            let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
            let is_closed_on_exec = flags.expect("an octal number") & 0o2_000_000 != 0;
            found.push((target.display().to_string(), is_closed_on_exec));
        }
    }
    found.sort();
    found
}

/// Where the descriptors lead that a program has which this process starts.
fn inherited() -> BTreeSet<String> {
    let seen = Command::new("ls").args(["-l", "/proc/self/fd"]).output();
    let seen = String::from_utf8(seen.expect("there is ls").stdout).expect("it is text");
    let targets = seen.lines().filter_map(|line| line.split_once(" -> "));
    targets.map(|(_, target)| target.to_owned()).collect()
}

/// Nothing beyond what programs inherited before, which is what this process has itself inherited.
#[track_caller]
fn assert_nothing_is_inherited(folder: &Path, before: &BTreeSet<String>) {
    let folder = folder.canonicalize().expect("it was made");
    let folder = folder.to_str().expect("it is text");
    // An epoll, an inotify, an eventfd; and the sockets by which a runtime hears of signals.
    let is_ours = |target: &&String| {
        target.starts_with(folder)
            || target.starts_with("anon_inode")
            || target.starts_with("socket")
    };
    let now = inherited();
    let ours: Vec<_> = now.difference(before).filter(is_ours).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn a_program_that_is_started_gets_no_descriptor_of_an_open_store() {
    let (folder, before) = (Folder::new(), inherited());
    // One that was made just now, and one that was there.
    for owner in ["a", "b"] {
        let mut client = Client::open(&folder.store(), owner);
        assert_eq!(client.acquire(owner), Vote::GRANTED);
        let own = own_descriptors(&folder.store());
        assert!(own.len() >= 4, "data, head pages, presence, locks: {own:?}");
        assert!(own.iter().all(|(_, is_closed)| *is_closed), "{own:?}");
        assert_nothing_is_inherited(&folder.store(), &before);
    }
}

#[test]
fn a_descriptor_of_the_programs_own_does_not_stand_for_lmdbs() {
    let folder = Folder::new();
    let words = Process::start("try", &folder.store()).words();
    assert!(words.contains("Granted"), "{words}");
    // Lower than LMDB's, and looks the same.
    let data = folder.store().join("data.mdb");
    let own = File::options().read(true).write(true).open(&data);
    let own = own.expect("it was made");
    fcntl_setfd(&own, FdFlags::empty()).expect("it is open");
    let _client = Client::open(&folder.store(), "a");
    let open = own_descriptors(&folder.store());
    assert!(open.len() >= 5, "the program's own as well: {open:?}");
    assert!(open.iter().all(|(_, is_closed)| *is_closed), "{open:?}");
}

#[tokio::test]
async fn a_program_that_is_started_under_a_lock_of_the_file_store_gets_no_descriptor() {
    let (folder, before) = (Folder::new(), inherited());
    let manager = LockManager::builder()
        .file(folder.store())
        .defaults(LockOptions::new().ttl(Duration::from_secs(60)))
        .build()
        .expect("a folder of our own");
    let mutex = manager.mutex("r").expect("a plain name");
    let guard = mutex.acquire().await.expect("nobody holds it");
    assert_nothing_is_inherited(&folder.store(), &before);
    assert!(guard.release().await.is_released());
}
