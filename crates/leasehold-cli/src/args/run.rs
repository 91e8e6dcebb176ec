//! The arguments of `leasehold run`.

use super::terms;
use crate::{
    agreement::Agreement,
    node_list::{NodeList, NodeListParser},
};
use clap::Args;
use std::{ffi::OsString, time::Duration};

/// Run a command while holding the lock on a resource.
///
/// Waits for the lock, runs the command, extends the lease as long as the command runs, and releases
/// the lock when the command has ended. If the lease cannot be extended, the command's process group
/// gets SIGTERM, and SIGKILL in time to be gone before anybody else can have the lock.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_HELP)]
pub(crate) struct RunArguments {
    /// The servers, as URLs with commas between; without any, this user's file on this machine
    ///
    /// redis://[user:password@]host[:port][/db], rediss://... for TLS, unix:///path, or a master with
    /// replicas as one node: redis+sentinel://[user:password@]host[:port],host[:port]/mymaster[/db], with
    /// ?sentinel_password=... if the sentinels have one. A comma in a password is written %2C.
    #[arg(
        long,
        value_name = "URL,URL…",
        env = "LEASEHOLD_NODES",
        // They may contain passwords.
        hide_env_values = true,
        value_parser = NodeListParser,
    )]
    pub(crate) nodes: Option<NodeList>,

    /// How long the lock on servers outlives this machine, should it die; 200ms at least
    ///
    /// While the command runs, the lease is extended. If it cannot be, the command is ended within this
    /// time. Servers keep the lock so long too if leasehold alone is killed; a file on this machine does
    /// not: there the lock is free at once.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = terms::ttl)]
    pub(crate) ttl: Duration,

    /// Hold the lock so long at most: the command is ended before, with exit code 123
    #[arg(long, value_name = "DURATION", value_parser = terms::max_hold)]
    pub(crate) max_hold: Option<Duration>,

    /// Wait so long for the lock at most, then exit with 124; without it, wait for ever
    #[arg(
        long,
        value_name = "DURATION",
        conflicts_with = "no_wait",
        value_parser = terms::wait,
    )]
    pub(crate) wait: Option<Duration>,

    /// Try once; if the lock is held elsewhere, exit with 121
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// What to lock: any name that all who share it spell alike
    #[arg(value_parser = terms::resource)]
    pub(crate) resource: String,

    /// The command and its arguments, run as they are, without a shell
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,

    #[command(flatten)]
    pub(crate) agreement: Agreement,
}

const RUN_HELP: &str = "\
Examples:
  Run a job on one machine at a time, and skip it where another has it:
    leasehold run --no-wait --nodes redis://a,redis://b,redis://c backup -- /usr/local/bin/backup

  Wait half a minute for it at most, and tell the lock's trouble from the job's own:
    leasehold run --wait 30s backup -- ./backup; case $? in 121|124) echo busy;; esac

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
  LEASEHOLD_FENCING_TOKEN
                         a number that is larger for every later holder of this lock: a resource that
                         remembers the largest it has seen, and refuses smaller ones, is safe even from
                         a command that runs on without the lock

Servers that are new, were flushed or have restarted do not vote until every lock that they may have
forgotten has ended: for --max-ttl and a little. leasehold says so and waits. `leasehold admit` is your
word that they have forgotten nothing.

Signals: HUP, INT, QUIT, TERM, USR1, USR2, TSTP and CONT are passed on to the command's process group.
While the lock is still waited for, the first six end the wait. While the command is stopped by
Ctrl-Z, nobody extends the lease: if it has ended by `fg`, the command is killed, and the code is 123.

What the command leaves running in the background is left alone, and runs without the lock.

If leasehold itself is killed by SIGKILL, nobody ends the command: it runs on without the lock. With
servers, the lock ends with its TTL. Without, it is free at once, and the next run starts beside the
command. If leasehold is stopped by SIGSTOP, the lock ends with its TTL, and the command runs on
until leasehold is continued and kills it.

Exit codes:
  0-255  the command's own; 128+n if signal n ended it
  2      the arguments cannot be understood, or others use these servers with different ones
  121    --no-wait, and the lock is held elsewhere
  122    too few nodes can be reached; without --wait, for 3 seconds; or, with --wait or --no-wait,
         too few of them vote yet
  123    the lease was lost while the command ran, or --max-hold was over
  124    the lock stayed held elsewhere for all of --wait
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
        assert!(run.no_wait);
        assert_eq!(run.command, ["grep", "--ttl", "x"]);
    }
}
