//! Many leases of one manager, on nodes that are hardly quick enough for them.

use core::time::Duration;
use leasehold_core::{
    AcquireRequest, AutoRenewal, Drift, Engine, Event, Fault, FaultKind, Instant, LeaseChange,
    LockConfig, NodeId, Operation, OperationId, OwnerSource, Quorum, RenewalPolicy, Resource,
    Retry, Seed, Tag, Timing, Ttl, Vote,
};
use std::{collections::VecDeque, sync::Arc};

const LEASES: u32 = 1_000;

/// Leases that were acquired in the same moment, on nodes that answer one request after the other.
struct Crowd {
    engine: Engine,
    now: Instant,
    /// The answers on their way, in the order in which they come.
    answers: VecDeque<(Instant, NodeId, Tag)>,
    /// When the nodes have done what they were asked so far.
    free: Instant,
    /// For how long a node works at one request.
    work: Duration,
    /// How many requests wait for a node at most.
    room: usize,
    lost: u32,
    in_danger: u32,
    confirmed: u32,
}

impl Crowd {
    fn new() -> Self {
        let timing = Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("they go together");
        let config = Arc::new(LockConfig {
            timing,
            retry: Retry::default(),
            owners: OwnerSource::default(),
            policy: RenewalPolicy {
                renewal: AutoRenewal::Thirds,
                ..RenewalPolicy::default()
            },
            is_fenced: false,
            queues: false,
            asks_one_first: false,
            is_fair: false,
        });
        let mut crowd = Self {
            engine: Engine::new(Quorum::majority(3).expect("three nodes")),
            now: Instant::from_origin(Duration::from_secs(1)),
            answers: VecDeque::new(),
            free: Instant::ORIGIN,
            work: Duration::ZERO,
            room: usize::MAX,
            lost: 0,
            in_danger: 0,
            confirmed: 0,
        };
        for lease in 0..u64::from(LEASES) {
            let acquire = AcquireRequest {
                resource: Resource::new(&lease.to_string()).expect("a name"),
                config: Arc::clone(&config),
                from: None,
                patience: None,
            };
            let mut seed = [0; Seed::LENGTH];
            seed[..8].copy_from_slice(&lease.to_le_bytes());
            seed[20..].copy_from_slice(&lease.to_le_bytes());
            let id = OperationId::new(lease);
            let operation = Operation::Acquire(acquire);
            let engine = &mut crowd.engine;
            engine.submit(crowd.now, id, || Seed::new(seed), operation);
        }
        crowd.pass(Duration::from_millis(1));
        crowd
    }

    /// From now on to extend all of them once takes the nodes so much of the time in which it is due.
    fn load(&mut self, percent: u32) {
        let pace = Ttl::DEFAULT.as_duration() / 3;
        self.work = pace * percent / 100 / LEASES;
    }

    /// The nodes come to nothing for so long.
    fn hang(&mut self, time: Duration) {
        self.free = self.free.max(self.now).saturating_add(time);
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now.saturating_add(time);
        loop {
            while let Some(send) = self.engine.poll_send() {
                // All nodes are alike, so one line of answers stands for those of each.
                if self.answers.len() >= self.room.saturating_mul(send.nodes.len()) {
                    for node in send.nodes.iter() {
                        let busy = Vote::Unknown(Fault::new(FaultKind::Busy, "no room"));
                        self.engine.handle_reply(self.now, node, send.tag, busy);
                    }
                    continue;
                }
                self.free = self.free.max(self.now).saturating_add(self.work);
                let answers = send.nodes.iter().map(|node| (self.free, node, send.tag));
                self.answers.extend(answers);
            }
            while let Some((_, event)) = self.engine.poll_event() {
                match event {
                    Event::Changed(LeaseChange::Lost(_)) => self.lost += 1,
                    Event::Changed(LeaseChange::InDanger(_)) => self.in_danger += 1,
                    Event::Changed(LeaseChange::Confirmed { .. }) => self.confirmed += 1,
                    _ => {}
                }
            }
            let answer = self.answers.front().map(|(at, ..)| *at);
            let next = answer.into_iter().chain(self.engine.poll_timeout()).min();
            self.now = next.unwrap_or(end).max(self.now).min(end);
            if self.now == end {
                return;
            }
            while let Some((_, node, tag)) =
                self.answers.front().copied().filter(|it| it.0 <= self.now)
            {
                self.answers.pop_front();
                self.engine.handle_reply(self.now, node, tag, Vote::GRANTED);
            }
            self.engine.handle_timeout(self.now);
        }
    }
}

#[test]
fn leases_that_are_due_together_are_kept_by_nodes_that_can_just_keep_them() {
    let mut crowd = Crowd::new();
    crowd.load(95);
    crowd.pass(Duration::from_secs(60));
    assert_eq!((crowd.lost, crowd.in_danger), (0, 0));
    // All of them every third of the TTL, in what is left of a minute behind the first third.
    assert!(crowd.confirmed > 16 * LEASES, "{}", crowd.confirmed);
}

#[test]
fn nodes_that_answer_nobody_for_five_seconds_cost_no_lease() {
    let mut crowd = Crowd::new();
    crowd.load(60);
    crowd.pass(Duration::from_secs(20));
    crowd.hang(Duration::from_secs(5));
    crowd.pass(Duration::from_secs(40));
    assert_eq!(crowd.lost, 0);
}

#[test]
fn leases_for_which_there_is_no_room_are_extended_as_there_is_some() {
    let mut crowd = Crowd::new();
    crowd.load(75);
    crowd.room = 20;
    crowd.pass(Duration::from_secs(60));
    assert_eq!((crowd.lost, crowd.in_danger), (0, 0));
}
