//! Runs on this machine's own store.

use crate::support::{User, end_group, lives};
use rustix::process::Signal;
use std::{fs, process::Command};

#[test]
fn a_command_runs_under_the_lock() {
    let user = User::new();
    let seen = user.run(&["run", "demo", "--", "echo", "hi"]).end();
    seen.assert(0, "hi\n", &user.local());
}

#[test]
fn stdin_is_passed_on() {
    let user = User::new();
    let seen = user
        .run(&["run", "demo", "--", "cat"])
        .stdin("a\nb\n")
        .end();
    seen.assert(0, "a\nb\n", &user.local());
}

#[test]
fn the_codes_of_the_command_pass_through() {
    let user = User::new();
    let codes = [
        ("exit 7", 7),
        ("kill -TERM $$", -15),
        ("kill -9 $$", -9),
        ("exit 123", 123),
    ];
    for (script, code) in codes {
        let seen = user.run(&["run", "demo", "--", "sh", "-c", script]).end();
        seen.assert(code, "", &user.local());
    }
}

#[test]
fn a_command_that_cannot_run_is_told_as_the_shell_tells_it() {
    let user = User::new();
    let seen = user.run(&["run", "demo", "--", "/nowhere/x"]).end();
    let stderr = format!(
        "{}leasehold: cannot run /nowhere/x: not found\nhint: the command runs without a shell: \
         for shell syntax say -- sh -c '…'\n",
        user.local()
    );
    seen.assert(127, "", &stderr);
    let seen = user.run(&["run", "demo", "--", "/"]).end();
    seen.assert_says(126, &["leasehold: cannot run /: Permission denied"]);
    // And the lock is free again.
    let seen = user.run(&["run", "--no-wait", "demo", "--", "true"]).end();
    assert_eq!(seen.code, 0);
}

#[test]
fn the_command_is_told_of_its_lock() {
    let user = User::new();
    let script = "echo $LEASEHOLD_RESOURCE; echo $LEASEHOLD_OWNER; \
                  echo $LEASEHOLD_VALID_UNTIL; date +%s.%N; echo $LEASEHOLD_FENCING_TOKEN";
    let seen = user.run(&["run", "a/b", "--", "sh", "-c", script]).end();
    let lines: Vec<_> = seen.stdout.lines().collect();
    assert_eq!(lines[0], "a/b");
    let parts: Vec<_> = lines[1].split('.').collect();
    assert_eq!((parts.len(), parts[0].len()), (3, 40), "{seen:?}");
    assert_eq!(
        lines[2].split_once('.').map(|(_, millis)| millis.len()),
        Some(3)
    );
    let seconds = |line: &str| line.parse::<f64>().expect("it is a number");
    let left = seconds(lines[2]) - seconds(lines[3]);
    assert!((5.0..10.0).contains(&left), "{left}");
    let token = |lines: &[&str]| lines[4].parse::<u64>().expect("it is a number");
    let again = user.run(&["run", "a/b", "--", "sh", "-c", script]).end();
    let later: Vec<_> = again.stdout.lines().collect();
    assert!(token(&lines) < token(&later), "{lines:?}, {later:?}");
}

#[test]
fn two_runs_do_not_overlap() {
    let user = User::new();
    let log = user.path("log");
    // Without the lock, the two loops would mix: there is a pause between in and out.
    let script = format!("echo in >>{log}; sleep 0.02; echo out >>{log}");
    let together: Vec<_> = (0..8)
        .map(|_| {
            user.run(&["run", "demo", "--", "sh", "-c", &script])
                .start()
        })
        .collect();
    for run in together {
        assert_eq!(run.end().code, 0);
    }
    let log = fs::read_to_string(log).expect("they wrote");
    assert_eq!(log, "in\nout\n".repeat(8));
}

#[test]
fn a_held_lock_is_told_with_its_holder() {
    let user = User::new();
    let mut holder = user
        .run(&[
            "run",
            "--ttl",
            "1s",
            "demo",
            "--",
            "sh",
            "-c",
            "echo $PPID; sleep 2.5; echo done",
        ])
        .start();
    let pid = holder.line();
    let by = format!("held by pid {pid} on ");
    let try_once = ["run", "--no-wait", "demo", "--", "true"];
    user.run(&try_once).end().assert_says(
        121,
        &[
            "leasehold: cannot lock \"demo\": held by pid",
            &by,
            "hint: --wait 30s",
        ],
    );
    let wait = ["run", "--wait", "1s500ms", "demo", "--", "true"];
    let waiting = format!("leasehold: waiting for \"demo\": {by}");
    user.run(&wait).end().assert_says(
        124,
        &[
            &waiting,
            "leasehold: cannot lock \"demo\": still held after 1.5 s by",
        ],
    );
    // By now the TTL has passed: the lock was extended.
    assert_eq!(user.run(&try_once).end().code, 121);
    // Another resource is free all the while.
    let other = ["run", "--no-wait", "other", "--", "true"];
    assert_eq!(user.run(&other).end().code, 0);
    assert_eq!(holder.line(), "done");
    holder.end().assert(0, "", &user.local());
    assert_eq!(user.run(&try_once).end().code, 0);
}

#[test]
fn signals_reach_the_command_and_not_leasehold() {
    let user = User::new();
    let signals = [
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
        (Signal::TERM, "TERM"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
    ];
    for (signal, name) in signals {
        let script = format!(
            "trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.01; done"
        );
        let mut run = user
            .run(&["run", "demo", "--", "sh", "-c", &script])
            .start();
        assert_eq!(run.line(), "ready");
        run.signal(signal);
        let seen = run.end();
        assert_eq!(
            (seen.code, seen.stdout.as_str()),
            (9, format!("got {name}\n").as_str())
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_home_that_is_no_text_has_its_locks_in_it() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let user = User::new();
    let home = user.folder().join(OsStr::from_bytes(b"h\xff"));
    let seen = user
        .run(&["run", "demo", "--", "true"])
        .env("XDG_STATE_HOME", &home)
        .end();
    assert_eq!(seen.code, 0, "{seen:?}");
    let kept = |folder| fs::read_dir(folder).expect("it was made").count();
    assert_ne!(kept(home.join("leasehold")), 0);
    assert_eq!(kept(user.folder().to_owned()), 1, "there is another home");
}

#[test]
fn a_signal_ends_the_wait() {
    let user = User::new();
    let mut holder = user
        .run(&["run", "demo", "--", "sh", "-c", "echo ready; exec sleep 30"])
        .start();
    assert_eq!(holder.line(), "ready");
    for (signal, code) in [(Signal::INT, -2), (Signal::TERM, -15)] {
        let mut waiter = user.run(&["run", "demo", "--", "echo", "never"]).start();
        assert!(waiter.error_line().contains("no nodes given"));
        assert!(waiter.error_line().contains("hint: --local"));
        assert!(waiter.error_line().contains("waiting for \"demo\""));
        waiter.signal(signal);
        waiter.end().assert(code, "", "");
    }
    holder.signal(Signal::TERM);
    holder.end().assert(-15, "", &user.local());
    let seen = user.run(&["run", "--no-wait", "demo", "--", "true"]).end();
    assert_eq!(seen.code, 0, "a wait that was ended left something behind");
}

#[test]
fn a_killed_run_leaves_the_lock_free() {
    let user = User::new();
    let script = "echo $$; exec sleep 30";
    let mut run = user
        .run(&["run", "--ttl", "1m", "demo", "--", "sh", "-c", script])
        .start();
    let group = run.pid();
    run.signal(Signal::KILL);
    assert_eq!(run.end_alone(), -9);
    let seen = user.run(&["run", "--no-wait", "demo", "--", "true"]).end();
    end_group(group);
    assert_eq!(seen.code, 0, "{seen:?}");
}

#[test]
fn what_runs_in_the_background_is_left_alone() {
    let user = User::new();
    let script = "sleep 30 >/dev/null 2>&1 & echo $$";
    let mut run = user.run(&["run", "demo", "--", "sh", "-c", script]).start();
    let group = run.pid();
    assert_eq!(run.end().code, 0);
    let lived = lives(group);
    end_group(group);
    assert!(lived);
}

#[test]
fn the_command_can_read_from_the_terminal() {
    // `script` makes a terminal; the inner shell reads from it before and after.
    let user = User::new();
    let leasehold = env!("CARGO_BIN_EXE_leasehold");
    let inner = format!(
        "{leasehold} run demo -- sh -c 'read x </dev/tty; echo one:$x'; read y </dev/tty; echo two:$y"
    );
    let Ok(mut process) = Command::new("script")
        .args(["-qec", &inner, "/dev/null"])
        .env("XDG_STATE_HOME", user.folder())
        .env_remove("LEASEHOLD_NODES")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
    else {
        leasehold_servers::skip("no `script` here to make a terminal");
        return;
    };
    let mut stdin = process.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut stdin, b"a\nb\n").expect("it reads");
    let output = process.wait_with_output().expect("it was started");
    drop(stdin);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("one:a") && text.contains("two:b"), "{text}");
}
