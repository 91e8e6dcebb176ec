//! Readers and writers: many who read, or one who writes.

mod in_time;

use crate::support::{
    block_on, eventually,
    pairs::{Managers, builder, everywhere, on, servers},
};
use leasehold::{AcquireError, ConfigError, LockManager, LockOptions, Plain, blocking::RwLock};
use leasehold_servers::Server;
use std::{
    sync::{
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst},
        mpsc::channel,
    },
    thread,
    time::Duration,
};

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

fn docs(managers: &Managers) -> [RwLock; 2] {
    [&managers[0], &managers[1]].map(|manager| manager.rwlock("doc").expect("a good name"))
}

#[test]
fn many_read_or_one_writes() {
    everywhere(|managers| {
        let [one, two] = docs(managers);
        let readers = [&one, &one, &two, &two].map(|doc| doc.read_within(PATIENCE));
        let readers = readers.map(|reader| reader.expect("readers exclude nobody who reads"));
        let mutex = managers[1].mutex("doc").expect("a good name");
        for manager in &docs(managers) {
            let refused = manager.try_write().expect_err("it is read");
            assert!(refused.is_contention(), "{refused}");
            assert_eq!(refused.holder(), None, "there are four");
            assert!(refused.remaining().is_some());
            let told = "held elsewhere, by readers, permits or another program, for at most ";
            assert!(refused.to_string().contains(told), "{refused}");
        }
        assert!(mutex.try_acquire().is_err(), "it is the same name");
        for (left, reader) in (0..4).rev().zip(readers) {
            assert!(reader.extend().is_ok());
            assert!(reader.release().is_released());
            if left > 0 {
                assert!(two.try_write().is_err(), "{left} read on");
            }
        }
        let writer = two.write_within(PATIENCE).expect("nobody reads");
        for doc in [&one, &two] {
            let refused = doc.try_read().expect_err("it is written");
            assert!(refused.is_contention(), "{refused}");
            assert_eq!(refused.holder(), Some(writer.owner()));
            assert!(doc.try_write().is_err());
        }
        let token = writer.fencing_token();
        assert!(writer.extend().is_ok());
        assert!(writer.release().is_released());
        // It is a mutex of that name, and excludes who reads as well.
        let guard = mutex.acquire_within(PATIENCE).expect("nobody has it");
        assert!(guard.fencing_token() > token);
        assert!(one.try_read().is_err());
        assert!(guard.release().is_released());
        assert!(one.read_within(PATIENCE).is_ok());
    });
}

#[test]
fn a_writer_that_waits_gets_in_although_readers_keep_coming() {
    everywhere(|managers| {
        let locks = docs(managers);
        let (is_over, reading) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            for number in 0..6_u8 {
                let doc = &locks[usize::from(number % 2)];
                let (is_over, reading) = (&is_over, &reading);
                scope.spawn(move || {
                    while !is_over.load(SeqCst) {
                        let reader = doc.read_within(PATIENCE).expect("it comes to its turn");
                        reading.fetch_add(1, SeqCst);
                        // Longer than they take to come again, so that there is always one.
                        let _ = reader.lost_within(u32::from(20 + 7 * number) * MS);
                        drop(reader);
                    }
                });
            }
            eventually("some read", || reading.load(SeqCst) > 12);
            for doc in &locks {
                let written = doc.write_within(PATIENCE);
                let before = reading.load(SeqCst);
                if written.is_err() {
                    is_over.store(true, SeqCst);
                }
                let written = written.expect("readers wait behind it");
                drop(written);
                eventually("they read on", || reading.load(SeqCst) > before);
            }
            is_over.store(true, SeqCst);
        });
    });
}

#[test]
fn readers_get_in_although_writers_keep_coming_and_nobody_reads_what_is_half_written() {
    everywhere(|managers| {
        let locks = docs(managers);
        let (is_over, written) = (AtomicBool::new(false), AtomicU64::new(0));
        let inside = AtomicI64::new(0);
        thread::scope(|scope| {
            for number in 0..4 {
                let (doc, is_over, written) = (&locks[number % 2], &is_over, &written);
                let inside = &inside;
                scope.spawn(move || {
                    while !is_over.load(SeqCst) {
                        let writer = doc.write_within(PATIENCE).expect("it comes to its turn");
                        assert_eq!(inside.swap(-1, SeqCst), 0, "a writer is alone");
                        let _ = writer.lost_within(2 * MS);
                        inside.store(0, SeqCst);
                        written.fetch_add(1, SeqCst);
                        drop(writer);
                    }
                });
            }
            eventually("some write", || written.load(SeqCst) > 3);
            for _ in 0..5 {
                for doc in &locks {
                    let reader = doc.read_within(PATIENCE);
                    if reader.is_err() {
                        is_over.store(true, SeqCst);
                    }
                    let reader = reader.expect("writers wait behind it");
                    assert!(inside.fetch_add(1, SeqCst) >= 0, "nobody writes");
                    let before = written.load(SeqCst);
                    let _ = reader.lost_within(5 * MS);
                    assert_eq!(written.load(SeqCst), before);
                    inside.fetch_sub(1, SeqCst);
                    drop(reader);
                }
            }
            is_over.store(true, SeqCst);
        });
    });
}

#[test]
fn a_writer_that_becomes_a_reader_lets_in_no_other_writer() {
    everywhere(|managers| {
        let [one, two] = docs(managers);
        let written = AtomicU64::new(0);
        for round in 0..5 {
            let writer = one.write_within(PATIENCE).expect("it comes to its turn");
            let owner = writer.owner().clone();
            written.fetch_add(1, SeqCst);
            thread::scope(|scope| {
                let (begun, waits) = channel();
                let (two, written) = (&two, &written);
                scope.spawn(move || {
                    begun.send(()).expect("it is awaited");
                    let writer = two.write_within(PATIENCE).expect("it comes to its turn");
                    written.fetch_add(1, SeqCst);
                    drop(writer);
                });
                waits.recv().expect("it begins");
                // It has drawn a ticket, or is about to: either way it must not get in.
                let _ = writer.lost_within(round * 5 * MS);
                let reader = writer.downgrade().expect("it was held");
                assert!(reader.is_valid());
                assert_ne!(*reader.owner(), owner);
                assert!(reader.resource().is_shared());
                let _ = reader.lost_within(20 * MS);
                assert_eq!(written.load(SeqCst), 2 * u64::from(round) + 1);
                assert!(reader.release().is_released());
            });
        }
        assert_eq!(written.into_inner(), 10);
        let reader = one.write_within(PATIENCE).expect("it is free").downgrade();
        let others = [&one, &two].map(|doc| doc.read_within(PATIENCE).is_ok());
        assert!(reader.is_ok() && others == [true, true]);
    });
}

#[test]
fn a_share_that_was_given_out_of_hand_is_extended_and_released_by_others() {
    everywhere(|managers| {
        let [one, two] = docs(managers);
        let reader = one.read_within(PATIENCE).expect("it is free").into_async();
        let owner = block_on(reader.detach()).expect("it is held");
        let other = managers[1].as_async();
        let lease = other.detached_shared("doc", owner.clone()).expect("a name");
        let left = block_on(lease.extend(Duration::from_secs(8)));
        assert!(left.expect("it is there") > Duration::from_secs(6));
        assert!(two.try_write().is_err());
        let second = two.read_within(PATIENCE).expect("it is read");
        assert!(block_on(lease.release()).is_released());
        assert!(two.try_write().is_err(), "the other is still there");
        assert!(block_on(lease.extend(Duration::from_secs(8))).is_err());
        assert!(second.release().is_released());
        assert!(two.write_within(PATIENCE).is_ok());
        // An owner of a share has no right to the name.
        let whole = other.detached("doc", owner).expect("a name");
        assert!(!block_on(whole.release()).is_released());
    });
}

#[test]
fn on_servers_programs_that_know_nothing_of_readers_are_kept_out() {
    let servers = servers(3);
    let [one, _] = docs(&on(&servers));
    let readers = [one.read(), one.read()].map(|reader| reader.expect("it is free"));
    let set = |server: &Server| {
        let set = server.command(&["SET", "doc", "theirs", "NX", "PX", "60000"]);
        set.expect("it answers").text() == Some("OK")
    };
    eventually("all three have heard of them", || {
        let there = servers.iter().map(|it| it.command(&["ZCARD", "doc"]));
        there.flatten().all(|readers| readers.integer() == Some(2))
    });
    assert!(!servers.iter().any(set));
    for reader in readers {
        assert!(reader.release().is_released());
    }
    eventually("nothing is left of them", || servers.iter().all(set));
    let refused = one.try_read().expect_err("another program has it");
    assert!(matches!(refused, AcquireError::Held(_)), "{refused}");
}

#[test]
fn on_servers_a_reader_whose_share_is_gone_is_told_and_the_others_read_on() {
    let servers = servers(3);
    let [one, two] = docs(&on(&servers));
    let short = one
        .with(|options| options.ttl(1_500 * MS))
        .expect("it fits");
    let (first, second) = (short.read().expect("free"), two.read().expect("read"));
    for server in &servers {
        let owner = first.owner().to_string();
        eventually("it is there", || {
            let removed = server.command(&["ZREM", "doc", &owner]);
            removed.is_ok_and(|removed| removed.integer() == Some(1))
        });
    }
    let lost = first.lost_within(PATIENCE).expect("it is gone");
    assert!(
        lost.to_string().starts_with("lost the lock \"doc\": "),
        "{lost}"
    );
    assert!(!first.is_valid() && second.is_valid());
    assert!(second.extend().is_ok());
}

#[test]
fn on_servers_a_share_that_one_node_has_lost_is_set_again() {
    let servers = servers(3);
    let [one, _] = docs(&on(&servers));
    let short = one
        .with(|options| options.ttl(1_500 * MS))
        .expect("it fits");
    let reader = short.read().expect("free");
    servers[1].command(&["DEL", "doc"]).expect("it answers");
    eventually("it is there again", || {
        let there = servers[1].command(&["ZSCORE", "doc", &reader.owner().to_string()]);
        there.is_ok_and(|there| there.text().is_some())
    });
    assert!(reader.is_valid() && reader.release().is_released());
}

#[test]
fn on_servers_operators_are_told_that_it_is_read() {
    let servers = servers(3);
    let [one, _] = docs(&on(&servers));
    let reader = one.read().expect("it is free");
    all_have_heard_of_it(&servers);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().expect("a runtime");
    let operator = builder(&servers).operator().expect("good addresses");
    let seen = runtime.block_on(operator.look("doc")).expect("a name");
    assert!(seen.is_read() && !seen.is_free(), "{seen}");
    assert_eq!((seen.holder(), seen.other_type()), (None, None));
    let told = "lock \"doc\": read on 3 of 3 nodes (quorum 2)";
    assert_eq!(seen.to_string(), told);
    assert!(reader.release().is_released());
}

/// Waits until all have the share and not only the quorum that granted it: the last one may be
/// connecting still.
fn all_have_heard_of_it(servers: &[Server]) {
    eventually("all have heard of it", || {
        let there = servers.iter().map(|it| it.command(&["ZCARD", "doc"]));
        there.flatten().all(|readers| readers.integer() == Some(1))
    });
}

#[test]
fn on_servers_one_of_three_may_be_dead() {
    let mut servers = servers(3);
    let [one, two] = docs(&on(&servers));
    let reader = one.read().expect("it is free");
    all_have_heard_of_it(&servers);
    servers.remove(0).kill().expect("it runs");
    reader.extend().expect("two are enough");
    assert!(two.try_write().is_err_and(|error| error.is_contention()));
    let other = two.read_within(PATIENCE).expect("two are enough");
    assert!(reader.release().is_released() && other.release().is_released());
    let writer = two.write_within(PATIENCE).expect("nobody reads");
    let reader = writer.downgrade().expect("two are enough");
    assert!(one.read_within(PATIENCE).is_ok() && reader.is_valid());
}

#[test]
fn plain_locks_have_no_readers() {
    let manager = LockManager::builder().memory(3).build_plain();
    let manager: LockManager<Plain> = manager.expect("three nodes");
    let refused = manager.rwlock("doc").expect_err("they keep none");
    assert!(matches!(refused, ConfigError::PlainReaders));
    assert!(refused.to_string().contains("take a mutex"), "{refused}");
}

#[test]
fn names_and_options_that_cannot_be_used_are_told() {
    let manager = LockManager::builder().memory(1).build().expect("one node");
    assert!(matches!(manager.rwlock(""), Err(ConfigError::Resource(_))));
    let never = LockOptions::new().tries(0);
    let refused = manager.rwlock_with("doc", never);
    assert!(matches!(refused, Err(ConfigError::NoTries)));
    let doc = manager.rwlock("doc").expect("a name");
    assert!(doc.with(|options| options.tries(0)).is_err());
    let reserved = builder(&servers(1)).build().expect("a good address");
    let error = reserved.rwlock("leasehold:node");
    assert!(matches!(error, Err(ConfigError::Reserved { .. })));
}
