//! How the links of one manager learn that a server has taken the place of a node.
//!
//! Nodes of the new list say so instead of voting. When so many say it that the former list has no quorum any more, the link
//! to the node that left goes to its successor; then the others speak as the new list does. Each gives its connection up for that,
//! so that nothing of the former list is under way behind it.

use super::{scripts::Encoder, url::RedisUrl};
use crate::{
    configuration::{Configuration, Successor},
    link::NodeName,
};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// What the nodes of a list have said of the list that follows it.
pub(crate) struct Succession {
    configuration: Configuration,
    /// So many nodes are in every quorum of the list, at least one of them.
    blocking: usize,
    /// Whether enough was said; looked at whenever a link is polled.
    is_decided: AtomicBool,
    stage: Mutex<Stage>,
}

enum Stage {
    /// What each node has said.
    Open(HashMap<NodeName, String>),
    /// The link to the node that left comes first.
    Decided(Box<Successor>),
    /// The others follow.
    Done(Encoder),
    /// The new node cannot be reached as the former one is. People have to change the list.
    Refused,
}

/// What a link has to do.
pub(super) enum Step {
    /// To go to another server, and to speak so.
    GoTo(RedisUrl, Encoder),
    /// To speak so.
    Speak(Encoder),
}

impl Succession {
    /// Of the nodes of `configuration`, `blocking` of which are so many that no quorum is without one of them.
    pub(crate) fn new(configuration: &Configuration, blocking: usize) -> Arc<Self> {
        Arc::new(Self {
            configuration: configuration.clone(),
            blocking,
            is_decided: AtomicBool::new(false),
            stage: Mutex::new(Stage::Open(HashMap::new())),
        })
    }

    /// A node says that it is of another configuration. Says whether that follows ours, so that it is only to be learned.
    pub(super) fn told(&self, node: &NodeName, text: &str) -> bool {
        let Some(successor) = self.configuration.successor(text) else {
            return false;
        };
        let mut stage = self.lock();
        let told = match &mut *stage {
            Stage::Open(told) => told,
            Stage::Decided(_) | Stage::Done(_) => return true,
            Stage::Refused => return false,
        };
        told.insert(node.clone(), text.to_owned());
        // Argument S9: from here on no quorum of the former list is left, so nothing is lost with it.
        if told.values().filter(|said| *said == text).count() >= self.blocking {
            *stage = Stage::Decided(Box::new(successor));
            self.is_decided.store(true, Ordering::Release);
        }
        true
    }

    /// Whether the links have something to do.
    #[inline]
    pub(super) fn is_decided(&self) -> bool {
        self.is_decided.load(Ordering::Acquire)
    }

    /// What the link to the node at `url` has to do: nothing before the link to the node that left has done its part.
    pub(super) fn step(&self, url: &RedisUrl) -> Option<Step> {
        let mut stage = self.lock();
        match &*stage {
            Stage::Open(_) | Stage::Refused => None,
            Stage::Done(encoder) => Some(Step::Speak(encoder.clone())),
            Stage::Decided(successor) => {
                if successor.former != url.name().as_str() {
                    return None;
                }
                let Some(url) = url.in_place(&successor.new) else {
                    *stage = Stage::Refused;
                    return None;
                };
                let after = Self::new(&successor.configuration, self.blocking);
                let encoder = Encoder::following(&successor.configuration, after);
                *stage = Stage::Done(encoder.clone());
                Some(Step::GoTo(url, encoder))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Succession {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Succession")
            .field("configuration", &self.configuration.text())
            .finish_non_exhaustive()
    }
}
