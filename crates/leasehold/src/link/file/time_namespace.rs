//! By whose clock the keys of a store end.
//!
//! TTLs are counted by the clock since boot, and every time namespace may show that clock ahead or behind. A process
//! for which the clock is ahead would find the living keys of the others over, and take their locks. So the store
//! notes the namespace in which it is used, and as long as any process has it open it is refused to all others.
//!
//! When nobody has it open any more, the next one takes it over, without its keys: no process is left that could rely
//! on one, and when they end is told by a clock that is not ours. The number of a namespace that is gone may be given
//! to a new one. That is no danger: as long as a process of the old one has the store open, the old one is there.
//!
//! A version of leasehold that does not note its namespace may have the store open while this one comes. It is let in,
//! as that one would let it in.

use super::{error::FileError, open_lock::OpenLock, process_identity::ProcessIdentity};
use heed::{Database, Env, WithoutTls, types::Bytes};
use std::path::Path;

/// The databases of a store that this is about.
pub(super) struct Notes<'a> {
    pub(super) env: &'a Env<WithoutTls>,
    /// Where the namespace is noted.
    pub(super) notes: Database<Bytes, Bytes>,
    pub(super) locks: Database<Bytes, Bytes>,
}

impl Notes<'_> {
    /// Sees to it that all who have the store open count by one clock. Under the folder's lock.
    pub(super) fn agree(
        &self,
        data: &Path,
        holder: &ProcessIdentity,
        open_lock: &OpenLock,
    ) -> Result<(), FileError> {
        let failed = |error: heed::Error| FileError::lmdb(data, &error);
        let ours = holder.time_namespace;
        let theirs = self.noted().map_err(failed)?;
        match theirs {
            Some(theirs) if theirs == ours => Ok(()),
            // Argument S2: neither could tell when a key of the other ends.
            Some(theirs) if !open_lock.is_alone() => Err(FileError::OtherTimeNamespace {
                path: data.to_owned(),
                theirs,
                ours,
            }),
            _ => self.note(ours, open_lock).map_err(failed),
        }
    }

    fn noted(&self) -> heed::Result<Option<u64>> {
        let txn = self.env.read_txn()?;
        let noted = self.notes.get(&txn, NAME)?;
        Ok(noted
            .and_then(|bytes| bytes.try_into().ok())
            .map(u64::from_le_bytes))
    }

    fn note(&self, ours: u64, open_lock: &OpenLock) -> heed::Result<()> {
        let mut txn = self.env.write_txn()?;
        if open_lock.is_alone() {
            // Argument S5: by our clock they might end in years.
            self.locks.clear(&mut txn)?;
        }
        self.notes.put(&mut txn, NAME, &ours.to_le_bytes())?;
        txn.commit()
    }
}

/// What the note is called.
const NAME: &[u8] = b"time namespace";

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::link::file::{
        store::{Store, tests::Folder},
        store_directory::StoreDirectory,
    };
    use leasehold_core::Vote;
    use rustix::fs::{FlockOperation, flock};
    use std::fs::File;

    /// Opens the store as a process of this time namespace.
    fn open(folder: &Folder, time_namespace: u64) -> Result<Store, FileError> {
        let directory = StoreDirectory::prepare(&folder.0).expect("a folder of our own");
        directory.open(ProcessIdentity {
            time_namespace,
            ..ProcessIdentity::current().expect("/proc is there")
        })
    }

    #[test]
    fn a_store_in_use_is_refused_to_another_time_namespace_and_both_are_named() {
        let folder = Folder::new("refused-time");
        drop(open(&folder, 7).expect("a new store"));
        // As every process does that has it open.
        let other = File::open(folder.0.join("data.mdb")).expect("it was made");
        flock(&other, FlockOperation::LockShared).expect("nobody has it");
        let error = open(&folder, 8).expect_err("it is in use by those of 7");
        let text = error.to_string();
        for part in ["time:[7]", "time:[8]", "lsns -t time", "another folder"] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        assert!(
            matches!(error, FileError::OtherTimeNamespace { .. }),
            "{error:?}"
        );
        open(&folder, 7).expect("it is theirs");
    }

    #[test]
    fn a_store_that_nobody_uses_is_taken_over_without_its_keys_and_with_its_counters() {
        let folder = Folder::new("taken-over");
        let mut store = open(&folder, 7).expect("a new store");
        let token = store.raise("r", 1_000_000).expect("it is a token");
        drop(store);
        let mut store = open(&folder, 8).expect("nobody has it open");
        let Vote::Granted { counter } = store.count("r", 1) else {
            panic!("the key outlived its clock");
        };
        // Argument S4.
        assert!(counter > Some(token), "{counter:?} after {token}");
        // And now it is theirs.
        drop(store);
        let other = File::open(folder.0.join("data.mdb")).expect("it was made");
        flock(&other, FlockOperation::LockShared).expect("nobody has it");
        open(&folder, 7).expect_err("it is in use by those of 8");
    }
}
