//! What the lock cannot do, shown: each of these is documented, and would be news if it passed.

use super::{KEY, lock, seconds, server, set, value};
use crate::support::block_on;
use leasehold::timestamp::{
    TimestampExtendError, TimestampGuard, TimestampLossCause, TimestampReleaseOutcome,
};
use leasehold_servers::{Connection, Reply, Server};
use std::time::Duration;

/// A program of the other kind, step by step.
struct Plain {
    connection: Connection,
    timeout: u64,
    /// What its clock showed when it last looked.
    now: u64,
}

impl Plain {
    fn new(server: &Server, timeout: u64) -> Self {
        Self {
            connection: server.connect().expect("it listens"),
            timeout,
            now: seconds(),
        }
    }

    fn end(&self) -> u64 {
        self.now + self.timeout + 1
    }

    fn ask(&mut self, words: &[&str]) -> Reply {
        self.connection.command(words).expect("it answers")
    }

    /// Whether it has the lock by this.
    fn setnx(&mut self) -> bool {
        let end = self.end().to_string();
        self.ask(&["SETNX", KEY, &end]) == Reply::Integer(1)
    }

    fn finds_it_over(&mut self) -> bool {
        let found = self.ask(&["GET", KEY]);
        self.now > number(&found)
    }

    /// Whether it has the lock by this.
    fn getset(&mut self) -> bool {
        let end = self.end().to_string();
        let old = self.ask(&["GETSET", KEY, &end]);
        self.now > number(&old)
    }

    fn del(&mut self) {
        self.ask(&["DEL", KEY]);
    }
}

fn number(reply: &Reply) -> u64 {
    let text = reply.text().expect("there is a key");
    text.parse().expect("it is a number")
}

/// Of a holder that died.
fn leave_behind(server: &Server) {
    set(server, seconds() - 1);
}

fn take_over(server: &Server, timeout: u64) -> TimestampGuard {
    block_on(lock(server, timeout).try_acquire()).expect("it is over")
}

#[test]
fn whoever_deletes_what_it_found_over_may_delete_the_lock_of_another() {
    // The control: the form that deletes. P1 has died; P2 and P3 find so at the same time.
    let server = server();
    leave_behind(&server);
    let (mut p2, mut p3) = (Plain::new(&server, 60), Plain::new(&server, 60));
    assert!(p2.finds_it_over() && p3.finds_it_over());
    p2.del();
    let p2_has_it = p2.setnx();
    p3.del();
    let p3_has_it = p3.setnx();
    assert!(p2_has_it && p3_has_it, "both have it");

    // The form that replaces, in the same order: one has it.
    leave_behind(&server);
    let (mut p4, mut p5) = (Plain::new(&server, 60), Plain::new(&server, 60));
    assert!(p4.finds_it_over() && p5.finds_it_over());
    assert!(p5.getset());
    assert!(!p4.getset());

    // Ours, in any order: there is nothing between looking and taking.
    leave_behind(&server);
    let (first, second) = (lock(&server, 60), lock(&server, 60));
    let guard = block_on(first.try_acquire()).expect("it is over");
    assert!(block_on(second.try_acquire()).is_err());
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
}

#[test]
fn a_loser_moves_the_end_and_the_winner_leaves_it_there() {
    let server = server();
    leave_behind(&server);
    let mut loser = Plain::new(&server, 70);
    assert!(loser.finds_it_over());
    let guard = take_over(&server, 60);
    assert!(!loser.getset(), "it has lost");
    let moved = loser.end();
    assert!(moved > guard.value());
    assert_eq!(value(&server), Some(moved));
    // It is ours by the clock, and nobody takes it before the end that is there now.
    assert!(guard.is_valid());
    assert!(block_on(lock(&server, 60).try_acquire()).is_err());
    // The value may be of somebody who took it over, for all that we can see, so nothing is deleted.
    let found = moved.to_string();
    let outcome = block_on(guard.release());
    assert_eq!(outcome, TimestampReleaseOutcome::Overwritten { found });
    let error = block_on(lock(&server, 60).try_acquire()).expect_err("nobody has it");
    assert!(error.is_contention());
    assert_eq!(value(&server), Some(moved));
}

#[test]
fn a_loser_of_the_same_second_moves_nothing() {
    let server = server();
    // The second may end in between, though not every time.
    let is_same = (0..20).any(|_| {
        leave_behind(&server);
        let mut loser = Plain::new(&server, 60);
        assert!(loser.finds_it_over());
        let guard = take_over(&server, 60);
        assert!(!loser.getset(), "it has lost");
        let is_same = loser.end() == guard.value();
        is_same && block_on(guard.release()) == TimestampReleaseOutcome::Released
    });
    assert!(is_same);
}

#[test]
fn an_extension_does_not_trust_an_end_that_a_loser_has_moved() {
    let server = server();
    leave_behind(&server);
    let mut loser = Plain::new(&server, 70);
    assert!(loser.finds_it_over());
    let guard = take_over(&server, 60);
    assert!(!loser.getset(), "it has lost");
    let found = loser.end().to_string();
    let Err(TimestampExtendError::Lost { cause, .. }) = block_on(guard.extend()) else {
        panic!("the lease is lost")
    };
    assert_eq!(cause, TimestampLossCause::Overwritten { found });
    assert!(!guard.is_valid(), "what was found out counts");
}

#[test]
fn a_loser_with_a_shorter_timeout_moves_the_end_back() {
    let server = server();
    leave_behind(&server);
    let mut loser = Plain::new(&server, 3);
    assert!(loser.finds_it_over());
    let guard = take_over(&server, 60);
    assert!(!loser.getset(), "it has lost");
    // Five seconds later, of the sixty.
    let mut thief = Plain::new(&server, 60);
    thief.now += 5;
    assert!(thief.finds_it_over() && thief.getset());
    assert!(guard.remaining() > Duration::from_secs(10), "two have it");
}

#[test]
fn a_loser_that_was_stopped_moves_the_end_back() {
    let server = server();
    let mut loser = Plain::new(&server, 60);
    // It has looked at its clock and at the key, and goes on when its own end is over.
    loser.now -= 63;
    set(&server, loser.now - 1);
    assert!(loser.finds_it_over());
    let guard = take_over(&server, 60);
    assert!(!loser.getset(), "it has lost");
    let thief = block_on(lock(&server, 60).try_acquire()).expect("it looks over");
    assert!(guard.is_valid() && thief.is_valid(), "two have it");
}

#[test]
fn a_loser_that_was_stopped_for_less_than_a_second_does_no_harm() {
    // Argument T2. More seconds may end in between, though not every time.
    let server = server();
    let is_short = (0..20).any(|_| {
        let mut loser = Plain::new(&server, 60);
        loser.now -= 1;
        set(&server, loser.now - 1);
        assert!(loser.finds_it_over());
        let guard = take_over(&server, 60);
        assert!(!loser.getset(), "it has lost");
        assert!(loser.end() < guard.value(), "the end was moved back");
        // The first second in which another takes it, and the last in which the guard is relied upon.
        let (free, relied) = (loser.end() + 1, seconds() + guard.remaining().as_secs());
        loser.end() + 1 == guard.value() && relied < free
    });
    assert!(is_short);
}

#[test]
fn a_late_delete_of_a_former_holder_frees_the_lock_of_another() {
    let server = server();
    let mut former = Plain::new(&server, 3);
    // It looked at its clock in its last second, and was stopped there.
    former.now -= 5;
    assert!(former.setnx());
    let guard = take_over(&server, 60);
    former.del();
    assert!(guard.is_valid(), "we do not know");
    let thief = block_on(lock(&server, 60).try_acquire()).expect("it looks free");
    assert!(guard.is_valid() && thief.is_valid(), "two have it");
}

#[test]
fn a_late_delete_is_noticed_by_whoever_looks() {
    let server = server();
    let guard = take_over(&server, 60);
    Plain::new(&server, 60).del();
    assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Gone);
}

#[test]
fn two_holders_of_one_second_cannot_be_told_apart() {
    let server = server();
    // The second may end in between, though not every time.
    let is_same = (0..20).any(|_| {
        let guard = take_over(&server, 60);
        // Without this there are no two.
        Plain::new(&server, 60).del();
        let thief = take_over(&server, 60);
        if guard.value() != thief.value() {
            drop((guard, thief));
            server.command(&["DEL", KEY]).expect("it answers");
            return false;
        }
        assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
        assert_eq!(value(&server), None, "the thief's");
        assert_eq!(block_on(thief.release()), TimestampReleaseOutcome::Gone);
        true
    });
    assert!(is_same);
}

#[test]
fn who_acquires_in_the_second_of_a_release_is_not_disturbed_by_it() {
    let server = server();
    // Argument T4.
    for _ in 0..5 {
        let guard = take_over(&server, 60);
        assert_eq!(block_on(guard.release()), TimestampReleaseOutcome::Released);
        let next = take_over(&server, 60);
        assert_eq!(value(&server), Some(next.value()));
        assert_eq!(block_on(next.release()), TimestampReleaseOutcome::Released);
    }
}
