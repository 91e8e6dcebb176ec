//! A node that answers when the test says so.

use leasehold::{
    clock::Clock,
    link::{
        Draft, Link, LinkEvent, Message,
        memory::{MemoryLink, MemoryNode},
    },
};
use leasehold_core::{Instant, Request, Tag};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

/// A door in front of a node: what is sent while it is closed waits, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    closed: bool,
    /// Whether the node's hints are kept back.
    deaf: bool,
    seen: Vec<Request>,
    waker: Option<Waker>,
}

impl Gate {
    pub(crate) fn closed() -> Self {
        let gate = Self::default();
        gate.set(true);
        gate
    }

    /// A node that does not tell of changes.
    pub(crate) fn deaf() -> Self {
        let gate = Self::default();
        gate.0.lock().unwrap().deaf = true;
        gate
    }

    pub(crate) fn open(&self) {
        self.set(false);
    }

    pub(crate) fn close(&self) {
        self.set(true);
    }

    /// What was sent so far, whether or not it came through.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.0.lock().unwrap().seen.clone()
    }

    pub(crate) fn link(&self, node: &MemoryNode, clock: Clock) -> GatedLink {
        GatedLink {
            gate: self.clone(),
            waiting: VecDeque::new(),
            inner: node.link(clock),
        }
    }

    fn set(&self, closed: bool) {
        let mut state = self.0.lock().unwrap();
        state.closed = closed;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

#[derive(Debug)]
pub(crate) struct GatedLink {
    gate: Gate,
    waiting: VecDeque<(Tag, Request, Instant)>,
    inner: MemoryLink,
}

impl Link for GatedLink {
    fn send(&mut self, message: &mut Message<'_>) {
        let (tag, request, given) = (message.tag(), message.request(), message.given());
        self.gate.0.lock().unwrap().seen.push(request.clone());
        self.waiting.push_back((tag, request.clone(), given));
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()> {
        let mut state = self.gate.0.lock().unwrap();
        state.waker = Some(cx.waker().clone());
        if !state.closed {
            for (tag, request, given) in self.waiting.drain(..) {
                let mut draft = Draft::default();
                let message = &mut Message::new(tag, &request, given, &mut draft);
                self.inner.send(message);
            }
        }
        let polled = self.inner.poll(cx, events, most);
        if state.deaf {
            events.retain(|event| !matches!(event, LinkEvent::Changed(_)));
        }
        polled
    }
}
