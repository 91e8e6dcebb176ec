//! Servers that are none, folders that cannot be used, and commands that cannot be run.

use super::Bad;
use crate::support::User;
use leasehold_servers::{Server, ServerSet, require_server};
use std::{
    fs::{self, Permissions},
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::{PermissionsExt, symlink},
    process::{Command, Stdio},
    thread,
};

/// A run that tries once on this node.
fn on<'a>(node: &'a str, says: &'a str) -> Bad<'a> {
    Bad::new(
        &["run", "-n", "--nodes", node, "demo", "--", "true"],
        122,
        says,
    )
}

#[test]
fn nodes_that_are_not_there_are_told() {
    let cases = [
        on("127.0.0.1:1", "connection refused"),
        on("unix:///nowhere/socket", "no socket at /nowhere/socket"),
        on("redis://no.such.host.invalid", "no.such.host.invalid"),
    ];
    cases.iter().for_each(Bad::check);
    for verb in ["extend", "release"] {
        let words = [verb, "--owner", "x", "--nodes", "127.0.0.1:1", "demo"];
        Bad::new(&words, 122, "connection refused").check();
    }
}

#[test]
fn what_listens_and_is_no_server_is_told() {
    let web = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let silent = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let address = |listener: &TcpListener| {
        let address = listener.local_addr().expect("it is bound");
        format!("redis://{address}")
    };
    let (web_url, silent_url) = (address(&web), address(&silent));
    thread::spawn(move || {
        for connection in web.incoming() {
            let Ok(mut connection) = connection else {
                return;
            };
            let mut request = [0; 512];
            drop(connection.read(&mut request));
            drop(connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }
    });
    on(&web_url, "Redis protocol").check();
    on(&silent_url, "no answer within").check();
}

#[test]
fn a_server_that_lets_nobody_in_is_told() {
    require_server();
    let server = Server::builder()
        .password("right")
        .start()
        .expect("it starts");
    let wrong = format!("redis://:wrong@127.0.0.1:{}", server.port());
    let none = format!("redis://127.0.0.1:{}", server.port());
    // Not on the command line, where a password is worth a word of its own.
    Bad::new(
        &["run", "-n", "demo", "--", "true"],
        122,
        "authentication failed",
    )
    .with("LEASEHOLD_NODES", &wrong)
    .check();
    let user = User::new();
    let seen = user
        .run(&["run", "-n", "--nodes", &none, "demo", "--", "true"])
        .end();
    let hint = "hint: give the password in LEASEHOLD_NODES (redis://user:password@host)";
    seen.assert_says(122, &["needs a password: NOAUTH", hint]);
    let tls = format!("rediss://127.0.0.1:{}", server.port());
    on(&tls, "127.0.0.1").check();
}

#[test]
fn a_server_that_hangs_is_told_with_the_command_that_looks_closer() {
    require_server();
    let server = Server::start().expect("it starts");
    let user = User::new();
    let nodes = server.url();
    let words = ["run", "-n", "--nodes", &nodes, "demo", "--", "true"];
    assert_eq!(user.run(&words).end().code, 0);
    server.pause().expect("it runs");
    let seen = user.run(&words).end();
    server.resume().expect("it is there");
    seen.assert_says(122, &["hint: `leasehold doctor` tells which nodes hang"]);
}

#[test]
fn options_that_others_set_otherwise_are_named() {
    require_server();
    let server = Server::start().expect("it starts");
    let user = User::new();
    let nodes = server.url();
    let run = |more: &[&str]| {
        let words = [
            &["run", "-n", "--nodes", &nodes],
            more,
            &["demo", "--", "true"],
        ]
        .concat();
        user.run(&words).end()
    };
    assert_eq!(run(&["--max-ttl", "30s"]).code, 0);
    run(&["--max-ttl", "60s"]).assert(
        2,
        "",
        "leasehold: cannot lock \"demo\": these nodes use max-ttl 30s, this command uses 60s\n\
         hint: use --max-ttl 30s, or change it for all clients with `leasehold reconfigure`\n",
    );
    let words = ["doctor", "--nodes", &nodes, "--max-ttl", "60s"];
    let seen = user.run(&words).end();
    let told = "is used with another configuration: max-ttl 30s, this command uses 60s";
    assert!(seen.stdout.contains(told), "{seen:?}");
    let list = nodes.replace("redis://", "");
    for (words, told, way_out) in [
        (
            ["--cluster", "mine"],
            format!("the node list {list}, this command uses the cluster name mine"),
            "leave --cluster out, give the same addresses as the other clients, or",
        ),
        (
            ["--clock-skew", "5s"],
            "clock-skew 2s, this command uses 5s".to_owned(),
            "use --clock-skew 2s, or",
        ),
    ] {
        let told_at_once = format!("cannot lock \"demo\": these nodes use {told}\n");
        run(&words).assert_says(2, &[&told_at_once, way_out]);
        let doctor = user.run(&[&["doctor", "--nodes", &nodes][..], &words].concat());
        let found = format!("is used with another configuration: {told}\n");
        let seen = doctor.end();
        assert!(seen.stdout.contains(&found), "no {found} in {seen:?}");
    }
}

#[test]
fn how_many_may_forget_is_told_by_its_option() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let run = |more: &[&str]| {
        let words = [
            &["run", "-n", "--nodes", &nodes],
            more,
            &["demo", "--", "true"],
        ]
        .concat();
        user.run(&words).end()
    };
    assert_eq!(run(&[]).code, 0);
    let told = "these nodes use a quorum of 2 (tolerate-forgetful), this command uses 3\n";
    let way_out = "use --tolerate-forgetful 0, or";
    run(&["--tolerate-forgetful", "1"]).assert_says(2, &[told, way_out]);
}

#[test]
fn a_key_that_is_no_lock_is_left_alone() {
    require_server();
    let server = Server::start().expect("it starts");
    server.command(&["LPUSH", "demo", "1"]).expect("it answers");
    let nodes = server.url();
    let words = ["run", "-n", "--nodes", &nodes, "demo", "--", "true"];
    Bad::new(&words, 2, "\"demo\" is a list, not a lock").check();
    let left = server.command(&["LLEN", "demo"]).expect("it answers");
    assert_eq!(left.integer(), Some(1));
}

#[test]
fn folders_that_cannot_be_used_are_told() {
    let user = User::new();
    let path = |name: &str| user.path(name);
    fs::write(path("file"), "").expect("it is ours");
    let local = |home: String, says| {
        Bad::new(&["run", "demo", "--", "true"], 125, says).with("XDG_STATE_HOME", &home)
    };
    let make = |name: &str, mode| {
        let folder = user.folder().join(name).join("leasehold");
        fs::create_dir_all(&folder).expect("it is ours");
        fs::set_permissions(&folder, Permissions::from_mode(mode)).expect("it is ours");
        folder
    };
    make("open", 0o777);
    let linked = user.folder().join("linked");
    fs::create_dir(&linked).expect("it is ours");
    symlink(make("target", 0o700), linked.join("leasehold")).expect("it is ours");
    let damaged = make("damaged", 0o700);
    fs::write(damaged.join("data.mdb"), "not a store").expect("it is ours");
    let cases = [
        local(path("file"), "file is a file, and a folder is needed"),
        local("/proc/nowhere".to_owned(), "No such file or directory"),
        local(path("open"), "others may write it"),
        local(path("linked"), "it is a symbolic link"),
        local(path("damaged"), "cannot use"),
    ];
    cases.iter().for_each(Bad::check);
    let left = fs::read_to_string(damaged.join("data.mdb")).expect("it is left as it was");
    assert_eq!(left, "not a store");
}

#[test]
fn a_disk_that_takes_nothing_is_told() {
    // No file may grow: what a full disk does, without filling one.
    let user = User::new();
    let output = Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 0; exec \"$0\" run demo -- true",
        ])
        .arg(env!("CARGO_BIN_EXE_leasehold"))
        .env("XDG_STATE_HOME", user.folder())
        .env_remove("LEASEHOLD_NODES")
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(
        said.contains("leasehold: cannot use ") && !said.contains("panicked"),
        "{said}"
    );
    // With room again, it is as if nothing had been.
    let next = user.run(&["run", "-n", "demo", "--", "true"]).end();
    assert_eq!(next.code, 0, "{next:?}");
}

#[test]
fn commands_that_cannot_be_run_are_told_and_leave_the_lock_free() {
    let user = User::new();
    let script = user.path("script");
    fs::write(&script, "no program").expect("it is ours");
    let run = |command, code, says| Bad::new(&["run", "demo", "--", command], code, says);
    let cases = [
        run("no-such-command-anywhere", 127, "not found"),
        run("/nowhere/x", 127, "not found"),
        run("", 127, "not found"),
        run("/", 126, "Permission denied"),
        run(&script, 126, "Permission denied"),
    ];
    cases.iter().for_each(Bad::check);
    fs::set_permissions(&script, Permissions::from_mode(0o700)).expect("it is ours");
    run(&script, 126, "Exec format error").check();
}

#[test]
fn a_cluster_is_refused_where_more_than_plain_locks_is_needed_with_the_reason_and_the_way_out() {
    let user = User::new();
    for words in [
        &["run", "-n", "demo", "--", "true"][..],
        &["hold", "demo"],
        &["acquire", "-n", "demo"],
        &["elect", "demo", "--", "true"],
        &["admit"],
        &["reconfigure"],
    ] {
        let nodes = "redis+cluster://:hunter2@db1,db2,db3";
        let seen = user.run(words).env("LEASEHOLD_NODES", nodes).end();
        assert!(!format!("{seen:?}").contains("hunter"), "{seen:?}");
        let node = "the node cluster@db1:6379+db2:6379+db3:6379 is a Redis Cluster";
        let hint = "name single masters, redis://db1,redis://db2,redis://db3";
        let parts = [node, "a script reaches one slot", "`run --plain`", hint];
        seen.assert_says(2, &parts);
    }
}
