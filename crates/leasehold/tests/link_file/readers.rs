//! Readers in processes of their own.

use crate::{
    client::Folder,
    processes::{Process, say},
};
use leasehold::{LockManager, LockOptions, blocking::RwLock};
use std::{path::Path, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);

/// Reads until it is killed, or its input ends.
pub(crate) fn read(path: &Path) {
    let reader = doc(path).read_within(MINUTE).expect("nobody writes");
    say("reads");
    std::io::stdin().lines().for_each(drop);
    drop(reader);
}

fn doc(path: &Path) -> RwLock {
    let manager = LockManager::builder().file(path).build();
    let manager = manager.expect("a folder of our own").blocking();
    // Within the test no TTL ends.
    let options = LockOptions::new().ttl(10 * MINUTE);
    manager.rwlock_with("doc", options).expect("a good name")
}

#[test]
fn readers_that_are_killed_keep_nobody_waiting_and_those_that_live_do() {
    let folder = Folder::new();
    let mut others = [0, 1].map(|_| Process::start("read", &folder.store()));
    for other in &mut others {
        other.hear("reads");
    }
    let doc = doc(&folder.store());
    let reader = doc.read_within(MINUTE).expect("nobody writes");
    assert!(doc.try_write().is_err());
    let [mut one, mut other] = others;
    one.kill();
    drop(one);
    assert!(doc.try_write().is_err(), "two live");
    assert!(reader.release().is_released());
    assert!(doc.try_write().is_err(), "one lives");
    let waits = std::thread::spawn(move || doc.write_within(MINUTE));
    other.kill();
    let written = waits.join().expect("no panic");
    assert!(written.is_ok(), "{written:?}");
}
