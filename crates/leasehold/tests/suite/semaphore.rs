//! Permits: so many holders of one name at the same time, each in a slot of its own.

use crate::support::{
    block_on, eventually,
    pairs::{Managers, everywhere},
};
use leasehold::{
    AcquireError, ConfigError, LockManager, LockOptions, Plain,
    blocking::{self, Semaphore},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

fn gpus(managers: &Managers, permits: usize) -> [Semaphore; 2] {
    [&managers[0], &managers[1]].map(|manager| {
        let semaphore = manager.semaphore("gpu", permits);
        semaphore.expect("a good name and number")
    })
}

#[test]
fn so_many_have_a_permit_at_once_each_in_a_slot_of_its_own() {
    everywhere(|managers| {
        let [one, two] = gpus(managers, 4);
        let mut permits: Vec<_> = [&one, &two, &one, &two]
            .map(|gpus| gpus.try_acquire().expect("four fit"))
            .into();
        let slots: BTreeSet<_> = permits.iter().map(blocking::PermitGuard::slot).collect();
        assert_eq!(slots, BTreeSet::from([0, 1, 2, 3]));
        for gpus in [&one, &two] {
            let refused = gpus.try_acquire().expect_err("all are taken");
            assert!(refused.is_contention(), "{refused}");
            let taken = refused.held().and_then(|held| held.permits.as_ref());
            assert_eq!(taken.map(|taken| taken.slots.len()), Some(4));
            assert!(refused.remaining().is_some_and(|left| left > 4 * MS));
            let told = "all 4 permits are taken, the next for at most ";
            assert!(refused.to_string().contains(told), "{refused}");
        }
        let given_back = permits.remove(1);
        let (slot, token) = (given_back.slot(), given_back.fencing_token());
        assert!(given_back.release().is_released());
        // A node may still have it, or give it for a moment to a late vote of those who were refused.
        let next = one.acquire_within(PATIENCE).expect("one is free");
        assert_eq!(next.slot(), slot);
        assert!(next.fencing_token() > token);
        for permit in &permits {
            assert!(permit.extend().is_ok() && permit.is_valid());
        }
        for permit in permits.into_iter().chain([next]) {
            assert!(permit.release().is_released());
        }
    });
}

#[test]
fn one_who_waits_for_a_permit_has_it_when_another_gives_his_back() {
    everywhere(|managers| {
        let [one, two] = gpus(managers, 2);
        let [first, second] = [&one, &two].map(|gpus| gpus.try_acquire().expect("two fit"));
        let slot = first.slot();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| two.acquire_within(PATIENCE).map(|it| it.slot()));
            assert!(first.release().is_released());
            let waited = waiting.join().expect("it waits").expect("it is free");
            assert_eq!(waited, slot);
        });
        assert!(second.release().is_released());
    });
}

#[test]
fn those_who_say_another_number_are_refused_with_both() {
    everywhere(|managers| {
        let [_, four] = gpus(managers, 4);
        let [eight, _] = gpus(managers, 8);
        let permit = four.try_acquire().expect("it is free");
        let refused = eight
            .acquire_within(PATIENCE)
            .expect_err("four are not eight");
        // Waiting does not help, and so it does not wait.
        let AcquireError::OtherPermits {
            ours,
            theirs,
            remaining,
            ..
        } = &refused
        else {
            panic!("{refused}");
        };
        assert_eq!((*ours, *theirs), (8, 4));
        assert!(*remaining > MS);
        assert!(!refused.is_contention());
        let text = refused.to_string();
        for words in ["a permit of 8 was wanted", "others have permits of 4"] {
            assert!(text.contains(words), "{text}");
        }
        assert!(permit.is_valid());
        let another = four.try_acquire().expect("four fit");
        for permit in [permit, another] {
            assert!(permit.release().is_released());
        }
        eventually("none of the four is left", || eight.try_acquire().is_ok());
    });
}

#[test]
fn permits_readers_and_holders_of_the_name_exclude_each_other() {
    everywhere(|managers| {
        let [one, two] = gpus(managers, 2);
        let mutex = managers[0].mutex("gpu").expect("a good name");
        let doc = managers[1].rwlock("gpu").expect("a good name");
        let permit = one.try_acquire().expect("it is free");
        assert!(mutex.try_acquire().is_err() && doc.try_read().is_err());
        assert!(doc.try_write().is_err());
        assert!(permit.release().is_released());
        let guard = mutex.acquire_within(PATIENCE).expect("nobody has a permit");
        let refused = two.try_acquire().expect_err("the name is held");
        assert_eq!(refused.holder(), Some(guard.owner()), "{refused}");
        assert!(guard.release().is_released());
        let reader = doc.read_within(PATIENCE).expect("nobody has it");
        for gpus in [&one, &two] {
            let refused = gpus.try_acquire().expect_err("it is read");
            assert!(refused.is_contention(), "{refused}");
        }
        assert!(reader.release().is_released());
        assert!(two.acquire_within(PATIENCE).is_ok());
    });
}

/// Many callers of two managers want few permits, each again as soon as it had one.
fn crowd(gpus: &[Semaphore; 2], permits: usize) {
    let (holders, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let tokens = Mutex::new(BTreeMap::new());
    let work = |gpus: &Semaphore| {
        for _ in 0..10 {
            let permit = gpus.acquire_within(PATIENCE).expect("it comes");
            let (slot, token) = (permit.slot(), permit.fencing_token());
            most.fetch_max(holders.fetch_add(1, SeqCst) + 1, SeqCst);
            let before = tokens.lock().expect("nobody panics").insert(slot, token);
            assert!(before < Some(token), "the tokens of a slot grow");
            assert!(permit.extend().is_ok());
            assert_eq!(
                tokens.lock().expect("nobody panics").get(&slot),
                Some(&token)
            );
            holders.fetch_sub(1, SeqCst);
            assert!(permit.release().is_released());
        }
    };
    thread::scope(|scope| {
        for number in 0..8 {
            let gpus = &gpus[number % 2];
            scope.spawn(move || work(gpus));
        }
    });
    let most = most.load(SeqCst);
    assert!(most <= permits, "{most} of {permits}");
    // Whoever comes first in a crowd may be done before the next has come.
    let [one, other] = [0, 1].map(|number| gpus[number].acquire_within(PATIENCE));
    assert!(
        one.is_ok() && other.is_ok(),
        "two have them at the same time"
    );
}

#[test]
fn a_crowd_never_has_more_permits_than_there_are_and_all_have_theirs() {
    everywhere(|managers| crowd(&gpus(managers, 3), 3));
}

#[test]
fn a_crowd_in_a_queue_has_its_permits_as_well() {
    everywhere(|managers| {
        let fair = gpus(managers, 3).map(|gpus| gpus.with(LockOptions::fair).expect("they fit"));
        crowd(&fair, 3);
    });
}

#[test]
fn callers_of_one_manager_are_served_without_asking_in_vain() {
    let manager = LockManager::builder().memory(3).build().expect("nodes");
    let gpus = manager.semaphore("gpu", 2).expect("a good name");
    block_on(async {
        let (one, two) = tokio::join!(gpus.acquire(), gpus.acquire());
        let (one, two) = (one.expect("free"), two.expect("free"));
        let slot = one.slot();
        let (next, released) = tokio::join!(gpus.acquire_within(PATIENCE), one.release());
        assert!(released.is_released());
        assert_eq!(next.expect("it was given back").slot(), slot);
        assert!(two.is_valid());
    });
}

#[test]
fn a_permit_that_was_given_out_of_hand_is_extended_and_released_by_its_owner() {
    everywhere(|managers| {
        let [one, two] = gpus(managers, 1);
        let options = |options: LockOptions| options.ttl(2_000 * MS);
        let permit = one.with(options).expect("they fit").try_acquire();
        let owner = permit.expect("it is free").detach().expect("it is held");
        let lease = managers[1].as_async().detached_permit("gpu", owner.clone());
        let lease = lease.expect("it is a permit's");
        let left = block_on(lease.extend(4_000 * MS)).expect("it is there");
        assert!(left > 2_000 * MS);
        assert!(two.try_acquire().is_err());
        assert!(block_on(lease.release()).is_released());
        assert!(two.acquire_within(PATIENCE).is_ok());
    });
    let manager = LockManager::builder().memory(1).build().expect("a node");
    let mutex = manager.mutex("gpu").expect("a good name");
    let guard = block_on(mutex.acquire()).expect("it is free");
    let refused = manager.detached_permit("gpu", guard.owner().clone());
    assert!(matches!(refused, Err(ConfigError::NoPermit { .. })));
}

#[test]
fn a_semaphore_has_one_permit_at_least_and_nodes_that_keep_more_than_a_holder() {
    let manager = LockManager::builder().memory(1).build().expect("a node");
    for permits in [0, 257, usize::MAX] {
        let refused = manager.semaphore("gpu", permits).expect_err("out of range");
        assert!(matches!(refused, ConfigError::Permits { .. }));
        assert!(refused.to_string().contains("give 1 to 256"), "{refused}");
    }
    assert!(manager.semaphore("", 1).is_err());
    let plain: LockManager<Plain> = LockManager::builder()
        .memory(1)
        .build_plain()
        .expect("a node");
    let refused = plain.semaphore("gpu", 1).expect_err("it is plain");
    assert!(matches!(refused, ConfigError::PlainPermits));
}
