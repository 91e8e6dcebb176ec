//! What an attempt knows of its keys.

use super::*;
use crate::{
    queue::Waiter,
    request::{Fault, FaultKind, OperationId},
    timing::{Drift, Ttl},
};
use core::time::Duration;

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

fn node(index: usize) -> NodeId {
    NodeId::new(index).expect("below 32")
}

/// An attempt of which three nodes are asked at 0 ms. TTL 10 s, allowance 102 ms.
fn attempt() -> Box<Attempt> {
    let operation = OperationId::new(0);
    let id = AttemptId {
        operation,
        number: 0,
    };
    Attempt::new(
        id,
        Resource::new("r").expect("a name"),
        Owner::from_bytes(b"o").expect("a byte"),
        Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("defaults fit"),
        Quorum::majority(3).expect("three nodes"),
        at(0),
    )
}

#[test]
fn a_ttl_begins_when_a_hung_node_may_have_acted() {
    let mut attempt = attempt();
    attempt.settle(at(1), node(0), 0, &Vote::GRANTED);
    attempt.settle(at(1), node(1), 0, &Vote::GRANTED);
    assert!(!attempt.is_answered());
    let cut = Vote::Unknown(Fault::new(FaultKind::Disconnected, "cut"));
    attempt.settle(at(60_000), node(2), 0, &cut);
    assert!(attempt.is_answered());
    assert_eq!(attempt.gone_by(), at(60_000 + 10_000 + 102));
    assert!(attempt.touched().contains(node(2)));
}

#[test]
fn a_late_grant_sets_its_key_for_the_ttl_that_it_was_asked_for() {
    let mut attempt = attempt();
    let step = attempt.next_step();
    let short = Ttl::new(Duration::from_secs(1)).expect("in range");
    let timing = attempt.timing().with_ttl(short).expect("it fits");
    attempt.extended_at(at(3_000), step, timing);
    attempt.settle(at(20_000), node(0), 0, &Vote::GRANTED);
    assert_eq!(attempt.gone_by(), at(20_000 + 10_000 + 102));
}

#[test]
fn a_node_that_has_not_set_the_key_itself_is_a_stranger_until_it_does() {
    let mut attempt = attempt();
    let refused = Vote::Refused(Default::default());
    let twin = Vote::Unknown(Fault::same_node());
    attempt.settle(at(1), node(0), 0, &Vote::GRANTED);
    attempt.settle(at(1), node(1), 0, &refused);
    attempt.settle(at(1), node(2), 0, &twin);
    let both = NodeSet::from_iter([node(1), node(2)]);
    assert_eq!(attempt.strangers(), both);
    // It finds the key there, which is no news.
    let step = attempt.next_step();
    attempt.extended_at(at(2), step, *attempt.clone().timing());
    attempt.settle(at(3), node(1), step, &Vote::GRANTED);
    assert_eq!(attempt.strangers(), both);
    let step = attempt.next_step();
    attempt.repaired_at(at(4), step, both);
    attempt.settle(at(5), node(1), step, &Vote::GRANTED);
    attempt.settle(at(5), node(2), step, &Vote::GRANTED);
    let twins = NodeSet::from_iter([node(2)]);
    assert_eq!((attempt.strangers(), attempt.twins()), (twins, twins));
    assert!(
        attempt.touched().contains(node(2)),
        "it is released there as well"
    );
}

#[test]
fn what_a_lost_or_an_unsent_request_says_about_whose_the_key_is() {
    for (kind, may) in [
        (FaultKind::Down, false),
        (FaultKind::Busy, false),
        (FaultKind::Rejected, false),
        (FaultKind::Abstained, false),
        (FaultKind::Disagrees, false),
        (FaultKind::Disconnected, true),
        (FaultKind::TimedOut, true),
        (FaultKind::Unconfirmed, true),
    ] {
        let mut attempt = attempt();
        let stranger = NodeSet::from_iter([node(1)]);
        let fault = Vote::Unknown(Fault::new(kind, "no answer"));
        attempt.settle(at(1), node(1), 0, &fault);
        let expected = if may { NodeSet::EMPTY } else { stranger };
        assert_eq!(attempt.strangers(), expected, "{kind:?} at the vote");
        // It has no key, and is given one.
        let step = attempt.next_step();
        attempt.repaired_at(at(2), step, stranger);
        attempt.settle(at(3), node(1), step, &fault);
        assert_eq!(attempt.strangers(), expected, "{kind:?} at the repair");
    }
    let mut attempt = attempt();
    attempt.settle(at(1), node(1), 0, &Vote::Refused(Default::default()));
    let lost = Vote::Unknown(Fault::new(FaultKind::Disconnected, "cut"));
    for (late, is_stranger) in [(Vote::Unknown(Fault::same_node()), true), (lost, false)] {
        let mut attempt = attempt.clone();
        let step = attempt.next_step();
        attempt.repaired_at(at(2), step, NodeSet::from_iter([node(1)]));
        attempt.settle(at(3), node(1), step, &late);
        assert_eq!(
            attempt.strangers().contains(node(1)),
            is_stranger,
            "{late:?}"
        );
    }
}

#[test]
fn whoever_has_a_lease_queues_for_no_key_that_it_has_lost() {
    let place = Some(Place {
        waiter: Waiter::new(7),
        ticket: None,
    });
    let attempt = attempt().queueing(place);
    assert_eq!(attempt.first().place(), place);
    assert_eq!(attempt.repair().place(), None);
}

#[test]
fn a_node_that_gets_the_key_later_is_touched() {
    let mut attempt = attempt();
    let busy = Vote::Unknown(Fault::new(FaultKind::Busy, "full"));
    attempt.settle(at(1), node(2), 0, &busy);
    assert!(!attempt.touched().contains(node(2)));
    let step = attempt.next_step();
    attempt.repaired_at(at(3_000), step, NodeSet::from_iter([node(2)]));
    assert!(attempt.touched().contains(node(2)));
    assert!(attempt.creates(node(2), step));
    attempt.settle(at(3_001), node(2), step, &Vote::GRANTED);
    assert!(!attempt.creates(node(2), step), "it was told once");
}

#[test]
fn an_extension_that_is_not_answered_may_take_effect_yet() {
    let mut attempt = attempt();
    for index in 0..3 {
        attempt.settle(at(1), node(index), 0, &Vote::GRANTED);
    }
    let step = attempt.next_step();
    attempt.extended_at(at(3_000), step, *attempt.clone().timing());
    attempt.settle(at(3_001), node(0), step, &Vote::GRANTED);
    let busy = Vote::Unknown(Fault::new(FaultKind::Busy, "full"));
    attempt.settle(at(3_002), node(1), step, &busy);
    assert!(!attempt.is_answered());
    attempt.settle(
        at(20_000),
        node(2),
        step,
        &Vote::Refused(Default::default()),
    );
    assert!(attempt.is_answered());
    // What was refused had no effect, whenever that was told.
    assert_eq!(attempt.gone_by(), at(3_001 + 10_000 + 102));
    // Nothing was sent to the full link, but the key is there from before.
    assert!(attempt.touched().contains(node(1)));
}
