//! What is remembered of the counters when their store is thrown away.
//!
//! A store goes with its boot, and its counters with it. But a resource that has once seen a token must never see a smaller
//! one of a later holder (argument S4). So beside the store there is a number that outlives it, the *ceiling*: no
//! counter is ever beyond it. A new store begins to count there.
//!
//! A counter that is to pass the ceiling waits until a new one, an hour of counting further, is on the disk. So this
//! costs a flush of the disk in an hour, and a reboot costs up to an hour of numbers, of which there is no end: they
//! are microseconds since 1970, and last until the year 2255.

use super::{
    error::FileError,
    opening::{open_whatever_its_names, remove},
};
use leasehold_core::FencingToken;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The ceiling of the store in a folder.
#[derive(Debug)]
pub(super) struct Ceiling {
    folder: PathBuf,
}

impl Ceiling {
    pub(super) fn of(folder: &Path) -> Self {
        let folder = folder.to_owned();
        Self { folder }
    }

    /// The ceiling that is on the disk, if there is one.
    pub(super) fn read(&self) -> Result<Option<FencingToken>, FileError> {
        let path = self.path();
        let Some(file) = open_whatever_its_names(&path)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(LONGEST)
            .read_to_end(&mut bytes)
            .map_err(|error| FileError::io(&path, &error))?;
        let ceiling = parse(&bytes);
        ceiling.map(Some).ok_or(FileError::TokensDamaged { path })
    }

    /// Puts a ceiling on the disk under which `token` is, and tells it when it is there. Only one process may do
    /// this at a time.
    pub(super) fn raise(&self, token: FencingToken) -> io::Result<FencingToken> {
        let further = token.get().saturating_add(HOUR);
        let ceiling = FencingToken::new(further).unwrap_or(FencingToken::LAST);
        let draft = self.folder.join("tokens.new");
        // Removed and made anew: what another left in its place may be anything, and opening it may wait for ever.
        remove(&draft)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(text(ceiling).as_bytes())?;
        // The text before the name: under its name the file is whole at any time.
        file.sync_all()?;
        fs::rename(&draft, self.path())?;
        File::open(&self.folder)?.sync_all()?;
        Ok(ceiling)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("tokens")
    }
}

/// Longer than every text.
const LONGEST: u64 = 200;

/// An hour, in steps of a counter.
const HOUR: u64 = 60 * 60 * 1_000_000;

/// `leasehold tokens 1 1700000000000000 af63bd4c8601b7df`: format, ceiling, and a hash of both.
fn text(ceiling: FencingToken) -> String {
    let text = format!("leasehold tokens 1 {ceiling}");
    let hash = hash(&text);
    format!("{text} {hash:016x}\n")
}

fn parse(bytes: &[u8]) -> Option<FencingToken> {
    let text = std::str::from_utf8(bytes).ok()?;
    let number = text
        .strip_prefix("leasehold tokens 1 ")?
        .split(' ')
        .next()?;
    let ceiling = FencingToken::new(number.parse().ok()?)?;
    (self::text(ceiling) == text).then_some(ceiling)
}

/// FNV-1a, against accidents.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_comes_back_as_it_was_and_not_at_all_if_a_byte_is_wrong() {
        let ceiling = FencingToken::new(1_700_000_000_000_001).expect("in range");
        let text = text(ceiling);
        assert_eq!(parse(text.as_bytes()), Some(ceiling));
        for at in 0..text.len() {
            assert_eq!(parse(&text.as_bytes()[..at]), None, "cut at {at}");
            let mut wrong = text.clone().into_bytes();
            wrong[at] ^= 1;
            assert_eq!(parse(&wrong), None, "changed at {at}");
        }
    }
}
