//! Who may change a file that says where to lock.
//!
//! Somebody who can write it can send one job to other servers than all the others, and two hold one lock. So a file that
//! everybody can write is refused. One that its group can write, or that belongs to another user, is worth a warning
//! and no more: there it may be meant so, as with a file that comes from outside of a container. Nothing is said of a
//! group of the user's own, which has the user's number: many systems give everybody one, and a umask of 002.
//!
//! Who can write the folder can put another file in its place, whatever the file's mode: the same is said of the folder. Not
//! of one with the sticky bit, such as /tmp, where the file's owner alone can. What is above the folder is not looked at.

use super::{Warning, wrong};
use crate::error::SettingsError;
use rustix::{
    fs::{StatVfsMountFlags, statvfs},
    process::geteuid,
};
use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Whether what the file says can be believed. Warns where that is in doubt.
pub(super) fn check(path: &Path, warnings: &mut Vec<Warning>) -> Result<(), SettingsError> {
    // What is not a file with a mode (a pipe, say) was made by the user who named it.
    let Some(found) = fs::metadata(path).ok().filter(fs::Metadata::is_file) else {
        return Ok(());
    };
    let shown = path.display().to_string();
    let (mode, word) = (found.mode() & 0o7777, quoted(&shown));
    if mode & 0o002 != 0 {
        let text = format!(
            "everybody on this machine can change {shown}, which says where to lock: its mode is {mode:04o}"
        );
        // vfat, CIFS and the disks of Windows under WSL show one mode for all files.
        let hint = format!(
            "chmod go-w {word}; on a file system without modes, where that changes nothing, move it to one that has them"
        );
        return Err(wrong(text).hint(hint));
    }
    let (owner, user) = (found.uid(), geteuid().as_raw());
    if mode & 0o020 != 0 && !is_private(&found) {
        warnings.push(Warning {
            text: format!(
                "its group can change {shown}, which says where to lock: its mode is {mode:04o}"
            ),
            hint: Some(format!("chmod go-w {word}")),
        });
    }
    if owner != 0 && owner != user {
        warnings.push(Warning {
            text: format!(
                "{shown}, which says where to lock, belongs to user {owner}, who can change it"
            ),
            hint: None,
        });
    }
    let replacing = |folder: PathBuf| check_folder(path, &folder, owner, warnings);
    folders(path).into_iter().try_for_each(replacing)
}

/// The folder with the file's name, and where that is a link also the folder with what it leads to.
fn folders(path: &Path) -> Vec<PathBuf> {
    let named = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Some(Path::new(".")),
        folder => folder,
    };
    let target = path.canonicalize().ok();
    let target = target.as_deref().and_then(Path::parent);
    let mut folders: Vec<_> = [named, target]
        .into_iter()
        .flatten()
        .map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_owned()))
        .collect();
    folders.dedup();
    folders
}

/// Whether nobody can put another file in the place of this one, of that owner.
fn check_folder(
    path: &Path,
    folder: &Path,
    owner: u32,
    warnings: &mut Vec<Warning>,
) -> Result<(), SettingsError> {
    // A mount that is for reading alone is changed by who has made it: a ConfigMap of Kubernetes, with mode 0777.
    let is_for_reading =
        statvfs(folder).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::RDONLY));
    let Some(found) = fs::metadata(folder).ok().filter(|_| !is_for_reading) else {
        return Ok(());
    };
    let mode = found.mode() & 0o7777;
    let (file, shown) = (path.display(), folder.display().to_string());
    let (is_sticky, hint) = (mode & 0o1000 != 0, format!("chmod go-w {}", quoted(&shown)));
    let text = |who: &str| {
        format!(
            "{who} can replace {file}, which says where to lock: the mode of {shown} is {mode:04o}"
        )
    };
    if mode & 0o002 != 0 && !is_sticky {
        let hint = format!("{hint}, or move the file to a folder of your own");
        return Err(wrong(text("everybody on this machine")).hint(hint));
    }
    if mode & 0o020 != 0 && !is_sticky && !is_private(&found) {
        warnings.push(Warning {
            text: text("its folder's group"),
            hint: Some(hint),
        });
    }
    // Of the file's own owner it has been told.
    let other = found.uid();
    if ![0, geteuid().as_raw(), owner].contains(&other) {
        warnings.push(Warning {
            text: format!(
                "{shown}, with {file}, which says where to lock, belongs to user {other}, who can replace it"
            ),
            hint: None,
        });
    }
    Ok(())
}

/// Whether this user is the owner, with a group of its own.
fn is_private(found: &Metadata) -> bool {
    let owner = found.uid();
    owner == geteuid().as_raw() && found.gid() == owner
}

/// A word of the shell that is this text, whatever is in it.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:/@+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
