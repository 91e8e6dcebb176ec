//! What the command and its helper have open: nothing of leasehold's own.

#![cfg(target_os = "linux")]

use crate::support::{Running, User, wait_until};
use leasehold_servers::{ServerSet, require_server};
use rustix::process::{Pid, Signal};
use std::{cell::RefCell, collections::BTreeMap, fs, process::Command};

/// Where the descriptors of a process lead, by their numbers; none while it closes some.
fn descriptors(process: Pid) -> Option<BTreeMap<String, String>> {
    let folder = format!("/proc/{}/fd", process.as_raw_nonzero());
    let entries = fs::read_dir(folder).expect("it is ours and runs");
    let led = entries.map(|entry| {
        let entry = entry.ok()?;
        let target = fs::read_link(entry.path()).ok()?;
        let number = entry.file_name().to_str()?.to_owned();
        Some((number, target.display().to_string()))
    });
    led.collect()
}

/// What every program has that the tests start, leasehold or not.
fn given() -> BTreeMap<String, String> {
    let seen = Command::new("ls").args(["-l", "/proc/self/fd"]).output();
    let seen = String::from_utf8(seen.expect("there is ls").stdout).expect("it is text");
    let given = seen.lines().filter_map(|line| {
        let (head, target) = line.split_once(" -> ")?;
        let (_, number) = head.rsplit_once(' ')?;
        Some((number.to_owned(), target.to_owned()))
    });
    given.collect()
}

/// The helper beside a command, as soon as it is there.
fn helper_of(run: Pid) -> Pid {
    let found = RefCell::new(None);
    wait_until(|| {
        let run = run.as_raw_nonzero();
        let children = fs::read_to_string(format!("/proc/{run}/task/{run}/children"));
        let children = children.expect("it runs");
        let is_helper = |pid: &&str| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline"));
            words.is_ok_and(|words| words.starts_with("leasehold\0"))
        };
        let helper = children.split_whitespace().find(is_helper);
        let helper = helper
            .and_then(|pid| pid.parse().ok())
            .and_then(Pid::from_raw);
        found.replace(helper);
        helper.is_some()
    });
    found.into_inner().expect("it was waited for")
}

/// Looks at a command that has written its number, and at the helper beside it, and ends them.
fn assert_has_nothing_of_ours(mut run: Running) {
    let (command, given) = (run.pid(), given());
    let standard = ["0", "1", "2"];
    for process in [command, helper_of(run.process())] {
        // What it opens while it is loaded is its own, and soon gone; what it was given stays.
        wait_until(|| {
            let is_odd = |(number, target): (&String, &String)| {
                !standard.contains(&&**number) && given.get(number) != Some(target)
            };
            descriptors(process).is_some_and(|open| !open.iter().any(is_odd))
        });
    }
    run.signal(Signal::TERM);
    assert_eq!(run.end().code, -15);
}

#[test]
fn neither_the_command_nor_the_helper_has_a_descriptor_of_the_file_store() {
    for word in ["run", "elect"] {
        let user = User::new();
        // The store is made by the first, and found by the second.
        for _ in 0..2 {
            let words = [word, "demo", "--", "sh", "-c", "echo $$; sleep 30; true"];
            assert_has_nothing_of_ours(user.run(&words).start());
        }
    }
}

#[test]
fn neither_the_command_nor_the_helper_has_a_connection_to_a_server() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    for word in ["run", "elect"] {
        let script = "echo $$; sleep 30; true";
        let words = [word, "--nodes", &nodes, "demo", "--", "sh", "-c", script];
        assert_has_nothing_of_ours(user.run(&words).start());
    }
}

#[test]
fn what_the_caller_opened_for_the_command_is_the_commands() {
    let user = User::new();
    let (out, leasehold) = (user.path("out"), env!("CARGO_BIN_EXE_leasehold"));
    let script = format!("exec 7>'{out}'; exec {leasehold} run demo -- sh -c 'echo hi >&7'");
    let seen = user.run(&["run", "outer", "--", "sh", "-c", &script]).end();
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(fs::read_to_string(out).expect("it was made"), "hi\n");
}
