//! The start of the command behind a gate, so that no moment is left in which leasehold dies and the command runs on.
//!
//! leasehold starts its own program once more, in a process group of its own. That process asks the kernel to be killed
//! with its parent, makes sure that the parent still lives, and stops itself. leasehold tells the watchdog of the group
//! and then continues it. From then on the watchdog sees to leasehold's death, so the process takes its request to the
//! kernel back and becomes the command: a command that outlives a request of its own would be killed without its grace.
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
use std::{os::unix::process::CommandExt, process::Command};

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
    let orphaned = || Failure::quiet(crate::exit_code::FAILED);
    let gate = || {
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
        // Argument S6: a parent that died before the request is not noticed by the kernel.
        if getppid() != Some(parent) {
            return Err(orphaned());
        }
        kill_process(getpid(), Signal::STOP).map_err(failed)?;
        set_parent_process_death_signal(None).map_err(failed)?;
        // Nor is one that was gone when somebody else continued this process.
        if getppid() != Some(parent) {
            return Err(orphaned());
        }
        Ok(())
    };
    if let Err(failure) = gate() {
        return Some(Err(failure));
    }
    let (program, arguments) = command.split_first()?;
    let error = Command::new(program).args(arguments).exec();
    Some(Err(not_started(program, &error)))
}

/// Without the kernel's help there is nothing to wait for, and nobody starts this.
#[cfg(not(target_os = "linux"))]
fn become_command(_: i32, _: &[OsString]) -> Option<Result<u8, Failure>> {
    None
}
