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
pub struct MemoryNode(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    table: Table,
    watchers: Watchers<Mailbox>,
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
            mailbox: Arc::new(Mailbox(Mutex::new(Letters {
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
    mailbox: Arc<Mailbox>,
}

/// What a link has to tell, and whom to wake.
#[derive(Debug)]
struct Mailbox(Mutex<Letters>);

#[derive(Debug)]
struct Letters {
    events: VecDeque<LinkEvent>,
    waker: Option<Waker>,
}

impl Mailbox {
    fn put(&self, event: LinkEvent) {
        let mut letters = lock(&self.0);
        letters.events.push_back(event);
        let waker = letters.waker.take();
        drop(letters);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Watch for Mailbox {
    fn tell(&self, resource: Option<&Resource>) {
        self.put(LinkEvent::Changed(resource.cloned()));
    }
}

impl Link for MemoryLink {
    fn send(&mut self, message: &mut Message<'_>) {
        let request = message.request().as_seen_at(self.clock.wall());
        let mut node = lock(&self.node.0);
        let vote = node.table.apply(self.clock.now(), &request);
        node.watchers.note(&self.mailbox, &request, &vote, ());
        drop(node);
        self.mailbox.put(LinkEvent::Reply(message.tag(), vote));
    }

    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()> {
        let mut letters = lock(&self.mailbox.0);
        let count = letters.events.len().min(most);
        events.extend(letters.events.drain(..count));
        if letters.events.is_empty() {
            wake_later(&mut letters.waker, cx);
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// A panic cannot leave the value half changed: it changes in a single step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
