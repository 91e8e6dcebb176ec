//! That processes hear of each other.

#![cfg(any(target_os = "linux", target_os = "android"))]

use crate::{
    client::{Client, Folder},
    processes::Process,
};
use leasehold::{LockManager, LockOptions, Plain, clock::Clock};
use leasehold_core::{Resource, Vote};
use std::{path::Path, thread, time::Duration};

fn name(text: &str) -> Resource {
    Resource::new(text).expect("a plain name")
}

/// Lets the other process take and release a lock again and again, and waits each time to be told.
fn told_of_every_change(here: &mut Client, other: &mut Process, rounds: u32) {
    for round in 0..rounds {
        assert_eq!(here.inspect("r"), Vote::GRANTED);
        other.tell("take");
        // Nobody holds it, so nobody looks whether the holder lives: nothing but the bell tells of it.
        assert_eq!(here.hint(), Some(name("r")), "round {round}");
        other.hear("taken");
        assert!(matches!(here.acquire("r"), Vote::Refused(_)));
        other.tell("release");
        assert_eq!(here.hint(), Some(name("r")), "round {round}");
    }
}

#[test]
fn every_change_by_another_process_is_told() {
    let folder = Folder::new();
    let mut here = Client::open(&folder.store(), "here");
    let mut other = Process::start("obey", &folder.store());
    told_of_every_change(&mut here, &mut other, 300);
}

#[test]
fn a_change_is_told_while_others_write_as_fast_as_they_can() {
    let folder = Folder::new();
    let mut here = Client::open(&folder.store(), "here");
    let mut other = Process::start("obey", &folder.store());
    let mut noise = Process::start("churn", &folder.store());
    noise.hear("ready");
    told_of_every_change(&mut here, &mut other, 300);
}

#[test]
fn who_waits_is_told_that_the_holder_was_killed() {
    let folder = Folder::new();
    let mut here = Client::open(&folder.store(), "here");
    let mut other = Process::start("obey", &folder.store());
    other.tell("take");
    other.hear("taken");
    assert!(matches!(here.acquire("r"), Vote::Refused(_)));
    other.kill();
    assert_eq!(here.hint(), Some(name("r")));
    assert_eq!(here.acquire("r"), Vote::GRANTED);
}

#[test]
fn a_holder_is_told_when_another_process_releases_its_extended_key() {
    let folder = Folder::new();
    let mut here = Client::open(&folder.store(), "shared");
    assert_eq!(here.acquire("r"), Vote::GRANTED);
    assert_eq!(here.extend("r"), Vote::GRANTED);
    let mut other = Process::start("obey as shared", &folder.store());
    other.tell("release");
    assert_eq!(here.hint(), Some(name("r")));
}

fn manager(path: &Path) -> LockManager<Plain> {
    LockManager::builder()
        .file(path)
        .defaults(LockOptions::new().ttl(Duration::from_secs(60)))
        .build_plain()
        .expect("a folder of our own")
}

/// How long it takes to get a lock after `give` has taken it from its holder, which it does while we wait.
async fn wait_for(manager: &LockManager<Plain>, give: impl FnOnce() + Send + 'static) -> Duration {
    let mutex = manager.mutex("r").expect("a plain name");
    let given = thread::spawn(move || {
        // So long that we wait by then, and so short that the next look by the clock is far away.
        thread::park_timeout(Duration::from_millis(50));
        give();
        Clock::system().now()
    });
    let guard = mutex
        .acquire_within(Duration::from_secs(30))
        .await
        .expect("it is given back");
    let ended = Clock::system().now();
    assert!(guard.release().await.is_released());
    let given = given.join().expect("it does not panic");
    ended.saturating_since(given)
}

#[tokio::test]
async fn a_waiter_does_not_wait_for_the_clock_when_another_process_releases() {
    let folder = Folder::new();
    let manager = manager(&folder.store());
    let mut waited = Vec::new();
    for _ in 0..10 {
        let mut other = Process::start("obey", &folder.store());
        other.tell("take");
        other.hear("taken");
        waited.push(wait_for(&manager, move || other.tell("release")).await);
    }
    // Whoever looks by the clock alone looks once in a second.
    let sum: Duration = waited.iter().sum();
    assert!(sum < Duration::from_secs(5), "{waited:?}");
}

#[tokio::test]
async fn a_waiter_does_not_wait_for_the_clock_when_the_holder_is_killed() {
    let folder = Folder::new();
    let manager = manager(&folder.store());
    let mut waited = Vec::new();
    for _ in 0..4 {
        let mut other = Process::start("obey", &folder.store());
        other.tell("take");
        other.hear("taken");
        waited.push(wait_for(&manager, move || other.kill()).await);
    }
    let sum: Duration = waited.iter().sum();
    assert!(sum < Duration::from_secs(2), "{waited:?}");
}
