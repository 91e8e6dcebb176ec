//! Who reads in a world.

use super::World;
use crate::testing::node::name;
use leasehold_core::Owner;
use std::collections::BTreeMap;

impl World {
    /// Who [reads](crate::RwLock) it now, by the shares on a quorum of nodes, those that cannot be reached included; in no
    /// particular order.
    ///
    /// # Panics
    /// If the name is not one that a resource can have.
    ///
    /// # Examples
    /// ```
    /// use leasehold::testing::World;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let world = World::new(3);
    /// let doc = world.manager().rwlock("doc").unwrap();
    /// let reader = doc.read().await.unwrap();
    /// world.settle();
    /// assert_eq!(world.readers("doc"), [reader.owner().clone()]);
    /// assert_eq!(world.holder("doc"), None);
    /// # })
    /// ```
    #[must_use]
    pub fn readers(&self, resource: &str) -> Vec<Owner> {
        let mut readers = self.parts(resource);
        readers.retain(|owner| owner.permit().is_none());
        readers
    }

    /// Who has a part of it.
    pub(super) fn parts(&self, resource: &str) -> Vec<Owner> {
        let resource = name(resource);
        let mut counts: BTreeMap<Owner, usize> = BTreeMap::new();
        for owner in self.nodes.iter().flat_map(|node| node.readers(&resource)) {
            *counts.entry(owner).or_default() += 1;
        }
        let needed = self.quorum.needed();
        let by_quorum = counts.into_iter().filter(|(_, count)| *count >= needed);
        by_quorum.map(|(owner, _)| owner).collect()
    }
}
