//! Stopped processes that have a store open: one of them may be the one for which all others wait.

use std::path::Path;

/// The processes that have this file mapped and are stopped (SIGSTOP, a debugger), as far as this user may see.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn processes(data: &Path) -> Vec<u32> {
    use std::{fs, os::unix::fs::MetadataExt};

    let Ok(file) = fs::metadata(data) else {
        return Vec::new();
    };
    // Not by its device, which `maps` shows otherwise than `stat` on some file systems. It is for people.
    let inode = file.ino().to_string();
    let is_store = |line: &str| {
        let mut fields = line.split_ascii_whitespace().skip(4);
        fields.next() == Some(&*inode) && line.ends_with("data.mdb")
    };
    let has_it = |pid: &u32| {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"));
        maps.is_ok_and(|maps| maps.lines().any(is_store))
    };
    let is_stopped = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Behind the name, which may have anything in it.
        let state = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.trim_start().chars().next());
        matches!(state, Some('T' | 't'))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<_> = pids.filter(is_stopped).filter(has_it).collect();
    found.sort_unstable();
    found
}

/// Nobody tells elsewhere.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn processes(_: &Path) -> Vec<u32> {
    Vec::new()
}
