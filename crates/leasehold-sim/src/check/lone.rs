//! A lease and a request as an engine makes them: they can be had in no other way.

use leasehold_core::{
    AcquireRequest, AttemptId, Drift, Engine, Event, Instant, Lease, LockConfig, NodeId, Operation,
    OperationId, OwnerSource, Quorum, RenewalPolicy, Resource, Retry, Seed, Send, Timing, Ttl,
    Vote,
};
use std::time::Duration;

/// When it is acquired.
pub(crate) fn begin() -> Instant {
    Instant::from_origin(Duration::from_secs(1))
}

fn engine() -> Engine {
    let config = LockConfig {
        timing: Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("the defaults fit"),
        retry: Retry::default(),
        owners: OwnerSource::default(),
        policy: RenewalPolicy::default(),
        is_fenced: false,
        queues: false,
        asks_one_first: false,
        is_fair: false,
    };
    let acquire = AcquireRequest {
        resource: Resource::new("r").expect("a name"),
        config: config.into(),
        from: None,
        patience: None,
    };
    let mut engine = Engine::new(Quorum::majority(1).expect("one node"));
    let seed = Seed::new([7; Seed::LENGTH]);
    engine.submit(
        begin(),
        OperationId::new(0),
        || seed,
        Operation::Acquire(acquire),
    );
    engine
}

/// The first request of this operation.
pub(crate) fn acquire(operation: OperationId) -> Send {
    let mut sent = engine().poll_send().expect("a request");
    sent.tag.attempt = AttemptId {
        operation,
        number: 0,
    };
    sent
}

/// A lease of `r`, by one node that grants at once.
pub(crate) fn lease() -> Lease {
    let mut engine = engine();
    let sent = engine.poll_send().expect("a request");
    let node = NodeId::new(0).expect("below 32");
    engine.handle_reply(begin(), node, sent.tag, Vote::GRANTED);
    match engine.poll_event() {
        Some((_, Event::Acquired(lease))) => lease,
        other => panic!("a single node granted, and the engine says {other:?}"),
    }
}
