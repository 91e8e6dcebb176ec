//! Whom a configuration may be believed from, and who may read what.

use crate::support::{Seen, User};
use rustix::process::{getegid, geteuid};
use std::{
    fs::{Permissions, create_dir, set_permissions, write},
    os::unix::fs::{PermissionsExt, chown, symlink},
};

fn put(user: &User, name: &str, text: &str, mode: u32) -> String {
    let path = user.path(name);
    write(&path, text).expect("the folder is there");
    set_permissions(&path, Permissions::from_mode(mode)).expect("it is ours");
    path
}

fn run(user: &User, config: &str) -> Seen {
    let words = ["--config", config, "run", "-n", "demo", "--", "echo", "hi"];
    user.run(&words).end()
}

#[test]
fn a_file_that_everybody_can_write_says_nothing_about_where_to_lock() {
    let user = User::new();
    let store = format!("nodes = ['file://{}']", user.path("store"));
    let text = format!("[clusters.a]\n{store}\n");
    for (mode, code, said) in [
        (0o644, 0, ""),
        (0o600, 0, ""),
        (0o666, 2, "everybody on this machine can change "),
        (0o602, 2, "everybody on this machine can change "),
    ] {
        let path = put(&user, "l.toml", &text, mode);
        let seen = run(&user, &path);
        let parts = match said {
            "" => vec![],
            said => vec![
                format!("{said}{path}"),
                format!("{mode:04o}\nhint: chmod go-w "),
                "on a file system without modes".to_owned(),
            ],
        };
        let parts: Vec<_> = parts.iter().map(String::as_str).collect();
        seen.assert_says(code, &parts);
        assert_eq!(seen.stderr.is_empty(), said.is_empty(), "{seen:?}");
        assert_eq!(seen.stdout.is_empty(), code != 0, "{seen:?}");
    }
    // So does a file with the addresses alone.
    put(&user, "list", "redis://127.0.0.1:1\n", 0o646);
    let path = put(
        &user,
        "l.toml",
        "[clusters.a]\nnodes_file = 'list'\n",
        0o644,
    );
    let refused = run(&user, &path);
    refused.assert_says(2, &["everybody on this machine can change ", "list"]);
}

#[test]
fn a_file_that_others_than_everybody_can_write_is_believed_with_a_warning() {
    let user = User::new();
    let text = format!("[clusters.a]\nnodes = ['file://{}']\n", user.path("store"));
    let path = put(&user, "l.toml", &text, 0o664);
    let (us, group) = (geteuid(), getegid());
    if us.as_raw() == group.as_raw() {
        // A group of the user's own: nobody else is in it.
        assert_eq!(run(&user, &path).stderr, "");
    }
    if us.is_root() {
        chown(&path, None, Some(65_534)).expect("root may");
        let warning = format!("warning: its group can change {path}");
        run(&user, &path).assert_says(0, &[&warning, "0664\nhint: chmod go-w "]);
        let path = put(&user, "l.toml", &text, 0o644);
        chown(&path, Some(65_534), None).expect("root may");
        run(&user, &path).assert_says(0, &["belongs to user 65534, who can change it"]);
    }
}

#[test]
fn a_file_in_a_folder_where_everybody_can_replace_it_says_nothing_about_where_to_lock() {
    let user = User::new();
    let (folder, link) = (user.path("open"), user.path("link.toml"));
    create_dir(&folder).expect("it is new");
    let text = format!("[clusters.a]\nnodes = ['file://{}']\n", user.path("store"));
    let path = put(&user, "open/l.toml", &text, 0o600);
    symlink(&path, &link).expect("it is new");
    let set = |mode| set_permissions(&folder, Permissions::from_mode(mode)).expect("it is ours");
    for mode in [0o777, 0o703] {
        set(mode);
        let said =
            format!("everybody on this machine can replace {path}, which says where to lock");
        let hint = format!("the mode of {folder} is {mode:04o}\nhint: chmod go-w {folder}");
        run(&user, &path).assert_says(2, &[&said, &hint]);
        // What a link leads to can be replaced as well.
        run(&user, &link).assert_says(2, &["can replace", &hint]);
    }
    // As /tmp is: nobody but its owner can replace the file.
    for mode in [0o1777, 0o755] {
        set(mode);
        assert_eq!(run(&user, &path).stderr, "", "{mode:o}");
    }
    if geteuid().is_root() {
        set(0o775);
        chown(&folder, None, Some(65_534)).expect("root may");
        let warning = format!("warning: its folder's group can replace {path}");
        run(&user, &path).assert_says(0, &[&warning, "is 0775\nhint: chmod go-w "]);
        set(0o755);
        chown(&folder, Some(65_534), None).expect("root may");
        run(&user, &path).assert_says(0, &["belongs to user 65534, who can replace it"]);
    }
}

#[test]
fn a_password_in_the_list_of_processes_is_told_of_once() {
    let user = User::new();
    let nodes = "redis://127.0.0.1:1,redis://u:hush@127.0.0.1:2";
    let flags = ["run", "-n", "--nodes", nodes, "demo", "--", "true"];
    let told = user.run(&flags).end();
    let warning = "leasehold: warning: everybody on this machine can read the password in --nodes";
    told.assert_says(122, &["hint: LEASEHOLD_NODES "]);
    assert_eq!(told.stderr.matches(warning).count(), 1, "{told:?}");
    assert!(!told.stderr.contains("hush"), "{told:?}");
    let words = [
        "reconfigure",
        "--nodes",
        "redis://127.0.0.1:1",
        "--from",
        nodes,
        "--dry-run",
    ];
    let told = user.run(&words).end();
    assert!(told.stderr.contains("the password in --from"), "{told:?}");
    // Only its user can read a process's environment.
    let words = ["run", "-n", "demo", "--", "true"];
    let quiet = user.run(&words).env("LEASEHOLD_NODES", nodes).end();
    assert!(!quiet.stderr.contains("warning"), "{quiet:?}");
    let flags = [
        "run",
        "-n",
        "--nodes",
        "redis://u@127.0.0.1:1",
        "demo",
        "--",
        "true",
    ];
    let quiet = user.run(&flags).end();
    assert!(!quiet.stderr.contains("warning"), "{quiet:?}");
}
