//! The arguments of `leasehold elect`.

use super::{
    lock::{LockArguments, SpanArguments},
    run::LossArguments,
};
use clap::Args;
use std::ffi::OsString;

/// Run a command while being the leader, or tell who is.
///
/// Campaigns until it leads, however long that takes, and runs the command. If leadership is lost, the command
/// is ended as by `leasehold run`, and the campaign begins again. When the command ends by itself, leadership
/// is given up, and its code is the exit code.
#[derive(Debug, Args)]
#[command(after_long_help = ELECT_HELP)]
pub(crate) struct ElectArguments {
    #[command(flatten)]
    pub(crate) lock: LockArguments,

    #[command(flatten)]
    pub(crate) span: SpanArguments,

    #[command(flatten)]
    pub(crate) loss: LossArguments,

    /// Do not campaign again after a loss: exit with 123
    #[arg(long)]
    pub(crate) once: bool,

    /// Only tell who leads, now and with every change, until a signal comes
    #[arg(long, conflicts_with_all = ["once", "command", "max_hold", "min_hold", "grace", "label", "fair"])]
    pub(crate) observe: bool,

    /// With --observe: one JSON object a line
    #[arg(long, requires = "observe", conflicts_with = "command")]
    pub(crate) json: bool,

    /// The command and its arguments, run as they are, without a shell
    #[arg(last = true, required_unless_present = "observe")]
    pub(crate) command: Vec<OsString>,
}

const ELECT_HELP: &str = "\
Examples:
  One scheduler among all machines that run this, another within 10 seconds if it dies:
    leasehold elect --nodes redis://a,redis://b,redis://c scheduler -- ./scheduler

  Who it is, a line with each change:
    leasehold elect --observe --nodes redis://a,redis://b,redis://c scheduler

The command sees what a command of `leasehold run` sees, and LEASEHOLD_TERM: the fencing token, a number
that is larger for every later leader. Let whatever the leader changes refuse smaller ones.

--observe prints `led by pid 4711 on db1, term 1767225600125 at most`, `led by nobody`, or, where for a
second too few nodes answer or agree, `not known`. The term itself is known to the leader alone: servers
count for many locks together, and tell how far; a file on this machine does not. A line is told again with
a larger term if nodes that counted further are heard within a second. Servers push that the
lock has changed, and are looked at once a second all the same; those that may not push are looked at once a
second, a file twenty times. A leader for less than that may be missed.

Exit codes:
  0-255  the command's own
  128+n  as shells show it: signal n ended the command, the campaign or --observe, and leasehold
         ends by the same signal
  2      the arguments cannot be understood, or others use these servers with different ones
  123    --once, and leadership was lost
  125    leasehold itself failed
  126    the command cannot be executed
  127    the command was not found";
