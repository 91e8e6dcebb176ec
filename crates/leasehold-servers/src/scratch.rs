//! Folders of servers that do not outlive their starter.

use crate::process::Process;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A folder of its own, removed on drop.
///
/// Its name tells who made it, by process id and start time. So what a killed test leaves behind can be
/// told from what a running one still uses.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(crate) fn create() -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let me = Process::current();
        let path = base().join(format!("{PREFIX}{}-{}-{count}", me.pid, me.started));
        fs::create_dir(&path)?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// Where the folders are.
pub(crate) fn base() -> PathBuf {
    env::temp_dir()
}

/// Who made the folder of this name, if it is one of ours.
pub(crate) fn maker(name: &str) -> Option<Process> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let maker = Process {
        pid: parts.next()?.parse().ok()?,
        started: parts.next()?.parse().ok()?,
    };
    parts.next()?;
    Some(maker)
}

const PREFIX: &str = "leasehold-server-";
