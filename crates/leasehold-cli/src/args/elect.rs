//! The arguments of `leasehold elect`.

use super::{
    lock::{LockArguments, SpanArguments},
    names::Names,
    run::LossArguments,
};
use clap::Args;
use std::ffi::OsString;

/// Run a command while this process is the leader, or show who leads.
///
/// Waits until it leads, without a limit, and runs the command. If leadership is lost, the command is ended as by
/// `leasehold run`, and leasehold campaigns again. When the command ends by itself, leadership is released, and the
/// command's exit code is passed on.
#[derive(Debug, Args)]
#[command(after_long_help = ELECT_HELP, mut_arg("resource", Names::only_one))]
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

    /// Only show who leads, now and after every change, until a signal ends it
    #[arg(long, conflicts_with_all = ["once", "command", "max_hold", "min_hold", "grace", "label", "fair"])]
    pub(crate) observe: bool,

    /// With --observe: one JSON object a line
    #[arg(long, requires = "observe", conflicts_with = "command")]
    pub(crate) json: bool,

    /// The command and its arguments, run as they are, without a shell
    #[arg(index = 2, last = true, required_unless_present = "observe")]
    pub(crate) command: Vec<OsString>,
}

/// As the help of `run`: a paragraph and an entry of a list are one line each.
const ELECT_HELP: &str = "\
Examples:
  One scheduler among all machines that run this; if it dies, another follows within 10 seconds:
    leasehold elect --nodes redis://a,redis://b,redis://c scheduler -- ./scheduler

  Who leads, a line for each change:
    leasehold elect --observe --nodes redis://a,redis://b,redis://c scheduler

The command has the variables of `leasehold run`, and LEASEHOLD_TERM: the fencing token, a number that is larger for \
every later leader. A resource that the leader changes should refuse smaller ones.

--observe prints `led by pid 4711 on db1, term 1767225600125 at most`, `led by nobody`, or `not known` if too few nodes \
answer or agree for a second. Only the leader knows its term: servers count for many locks together, and say how far they \
have counted; a file on this machine does not. A line is printed again with a larger term if a node that counted further \
answers within a second. Servers notify leasehold when the lock changes; it also asks them once a second, and a file \
twenty times a second. A leader that leads for less time than that may be missed.

Exit codes:
  0-255  the command's own
  128+n  as shells show it: signal n ended the command or the wait
  2      wrong arguments; or other options than other clients use
  123    leadership was lost, with --once
  125    leasehold itself failed
  126    the command cannot be executed
  127    the command was not found";
