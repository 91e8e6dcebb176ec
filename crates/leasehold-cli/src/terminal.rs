//! The terminal, and whose turn it is to read from it.
//!
//! The command has a process group of its own, so that all of it can be killed when the lease is lost.
//! A terminal talks to one group at a time: unless the command's is made the foreground group, it is
//! stopped as soon as it reads, and Ctrl-C does not reach it.

use nix::sys::signal::{SigSet, Signal};
use rustix::{
    process::{Pid, getpgrp, getsid},
    termios::{tcgetpgrp, tcsetpgrp},
};
use std::{
    fs::File,
    io::{IsTerminal, stdin, stdout},
};

/// The controlling terminal of this process.
#[derive(Debug)]
pub(crate) struct Terminal {
    device: File,
}

impl Terminal {
    /// The terminal, if there is one.
    pub(crate) fn controlling() -> Option<Self> {
        let device = File::open("/dev/tty").ok()?;
        Some(Self { device })
    }

    /// Whether the command should have the terminal from the start.
    ///
    /// Not in a pipeline such as `leasehold run … | less`: it would be taken from `less`. There the
    /// command gets the terminal when it turns out to want it.
    pub(crate) fn is_for_the_command(&self) -> bool {
        stdin().is_terminal() && stdout().is_terminal()
    }

    /// Makes `group` the foreground group, if this process is in the foreground now.
    pub(crate) fn give_to(&self, group: Pid) -> bool {
        tcgetpgrp(&self.device) == Ok(getpgrp()) && tcsetpgrp(&self.device, group).is_ok()
    }

    /// Makes this process's group the foreground group again, if `group` is now. Says whether it was.
    pub(crate) fn take_back_from(&self, group: Pid) -> bool {
        // If the shell took the terminal, because the job was put into the background, it keeps it.
        if tcgetpgrp(&self.device) != Ok(group) {
            return false;
        }
        // A background group that sets the foreground group is stopped by SIGTTOU, unless the signal is
        // blocked.
        let background = SigSet::from_iter([Signal::SIGTTOU]);
        let before = background.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK);
        let _ = tcsetpgrp(&self.device, getpgrp());
        if let Ok(before) = before {
            let _ = before.thread_set_mask();
        }
        true
    }

    /// Whether a shell would continue this process, if it stopped.
    pub(crate) fn has_job_control() -> bool {
        // A group that its session began with has nobody above it who could: a process that stops there
        // stops for good, and the kernel would not stop it either.
        getsid(None) != Ok(getpgrp())
    }
}
