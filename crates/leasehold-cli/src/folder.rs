//! Where the command keeps what has to outlive it: the file store, and the servers it started.

use crate::failure::Failure;
use nix::{
    errno::Errno,
    unistd::{Uid, User},
};
use rustix::{fs::Mode, process::geteuid};
use std::{
    env,
    ffi::OsString,
    fs::{DirBuilder, symlink_metadata},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The user's folder: below `$XDG_STATE_HOME`, else below `.local/state` in the home that the system knows for the id of
/// this user; for an id without a home, `/tmp/leasehold-ID`.
///
/// Two processes of one user that find different folders do not exclude each other. So the user's id decides, which all
/// of them have, and neither `$HOME`, which is missing in systemd's units and is another user's below `sudo`, nor
/// `$XDG_RUNTIME_DIR`, which a login has and a cron job has not. `$XDG_STATE_HOME` is set by nobody but a user who wants
/// another folder. A home that cannot be used is an error: a second choice would be a second set of locks. The store
/// itself sees to it that no lock survives a reboot.
///
/// # Errors
/// If the system cannot tell the user's home. It may ask a server for it, and answer later.
pub(crate) fn of_user() -> Result<PathBuf, Failure> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    if let Some(folder) = FOLDER.get() {
        return Ok(folder.clone());
    }
    let folder = choose(env::var_os("XDG_STATE_HOME"), geteuid().as_raw(), home)?;
    Ok(FOLDER.get_or_init(|| folder).clone())
}

fn choose(
    state_home: Option<OsString>,
    user: u32,
    home: impl Fn(u32) -> io::Result<Option<PathBuf>>,
) -> Result<PathBuf, Failure> {
    // The base directory specification: a relative path is to be ignored.
    let state_home = state_home.map(PathBuf::from);
    if let Some(base) = state_home.filter(|path| path.is_absolute()) {
        return Ok(base.join("leasehold"));
    }
    let home = home(user).map_err(|error| {
        Failure::own(format!("cannot find the home of user {user}: {error}"))
            .hint("set XDG_STATE_HOME to a folder that you can write".to_owned())
    })?;
    Ok(home.map_or_else(
        || PathBuf::from(format!("/tmp/leasehold-{user}")),
        |home| home.join(".local/state/leasehold"),
    ))
}

/// The home of the user with this id, as the system knows it.
fn home(user: u32) -> io::Result<Option<PathBuf>> {
    let entry = match User::from_uid(Uid::from_raw(user)) {
        // By getpwuid(3), each of these says that nobody has this id: where there is no list of users at all, say.
        Err(Errno::ENOENT | Errno::ESRCH | Errno::EBADF | Errno::EPERM) => None,
        entry => entry?,
    };
    Ok(entry.map(|user| user.dir).filter(|home| home.is_absolute()))
}

/// Makes the folder if it is not there, for this user alone, and refuses one that others could write.
///
/// Anyone who can write the store can take every lock away; and in `/tmp` anybody can be there first.
pub(crate) fn prepare(folder: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::own(format!("cannot use {}: {error}", folder.display()))
            .hint(way_out(folder).to_owned())
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| failed(in_the_way(folder).map_or(error, io::Error::other)))?;
    // Not following a link: it would be its target that was checked.
    let found = symlink_metadata(folder).map_err(failed)?;
    let open_to = Mode::from_raw_mode(found.mode()) & (Mode::WGRP | Mode::WOTH);
    let why = if found.is_symlink() {
        "it is a symbolic link".to_owned()
    } else if found.uid() != geteuid().as_raw() {
        format!("it belongs to user {}", found.uid())
    } else if !open_to.is_empty() {
        let failure = failed(io::Error::other("others may write it"));
        // One that was named may be theirs as well, as /tmp is.
        return Err(match is_own(folder) {
            true => failure.hint(format!("chmod go-w {}", folder.display())),
            false => failure,
        });
    } else {
        return Ok(());
    };
    Err(failed(io::Error::other(why)))
}

/// What stands where the folder was to be made or one above it, which the system calls a file that exists.
fn in_the_way(folder: &Path) -> Option<String> {
    let mut above = folder.ancestors();
    let (path, found) = above.find_map(|path| Some((path, symlink_metadata(path).ok()?)))?;
    let what = match found.file_type() {
        kind if kind.is_dir() => return None,
        kind if kind.is_symlink() && path == folder => "it is a symbolic link".to_owned(),
        _ if path.is_dir() => return None,
        kind if kind.is_symlink() => format!("{} is a symbolic link to no folder", path.display()),
        _ if path == folder => "it is a file, and a folder is needed".to_owned(),
        _ => format!("{} is a file, and a folder is needed", path.display()),
    };
    Some(what)
}

/// What to say instead, by who chose the folder.
fn way_out(folder: &Path) -> &'static str {
    if is_own(folder) {
        "set XDG_STATE_HOME to a folder that you can write"
    } else {
        "name a folder that belongs to you and that nobody else can write, or one that is not there yet: \
         file:///home/me/locks"
    }
}

/// Whether nobody named it.
fn is_own(folder: &Path) -> bool {
    of_user().is_ok_and(|own| folder.starts_with(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs::{Permissions, create_dir, remove_dir_all, set_permissions, write},
        os::unix::fs::{PermissionsExt, symlink},
    };

    #[test]
    fn the_users_id_decides_unless_a_folder_is_named() {
        let known = |user| Ok((user == 7).then(|| PathBuf::from("/seven")));
        for (state_home, user, folder) in [
            (Some("/s"), 7, "/s/leasehold"),
            (Some("here"), 7, "/seven/.local/state/leasehold"),
            (Some(""), 7, "/seven/.local/state/leasehold"),
            (None, 7, "/seven/.local/state/leasehold"),
            (None, 8, "/tmp/leasehold-8"),
        ] {
            let chosen = choose(state_home.map(OsString::from), user, known);
            assert_eq!(chosen, Ok(folder.into()));
        }
        // One that is known at other times must not have a second set of locks now.
        let silent = |_| Err(io::ErrorKind::TimedOut.into());
        let failure = choose(None, 7, silent).expect_err("nobody knows the home");
        assert_eq!(failure.text, "cannot find the home of user 7: timed out");
        let chosen = choose(Some("/s".into()), 7, silent);
        assert_eq!(chosen, Ok("/s/leasehold".into()));
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

    #[test]
    fn a_file_where_a_folder_is_needed_is_called_one() {
        let base = env::temp_dir().join(format!("leasehold-no-folder-{}", std::process::id()));
        create_dir(&base).expect("it is new");
        let (file, dangling) = (base.join("file"), base.join("dangling"));
        write(&file, "hi").expect("it is new");
        symlink(base.join("nothing"), &dangling).expect("it is new");
        let shown = file.display();
        for (path, said) in [
            (
                file.clone(),
                "it is a file, and a folder is needed".to_owned(),
            ),
            (
                file.join("a/b"),
                format!("{shown} is a file, and a folder is needed"),
            ),
            (dangling, "it is a symbolic link".to_owned()),
        ] {
            let refused = prepare(&path).expect_err("no folder can be there");
            let text = format!("cannot use {}: {said}", path.display());
            assert_eq!(refused.text, text);
        }
        remove_dir_all(base).expect("it is ours");
    }
}
