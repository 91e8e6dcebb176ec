//! A step on names that are locked together.

use super::Store;
use heed::RwTxn;
use leasehold_core::{
    Instant, Request, Resource, Vote,
    fence::counter_of,
    table::{Change, Stored, decide_several},
};

impl Store {
    /// Takes a step on several names: on all of them, or on none.
    pub(super) fn step_of_several(
        &mut self,
        txn: &mut RwTxn<'_>,
        now: Instant,
        request: &Request,
    ) -> heed::Result<Vote> {
        let each: Vec<Resource> = request.resource().each().collect();
        let (mut all, mut counters, mut is_new) = (Vec::new(), Vec::new(), false);
        for resource in &each {
            match self.found(txn, resource, now)? {
                Ok(found) => {
                    is_new |= found.is_new;
                    all.push((found.readers(), found));
                }
                Err(damaged) => return Ok(damaged),
            }
            counters.push(self.counters.get(txn, counter_of(resource))?);
        }
        let each_stored = all.iter().zip(&counters);
        let stored = each_stored.map(|((readers, found), counter)| Stored {
            key: found.key.as_ref(),
            readers,
            counter: *counter,
            queue: None,
        });
        let ruling = decide_several(&stored.collect::<Vec<_>>(), now, request);
        let sets = |change: &Change| matches!(change, Change::Set(_));
        if is_new && ruling.changes.iter().any(sets) && !self.make_room(txn, now)? {
            return self.is_full(txn);
        }
        // Argument S4: the counters before the keys.
        for (resource, counter) in each.iter().zip(counters) {
            if let Some(token) = ruling.counter
                && counter < Some(token)
            {
                self.counters.put(txn, counter_of(resource), token)?;
            }
        }
        let found = all.iter().map(|(_, found)| found);
        for (resource, change) in each.iter().zip(found.zip(ruling.changes)) {
            self.change(txn, resource, change)?;
        }
        Ok(ruling.vote)
    }
}
