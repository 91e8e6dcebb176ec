//! When the shell looks at the clock: behind the answers that are in, and before what it asks.

mod ending;
mod gone;

use super::LEAST_HEARD;
use crate::{
    AcquireError, LockManager, ManagerBuilder, Plain,
    clock::{Clock, Timeline},
    link::{Link, LinkEvent, Message, NodeName},
    observe::Observation,
};
use leasehold_core::{Refusal, Tag, Vote};
use std::{
    collections::VecDeque,
    future::Future,
    pin::pin,
    sync::{Arc, Condvar, Mutex},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

/// A node that gives one answer to everything, when the test lets it.
#[derive(Clone)]
struct SlowNode(Arc<(Mutex<SlowNodeState>, Condvar)>);

struct SlowNodeState {
    timeline: &'static Timeline,
    /// What time passes while the shell takes an answer.
    takes: Duration,
    /// What time of the machine passes while the shell gives it a request.
    giving_takes: Duration,
    /// How often it is polled before it answers what has left.
    holds_back: usize,
    /// Who speaks as soon as this one has answered something.
    next: Option<SlowNode>,
    /// What is dropped as soon as it has answered something, before the shell takes the answer.
    drops: Option<Box<dyn Send>>,
    is_silent: bool,
    is_up: bool,
    vote: Vote,
    given: Vec<Tag>,
    /// What has left: since the link was polled after it was given.
    asked: VecDeque<Tag>,
    answered: usize,
    /// How many requests had left when each answer was taken.
    had_left: Vec<usize>,
    waker: Option<Waker>,
}

impl SlowNode {
    fn new(timeline: &'static Timeline, takes: Duration, is_silent: bool) -> Self {
        let desk = SlowNodeState {
            timeline,
            takes,
            giving_takes: Duration::ZERO,
            holds_back: 0,
            next: None,
            drops: None,
            is_silent,
            is_up: false,
            vote: Vote::GRANTED,
            given: Vec::new(),
            asked: VecDeque::new(),
            answered: 0,
            had_left: Vec::new(),
            waker: None,
        };
        Self(Arc::new((Mutex::new(desk), Condvar::new())))
    }

    fn with<T>(&self, what: impl FnOnce(&mut SlowNodeState) -> T) -> T {
        what(&mut self.0.0.lock().expect("nobody panics with it"))
    }

    /// Waits until so many requests have reached it since the start, for ten seconds at most.
    fn is_asked(&self, count: usize) -> bool {
        let desk = self.0.0.lock().expect("nobody panics with it");
        let is_short = |desk: &mut SlowNodeState| desk.answered + desk.asked.len() < count;
        let waited = self
            .0
            .1
            .wait_timeout_while(desk, Duration::from_secs(10), is_short);
        !waited.expect("nobody panics with it").1.timed_out()
    }

    /// Lets it answer.
    fn speak(&self) {
        let waker = self.with(|desk| {
            desk.is_silent = false;
            desk.waker.take()
        });
        waker.expect("somebody listens").wake();
    }

    fn manager(&self, clock: Clock) -> LockManager<Plain> {
        self.built(LockManager::builder().clock(clock))
    }

    fn built(&self, builder: ManagerBuilder) -> LockManager<Plain> {
        let node = self.clone();
        let built = builder.link(NodeName::new("node"), move |_| node.clone());
        let built = built.build_plain();
        built.expect("one node and the default options")
    }
}

impl Link for SlowNode {
    fn send(&mut self, message: &mut Message<'_>) {
        self.with(|desk| {
            let begun = Clock::system().now();
            while Clock::system().now() < begun.saturating_add(desk.giving_takes) {
                std::hint::spin_loop();
            }
            desk.given.push(message.tag());
        });
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, _: usize) -> Poll<()> {
        events.push(ready!(self.next(cx)));
        Poll::Ready(())
    }
}

impl SlowNode {
    fn next(&self, cx: &Context<'_>) -> Poll<LinkEvent> {
        let mut drops = None;
        let polled = self.with(|desk| {
            if !std::mem::replace(&mut desk.is_up, true) {
                return Poll::Ready(LinkEvent::Up(None));
            }
            desk.asked.extend(desk.given.drain(..));
            if desk.holds_back > 0 && !desk.asked.is_empty() {
                desk.holds_back -= 1;
                return Poll::Pending;
            }
            let tag = Some(&mut desk.asked).filter(|_| !desk.is_silent);
            let Some(tag) = tag.and_then(VecDeque::pop_front) else {
                desk.waker = Some(cx.waker().clone());
                return Poll::Pending;
            };
            desk.answered += 1;
            desk.had_left.push(desk.answered + desk.asked.len());
            desk.timeline.jump(desk.takes);
            if let Some(next) = desk.next.take() {
                next.with(|desk| desk.is_silent = false);
            }
            drops = desk.drops.take();
            Poll::Ready(LinkEvent::Reply(tag, desk.vote.clone()))
        });
        drop(drops);
        self.0.1.notify_all();
        polled
    }
}

fn told() -> (Clock, &'static Timeline) {
    let clock = Clock::told();
    (clock, clock.timeline().expect("it is a test's"))
}

#[test]
fn an_answer_is_not_taken_for_earlier_than_it_is() {
    // Argument S2: the machine stands still between the answer and the caller that takes it, and the key is over by then.
    let (clock, timeline) = told();
    let node = SlowNode::new(timeline, Duration::from_secs(10), false);
    let (tells, told) = std::sync::mpsc::channel();
    let builder = LockManager::builder().clock(clock);
    let builder = builder.observer(move |seen: &Observation<'_>| {
        if matches!(seen, Observation::Acquired { .. }) {
            let _ = tells.send(());
        }
    });
    let manager = node.built(builder);
    let mutex = manager.mutex("r").expect("a name");
    let mut tried = pin!(mutex.try_acquire());
    let mut cx = Context::from_waker(Waker::noop());
    // The shell runs on a thread of its own, and may have answered at the first look.
    let mut looked = tried.as_mut().poll(&mut cx);
    timeline.settle();
    if looked.is_pending() {
        looked = tried.poll(&mut cx);
    }
    let Poll::Ready(tried) = looked else {
        panic!("the node has answered")
    };
    let error = tried.expect_err("its time was over before it was won");
    assert!(matches!(error, AcquireError::TooLate { .. }), "{error}");
    // The caller would find that out by its own look at the clock, but nobody may be told that it was won.
    assert!(told.try_recv().is_err());
}

#[test]
fn an_answer_that_is_in_is_not_late_however_many_are() {
    // The process was stopped while the answers came: for longer than a node may take, and not as long as the leases last.
    let (clock, timeline) = told();
    let node = SlowNode::new(timeline, Duration::ZERO, true);
    let manager = node.manager(clock);
    let names = (0..40).map(|number| format!("r{number}"));
    let mutexes: Vec<_> = names
        .map(|name| manager.mutex(&name).expect("a name"))
        .collect();
    let mut tries: Vec<_> = mutexes
        .iter()
        .map(|mutex| Box::pin(mutex.try_acquire()))
        .collect();
    let mut cx = Context::from_waker(Waker::noop());
    for tried in &mut tries {
        assert!(tried.as_mut().poll(&mut cx).is_pending());
    }
    timeline.settle();
    timeline.jump(Duration::from_secs(9));
    node.with(|desk| desk.is_silent = false);
    timeline.settle();
    for tried in tries {
        let Poll::Ready(Ok(guard)) = pin!(tried).poll(&mut cx) else {
            panic!("the node has granted, and there is time left")
        };
        assert!(guard.is_valid());
    }
}

#[test]
fn a_confirmation_that_is_in_counts_at_the_end_however_many_are() {
    // The node hung for longer than it may, and nobody waits for its answers by now.
    let (clock, timeline) = told();
    let node = SlowNode::new(timeline, Duration::ZERO, false);
    let manager = node.manager(clock);
    let names = (0..40).map(|number| format!("r{number}"));
    let mutexes: Vec<_> = names
        .map(|name| manager.mutex(&name).expect("a name"))
        .collect();
    let mut tries: Vec<_> = mutexes
        .iter()
        .map(|mutex| Box::pin(mutex.try_acquire()))
        .collect();
    let mut cx = Context::from_waker(Waker::noop());
    let mut guards = Vec::new();
    for tried in &mut tries {
        let mut looked = tried.as_mut().poll(&mut cx);
        timeline.settle();
        if looked.is_pending() {
            looked = tried.as_mut().poll(&mut cx);
        }
        let Poll::Ready(Ok(guard)) = looked else {
            panic!("the node has granted")
        };
        guards.push(guard);
    }
    node.with(|desk| desk.is_silent = true);
    drop(guards);
    timeline.settle();
    timeline.jump(Duration::from_secs(2));
    timeline.settle();
    // To take them all takes longer than a shell that ends goes on.
    node.with(|desk| {
        desk.is_silent = false;
        desk.takes = Duration::from_millis(100);
    });
    let mut ended = pin!(manager.shutdown());
    let mut looked = ended.as_mut().poll(&mut cx);
    timeline.settle();
    if looked.is_pending() {
        looked = ended.poll(&mut cx);
    }
    assert_eq!(looked, Poll::Ready(Some(0)));
}

#[test]
fn a_node_has_something_to_do_while_its_answers_are_taken() {
    let (clock, timeline) = told();
    let node = SlowNode::new(timeline, Duration::ZERO, true);
    node.with(|desk| desk.vote = Vote::Refused(Refusal::default()));
    let manager = node.manager(clock);
    let count = 2 * LEAST_HEARD;
    let names = (0..count).map(|number| format!("r{number}"));
    let mutexes: Vec<_> = names
        .map(|name| manager.mutex(&name).expect("a name"))
        .collect();
    let mut tries: Vec<_> = mutexes
        .iter()
        .map(|mutex| Box::pin(mutex.try_acquire()))
        .collect();
    let mut cx = Context::from_waker(Waker::noop());
    for tried in &mut tries {
        assert!(tried.as_mut().poll(&mut cx).is_pending());
    }
    assert!(node.is_asked(count), "it is asked for all of them");
    node.speak();
    // Step 5: each refusal is followed by a release.
    assert!(
        node.is_asked(2 * count),
        "what may have been set is taken back"
    );
    let had_left = node.with(|desk| desk.had_left[LEAST_HEARD]);
    assert_eq!(had_left, count + LEAST_HEARD, "what follows from the first");
}

#[test]
fn a_guest_goes_on_with_what_it_began_before_it_told_somebody() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.worker_threads(1).enable_all().build();
    let runtime = built.expect("a runtime");
    // No timer wakes it: time stands still.
    let (clock, timeline) = told();
    let node = SlowNode::new(timeline, Duration::ZERO, true);
    node.with(|desk| desk.vote = Vote::Refused(Refusal::default()));
    let builder = LockManager::builder().clock(clock);
    let manager = node.built(builder.on_runtime(runtime.handle().clone()));
    let mutex = manager.mutex("r").expect("a name");
    let tried = runtime.spawn(async move { mutex.try_acquire().await.map(drop) });
    assert!(node.is_asked(1), "it is asked for the lock");
    node.speak();
    let error = runtime.block_on(tried).expect("it does not panic");
    assert!(error.expect_err("it is refused").is_contention());
    assert!(
        node.is_asked(2),
        "step 5: what may have been set is taken back"
    );
}
