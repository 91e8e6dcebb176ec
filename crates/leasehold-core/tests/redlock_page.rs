//! The Redlock page, claim by claim, in its order and in our words.
//!
//! Not here: "performance, crash recovery and fsync". A node that restarts without its keys must stay
//! out of votes until the longest TTL has passed; that is a rule for nodes, and this core has none yet.
//! Nor the choice of the random value from the operating system: the core is given its randomness.

use core::{num::NonZeroU32, time::Duration};
use leasehold_core::{
    AcquireRequest, AutoRenewal, Cause, Drift, Engine, Event, ExtendFailure, Instant, LeaseChange,
    LockConfig, Loss, NodeId, NodeSet, Operation, OperationId, Owner, OwnerSource, Pause, Quorum,
    Refusal, RenewalPolicy, Request, Resource, Retry, Seed, Send, Table, Tag, Timing, Ttl, Vote,
};
use std::sync::Arc;

/// "Correct implementation with a single instance": only the one who signed a key may delete it
/// (argument S3).
#[test]
fn a_key_is_deleted_only_by_the_one_who_signed_it() {
    let (mut table, ttl) = (Table::new(), Ttl::DEFAULT);
    let owner = |name: &[u8]| Owner::from_bytes(name).expect("a name");
    let release = |name| Request::Release {
        resource: resource(),
        owner: owner(name),
        keep: None,
    };
    let acquire = Request::Acquire {
        resource: resource(),
        owner: owner(b"a"),
        ttl,
        proposal: None,
        place: None,
    };
    assert_eq!(table.apply(at(0), &acquire), Vote::GRANTED);
    assert!(matches!(
        table.apply(at(1), &release(b"b")),
        Vote::Refused(_)
    ));
    assert!(table.key(at(2), &resource()).is_some());
    assert_eq!(table.apply(at(3), &release(b"a")), Vote::GRANTED);
    assert_eq!(table.key(at(4), &resource()), None);
}

/// The same section: the value is unique across all clients and all requests for a lock
/// (argument S8).
#[test]
fn every_attempt_signs_with_a_value_of_its_own() {
    let (mut engine, _) = begin(RenewalPolicy::default());
    let first = sent(&mut engine).remove(0);
    refuse(&mut engine, at(1), [0, 1, 2], first.tag);
    sent(&mut engine);
    let rest = engine.poll_timeout().expect("it rests");
    engine.handle_timeout(rest);
    let second = sent(&mut engine).remove(0);
    assert_ne!(first.request.owner(), second.request.owner());
}

/// And if the source of values repeats itself, nothing is signed (argument S8).
#[test]
fn a_value_that_was_used_is_not_used_again() {
    let mut acquire = acquire_request();
    let owners = OwnerSource::new(|_| b"worker-1".to_vec());
    acquire.config = Arc::new(LockConfig {
        owners,
        ..LockConfig::clone(&acquire.config)
    });
    let mut engine = Engine::new(five());
    engine.submit(at(0), FIRST, || seed(1), Operation::Acquire(acquire));
    let first = sent(&mut engine).remove(0);
    refuse(&mut engine, at(1), [0, 1, 2], first.tag);
    sent(&mut engine);
    let rest = engine.poll_timeout().expect("it rests");
    engine.handle_timeout(rest);
    assert_eq!(engine.poll_send(), None);
    let Some((_, Event::NotAcquired(failure))) = engine.poll_event() else {
        panic!("it ends");
    };
    assert_eq!(failure.cause, Cause::OwnerRepeated);
}

/// Steps 1 and 2: the time is read first; every node is asked for the same key with the same value. The
/// page's later advice to ask all at once is taken: it is one request for all.
#[test]
fn all_nodes_are_asked_the_same_at_once() {
    let (mut engine, _) = begin(RenewalPolicy::default());
    let sends = sent(&mut engine);
    assert_eq!(sends.len(), 1);
    assert_eq!(sends[0].nodes, NodeSet::first(5));
    assert!(matches!(
        sends[0].request,
        Request::Acquire {
            ttl: Ttl::DEFAULT,
            ..
        }
    ));
}

/// Step 2: the time limit of a node is small compared to the TTL, and a dead node costs no more.
#[test]
fn a_silent_node_is_waited_for_a_fraction_of_the_ttl() {
    let (mut engine, _) = begin(RenewalPolicy::default());
    let limit = engine.poll_timeout().expect("silence has a limit");
    assert!(limit.since_origin() <= Ttl::DEFAULT.as_duration() / 20);
    engine.handle_timeout(limit);
    assert!(releases(&mut engine).contains(NodeId::new(4).expect("the last of five")));
}

/// Step 3: a majority, at least three of five, and not one less.
#[test]
fn three_of_five_nodes_win_and_two_do_not() {
    let (mut engine, tag) = begin(RenewalPolicy::default());
    grant(&mut engine, at(1), [0, 1], tag);
    assert_eq!(engine.poll_event(), None);
    grant(&mut engine, at(2), [4], tag);
    assert!(matches!(engine.poll_event(), Some((_, Event::Acquired(_)))));
}

/// Step 3, the other half, and step 5's "or the validity is negative": a majority that took as long as
/// the lock would have been valid is no lock.
#[test]
fn a_majority_that_took_the_whole_validity_does_not_win() {
    let (mut engine, tag) = begin(RenewalPolicy::default());
    grant(&mut engine, at(9_898), [0, 1, 2], tag);
    let event = engine.poll_event();
    assert!(event.is_none(), "there are tries left: {event:?}");
    assert_eq!(releases(&mut engine), NodeSet::first(5));
}

/// Step 4 and the safety argument: the validity at T2 is at most TTL − (T2 − T1) − drift
/// (argument S2).
#[test]
fn the_validity_is_the_ttl_less_the_elapsed_time_and_the_drift() {
    for elapsed in [1, 100, 499, 9_897] {
        let (mut engine, tag) = begin(RenewalPolicy::default());
        grant(&mut engine, at(elapsed), [0, 1, 2], tag);
        let Some((_, Event::Acquired(lease))) = engine.poll_event() else {
            panic!("a majority within the validity wins");
        };
        let validity = lease.valid_until.saturating_since(at(elapsed));
        assert_eq!(validity, ms(10_000 - elapsed - 102));
    }
}

/// Step 5: who fails unlocks all nodes, also those that it believes it did not lock
/// (argument S5).
#[test]
fn a_failed_attempt_unlocks_every_node() {
    let (mut engine, tag) = begin(RenewalPolicy::default());
    sent(&mut engine);
    grant(&mut engine, at(1), [0], tag);
    refuse(&mut engine, at(2), [1, 2, 3], tag);
    assert_eq!(releases(&mut engine), NodeSet::first(5));
}

/// Step 5 for a caller who gives up before anything has left. A release that came first would find nothing,
/// and the key of the acquire behind it would stay.
#[test]
fn a_release_leaves_after_the_acquire_that_it_takes_back() {
    let (mut engine, tag) = begin(RenewalPolicy::default());
    let cancel = Operation::Cancel(tag.attempt.operation);
    engine.submit(at(0), SECOND, || seed(2), cancel);
    let sends = sent(&mut engine);
    let [first, second] = sends.as_slice() else {
        panic!("an acquire and its release, not {sends:?}");
    };
    assert!(matches!(first.request, Request::Acquire { .. }));
    assert!(matches!(second.request, Request::Release { .. }));
}

/// "Retry on failure": after a random delay, so that clients that met do not meet again.
#[test]
fn clients_that_lost_together_rest_for_different_times() {
    let rest = |random: u8| {
        let mut engine = Engine::new(five());
        engine.submit(
            at(0),
            FIRST,
            || seed(random),
            Operation::Acquire(acquire_request()),
        );
        let tag = sent(&mut engine)[0].tag;
        refuse(&mut engine, at(1), [0, 1, 2], tag);
        engine
            .poll_timeout()
            .expect("it rests")
            .saturating_since(at(1))
    };
    let rests: std::collections::BTreeSet<_> = (0..50).map(rest).collect();
    assert!(rests.len() > 40, "{rests:?}");
    assert!(rests.iter().all(|rest| (ms(50)..=ms(250)).contains(rest)));
}

/// "Releasing the lock": on all nodes, whether or not the lock was believed to be set there.
#[test]
fn a_lock_is_released_on_every_node() {
    let (mut engine, id) = won(RenewalPolicy::default());
    engine.submit(at(10), SECOND, || seed(9), Operation::Release(id));
    assert_eq!(releases(&mut engine), NodeSet::first(5));
}

/// "Safety arguments": while a majority is set, nobody else can get one.
#[test]
fn a_second_client_cannot_win_while_the_first_one_is_valid() {
    let mut tables: [Table; 5] = Default::default();
    let mut ask = |now: Instant, random: u8| {
        let mut engine = Engine::new(five());
        let retry = Retry::default().with_tries(NonZeroU32::new(1));
        let acquire = acquire_request_with(retry, RenewalPolicy::default());
        engine.submit(now, FIRST, || seed(random), Operation::Acquire(acquire));
        let send = sent(&mut engine).remove(0);
        for node in send
            .nodes
            .iter()
            .filter(|node| random == 2 || node.index() < 3)
        {
            let vote = tables[node.index()].apply(now, &send.request);
            engine.handle_reply(now, node, send.tag, vote);
        }
        engine.poll_event().expect("a majority answered").1
    };
    let Event::Acquired(first) = ask(at(0), 1) else {
        panic!("three free nodes are a majority");
    };
    let Event::NotAcquired(failure) = ask(first.valid_until, 2) else {
        panic!("three nodes still carry the first one's key");
    };
    assert!(matches!(failure.cause, Cause::Held(_)), "{failure:?}");
    // "Liveness arguments": keys expire, so the resource can be locked again in the end.
    assert!(matches!(ask(at(10_000), 2), Event::Acquired(_)));
}

/// "Extending the lock": by the one who signed it, on a majority, within the validity.
#[test]
fn an_extension_needs_a_majority_within_the_validity() {
    for (nodes, acknowledged, expected) in [
        (
            &[0, 1, 2][..],
            9_897,
            Some(Event::Extended(at(9_500 + 9_898))),
        ),
        (
            &[0, 1, 2],
            9_898,
            Some(Event::NotExtended(ExtendFailure::Lost)),
        ),
        (&[0, 1, 1, 1], 9_897, None),
    ] {
        let (mut engine, id) = won(RenewalPolicy::default());
        engine.submit(
            at(9_500),
            SECOND,
            || seed(9),
            Operation::Extend {
                lease: id,
                ttl: None,
            },
        );
        let send = sent(&mut engine).remove(0);
        assert_eq!(send.nodes, NodeSet::first(5));
        assert!(matches!(send.request, Request::Extend { .. }));
        grant(
            &mut engine,
            at(acknowledged),
            nodes.iter().copied(),
            send.tag,
        );
        let mut ends = std::iter::from_fn(|| engine.poll_event())
            .map(|(_, event)| event)
            .filter(|event| !matches!(event, Event::Changed(_)));
        assert_eq!(ends.next(), expected);
    }
}

/// The same section, its limit: the number of extensions must be bounded. A lock that nobody extends ends
/// by itself.
#[test]
fn nothing_is_extended_that_nobody_asked_to_extend() {
    let (mut engine, _) = won(RenewalPolicy::default());
    engine.handle_timeout(at(60_000));
    assert_eq!(engine.poll_send(), None);
}

/// And one that extends itself does so for as often as it may.
#[test]
fn the_number_of_extensions_is_limited() {
    let (mut engine, id) = won(RenewalPolicy {
        renewal: AutoRenewal::Thirds,
        most_extensions: Some(7),
        ..RenewalPolicy::default()
    });
    let mut extensions = 0;
    while let Some(next) = engine.poll_timeout() {
        engine.handle_timeout(next);
        for send in sent(&mut engine) {
            extensions += 1;
            grant(&mut engine, next, 0..5, send.tag);
        }
    }
    assert_eq!(extensions, 7);
    let events = std::iter::from_fn(|| engine.poll_event());
    assert_eq!(
        events.last(),
        Some((
            id,
            Event::Changed(LeaseChange::Lost(Loss::ExtensionLimit { extensions: 7 }))
        ))
    );
}

fn won(policy: RenewalPolicy) -> (Engine, OperationId) {
    let (mut engine, tag) = begin(policy);
    sent(&mut engine);
    grant(&mut engine, at(1), 0..5, tag);
    let (id, _) = engine.poll_event().expect("five of five grant");
    (engine, id)
}

/// An engine that has just asked five nodes, and the tag of what it asked; the request is not taken yet.
fn begin(policy: RenewalPolicy) -> (Engine, Tag) {
    let mut engine = Engine::new(five());
    let acquire = acquire_request_with(Retry::default(), policy);
    engine.submit(at(0), FIRST, || seed(1), Operation::Acquire(acquire));
    let attempt = leasehold_core::AttemptId {
        operation: FIRST,
        number: 0,
    };
    (engine, Tag { attempt, step: 0 })
}

fn grant(engine: &mut Engine, now: Instant, nodes: impl IntoIterator<Item = usize>, tag: Tag) {
    for node in nodes {
        engine.handle_reply(now, NodeId::new(node).expect("of five"), tag, Vote::GRANTED);
    }
}

fn refuse(engine: &mut Engine, now: Instant, nodes: impl IntoIterator<Item = usize>, tag: Tag) {
    for node in nodes {
        let vote = Vote::Refused(Refusal::default());
        engine.handle_reply(now, NodeId::new(node).expect("of five"), tag, vote);
    }
}

fn sent(engine: &mut Engine) -> Vec<Send> {
    core::iter::from_fn(|| engine.poll_send()).collect()
}

/// Which nodes are asked to release.
fn releases(engine: &mut Engine) -> NodeSet {
    let sends = sent(engine);
    let releases = sends
        .iter()
        .filter(|send| matches!(send.request, Request::Release { .. }));
    releases.fold(NodeSet::EMPTY, |nodes, send| nodes.union(send.nodes))
}

fn five() -> Quorum {
    Quorum::majority(5).expect("five nodes")
}

fn seed(random: u8) -> Seed {
    Seed::new([random; Seed::LENGTH])
}

/// The first operation that an engine is asked to do, and the second.
const FIRST: OperationId = OperationId::new(0);
const SECOND: OperationId = OperationId::new(1);

fn resource() -> Resource {
    Resource::new("orders/42").expect("a plain name")
}

fn acquire_request() -> AcquireRequest {
    acquire_request_with(
        Retry::default().with_pause(Pause::default()),
        RenewalPolicy::default(),
    )
}

fn acquire_request_with(retry: Retry, policy: RenewalPolicy) -> AcquireRequest {
    let timing = Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("defaults fit");
    let owners = OwnerSource::default();
    AcquireRequest {
        resource: resource(),
        config: Arc::new(LockConfig {
            timing,
            retry,
            owners,
            policy,
            is_fenced: false,
            queues: false,
            asks_one_first: false,
            is_fair: false,
        }),
        from: None,
        patience: None,
    }
}

const fn at(millis: u64) -> Instant {
    Instant::from_origin(ms(millis))
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
