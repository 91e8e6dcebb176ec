//! Random worlds: engines, nodes and a network that delays, repeats, reorders and loses.
//!
//! Every choice is a throw of the dice that proptest hands in; when they are used up every throw is 0,
//! which is the kindest choice. So a world shrinks towards one where nothing goes wrong.

mod world;

use core::{num::NonZeroU32, time::Duration};
use leasehold_core::{
    Abstention, AbstentionCause, AcquireRequest, AttemptId, AutoRenewal, Drift, Engine, Event,
    Fault, FaultKind, FencingToken, Identity, Instant, LinkChange, LockConfig, NodeId, Operation,
    OperationId, Owner, OwnerSource, Pause, PermitCount, Quorum, Reading, Refusal, RenewalPolicy,
    Resource, Retry, Seed, Tag, TakenPermits, Timing, Ttl, Vote,
};
use proptest::prelude::*;
use std::{collections::BTreeSet, sync::Arc};
use world::{Kindness, World};

// A world in which everything arrives is soon over, and what is left in it takes many throws to come about.
proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(8_000) })]

    #[test]
    fn nothing_is_left_on_the_nodes_if_every_message_arrives(
        nodes in 1_usize..=5,
        clients in 1_usize..=3,
        dice in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        World::new(nodes, clients, Kindness::Delivers, dice).run();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn no_two_clients_hold_a_resource_whatever_the_network_does(
        nodes in 1_usize..=5,
        clients in 1_usize..=3,
        dice in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        World::new(nodes, clients, Kindness::Loses, dice).run();
    }

    #[test]
    fn no_more_have_permits_than_there_are_whatever_the_network_does(
        nodes in 1_usize..=5,
        clients in 2_usize..=4,
        permits in 1_u16..=3,
        dice in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        World::new(nodes, clients, Kindness::Loses, dice).of_permits(permits).run();
    }

    #[test]
    fn no_sequence_of_calls_makes_the_engine_panic(
        nodes in 1_usize..=5,
        calls in prop::collection::vec(call(), 0..80),
    ) {
        let mut engine = Engine::new(Quorum::majority(nodes).expect("1 to 5 nodes"));
        let mut fenced = BTreeSet::new();
        for (id, (at, call)) in (0..).map(OperationId::new).zip(calls) {
            let is_fenced = matches!(call, Call::Acquire(_, true, _));
            make(&mut engine, Instant::from_origin(Duration::from_millis(at)), id, call);
            fenced.extend(is_fenced.then_some(id));
            while engine.poll_send().is_some() {}
            while let Some((id, event)) = engine.poll_event() {
                if let Event::Acquired(lease) = event {
                    // Argument S4: whoever wants a token gets it with the lease, or gets no lease.
                    prop_assert_eq!(lease.token.is_some(), fenced.contains(&id));
                }
            }
            let _ = engine.poll_timeout();
        }
    }
}

#[derive(Clone, Debug)]
enum Call {
    Acquire(Option<u64>, bool, Option<u16>),
    Extend(u64, Option<u64>),
    Heartbeat(u64),
    Release(u64),
    Cancel(u64),
    HandOver(u64),
    Inspect,
    Evict,
    Reply(usize, Tag, Vote),
    Link(usize, LinkChange),
    Clock(usize, Reading),
    Epoch(u64),
    Timeout,
}

/// Any call at any time, backwards as well; small numbers, so that many of them mean something.
fn call() -> impl Strategy<Value = (u64, Call)> {
    let tag = (0_u64..6, 0_u32..3, 0_u32..5).prop_map(|(operation, number, step)| {
        let operation = OperationId::new(operation);
        Tag {
            attempt: AttemptId { operation, number },
            step,
        }
    });
    let vote = prop_oneof![
        4 => Just(Vote::GRANTED),
        6 => (1_u64..6).prop_map(|counter| Vote::Granted { counter: FencingToken::new(counter) }),
        1 => (0_u64..2_000).prop_map(|left| Vote::Unknown(Fault::abstained(&Abstention {
            cause: AbstentionCause::Changed,
            left: Duration::from_millis(left),
        }))),
        2 => Just(Vote::Refused(Refusal::default())),
        3 => (1_u16..4, prop::collection::vec((0_u16..5, 0_u64..2_000), 0..4)).prop_map(taken),
        1 => prop::sample::select(vec![FaultKind::Down, FaultKind::Busy, FaultKind::Disconnected, FaultKind::Disagrees])
            .prop_map(|kind| Vote::Unknown(Fault::new(kind, "fault"))),
    ];
    let link = prop::sample::select(vec![
        LinkChange::Up(None),
        LinkChange::Up(Some(Identity::new("one"))),
        LinkChange::Up(Some(Identity::new("other"))),
        LinkChange::Down,
    ]);
    let reading = (0_u64..6_000, 0_u64..3_000).prop_map(|(node, asked)| Reading {
        node: Duration::from_millis(node),
        asked: Instant::from_origin(Duration::from_millis(asked)),
    });
    let call = prop_oneof![
        3 => (prop::option::of(0_u64..500), any::<bool>(), prop::option::of(1_u16..4))
            .prop_map(|(patience, is_fenced, permits)| Call::Acquire(patience, is_fenced, permits)),
        2 => (0_u64..8, prop::option::of(10_u64..2_000)).prop_map(|(id, ttl)| Call::Extend(id, ttl)),
        1 => (0_u64..8).prop_map(Call::Heartbeat),
        2 => (0_u64..8).prop_map(Call::Release),
        1 => (0_u64..8).prop_map(Call::Cancel),
        1 => (0_u64..8).prop_map(Call::HandOver),
        1 => Just(Call::Inspect),
        1 => Just(Call::Evict),
        20 => (0_usize..32, tag, vote).prop_map(|(node, tag, vote)| Call::Reply(node % 7, tag, vote)),
        1 => (0_usize..32, link).prop_map(|(node, change)| Call::Link(node, change)),
        2 => (0_usize..32, reading).prop_map(|(node, reading)| Call::Clock(node % 7, reading)),
        1 => any::<u64>().prop_map(Call::Epoch),
        3 => Just(Call::Timeout),
    ];
    (0_u64..3_000, call)
}

/// Makes the call, under this number if it is an operation.
fn make(engine: &mut Engine, now: Instant, id: OperationId, call: Call) {
    let node = |index| NodeId::new(index).expect("below 32");
    let operation = match call {
        Call::Acquire(patience, is_fenced, permits) => acquire(patience, is_fenced, permits),
        Call::Extend(id, ttl) => {
            let (lease, ttl) = (OperationId::new(id), ttl.map(Duration::from_millis));
            let ttl = ttl.map(|ttl| Ttl::new(ttl).expect("in range"));
            Operation::Extend { lease, ttl }
        }
        Call::Heartbeat(id) => Operation::Heartbeat(OperationId::new(id)),
        Call::Release(id) => Operation::Release(OperationId::new(id)),
        Call::Cancel(id) => Operation::Cancel(OperationId::new(id)),
        Call::HandOver(id) => Operation::HandOver(OperationId::new(id)),
        Call::Inspect => {
            let (resource, limit) = (resource(), Duration::from_millis(100));
            Operation::Inspect { resource, limit }
        }
        Call::Evict => Operation::Evict {
            resource: resource(),
            owner: Owner::from_bytes(b"bob").expect("three bytes"),
            timing: Box::new(timing()),
        },
        Call::Reply(index, tag, vote) => {
            engine.handle_reply(now, node(index), tag, vote);
            return;
        }
        Call::Link(index, change) => {
            engine.handle_link(now, node(index), change);
            return;
        }
        Call::Clock(index, reading) => {
            let _ = engine.handle_clock(now, node(index), reading);
            return;
        }
        Call::Epoch(seconds) => {
            engine.set_epoch(Duration::from_secs(seconds));
            return;
        }
        Call::Timeout => {
            engine.handle_timeout(now);
            return;
        }
    };
    engine.submit(now, id, || Seed::new([1; Seed::LENGTH]), operation);
}

/// A refusal that tells of permits, such as no node would give them as well.
fn taken((of, slots): (u16, Vec<(u16, u64)>)) -> Vote {
    let slots = slots.into_iter();
    let slots = slots.map(|(slot, left)| (slot, Duration::from_millis(left)));
    let of = PermitCount::new(of).expect("1 to 3");
    Vote::Refused(Refusal {
        permits: Some(Box::new(TakenPermits {
            of,
            slots: slots.collect(),
        })),
        ..Refusal::default()
    })
}

fn acquire(patience: Option<u64>, is_fenced: bool, permits: Option<u16>) -> Operation {
    let patience = patience.map(Duration::from_millis);
    // Some of them renew, and all of them have limits.
    let renewal = if patience.is_none() {
        AutoRenewal::Thirds
    } else {
        AutoRenewal::Off
    };
    let policy = RenewalPolicy {
        renewal,
        most_extensions: Some(5),
        most_hold: Some(Duration::from_secs(2)),
        least_hold: Some(Duration::from_millis(50)),
        heartbeat: Some(Duration::from_millis(700)),
        danger: None,
    };
    let acquire = acquire_request(patience, policy);
    let config = LockConfig {
        is_fenced,
        ..LockConfig::clone(&acquire.config)
    };
    let permit = |of| Resource::permit("r", PermitCount::new(of)?).ok();
    Operation::Acquire(AcquireRequest {
        resource: permits.and_then(permit).unwrap_or_else(resource),
        config: Arc::new(config),
        ..acquire
    })
}

/// A TTL of a second, an allowance of 12 ms, three tries with 30 ms between them.
fn acquire_request(patience: Option<Duration>, policy: RenewalPolicy) -> AcquireRequest {
    let pause = Duration::from_millis(30);
    AcquireRequest {
        resource: resource(),
        config: Arc::new(LockConfig {
            timing: timing(),
            retry: Retry::default()
                .with_tries(NonZeroU32::new(3))
                .with_pause(Pause::Between {
                    least: pause,
                    most: pause * 2,
                }),
            owners: OwnerSource::default(),
            policy,
            is_fenced: false,
            queues: false,
            asks_one_first: false,
            is_fair: false,
        }),
        from: None,
        patience,
    }
}

fn resource() -> Resource {
    Resource::new("r").expect("a plain name")
}

fn timing() -> Timing {
    let ttl = Ttl::new(world::TTL).expect("in range");
    Timing::new(ttl, Drift::DEFAULT, None).expect("they fit")
}
