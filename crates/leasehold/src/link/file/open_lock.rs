//! Who has a store open, as the kernel counts it.
//!
//! A boot id alone does not tell a store that is left over from an earlier boot: some containers have
//! boot ids of their own and share a folder. What is certain is that nobody of an earlier boot has
//! anything open. So a process that has a store open holds a shared `flock` on its data file, and a process that
//! replaces a store must get the exclusive one first. The lock belongs to the file in the kernel, so it
//! counts across namespaces of all kinds, and it ends with its process, however that ends.
//!
//! LMDB is not disturbed by it: its own locks are of another kind (`fcntl`), and in `lock.mdb`.

use super::{error::FileError, opening::FileId};
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use std::{fs::File, io, os::unix::fs::MetadataExt, path::Path};

/// A lock on the data file for as long as this lives.
///
/// The standard library opens files close-on-exec, so programs that this process starts do not hold
/// it. A child of `fork` without `exec` does, and then a store is refused rather than replaced.
#[derive(Debug)]
pub(super) struct OpenLock {
    file: File,
    id: FileId,
    company: Company,
}

/// Who else has the store open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    /// Nobody, and nobody can open it.
    None,
    /// Others may.
    Welcome,
}

impl OpenLock {
    /// Says that this process has the store open, alone if it can be. Does not wait: under the folder's lock nobody
    /// of ours has it alone.
    pub(super) fn enter(path: &Path, file: File) -> Result<Self, FileError> {
        let failed = |error: io::Error| FileError::io(path, &error);
        let company = match lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Company::None,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                lock(&file, FlockOperation::NonBlockingLockShared).map_err(failed)?;
                Company::Welcome
            }
            Err(error) => return Err(failed(error)),
        };
        Self::of(file, company).map_err(failed)
    }

    /// Says that nobody has the store open, and is an error if somebody has. Does not wait.
    pub(super) fn alone(path: &Path, file: File) -> Result<Self, FileError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock => FileError::InUse {
                path: path.to_owned(),
            },
            _ => FileError::io(path, &error),
        };
        lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(failed)?;
        Self::of(file, Company::None).map_err(failed)
    }

    fn of(file: File, company: Company) -> io::Result<Self> {
        let found = file.metadata()?;
        let id = (found.dev(), found.ino());
        Ok(Self { file, id, company })
    }

    /// Whether nobody else has the store open.
    pub(super) fn is_alone(&self) -> bool {
        self.company == Company::None
    }

    /// Lets others open the store as well.
    pub(super) fn welcome(&mut self) -> io::Result<()> {
        lock(&self.file, FlockOperation::NonBlockingLockShared)?;
        self.company = Company::Welcome;
        Ok(())
    }

    /// The file that is locked.
    pub(super) const fn id(&self) -> FileId {
        self.id
    }
}

impl Drop for OpenLock {
    fn drop(&mut self) {
        // Not left to the closing: a child that was forked and has not come to its `exec` yet has the
        // same opening, and would keep the lock for that moment.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn lock(file: &File, how: FlockOperation) -> io::Result<()> {
    loop {
        match flock(file, how) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
