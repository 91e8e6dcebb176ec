//! The arguments of `leasehold watchdog`, which nobody types.

use clap::Args;
use rustix::process::Pid;

/// Ends a command whose leasehold was killed or stopped. Started by leasehold itself.
#[derive(Debug, Args)]
pub(crate) struct WatchdogArguments {
    /// How long the command has between SIGTERM and SIGKILL, in milliseconds; none at all is SIGKILL at once
    #[arg(long, default_value_t = 0)]
    pub(crate) grace_ms: u64,
    /// The process group of the command
    #[arg(long, value_parser = group)]
    pub(crate) group: Pid,
    /// The process of leasehold that it watches
    #[arg(long)]
    pub(crate) of: u32,
    /// The name of the lock, as it is shown
    #[arg(long)]
    pub(crate) resource: String,
}

/// A process group: no process is 0, and what is negative means others.
fn group(text: &str) -> Result<Pid, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number
        .and_then(Pid::from_raw)
        .ok_or_else(|| "it is no process group".to_owned())
}
