//! The keys of a terminal: Ctrl-C, Ctrl-\ and Ctrl-Z, in a shell with job control and in scripts.

use crate::support::{Running, Terminal, User, now, wait_until};
use rustix::process::Signal;
use std::{fs, time::Duration};

const CTRL_C: &str = "\x03";
const CTRL_Z: &str = "\x1a";

/// Somebody who has the lock `busy` for as long as this is there.
fn holder(user: &User) -> Running {
    let words = ["run", "busy", "--", "sh", "-c", "echo up; exec sleep 60"];
    let mut holder = user.run(&words).start();
    assert_eq!(holder.line(), "up");
    holder
}

/// A loop of three turns around this, in which each tells that it begins.
fn loop_of(command: &str) -> String {
    format!("for i in 1 2 3; do echo turn-$i; {command}; done")
}

/// What is interrupted, and what is on the screen by then.
const STATES: [(&str, &str); 7] = [
    (
        "\"$L\" run free$$ -- sh -c 'echo r\"\"uns; exec sleep 30'",
        "runs",
    ),
    ("\"$L\" run busy -- true", "waiting for"),
    ("\"$L\" hold busy </dev/tty", "waiting for"),
    ("\"$L\" hold free$$ </dev/tty", "LEASEHOLD_VALID_UNTIL"),
    ("\"$L\" elect busy -- true", "waiting for"),
    ("\"$L\" wait busy", "looking at this machine only"),
    ("\"$L\" watch", "VOTES"),
];

#[test]
fn the_first_ctrl_c_at_a_prompt_ends_the_loop() {
    let user = User::new();
    let holder = holder(&user);
    for (command, sign) in STATES {
        let mut terminal = Terminal::of_a_shell(&user);
        terminal.press(&format!("{}\n", loop_of(command)));
        terminal.see(sign);
        terminal.press(CTRL_C);
        terminal.see_prompt(2);
        terminal.press("echo code-$?\n");
        terminal.see("code-130");
        assert!(
            !terminal.shows("turn-2"),
            "{command}: {}",
            terminal.screen()
        );
    }
    holder.signal(Signal::TERM);
    holder.end();
}

#[test]
fn the_first_ctrl_c_ends_a_script_and_its_loop() {
    let user = User::new();
    let holder = holder(&user);
    for (command, sign) in STATES {
        let script = user.path("script");
        fs::write(&script, format!("{}\necho on\n", loop_of(command))).expect("it is ours");
        for shell in ["bash", "sh"] {
            // As the first of its session, and below a shell with job control.
            let mut alone = Terminal::start(&user, &[shell, &script]);
            let mut below = Terminal::of_a_shell(&user);
            below.press(&format!("{shell} {script}\n"));
            for terminal in [&mut alone, &mut below] {
                terminal.see(sign);
                terminal.press(CTRL_C);
            }
            below.see_prompt(2);
            below.press("echo code-$?\n");
            below.see("code-130");
            assert!(
                !below.shows("turn-2"),
                "{shell}, {command}: {}",
                below.screen()
            );
            let screen = alone.screen();
            assert_eq!(alone.end(), -2, "{shell}, {command}: {screen}");
        }
    }
    holder.signal(Signal::TERM);
    holder.end();
}

#[test]
fn a_command_that_handles_ctrl_c_has_its_own_code_and_the_loop_goes_on() {
    let user = User::new();
    let script = "trap \"echo caught; exit 0\" INT; echo r\"\"uns-$0; while :; do sleep 0.01; done";
    let line = loop_of(&format!("\"$L\" run free -- sh -c '{script}' $i"));
    let mut terminal = Terminal::of_a_shell(&user);
    terminal.press(&format!("{line}; echo code-$?\n"));
    for turn in 1..=3 {
        terminal.see(&format!("runs-{turn}"));
        terminal.press(CTRL_C);
    }
    terminal.see("code-0");
}

#[test]
fn ctrl_c_on_a_command_ends_the_time_for_which_a_short_job_keeps_its_lock() {
    let user = User::new();
    let mut terminal = Terminal::of_a_shell(&user);
    let command = "\"$L\" run --min-hold 1h free -- sh -c 'echo r\"\"uns; exec sleep 30'";
    // The second one ends by itself, and leasehold waits for the hour.
    let commands = [
        (command.to_owned(), "sleep"),
        (command.replace("exec sleep 30", "exit 7"), "--min-hold"),
    ];
    for (turn, (command, in_front)) in (1_u32..).zip(commands) {
        terminal.press(&format!("{}\n", loop_of(&command)));
        wait_until(|| terminal.screen().matches("runs").count() == turn as usize);
        terminal.see_in_front(in_front);
        terminal.press(CTRL_C);
        terminal.see_prompt(2 * turn);
        terminal.press("echo code-$?\n");
        terminal.see_prompt(2 * turn + 1);
    }
    assert_eq!(
        terminal.screen().matches("code-130").count(),
        2,
        "{}",
        terminal.screen()
    );
    assert!(!terminal.shows("turn-2"), "{}", terminal.screen());
}

#[test]
fn ctrl_z_stops_a_wait_and_what_continues_it_finds_it_waiting() {
    let user = User::new();
    let holder = holder(&user);
    for words in ["run busy -- echo d''one", "elect busy -- echo d''one"] {
        let mut terminal = Terminal::of_a_shell(&user);
        terminal.press(&format!("\"$L\" {words}\n"));
        terminal.see("waiting for");
        terminal.press(CTRL_Z);
        terminal.see("Stopped");
        terminal.see_prompt(2);
        terminal.press("fg\n");
        terminal.see_a_job();
        terminal.press(CTRL_Z);
        terminal.see_prompt(3);
        terminal.press("fg\n");
        terminal.see_a_job();
        terminal.press(CTRL_C);
        terminal.see_prompt(4);
        terminal.press("echo code-$?\n");
        terminal.see("code-130");
        assert!(!terminal.shows("done"), "{}", terminal.screen());
    }
    holder.signal(Signal::TERM);
    holder.end();
}

#[test]
fn ctrl_z_stops_a_command_and_its_lease_and_fg_continues_both() {
    let user = User::new();
    let mut terminal = Terminal::of_a_shell(&user);
    terminal.press("\"$L\" run free -- sh -c 'echo r\"\"uns; read x; echo read-$x'\n");
    terminal.see("runs");
    terminal.press(CTRL_Z);
    terminal.see("Stopped");
    terminal.see_prompt(2);
    terminal.press("fg\nword\n");
    terminal.see("read-word");
    terminal.see_prompt(3);
}

#[test]
fn a_lease_that_ended_while_ctrl_z_lasted_is_lost_with_fg() {
    let user = User::new();
    for (command, sign) in [
        (
            "run --ttl 1s free -- sh -c 'echo r\"\"uns; read x; echo read-$x'",
            "runs",
        ),
        ("hold --ttl 1s free", "LEASEHOLD_VALID_UNTIL"),
    ] {
        let mut terminal = Terminal::of_a_shell(&user);
        terminal.press(&format!("\"$L\" {command}\n"));
        terminal.see(sign);
        terminal.press(CTRL_Z);
        terminal.see_prompt(2);
        let stopped = now();
        wait_until(|| stopped.elapsed() > Duration::from_millis(1_100));
        terminal.press("fg\n");
        terminal.see("lost the lock");
        terminal.see_prompt(3);
        terminal.press("echo code-$?\n");
        terminal.see("code-123");
    }
}

#[test]
fn a_signal_that_comes_with_a_core_leaves_none() {
    let user = User::new();
    let holder = holder(&user);
    let before = [
        "-c",
        "ulimit -c unlimited; exec \"$@\"",
        "sh",
        env!("CARGO_BIN_EXE_leasehold"),
    ];
    let crash = "ulimit -c 0; kill -QUIT $$";
    let words = ["run", "free", "--", "sh", "-c", crash];
    assert_eq!(user.run_in("sh", &before, &words).end().code, -3);
    let words = ["run", "busy", "--", "true"];
    let mut waiter = user.run_in("sh", &before, &words).start();
    while !waiter.error_line().contains("waiting for") {}
    waiter.signal(Signal::QUIT);
    assert_eq!(waiter.end_alone(), -3);
    holder.signal(Signal::TERM);
    holder.end();
}
