//! Why a store cannot be opened.

use rustix::{
    fs::{StatVfs, statvfs},
    io::Errno,
};
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Why a store cannot be opened. What it shows completes "cannot …" and names the way out.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileError {
    /// The path is something else than a folder.
    #[non_exhaustive]
    NotAFolder {
        /// What was to be opened.
        path: PathBuf,
    },
    /// There is a file in the store's place that leasehold did not make, or cannot tell that it did.
    #[non_exhaustive]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// By what it was told.
        reason: String,
    },
    /// The file is a store, but not a whole one.
    #[non_exhaustive]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The largest token that the store may have given before the machine was started cannot be read.
    #[non_exhaustive]
    TokensDamaged {
        /// The file.
        path: PathBuf,
    },
    /// The store was made by a leasehold that writes it otherwise.
    #[non_exhaustive]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The number of its format.
        found: u32,
        /// The number of the format that this version reads.
        supported: u32,
    },
    /// The operating system does not let this process read and write there.
    #[non_exhaustive]
    NoPermission {
        /// What could not be used.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// The folder is on a file system that is shared over a network.
    #[non_exhaustive]
    NetworkFileSystem {
        /// The folder.
        path: PathBuf,
        /// Which file system.
        kind: &'static str,
    },
    /// There is no room for the store.
    #[non_exhaustive]
    DiskFull {
        /// What could not be written.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// This process may not write files as long as the store is. It would be killed where it did.
    #[non_exhaustive]
    FileSizeLimit {
        /// What would be written.
        path: PathBuf,
        /// How many bytes the files may have that this process writes.
        limit: u64,
        /// How many the store has.
        needed: u64,
    },
    /// The path is longer than the operating system takes.
    #[non_exhaustive]
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// This process has another store open that was in the same place before.
    #[non_exhaustive]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// This process was forked of one that had the store open, and has its memory of that without its thread.
    #[non_exhaustive]
    Forked {
        /// The folder.
        path: PathBuf,
    },
    /// Processes that see another boot id have the store open: in a container that has one of its own,
    /// for example. Those who share a store must see one boot id.
    #[non_exhaustive]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// Processes of another time namespace have the store open. Those who share a store must be in one, since their
    /// clocks tell when its keys end.
    #[non_exhaustive]
    OtherTimeNamespace {
        /// The file.
        path: PathBuf,
        /// The number of the time namespace of those processes; zero if it cannot be told.
        theirs: u64,
        /// The number of the time namespace of this process; zero if it cannot be told.
        ours: u64,
    },
    /// The boot id cannot be read, so a store of an earlier boot could not be told from a current one.
    #[non_exhaustive]
    NoBootId {
        /// What was to be opened.
        path: PathBuf,
        /// Why it cannot be read.
        reason: String,
    },
    /// Anything else.
    #[non_exhaustive]
    Failed {
        /// What could not be used.
        path: PathBuf,
        /// The words of the operating system or of LMDB.
        reason: String,
    },
}

impl FileError {
    /// What the operating system refused to do with `path`.
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        let path = path.to_owned();
        let reason = error.to_string();
        match error.kind() {
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
                Self::NoPermission { path, reason }
            }
            _ if is_full(error) => Self::DiskFull {
                path,
                reason: full(error),
            },
            Kind::NotADirectory => Self::NotAFolder { path },
            Kind::InvalidFilename => Self::PathTooLong { path },
            _ => Self::Failed { path, reason },
        }
    }

    /// What LMDB refused to do with `path`.
    pub(super) fn lmdb(path: &Path, error: &heed::Error) -> Self {
        use heed::MdbError as Mdb;
        match error {
            heed::Error::Io(error) if is_cut_short(path, error) => Self::DiskFull {
                path: path.to_owned(),
                reason: NO_SPACE.to_owned(),
            },
            heed::Error::Io(error) => Self::io(path, error),
            heed::Error::Mdb(
                Mdb::Invalid
                | Mdb::Corrupted
                | Mdb::PageNotFound
                | Mdb::VersionMismatch
                | Mdb::Incompatible,
            ) => Self::Damaged {
                path: path.to_owned(),
                reason: error.to_string(),
            },
            _ => Self::Failed {
                path: path.to_owned(),
                reason: error.to_string(),
            },
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self {
            Self::NotAFolder { path }
            | Self::NotAStore { path, .. }
            | Self::Damaged { path, .. }
            | Self::TokensDamaged { path }
            | Self::OtherFormat { path, .. }
            | Self::NoPermission { path, .. }
            | Self::NetworkFileSystem { path, .. }
            | Self::DiskFull { path, .. }
            | Self::FileSizeLimit { path, .. }
            | Self::PathTooLong { path }
            | Self::Replaced { path }
            | Self::Forked { path }
            | Self::InUse { path }
            | Self::OtherTimeNamespace { path, .. }
            | Self::NoBootId { path, .. }
            | Self::Failed { path, .. } => path,
        };
        write!(out, "open the lock store {path:?}: ")?;
        self.write_reason(out)
    }
}

impl FileError {
    /// What is wrong, and the way out.
    fn write_reason(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFolder { .. } => out.write_str(NOT_A_FOLDER),
            Self::NotAStore { reason, .. } => write!(
                out,
                "it is not one ({reason}); choose another folder, or move the file away if nobody \
                 needs it"
            ),
            Self::Damaged { reason, .. } => write!(
                out,
                "it is damaged ({reason}); end the programs that use it, then delete it: a new one \
                 will be made"
            ),
            Self::TokensDamaged { .. } => out.write_str(TOKENS_DAMAGED),
            Self::OtherFormat {
                found, supported, ..
            } => write!(
                out,
                "it has format {found}, this version of leasehold has format {supported}; use one \
                 version in all programs that share it"
            ),
            Self::Replaced { .. } => out.write_str(REPLACED),
            Self::Forked { .. } => out.write_str(FORKED),
            Self::NoPermission { reason, .. } => write!(
                out,
                "{reason}; all programs that share it must run as the user who owns it, and must be \
                 allowed to write there"
            ),
            Self::NetworkFileSystem { kind, .. } => write!(
                out,
                "it is on {kind}, where neither memory nor locks are shared between machines; choose \
                 a folder on a local disk"
            ),
            Self::DiskFull { reason, .. } => write!(
                out,
                "{reason}; make room on the disk: a store takes 100 kB at first, and 64 MiB with as many locks as it can have"
            ),
            Self::FileSizeLimit { limit, needed, .. } => write!(
                out,
                "this process may write files of {limit} bytes at most and the store has {needed}, most of them without \
                 room on the disk; raise the limit (`ulimit -f`, or LimitFSIZE= of systemd)"
            ),
            Self::PathTooLong { .. } => out.write_str("the path is too long; choose a shorter one"),
            Self::InUse { .. } => out.write_str(IN_USE),
            Self::OtherTimeNamespace { theirs, ours, .. } => write!(
                out,
                "processes of another time namespace have it open: it was opened in time:[{theirs}], this process is \
                 in time:[{ours}]; their clocks since boot may differ, so neither could tell when a lock of the other \
                 ends; run all programs that share it in one time namespace (`lsns -t time` lists them), or choose \
                 another folder"
            ),
            Self::NoBootId { reason, .. } => write!(
                out,
                "without the boot id a store of an earlier boot cannot be told from one in use \
                 ({reason}); make /proc/sys/kernel/random/boot_id readable for this process"
            ),
            Self::Failed { reason, .. } => out.write_str(reason),
        }
    }
}

impl std::error::Error for FileError {}

leasehold_core::debug_by_sentence!(FileError {
    NotAFolder { path },
    NotAStore { path, reason },
    Damaged { path, reason },
    TokensDamaged { path },
    OtherFormat { path, found, supported },
    NoPermission { path, reason },
    NetworkFileSystem { path, kind },
    DiskFull { path, reason },
    FileSizeLimit { path, limit, needed },
    PathTooLong { path },
    Replaced { path },
    Forked { path },
    InUse { path },
    OtherTimeNamespace { path, theirs, ours },
    NoBootId { path, reason },
    Failed { path, reason },
});

/// What LMDB says of a failure in the store at `path`.
pub(super) fn words(path: &Path, error: &heed::Error) -> String {
    match error {
        heed::Error::Io(error) if is_cut_short(path, error) => NO_SPACE.to_owned(),
        heed::Error::Io(error) if is_full(error) => full(error),
        error => error.to_string(),
    }
}

/// Whether the system says that there is no room.
fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(error.kind(), Kind::StorageFull | Kind::QuotaExceeded)
}

/// The system's words, which differ, behind ours, which are always the same.
fn full(error: &io::Error) -> String {
    format!("{NO_SPACE}: {error}")
}

/// Whether there was room for a part of a write only, which LMDB calls an input/output error.
fn is_cut_short(path: &Path, error: &io::Error) -> bool {
    let has_room = |disk: StatVfs| disk.f_bavail.saturating_mul(disk.f_frsize) >= LEAST_ROOM;
    let folder = path.parent().unwrap_or(path);
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
        && statvfs(folder).is_ok_and(|disk| !has_room(disk))
}

/// No write of LMDB is longer.
const LEAST_ROOM: u64 = 1 << 20;

const NO_SPACE: &str = "the disk is full";

const NOT_A_FOLDER: &str = "it is not a folder; name a folder, which is made if it is missing";

const TOKENS_DAMAGED: &str = "it is damaged, so it cannot be told how large the fencing tokens were before the machine was started; delete \
     it if the machine's time is right, and tokens go on from the time";

const FORKED: &str = "this process was forked of one that has it open; start the program anew there (exec), or fork before \
                      the store is opened";
const REPLACED: &str =
    "it was deleted or replaced while this process had it open; end all use of the old one first";

const IN_USE: &str = "it is in use by processes that see another boot id, such as those of another container; let all programs \
     that share it see the same /proc/sys/kernel/random/boot_id, or end those programs, or choose another folder";
