//! Runs of the command.

mod place;
#[cfg(target_os = "linux")]
mod terminal;

pub(crate) use place::{Place, places};
#[cfg(target_os = "linux")]
pub(crate) use terminal::Terminal;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::{fs::DirBuilderExt, process::CommandExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

/// A user of their own: an empty folder for everything that the command keeps.
pub(crate) struct User {
    folder: PathBuf,
}

/// The commands that the help lists.
pub(crate) fn commands() -> Vec<String> {
    let help = User::new().run(&["--help"]).end().stdout;
    let names = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = names.take_while(|line| !line.is_empty());
    let names: Vec<_> = names
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    assert!(names.len() > 10, "{help}");
    names
}

impl User {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("leasehold-cli-{}-{count}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Self { folder },
                // A program that was killed has left it, and had the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", folder.display()),
            }
        }
    }

    /// A run of the command with these words.
    pub(crate) fn run(&self, words: &[&str]) -> Test {
        self.run_in(env!("CARGO_BIN_EXE_leasehold"), &[], words)
    }

    /// A run of this program, which is to run the command with these words.
    pub(crate) fn run_in(&self, program: &str, before: &[&str], words: &[&str]) -> Test {
        let mut command = Command::new(program);
        command
            .args(before)
            .args(words)
            .env("XDG_STATE_HOME", &self.folder)
            .env_remove("LEASEHOLD_NODES")
            .env_remove("LEASEHOLD_OWNERS")
            .env_remove("LEASEHOLD_SHARES")
            .env_remove("LEASEHOLD_SLOT")
            .env_remove("LEASEHOLD_MAX_TTL")
            .env_remove("LEASEHOLD_NAMESPACE")
            .env_remove("LEASEHOLD_CLUSTER")
            .env_remove("LEASEHOLD_KEY_FORMAT")
            .env_remove("LEASEHOLD_USE")
            .env_remove("LEASEHOLD_REQUIRE_NODES")
            // Whatever is configured on this machine is none of a test's business.
            .env("LEASEHOLD_CONFIG", "")
            // Servers that a test has started have nothing to forget.
            .env("LEASEHOLD_RESTART_GUARD", "off")
            .env_remove("RUST_BACKTRACE")
            .process_group(0);
        Test {
            command,
            stdin: String::new(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// What the command says when it was given no nodes.
    pub(crate) fn local(&self) -> String {
        format!(
            "leasehold: no nodes given: locking on this machine only, in {}\n\
             hint: --local says that this is meant\n",
            self.path("leasehold")
        )
    }
}

impl Drop for User {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// A run that has not begun.
#[must_use]
pub(crate) struct Test {
    command: Command,
    stdin: String,
}

impl Test {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// With the restart guard that everybody has who asks for none.
    pub(crate) fn guarded(mut self) -> Self {
        self.command.env_remove("LEASEHOLD_RESTART_GUARD");
        self
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        text.clone_into(&mut self.stdin);
        self
    }

    /// Runs to the end.
    pub(crate) fn end(self) -> Seen {
        self.start().end()
    }

    /// Starts, and goes on.
    pub(crate) fn start(mut self) -> Running {
        let mut process = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let mut stdin = process.stdin.take().expect("it is piped");
        // Nobody may be there to read it.
        drop(stdin.write_all(self.stdin.as_bytes()));
        drop(stdin);
        Running::of(process)
    }

    /// Starts, and leaves standard input open.
    pub(crate) fn keeping_stdin(mut self) -> Running {
        let process = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        Running::of(process)
    }
}

/// A run that goes on.
pub(crate) struct Running {
    process: Child,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    fn of(mut process: Child) -> Self {
        let stdout = BufReader::new(process.stdout.take().expect("it is piped"));
        Self { process, stdout }
    }

    /// The command itself, not what it runs.
    pub(crate) fn process(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    pub(crate) fn close_stdin(&mut self) {
        drop(self.process.stdin.take());
    }

    /// The next line of its output. Waits for it.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it is text");
        line.trim_end().to_owned()
    }

    /// The next line of its output, as a process id.
    pub(crate) fn pid(&mut self) -> Pid {
        let line = self.line();
        line.parse()
            .ok()
            .and_then(Pid::from_raw)
            .unwrap_or_else(|| panic!("not a process id: {line:?}"))
    }

    /// The next line of its errors. Waits for it.
    pub(crate) fn error_line(&mut self) -> String {
        let stderr = self.process.stderr.as_mut().expect("it is piped");
        let mut line = Vec::new();
        let mut byte = [0];
        // Byte by byte, so that nothing is lost to a buffer.
        while stderr.read(&mut byte).is_ok_and(|read| read == 1) && byte != *b"\n" {
            line.extend(byte);
        }
        String::from_utf8(line).expect("it is text")
    }

    /// Signals the command itself, not what it runs.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.process(), signal).expect("it runs");
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Seen {
        let mut stdout = String::new();
        let mut stderr = String::new();
        self.stdout.read_to_string(&mut stdout).expect("it is text");
        let errors = self.process.stderr.as_mut().expect("it is piped");
        errors.read_to_string(&mut stderr).expect("it is text");
        let status = self.process.wait().expect("it was started");
        Seen {
            code: code_of(status),
            stdout,
            stderr,
        }
    }

    /// Waits for the end of the command, whoever still has its output open.
    pub(crate) fn end_alone(mut self) -> i32 {
        // Not closed before the end: a wait would do so.
        let stdin = self.process.stdin.take();
        let status = self.process.wait().expect("it was started");
        drop(stdin);
        code_of(status)
    }
}

/// The exit code, or the signal that ended it as a negative one.
fn code_of(status: ExitStatus) -> i32 {
    assert!(!status.core_dumped(), "what crashed is not leasehold");
    let signal = || -status.signal().expect("it did not exit");
    status.code().unwrap_or_else(signal)
}

/// What a run left: a negative code is the signal that ended it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Seen {
    #[track_caller]
    pub(crate) fn assert(&self, code: i32, stdout: &str, stderr: &str) {
        let seen = (self.code, self.stdout.as_str(), self.stderr.as_str());
        assert_eq!(seen, (code, stdout, stderr));
    }

    /// Without the numbers that are different every time.
    #[track_caller]
    pub(crate) fn assert_says(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {self:?}");
        }
    }
}

/// Whether a process group has any process left.
pub(crate) fn lives(group: Pid) -> bool {
    test_kill_process_group(group).is_ok()
}

/// Ends what a killed command left behind.
pub(crate) fn end_group(group: Pid) {
    let _ = kill_process_group(group, Signal::KILL);
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test of time needs a clock of its own"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits until something is so, which it has to be soon.
#[track_caller]
#[expect(
    clippy::disallowed_methods,
    reason = "nobody tells of what is waited for"
)]
pub(crate) fn wait_until(what: impl Fn() -> bool) {
    let started = now();
    while !what() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "it did not happen in a minute"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}
