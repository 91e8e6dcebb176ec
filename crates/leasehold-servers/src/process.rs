//! A process that is not necessarily a child.

use crate::wait;
use rustix::process::{Pid, Signal, kill_process};
use std::{fs, time::Duration};

/// A process, told apart from a later one with the same id by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its id.
    pub(crate) pid: u32,
    /// When it started, in clock ticks since boot; 0 where there is no `/proc`.
    pub(crate) started: u64,
}

impl Process {
    /// This process.
    pub(crate) fn current() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            started: start_time(pid).unwrap_or(0),
        }
    }

    /// The process that has this id now, if there is one.
    pub(crate) fn with_pid(pid: u32) -> Option<Self> {
        let started = start_time(pid)?;
        Some(Self { pid, started })
    }

    /// Whether it still runs.
    pub(crate) fn is_running(self) -> bool {
        start_time(self.pid) == Some(self.started)
    }

    /// Ends it: kindly, and after `patience` by force. True if it is gone afterwards.
    pub(crate) fn end(self, patience: Duration) -> bool {
        self.signal(Signal::TERM);
        if self.is_gone_within(patience) {
            return true;
        }
        self.signal(Signal::KILL);
        self.is_gone_within(patience)
    }

    fn is_gone_within(self, limit: Duration) -> bool {
        wait::until(limit, || (!self.is_running()).then_some(())).is_some()
    }

    fn signal(self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid
            && self.is_running()
        {
            // It may end before the signal arrives, which is what was wanted.
            let _ = kill_process(pid, signal);
        }
    }
}

/// When the process started. None if there is none, or only the shell of one that its parent has not yet
/// buried.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets and may contain anything; fields are counted
    // from the last bracket.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    // Field 22; the third was taken above.
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_ended_only_if_its_start_time_matches() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::with_pid(child.id()).unwrap();
        let namesake = Process {
            started: process.started + 1,
            ..process
        };
        assert!(namesake.end(Duration::from_millis(10)));
        assert!(process.is_running());
        assert!(process.end(Duration::from_secs(5)));
        assert!(!process.is_running());
        child.wait().unwrap();
    }
}
