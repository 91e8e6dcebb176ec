//! For those who write links to nodes of other kinds: what a link must promise.
//!
//! Programs that lock need nothing of this: they name nodes by [`ManagerBuilder::nodes`](crate::ManagerBuilder::nodes),
//! [`file`](crate::ManagerBuilder::file) or [`memory`](crate::ManagerBuilder::memory). A link of your own is given to
//! [`ManagerBuilder::link`](crate::ManagerBuilder::link), and must pass the suite of the feature `conformance`.

use leasehold_core::{Identity, Reading, Resource, Tag, Vote};
use std::{
    fmt,
    task::{Context, Poll, Waker},
};

#[cfg(all(feature = "file", unix))]
pub mod file;
pub mod memory;
mod message;
#[cfg(feature = "redis")]
pub mod redis;
mod watch;

pub use message::{Draft, Message, Wording};

/// A connection to one node, driven by the manager's thread or task.
///
/// A link knows [`Request`](leasehold_core::Request) and [`Vote`] and nothing else of the algorithm. What it promises:
///
/// * Every request that was given to [`send`](Self::send) is answered at most once, and is answered
///   exactly once unless it is still in the hands of a node that does not answer. What is never answered
///   is never forgotten: a release stays with the manager until the link has said what became of it, so
///   a link must bound how much it lets wait.
/// * Requests of one connection for one lock take effect on the node in the order in which they were given, or not at all.
///   In particular a release that was given after an acquire never takes effect before it, so that one release is enough
///   whenever the acquire is answered. A request that was lost with its connection has no order any more: it is answered
///   as [`Disconnected`](leasehold_core::FaultKind::Disconnected) when the connection is given up, and never as granted
///   after that.
/// * A request is never sent a second time by the link itself once it may have taken effect.
/// * [`Vote::GRANTED`] and [`Vote::Refused`] are certain. If the link cannot know, the vote is
///   [`Vote::Unknown`], and the fault's kind tells whether the request may have taken effect.
/// * Neither method waits. Time limits are the engine's: a link keeps a request that ran out of time in
///   its place, since the request may still take effect.
/// * A node that is down costs nothing: a request for it is answered [`Unknown`](Vote::Unknown) with
///   [`FaultKind::Down`](leasehold_core::FaultKind::Down) at once, and the link finds its way back by
///   itself. Only before the very first connection has succeeded or failed may requests wait for it.
pub trait Link: Send + 'static {
    /// Gives a request to the link. Does not wait; the request leaves at the next [`poll`](Self::poll), together with
    /// whatever else was given until then.
    fn send(&mut self, message: &mut Message<'_>);

    /// Moves what can be moved, and adds to `events` what the link has to tell, in order. It takes no further answer once
    /// it has added `most` events; what one answer or the end of a connection brings, it tells as a whole.
    ///
    /// [`Poll::Pending`] means that nothing more is to be told now: the waker of `cx` will be woken when there is. After
    /// [`Poll::Ready`], which a link says only if it has added something, there may be more, so the caller polls again.
    ///
    /// The caller also polls after each [`send`](Self::send). It may send between two polls: what it gives then should
    /// leave before further answers are taken, so that the node has something to do meanwhile.
    fn poll(&mut self, cx: &mut Context<'_>, events: &mut Vec<LinkEvent>, most: usize) -> Poll<()>;

    /// From now on the link is polled within another tokio runtime, which runs where this is called. The one before may have
    /// been dropped, or its threads may be blocked: what was registered there, sockets and timers, is to be registered anew.
    /// Nothing need be done by a link that has nothing of tokio's; by default nothing is.
    fn change_runtime(&mut self) {}
}

/// What comes back from a link.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "the manager must know them all")]
pub enum LinkEvent {
    /// A node's answer to the request of this tag.
    Reply(Tag, Vote),
    /// What the node's clock showed while it had a request. Told before the answer to that request, by links to
    /// nodes that have a clock of their own.
    Clock(Reading),
    /// A hint that the key of this resource may have changed on the node, no matter by whom; any key, if none is
    /// named. After it has refused an acquire, has extended a key or was asked to inspect one, the node tells of the next
    /// change to it, once; also for no reason, and not of one that came by the same connection. Not after a grant:
    /// on a server it would cost every uncontended vote, so a lease that has been held for 100 ms inspects its keys.
    /// An expiry is told when the node notices it, which may be late or, with some nodes, never. A link that gives
    /// hints begins with one about all keys after each [`Up`](Self::Up): some may have been missed, and so it is
    /// known that there will be more. A link that is told of some changes only, because others reach the node by ways
    /// of which it does not hear, may tell of those, but never of all keys. Nothing depends on a hint but how soon a waiter looks again (argument [S10](crate::safety#s10)).
    Changed(Option<Resource>),
    /// The node can be asked. Told once per connection, before any answer that came over it; with the identity of
    /// the node, if it tells one, so that a node that is given twice is found out.
    Up(Option<Identity>),
    /// Another server is the node from now on, by a change of the list of nodes that all who use them have agreed on: the one of
    /// this name. Told after the answers to all requests that were lost with the connection to the one before, and before the
    /// link to any other node asks as the new list does.
    Replaced(NodeName),
    /// The node cannot be asked any more, or still not, with the reason as a lower-case fragment.
    /// Told after the answers to all requests that were lost with the connection.
    Down(String),
}

/// What a node is called in messages: its address without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeName(std::sync::Arc<str>);

impl NodeName {
    /// A node of this name. The name must not contain a password.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Sees to it that who polls is woken.
pub(crate) fn wake_later(waker: &mut Option<Waker>, cx: &Context<'_>) {
    if !waker.as_ref().is_some_and(|it| it.will_wake(cx.waker())) {
        *waker = Some(cx.waker().clone());
    }
}
