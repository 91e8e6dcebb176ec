//! What is looked at before a file is mapped into memory.
//!
//! LMDB trusts its file: a page that the file does not have kills the process that reads it (SIGBUS),
//! and LMDB's own check reads no further than the two head pages. So a store has a mark behind the last
//! byte that LMDB may use. A file with the mark was made by leasehold, to the end, and has every page
//! that LMDB can ask for. LMDB never touches the mark.

use super::{error::FileError, process_identity::ProcessIdentity};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

/// How much of the file is LMDB's.
pub(super) const MAP_SIZE: u64 = 64 << 20;

/// How long the whole file is.
pub(super) const FILE_SIZE: u64 = MAP_SIZE + MARK_SIZE as u64;

/// Text, format number, boot id.
const MARK_SIZE: usize = TEXT.len() + 4 + 16;
const TEXT: &[u8; 24] = b"\nleasehold lock store \n\0";

/// The number of the format: of the mark, of LMDB's data and of its lock file.
pub(super) const FORMAT: u32 = 2;

/// What the head and the mark of a store say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// It was made since the machine booted.
    Current,
    /// It was made under another boot id: before the machine booted, or, if somebody has it open, in a
    /// container that has a boot id of its own.
    OtherBoot,
}

/// Stretches the file to its size and puts the mark at its end.
pub(super) fn mark(file: &mut File, holder: &ProcessIdentity) -> io::Result<()> {
    file.seek(SeekFrom::Start(MAP_SIZE))?;
    file.write_all(&[&TEXT[..], &FORMAT.to_le_bytes(), &holder.boot].concat())?;
    // On Linux the only flush there is: the mark must be there after a power cut, so that the next boot knows
    // the file for one that it may replace.
    file.sync_all()
}

/// Whether the file is a store, and a whole one as far as its ends tell.
pub(super) fn check(
    path: &Path,
    file: &mut File,
    holder: &ProcessIdentity,
) -> Result<Age, FileError> {
    let size = file
        .metadata()
        .map_err(|error| FileError::io(path, &error))?
        .len();
    let Some(boot) = read_mark(path, file, size)? else {
        return Err(without_mark(path, file, size));
    };
    if boot != holder.boot {
        return Ok(Age::OtherBoot);
    }
    let damaged = |reason| FileError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let first = Meta::read(file, 0).map_err(damaged)?;
    let second = Meta::read(file, u64::from(first.page_size)).map_err(damaged)?;
    for meta in [first, second] {
        meta.check(first.page_size).map_err(damaged)?;
    }
    Ok(Age::Current)
}

/// The boot id in the mark; none if there is no mark at the end of the file.
fn read_mark(path: &Path, file: &mut File, size: u64) -> Result<Option<[u8; 16]>, FileError> {
    if size != FILE_SIZE {
        return Ok(None);
    }
    let mut bytes = [0; MARK_SIZE];
    file.seek(SeekFrom::Start(MAP_SIZE))
        .and_then(|_| file.read_exact(&mut bytes))
        .map_err(|error| FileError::io(path, &error))?;
    let Some((format, boot)) = bytes
        .strip_prefix(TEXT)
        .and_then(|rest| rest.split_first_chunk::<4>())
    else {
        return Ok(None);
    };
    match u32::from_le_bytes(*format) {
        FORMAT => Ok(boot.try_into().ok()),
        found => Err(FileError::OtherFormat {
            path: path.to_owned(),
            found,
            supported: FORMAT,
        }),
    }
}

/// What to say of a file that has no mark at its end.
fn without_mark(path: &Path, file: &mut File, size: u64) -> FileError {
    let path = path.to_owned();
    match Meta::read(file, 0) {
        Ok(meta) if meta.map_size == MAP_SIZE => FileError::Damaged {
            path,
            reason: format!(
                "it has {size} bytes instead of {FILE_SIZE}, or its end was overwritten"
            ),
        },
        Ok(_) => FileError::NotAStore {
            path,
            reason: "it is an LMDB file of another program".to_owned(),
        },
        Err(reason) => FileError::NotAStore { path, reason },
    }
}

/// What is needed of a head page of LMDB.
#[derive(Clone, Copy)]
struct Meta {
    page_size: u32,
    map_size: u64,
    roots: [u64; 2],
    last_page: u64,
}

/// LMDB writes its numbers as the machine has them, addresses and page numbers in machine words.
const WORD: usize = size_of::<usize>();
const PAGE_HEAD: usize = WORD + 8;
const META_SIZE: usize = PAGE_HEAD + 8 + 2 * WORD + 2 * DATABASE_SIZE + 2 * WORD;
const DATABASE_SIZE: usize = 8 + 5 * WORD;
const DATABASES: usize = PAGE_HEAD + 8 + 2 * WORD;
const NO_PAGE: u64 = usize::MAX as u64;

impl Meta {
    /// Reads the head page at this place; if it is none, says why.
    fn read(file: &mut File, at: u64) -> Result<Self, String> {
        let mut bytes = [0; META_SIZE];
        file.seek(SeekFrom::Start(at))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|_| "it ends within its head".to_owned())?;
        let short =
            |at: usize| u32::from_ne_bytes(*bytes[at..].first_chunk().expect("in the head"));
        let long = |at: usize| {
            usize::from_ne_bytes(*bytes[at..].first_chunk().expect("in the head")) as u64
        };
        let magic = short(PAGE_HEAD);
        if magic != 0xBEEF_C0DE {
            return Err(format!(
                "there is {magic:#010x} where LMDB's number would be"
            ));
        }
        let version = short(PAGE_HEAD + 4);
        if version != 1 {
            return Err(format!("it has version {version} of LMDB's format, not 1"));
        }
        let root = |number: usize| long(DATABASES + (number + 1) * DATABASE_SIZE - WORD);
        Ok(Self {
            page_size: short(DATABASES),
            map_size: long(PAGE_HEAD + 8 + WORD),
            roots: [root(0), root(1)],
            last_page: long(DATABASES + 2 * DATABASE_SIZE),
        })
    }

    /// Whether every page that it names is in the map.
    fn check(&self, page_size: u32) -> Result<(), String> {
        let sane = page_size.is_power_of_two() && (256..=65_536).contains(&page_size);
        if !sane || self.page_size != page_size {
            return Err(format!("its head names pages of {} bytes", self.page_size));
        }
        if self.map_size != MAP_SIZE {
            return Err(format!("its head names a map of {} bytes", self.map_size));
        }
        if self.last_page >= MAP_SIZE / u64::from(page_size) {
            return Err(format!("its head names page {}", self.last_page));
        }
        match self
            .roots
            .iter()
            .find(|root| **root > self.last_page && **root != NO_PAGE)
        {
            Some(root) => Err(format!("its head names page {root} behind the last one")),
            None => Ok(()),
        }
    }
}
