//! How the files of a store are opened: only if they are files, and without waiting.
//!
//! To open a FIFO waits until its other end is opened, which may never be, and to open some devices does something.
//! A link, symbolic or hard, would give one data file two lock files, in two folders, and with them two writers at a
//! time.

use super::error::FileError;
use rustix::{
    fs::OFlags,
    process::{Resource, getrlimit},
};
use std::{
    fs::{self, File, FileType, Metadata, OpenOptions},
    io,
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

/// Device and number: the same file under whatever name.
pub(super) type FileId = (u64, u64);

/// Which file there is.
pub(super) fn file_id(path: &Path) -> io::Result<FileId> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Opens a file of a store to read it; none if there is none. It must have one name.
pub(super) fn open_if_there(path: &Path) -> Result<Option<File>, FileError> {
    open(path, true)
}

/// The same for a file that is never written in its place: a copy of the folder may share it, as `cp -al` makes one.
pub(super) fn open_whatever_its_names(path: &Path) -> Result<Option<File>, FileError> {
    open(path, false)
}

fn open(path: &Path, has_one_name: bool) -> Result<Option<File>, FileError> {
    let failed = |error: io::Error| FileError::io(path, &error);
    let is_file = |found: &Metadata| {
        let reason = match odd(found.file_type()) {
            Some(kind) => format!("it is {kind}"),
            None if has_one_name && found.nlink() > 1 => {
                let names = found.nlink();
                format!(
                    "it has {names} names, hard links, as after `cp -al`: delete the others, which `find -samefile` finds"
                )
            }
            None => return Ok(()),
        };
        let path = path.to_owned();
        Err(FileError::NotAStore { path, reason })
    };
    match fs::symlink_metadata(path) {
        Ok(found) => is_file(&found)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    // It may be something else by now.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(failed)?;
    is_file(&file.metadata().map_err(failed)?)?;
    Ok(Some(file))
}

/// What this is, if it is no file.
fn odd(kind: FileType) -> Option<&'static str> {
    if kind.is_file() {
        None
    } else if kind.is_symlink() {
        Some("a symbolic link")
    } else if kind.is_dir() {
        Some("a folder")
    } else if kind.is_fifo() {
        Some("a FIFO")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

/// How long the files are that this process may write, if that is less than it needs. Who writes behind that is killed.
pub(super) fn limit_below(needed: u64) -> Option<u64> {
    let limit = getrlimit(Resource::Fsize).current;
    limit.filter(|limit| *limit < needed)
}
