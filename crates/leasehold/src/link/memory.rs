//! A node that is a table in this process: for tests, examples, and programs without servers.

use super::{
    Link, LinkEvent, Message, wake_later,
    watch::{Watch, Watchers},
};
use crate::clock::Clock;
use leasehold_core::{Resource, Table};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// One node in memory. Clones are the same node: managers that share it exclude each other. Its links are told of
/// what the others change, but not of a TTL that has ended.
///
/// # Examples
/// ```
/// # use leasehold::link::memory::MemoryNode;
/// let nodes = [MemoryNode::new(), MemoryNode::new(), MemoryNode::new()];
/// let same_nodes = nodes.clone();
/// # let _ = same_nodes;
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryNode(Arc<Mutex<MemoryState>>);

#[derive(Debug, Default)]
struct MemoryState {
    table: Table,
    watchers: Watchers<MemoryInbox>,
}

impl MemoryNode {
    /// A node without keys.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A link to this node.
    #[must_use]
    pub fn link(&self, clock: Clock) -> MemoryLink {
        MemoryLink {
            node: self.clone(),
            clock,
            inbox: Arc::new(MemoryInbox(Mutex::new(MemoryInboxState {
                events: VecDeque::from([LinkEvent::Up(None), LinkEvent::Changed(None)]),
                waker: None,
            }))),
        }
    }
}

/// The link to a [`MemoryNode`]. It answers at once.
#[derive(Debug)]
pub struct MemoryLink {
    node: MemoryNode,
    clock: Clock,
    inbox: Arc<MemoryInbox>,
}

/// What a link has to tell, and whom to wake.
#[derive(Debug)]
struct MemoryInbox(Mutex<MemoryInboxState>);

#[derive(Debug)]
struct MemoryInboxState {
    events: VecDeque<LinkEvent>,
    waker: Option<Waker>,
}

impl MemoryInbox {
    fn put(&self, event: LinkEvent) {
        let mut state = lock(&self.0);
        state.events.push_back(event);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Watch for MemoryInbox {
    fn tell(&self, resource: Option<&Resource>) {
        self.put(LinkEvent::Changed(resource.cloned()));
    }
}

impl Link for MemoryLink {
    fn send(&mut self, message: &mut Message<'_>) {
        let request = message.request().as_seen_at(self.clock.wall());
        let mut node = lock(&self.node.0);
        let vote = node.table.apply(self.clock.now(), &request);
        let seen = std::iter::repeat(());
        node.watchers.note(&self.inbox, &request, &vote, seen);
        drop(node);
        self.inbox.put(LinkEvent::Reply(message.tag(), vote));
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()> {
        let mut state = lock(&self.inbox.0);
        let count = state.events.len().min(most);
        events.extend(state.events.drain(..count));
        if state.events.is_empty() {
            wake_later(&mut state.waker, cx);
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// A panic cannot leave the value half changed: it changes in a single step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
