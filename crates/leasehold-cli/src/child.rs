//! The command that runs under the lock, and its process group.

use crate::{exit_code, failure::Failure, launch};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, test_kill_process_group,
    waitid, waitpgid,
};
use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

/// A running command, first process of a group of its own.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    group: Pid,
    /// Whether it waits behind the gate for its watchdog.
    waits: bool,
}

/// When a command begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// At once.
    AtOnce,
    /// When [`Child::let_go`] says so, where the system can do that.
    Gated,
}

/// What happened to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing: it runs, or is still stopped.
    None,
    /// It was stopped by this signal.
    Stopped(i32),
    /// It ended, and was reaped.
    Ended(ExitStatus),
}

/// What a look for stops has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    None,
    By(i32),
    Dead,
}

impl Child {
    /// Starts a command, without a shell, with these variables beside the environment; those that are none are taken from it.
    pub(crate) fn start<'a>(
        command: &[OsString],
        variables: impl IntoIterator<Item = (&'a str, Option<String>)>,
        start: Start,
    ) -> Result<Self, Failure> {
        let (program, arguments) = command
            .split_first()
            .expect("the arguments require a command");
        let variables: Vec<_> = variables.into_iter().collect();
        let spawn = |command: &mut Command| {
            for (name, value) in &variables {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
            command.process_group(0).spawn()
        };
        let gated = match start {
            Start::Gated if cfg!(target_os = "linux") => {
                let mut gate = Command::new(this_program());
                gate.arg0("leasehold").arg(launch::WORD);
                gate.arg(std::process::id().to_string()).args(command);
                // Where this program cannot be started again, without /proc say, the command still can.
                spawn(&mut gate).ok()
            }
            Start::Gated | Start::AtOnce => None,
        };
        let waits = gated.is_some();
        let process = match gated {
            Some(process) => process,
            None => spawn(Command::new(program).args(arguments))
                .map_err(|error| not_started(program, &error))?,
        };
        let group = Pid::from_child(&process);
        Ok(Self {
            process,
            group,
            waits,
        })
    }

    /// Whether it has not begun.
    pub(crate) const fn waits(&self) -> bool {
        self.waits
    }

    /// Lets it begin: it has stopped itself until somebody is there who ends it if leasehold dies.
    pub(crate) fn let_go(&mut self) {
        self.waits = false;
        self.signal(Signal::CONT);
    }

    /// The same as if it had been started behind the gate: it stops itself. For tests, whose program is no gate.
    #[cfg(test)]
    pub(crate) fn behind_a_gate(self) -> Self {
        Self {
            waits: true,
            ..self
        }
    }

    /// The group that the command began.
    pub(crate) fn group(&self) -> Pid {
        self.group
    }

    /// What happened since the last time. Does not wait.
    pub(crate) fn change(&mut self) -> io::Result<Change> {
        if let Some(status) = self.process.try_wait()? {
            return Ok(Change::Ended(status));
        }
        match self.stop()? {
            Stop::By(signal) => Ok(Change::Stopped(signal)),
            Stop::None => Ok(Change::None),
            // Since the first line.
            Stop::Dead => Ok(self.process.try_wait()?.map_or(Change::None, Change::Ended)),
        }
    }

    /// Whether it was stopped. Asks for stops only, so it cannot take the end away.
    fn stop(&self) -> io::Result<Stop> {
        let stops = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(self.group), stops) {
            // Asked for nothing but stops, the system does not know a process that is dead.
            Err(Errno::CHILD) => Ok(Stop::Dead),
            stop => Ok(stop?
                .and_then(|status| status.stopping_signal())
                .map_or(Stop::None, Stop::By)),
        }
    }

    /// Sends a signal to the whole group.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_group(self.group, signal);
    }

    /// Makes this process the parent of whatever the group leaves behind, where the system can.
    ///
    /// A process without a parent goes to the first process of the machine or container, which may take
    /// its time to notice that they are dead, or never do.
    pub(crate) fn adopt_orphans(&self) {
        #[cfg(target_os = "linux")]
        // Without it, only the wait for the group's end is longer.
        let _ = rustix::process::set_child_subreaper(Some(self.group));
    }

    /// Whether the group has any process left, stopped ones included. Reaps what has ended: only when
    /// the command has, or nobody asks for its status any more.
    pub(crate) fn has_group(&self) -> bool {
        while let Ok(Some(_)) = waitpgid(self.group, WaitOptions::NOHANG) {}
        test_kill_process_group(self.group) != Err(Errno::SRCH)
    }
}

/// Sends a signal to all of a group.
pub(crate) fn kill_group(group: Pid, signal: Signal) {
    // The only error left is that nobody is there any more to get it.
    let _ = kill_process_group(group, signal);
}

/// Why a command cannot be started.
pub(crate) fn not_started(program: &OsStr, error: &io::Error) -> Failure {
    use io::ErrorKind::{NotFound, OutOfMemory, ResourceBusy, WouldBlock};
    let file = file_of(program).filter(|_| error.kind() == NotFound);
    let program = match program.is_empty() {
        true => "\"\"".to_owned(),
        false => program.display().to_string(),
    };
    match error.kind() {
        NotFound => match file {
            Some(file) => Failure::new(
                exit_code::NOT_FOUND,
                format!("cannot run {program}: {}", without_interpreter(&file)),
            ),
            None => Failure::new(
                exit_code::NOT_FOUND,
                format!("cannot run {program}: not found"),
            )
            .hint("the command runs without a shell: for shell syntax say -- sh -c '…'".to_owned()),
        },
        _ if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => {
            let hint = format!(
                "the first line of a script must be #!/bin/sh or the like; or say -- sh {program}"
            );
            let text = format!("cannot run {program}: {error}");
            Failure::new(exit_code::NOT_EXECUTABLE, text).hint(hint)
        }
        // No process to be had, which is not the program's fault.
        OutOfMemory | WouldBlock | ResourceBusy => {
            Failure::own(format!("cannot run {program}: {error}"))
        }
        _ => Failure::new(
            exit_code::NOT_EXECUTABLE,
            format!("cannot run {program}: {error}"),
        ),
    }
}

/// The file of a program that is there, though the system has not found what it needs.
fn file_of(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|file| file.is_file());
    }
    let folders = env::var_os("PATH").filter(|_| !program.is_empty())?;
    let mut files = env::split_paths(&folders).map(|folder| folder.join(program));
    files.find(|file| file.is_file())
}

/// What is not there of this program, which is: a script names its interpreter, another program who loads it.
fn without_interpreter(file: &Path) -> String {
    let mut begin = [0; 256];
    let read = File::open(file).and_then(|mut file| file.read(&mut begin));
    let begin = String::from_utf8_lossy(&begin[..read.unwrap_or_default()]);
    let line = begin.split('\n').next().unwrap_or_default();
    let named = line
        .strip_prefix("#!")
        .map(|line| line.trim_matches([' ', '\t']));
    let name = named.and_then(|line| line.split([' ', '\t']).next());
    match name {
        Some(name) => {
            format!("its interpreter {name:?}, which its first line names, was not found")
        }
        None => "it is there, but what is needed to load it was not found".to_owned(),
    }
}

/// The file that runs here, also after it was replaced by another version.
pub(crate) fn this_program() -> PathBuf {
    match cfg!(target_os = "linux") {
        true => "/proc/self/exe".into(),
        false => env::current_exe().unwrap_or_else(|_| "leasehold".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn failure(program: &str) -> Failure {
        Child::start(&[program.into()], [], Start::AtOnce).expect_err("it is no program")
    }

    #[test]
    fn a_command_that_dies_while_it_is_looked_at_has_ended() {
        let mut child = Child::start(&["true".into()], [], Start::AtOnce).expect("it is a program");
        // Dead, and not reaped yet: as it is found that dies between the two looks.
        let dead = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(child.group), dead).expect("it is ours");
        assert_eq!(child.stop().ok(), Some(Stop::Dead));
        let ended = child.change().expect("it is ours");
        assert_eq!(ended, Change::Ended(ExitStatus::from_raw(0)));
    }

    #[test]
    fn the_codes_are_those_of_the_shell() {
        assert_eq!(failure("/nowhere/to/be/found").code, 127);
        assert_eq!(failure("/").code, 126);
    }
}
