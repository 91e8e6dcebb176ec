//! Every way in which three nodes can count, and answer a raise, against a plain definition of the token.

use core::time::Duration;
use leasehold_core::{
    AcquireRequest, Drift, Engine, Event, Fault, FaultKind, FencingToken, Instant, LockConfig,
    NodeId, Operation, OperationId, OwnerSource, Quorum, Refusal, RenewalPolicy, Request, Resource,
    Retry, Seed, Tag, Timing, Ttl, Vote,
};
use std::{collections::VecDeque, num::NonZeroU32, sync::Arc};

/// What a node says to the acquire request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Counts(u64),
    CountsNothing,
    Refuses,
    IsDown,
    IsSilent,
}

const FIRST: [First; 7] = [
    First::Counts(5),
    First::Counts(6),
    First::Counts(7),
    First::CountsNothing,
    First::Refuses,
    First::IsDown,
    First::IsSilent,
];

/// What it says to a raise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Raise {
    Done,
    Refused,
    Silent,
}

const RAISE: [Raise; 3] = [Raise::Done, Raise::Refused, Raise::Silent];

const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

#[test]
fn a_token_is_the_largest_counter_of_the_first_quorum_and_stands_on_a_quorum() {
    // Argument S4.
    let (mut settled, mut lost) = (0_u32, 0_u32);
    for number in 0..7 * 7 * 7 * 27 * 6 * 2 {
        let digit = |from: usize, of: usize| number / from % of;
        let first = [digit(1, 7), digit(7, 7), digit(49, 7)].map(|at| FIRST[at]);
        let raise = [digit(343, 3), digit(1029, 3), digit(3087, 3)].map(|at| RAISE[at]);
        let (order, at_once) = (ORDERS[digit(9261, 6)], digit(55_566, 2) == 0);
        let found = Run::new(first, raise).play(order, at_once);
        let expected = defined(first, raise, order);
        assert_eq!(found, expected, "{first:?} {raise:?} {order:?} {at_once}");
        match found {
            Some(_) => settled += 1,
            None => lost += 1,
        }
    }
    assert!(settled > 10_000 && lost > 10_000, "{settled} and {lost}");
}

#[test]
fn a_node_that_nobody_asked_to_raise_its_counter_does_not_stand_for_the_token() {
    let first = [First::Counts(5), First::Counts(7), First::IsSilent];
    let mut run = Run::new(first, [Raise::Done; 3]);
    run.collect();
    run.answer(0);
    run.answer(1);
    let (raise, _) = run.open[0].front().expect("it is below").clone();
    let unasked = NodeId::new(2).expect("below 32");
    run.engine
        .handle_reply(at(1), unasked, raise, Vote::GRANTED);
    assert_eq!(run.told(), None);
    run.answer(0);
    assert_eq!(run.told(), Some(Some(7)));
}

/// The token as the protocol defines it, without rounds and times: the largest of the first two counters, if two
/// nodes have counted to it under our key, by themselves or because they were asked to.
fn defined(first: [First; 3], raise: [Raise; 3], order: [usize; 3]) -> Option<u64> {
    let counter = |node: usize| match first[node] {
        First::Counts(counter) => Some(counter),
        _ => None,
    };
    let mut told = order.iter().filter_map(|node| counter(*node));
    let token = told.next()?.max(told.next()?);
    let stands = |node: &usize| match counter(*node) {
        Some(counter) if counter < token => raise[*node] == Raise::Done,
        counter => counter == Some(token),
    };
    (order.iter().filter(|node| stands(node)).count() >= 2).then_some(token)
}

struct Run {
    engine: Engine,
    first: [First; 3],
    raise: [Raise; 3],
    open: [VecDeque<(Tag, Request)>; 3],
}

impl Run {
    fn new(first: [First; 3], raise: [Raise; 3]) -> Self {
        let mut engine = Engine::new(Quorum::majority(3).expect("three nodes"));
        let config = LockConfig {
            timing: Timing::new(Ttl::DEFAULT, Drift::DEFAULT, None).expect("they fit"),
            retry: Retry::default().with_tries(NonZeroU32::new(1)),
            owners: OwnerSource::default(),
            policy: RenewalPolicy::default(),
            is_fenced: true,
            queues: false,
            asks_one_first: false,
            is_fair: false,
        };
        let acquire = AcquireRequest {
            resource: Resource::new("r").expect("a plain name"),
            config: Arc::new(config),
            from: None,
            patience: None,
        };
        engine.submit(
            at(0),
            OperationId::new(0),
            || Seed::new([1; Seed::LENGTH]),
            Operation::Acquire(acquire),
        );
        Self {
            engine,
            first,
            raise,
            open: Default::default(),
        }
    }

    /// The token, or none if there is no lease.
    fn play(mut self, order: [usize; 3], at_once: bool) -> Option<u64> {
        self.collect();
        for node in order {
            self.answer(node);
            if at_once {
                self.answer_raises();
            }
        }
        self.answer_raises();
        for _ in 0..3 {
            if let Some(token) = self.told() {
                return token;
            }
            let wake = self.engine.poll_timeout().expect("somebody waits");
            self.engine.handle_timeout(wake);
        }
        panic!("the attempt does not end");
    }

    fn answer_raises(&mut self) {
        for node in 0..3 {
            while matches!(self.open[node].front(), Some((_, Request::Raise { .. }))) {
                self.answer(node);
            }
        }
    }

    fn answer(&mut self, node: usize) {
        let (tag, request) = self.open[node].pop_front().expect("it was asked");
        let vote = match (&request, self.first[node], self.raise[node]) {
            (Request::Acquire { .. }, First::IsSilent, _) => None,
            (Request::Acquire { .. }, First::Counts(counter), _) => Some(Vote::Granted {
                counter: FencingToken::new(counter),
            }),
            (Request::Acquire { .. }, First::CountsNothing, _) => Some(Vote::GRANTED),
            (Request::Acquire { .. }, First::IsDown, _) => {
                Some(Vote::Unknown(Fault::new(FaultKind::Down, "down")))
            }
            (Request::Acquire { .. }, First::Refuses, _) | (_, _, Raise::Refused) => {
                Some(Vote::Refused(Refusal::default()))
            }
            (Request::Raise { token, .. }, First::Counts(counter), raise) => {
                assert!(counter < token.get(), "what is there is not raised");
                (raise == Raise::Done).then_some(Vote::GRANTED)
            }
            (request, ..) => panic!("nobody asks for {request:?}"),
        };
        if let Some(vote) = vote {
            let node = NodeId::new(node).expect("below 32");
            self.engine.handle_reply(at(1), node, tag, vote);
        }
        self.collect();
    }

    fn collect(&mut self) {
        while let Some(send) = self.engine.poll_send() {
            if matches!(send.request, Request::Release { .. }) {
                continue;
            }
            for node in send.nodes.iter() {
                self.open[node.index()].push_back((send.tag, send.request.clone()));
            }
        }
    }

    fn told(&mut self) -> Option<Option<u64>> {
        match self.engine.poll_event()?.1 {
            Event::Acquired(lease) => Some(lease.token.map(FencingToken::get)),
            Event::NotAcquired(_) => Some(None),
            event => panic!("nobody asked for {event:?}"),
        }
    }
}

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}
