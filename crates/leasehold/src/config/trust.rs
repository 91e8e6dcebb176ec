//! Who may change a file that says where to lock.
//!
//! Somebody who can write it can send one job to other servers than all the others, and two hold one lock. So a file that
//! everybody can write is refused. One that its group can write, or that belongs to another user, is worth a warning
//! and no more: there it may be meant so, as with a file that comes from outside of a container. Nothing is said of a
//! group of the user's own, which has the user's number: many systems give everybody one, and a umask of 002.

use super::{Warning, wrong};
use crate::error::SettingsError;
use rustix::process::geteuid;
use std::{fs, os::unix::fs::MetadataExt, path::Path};

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
    let is_private = owner == user && found.gid() == owner;
    if mode & 0o020 != 0 && !is_private {
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
    Ok(())
}

/// A word of the shell that is this text, whatever is in it.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:/@+,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
