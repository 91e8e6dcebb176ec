//! The arguments of `leasehold elect`.

use super::{
    lock::{LockArguments, SpanArguments},
    names::Names,
    nodes::no_clusters,
    run::{LossArguments, OnLoss},
};
use clap::{
    Arg, Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use std::ffi::OsString;

/// Run a command while this process is the leader, or show who leads.
///
/// Waits until it leads, without a limit, and runs the command. If leadership is lost, the command is ended as by
/// `leasehold run`, and leasehold campaigns again. When the command ends by itself, leadership is released, and the
/// command's exit code is passed on.
#[derive(Debug, Args)]
#[command(
    after_long_help = ELECT_HELP,
    mut_arg("resource", Names::only_one),
    mut_arg("nodes", no_clusters),
    mut_arg("quiet", |quiet| quiet.help(QUIET)),
    mut_arg("fair", |fair| fair.long_help(FAIR)),
    mut_arg("max_hold", |most| most.help(MAX_HOLD).long_help(LONG_MAX_HOLD)),
    mut_arg("on_loss", on_loss),
)]
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

/// A leader that runs on without its lock campaigns again when it ends.
fn on_loss(argument: Arg) -> Arg {
    let values = OnLoss::value_variants().iter().filter_map(|what| {
        let value = what.to_possible_value()?;
        Some(match what {
            OnLoss::Warn => value.help(WARN),
            OnLoss::Term | OnLoss::Kill => value,
        })
    });
    let known = PossibleValuesParser::new(values);
    argument.value_parser(known.map(|name| {
        let what = OnLoss::from_str(&name, false);
        what.expect("it is one of the possible values")
    }))
}

const WARN: &str = "Nothing: it runs on without the lock; when it ends, leasehold campaigns again";

const QUIET: &str = "Print nothing but errors on standard error";

const MAX_HOLD: &str =
    "Lead for at most this long, and then campaign again; with --once, exit with 123";

const LONG_MAX_HOLD: &str = "\
Lead for at most this long, and then campaign again; with --once, exit with 123

The command is asked to end earlier, by the grace and the time that is kept for SIGKILL, so that it has ended when the \
time is over. With 12s and the default --ttl it runs for 9.5s.";

const FAIR: &str = "\
Serve the processes that use --fair first come, first served. Costs requests, and up to 3s if a waiter is killed

The order holds across machines, as well as most of the servers agree on who came first. A process without --fair takes \
a lock that is free, so all processes that share the lock should use it. If the next waiter is killed or cut off, the \
others wait for up to three seconds; a waiter that gives up does not delay them.";

/// As the help of `run`: a paragraph and an entry of a list are one line each.
const ELECT_HELP: &str = "\
Examples:
  One scheduler among all machines that run this; if it dies, another follows within 10 seconds:
    leasehold elect --nodes redis://a,redis://b,redis://c scheduler -- ./scheduler

  Who leads, a line for each change:
    leasehold elect --observe --nodes redis://a,redis://b,redis://c scheduler

The command has the variables of `leasehold run`, and LEASEHOLD_TERM: the fencing token, a number that is larger for \
every later leader. A resource that the leader changes should refuse smaller ones.

--observe prints `led by pid 4711 on db1, term 1767225600125 at most`, `led by nobody`, or `not known` if too few \
nodes answer or agree for a second, or have nobody and may have forgotten a leader, as after a restart. Only the \
leader knows its term: servers count for many locks together, and say how far they have counted; a file on this \
machine does not. A line is printed again with a larger term if a node that counted further answers within a second. \
Servers notify leasehold when the lock changes; it also asks them once a second, and a file twenty times a second. A \
leader that leads for less time than that may be missed.

Exit codes:
  0-255  the command's own
  128+n  as shells show it: signal n ended the command or the wait
  2      wrong arguments; or other options than other clients use
  123    leadership was lost, with --once
  125    leasehold itself failed
  126    the command cannot be executed
  127    the command was not found";
