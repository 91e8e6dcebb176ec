//! Where the command keeps what has to outlive it: the file store, and the servers it started.

use crate::failure::Failure;
use rustix::{fs::Mode, process::geteuid};
use std::{
    env,
    ffi::OsString,
    fs::{DirBuilder, symlink_metadata},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// The user's folder: below `$XDG_STATE_HOME`, else `~/.local/state`; without a home, below
/// `$XDG_RUNTIME_DIR`, else `/tmp`.
///
/// The runtime folder would be the natural place, but a login has it and a cron job has not: the two
/// would not exclude each other. The store itself sees to it that no lock survives a reboot.
pub(crate) fn of_user() -> PathBuf {
    choose(|name| env::var_os(name), geteuid().as_raw())
}

fn choose(variable: impl Fn(&str) -> Option<OsString>, user: u32) -> PathBuf {
    // The base directory specification: a relative path is to be ignored.
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .or_else(|| absolute("XDG_RUNTIME_DIR"))
        .map_or_else(
            || PathBuf::from(format!("/tmp/leasehold-{user}")),
            |base| base.join("leasehold"),
        )
}

/// Makes the folder if it is not there, for this user alone, and refuses one that others could write.
///
/// Whoever can write the store can take every lock away; and in `/tmp` anybody can be there first.
pub(crate) fn prepare(folder: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::own(format!("cannot use {}: {error}", folder.display()))
            .hint(way_out(folder).to_owned())
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed)?;
    // Not following a link: it would be its target that was checked.
    let found = symlink_metadata(folder).map_err(failed)?;
    let open_to = Mode::from_raw_mode(found.mode()) & (Mode::WGRP | Mode::WOTH);
    let why = if found.is_symlink() {
        "it is a symbolic link".to_owned()
    } else if found.uid() != geteuid().as_raw() {
        format!("it belongs to user {}", found.uid())
    } else if !open_to.is_empty() {
        "others may write it".to_owned()
    } else {
        return Ok(());
    };
    Err(failed(io::Error::other(why)))
}

/// What to say instead, by who chose the folder.
fn way_out(folder: &Path) -> &'static str {
    if folder.starts_with(of_user()) {
        "set XDG_STATE_HOME to a folder that you can write"
    } else {
        "name a folder that belongs to you and that nobody else can write, or one that is not there yet: \
         file:///home/me/locks"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        collections::HashMap,
        fs::{Permissions, create_dir, remove_dir_all, set_permissions},
        os::unix::fs::{PermissionsExt, symlink},
    };

    #[test]
    fn the_first_absolute_folder_is_taken() {
        let runtime = ("XDG_RUNTIME_DIR", "/run/user/7");
        let cases = [
            (&[runtime, ("HOME", "/h")][..], "/h/.local/state/leasehold"),
            (&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")], "/s/leasehold"),
            (
                &[("XDG_STATE_HOME", "here"), ("HOME", "/h")],
                "/h/.local/state/leasehold",
            ),
            (&[("HOME", ""), runtime], "/run/user/7/leasehold"),
            (&[], "/tmp/leasehold-7"),
        ];
        for (variables, folder) in cases {
            let variables: HashMap<_, _> = variables.iter().copied().collect();
            let chosen = choose(|name| variables.get(name).map(OsString::from), 7);
            assert_eq!(chosen, Path::new(folder));
        }
    }

    #[test]
    fn a_folder_that_others_could_write_is_refused() {
        let base = env::temp_dir().join(format!("leasehold-folder-{}", std::process::id()));
        let folder = base.join("a/b");
        assert_eq!(prepare(&folder), Ok(()));
        let mode = |path: &Path| symlink_metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!((mode(&folder), mode(&base)), (0o700, 0o700));

        set_permissions(&folder, Permissions::from_mode(0o770)).expect("it is ours");
        let refused = prepare(&folder).expect_err("the group may write it");
        assert!(refused.text.ends_with("others may write it"), "{refused:?}");

        let link = base.join("link");
        create_dir(base.join("target")).expect("it is new");
        symlink(base.join("target"), &link).expect("it is new");
        let refused = prepare(&link).expect_err("it is a link");
        assert!(
            refused.text.ends_with("it is a symbolic link"),
            "{refused:?}"
        );
        remove_dir_all(base).expect("it is ours");
    }
}
