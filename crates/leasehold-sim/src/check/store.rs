//! What a lock protects: a store that checks tokens, and must never be written by a holder of the past after
//! a later one.
//!
//! The store knows tokens only. Whether a write was of the past the checker knows from true time: its holder
//! had the lease before another, who has written, even began to ask. It looks at what is written, not at how
//! tokens were told.

use super::{Property, Violation, tokens::Counted};
use crate::time::Moment;
use leasehold_core::{FencingToken, Resource};
use std::collections::BTreeMap;

/// A holder's write.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) client: usize,
    pub(crate) resource: Resource,
    /// The slot that the writer has, if it is a permit's: what each slot stands for has holders of its own.
    pub(crate) slot: Option<u16>,
    pub(crate) token: FencingToken,
    /// When the attempt that won the lease began, and when the engine said that it was won.
    pub(crate) began: Moment,
    pub(crate) decided: Moment,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    records: BTreeMap<Counted, Record>,
}

/// What the store has of one resource, and what the checker remembers.
#[derive(Debug)]
struct Record {
    newest: FencingToken,
    /// The accepted write whose holder began to ask last.
    latest: Write,
}

impl Store {
    /// Accepts the write, or does not. Says which.
    pub(crate) fn write(&mut self, write: &Write) -> Result<bool, Violation> {
        let place = (write.resource.clone(), write.slot);
        let Some(record) = self.records.get_mut(&place) else {
            let (newest, latest) = (write.token, write.clone());
            let record = Record { newest, latest };
            self.records.insert(place, record);
            return Ok(true);
        };
        if write.token < record.newest {
            return Ok(false);
        }
        record.newest = write.token;
        if write.decided < record.latest.began {
            let Record { latest, .. } = record;
            return Err(Violation {
                property: Property::Store,
                what: format!(
                    "{} was written by c{} with token {} after c{} had written with token {}, which asked \
                     when the former had it already",
                    write.resource, write.client, write.token, latest.client, latest.token,
                ),
            });
        }
        if write.began > record.latest.began {
            record.latest = write.clone();
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(token: u64, began: u64, decided: u64) -> Write {
        Write {
            client: 0,
            resource: Resource::new("r").expect("a name"),
            slot: None,
            token: FencingToken::new(token).expect("in range"),
            began: Moment::from_ns(began),
            decided: Moment::from_ns(decided),
        }
    }

    #[test]
    fn a_late_write_of_the_past_is_refused_by_its_token() {
        let mut store = Store::default();
        assert_eq!(store.write(&write(5, 10, 20)), Ok(true));
        assert_eq!(store.write(&write(6, 30, 40)), Ok(true));
        assert_eq!(store.write(&write(5, 10, 20)), Ok(false));
        assert_eq!(store.write(&write(6, 30, 40)), Ok(true));
    }

    #[test]
    fn a_late_write_that_is_accepted_is_found() {
        for token in [6, 7] {
            let mut store = Store::default();
            assert_eq!(store.write(&write(6, 30, 40)), Ok(true));
            assert!(store.write(&write(token, 10, 20)).is_err());
        }
        // Two that asked at the same time have no order but that of their tokens.
        let mut store = Store::default();
        assert_eq!(store.write(&write(6, 30, 40)), Ok(true));
        assert_eq!(store.write(&write(7, 10, 35)), Ok(true));
    }
}
