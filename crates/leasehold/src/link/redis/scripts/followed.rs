//! Speaking as a list of nodes does in which one was replaced.

use super::Encoder;
use crate::{
    configuration::Configuration,
    link::{NodeName, redis::succession::Succession},
};
use std::sync::Arc;

impl Encoder {
    /// With a list of nodes that may be followed by another.
    pub(crate) fn followed(mut self, succession: Arc<Succession>) -> Self {
        self.succession = Some(succession);
        self
    }

    /// To this node of the list.
    pub(in crate::link::redis) fn to(mut self, node: NodeName) -> Self {
        self.addressee = Some(node);
        self
    }

    /// As all speak that have learned of the list that follows, `after` which there may be others.
    pub(in crate::link::redis) fn following(
        configuration: &Configuration,
        after: Arc<Succession>,
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
    pub(in crate::link::redis) const fn succession(&self) -> Option<&Arc<Succession>> {
        self.succession.as_ref()
    }

    /// Whether a node that says that it is of another configuration is one of the list that follows ours.
    pub(in crate::link::redis) fn is_superseded(&self, text: &str) -> bool {
        let known = self.succession.as_ref().zip(self.addressee.as_ref());
        known.is_some_and(|(succession, node)| succession.told(node, text))
    }
}
