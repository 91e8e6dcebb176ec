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
};
use std::{fs, io, path::Path};

/// Marks LMDB's descriptor of this file close-on-exec. LMDB must have the file open.
///
/// A descriptor that the program itself has opened to read and to write the file looks the same. It is marked as well:
/// it is as dangerous.
pub(super) fn close_on_exec(data: &Path) -> io::Result<()> {
    let wanted = stat(data)?;
    let mut is_found = false;
    // Not every number up to the limit: there may be a billion.
    for entry in fs::read_dir(OPEN)? {
        let number = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(descriptor) = number.map(borrow).filter(|open| is_lmdbs(*open, &wanted)) else {
            continue;
        };
        // One that was closed meanwhile was not LMDB's.
        if let Ok(flags) = fcntl_getfd(descriptor) {
            // Argument S3: who writes to the file past LMDB deletes and revives keys that are not theirs.
            fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC)?;
            is_found = true;
        }
    }
    let lost = || io::Error::other("the descriptor that LMDB opened cannot be found");
    is_found.then_some(()).ok_or_else(lost)
}

/// The folder in which the system shows the open descriptors of this process.
#[cfg(any(target_os = "linux", target_os = "android"))]
const OPEN: &str = "/proc/self/fd";
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const OPEN: &str = "/dev/fd";

/// Whether this is the file, open to read and to write: LMDB's other descriptor of it is for writing alone, and ours
/// are for reading alone.
fn is_lmdbs(descriptor: BorrowedFd<'_>, wanted: &Stat) -> bool {
    let is_wanted = |found: Stat| (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino);
    let is_for_both = |flags: OFlags| flags & OFlags::RWMODE == OFlags::RDWR;
    fstat(descriptor).is_ok_and(is_wanted) && fcntl_getfl(descriptor).is_ok_and(is_for_both)
}

fn borrow(number: i32) -> BorrowedFd<'static> {
    // Any number may be asked about: one that is not open answers so, and asking changes nothing. Of those that are
    // marked, LMDB's stays open while its environment does, which the caller has.
    #[expect(
        unsafe_code,
        reason = "a number that somebody else opened cannot be borrowed safely; the comment above says why it may be"
    )]
    unsafe {
        BorrowedFd::borrow_raw(number)
    }
}
