//! The way to a node that can be broken.

use super::node::Node;
use crate::{
    clock::Clock,
    link::{Link, LinkEvent, Message, wake_later},
};
use leasehold_core::{Fault, FaultKind, Instant, Reading, Request, Tag, Vote};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// The link to a [`Node`](super::Node).
#[derive(Debug)]
pub struct NodeLink {
    node: Node,
    clock: Clock,
    wire: Arc<TestWire>,
}

/// What is on its way.
#[derive(Debug, Default)]
pub(super) struct TestWire(Mutex<LinkState>);

#[derive(Debug, Default)]
struct LinkState {
    /// What the node has not done yet, in order.
    asked: VecDeque<Asked>,
    events: VecDeque<LinkEvent>,
    waker: Option<Waker>,
}

#[derive(Debug)]
struct Asked {
    tag: Tag,
    request: Request,
    given: Instant,
}

impl NodeLink {
    pub(super) const fn new(node: Node, clock: Clock, wire: Arc<TestWire>) -> Self {
        Self { node, clock, wire }
    }

    /// Lets the node do what is due, in order.
    fn carry_out(&self) {
        let mut node = self.node.lock();
        let mut wire = self.wire.lock();
        while let Some(first) = wire.asked.front() {
            let Some(due) = node.due(first.given) else {
                return;
            };
            if due > self.clock.now() {
                self.node.ring_at(due);
                return;
            }
            let Some(asked) = wire.asked.pop_front() else {
                return;
            };
            // A waiter that is told of a change may be woken by it.
            drop(wire);
            let vote = node.carry_out(self.clock, &self.wire, &asked.request);
            let reading = Reading {
                node: node.now(self.clock).since_origin(),
                asked: asked.given,
            };
            wire = self.wire.lock();
            wire.events.push_back(LinkEvent::Clock(reading));
            wire.events.push_back(LinkEvent::Reply(asked.tag, vote));
        }
    }
}

impl Link for NodeLink {
    fn send(&mut self, message: &mut Message<'_>) {
        let tag = message.tag();
        let node = self.node.lock();
        let mut wire = self.wire.lock();
        match node.down() {
            Some(reason) => {
                let fault = Fault::new(FaultKind::Down, reason);
                let vote = Vote::Unknown(fault);
                wire.events.push_back(LinkEvent::Reply(tag, vote));
            }
            None => wire.asked.push_back(Asked {
                tag,
                request: message.request().clone(),
                given: message.given(),
            }),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()> {
        self.carry_out();
        let mut wire = self.wire.lock();
        let count = wire.events.len().min(most);
        events.extend(wire.events.drain(..count));
        if wire.events.is_empty() {
            wake_later(&mut wire.waker, cx);
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl TestWire {
    /// The connection is there. What happened before was not told.
    pub(super) fn open(&self) {
        self.put([LinkEvent::Up(None), LinkEvent::Changed(None)]);
    }

    /// The connection is gone, and with it the answers to what was asked.
    pub(super) fn cut(&self, vote: &Vote, reason: &str) {
        let lost = std::mem::take(&mut self.lock().asked);
        let lost = lost.into_iter();
        let lost = lost.map(|asked| LinkEvent::Reply(asked.tag, vote.clone()));
        self.put(lost.chain([LinkEvent::Down(reason.to_owned())]));
    }

    pub(super) fn tell(&self, event: LinkEvent) {
        self.put([event]);
    }

    pub(super) fn wake(&self) {
        self.put([]);
    }

    fn put(&self, events: impl IntoIterator<Item = LinkEvent>) {
        let mut state = self.lock();
        state.events.extend(events);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, LinkState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
