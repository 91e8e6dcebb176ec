//! Worlds by hand: three nodes, a TTL of 10 s, requests that left at 0 ms by a clock that shows 1 s then.

use super::*;
use crate::{check::lone, rng::Rng, setting::Twin, time::SECOND};
use leasehold_core::{AttemptId, Ttl};

const ACQUISITION: OperationId = OperationId::new(5);

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(1_000 + millis))
}

fn node(index: usize) -> NodeId {
    NodeId::new(index).expect("below 32")
}

fn tag(step: u32) -> Tag {
    let attempt = AttemptId {
        operation: ACQUISITION,
        number: 0,
    };
    Tag { attempt, step }
}

fn lease(valid_until: Instant) -> Lease {
    let mut lease = lone::lease();
    lease.valid_until = valid_until;
    lease
}

fn sent(validity: &mut Validity, now: Instant, step: u32) {
    let Lease {
        resource, owner, ..
    } = lease(now);
    let ttl = Ttl::DEFAULT;
    let request = if step == 0 {
        Request::Acquire {
            resource,
            owner,
            ttl,
            proposal: None,
            place: None,
        }
    } else {
        Request::Extend {
            resource,
            owner,
            ttl,
        }
    };
    let send = Send {
        nodes: NodeSet::first(3),
        tag: tag(step),
        request,
    };
    validity.sent(0, now, Moment::START, &send);
}

fn begun() -> Validity {
    let setting = Setting {
        nodes: 3,
        ttl_ns: 10 * SECOND,
        ..Setting::draw(&mut Rng::new(1))
    };
    let mut validity = Validity::new(&setting);
    sent(&mut validity, at(0), 0);
    validity
}

fn held() -> Validity {
    let mut validity = begun();
    for index in 0..2 {
        validity.heard(0, at(5), node(index), tag(0), &Vote::GRANTED);
    }
    let acquired = validity.acquired(0, at(5), ACQUISITION, &lease(at(9_898)));
    assert_eq!(acquired, Ok(()));
    validity
}

#[test]
fn two_answers_of_one_node_are_no_quorum() {
    let mut validity = begun();
    for _ in 0..2 {
        validity.heard(0, at(5), node(1), tag(0), &Vote::GRANTED);
    }
    let lease = lease(at(9_898));
    assert!(validity.acquired(0, at(5), ACQUISITION, &lease).is_err());
}

#[test]
fn a_lease_that_counts_from_the_answer_or_without_drift_is_found() {
    for too_long in [9_899, 9_903, 10_000] {
        let mut validity = begun();
        for index in 0..2 {
            validity.heard(0, at(5), node(index), tag(0), &Vote::GRANTED);
        }
        let lease = lease(at(too_long));
        assert!(validity.acquired(0, at(5), ACQUISITION, &lease).is_err());
    }
}

#[test]
fn a_lease_that_is_handed_out_when_it_is_over_is_found() {
    let mut validity = begun();
    for index in 0..2 {
        validity.heard(0, at(5), node(index), tag(0), &Vote::GRANTED);
    }
    let lease = lease(at(9_898));
    assert!(
        validity
            .acquired(0, at(9_898), ACQUISITION, &lease)
            .is_err()
    );
}

#[test]
fn where_a_server_may_count_twice_an_extension_may_lack_one_and_a_vote_may_not() {
    let mut setting = Setting {
        nodes: 4,
        twin: Twin::Tells,
        hides_identities: true,
        ..Setting::draw(&mut Rng::new(1))
    };
    setting.links.loss = 1;
    assert_eq!((setting.needed(), setting.standing()), (3, 2));
    let quorums = |setting: &Setting| {
        let mut validity = Validity::new(setting);
        [0, 1].map(|step| {
            sent(&mut validity, at(0), step);
            for index in 0..2 {
                validity.heard(0, at(5), node(index), tag(step), &Vote::GRANTED);
            }
            let rounds = &validity.watched[0].rounds;
            rounds.last().is_some_and(|votes| votes.quorum_at.is_some())
        })
    };
    assert_eq!(quorums(&setting), [false, true]);
    setting.hides_identities = false;
    assert_eq!(quorums(&setting), [false, false]);
}

#[test]
fn an_extension_counts_from_its_own_request() {
    let mut validity = held();
    sent(&mut validity, at(3_000), 1);
    for index in 1..3 {
        validity.heard(0, at(3_010), node(index), tag(1), &Vote::GRANTED);
    }
    let mut extended = |until| validity.extended(0, at(3_010), ACQUISITION, at(until));
    assert!(extended(12_899).is_err());
    assert_eq!(extended(12_898), Ok(()));
}

#[test]
fn acknowledgements_of_different_extensions_do_not_add_up() {
    let mut validity = held();
    for step in 1..3 {
        sent(&mut validity, at(3_000 * u64::from(step)), step);
        let node = node(usize::from(step == 1));
        validity.heard(0, at(6_010), node, tag(step), &Vote::GRANTED);
    }
    let extended = validity.extended(0, at(6_010), ACQUISITION, at(12_898));
    assert!(extended.is_err());
}

#[test]
fn an_extension_after_the_end_is_found() {
    let mut validity = held();
    sent(&mut validity, at(9_000), 1);
    for index in 0..2 {
        validity.heard(0, at(9_898), node(index), tag(1), &Vote::GRANTED);
    }
    let extended = validity.extended(0, at(9_898), ACQUISITION, at(18_898));
    assert!(extended.is_err());
}

#[test]
fn a_lease_that_outlives_its_keys_is_found() {
    let (validity, lease) = (held(), lease(at(9_898)));
    let clock = Clock::new(SECOND, 0);
    // A node that is too fast by 3 % drops the key before the lease ends.
    for (fast_ppm, backed) in [(0, true), (30_000, false)] {
        let now = Moment::from_ns(1_000_000);
        let mut nodes = [0, fast_ppm, 0].map(|ppm| Node::new(&mut Rng::new(1), ppm));
        for node in nodes.iter_mut().take(2) {
            let (resource, owner) = (lease.resource.clone(), lease.owner.clone());
            let ttl = Ttl::DEFAULT;
            node.execute(
                now,
                &Request::Acquire {
                    resource,
                    owner,
                    ttl,
                    proposal: None,
                    place: None,
                },
            );
        }
        let result = validity.backed(&clock, now, &nodes, &lease);
        assert_eq!(result.is_ok(), backed, "{fast_ppm}");
    }
}

#[test]
fn a_cut_that_makes_a_lease_longer_is_found() {
    let mut validity = held();
    assert_eq!(validity.cut(0, ACQUISITION, at(9_000)), Ok(()));
    let lease = validity.lease(0, ACQUISITION).expect("it is held");
    assert_eq!(lease.valid_until, at(9_000));
    assert!(validity.cut(0, ACQUISITION, at(9_001)).is_err());
}

#[test]
fn an_extension_after_a_cut_end_is_found() {
    let mut validity = held();
    sent(&mut validity, at(3_000), 1);
    assert_eq!(validity.cut(0, ACQUISITION, at(3_005)), Ok(()));
    for index in 0..2 {
        validity.heard(0, at(3_010), node(index), tag(1), &Vote::GRANTED);
    }
    let extended = validity.extended(0, at(3_010), ACQUISITION, at(12_898));
    assert!(extended.is_err());
}

#[test]
fn a_node_that_has_forgotten_the_key_backs_a_lease_only_if_it_has_a_guard() {
    for (guard, backed) in [
        (Guard::Nobody, false),
        (
            Guard::Marker {
                span_ns: 11 * SECOND,
                trusts_disk: false,
                tells_evictions: true,
            },
            true,
        ),
    ] {
        let (mut validity, lease) = (held(), lease(at(9_898)));
        validity.setting.guard = guard;
        let clock = Clock::new(SECOND, 0);
        let now = Moment::from_ns(1_000_000);
        let mut nodes = [0, 0, 0].map(|ppm| Node::new(&mut Rng::new(1), ppm));
        let request = lone::acquire(ACQUISITION).request;
        nodes[0].execute(now, &request);
        nodes[1].forgot = Some(now);
        let result = validity.backed(&clock, now, &nodes, &lease);
        assert_eq!(result.is_ok(), backed, "{guard:?}");
    }
}
