//! The counters in the store.

use super::ceiling::Ceiling;
use heed::{Database, RwTxn, types::Bytes};
use leasehold_core::FencingToken;
use std::{io, path::Path};

/// The grants that were counted, by the number of the counter. Every process reads and writes them inside a write
/// transaction only, so they take turns, with the ceiling too.
#[derive(Debug)]
pub(super) struct GrantCounters {
    database: Database<Bytes, Bytes>,
    ceiling: Ceiling,
}

impl GrantCounters {
    /// The name of the database.
    pub(super) const NAME: &str = "counters";

    pub(super) fn new(database: Database<Bytes, Bytes>, folder: &Path) -> Self {
        let ceiling = Ceiling::of(folder);
        Self { database, ceiling }
    }

    /// Lets all counters of a new store begin behind the ceiling of the one before.
    pub(super) fn begin(
        database: Database<Bytes, Bytes>,
        txn: &mut RwTxn<'_>,
        ceiling: Option<FencingToken>,
    ) -> heed::Result<()> {
        let Some(ceiling) = ceiling else {
            return Ok(());
        };
        database.put(txn, BEGIN, &ceiling.get().to_le_bytes())?;
        database.put(txn, CEILING, &ceiling.get().to_le_bytes())
    }

    /// How far counter number `number` has come.
    pub(super) fn get(&self, txn: &RwTxn<'_>, number: u16) -> heed::Result<Option<FencingToken>> {
        match self.token(txn, &number.to_be_bytes())? {
            None => self.token(txn, BEGIN),
            counted => Ok(counted),
        }
    }

    /// Lets counter number `number` come to `token`. May have to wait for the disk.
    pub(super) fn put(
        &self,
        txn: &mut RwTxn<'_>,
        number: u16,
        token: FencingToken,
    ) -> heed::Result<()> {
        // Argument S4: the ceiling is on the disk before a counter passes the last one. If the transaction fails
        // afterwards, the ceiling on the disk is higher than need be.
        if self.token(txn, CEILING)? < Some(token) {
            let ceiling = self.ceiling.raise(token).map_err(|error| {
                let why = format!("the ceiling of its tokens cannot be written: {error}");
                heed::Error::Io(io::Error::new(error.kind(), why))
            })?;
            self.database
                .put(txn, CEILING, &ceiling.get().to_le_bytes())?;
        }
        let place = number.to_be_bytes();
        self.database.put(txn, &place, &token.get().to_le_bytes())
    }

    fn token(&self, txn: &RwTxn<'_>, place: &[u8]) -> heed::Result<Option<FencingToken>> {
        let Some(bytes) = self.database.get(txn, place)? else {
            return Ok(None);
        };
        let number = bytes.try_into().ok().map(u64::from_le_bytes);
        match number.and_then(FencingToken::new) {
            // Counting from the beginning would give tokens that were given before.
            None => Err(heed::Error::Io(io::Error::new(
                io::ErrorKind::InvalidData,
                "a counter in it is damaged",
            ))),
            token => Ok(token),
        }
    }
}

/// Where a counter begins that was never counted on.
const BEGIN: &[u8] = b"begin";

/// What no counter passes before it is on the disk.
const CEILING: &[u8] = b"ceiling";

#[cfg(test)]
mod tests;
