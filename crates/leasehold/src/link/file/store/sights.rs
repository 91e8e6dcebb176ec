//! What keys are after a step, and whether they are something else later.

use super::{LOOKS, Lost, Store};
use crate::link::file::{
    job::Sight,
    process_identity::ProcessIdentity,
    record::{Record, Shares, key_of},
};
use heed::RwTxn;
use leasehold_core::{Resource, Vote};
use std::collections::HashSet;

impl Store {
    /// What the keys of a resource are after a step.
    pub(super) fn sights(
        &self,
        txn: &RwTxn<'_>,
        resource: &Resource,
        vote: &Vote,
    ) -> heed::Result<Vec<Sight>> {
        let each = resource.each();
        each.map(|name| self.sight(txn, &name, vote)).collect()
    }

    /// What a key is after a step. Within the step's transaction: no change can come between the two.
    fn sight(&self, txn: &RwTxn<'_>, resource: &Resource, vote: &Vote) -> heed::Result<Sight> {
        let record = self.locks.get(txn, &key_of(resource))?;
        // The holder in the way of a refused step has just been found alive, as far as that can be told.
        let holder = record
            .filter(|_| matches!(vote, Vote::Refused(_)))
            .and_then(|bytes| {
                let last = Shares::decode(bytes).and_then(|shares| shares.last().cloned());
                last.or_else(|| Record::decode(bytes))
            })
            .map(|record| record.holder)
            .filter(|holder| *holder != self.holder);
        let record = record.map(<[u8]>::to_vec);
        Ok(Sight { record, holder })
    }

    /// Tells which of these keys are not what was seen, or are held by processes that are gone. Calls `locked`
    /// once, while nobody can write.
    pub(in crate::link::file) fn look<'a>(
        &self,
        seen: impl Iterator<Item = (&'a Resource, &'a Sight)>,
        gone: &HashSet<ProcessIdentity>,
        locked: impl FnOnce(),
    ) -> Result<Vec<Resource>, Lost> {
        // Reading on in a file that was cut short would kill the process.
        if self.misplaced().is_some() {
            return Err(Lost);
        }
        let (mut seen, mut locked, mut changed) = (seen.peekable(), Some(locked), Vec::new());
        while seen.peek().is_some() {
            // Argument S10: it waits for the commit that is under way, though it only reads (`subscriptions`).
            let txn = self.env.write_txn().map_err(|_| Lost)?;
            if let Some(locked) = locked.take() {
                locked();
            }
            for (resource, sight) in seen.by_ref().take(LOOKS) {
                let record = self.locks.get(&txn, &key_of(resource)).map_err(|_| Lost)?;
                let is_free = || sight.holder.is_some_and(|holder| gone.contains(&holder));
                if record != sight.record.as_deref() || is_free() {
                    changed.push(resource.clone());
                }
            }
        }
        Ok(changed)
    }
}
