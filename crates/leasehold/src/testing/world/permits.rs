//! Who has permits in a world.

use super::World;
use leasehold_core::{Owner, Permit};
use std::collections::BTreeMap;

impl World {
    /// Who has a [permit](crate::Semaphore) of it now, by its slot, as a quorum of nodes has it, those that cannot be reached included.
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
    /// let gpus = world.manager().semaphore("gpu", 4).unwrap();
    /// let permit = gpus.acquire().await.unwrap();
    /// world.settle();
    /// let permits = world.permits("gpu");
    /// assert_eq!(permits.get(&permit.slot()), Some(permit.owner()));
    /// assert_eq!((permits.len(), world.readers("gpu").len()), (1, 0));
    /// # })
    /// ```
    #[must_use]
    pub fn permits(&self, resource: &str) -> BTreeMap<usize, Owner> {
        let parts = self.parts(resource).into_iter();
        let by_slot = parts.filter_map(|owner| {
            let slot = owner.permit().map(Permit::slot)?;
            Some((usize::from(slot), owner))
        });
        by_slot.collect()
    }
}
