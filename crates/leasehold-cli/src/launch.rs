//! The start of the command behind a gate, so that no moment is left in which leasehold dies and the command runs on.
//!
//! leasehold starts its own program once more, in a process group of its own. That process asks the kernel to be killed
//! with its parent, makes sure that the parent still lives, and stops itself. leasehold tells the watchdog of the group
//! and then continues it. From then on the watchdog sees to leasehold's death, so the process withdraws its request to
//! the kernel and becomes the command: a command that outlives a request of its own would be killed without its grace.
//!
//! Setting the request between `fork` and `exec` would save this step, and takes unsafe code.

#[cfg(target_os = "linux")]
use crate::child::not_started;
use crate::failure::Failure;
#[cfg(target_os = "linux")]
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal,
};
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use {
    nix::{errno::Errno, unistd::execve},
    std::{
        env,
        ffi::{CString, OsStr},
        io,
        os::unix::{
            ffi::{OsStrExt, OsStringExt},
            process::CommandExt,
        },
        path::{Path, PathBuf},
        process::Command,
    },
};

/// The first word of such a process, beside its parent's number and the command.
pub(crate) const WORD: &str = "launch";

/// Whether these are the words of such a process: its end, if it does not become the command.
///
/// Nobody types them, and every command waits for them: they are not among the arguments that people are told of.
pub(crate) fn asked_for(words: &[OsString]) -> Option<Result<u8, Failure>> {
    match words {
        [_, word, parent, command @ ..] if word == WORD && !command.is_empty() => {
            let parent = parent.to_str()?.parse().ok()?;
            become_command(parent, command)
        }
        _ => None,
    }
}

#[cfg(target_os = "linux")]
fn become_command(parent: i32, command: &[OsString]) -> Option<Result<u8, Failure>> {
    let parent = Pid::from_raw(parent)?;
    let failed =
        |error: rustix::io::Errno| Failure::own(format!("cannot start the command: {error}"));
    let is_watched = || match getppid() {
        Some(found) if found == parent => Ok(()),
        Some(_) => Err(Failure::quiet(crate::exit_code::FAILED)),
        // The number of the group would not be the one that leasehold knows either.
        None => Err(Failure::own(
            "cannot start the command: it is in another process namespace than leasehold"
                .to_owned(),
        )
        .hint("unshare --pid --fork puts both into the new one".to_owned())),
    };
    let gate = || {
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
        // Argument S6: a parent that died before the request is not noticed by the kernel.
        is_watched()?;
        kill_process(getpid(), Signal::STOP).map_err(failed)?;
        set_parent_process_death_signal(None).map_err(failed)?;
        // The parent may have been gone when somebody else continued this process.
        is_watched()
    };
    if let Err(failure) = gate() {
        return Some(Err(failure));
    }
    let error = become_program(command);
    Some(Err(not_started(command.first()?, &error)))
}

/// Becomes the program of these words, or tells why not.
///
/// As `execvp` does, but for one thing: a file that the kernel cannot execute is not given to a shell, since a program of
/// another machine would be read as a script.
#[cfg(target_os = "linux")]
fn become_program(command: &[OsString]) -> io::Error {
    // Nothing has this name. What matters is what comes before the attempt: signals are set back to what a program finds
    // at its start, of which the runtime has changed some (SIGPIPE).
    drop(Command::new("").exec());
    let text = |word: OsString| CString::new(word.into_vec());
    let words: Result<Vec<_>, _> = command.iter().cloned().map(text).collect();
    let variables = env::vars_os().map(|(name, value)| {
        let mut variable = name;
        variable.push("=");
        variable.push(value);
        text(variable)
    });
    let variables: Result<Vec<_>, _> = variables.collect();
    let (Ok(words), Ok(variables)) = (words, variables) else {
        return io::ErrorKind::InvalidInput.into();
    };
    let mut last = Errno::ENOENT;
    for path in places_of(&command[0]) {
        let Ok(path) = text(path.into_os_string()) else {
            continue;
        };
        let Err(errno) = execve(&path, &words, &variables);
        match errno {
            Errno::ENOENT | Errno::ENOTDIR => {}
            // Another folder may have one that may be executed.
            Errno::EACCES => last = errno,
            _ => return errno.into(),
        }
    }
    last.into()
}

/// Where a program of this name may be, in order.
#[cfg(target_os = "linux")]
fn places_of(program: &OsStr) -> Vec<PathBuf> {
    let bytes = program.as_bytes();
    if bytes.is_empty() || bytes.contains(&b'/') {
        return vec![program.into()];
    }
    let folders = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    env::split_paths(&folders)
        .map(|folder| match folder.as_os_str().is_empty() {
            true => Path::new(".").join(program),
            false => folder.join(program),
        })
        .collect()
}

/// Without the kernel's help there is nothing to wait for, and nobody starts this.
#[cfg(not(target_os = "linux"))]
fn become_command(_: i32, _: &[OsString]) -> Option<Result<u8, Failure>> {
    None
}
