//! What people are told of a store.

use super::{Store, node_time};
use crate::{
    clock::Clock,
    link::file::{
        contents::{Contents, HeldKey},
        head::MAP_SIZE,
        record::{Record, Shares, key_of},
    },
};
use leasehold_core::{Instant, Resource};

impl Store {
    /// Everything that is held now, and what the store takes. The error is a fragment for people.
    pub(in crate::link::file) fn contents(&self, clock: Clock) -> Result<Contents, String> {
        if let Some(reason) = self.misplaced() {
            return Err(reason);
        }
        let read = || {
            let (txn, now) = (self.env.read_txn()?, node_time(clock));
            let mut held = Vec::new();
            for entry in self.locks.iter(&txn)? {
                let (_, bytes) = entry?;
                let records = records(bytes).into_iter();
                held.extend(records.filter_map(|record| self.held(record, now)));
            }
            let stat = self.locks.stat(&txn)?;
            let pages = stat.branch_pages + stat.leaf_pages + stat.overflow_pages;
            Ok(Contents {
                file: self.data.clone(),
                used: (pages as u64).saturating_mul(stat.page_size.into()),
                room: MAP_SIZE / 4 * 3,
                held,
            })
        };
        read().map_err(|error: heed::Error| format!("the store failed: {error}"))
    }

    /// What is held of this resource: several parts of it, if it is read or its permits are taken. The error is a fragment for
    /// people.
    pub(in crate::link::file) fn find(
        &self,
        resource: &Resource,
        clock: Clock,
    ) -> Result<Vec<HeldKey>, String> {
        if let Some(reason) = self.misplaced() {
            return Err(reason);
        }
        let read = || {
            let txn = self.env.read_txn()?;
            let bytes = self.locks.get(&txn, &key_of(resource))?;
            Ok(bytes.map_or_else(Vec::new, records))
        };
        let records = read().map_err(|error: heed::Error| format!("the store failed: {error}"))?;
        // Two long names may have one hash.
        let records = records
            .into_iter()
            .filter(|record| record.name == resource.as_str());
        let held = records.filter_map(|record| self.held(record, node_time(clock)));
        Ok(held.collect())
    }

    /// None for what is held by nobody any more.
    fn held(&self, record: Record, now: Instant) -> Option<HeldKey> {
        let left = record.key.expires_at.saturating_since(now);
        let lives = !left.is_zero() && !self.knows_gone(&record.holder);
        lives.then(|| HeldKey {
            resource: Resource::new(&record.name).ok(),
            owner: record.key.owner,
            remaining: left,
            process: record.holder.pid,
        })
    }
}

/// The records of a place: several, if it is read.
fn records(bytes: &[u8]) -> Vec<Record> {
    let Some(Shares { readers, name }) = Shares::decode(bytes) else {
        return Record::decode(bytes).into_iter().collect();
    };
    let named = |reader| Record {
        name: name.clone(),
        ..reader
    };
    readers.into_iter().map(named).collect()
}
