//! The folder of a store, and what is in it.

use super::{
    ceiling::Ceiling,
    error::FileError,
    head,
    open_lock::OpenLock,
    opening::{FileId, limit_below, open_if_there, remove},
    process_identity::ProcessIdentity,
    store::Store,
};
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// A folder that is there, on a disk of this machine.
#[derive(Debug)]
pub(super) struct StoreDirectory {
    path: PathBuf,
    folder: File,
}

impl StoreDirectory {
    /// Makes the folder if it is missing.
    pub(super) fn prepare(path: &Path) -> Result<Self, FileError> {
        let failed = |error: io::Error| FileError::io(path, &error);
        match fs::metadata(path) {
            Ok(found) if !found.is_dir() => {
                return Err(FileError::NotAFolder {
                    path: path.to_owned(),
                });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(path)
                    .map_err(failed)?;
            }
            Err(error) => return Err(failed(error)),
        }
        let path = path.canonicalize().map_err(failed)?;
        let folder = File::open(&path).map_err(failed)?;
        refuse_network(&path, &folder)?;
        Ok(Self { path, folder })
    }

    /// Which folder it is.
    pub(super) fn id(&self) -> Result<FileId, FileError> {
        self.folder
            .metadata()
            .map(|found| (found.dev(), found.ino()))
            .map_err(|error| FileError::io(&self.path, &error))
    }

    /// The file with the keys.
    pub(super) fn data(&self) -> PathBuf {
        self.path.join("data.mdb")
    }

    /// Opens the store, and makes one if there is none or one of an earlier boot. Waits while another
    /// process does the same. This process must not have it open.
    ///
    /// A store of another boot id that somebody has open is not of an earlier boot, and is refused.
    pub(super) fn open(&self, holder: ProcessIdentity) -> Result<Store, FileError> {
        // One at a time: nobody meets a store that is half made, and two cannot make one each. The
        // kernel gives the lock back when the folder is closed, or its process killed.
        let _lock = FolderLock::take(&self.path)?;
        self.check_lock_file()?;
        let data = self.data();
        if let Some(limit) = limit_below(head::FILE_SIZE) {
            return Err(FileError::FileSizeLimit {
                path: data,
                limit,
                needed: head::FILE_SIZE,
            });
        }
        // Argument S3: one file under two names would have two locks for its writers.
        let file = match open_if_there(&data)? {
            Some(mut file) => match head::check(&data, &mut file, &holder)? {
                head::Age::Current => file,
                head::Age::OtherBoot => {
                    // Held until the new store is in the old one's place: nobody can begin to use
                    // what is about to be replaced.
                    let _alone = OpenLock::alone(&data, file)?;
                    self.create(&holder)?
                }
            },
            None => self.create(&holder)?,
        };
        // Before LMDB opens it, and before the folder's lock ends.
        let open_lock = OpenLock::enter(&data, file)?;
        Store::open(&self.path, data, holder, open_lock)
    }

    /// Makes a store beside its place and moves it there when it is whole.
    fn create(&self, holder: &ProcessIdentity) -> Result<File, FileError> {
        let draft = self.path.join("data.mdb.new");
        let draft_lock = self.path.join("data.mdb.new-lock");
        let failed = |error: io::Error| FileError::io(&draft, &error);
        // What a process left that was killed at this point, or had no room left.
        for leftover in [&draft, &draft_lock] {
            remove(leftover).map_err(failed)?;
        }
        let ceiling = Ceiling::of(&self.path).read()?;
        Store::create(&draft, ceiling)?;
        OpenOptions::new()
            .write(true)
            .open(&draft)
            .and_then(|mut file| head::mark(&mut file, holder))
            .and_then(|()| fs::remove_file(&draft_lock))
            .and_then(|()| fs::rename(&draft, self.data()))
            .and_then(|()| self.folder.sync_all())
            .and_then(|()| File::open(self.data()))
            .map_err(failed)
    }

    /// LMDB would write over a `lock.mdb` of somebody else without asking.
    fn check_lock_file(&self) -> Result<(), FileError> {
        let path = self.path.join("lock.mdb");
        let Some(file) = open_if_there(&path)? else {
            return Ok(());
        };
        let mut head = Vec::new();
        match file.take(4).read_to_end(&mut head) {
            // Zeros are what a process leaves that was killed while it made the file.
            Ok(_) if [&[][..], &[0; 4], &0xBEEF_C0DE_u32.to_ne_bytes()].contains(&&*head) => Ok(()),
            Ok(_) => Err(FileError::NotAStore {
                path,
                reason: "it is not a lock file of LMDB".to_owned(),
            }),
            Err(error) => Err(FileError::io(&path, &error)),
        }
    }
}

/// A lock on the folder itself, so that no file is needed for it.
struct FolderLock(#[expect(dead_code, reason = "held open, not read")] File);

impl FolderLock {
    fn take(path: &Path) -> Result<Self, FileError> {
        // Opened anew: the lock belongs to the opening.
        let folder = File::open(path).map_err(|error| FileError::io(path, &error))?;
        loop {
            match rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self(folder)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(FileError::io(path, &error.into())),
            }
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn refuse_network(path: &Path, folder: &File) -> Result<(), FileError> {
    let found = rustix::fs::fstatfs(folder).map_err(|error| FileError::io(path, &error.into()))?;
    // The kernel's numbers have 32 bits, in a field whose type differs between machines.
    match network_file_system(found.f_type as u64 & 0xffff_ffff) {
        Some(kind) => Err(FileError::NetworkFileSystem {
            path: path.to_owned(),
            kind,
        }),
        None => Ok(()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn refuse_network(_: &Path, _: &File) -> Result<(), FileError> {
    Ok(())
}

/// The network and cluster file systems by their numbers in Linux.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn network_file_system(magic: u64) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => "SMB/CIFS",
        0x0102_1997 => "9P",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x00c3_6400 => "Ceph",
        0x0bd0_0bd0 => "Lustre",
        0x0116_1970 => "GFS2",
        0x7461_636f => "OCFS2",
        0x4750_4653 => "GPFS",
        _ => return None,
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_from_local_ones() {
        assert_eq!(network_file_system(0x6969), Some("NFS"));
        assert_eq!(network_file_system(0xff53_4d42), Some("SMB/CIFS"));
        assert_eq!(network_file_system(0x0102_1997), Some("9P"));
        assert_eq!(network_file_system(0xef53), None);
    }
}
