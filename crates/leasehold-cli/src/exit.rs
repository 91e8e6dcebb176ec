//! How the process ends: with a code, or by a signal.
//!
//! A shell breaks off a loop or a script at Ctrl-C only if the program that it waited for *died by the signal*; a code of
//! 130 is a code like any other. So leasehold dies by the signal that its command died by, and by the signal that broke
//! off its own wait, after everything else is done: the lock is released, the watchdog is dismissed, all talk is written.
//!
//! A shell script must have got the signal itself, too. A key of the terminal signals the foreground process group, and
//! while the command runs, that is the command's own group, without the script. So such a signal is passed on to
//! leasehold's process group, whose members would have got it from the terminal if leasehold had not been there.

use crate::exit_code;
use nix::{
    sys::signal::{SigHandler, SigSet, Signal, killpg, raise, signal},
    unistd::getpgrp,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(i32),
    /// By this signal, which a key of the terminal sent to the command's process group. Ours gets it as well.
    Key(i32),
}

impl Exit {
    /// The same end as a command's.
    pub(crate) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(u8::try_from(code).unwrap_or(exit_code::FAILED)),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(exit_code::FAILED),
        }
    }

    /// By a signal that leasehold itself was sent.
    pub(crate) fn by(signal: rustix::process::Signal) -> Self {
        Self::Signal(signal.as_raw())
    }

    /// The code to exit with. Does not return where a signal ends the process.
    ///
    /// It returns the code by which a shell tells of the signal if the signal does not end the process: the first process
    /// of a container is not ended by its own signals, and real-time signals are not raised.
    pub(crate) fn or_die(self) -> u8 {
        let number = match self {
            Self::Code(code) => return code,
            Self::Signal(number) | Self::Key(number) => number,
        };
        if let Ok(signal) = Signal::try_from(number) {
            leave_no_core();
            take_default_action(signal);
            if self == Self::Key(number) {
                // This process is in it.
                let _ = killpg(getpgrp(), signal);
            }
            let _ = raise(signal);
        }
        exit_code::of_signal(number)
    }
}

/// Gives a signal its default action again, which a listener has replaced, and lets it come.
fn take_default_action(number: Signal) {
    #[expect(
        unsafe_code,
        reason = "handlers can be unsafe and the default action is none; there is no safe binding for it alone"
    )]
    // An error is SIGKILL's, which has no other action.
    let _ = unsafe { signal(number, SigHandler::SigDfl) };
    let _ = SigSet::from_iter([number]).thread_unblock();
}

/// Lets no core file be written: it was the command that crashed.
fn leave_no_core() {
    // Where a program takes the cores, the limit is not asked.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let maximum = getrlimit(Resource::Core).maximum;
    let current = Some(0);
    let _ = setrlimit(Resource::Core, Rlimit { current, maximum });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_that_of_the_command() {
        assert_eq!(Exit::of(ExitStatus::from_raw(7 << 8)), Exit::Code(7));
        assert_eq!(Exit::of(ExitStatus::from_raw(9)), Exit::Signal(9));
    }

    #[test]
    fn a_signal_that_nobody_raises_is_told_by_its_code() {
        assert_eq!(Exit::Signal(64).or_die(), 192);
        assert_eq!(Exit::Code(7).or_die(), 7);
    }
}
