//! A node that is a table in this process: for tests, examples, and programs without servers.

use super::{Link, LinkEvent, Parcel};
use crate::clock::Clock;
use leasehold_core::Table;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

/// One node in memory. Clones are the same node: managers that share it exclude each other.
///
/// # Examples
/// ```
/// # use leasehold::link::memory::MemoryNode;
/// let nodes = [MemoryNode::new(), MemoryNode::new(), MemoryNode::new()];
/// let same_nodes = nodes.clone();
/// # let _ = same_nodes;
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryNode(Arc<Mutex<Table>>);

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
            answers: VecDeque::from([LinkEvent::Up(None)]),
            waker: None,
        }
    }
}

/// The link to a [`MemoryNode`]. It answers at once.
#[derive(Debug)]
pub struct MemoryLink {
    node: MemoryNode,
    clock: Clock,
    answers: VecDeque<LinkEvent>,
    waker: Option<Waker>,
}

impl Link for MemoryLink {
    fn send(&mut self, parcel: &Parcel) {
        // A panic cannot leave the table half changed: it changes in a single step.
        let mut table = self.node.0.lock().unwrap_or_else(PoisonError::into_inner);
        let request = parcel.request.clone().as_seen_at(self.clock.wall());
        let vote = table.apply(self.clock.now(), &request);
        self.answers.push_back(LinkEvent::Reply(parcel.tag, vote));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent> {
        match self.answers.pop_front() {
            Some(event) => Poll::Ready(event),
            None => {
                self.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
