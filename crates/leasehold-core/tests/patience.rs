//! What must not go on for ever, however the nodes behave.

use core::{num::NonZeroU32, time::Duration};
use leasehold_core::{
    Abstention, AbstentionCause, AcquireRequest, AutoRenewal, Drift, Engine, Event, Fault, Instant,
    LockConfig, Operation, OperationId, OwnerSource, Pause, Quorum, Reading, RenewalPolicy,
    Request, Resource, Retry, Seed, Timing, Ttl, Vote,
};
use std::{collections::VecDeque, sync::Arc};

fn acquire_request(name: &str, drift: Drift) -> AcquireRequest {
    let pause = Duration::from_millis(50);
    let config = LockConfig {
        timing: Timing::new(Ttl::DEFAULT, drift, None).expect("they go together"),
        retry: Retry::default()
            .with_tries(NonZeroU32::new(32))
            .with_pause(Pause::Between {
                least: pause,
                most: pause,
            }),
        owners: OwnerSource::default(),
        policy: RenewalPolicy {
            renewal: AutoRenewal::Thirds,
            ..RenewalPolicy::default()
        },
        is_fenced: false,
        queues: false,
        asks_one_first: false,
        is_fair: false,
    };
    AcquireRequest {
        resource: Resource::new(name).expect("a name"),
        config: Arc::new(config),
        from: None,
        patience: None,
    }
}

/// How often leases are extended in ten seconds on a node whose clock is fast by so many millionths.
fn extensions(fast_ppm: u64, leases: u8) -> usize {
    let mut engine = Engine::new(Quorum::majority(1).expect("one node"));
    let mut now = Instant::from_origin(Duration::from_secs(1));
    let drift = Drift::new(50_000, Duration::from_millis(2));
    for lease in 0..leases {
        let operation = Operation::Acquire(acquire_request(&lease.to_string(), drift));
        let id = OperationId::new(lease.into());
        engine.submit(now, id, || Seed::new([lease; Seed::LENGTH]), operation);
    }
    let end = Instant::from_origin(Duration::from_secs(11));
    let (mut count, mut waiting) = (0, VecDeque::new());
    while now < end {
        while let Some(send) = engine.poll_send() {
            count += usize::from(matches!(send.request, Request::Extend { .. }));
            let at = now.saturating_add(Duration::from_micros(200));
            waiting.extend(send.nodes.iter().map(|node| (now, at, node, send.tag)));
        }
        while engine.poll_event().is_some() {}
        let answer = waiting.front().map(|(_, at, ..)| *at);
        let next = answer.into_iter().chain(engine.poll_timeout()).min();
        now = next.expect("leases are renewed").max(now);
        let answered = answer
            .filter(|at| *at <= now)
            .and_then(|_| waiting.pop_front());
        match answered {
            Some((asked, at, node, tag)) => {
                let micros = u64::try_from(at.since_origin().as_micros()).expect("seconds") - 100;
                let fast = micros * fast_ppm / 1_000_000;
                let node_clock = Duration::from_micros(micros + fast);
                let reading = Reading {
                    node: node_clock,
                    asked,
                };
                engine.handle_clock(now, node, reading);
                engine.handle_reply(now, node, tag, Vote::GRANTED);
            }
            None => engine.handle_timeout(now),
        }
    }
    count
}

#[test]
fn a_fast_clock_leads_to_no_storm_of_extensions() {
    // By less than the drift that is configured, and by more.
    for fast_ppm in [0, 9_000, 30_000, 200_000] {
        for leases in [1, 2, 4] {
            let count = extensions(fast_ppm, leases);
            let usual = 4 * usize::from(leases);
            assert!(
                count <= 3 * usual,
                "{fast_ppm} ppm, {leases} leases: {count}"
            );
        }
    }
}

#[test]
fn nodes_that_abstain_again_and_again_are_not_waited_for_for_ever() {
    let mut engine = Engine::new(Quorum::majority(1).expect("one node"));
    let mut now = Instant::from_origin(Duration::from_secs(1));
    let acquire = acquire_request("r", Drift::DEFAULT);
    engine.submit(
        now,
        OperationId::new(0),
        || Seed::new([1; Seed::LENGTH]),
        Operation::Acquire(acquire),
    );
    let abstention = Abstention {
        cause: AbstentionCause::Empty,
        left: Duration::from_secs(30),
    };
    let day = Instant::from_origin(Duration::from_secs(24 * 60 * 60));
    while now < day {
        while let Some(send) = engine.poll_send() {
            for node in send.nodes.iter() {
                let vote = match send.request {
                    Request::Acquire { .. } => Vote::Unknown(Fault::abstained(&abstention)),
                    _ => Vote::GRANTED,
                };
                engine.handle_reply(now, node, send.tag, vote);
            }
        }
        if let Some((_, Event::NotAcquired(failure))) = engine.poll_event() {
            // Twice what was told at first, and then the tries.
            assert!(failure.waited >= Duration::from_secs(60));
            assert!(failure.waited <= Duration::from_secs(100));
            return;
        }
        now = engine.poll_timeout().expect("it tries again").max(now);
        engine.handle_timeout(now);
    }
    panic!("it waits for ever");
}
