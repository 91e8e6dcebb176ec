//! What depends on the time, in a world whose time is told.

use crate::support::{at_once, begin, block_on};
use leasehold::{
    DowngradeError, LeaseState, LockManager, LockOptions, LossCause, Observation, ReleaseOutcome,
    testing::World,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

const SECOND: Duration = Duration::from_secs(1);
const CALM: Duration = Duration::from_millis(20);

fn still(options: LockOptions) -> LockOptions {
    options.ttl(10 * SECOND).no_renewal()
}

#[test]
fn a_share_ends_with_its_ttl_and_not_with_that_of_another() {
    let world = World::new(3);
    let doc = world.manager().rwlock("doc").expect("a name");
    let still = doc.with(still).expect("they go together");
    let first = block_on(still.read()).expect("it is free");
    world.advance(6 * SECOND);
    let second = block_on(still.read()).expect("it is read");
    world.advance(5 * SECOND);
    assert!(!first.is_valid() && second.is_valid());
    assert!(matches!(first.state(), LeaseState::Lost(_)));
    assert_eq!(world.readers("doc"), [second.owner().clone()]);
    let refused = block_on(doc.try_write()).expect_err("one reads");
    assert!(refused.remaining().is_some_and(|left| left < 6 * SECOND));
    world.advance(6 * SECOND);
    assert!(block_on(doc.try_write()).is_ok());
}

#[test]
fn readers_that_wait_in_the_process_of_a_writer_read_on_with_it() {
    let world = World::new(3);
    let manager = world.manager();
    let doc = manager.rwlock("doc").expect("a name");
    let writer = block_on(doc.write()).expect("it is free");
    let mut waiting = Box::pin(doc.read_within(600 * SECOND));
    begin(&mut waiting);
    world.settle();
    world.advance(CALM);
    let reader = block_on(writer.downgrade()).expect("nothing fails");
    world.settle();
    world.advance(CALM);
    let waiting = at_once(&world, &mut waiting).expect("it is told");
    assert!(waiting.expect("nobody writes").is_valid() && reader.is_valid());
}

#[test]
fn an_extension_keeps_writers_out_and_is_not_cut_short_by_another_reader() {
    let world = World::new(3);
    let doc = world.manager().rwlock("doc").expect("a name");
    let still = doc.with(still).expect("they go together");
    let reader = block_on(still.read()).expect("it is free");
    world.advance(9 * SECOND);
    assert!(reader.remaining() < SECOND);
    block_on(reader.extend()).expect("it is held");
    assert!(reader.remaining() > 9 * SECOND);
    let short = doc.with(|options| options.ttl(2 * SECOND).no_renewal());
    let short = block_on(short.expect("it fits").read()).expect("it is read");
    world.advance(3 * SECOND);
    assert!(!short.is_valid() && reader.is_valid());
    assert!(block_on(doc.try_write()).is_err());
    block_on(reader.ensure(9 * SECOND)).expect("it is held");
    block_on(reader.extend_to(20 * SECOND)).expect("it is held");
    assert!(reader.remaining() > 19 * SECOND);
}

#[test]
fn a_share_is_extended_by_itself_and_a_writer_waits_for_it() {
    let world = World::new(3);
    let (one, two) = (world.manager(), world.manager());
    let reader = block_on(one.rwlock("doc").expect("a name").read()).expect("it is free");
    let doc = two.rwlock("doc").expect("a name");
    let mut writer = Box::pin(doc.write_within(600 * SECOND));
    begin(&mut writer);
    world.advance(100 * SECOND);
    assert!(reader.is_valid());
    assert!(at_once(&world, &mut writer).is_none());
    // Others who come now wait behind it, also in the reader's own process.
    let late = one.rwlock("doc").expect("a name");
    let refused = block_on(late.try_read()).expect_err("a writer waits");
    assert_eq!(
        refused.held().and_then(|held| held.ahead),
        Some(1),
        "{refused}"
    );
    let mut late = Box::pin(late.read_within(600 * SECOND));
    begin(&mut late);
    world.settle();
    // Who has just looked does not look again at once.
    world.advance(CALM);
    assert!(block_on(reader.release()).is_released());
    world.settle();
    let writer = at_once(&world, &mut writer).expect("the nodes tell it");
    let writer = writer.expect("nobody reads");
    assert!(at_once(&world, &mut late).is_none());
    world.advance(CALM);
    assert!(block_on(writer.release()).is_released());
    world.settle();
    assert!(
        at_once(&world, &mut late)
            .expect("the nodes tell it")
            .is_ok()
    );
}

#[test]
fn a_reader_whose_share_is_taken_away_is_told_within_a_third_of_its_ttl() {
    let world = World::new(3);
    let doc = world.manager().rwlock("doc").expect("a name");
    let reader = block_on(doc.read()).expect("it is free");
    let mut lost = Box::pin(reader.lost());
    begin(&mut lost);
    world.lose("doc");
    assert!(world.readers("doc").is_empty());
    world.advance(4 * SECOND);
    let lost = at_once(&world, &mut lost).expect("it has asked since");
    assert!(matches!(lost.cause, LossCause::Gone { .. }), "{lost}");
    assert!(!reader.is_valid());
    assert!(block_on(doc.try_write()).is_ok());
}

#[test]
fn work_of_a_reader_is_dropped_when_its_lease_is_lost_and_released_when_it_is_done() {
    let world = World::new(3);
    let doc = world.manager().rwlock("doc").expect("a name");
    let done = block_on(doc.hold_read(async |lease| lease.is_valid()));
    let done = done.expect("it is free");
    assert_eq!(
        (done.work, done.release),
        (Ok(true), ReleaseOutcome::Released)
    );
    let still = doc.with(still).expect("they go together");
    let mut work = Box::pin(still.hold_read(async |_| std::future::pending::<()>().await));
    begin(&mut work);
    world.settle();
    begin(&mut work);
    world.advance(11 * SECOND);
    let done = at_once(&world, &mut work)
        .expect("it ends")
        .expect("it was free");
    assert!(done.work.is_err());
    let token = block_on(doc.hold_write(async |lease| lease.fencing_token()));
    assert!(token.expect("it is free").work.is_ok());
}

#[test]
fn a_lock_that_is_lost_is_not_downgraded_and_nothing_is_held_then() {
    let world = World::new(3);
    let doc = world.manager().rwlock("doc").expect("a name");
    let still = doc.with(still).expect("they go together");
    let writer = block_on(still.write()).expect("it is free");
    world.advance(11 * SECOND);
    let refused = block_on(writer.downgrade()).expect_err("it is over");
    assert!(matches!(refused, DowngradeError::Lost(_)), "{refused}");
    let writer = block_on(still.write()).expect("it is free");
    // It has no renewal, so it has not heard of it.
    world.lose("doc");
    let refused = block_on(writer.downgrade()).expect_err("it is gone");
    assert!(
        matches!(refused, DowngradeError::Gone { refused: 2.., .. }),
        "{refused}"
    );
    let told = "downgrade the lock \"doc\": ";
    assert!(refused.to_string().starts_with(told), "{refused}");
    assert!(block_on(doc.try_write()).is_ok());
}

#[test]
fn a_downgrade_that_fails_or_is_dropped_leaves_nothing_behind() {
    for case in ["down", "hung", "dropped"] {
        let world = World::new(3);
        let doc = world.manager().rwlock("doc").expect("a name");
        // No TTL ends within this test.
        let long = doc.with(|options| options.ttl(29 * SECOND).node_limit(SECOND));
        let writer = block_on(long.expect("they go together").write()).expect("it is free");
        world.settle();
        let nodes = [0, 1].map(|number| world.node(number));
        for node in &nodes {
            match case {
                "down" => node.down("connection refused"),
                _ => node.hang(),
            }
        }
        let mut downgraded = Box::pin(writer.downgrade());
        // First the lock is given out of hand, then the nodes are asked, which may have answered already.
        let early = at_once(&world, &mut downgraded);
        world.settle();
        if case == "dropped" {
            assert!(early.is_none(), "nobody has answered");
            drop(downgraded);
        } else {
            world.advance(5 * SECOND);
            let failed = early.or_else(|| at_once(&world, &mut downgraded));
            let failed = failed.expect("the limit is over");
            let failed = failed.expect_err("one of three has answered");
            assert!(matches!(failed, DowngradeError::Failed(_)), "{failed}");
        }
        for node in &nodes {
            node.up();
            node.resume();
        }
        world.advance(10 * SECOND);
        assert_eq!(world.holder("doc"), None, "{case}");
        assert!(world.readers("doc").is_empty(), "{case}");
        assert!(block_on(doc.try_write()).is_ok(), "{case}");
    }
}

#[test]
fn observers_are_told_of_shares_by_the_name_and_without_a_token() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let diary = Arc::clone(&told);
    let observer = move |observation: &Observation<'_>| {
        let line = match observation {
            Observation::Acquired {
                resource, token, ..
            } => format!("{resource} {} {}", resource.is_shared(), token.is_some()),
            Observation::Released {
                resource, outcome, ..
            } => format!("{resource} {} {outcome}", resource.is_shared()),
            _ => return,
        };
        diary.lock().expect("nothing panics").push(line);
    };
    let world = World::new(3);
    let manager: LockManager = world.builder().observer(observer).build().expect("nodes");
    let doc = manager.rwlock("doc").expect("a name");
    let writer = block_on(doc.write()).expect("it is free");
    let reader = block_on(writer.downgrade()).expect("it is held");
    assert!(block_on(reader.release()).is_released());
    let told = told.lock().expect("nothing panics");
    assert_eq!(
        told[..],
        ["doc false true", "doc true false", "doc true released"]
    );
}
