//! The arguments of the commands that look: `status`, `list`, `wait`, `watch`, `doctor`; and of `force-release`.

use super::{
    nodes::{NodesArguments, no_clusters},
    values,
};
use clap::Args;
use leasehold::Owner;
use std::{path::PathBuf, time::Duration};

/// Say who holds a lock, since when, and for how long, node by node.
///
/// Changes nothing on servers, but for the mark by which a new one takes this configuration and begins its quarantine.
/// Without servers, while the lock is free, it tries to set a lock of its own in the file on this machine, and takes it
/// back at once. The answer is about a moment that is over when you read it: to do something only if the lock is free,
/// acquire it.
#[derive(Debug, Args)]
#[command(after_long_help = STATUS_HELP)]
pub(crate) struct StatusArguments {
    /// The name of the lock
    #[arg(value_parser = values::resource)]
    pub(crate) resource: String,

    /// Show the holder of another library's lock, too: the beginning of what that has written
    #[arg(long)]
    pub(crate) foreign: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) place: NodesArguments,
}

/// List all locks, who holds them, and what was left over on a few nodes.
///
/// Goes through all keys of all servers (SCAN), in small steps. A server knows keys and not locks: a text with a
/// limited time that begins as owners of leasehold do is a lock. All other keys are somebody's data, and are not shown.
/// A server that leaves a question unanswered for half a second is left out, and named. If no lock is found, it asks
/// whether one could be acquired; without servers, it tries to set one of its own in the file on this machine, and takes
/// it back at once.
#[derive(Debug, Args)]
#[command(after_long_help = LIST_HELP)]
pub(crate) struct ListArguments {
    /// Only resources whose names begin so
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) prefix: String,

    /// Show other libraries' locks, too: what looks like one, and of its value the beginning
    #[arg(long)]
    pub(crate) foreign: bool,

    /// Read at most this many keys of each node
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub(crate) most: usize,

    /// Print one JSON object a line, one for each lock
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) place: NodesArguments,
}

/// Wait until a lock is free, without taking it.
///
/// Servers tell when the lock changes; where they may not, they are asked once a second. Servers that have restarted
/// and do not vote yet are waited for, too. Without servers, once the lock is free, it tries to set a lock of its own in
/// the file on this machine, and takes it back at once. When this ends, somebody else may have the lock already: to do
/// something under it, `leasehold run --wait`.
#[derive(Debug, Args)]
#[command(after_long_help = WAIT_HELP)]
pub(crate) struct WaitArguments {
    /// The name of the lock
    #[arg(value_parser = values::resource)]
    pub(crate) resource: String,

    /// Wait at most this long, then exit with 124 [default: no limit]
    #[arg(short, long, value_name = "DURATION", value_parser = values::limit)]
    pub(crate) wait: Option<Duration>,

    /// Wait until one of so many permits can be had, and not until nobody has any
    #[arg(long, value_name = "COUNT", value_parser = values::permits)]
    pub(crate) permits: Option<usize>,

    /// Print one JSON object at the end
    #[arg(long)]
    pub(crate) json: bool,

    /// Print nothing but errors on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) place: NodesArguments,
}

/// Show nodes and locks, again and again, until Ctrl-C.
///
/// On a terminal the picture is drawn in its place; elsewhere one follows the other with an empty line between.
#[derive(Debug, Args)]
#[command(after_long_help = WATCH_HELP)]
pub(crate) struct WatchArguments {
    /// Only resources whose names begin so
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) prefix: String,

    /// How often to look
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = values::interval)]
    pub(crate) every: Duration,

    /// Show one picture and end
    #[arg(long)]
    pub(crate) once: bool,

    /// Print one JSON object a line, one for each picture: nodes as doctor tells of them, and locks as list does
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) place: NodesArguments,
}

/// Examine the nodes, say what is wrong, why it matters, and what to do. Changes nothing on servers.
///
/// Looks at each node's reachability and round trips, version, role, persistence, memory, clock, rights and vote, and
/// at all of them together. What a service forbids to ask is "not told". Without servers, it looks at the store on this
/// machine, which is made if there is none, and tries to set a lock there.
#[derive(Debug, Args)]
#[command(after_long_help = DOCTOR_HELP)]
pub(crate) struct DoctorArguments {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) place: NodesArguments,
}

/// Measure how long a lock takes on these nodes, one after the other.
///
/// Takes and releases a lock that nobody else wants, again and again, and tells the medians beside the nodes' round
/// trip.
#[derive(Debug, Args)]
#[command(after_long_help = BENCH_HELP, mut_arg("nodes", no_clusters))]
pub(crate) struct BenchArguments {
    /// How long to measure
    #[arg(long = "for", value_name = "DURATION", default_value = "3s", value_parser = values::span)]
    pub(crate) span: Duration,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) place: NodesArguments,
}

/// Take a lock away from whoever holds it. Two may hold it afterwards.
///
/// Says who holds the lock, and asks. Deletes the keys of the holder and of leftovers on all nodes, but not those of
/// anybody who came meanwhile. The holder may not notice before its next extension: stop that program first. A key that
/// is not a leasehold lock is somebody's data, and stays.
#[derive(Debug, Args)]
#[command(after_long_help = FORCE_HELP)]
pub(crate) struct ForceReleaseArguments {
    /// The name of the lock
    #[arg(value_parser = values::resource)]
    pub(crate) resource: String,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// Only what this owner has, which `leasehold status` shows: one permit of several
    #[arg(long, value_name = "OWNER", value_parser = values::owner)]
    pub(crate) owner: Option<Owner>,

    /// Delete another library's lock, too: any text that looks like one, which may be other data
    #[arg(long)]
    pub(crate) foreign: bool,

    #[command(flatten)]
    pub(crate) place: NodesArguments,
}

/// Print what a shell needs to complete the words of this command.
#[derive(Debug, Args)]
#[command(after_long_help = COMPLETIONS_HELP)]
pub(crate) struct CompletionsArguments {
    /// Which shell
    pub(crate) shell: clap_complete::Shell,
}

/// Print pages of the manual, or write them to files.
///
/// Without arguments it prints one page with all commands.
#[derive(Debug, Args)]
#[command(after_long_help = MAN_HELP)]
pub(crate) struct ManArguments {
    /// Print the page of this command
    pub(crate) command: Vec<String>,

    /// Write a page for each command to this folder: leasehold.1, leasehold-run.1, …
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}

const STATUS_HELP: &str = "\
Examples:
    leasehold status deploy
    leasehold status --use main --json deploy | jq -r .holder

Exit codes:
  0      free, and whoever asks for it now can have it
  2      wrong arguments or configuration file; the key is not a
         lock, such as a hash; or others use these servers with
         other options
  121    held
  122    neither for certain, or nobody can have it: too few nodes
         answer, agree or vote
  125    leasehold itself failed";

const LIST_HELP: &str = "\
Examples:
    leasehold list
    leasehold list orders/
    leasehold list --foreign orders/
    leasehold list --json | jq -r 'select(.state == \"held\") | .resource'

Exit codes:
  0      listed; or nothing is locked
  2      wrong arguments or configuration file; or no lock was
         found, and others use these servers with other options
  122    too few nodes could be listed; or no lock was found and
         none can be acquired
  125    leasehold itself failed, or a node has more than --most
         keys that may be locks: the list is incomplete";

const WAIT_HELP: &str = "\
Examples:
    leasehold wait deploy && echo nobody deploys
    leasehold wait --wait 10m deploy
    leasehold wait --permits 4 gpu

Exit codes:
  0      free, and whoever asks for it now can have it
  2      wrong arguments or configuration file; the key is not a
         lock, such as a hash; or others use these servers with
         other options, or another number of permits
  122    for three seconds too few nodes answered; or nobody can
         have it, and not within --wait
  124    held for all of --wait
  125    leasehold itself failed";

const WATCH_HELP: &str = "\
Examples:
    leasehold watch
    leasehold watch --every 500ms orders/
    leasehold watch --once
    leasehold watch --json | jq -r '.locks[]?.resource'

A node that leaves a question unanswered for half a second is shown as one that does not answer.

A full dot is a node that has the holder's key, an empty one a node that has not, a question mark one that does not \
answer. The bar is what is left of the lock, a sign for each second up to ten.

Exit codes:
  0      one picture, and --once
  2      wrong arguments or configuration file; or one picture, and
         --once, and others use these servers with other options
  122    one picture, and --once, and no lock can be acquired
  125    leasehold itself failed
  130    ended by Ctrl-C";

const DOCTOR_HELP: &str = "\
Examples:
    leasehold doctor
    leasehold doctor --nodes redis://db1,redis://db2,redis://db3
    leasehold doctor --json | jq -r .verdict

Exit codes:
  0      sound
  2      wrong arguments or configuration file; or others use these
         servers with other options
  120    weakened: locks work, but less well than they should
  122    broken: no lock can be acquired
  125    leasehold itself failed";

const BENCH_HELP: &str = "\
Examples:
    leasehold bench
    leasehold bench --for 10s --json

Exit codes:
  0      measured
  2      wrong arguments or configuration file
  122    no lock can be acquired
  125    leasehold itself failed";

const FORCE_HELP: &str = "\
Examples:
    leasehold force-release deploy
    leasehold force-release --yes deploy

  One permit of several, by the owner that `leasehold status` shows:
    leasehold force-release --owner \"$OWNER\" gpu

Exit codes:
  0      nobody holds it any more, as far as the nodes say
  2      wrong arguments or configuration file; or the key is not a
         leasehold lock
  122    too few nodes confirmed it
  125    leasehold itself failed, or the answer was no";

const COMPLETIONS_HELP: &str = "\
Examples:
    leasehold completions bash > ~/.local/share/bash-completion/completions/leasehold
    leasehold completions zsh > ~/.zfunc/_leasehold
    leasehold completions fish > ~/.config/fish/completions/leasehold.fish";

const MAN_HELP: &str = "\
Examples:
    leasehold man | man -l -
    leasehold man run | man -l -
    leasehold man servers start | man -l -
    leasehold man --dir /usr/local/share/man/man1

Exit codes:
  0      printed or written
  2      wrong arguments, or there is no such command
  125    a page cannot be written";
