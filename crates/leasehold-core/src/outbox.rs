//! What the machines want done.

use crate::{
    node_set::NodeSet,
    request::{Request, Tag},
};
use alloc::collections::VecDeque;

/// A request and the nodes that it is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the shell takes it apart")]
pub struct Send {
    /// Who is asked.
    pub nodes: NodeSet,
    /// Which request the answers belong to.
    pub tag: Tag,
    /// What is asked.
    pub request: Request,
}

/// Requests on their way out, in the order in which they must leave: a release that follows an acquire
/// must not overtake it.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Outbox(VecDeque<Send>);

impl Outbox {
    pub(crate) fn send(&mut self, nodes: NodeSet, tag: Tag, request: Request) {
        if !nodes.is_empty() {
            self.0.push_back(Send {
                nodes,
                tag,
                request,
            });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self) -> Option<Send> {
        let send = self.0.pop_front();
        // What a rush has needed is given back.
        if send.is_none() && self.0.capacity() > KEPT {
            self.0 = VecDeque::new();
        }
        send
    }
}

/// For how many requests there is room although there are none.
const KEPT: usize = 128;
