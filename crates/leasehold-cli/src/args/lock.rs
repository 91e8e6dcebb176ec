//! What every verb asks for that acquires a lock.

use super::{names::Names, nodes::NodesArguments, values};
use crate::duration;
use clap::Args;
use leasehold::Resource;
use std::time::Duration;

/// Which lock, where, and for how long at a time.
#[derive(Debug, Args)]
pub(crate) struct LockArguments {
    #[command(flatten)]
    pub(crate) place: NodesArguments,

    /// How long the lock stays on servers if its holder dies; at least 200ms
    ///
    /// While the lock is held, the lease is extended every third of this time. If that fails, the command that runs
    /// under the lock is ended within this time. A lock in a file on this machine is free as soon as its holder dies.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::ttl)]
    pub(crate) ttl: Duration,

    /// Text that is shown beside the holder's machine and process: up to 64 letters, digits, spaces, ._-:/@+
    #[arg(long, value_name = "TEXT", value_parser = values::label)]
    pub(crate) label: Option<String>,

    /// Serve the processes that use --fair first come, first served. Costs requests, and up to 3s if a waiter
    /// is killed
    ///
    /// The order holds across machines, as well as most of the servers agree on who came first. A process without
    /// --fair takes a lock that is free, so all processes that share the lock should use it. If the next waiter is killed
    /// or cut off, the others wait for up to three seconds; a waiter that gives up does not delay them. With --no-wait, a
    /// lock that is free but kept for a waiter counts as held.
    #[arg(long)]
    pub(crate) fair: bool,

    /// Print each wait, acquisition, extension and release on standard error
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print nothing but errors on standard error; with -E 0, nothing if the lock is held elsewhere
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) names: Names,
}

impl LockArguments {
    /// What is to be locked.
    pub(crate) const fn resource(&self) -> &Resource {
        self.names.resource()
    }
}

/// Whether to have all of it, or a part.
#[derive(Debug, Args)]
pub(crate) struct PartFlags {
    /// Share the lock with others that say --shared too, and exclude all that do not: for reading, as with flock -s. Stands
    /// in line, as with --fair
    ///
    /// Those that change what is read take the lock without --shared, and with --fair: then readers that keep coming do not
    /// keep them out. A share has no fencing token. It takes one name.
    #[arg(short, long)]
    pub(crate) shared: bool,

    /// Have one of so many permits of the lock, 1 to 256, so that as many commands at most run at the same time
    ///
    /// Each has a number of its own from 0 as LEASEHOLD_SLOT, and a fencing token that is larger for every later holder of the same
    /// number. All say the same --permits; one that says another while anybody has a permit is refused with 2. It takes one name.
    #[arg(long, value_name = "COUNT", value_parser = values::permits, conflicts_with = "shared")]
    pub(crate) permits: Option<usize>,
}

/// What stands behind the lock.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ModeFlags {
    /// Take the lock as Redlock and other libraries do, without a fencing token: on Redis Clusters, which have no other
    /// locks, or for a user who may run no scripts
    ///
    /// It excludes, and is excluded by, everybody who takes the name, with --plain or without. But servers that have restarted vote
    /// at once, whatever they have forgotten, and so does a replica that takes its master's place. The options that all
    /// clients must share mean nothing here, but for --key-format, --replicated and --on-disk.
    #[arg(long, conflicts_with_all = ["fair", "shared", "permits", "local"])]
    pub(crate) plain: bool,
}

/// Whether to do the work once in each period.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OnceFlags {
    /// Run the command at most once in each period of this length, on whichever machine: 1h, 1d
    ///
    /// If the command exits with 0, the servers keep a mark until the period ends, and every run before that exits with 0
    /// without running it. If it fails, the lock is free, and the next run may try in the same period. Periods begin at
    /// midnight UTC: with 1h on every full hour, however late the command was started in the hour before.
    #[arg(long, value_name = "DURATION", value_parser = values::period, conflicts_with_all = ["plain", "shared", "permits", "min_hold"])]
    pub(crate) once_per: Option<Duration>,

    /// Let the periods of --once-per begin so much later: with 1d and 2h30m at 02:30 UTC
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, requires = "once_per")]
    pub(crate) period_offset: Option<Duration>,
}

/// How long to wait for it.
#[derive(Debug, Args)]
pub(crate) struct WaitFlags {
    /// Wait at most this long for the lock, or for one try if that takes longer, then exit with 124 [default: no limit]
    // The other names are those of flock(1).
    #[arg(
        short,
        long,
        alias = "timeout",
        value_name = "DURATION",
        conflicts_with = "no_wait",
        value_parser = values::wait,
    )]
    pub(crate) wait: Option<Duration>,

    /// Try once; if the lock is held elsewhere, exit with 121
    #[arg(short, long, aliases = ["nb", "nonblock"])]
    pub(crate) no_wait: bool,

    /// Exit with this code, instead of 121 or 124, if the lock is held elsewhere
    #[arg(short = 'E', long, value_name = "CODE", value_parser = values::exit_code)]
    pub(crate) conflict_exit_code: Option<u8>,
}

/// For how long to hold it.
#[derive(Debug, Args)]
pub(crate) struct SpanArguments {
    /// Hold the lock for at most this long; after that it is lost, and the exit code is 123
    ///
    /// The command is asked to end earlier, by the grace and the time that is kept for SIGKILL, so that it has ended
    /// when the time is over. With 12s and the default --ttl it runs for 9.5s.
    #[arg(long, value_name = "DURATION", value_parser = values::max_hold)]
    pub(crate) max_hold: Option<Duration>,

    /// Keep the lock for at least this long, even if it is released earlier, so that a short job does not run
    /// twice because clocks differ
    ///
    /// Servers do this by themselves. A lock in a file on this machine ends with its process, so leasehold stays until
    /// the time is over; a signal ends that.
    #[arg(long, value_name = "DURATION", value_parser = values::min_hold)]
    pub(crate) min_hold: Option<Duration>,
}
