//! An address that was forgotten: no machine locks for itself unless that is wanted.

use crate::support::{Seen, User};
use std::{fs, os::unix::fs::PermissionsExt};

const JOB: [&str; 5] = ["run", "demo", "--", "echo", "ran"];

#[test]
fn a_variable_that_is_nearly_ours_is_an_error_that_names_both() {
    let user = User::new();
    for wrong in ["LEASEHOLD_NODE", "LEASHOLD_NODES", "leasehold_nodes"] {
        for words in [&JOB[..], &["status", "demo"], &["list"]] {
            let seen = user.run(words).env(wrong, "redis://127.0.0.1:1").end();
            let says = format!(
                "leasehold does not know the variable {wrong}; did you mean LEASEHOLD_NODES?"
            );
            seen.assert_says(2, &[&says, "hint: rename it, or unset it"]);
            assert_eq!(seen.stdout, "");
        }
    }
    // As Kubernetes makes them.
    let test = user.run(&JOB).env("LEASEHOLD_SERVICE_HOST", "10.0.0.1");
    let seen = test
        .env("LEASEHOLD_PORT_6379_TCP", "tcp://10.0.0.1:6379")
        .end();
    seen.assert(0, "ran\n", &user.local());
}

#[test]
fn what_is_wrong_with_the_variable_is_told_with_its_name() {
    let user = User::new();
    for (value, says) in [
        ("", "no node in it"),
        (
            "\"redis://a,redis://b\"",
            "quotes are part of the value; remove them",
        ),
        ("redis://a redis://b", "addresses are separated by commas"),
        ("redis://a;redis://b", "addresses are separated by commas"),
        ("redis://a,http://b", "\"http://b\" has an unknown scheme"),
    ] {
        let seen = user.run(&JOB).env("LEASEHOLD_NODES", value).end();
        seen.assert_says(2, &[&format!("leasehold: in LEASEHOLD_NODES: {says}")]);
    }
}

#[test]
fn whoever_requires_nodes_does_not_lock_on_this_machine() {
    let user = User::new();
    let refused = |seen: &Seen, by: &str| {
        let says = format!("no nodes given, and {by} refuses to lock on this machine only");
        seen.assert_says(2, &[&says, "hint: name them by --nodes"]);
        assert_eq!(seen.stdout, "");
    };
    let flag = ["run", "--require-nodes", "demo", "--", "echo", "ran"];
    refused(&user.run(&flag).end(), "--require-nodes");
    let variable = |value| user.run(&JOB).env("LEASEHOLD_REQUIRE_NODES", value).end();
    for value in ["1", "true", "yes", "whatever"] {
        refused(&variable(value), "LEASEHOLD_REQUIRE_NODES");
    }
    for value in ["0", "false", ""] {
        variable(value).assert(0, "ran\n", &user.local());
    }
    let config = user.path("l.toml");
    fs::write(&config, "require_nodes = true\n").expect("it is ours");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let by_file = |words: &[&str]| user.run(words).env("LEASEHOLD_CONFIG", &config).end();
    let by = format!("require_nodes in {config}");
    refused(&by_file(&JOB), &by);
    refused(&by_file(&["list"]), &by);
    // Nodes that are given are nodes; a folder that is named was not forgotten.
    let seen = user
        .run(&[
            "status",
            "--require-nodes",
            "--nodes",
            "127.0.0.1:1",
            "demo",
        ])
        .end();
    assert_eq!(seen.code, 122, "{seen:?}");
    let folder = format!("file://{}", user.path("locks"));
    let words = [
        "run",
        "--require-nodes",
        "--nodes",
        &folder,
        "demo",
        "--",
        "echo",
        "ran",
    ];
    user.run(&words).end().assert(0, "ran\n", "");
    let both = ["run", "--local", "demo", "--", "echo", "ran"];
    let says = format!("--local and {by} contradict each other");
    by_file(&both).assert_says(2, &[&says]);
}

#[test]
fn whoever_says_local_locks_on_this_machine_without_a_notice() {
    let user = User::new();
    let local = ["run", "--local", "demo", "--", "echo", "ran"];
    user.run(&local).end().assert(0, "ran\n", "");
    // It is the store of those who say nothing.
    let inner = "\"$0\" status demo; echo $?";
    let words = [
        "run",
        "--local",
        "demo",
        "--",
        "sh",
        "-c",
        inner,
        env!("CARGO_BIN_EXE_leasehold"),
    ];
    let seen = user.run(&words).end();
    assert!(seen.stdout.ends_with("\n121\n"), "{seen:?}");
    // A flag counts before a variable.
    let test = user
        .run(&local)
        .env("LEASEHOLD_NODES", "redis://127.0.0.1:1");
    test.end().assert(0, "ran\n", "");
    for (flags, says) in [
        (
            &["--nodes", "redis://127.0.0.1:1"][..],
            "--local and --nodes both say which servers are meant",
        ),
        (
            &["--use", "main"],
            "--local and --use both say which servers are meant",
        ),
        (
            &["--require-nodes"],
            "--local and --require-nodes contradict each other",
        ),
    ] {
        let words = [&["run", "--local"], flags, &["demo", "--", "echo", "ran"]].concat();
        user.run(&words).end().assert_says(2, &[says]);
    }
}
