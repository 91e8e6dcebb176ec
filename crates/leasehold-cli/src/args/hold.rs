//! The arguments of the verbs for scripts: `leasehold hold`, `acquire`, `extend` and `release`.

use super::{
    lock::{LockArguments, SpanArguments, WaitArguments},
    place::Place,
    terms,
};
use clap::Args;
use leasehold::Owner;
use std::time::Duration;

/// Hold a lock until standard input ends, for scripts.
///
/// Prints what is held once it is held, keeps extending it, and releases it when standard input ends or
/// a signal comes. If the lease is lost, it says so and exits with 123.
#[derive(Debug, Args)]
#[command(after_long_help = HOLD_HELP)]
pub(crate) struct HoldArguments {
    #[command(flatten)]
    pub(crate) lock: LockArguments,

    #[command(flatten)]
    pub(crate) wait: WaitArguments,

    #[command(flatten)]
    pub(crate) span: SpanArguments,

    /// Print one JSON object instead of lines for the shell
    #[arg(long)]
    pub(crate) json: bool,
}

/// Acquire a lock that no process keeps: it ends with its --ttl, unless it is extended or released.
///
/// For scripts whose every line is a process of its own. Prints the owner, by which `leasehold extend` and
/// `leasehold release` act on it. With servers only: in a file on this machine a lock ends with its process;
/// there, `leasehold hold` is the way.
#[derive(Debug, Args)]
#[command(after_long_help = ACQUIRE_HELP)]
pub(crate) struct AcquireArguments {
    #[command(flatten)]
    pub(crate) lock: LockArguments,

    #[command(flatten)]
    pub(crate) wait: WaitArguments,

    /// Print one JSON object instead of lines for the shell
    #[arg(long)]
    pub(crate) json: bool,
}

/// Extend a lock that `leasehold acquire` acquired.
#[derive(Debug, Args)]
#[command(after_long_help = EXTEND_HELP)]
pub(crate) struct ExtendArguments {
    /// How long the lock lives from now on; one that lives longer is not shortened
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = terms::ttl)]
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
    pub(crate) place: Place,

    /// The owner that `leasehold acquire` printed
    #[arg(long, value_name = "OWNER", value_parser = owner)]
    pub(crate) owner: Owner,

    /// Print one JSON object instead of lines for the shell
    #[arg(long)]
    pub(crate) json: bool,

    /// What is locked
    #[arg(value_parser = terms::resource)]
    pub(crate) resource: String,
}

fn owner(text: &str) -> Result<Owner, String> {
    Owner::from_bytes(text.as_bytes()).ok_or_else(|| {
        format!(
            "an owner has 1 to {} bytes: it is the LEASEHOLD_OWNER that leasehold printed",
            Owner::LONGEST
        )
    })
}

/// No other place has locks that outlive their process.
const HELD_NODES: &str = "The servers, as URLs with commas between";

const HOLD_HELP: &str = "\
Examples:
  From a shell script, for as long as file descriptor 3 is open:
    mkfifo pipe
    leasehold hold deploy <pipe >lease & exec 3>pipe
    until [ -s lease ]; do sleep 0.1; done; . ./lease
    echo \"held as number $LEASEHOLD_FENCING_TOKEN\"
    exec 3>&-; wait

  At a terminal: until Ctrl-D
    leasehold hold deploy

It prints four lines at once, LEASEHOLD_RESOURCE, LEASEHOLD_OWNER, LEASEHOLD_FENCING_TOKEN and
LEASEHOLD_VALID_UNTIL, which a shell can read in; with --json, one object. Where standard input is
/dev/null, as in cron and behind `&` in scripts, it has ended already: the lock is released at once.

Nobody ends a script whose lock is lost: let it wait for `leasehold hold`, or use `leasehold run`.

Exit codes:
  0      standard input ended, and the lock was held all the time
  2      the arguments cannot be understood, or others use these servers with different ones
  121    --no-wait, and the lock is held elsewhere (or as -E says)
  122    too few nodes can be reached, or vote yet
  123    the lease was lost, or --max-hold was over
  124    the lock stayed held elsewhere for all of --wait (or as -E says)
  125    leasehold itself failed
  128+n  as shells show it: ended by signal n, and the lock was released";

const ACQUIRE_HELP: &str = "\
Examples:
  A job in three steps, which has half a minute for the first two:
    eval \"$(leasehold acquire --ttl 30s deploy || echo exit $?)\"
    echo one
    leasehold extend --ttl 30s --owner \"$LEASEHOLD_OWNER\" deploy || exit
    echo two
    leasehold release --owner \"$LEASEHOLD_OWNER\" deploy

Nobody extends it in between, nobody tells of a loss, and no command is ended: where one program can stand
around the work, `leasehold run` is safer. Whoever knows the owner can extend and release, and owners
are told to those who are refused.

Exit codes:
  0      the lock is held, until what LEASEHOLD_VALID_UNTIL says in Unix seconds
  2      the arguments cannot be understood, or others use these servers with different ones
  121    --no-wait, and the lock is held elsewhere (or as -E says)
  122    too few nodes can be reached, or vote yet
  124    the lock stayed held elsewhere for all of --wait (or as -E says)
  125    leasehold itself failed";

const EXTEND_HELP: &str = "\
Examples:
    leasehold extend --ttl 30s --owner \"$LEASEHOLD_OWNER\" deploy

Exit codes:
  0      the lock is held, until what LEASEHOLD_VALID_UNTIL says in Unix seconds
  2      the arguments cannot be understood, or others use these servers with different ones
  122    too few nodes can be reached; the lock is as it was
  123    the lock is not this owner's any more
  125    leasehold itself failed";

const RELEASE_HELP: &str = "\
Examples:
    leasehold release --owner \"$LEASEHOLD_OWNER\" deploy

Exit codes:
  0      it was this owner's, and is free
  2      the arguments cannot be understood
  122    too few nodes can be reached; where it was not released, it ends with its TTL
  123    it was not this owner's any more
  125    leasehold itself failed";
