//! LMDB's descriptor of the data file, which no other program may get.
//!
//! A program that inherits it can write to the store whatever user it runs as: no right of folder or file is asked for
//! again. An older copy written back lets two hold one lock; a file cut short ends every process that has it open.
//!
//! LMDB opens its other descriptors close-on-exec and this one not, since its users may want to hand it on. It has no
//! option for that and heed does not tell the number, so the descriptor is looked for among the open ones and marked.
//! What is left is the moment between the two, some microseconds: a program that another thread of this process starts
//! in that moment inherits it. Only an `open` that marks at once could close this, and that is LMDB's.

use rustix::{
    fd::BorrowedFd,
    fs::{OFlags, Stat, fcntl_getfl, fstat, stat},
    io::{FdFlags, fcntl_getfd, fcntl_setfd},
    process::{Resource, getrlimit},
};
use std::{io, path::Path};

/// Marks LMDB's descriptor of this file close-on-exec. LMDB must have the file open.
pub(super) fn close_on_exec(data: &Path) -> io::Result<()> {
    let wanted = stat(data)?;
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.map_or(i32::MAX, |limit| limit.try_into().unwrap_or(i32::MAX));
    // The lowest free number is given first, so the search ends where the open ones end.
    let descriptor = (0..limit).map(borrow).find(|open| is_lmdbs(*open, &wanted));
    let lost = || io::Error::other("the descriptor that LMDB opened cannot be found");
    let descriptor = descriptor.ok_or_else(lost)?;
    let flags = fcntl_getfd(descriptor)?;
    // Argument S3: who writes to the file past LMDB deletes and revives keys that are not theirs.
    Ok(fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC)?)
}

/// Whether this is the file, open to read and to write: LMDB's other descriptor of it is for writing alone, and ours
/// are for reading alone.
fn is_lmdbs(descriptor: BorrowedFd<'_>, wanted: &Stat) -> bool {
    let is_wanted = |found: Stat| (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino);
    let is_for_both = |flags: OFlags| flags & OFlags::RWMODE == OFlags::RDWR;
    fstat(descriptor).is_ok_and(is_wanted) && fcntl_getfl(descriptor).is_ok_and(is_for_both)
}

fn borrow(number: i32) -> BorrowedFd<'static> {
    // Any number may be asked about: one that is not open answers so, and asking changes nothing. The one that is
    // found is LMDB's, and stays open while its environment does, which the caller has.
    #[expect(
        unsafe_code,
        reason = "a number that somebody else opened cannot be borrowed safely; the comment above says why it may be"
    )]
    unsafe {
        BorrowedFd::borrow_raw(number)
    }
}
