//! The arguments of `leasehold run`.

use super::{
    lock::{LockArguments, ModeFlags, OnceFlags, PartFlags, SpanArguments, WaitFlags},
    values,
};
use clap::{Args, ValueEnum};
use std::{ffi::OsString, time::Duration};

/// Run a command while holding the lock on a resource, or on several together.
///
/// Waits for the lock, runs the command, extends the lease while the command runs, and releases the lock when the
/// command has ended. If the lease cannot be extended, the command's process group gets SIGTERM and then SIGKILL, before
/// anybody else can have the lock.
///
/// Of several names it has all or none at any time, so commands that want some of the same names never wait for each other in
/// a circle.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP)]
pub(crate) struct RunArguments {
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

    #[command(flatten)]
    pub(crate) once: OnceFlags,

    #[command(flatten)]
    pub(crate) loss: LossArguments,

    /// The command and its arguments, run as they are, without a shell
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// What becomes of the command when the lock is lost.
#[derive(Debug, Args)]
pub(crate) struct LossArguments {
    /// What to do to the command when the lease is lost
    #[arg(long, value_name = "WHAT", default_value = "term")]
    pub(crate) on_loss: OnLoss,

    /// Time between SIGTERM and SIGKILL, at most 40% of --ttl [default: 15% of --ttl, at most 4s]
    #[arg(long, value_name = "DURATION", value_parser = values::grace)]
    pub(crate) grace: Option<Duration>,
}

/// What is done to the command when the lease is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLoss {
    /// SIGTERM to its process group, and SIGKILL before the lease ends
    Term,
    /// SIGKILL alone, as late as the lease allows
    Kill,
    /// Nothing: it runs on without the lock, and the exit code is 123 when it ends
    Warn,
}

/// A paragraph is one line here, and so is an entry of a list, which fits into 72 columns: clap wraps them once.
const RUN_HELP: &str = "\
Examples:
  From cron: skip the job, without a word and with 0, if another machine runs it:
    leasehold run -q -n -E 0 --require-nodes backup -- /usr/local/bin/backup

  From cron on three machines, every hour: whichever comes first does the job, and if it fails another one does:
    leasehold run -q --once-per 1h --require-nodes report -- ./report

  Wait for at most half a minute, and tell a busy lock from a failed job:
    leasehold run -w 30s backup -- ./backup; case $? in 124) echo busy;; esac

  First come, first served, on all machines:
    leasehold run --fair --require-nodes backup -- /usr/local/bin/backup

  On several names together, in any order, all or none:
    leasehold run -w 30s account/4 account/7 -- ./transfer

  Any number of readers at once, or one writer:
    leasehold run --shared index -- ./search
    leasehold run --fair index -- ./rebuild

  Four at a time, each with a number of its own from 0 to 3:
    leasehold run --permits 4 gpu -- sh -c './render --gpu $LEASEHOLD_SLOT'

  As with flock(1), among the programs of this user on this machine:
    leasehold run --local -n backup -- ./backup

  On a Redis Cluster, which LEASEHOLD_NODES names as redis+cluster://db1,db2,db3:
    leasehold run --plain backup -- ./backup

  Give the job ten seconds between SIGTERM and SIGKILL, of a lease of 30 seconds:
    leasehold run --ttl 30s --grace 10s --label nightly backup -- ./backup

  With five servers to try it out:
    export LEASEHOLD_NODES=\"$(leasehold servers start -n 5)\"
    leasehold run demo -- echo hi
    leasehold servers stop; unset LEASEHOLD_NODES

The command has these variables, beside its usual environment:
  LEASEHOLD_RESOURCE       the name of the lock; several one a line
  LEASEHOLD_OWNER          the value that signs the lock on the servers
  LEASEHOLD_VALID_UNTIL    end of the lease when the command starts, in
                           Unix seconds; it is extended from then on
  LEASEHOLD_FENCING_TOKEN  a number, larger for every later holder, of
                           permits for every later one of that slot; it
                           is not set with --shared and --plain
  LEASEHOLD_SLOT           with --permits: which one it is, from 0
  LEASEHOLD_OWNERS         the owners of all locks around the command: a
                           command that asks for one of them is refused
  LEASEHOLD_SHARES         the same of its shares and permits

Several names, 64 at most, have one lease, one owner and one fencing token, and if one of them is lost, all are. \
`leasehold status` and `list` show each with the same owner. They are had when all are free at the same time: whoever wants \
many that others want too may wait long, and nobody can stand in line (--fair) for them.

With --permits, as many commands run at the same time as there are permits, and no more. A command that asks for a permit \
under a permit of the same name can have another one; if all are its own, it is refused. Commands that have one each and wait \
for another wait for each other: let each command take one.

With --once-per, a command that ends with 0 is not run again before the period has ended: the servers keep a mark until \
then. leasehold waits while another machine runs it, and ends with 0 when that has succeeded. If leasehold dies after the \
command and before the servers know, or if most servers lose their data, the command is run again. On machines whose \
clocks disagree on the period it may run in both: let no job start just before a period ends (--period-offset).

A resource that remembers the largest fencing token and refuses smaller ones is safe even from a command that runs on \
without the lock.

Servers that are new, were flushed or have restarted do not vote until every lock that they may have forgotten has \
ended: for --max-ttl and a little more. leasehold says so and waits. If you know that they held no locks, run `leasehold \
admit` to confirm it.

Signals: HUP, INT, QUIT, TERM, USR1, USR2, TSTP and CONT are passed on to the command's process group. While leasehold \
waits for the lock, the first six end the wait, and Ctrl-Z stops it. While the command is stopped by Ctrl-Z, nobody \
extends the lease: if it ends before `fg`, the command is killed, and the exit code is 123.

A process that the command leaves in the background is not ended, and runs without the lock.

If leasehold itself is killed by SIGKILL, a second process ends the command's process group: with servers by SIGTERM, and \
by SIGKILL after the grace; without servers by SIGKILL at once, since the lock is free at once. If leasehold is stopped by \
SIGSTOP, the second process kills the group before the lease ends. On Linux the command does not start before the second \
process runs; on other systems the second process starts 20 ms after the command. If the second process alone is killed, \
it is replaced. If both are killed at once, the command runs on without the lock. A process that leaves the process group \
(setsid, daemons) is not ended.

Exit codes:
  0-255  the command's own; 0 if --once-per says that it was done
  128+n  as shells show it: signal n ended the command, or the wait
  2      wrong arguments; other options, or another number of permits,
         than others use; or the command already holds this lock
  121    held elsewhere, with --no-wait (or as -E says)
  122    no quorum of nodes answers or votes (without --wait: for 3s)
  123    the lease was lost, or --max-hold was over
  124    held elsewhere for all of --wait (or as -E says)
  125    leasehold itself failed
  126    the command cannot be executed
  127    the command was not found";

#[cfg(test)]
mod tests {
    use crate::args::{Arguments, Command};
    use clap::Parser;

    #[test]
    fn everything_after_the_dashes_is_the_command() {
        let words = [
            "leasehold",
            "run",
            "--no-wait",
            "demo",
            "--",
            "grep",
            "--ttl",
            "x",
        ];
        let Command::Run(run) = Arguments::try_parse_from(words)
            .expect("it is right")
            .command
        else {
            panic!("it says run");
        };
        assert!(run.wait.no_wait);
        assert_eq!(run.command, ["grep", "--ttl", "x"]);
    }
}
