//! What stands in the file for a resource, and how those who read it are written down.

use super::{Store, rejected};
use crate::link::file::{
    process_identity::ProcessIdentity,
    record::{Record, Shares, key_of},
};
use heed::RwTxn;
use leasehold_core::{Instant, Owner, Resource, Vote, table::Key};

/// What there is of a resource that counts.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) key: Option<Key>,
    /// The process that won it.
    holder: Option<ProcessIdentity>,
    shares: Vec<Record>,
    /// Nothing at all is there.
    pub(super) is_new: bool,
}

impl Found {
    /// Those who read.
    pub(super) fn readers(&self) -> Vec<Key> {
        self.shares.iter().map(|share| share.key.clone()).collect()
    }

    /// With which process the key of this owner ends, if it was won before.
    pub(super) fn holder_of(&self, owner: &Owner) -> Option<ProcessIdentity> {
        let is_same = self.key.as_ref().is_some_and(|key| key.owner == *owner);
        self.holder.filter(|_| is_same)
    }
}

impl Store {
    /// What there is of a resource; the answer to a step on it, if that cannot be read.
    pub(super) fn found(
        &self,
        txn: &RwTxn<'_>,
        resource: &Resource,
        now: Instant,
    ) -> heed::Result<Result<Found, Vote>> {
        let Some(bytes) = self.locks.get(txn, &key_of(resource))? else {
            return Ok(Ok(Found {
                is_new: true,
                ..Found::default()
            }));
        };
        let (records, name, is_read) = match (Shares::decode(bytes), Record::decode(bytes)) {
            (Some(shares), _) => (shares.readers, shares.name, true),
            (None, Some(record)) => {
                let name = record.name.clone();
                (vec![record], name, false)
            }
            (None, None) => {
                let damaged = "the resource's record in the store is damaged";
                return Ok(Err(rejected(damaged)));
            }
        };
        if name != resource.as_str() {
            let other = format!("{name:?} has the same hash as this name");
            return Ok(Err(rejected(&other)));
        }
        // A key that outlived its process is none. Asked only where it matters: it costs a look at the
        // other process.
        let counts = |record: &Record| {
            record.key.expires_at <= now || !self.holder.knows_gone(&record.holder)
        };
        let mut records: Vec<Record> = records.into_iter().filter(counts).collect();
        if is_read {
            return Ok(Ok(Found {
                shares: records,
                ..Found::default()
            }));
        }
        let record = records.pop();
        Ok(Ok(Found {
            holder: record.as_ref().map(|record| record.holder),
            key: record.map(|record| record.key),
            ..Found::default()
        }))
    }

    /// Writes down who reads from now on: those that were `found` for their processes, and who is new for this one.
    pub(super) fn keep_readers(
        &self,
        txn: &mut RwTxn<'_>,
        resource: &Resource,
        (found, readers): (&Found, Vec<Key>),
    ) -> heed::Result<()> {
        let place = key_of(resource);
        if readers.is_empty() {
            self.locks.delete(txn, &place)?;
            return Ok(());
        }
        let record = |key: Key| {
            let mut before = found.shares.iter();
            let before = before.find(|share| share.key.owner == key.owner);
            Record {
                holder: before.map_or(self.holder, |share| share.holder),
                key,
                name: String::new(),
            }
        };
        let shares = Shares {
            readers: readers.into_iter().map(record).collect(),
            name: resource.as_str().to_owned(),
        };
        self.locks.put(txn, &place, &shares.encode())?;
        Ok(())
    }
}
