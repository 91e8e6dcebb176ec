//! How a key is written down.

use super::process_identity::ProcessIdentity;
use leasehold_core::{Instant, Owner, Resource, table::Key};
use std::borrow::Cow;

/// What stands in the file under the key of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) holder: ProcessIdentity,
    pub(super) key: Key,
    /// The resource's whole name: the key of a long one is only a hash.
    pub(super) name: String,
}

/// The number that a record begins with.
const VERSION: u8 = 1;

/// The number that shares begin with: none that a record or a queue begins with.
const SHARES: u8 = 0x81;

/// Names up to this length are their own keys; LMDB takes 511 bytes.
const LONGEST_PLAIN: usize = 500;

/// The key of a resource: its name, or a hash of a long one behind a byte that is in no UTF-8 text.
pub(super) fn key_of(resource: &Resource) -> Cow<'_, [u8]> {
    let name = resource.as_bytes();
    if name.len() <= LONGEST_PLAIN {
        return Cow::Borrowed(name);
    }
    // FNV-1a. Two names that meet here are told apart by the record, so a collision that somebody built
    // costs these two names their locks and nobody anything else.
    let hash = name.iter().fold(
        0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128,
        |hash, byte| {
            (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        },
    );
    Cow::Owned([&[0xff][..], &hash.to_be_bytes()].concat())
}

impl Record {
    /// The bytes in the file: version, boot, pid, start, both namespaces, end of the TTL, owner with
    /// its length before it, name. Numbers in little endian.
    pub(super) fn encode(&self) -> Vec<u8> {
        let owner = self.key.owner.as_bytes();
        let length = u8::try_from(owner.len()).expect("an owner has at most 255 bytes");
        let ends = self.key.expires_at.nanos();
        [
            &[VERSION][..],
            &self.holder.boot,
            &self.holder.pid.to_le_bytes(),
            &self.holder.started.to_le_bytes(),
            &self.holder.pid_namespace.to_le_bytes(),
            &self.holder.time_namespace.to_le_bytes(),
            &ends.to_le_bytes(),
            &[length],
            owner,
            self.name.as_bytes(),
        ]
        .concat()
    }

    /// Reads a record; none if these bytes are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let [VERSION] = take(&mut rest)? else {
            return None;
        };
        let holder = ProcessIdentity {
            boot: take(&mut rest)?,
            pid: u32::from_le_bytes(take(&mut rest)?),
            started: u64::from_le_bytes(take(&mut rest)?),
            pid_namespace: u64::from_le_bytes(take(&mut rest)?),
            time_namespace: u64::from_le_bytes(take(&mut rest)?),
        };
        let ends = u64::from_le_bytes(take(&mut rest)?);
        let [length] = take(&mut rest)?;
        let (owner, name) = rest.split_at_checked(length.into())?;
        Some(Self {
            holder,
            key: Key {
                owner: Owner::from_bytes(owner)?,
                expires_at: Instant::from_nanos(ends),
            },
            name: std::str::from_utf8(name).ok()?.to_owned(),
        })
    }
}

/// What stands in the file under the key of a name that is read: in the same place, so that nobody finds both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    /// Those who read. The names in these are empty.
    pub(super) readers: Vec<Record>,
    pub(super) name: String,
}

impl Shares {
    /// The bytes in the file: what they are, and the name and each reader's record with its length before it, in little
    /// endian.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![SHARES];
        let mut part = |part: &[u8]| {
            let length = u16::try_from(part.len()).expect("names and records are short");
            bytes.extend(length.to_le_bytes());
            bytes.extend(part);
        };
        part(self.name.as_bytes());
        for reader in &self.readers {
            part(&reader.encode());
        }
        bytes
    }

    /// Reads shares; none if these bytes are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let [SHARES] = take(&mut rest)? else {
            return None;
        };
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let length = u16::from_le_bytes(take(&mut rest)?);
            let (part, behind) = rest.split_at_checked(length.into())?;
            parts.push(part);
            rest = behind;
        }
        let (name, readers) = parts.split_first()?;
        Some(Self {
            readers: readers
                .iter()
                .map(|bytes| Record::decode(bytes))
                .collect::<Option<_>>()?,
            name: std::str::from_utf8(name).ok()?.to_owned(),
        })
    }

    /// The one whose share ends last.
    pub(super) fn last(&self) -> Option<&Record> {
        self.readers
            .iter()
            .max_by_key(|reader| reader.key.expires_at)
    }
}

/// Takes the first bytes off.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            holder: ProcessIdentity::current().expect("/proc is there"),
            key: Key {
                owner: Owner::from_bytes(&[0xff; 255]).expect("not too long"),
                expires_at: Instant::NEVER,
            },
            name: "orders/42 é".to_owned(),
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was() {
        assert_eq!(Record::decode(&record().encode()), Some(record()));
    }

    #[test]
    fn shares_come_back_as_they_were_and_what_is_cut_short_is_none() {
        let nameless = |millis| Record {
            key: Key {
                expires_at: Instant::from_nanos(millis),
                ..record().key
            },
            name: String::new(),
            ..record()
        };
        let shares = Shares {
            readers: vec![nameless(1), nameless(3), nameless(2)],
            name: record().name,
        };
        let bytes = shares.encode();
        assert_eq!(Shares::decode(&bytes), Some(shares.clone()));
        assert_eq!(shares.last(), Some(&nameless(3)));
        assert_eq!(Record::decode(&bytes), None);
        let lengths = 0..bytes.len();
        let whole = lengths.filter(|length| Shares::decode(&bytes[..*length]).is_some());
        // Between two of those who read, it is one with fewer.
        assert_eq!(whole.count(), 3);
        assert_eq!(Shares::decode(&record().encode()), None);
    }

    #[test]
    fn a_record_that_is_cut_short_or_of_another_version_is_none() {
        let bytes = record().encode();
        let head = bytes.len() - record().name.len();
        for length in 0..head {
            assert_eq!(Record::decode(&bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(Record::decode(&[&[2][..], &bytes[1..]].concat()), None);
    }

    #[test]
    fn every_name_has_a_key_that_fits() {
        for length in [1, 500, 501, 1024] {
            let resource = Resource::new(&"x".repeat(length)).expect("not too long");
            assert!((1..=511).contains(&key_of(&resource).len()), "{length}");
        }
    }
}
