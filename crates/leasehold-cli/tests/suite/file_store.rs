//! What stands in the way of the file store, as the command tells it.

#![cfg(target_os = "linux")]

use crate::support::{Test, User};
use std::{fs, os::unix::fs::PermissionsExt, process::Command};

#[test]
fn a_folder_that_was_named_is_not_told_to_be_moved_by_a_variable() {
    let user = User::new();
    let named = user.path("named");
    fs::create_dir(&named).expect("it is new");
    fs::set_permissions(&named, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let nodes = format!("file://{named}");
    let seen = user
        .run(&["run", "--nodes", &nodes, "demo", "--", "true"])
        .end();
    seen.assert_says(125, &[&named, "others may write it", "hint: name a folder"]);
    assert!(!seen.stderr.contains("XDG_STATE_HOME"), "{seen:?}");

    // The user's own is for nobody else, and another one would be another set of locks.
    let own = user.path("leasehold");
    fs::create_dir(&own).expect("it is new");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let seen = user.run(&["run", "demo", "--", "true"]).end();
    let way_out = format!("others may write it\nhint: chmod go-w {own}\n");
    seen.assert_says(125, &[&way_out]);
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let seen = user.run(&["run", "demo", "--", "true"]).end();
    assert_eq!(seen.code, 0, "{seen:?}");
}

/// The command, as a user with this home by the system's list of users, on whatever $HOME says.
fn by_the_list(user: &User, words: &[&str]) -> Test {
    let list = user.path("passwd");
    let home = user.path("home");
    fs::write(&list, format!("root:x:0:0::{home}:/bin/sh\n")).expect("it is ours");
    let script = format!("mount --bind {list} /etc/passwd && exec \"$@\"");
    let leasehold = env!("CARGO_BIN_EXE_leasehold");
    let before = [
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        &script,
        "sh",
        leasehold,
    ];
    user.run_in("unshare", &before, words)
        .without("XDG_STATE_HOME")
}

#[test]
fn processes_of_one_user_exclude_each_other_whatever_home_says() {
    let user = User::new();
    fs::create_dir(user.path("home")).expect("it is new");
    let words = ["run", "demo", "--", "sh", "-c", "echo up; exec sleep 30"];
    let mut holder = by_the_list(&user, &words)
        .env("HOME", user.path("elsewhere"))
        .start();
    if holder.line() != "up" {
        let seen = holder.end();
        assert!(
            seen.stderr.contains("unshare: ") || seen.stderr.contains("mount: "),
            "{seen:?}"
        );
        leasehold_servers::skip("this machine gives nobody a namespace");
        return;
    }
    let says = format!(
        "on this machine only, in {}",
        user.path("home/.local/state/leasehold")
    );
    assert!(holder.error_line().ends_with(&says));
    let words = ["run", "-n", "demo", "--", "true"];
    let homes = [
        None,
        Some(user.path("home")),
        Some("/nowhere".to_owned()),
        Some(String::new()),
    ];
    for home in homes {
        let run = by_the_list(&user, &words).env("XDG_RUNTIME_DIR", user.folder());
        let run = match &home {
            Some(home) => run.env("HOME", home),
            None => run.without("HOME"),
        };
        run.end().assert_says(121, &[&says, "held by pid"]);
    }
    // Who names another folder has other locks.
    let other = by_the_list(&user, &words).env("XDG_STATE_HOME", user.path("other"));
    other.end().assert_says(0, &[&user.path("other/leasehold")]);
    holder.signal(rustix::process::Signal::TERM);
    assert_eq!(holder.end_alone(), -15);
}

#[test]
fn a_fifo_in_the_stores_place_is_named_and_nobody_waits_for_it() {
    let user = User::new();
    assert_eq!(user.run(&["run", "demo", "--", "true"]).end().code, 0);
    let store = user.folder().join("leasehold");
    for name in ["data.mdb", "lock.mdb"] {
        fs::remove_file(store.join(name)).expect("it was made");
        let made = Command::new("mkfifo").arg(store.join(name)).status();
        assert!(made.expect("there is mkfifo").success());
        let seen = user.run(&["run", "demo", "--", "echo", "never"]).end();
        seen.assert_says(125, &[name, "it is a FIFO", "move the file away"]);
        assert_eq!(seen.stdout, "");
        fs::remove_file(store.join(name)).expect("it was made");
    }
}

#[test]
fn a_limit_of_file_sizes_ends_nothing_without_a_word() {
    let user = User::new();
    let leasehold = env!("CARGO_BIN_EXE_leasehold");
    let script = format!("ulimit -f 100; exec {leasehold} run inner -- echo never");
    let seen = user.run(&["run", "outer", "--", "sh", "-c", &script]).end();
    seen.assert_says(
        125,
        &["bytes at most and the store has 67108908", "ulimit -f"],
    );
    assert_eq!(seen.stdout, "");
}
