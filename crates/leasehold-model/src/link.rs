//! The connection of one client to one node, as `leasehold::link::Link` promises it.
//!
//! Requests take effect in the order in which they were given, or not at all; each is answered once. A
//! connection that is lost answers for all that was under way.

use leasehold_core::{Fault, FaultKind, Send, Tag, Vote};
use std::{collections::VecDeque, sync::Arc};

/// What is under way between a client and a node.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Link {
    is_down: bool,
    /// Whether requests and answers may take any time.
    is_slow: bool,
    /// Given, and not carried out yet.
    requests: VecDeque<Arc<Send>>,
    /// Carried out, and not heard of yet.
    replies: VecDeque<(Tag, Vote)>,
    /// Given up with a connection, and still on their way: no lawful link has any.
    ghosts: VecDeque<Arc<Send>>,
}

impl Link {
    /// Takes a request; or gives the answer, if there is no connection.
    pub(crate) fn send(&mut self, send: &Arc<Send>) -> Option<Vote> {
        if self.is_down {
            return Some(unknown(FaultKind::Down));
        }
        self.requests.push_back(Arc::clone(send));
        None
    }

    /// The next request that the node carries out.
    pub(crate) fn next_request(&self) -> Option<Arc<Send>> {
        self.requests.front().cloned()
    }

    /// Takes the next request to the node.
    pub(crate) fn take_request(&mut self) -> Option<Arc<Send>> {
        self.requests.pop_front()
    }

    /// Takes the last request away, since too many wait already. Gives the answer.
    pub(crate) fn refuse_last(&mut self) -> Option<(Tag, Vote)> {
        let send = self.requests.pop_back()?;
        Some((send.tag, unknown(FaultKind::Busy)))
    }

    /// Lets the second request overtake the first.
    pub(crate) fn overtake(&mut self) {
        self.requests.swap(0, 1);
    }

    pub(crate) fn has_two_requests(&self) -> bool {
        self.requests.len() > 1
    }

    pub(crate) fn has_one_request(&self) -> bool {
        self.requests.len() == 1
    }

    /// The node has answered.
    pub(crate) fn answer(&mut self, tag: Tag, vote: Vote) {
        self.replies.push_back((tag, vote));
    }

    pub(crate) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    pub(crate) fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Takes the next answer to the client.
    pub(crate) fn take_reply(&mut self) -> Option<(Tag, Vote)> {
        self.replies.pop_front()
    }

    /// Whether something is on its way that does not take a tick, if the client `is_stopped` or not.
    pub(crate) fn holds_up_time(&self, is_stopped: bool) -> bool {
        !self.is_slow && (self.has_requests() || (self.has_replies() && !is_stopped))
    }

    pub(crate) const fn is_slow(&self) -> bool {
        self.is_slow
    }

    /// From now on, until nothing is on its way, everything may take any time.
    pub(crate) fn slow_down(&mut self) {
        self.is_slow = true;
    }

    /// Nothing is on its way, and what comes does not take a tick.
    pub(crate) fn speed_up(&mut self) {
        self.is_slow = false;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.replies.is_empty()
    }

    pub(crate) const fn is_down(&self) -> bool {
        self.is_down
    }

    /// Loses the connection. What the node has not carried out it never will, unless the link `is_haunted`; of
    /// what it has, the answers are lost. The link answers for them all: it cannot know which is which.
    pub(crate) fn break_off(&mut self, is_haunted: bool) -> Vec<(Tag, Vote)> {
        self.is_down = true;
        if is_haunted {
            self.ghosts.extend(self.requests.iter().cloned());
        }
        let carried_out = std::mem::take(&mut self.replies)
            .into_iter()
            .map(|(tag, _)| tag);
        let others = std::mem::take(&mut self.requests)
            .into_iter()
            .map(|send| send.tag);
        carried_out
            .chain(others)
            .map(|tag| (tag, unknown(FaultKind::Disconnected)))
            .collect()
    }

    pub(crate) fn has_ghosts(&self) -> bool {
        !self.ghosts.is_empty()
    }

    /// Takes a request that was given up to the node.
    pub(crate) fn take_ghost(&mut self) -> Option<Arc<Send>> {
        self.ghosts.pop_front()
    }

    /// Finds a connection again.
    pub(crate) fn come_up(&mut self) {
        self.is_down = false;
    }
}

fn unknown(kind: FaultKind) -> Vote {
    Vote::Unknown(Fault::new(kind, "link"))
}
