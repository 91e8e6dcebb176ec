//! The command as a process among processes: its group, its signals, its death, and commands within commands.

use crate::support::{User, lives, now, wait_until};
use leasehold_servers::{ServerSet, require_server};
use rustix::process::{Pid, Signal, kill_process};
use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

#[test]
fn a_killed_run_takes_its_command_and_all_of_its_group_with_it() {
    let user = User::new();
    let script =
        "(trap '' TERM; exec sleep 30) & trap '' TERM; sleep 0.3; echo $$; sleep 30; sleep 30";
    let mut run = user.run(&["run", "demo", "--", "sh", "-c", script]).start();
    let group = run.pid();
    run.signal(Signal::KILL);
    let started = now();
    wait_until(|| !lives(group));
    let took = started.elapsed();
    let seen = run.end();
    seen.assert_says(
        -9,
        &[", which held \"demo\", was killed; the command that it ran was ended"],
    );
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn the_command_of_a_killed_run_is_asked_first_where_the_lock_outlives_it() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let script = "trap 'echo bye; exit' TERM; sleep 0.3; echo $$; while :; do sleep 0.01; done";
    let words = ["run", "--nodes", &nodes, "demo", "--", "sh", "-c", script];
    let mut run = user.run(&words).start();
    let group = run.pid();
    run.signal(Signal::KILL);
    wait_until(|| !lives(group));
    assert_eq!(run.line(), "bye");
    // The lock outlived the command, and ends with its TTL.
    let try_once = ["run", "-n", "--nodes", &nodes, "demo", "--", "true"];
    assert_eq!(user.run(&try_once).end().code, 121);
}

#[test]
fn what_leasehold_was_told_to_ignore_is_ignored_by_its_command_as_well() {
    let user = User::new();
    // As `nohup` does it.
    let nohup = "trap '' HUP; exec \"$0\" \"$@\"";
    let script = "kill -HUP $$; echo lives; cat; echo done";
    let words = ["run", "demo", "--", "sh", "-c", script];
    let before = ["-c", nohup, env!("CARGO_BIN_EXE_leasehold")];
    let mut run = user.run_in("sh", &before, &words).keeping_stdin();
    assert_eq!(run.line(), "lives");
    run.signal(Signal::HUP);
    run.close_stdin();
    assert_eq!(run.line(), "done");
    assert_eq!(run.end().code, 0);
}

#[test]
fn a_stop_and_a_continue_reach_all_of_the_command() {
    let user = User::new();
    let script = "sleep 30 & echo $$; wait";
    let mut run = user.run(&["run", "demo", "--", "sh", "-c", script]).start();
    let group = run.pid();
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", group.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.contains(" T "))
    };
    run.signal(Signal::TSTP);
    wait_until(is_stopped);
    run.signal(Signal::CONT);
    wait_until(|| !is_stopped());
    run.signal(Signal::TERM);
    assert_eq!(run.end().code, -15);
    // The other is nobody's child any more, and is buried in its time.
    wait_until(|| !lives(group));
}

#[test]
fn a_key_that_is_pressed_while_the_lock_is_released_ends_a_loop_too() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let script = "echo $$; read x; exit 7";
    let words = ["run", "--nodes", &nodes, "demo", "--", "sh", "-c", script];
    let end_by = |signal| {
        let mut run = user.run(&words).keeping_stdin();
        let group = run.pid();
        for server in servers.iter() {
            server.pause().expect("it runs");
        }
        run.close_stdin();
        wait_until(|| !lives(group));
        run.signal(signal);
        let seen = run.end();
        for server in servers.iter() {
            server.resume().expect("it is stopped");
        }
        assert!(seen.stderr.contains("unknown whether"), "{seen:?}");
        seen.code
    };
    // The release waits for half a second, which may be over by then.
    assert!((0..5).any(|_| end_by(Signal::INT) == -2));
    assert_eq!(end_by(Signal::TERM), 7);
}

#[test]
fn a_killed_run_takes_runs_within_it_with_it() {
    let user = User::new();
    let leasehold = env!("CARGO_BIN_EXE_leasehold");
    let inner = [
        "run",
        "inner",
        "--",
        "sh",
        "-c",
        "sleep 0.3; echo $$; exec sleep 30",
    ];
    let words = [&["run", "outer", "--", leasehold], &inner[..]].concat();
    let mut run = user.run(&words).start();
    let group = run.pid();
    run.signal(Signal::KILL);
    wait_until(|| !lives(group));
}

#[test]
fn a_run_that_ended_well_leaves_no_process_behind() {
    let user = User::new();
    let mut run = user.run(&["run", "demo", "--", "echo", "hi"]).start();
    let group = run.process();
    run.close_stdin();
    assert_eq!(run.end().code, 0);
    // The watchdog has a group of its own; with stderr closed, as `end` has seen, it is gone as well.
    assert!(!lives(group));
}

#[test]
fn a_command_that_asks_for_the_lock_it_runs_under_is_told_so() {
    let user = User::new();
    let leasehold = env!("CARGO_BIN_EXE_leasehold");
    let inner = [leasehold, "run", "demo", "--", "echo", "never"];
    let says = [
        "leasehold: cannot lock \"demo\": this command already runs under that lock",
        "hint: remove the inner `leasehold`",
    ];
    let seen = user
        .run(&[&["run", "demo", "--"], &inner[..]].concat())
        .end();
    seen.assert_says(2, &says);
    assert_eq!(seen.stdout, "");
    // Also with another lock in between.
    let words = ["run", "demo", "--", leasehold, "run", "other", "--"];
    let seen = user.run(&[&words[..], &inner[..]].concat()).end();
    seen.assert_says(2, &says);
    // A lock of the same name that is somebody else's is waited for, as ever.
    let mut holder = user
        .run(&["run", "demo", "--", "sh", "-c", "echo up; sleep 0.5"])
        .start();
    assert_eq!(holder.line(), "up");
    let words = ["run", "other", "--", leasehold, "run", "demo", "--"];
    let seen = user.run(&[&words[..], &["echo", "hi"]].concat()).end();
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "hi\n"), "{seen:?}");
    assert_eq!(holder.end().code, 0);
}

#[test]
fn in_runs_within_runs_the_inner_lock_is_the_one_told_of() {
    let user = User::new();
    let leasehold = env!("CARGO_BIN_EXE_leasehold");
    let script = "echo $LEASEHOLD_RESOURCE; echo $LEASEHOLD_OWNER; echo $LEASEHOLD_OWNERS";
    let inner = [leasehold, "run", "inner", "--", "sh", "-c", script];
    let seen = user
        .run(&[&["run", "outer", "--"], &inner[..]].concat())
        .end();
    let lines: Vec<_> = seen.stdout.lines().collect();
    let (_, last) = lines[2].split_once(' ').expect("there are two owners");
    assert_eq!(lines[0], "inner");
    assert!(lines[1].starts_with(last) && last.len() == 40, "{lines:?}");
}

#[test]
fn the_words_of_the_command_arrive_as_they_are() {
    let user = User::new();
    let words = ["a b", "$HOME", "it's", "*", "", "-n", "--"];
    let printf = ["run", "demo", "--", "printf", "<%s>"];
    let seen = user.run(&[&printf[..], &words[..]].concat()).end();
    assert_eq!(seen.stdout, "<a b><$HOME><it's><*><><-n><-->");
}

#[test]
fn a_job_that_fails_frees_the_lock_at_once() {
    let user = User::new();
    let words = ["run", "--ttl", "1h", "demo", "--", "sh", "-c", "exit 3"];
    assert_eq!(user.run(&words).end().code, 3);
    let next = user.run(&["run", "-n", "demo", "--", "true"]).end();
    assert_eq!(next.code, 0, "{next:?}");
}

#[test]
fn what_runs_in_the_background_does_not_keep_the_lock() {
    let user = User::new();
    let script = "sleep 30 >/dev/null 2>&1 & echo $$";
    let mut run = user.run(&["run", "demo", "--", "sh", "-c", script]).start();
    let group = run.pid();
    assert_eq!(run.end().code, 0);
    let next = user.run(&["run", "-n", "demo", "--", "true"]).end();
    crate::support::end_group(group);
    assert_eq!(next.code, 0, "{next:?}");
}

#[test]
fn a_job_of_which_only_the_shell_would_be_killed_is_killed_whole() {
    require_server();
    let servers = ServerSet::start(3).expect("they start");
    let (user, nodes) = (User::new(), servers.nodes());
    let beat = user.path("beat");
    // dash does not pass TERM on to what it waits for, and here nobody listens to it.
    let script = format!(
        "echo $$; sh -c 'trap \"\" TERM; while :; do date +%s%N >>{beat}; sleep 0.01; done'; true"
    );
    let words = [
        "run", "--ttl", "2s", "--nodes", &nodes, "demo", "--", "sh", "-c", &script,
    ];
    let mut run = user.run(&words).start();
    let group = run.pid();
    for server in &servers[..2] {
        server.pause().expect("it runs");
    }
    wait_until(|| !lives(group));
    for server in &servers[..2] {
        server.resume().expect("it is stopped");
    }
    let next = user
        .run(&["run", "--nodes", &nodes, "demo", "--", "date", "+%s%N"])
        .end();
    assert_eq!(run.end().code, 123);
    let nanos = |text: &str| text.trim_end().parse::<u64>().expect("it is a number");
    let beats = fs::read_to_string(&beat).expect("it was written");
    let last = nanos(beats.lines().last().expect("it lived for a while"));
    let margin = Duration::from_nanos(nanos(&next.stdout).saturating_sub(last));
    assert!(!margin.is_zero(), "two ran at once");
}

#[test]
fn a_watchdog_that_was_stopped_itself_hears_all_before_it_judges() {
    let user = User::new();
    let script = "sleep 0.3; echo up; sleep 2.5; echo still; sleep 0.7; echo done";
    let words = ["run", "--ttl", "1s", "demo", "--", "sh", "-c", script];
    let mut run = user.run(&words).start();
    assert_eq!(run.line(), "up");
    let watchdog = watchdog_of(run.process());
    kill_process(watchdog, Signal::STOP).expect("it is there");
    // By all that it has heard, the lease ends meanwhile.
    assert_eq!(run.line(), "still");
    kill_process(watchdog, Signal::CONT).expect("it is there");
    run.end().assert(0, "done\n", &user.local());
}

/// The small second process of a run.
fn watchdog_of(run: Pid) -> Pid {
    let run = run.as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{run}/task/{run}/children"));
    let children = children.expect("this is Linux");
    let is_watchdog = |pid: &&str| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline"));
        words.is_ok_and(|words| words.contains("watchdog"))
    };
    let watchdog = children.split_whitespace().find(is_watchdog);
    let watchdog = watchdog.and_then(|pid| pid.parse().ok());
    watchdog
        .and_then(Pid::from_raw)
        .expect("it came after a moment")
}

/// The processes other than that one whose words have this among them. What is dead has no words any more.
fn processes_with(mark: &str, but: Pid) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("this is Linux").flatten();
    let words = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.parse::<u32>().ok()?;
        (name != but.as_raw_nonzero().to_string()).then_some(())?;
        fs::read_to_string(entry.path().join("cmdline")).ok()
    });
    words.filter(|words| words.contains(mark)).collect()
}

#[test]
fn a_run_that_is_killed_in_the_first_moments_of_its_command_takes_it_along() {
    let user = User::new();
    for step in 0..120 {
        let mark = format!("mark-{}-{step}", std::process::id());
        // Its child has the mark as well: a signal at the death of a parent reaches one process and not its group.
        let script = "sh -c 'sleep 90; true' \"$0\"; true";
        let words = ["run", "demo", "--", "sh", "-c", script, &mark];
        let mut run = user.run(&words).start();
        run.close_stdin();
        // From the first sight of any process of the command on, a little later each time. Without rest: what is looked
        // for may be over within a millisecond.
        let begun = now();
        while processes_with(&mark, run.process()).is_empty() {
            assert!(
                begun.elapsed() < Duration::from_secs(10),
                "it does not begin"
            );
        }
        let (started, pause) = (now(), Duration::from_micros(100 * (step % 30)));
        wait_until(|| started.elapsed() >= pause);
        run.signal(Signal::KILL);
        wait_until(|| processes_with(&mark, run.process()).is_empty());
        run.end_alone();
    }
}

#[test]
fn a_command_in_another_process_namespace_than_its_run_is_refused_with_words() {
    let user = User::new();
    // The first process that is started there has no parent that it could see.
    let script = format!(
        "'{}' launch $$ true; exit $?",
        env!("CARGO_BIN_EXE_leasehold")
    );
    let words = ["--user", "--map-root-user", "--pid", "sh", "-c", &script];
    let seen = user.run_in("unshare", &words, &[]).end();
    if seen.stderr.starts_with("unshare: ") {
        // This machine gives nobody a namespace.
        return;
    }
    seen.assert_says(
        125,
        &[
            "in another process namespace than leasehold",
            "hint: unshare --pid --fork",
        ],
    );
}

#[test]
fn a_watchdog_that_is_killed_is_replaced_and_the_user_is_told() {
    let user = User::new();
    let script = "sleep 0.2; echo $$; exec sleep 30";
    let mut run = user.run(&["run", "demo", "--", "sh", "-c", script]).start();
    let group = run.pid();
    let first = watchdog_of(run.process());
    kill_process(first, Signal::KILL).expect("it is there");
    // Other notices may come before it: that a node was slow, on a busy machine.
    while let said = run.error_line()
        && !said.ends_with("starting another")
    {
        assert_ne!(said, "", "it ended and did not tell");
    }
    // The second does what the first would have done, also if that one's end came at a bad time.
    wait_until(|| watchdog_is_there(run.process(), first));
    run.signal(Signal::KILL);
    wait_until(|| !lives(group));
    run.end_alone();
}

fn watchdog_is_there(run: Pid, but: Pid) -> bool {
    let watchdogs = processes_with("watchdog", but);
    let path = format!("/proc/{0}/task/{0}/children", run.as_raw_nonzero());
    let children = fs::read_to_string(path).expect("this is Linux");
    !watchdogs.is_empty() && children.split_whitespace().count() >= 2
}

#[test]
fn a_command_finds_the_signals_and_the_path_that_any_program_finds() {
    let user = User::new();
    let script = "yes | head -n 1; grep -E '^Sig(Ign|Blk)' /proc/self/status; echo $0";
    let bare = user.run_in("sh", &["-c", script], &[]).end();
    let seen = user.run(&["run", "demo", "--", "sh", "-c", script]).end();
    seen.assert(0, &bare.stdout, &user.local());
    // What may not be executed in one folder may be in the next.
    let folder = user.path("first");
    fs::create_dir(&folder).expect("it is new");
    fs::write(format!("{folder}/echo"), "no program").expect("it is ours");
    let path = format!("{folder}:/bin:/usr/bin");
    let seen = user
        .run(&["run", "demo", "--", "echo", "hi"])
        .env("PATH", path);
    seen.end().assert(0, "hi\n", &user.local());
}

#[test]
fn a_script_that_the_system_cannot_start_is_told_what_its_first_line_lacks() {
    let user = User::new();
    let script = |name: &str, text: &str| {
        let path = user.path(name);
        fs::write(&path, text).expect("the folder is there");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("it is ours");
        path
    };
    let end = |program: &str| {
        let run = user.run(&["run", "demo", "--", program]);
        run.end()
    };
    let plain = script("plain", "echo hi\n");
    let hint = format!(
        "hint: the first line of a script must be #!/bin/sh or the like; or say -- sh {plain}\n"
    );
    end(&plain).assert_says(126, &["Exec format error", &hint]);
    for (line, named) in [
        ("#! /no/such -x", "/no/such"),
        ("#!/bin/sh\r", "/bin/sh\\r"),
    ] {
        let path = script("lost", &format!("{line}\necho hi\n"));
        let says = format!(
            "cannot run {path}: its interpreter \"{named}\", which its first line names, was not found\n"
        );
        end(&path).assert_says(127, &[&says]);
    }
    end("").assert_says(127, &["cannot run \"\": not found\n"]);
    end("/no/such").assert_says(127, &["cannot run /no/such: not found\nhint: "]);
}
