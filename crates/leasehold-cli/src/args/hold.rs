//! The arguments of the verbs for scripts: `leasehold hold`, `acquire`, `extend` and `release`.

use super::{
    lock::{LockArguments, ModeFlags, PartFlags, SpanArguments, WaitFlags},
    names::Names,
    nodes::{NodesArguments, no_clusters},
    values,
};
use clap::Args;
use leasehold::{Owner, Resource};
use std::time::Duration;

/// Hold a lock until standard input ends, for scripts.
///
/// Prints the lease when the lock is held, keeps extending it, and releases the lock when standard input ends or a signal
/// comes. If the lease is lost, leasehold says so and exits with 123.
#[derive(Debug, Args)]
#[command(
    after_long_help = HOLD_HELP,
    mut_arg("ttl", |ttl| ttl.long_help(HOLD_TTL)),
    mut_arg("max_hold", |most| most.long_help(None)),
)]
pub(crate) struct HoldArguments {
    #[command(flatten)]
    pub(crate) lock: LockArguments,

    #[command(flatten)]
    pub(crate) mode: ModeFlags,

    #[command(flatten)]
    pub(crate) part: PartFlags,

    #[command(flatten)]
    pub(crate) wait: WaitFlags,

    #[command(flatten)]
    pub(crate) span: SpanArguments,

    /// Print one JSON object instead of lines for the shell
    #[arg(long)]
    pub(crate) json: bool,
}

/// Acquire a lock and exit: the lock lasts for --ttl, unless it is extended or released.
///
/// For scripts in which each line is a process of its own. Prints the owner, which `leasehold extend` and `leasehold
/// release` ask for. Only with servers: in a file on this machine a lock ends with its process. Use `leasehold hold`
/// there.
#[derive(Debug, Args)]
#[command(
    after_long_help = ACQUIRE_HELP,
    mut_arg("ttl", |ttl| ttl.help(ACQUIRE_TTL).long_help(None)),
    mut_arg("nodes", no_clusters),
)]
pub(crate) struct AcquireArguments {
    #[command(flatten)]
    pub(crate) lock: LockArguments,

    #[command(flatten)]
    pub(crate) part: PartFlags,

    #[command(flatten)]
    pub(crate) wait: WaitFlags,

    /// Print one JSON object instead of lines for the shell
    #[arg(long)]
    pub(crate) json: bool,
}

/// Extend a lock that `leasehold acquire` acquired.
#[derive(Debug, Args)]
#[command(after_long_help = EXTEND_HELP)]
pub(crate) struct ExtendArguments {
    /// How long the lock lasts from now on; a lock that lasts longer is not shortened
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::ttl)]
    pub(crate) ttl: Duration,

    #[command(flatten)]
    pub(crate) held: HeldArguments,
}

/// Release a lock that `leasehold acquire` acquired.
#[derive(Debug, Args)]
#[command(after_long_help = RELEASE_HELP)]
pub(crate) struct ReleaseArguments {
    #[command(flatten)]
    pub(crate) held: HeldArguments,
}

/// A lock that was acquired before.
#[derive(Debug, Args)]
#[command(mut_arg("nodes", |nodes| nodes.help(HELD_NODES).long_help(None)))]
pub(crate) struct HeldArguments {
    #[command(flatten)]
    pub(crate) place: NodesArguments,

    /// The lock was acquired with --shared
    #[arg(short, long)]
    pub(crate) shared: bool,

    /// The owner that `leasehold acquire` printed
    #[arg(long, value_name = "OWNER", value_parser = values::owner)]
    pub(crate) owner: Owner,

    /// Print one JSON object instead of lines for the shell
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) names: Names,
}

impl HeldArguments {
    /// What is locked.
    pub(crate) const fn resource(&self) -> &Resource {
        self.names.resource()
    }
}

/// No other place has locks that outlive their process.
const HELD_NODES: &str = "The URLs of the servers, separated by commas";

const HOLD_TTL: &str = "\
How long the lock stays on servers if its holder dies; at least 200ms

While the lock is held, the lease is extended every third of this time. If that fails, leasehold exits with 123 within \
this time. A lock in a file on this machine is free as soon as its holder dies.";

const ACQUIRE_TTL: &str =
    "How long the lock lasts, unless it is extended or released; at least 200ms";

/// As the help of `run`: a paragraph and an entry of a list are one line each.
const HOLD_HELP: &str = "\
Examples:
  In a shell script, until file descriptor 3 is closed; it ends here if the lock cannot be had:
    mkfifo in out
    leasehold hold deploy <in >out & exec 3>in
    lease=$(head -n 4 out)
    [ \"$lease\" ] || { wait $!; exit; }
    eval \"$lease\"
    echo \"held as number $LEASEHOLD_FENCING_TOKEN\"
    exec 3>&-; wait $!

  At a terminal, until Ctrl-D:
    leasehold hold deploy

  The same on several names together, all or none:
    leasehold hold account/4 account/7

  While others may read too, and nobody writes:
    leasehold hold --shared index

  One of four permits:
    leasehold hold --permits 4 gpu

It prints four lines at once, which a shell can evaluate: LEASEHOLD_RESOURCE, LEASEHOLD_OWNER, LEASEHOLD_FENCING_TOKEN and \
LEASEHOLD_VALID_UNTIL. With --shared and --plain there is no fencing token, and the third line is `unset LEASEHOLD_FENCING_TOKEN`. Of several names, the first line has a command of the shell that makes one a line of them. With \
--permits there is a fifth line, LEASEHOLD_SLOT: which of the permits it is, from 0. With --json \
it prints one object. If standard input is /dev/null, as in cron and after `&` in \
scripts, it has already ended: the lock is released at once.

leasehold does not end the script if the lock is lost: let the script wait for `leasehold hold`, or use `leasehold run`.

Exit codes:
  0      standard input ended, and the lock was held all the time
  128+n  as shells show it: ended by signal n, and the lock was released
  2      wrong arguments; or other options, or another number of
         permits, than others use
  121    held elsewhere, with --no-wait (or as -E says)
  122    no quorum of nodes answers or votes (without --wait: for 3s)
  123    the lease was lost, or --max-hold was over
  124    held elsewhere for all of --wait (or as -E says)
  125    leasehold itself failed";

/// As the help of `run`: a paragraph and an entry of a list are one line each.
const ACQUIRE_HELP: &str = "\
Examples:
  A job in three steps, with half a minute for each of the first two:
    eval \"$(leasehold acquire --ttl 30s deploy || echo exit $?)\"
    echo one
    leasehold extend --ttl 30s --owner \"$LEASEHOLD_OWNER\" deploy || exit
    echo two
    leasehold release --owner \"$LEASEHOLD_OWNER\" deploy

Several names are locked together, all or none. `leasehold extend` and `release` are given all of them, in any order, or \
\"$LEASEHOLD_RESOURCE\" as one word, which has one name a line:
    leasehold release --owner \"$LEASEHOLD_OWNER\" \"$LEASEHOLD_RESOURCE\"

What was acquired with --shared is extended and released with --shared:
    eval \"$(leasehold acquire --shared index || echo exit $?)\"
    leasehold release --shared --owner \"$LEASEHOLD_OWNER\" index

Of what was acquired with --permits, the owner tells which permit it is, and so does LEASEHOLD_SLOT:
    eval \"$(leasehold acquire --permits 4 gpu || echo exit $?)\"
    leasehold release --owner \"$LEASEHOLD_OWNER\" gpu

Between these commands nobody extends the lock, notices its loss or ends the job. If one program can run the whole job, \
`leasehold run` is safer. Everybody who knows the owner, which `leasehold status` shows, can extend and release the lock.

Exit codes:
  0      the lock is held, until LEASEHOLD_VALID_UNTIL in Unix seconds
  128+n  as shells show it: signal n ended the wait
  2      wrong arguments; or other options, or another number of
         permits, than others use
  121    held elsewhere, with --no-wait (or as -E says)
  122    no quorum of nodes answers or votes (without --wait: for 3s)
  124    held elsewhere for all of --wait (or as -E says)
  125    leasehold itself failed";

const EXTEND_HELP: &str = "\
Examples:
    leasehold extend --ttl 30s --owner \"$LEASEHOLD_OWNER\" deploy

Exit codes:
  0      the lock is held, until what LEASEHOLD_VALID_UNTIL says in
         Unix seconds
  2      the arguments cannot be understood, or others use these
         servers with different ones
  122    too few nodes can be reached; the lock is as it was
  123    the lock is not this owner's any more
  125    leasehold itself failed";

const RELEASE_HELP: &str = "\
Examples:
    leasehold release --owner \"$LEASEHOLD_OWNER\" deploy

Exit codes:
  0      it was this owner's, and is free
  2      the arguments cannot be understood
  122    too few nodes can be reached; where it was not released, it
         ends with its TTL
  123    it was not this owner's any more
  125    leasehold itself failed";
