use super::*;
use crate::{
    discovery::{Naming, Rule},
    owner::Owner,
    request::{FaultKind, OperationId},
    resource::Resource,
    timing::Ttl,
};
use alloc::vec::Vec;

const QUARANTINE: Option<Duration> = Some(Duration::from_secs(60));

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

fn tag(operation: u64, step: u32) -> Tag {
    let operation = OperationId::new(operation);
    let attempt = AttemptId {
        operation,
        number: 0,
    };
    Tag { attempt, step }
}

fn names() -> (Resource, Owner) {
    let resource = Resource::new("r").expect("a name");
    (resource, Owner::from_bytes(b"me").expect("an owner"))
}

/// An acquire, a repair, an extension and a release.
fn requests() -> [Request; 4] {
    let (resource, owner) = names();
    let (ttl, proposal) = (Ttl::DEFAULT, None);
    let again = || (resource.clone(), owner.clone());
    let [(r, o), (s, p), (t, q)] = [again(), again(), again()];
    [
        Request::Acquire {
            resource: r,
            owner: o,
            ttl,
            proposal,
            place: None,
        },
        Request::Repair {
            resource: s,
            owner: p,
            ttl,
            proposal,
        },
        Request::Extend {
            resource: t,
            owner: q,
            ttl,
        },
        Request::Release {
            resource,
            owner,
            keep: None,
        },
    ]
}

fn fault(_: Unconfirmed) -> Fault {
    Fault::new(FaultKind::Unconfirmed, "nobody says so")
}

fn name(discovery: &mut Discovery<char>, asked: u64, sentinels: &[usize]) {
    for sentinel in sentinels {
        let naming = Naming {
            server: 'm',
            epoch: 1,
            by: None,
        };
        discovery.hear(*sentinel, at(asked), Some(naming));
    }
}

/// A connection to `m`, which all three sentinels have named at 1 s.
fn followed() -> Discovery<char> {
    let mut discovery = Discovery::new(3, Rule::DEFAULT);
    name(&mut discovery, 1_000, &[0, 1, 2]);
    discovery.follow('m');
    discovery
}

/// All that can be told by now, and whether it is a grant.
fn told(confirmation: &mut Confirmation, discovery: &Discovery<char>) -> Vec<(Tag, bool)> {
    let mut told = Vec::new();
    while let Some((tag, vote)) = confirmation.take(discovery, fault) {
        told.push((tag, vote.is_granted()));
    }
    told
}

#[test]
fn a_new_key_needs_a_later_word_more_time_a_recent_one_and_a_release_its_turn() {
    let [acquire, repair, extend, release] = requests();
    assert_eq!(Need::of(&acquire, QUARANTINE), Need::Later);
    assert_eq!(Need::of(&repair, QUARANTINE), Need::Later);
    let within = QUARANTINE.map(|span| room(span, Ttl::DEFAULT));
    assert_eq!(Need::of(&extend, QUARANTINE), Need::Recent(within));
    assert_eq!(Need::of(&release, QUARANTINE), Need::Turn);
    // Where nobody abstains a later word would say no more.
    for request in [acquire, repair, extend] {
        assert_eq!(Need::of(&request, None), Need::Recent(None));
    }
    let (resource, _) = names();
    let inspect = Request::Inspect { resource };
    assert_eq!(Need::of(&inspect, QUARANTINE), Need::Nothing);
}

#[test]
fn more_time_counts_while_the_last_word_of_the_sentinels_is_recent() {
    let discovery = followed();
    let judge = |need: Need, now, vote| need.judge(vote, at(now), &discovery, fault);
    let recent = Need::Recent(Some(Duration::from_secs(2)));
    assert_eq!(judge(recent, 3_000, Vote::GRANTED), Vote::GRANTED);
    let late = judge(recent, 3_001, Vote::GRANTED);
    assert!(
        matches!(&late, Vote::Unknown(fault) if fault.kind() == FaultKind::Unconfirmed),
        "{late:?}"
    );
    // What is no grant nobody relies on, and what is confirmed later is not judged by this.
    let refused = Vote::Refused(crate::request::Refusal::default());
    assert_eq!(judge(recent, 99_000, refused.clone()), refused);
    for need in [Need::Nothing, Need::Later, Need::Turn] {
        assert_eq!(judge(need, 99_000, Vote::GRANTED), Vote::GRANTED);
    }
}

#[test]
fn a_grant_waits_until_a_majority_that_was_asked_since_names_the_server() {
    let mut discovery = followed();
    let mut confirmation = Confirmation::default();
    let heard = confirmation.hear(Need::Later, at(2_000), tag(0, 0), Vote::GRANTED);
    assert_eq!(heard, Heard::Asks);
    name(&mut discovery, 1_999, &[0, 1, 2]);
    name(&mut discovery, 2_000, &[0]);
    assert_eq!(told(&mut confirmation, &discovery), []);
    assert_eq!(confirmation.len(), 1);
    name(&mut discovery, 2_001, &[1]);
    assert_eq!(told(&mut confirmation, &discovery), [(tag(0, 0), true)]);
    assert!(confirmation.is_empty());
}

#[test]
fn a_grant_that_too_few_sentinels_can_still_confirm_is_in_doubt() {
    let mut discovery = followed();
    let mut confirmation = Confirmation::default();
    let heard = confirmation.hear(Need::Later, at(2_000), tag(0, 0), Vote::GRANTED);
    assert_eq!(heard, Heard::Asks);
    discovery.miss(0);
    assert_eq!(told(&mut confirmation, &discovery), []);
    discovery.miss(1);
    assert_eq!(told(&mut confirmation, &discovery), [(tag(0, 0), false)]);
}

#[test]
fn answers_are_told_in_the_order_in_which_they_were_heard_if_they_concern_one_attempt() {
    let mut discovery = followed();
    let mut confirmation = Confirmation::default();
    let mut hear = |need, now, tag| confirmation.hear(need, at(now), tag, Vote::GRANTED);
    let at_once = |tag| Heard::Told(tag, Vote::GRANTED);
    assert_eq!(hear(Need::Later, 2_000, tag(0, 0)), Heard::Asks);
    assert_eq!(hear(Need::Later, 3_000, tag(1, 0)), Heard::Asks);
    assert_eq!(hear(Need::Turn, 3_500, tag(1, 1)), Heard::Waits);
    // Others are not held up.
    assert_eq!(hear(Need::Turn, 3_500, tag(2, 1)), at_once(tag(2, 1)));
    assert_eq!(
        hear(Need::Recent(None), 3_500, tag(1, 2)),
        at_once(tag(1, 2))
    );
    name(&mut discovery, 2_500, &[0, 1]);
    assert_eq!(told(&mut confirmation, &discovery), [(tag(0, 0), true)]);
    name(&mut discovery, 3_000, &[0, 1]);
    let both = [(tag(1, 0), true), (tag(1, 1), true)];
    assert_eq!(told(&mut confirmation, &discovery), both);
}

#[test]
fn a_refusal_waits_for_nobody() {
    let mut confirmation = Confirmation::default();
    let refused = Vote::Refused(crate::request::Refusal::default());
    let heard = confirmation.hear(Need::Later, at(0), tag(0, 0), refused.clone());
    assert_eq!(heard, Heard::Told(tag(0, 0), refused));
}

#[test]
fn grants_that_wait_are_in_doubt_when_the_connection_is_lost_and_releases_are_not() {
    let mut confirmation = Confirmation::default();
    for (need, tag) in [(Need::Later, tag(0, 0)), (Need::Turn, tag(0, 1))] {
        let heard = confirmation.hear(need, at(0), tag, Vote::GRANTED);
        assert_ne!(heard, Heard::Told(tag, Vote::GRANTED));
    }
    let lost = Fault::new(FaultKind::Disconnected, "it is over");
    let told: Vec<_> = confirmation.abandon(lost.clone()).collect();
    let expected = [(tag(0, 0), Vote::Unknown(lost)), (tag(0, 1), Vote::GRANTED)];
    assert_eq!(told, expected);
}
