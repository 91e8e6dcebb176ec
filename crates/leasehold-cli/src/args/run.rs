//! The arguments of `leasehold run`.

use super::{
    lock::{LockArguments, SpanArguments, WaitArguments},
    terms,
};
use clap::{Args, ValueEnum};
use std::{ffi::OsString, time::Duration};

/// Run a command while holding the lock on a resource.
///
/// Waits for the lock, runs the command, extends the lease as long as the command runs, and releases
/// the lock when the command has ended. If the lease cannot be extended, the command's process group
/// gets SIGTERM, and SIGKILL in time to be gone before anybody else can have the lock.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) lock: LockArguments,

    #[command(flatten)]
    pub(crate) wait: WaitArguments,

    #[command(flatten)]
    pub(crate) span: SpanArguments,

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

    /// The time between SIGTERM and SIGKILL, which ends before the lease does: 40% of --ttl at most
    /// [default: 15% of it, 4s at most]
    #[arg(long, value_name = "DURATION", value_parser = terms::grace)]
    pub(crate) grace: Option<Duration>,
}

/// What is done to the command when the lease is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLoss {
    /// SIGTERM to its process group, and SIGKILL before the lease ends
    Term,
    /// SIGKILL alone, as late as the lease allows
    Kill,
    /// Nothing: it runs on without the lock, and the code is 123 when it ends
    Warn,
}

const RUN_HELP: &str = "\
Examples:
  Run a job on one machine at a time, and skip it where another has it:
    leasehold run --no-wait --nodes redis://a,redis://b,redis://c backup -- /usr/local/bin/backup

  Wait half a minute for it at most, and tell the lock's trouble from the job's own:
    leasehold run -w 30s backup -- ./backup; case $? in 124) echo busy;; esac

  One after the other, in the order of their coming, whichever machine they are on:
    leasehold run --fair --nodes redis://a,redis://b,redis://c backup -- /usr/local/bin/backup

  As with flock(1), to a cron that reports every code but 0:
    leasehold run -n -E 0 backup -- ./backup

  Let a job end well: ten seconds from SIGTERM to SIGKILL, of a lease of 30 seconds:
    leasehold run --ttl 30s --grace 10s --label nightly backup -- ./backup

  Without servers, among the programs of this user on this machine:
    leasehold run deploy -- make deploy

  With five servers for a try:
    export LEASEHOLD_NODES=\"$(leasehold servers start -n 5)\"
    leasehold run demo -- echo hi
    leasehold servers stop

The command sees, beside its usual environment:
  LEASEHOLD_RESOURCE     what is locked
  LEASEHOLD_OWNER        the value that signs the lock on the servers
  LEASEHOLD_VALID_UNTIL  until when the lock was sure to be held as the command started, in Unix
                         seconds such as 1767225600.125; it is extended while the command runs
  LEASEHOLD_OWNERS       the digits of this owner, behind those of the locks around it, if this command
                         was itself started by such a command: who asks for one of these is told so
  LEASEHOLD_FENCING_TOKEN
                         a number that is larger for every later holder of this lock: a resource that
                         remembers the largest it has seen, and refuses smaller ones, is safe even from
                         a command that runs on without the lock

Servers that are new, were flushed or have restarted do not vote until every lock that they may have
forgotten has ended: for --max-ttl and a little. leasehold says so and waits. `leasehold admit` is your
word that they have forgotten nothing.

Signals: HUP, INT, QUIT, TERM, USR1, USR2, TSTP and CONT are passed on to the command's process group.
While leasehold waits for the lock, the first six end the wait, and Ctrl-Z stops it. While the command
is stopped by Ctrl-Z, nobody extends the lease: if it ends before `fg`, the command is killed, and the code is 123.

What the command leaves running in the background is left alone, and runs without the lock.

If leasehold itself is killed by SIGKILL, or stopped by SIGSTOP, a small process of its own that watches
over it ends the command's process group: with servers by SIGTERM, and SIGKILL after the grace; without,
where the lock is free at once, by SIGKILL at once; and if leasehold is only stopped, by SIGKILL before the
lease ends. The command does not begin before that process is there (elsewhere than on Linux, it comes 20 ms
later), and one that is killed alone is replaced. If both are killed at once, the command runs on without the
lock. What leaves the process group (setsid, daemons) is nobody's to end.

Exit codes:
  0-255  the command's own
  128+n  as shells show it: signal n ended the command, or the wait, and leasehold ends by the
         same signal
  2      the arguments cannot be understood, or others use these servers with different ones, or
         this very command is run under the lock that it asks for
  121    --no-wait, and the lock is held elsewhere (or as -E says)
  122    too few nodes can be reached; without --wait, for 3 seconds; or, with --wait or --no-wait,
         too few of them vote yet
  123    the lease was lost while the command ran, or --max-hold was over
  124    the lock stayed held elsewhere for all of --wait (or as -E says)
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
