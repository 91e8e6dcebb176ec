//! Speaking as a list of nodes does in which one was replaced.

use super::Encoder;
use crate::{
    configuration::Configuration,
    link::{NodeName, redis::succession::Succession},
};
use std::sync::Arc;

/// Which list of nodes is spoken to, and which may follow it.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    /// What is known of the list that follows; none where none is followed.
    succession: Option<Arc<Succession<Encoder>>>,
    /// Which node of the list is spoken to.
    addressee: Option<NodeName>,
}

impl Encoder {
    /// With a list of nodes that may be followed by another.
    pub(crate) fn followed(mut self, succession: Arc<Succession<Self>>) -> Self {
        self.lists.succession = Some(succession);
        self
    }

    /// To this node of the list.
    pub(in crate::link::redis) fn to(mut self, node: NodeName) -> Self {
        self.lists.addressee = Some(node);
        self
    }

    /// As all speak that have learned of the list that follows, `after` which there may be others.
    pub(in crate::link::redis) fn following(
        configuration: &Configuration,
        after: Arc<Succession<Self>>,
    ) -> Self {
        Self::new(configuration).followed(after)
    }

    /// Waiting for the same copies as `other`.
    pub(in crate::link::redis) fn copied_as(mut self, other: &Self) -> Self {
        self.copies.clone_from(&other.copies);
        self
    }

    /// What is known of the list that follows, if one is followed at all.
    #[inline]
    pub(in crate::link::redis) const fn succession(&self) -> Option<&Arc<Succession<Self>>> {
        self.lists.succession.as_ref()
    }

    /// Whether a node that says that it is of another configuration is one of the list that follows ours.
    pub(in crate::link::redis) fn is_superseded(&self, text: &str) -> bool {
        let known = self
            .lists
            .succession
            .as_ref()
            .zip(self.lists.addressee.as_ref());
        known.is_some_and(|(succession, node)| succession.told(node, text))
    }
}
