//! What every verb asks for that acquires a lock.

use super::{place::Place, terms};
use clap::Args;
use std::time::Duration;

/// Which lock, where, and for how long at a time.
#[derive(Debug, Args)]
pub(crate) struct LockArguments {
    #[command(flatten)]
    pub(crate) place: Place,

    /// How long the lock on servers outlives this machine, should it die; 200ms at least
    ///
    /// As long as somebody holds the lock, the lease is extended every third of this time. If that fails,
    /// whatever runs under the lock is ended within this time. A file on this machine is freed at once when
    /// its holder dies.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = terms::ttl)]
    pub(crate) ttl: Duration,

    /// What others are told of the holder, beside machine and process: up to 64 letters, digits, spaces, ._-:/@+
    #[arg(long, value_name = "TEXT", value_parser = terms::label)]
    pub(crate) label: Option<String>,

    /// Wait in line: all who say it have the lock in the order of their coming. Costs requests, and up to 3s
    /// where a waiter is killed
    ///
    /// Across machines, as well as most of the servers agree on who came when. Whoever does not say it takes what is
    /// free, so all who share the lock should. A waiter that is killed or cut off as the next keeps the others waiting
    /// for three seconds; one that gives up, does not. With --no-wait it is refused what others wait for.
    #[arg(long)]
    pub(crate) fair: bool,

    /// Tell every wait, win, extension and release on standard error
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print nothing but errors on standard error; with -E 0, nothing if the lock is held elsewhere
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// What to lock: any name that all who share it spell alike
    #[arg(value_parser = terms::resource)]
    pub(crate) resource: String,
}

/// How long to wait for it.
#[derive(Debug, Args)]
pub(crate) struct WaitArguments {
    /// Wait so long for the lock at most, then exit with 124; without it, wait for ever
    #[arg(
        short,
        long,
        value_name = "DURATION",
        conflicts_with = "no_wait",
        value_parser = terms::wait,
    )]
    pub(crate) wait: Option<Duration>,

    /// Try once; if the lock is held elsewhere, exit with 121
    #[arg(short, long)]
    pub(crate) no_wait: bool,

    /// Exit with this code, instead of 121 or 124, if the lock is held elsewhere
    #[arg(short = 'E', long, value_name = "CODE")]
    pub(crate) conflict_exit_code: Option<u8>,
}

/// For how long to hold it.
#[derive(Debug, Args)]
pub(crate) struct SpanArguments {
    /// Hold the lock for at most this long, and lose it then: exit code 123
    ///
    /// A command is asked to end before that, by the grace and the time that is kept for SIGKILL, so that it is gone
    /// when the time is over. With 12s and the default --ttl it runs for 9.5s.
    #[arg(long, value_name = "DURATION", value_parser = terms::max_hold)]
    pub(crate) max_hold: Option<Duration>,

    /// Keep the lock from others for so long at least, however soon it is released: a short job does not
    /// run twice because clocks differ
    ///
    /// Servers do it by themselves. In a file on this machine a lock ends with its process, so there leasehold stays
    /// until the time is over; a signal ends that.
    #[arg(long, value_name = "DURATION", value_parser = terms::min_hold)]
    pub(crate) min_hold: Option<Duration>,
}
