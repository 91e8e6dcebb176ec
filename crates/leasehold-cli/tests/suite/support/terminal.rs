//! A terminal with somebody at its keys.

use super::{User, wait_until};
use rustix::{
    process::Pid,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::tcgetpgrp,
};
use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    process::{Child, Command},
    sync::{Arc, Mutex},
    thread,
};

/// A terminal, and the program that its session began with.
pub(crate) struct Terminal {
    keys: File,
    screen: Arc<Mutex<String>>,
    process: Child,
}

impl Terminal {
    /// A shell with job control, at its first prompt.
    pub(crate) fn of_a_shell(user: &User) -> Self {
        let words = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
        let this = Self::start(user, &words);
        this.see_prompt(1);
        this
    }

    /// Waits for the prompt with this number. Lines that were interrupted count.
    #[track_caller]
    pub(crate) fn see_prompt(&self, number: u32) {
        self.see(&format!("prompt-{number}- "));
    }

    /// Starts a program as the first of a session on a new terminal. The variable L is the command.
    pub(crate) fn start(user: &User, words: &[&str]) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
        grantpt(&keys).expect("it is ours");
        unlockpt(&keys).expect("it is ours");
        let name = ptsname(&keys, Vec::new()).expect("it has one");
        let name = name.to_str().expect("it is a number");
        let device = || OpenOptions::new().read(true).write(true).open(name);
        // Not what this test ignores, and what the runtime of Rust does.
        let signals = "--default-signal=INT,QUIT,TSTP,HUP,PIPE";
        let process = Command::new("env")
            .args([signals, "setsid", "--ctty"])
            .args(words)
            .env("L", env!("CARGO_BIN_EXE_leasehold"))
            .env("XDG_STATE_HOME", user.folder())
            .env("LEASEHOLD_CONFIG", "")
            .env("PS1", "prompt-\\#- ")
            .env_remove("LEASEHOLD_NODES")
            .env_remove("LEASEHOLD_OWNERS")
            .stdin(device().expect("it is there"))
            .stdout(device().expect("it is there"))
            .stderr(device().expect("it is there"))
            .spawn()
            .expect("there are env and setsid");
        let keys = File::from(keys);
        let screen = Arc::default();
        read_on(keys.try_clone().expect("it is open"), Arc::clone(&screen));
        Self {
            keys,
            screen,
            process,
        }
    }

    /// Types this.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it is open");
    }

    /// Waits until this is on the screen.
    #[track_caller]
    pub(crate) fn see(&self, text: &str) {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(|| self.shows(text));
        }));
        assert!(result.is_ok(), "no {text:?} on {}", self.screen());
    }

    /// Waits until the shell has put a job into the foreground, and has continued it: what is pressed before that to stop it
    /// is forgotten when it is continued.
    #[track_caller]
    pub(crate) fn see_a_job(&self) {
        let shell = Pid::from_child(&self.process);
        let is_stopped = |group: Pid| {
            let told = fs::read_to_string(format!("/proc/{}/stat", group.as_raw_pid()));
            told.is_ok_and(|told| {
                told.rsplit(") ")
                    .next()
                    .is_some_and(|it| it.starts_with('T'))
            })
        };
        wait_until(|| {
            tcgetpgrp(&self.keys).is_ok_and(|group| group != shell && !is_stopped(group))
        });
    }

    /// Waits until the program that the keys signal has this among its words.
    #[track_caller]
    pub(crate) fn see_in_front(&self, word: &str) {
        let words =
            |group: Pid| fs::read_to_string(format!("/proc/{}/cmdline", group.as_raw_pid()));
        wait_until(|| {
            tcgetpgrp(&self.keys)
                .is_ok_and(|group| words(group).is_ok_and(|words| words.contains(word)))
        });
    }

    /// Whether this is on the screen.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.screen().contains(text)
    }

    /// All that was on the screen.
    pub(crate) fn screen(&self) -> String {
        self.screen.lock().expect("nobody panics").clone()
    }

    /// Waits for the end of the first program: its code, or the signal as a negative one.
    pub(crate) fn end(mut self) -> i32 {
        super::code_of(self.process.wait().expect("it was started"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // What is left in the foreground is hung up on by the kernel.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Reads until nobody has the terminal open any more.
fn read_on(mut terminal: File, screen: Arc<Mutex<String>>) {
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = terminal.read(&mut bytes) {
            let text = String::from_utf8_lossy(&bytes[..count]);
            screen.lock().expect("nobody panics").push_str(&text);
        }
    });
}
