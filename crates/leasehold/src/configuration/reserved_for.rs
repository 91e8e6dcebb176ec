//! Keys that nodes use themselves, and that no lock may have.

use super::{Configuration, NODE, QUEUE};
use leasehold_core::Resource;

/// What nodes that are servers keep under a key that no lock may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReservedFor {
    /// What the node knows of itself: the key is the namespace and `:node`.
    Node,
    /// Who waits for a fair lock: the key begins with the namespace and `:queue:`.
    Queue,
}

impl Configuration {
    /// The same, of locks beside which others may use the nodes under this namespace.
    pub(crate) fn beside(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// For what nodes use the key that a lock on this resource would have, if for anything.
    ///
    /// Plain locks as well: a queue is written down over whatever is there, and would end the lock under its holder; and a
    /// lock under the node's own key leaves the node without a memory.
    pub(crate) fn reserves(&self, resource: &Resource) -> Option<ReservedFor> {
        if self.namespace.is_empty() {
            return None;
        }
        // Compared where they stand: no lock is made without this question.
        let (before, behind) = self.key_format().around();
        let first = before.bytes().chain(resource.as_str().bytes()).next();
        if first != self.namespace.bytes().next() {
            return None;
        }
        let mut key = [before, resource.as_str(), behind]
            .into_iter()
            .flat_map(str::bytes);
        if !self.namespace.bytes().all(|byte| key.next() == Some(byte)) {
            return None;
        }
        if key.clone().eq(NODE.bytes()) {
            Some(ReservedFor::Node)
        } else if QUEUE.bytes().all(|byte| key.next() == Some(byte)) {
            Some(ReservedFor::Queue)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::KeyFormat;

    fn of(configuration: &Configuration, name: &str) -> Option<ReservedFor> {
        configuration.reserves(&Resource::new(name).expect("a name"))
    }

    #[test]
    fn the_nodes_own_key_is_no_name_for_a_lock() {
        let usual = Configuration::plain().beside("leasehold");
        assert_eq!(of(&usual, "leasehold:node"), Some(ReservedFor::Node));
        assert_eq!(of(&usual, "leasehold:nodes"), None);
        let format = KeyFormat::new("leasehold:{}").expect("one place");
        let formatted = usual.with_key_format(format);
        assert_eq!(of(&formatted, "leasehold:node"), None);
        assert_eq!(of(&formatted, "node"), Some(ReservedFor::Node));
        assert_eq!(of(&formatted, "queue:orders/42"), Some(ReservedFor::Queue));
    }

    #[test]
    fn no_key_of_a_queue_is_a_name_for_a_lock_in_its_own_namespace() {
        let usual = Configuration::plain().beside("leasehold");
        assert_eq!(of(&usual, "leasehold:queue:r"), Some(ReservedFor::Queue));
        assert_eq!(of(&usual, "leasehold:queue"), None);
        assert_eq!(of(&usual, "queue:r"), None);
        let others = Configuration::plain().beside("others");
        assert_eq!(of(&others, "leasehold:queue:r"), None);
        assert_eq!(of(&others, "others:queue:r"), Some(ReservedFor::Queue));
        assert_eq!(of(&Configuration::plain(), ":queue:r"), None);
    }
}
