//! What all who lock on the same servers must agree on, as the command line has it.

use crate::{duration, node_list::NodeList};
use clap::{Args, ValueEnum};
use leasehold::{
    Disks, KeyFormat, ManagerBuilder, RestartGuard,
    config::{self, Waited},
};
use std::time::Duration;

/// Options that all who lock on the same servers must spell alike. None is what nobody said, which is the default of
/// the library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct Agreement {
    /// How long any --ttl may be at most; a server that may have forgotten locks does not vote for so long
    /// [default: 30s]
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "DURATION",
        env = "LEASEHOLD_MAX_TTL",
        value_parser = duration::parse,
    )]
    pub(crate) max_ttl: Option<Duration>,

    /// What happens when a server may have forgotten locks [default: quarantine]
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "GUARD",
        env = "LEASEHOLD_RESTART_GUARD",
    )]
    pub(crate) restart_guard: Option<Guard>,

    /// The name under which servers keep what they know of themselves [default: leasehold]
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "NAME",
        env = "LEASEHOLD_NAMESPACE",
    )]
    pub(crate) namespace: Option<String>,

    /// What the servers together are called, where not everybody reaches them under the same addresses
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "NAME",
        env = "LEASEHOLD_CLUSTER",
    )]
    pub(crate) cluster: Option<String>,

    /// Under which keys servers keep locks: {} is the resource's name [default: {}]
    ///
    /// For sharing locks with another library: redlock:{} as pottery and RedLock.net, lock_{} and
    /// php-malkusch-lock:{} as malkusch/lock 2 and 3 for PHP, lock:{} as python-redis-lock. A file on this machine has
    /// no keys.
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "PATTERN",
        env = "LEASEHOLD_KEY_FORMAT",
    )]
    pub(crate) key_format: Option<KeyFormat>,

    /// How many servers may forget, or have their clocks set, at the wrong moment: more must agree [default: 0]
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "SERVERS",
        env = "LEASEHOLD_TOLERATE_FORGETFUL",
    )]
    pub(crate) tolerate_forgetful: Option<u8>,

    /// By how much the clocks of clients and servers may differ [default: 2s]
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "DURATION",
        env = "LEASEHOLD_CLOCK_SKEW",
        value_parser = duration::parse,
    )]
    pub(crate) clock_skew: Option<Duration>,

    /// Count a vote of a server only when so many of its replicas have heard of it, within this time [default: 100ms]
    ///
    /// It makes a lock that a failover loses rarer, and does not exclude it.
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "REPLICAS[,DURATION]",
        env = "LEASEHOLD_REPLICATED",
    )]
    pub(crate) replicated: Option<Waited<u32>>,

    /// Count a vote of a server only when it is on disk: server, a number of replicas, or both as in server+1, within this
    /// time [default: 100ms]
    ///
    /// It needs Redis 7.2 or Valkey 7.2. A server that writes to its disk once a second keeps a vote waiting for that long.
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "DISKS[,DURATION]",
        env = "LEASEHOLD_ON_DISK",
    )]
    pub(crate) on_disk: Option<Waited<Disks>>,

    /// Which configuration file said what the command line did not, for people.
    #[arg(skip)]
    pub(crate) origin: Option<String>,
}

/// The restart guard, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Guard {
    /// It does not vote until every lock that it may have forgotten has ended
    Quarantine,
    /// The same, but one that writes everything to its disk before it answers is believed
    TrustAof,
    /// It votes at once: two may hold a lock if it has forgotten one
    Off,
}

impl Agreement {
    /// What was said here, and where nothing was, what the configuration file says.
    pub(crate) fn or(self, file: config::Agreement) -> Self {
        Self {
            max_ttl: self.max_ttl.or(file.max_ttl),
            restart_guard: self.restart_guard.or(file.restart_guard.map(Guard::of)),
            namespace: self.namespace.or(file.namespace),
            cluster: self.cluster.or(file.cluster),
            key_format: self.key_format.or(file.key_format),
            tolerate_forgetful: self.tolerate_forgetful.or(file.tolerate_forgetful),
            clock_skew: self.clock_skew.or(file.clock_skew),
            replicated: self.replicated.or(file.replicated),
            on_disk: self.on_disk.or(file.on_disk),
            origin: self.origin.or(file.origin),
        }
    }

    /// A manager of these servers, that is not built yet.
    pub(crate) fn builder(&self, nodes: &NodeList) -> ManagerBuilder {
        let agreement = config::Agreement {
            max_ttl: Some(self.max_ttl.unwrap_or(USUAL_MAX_TTL)),
            restart_guard: self.restart_guard.map(Guard::into),
            namespace: self.namespace.clone(),
            cluster: self.cluster.clone(),
            key_format: self.key_format.clone(),
            tolerate_forgetful: self.tolerate_forgetful,
            clock_skew: self.clock_skew,
            replicated: self.replicated,
            on_disk: self.on_disk,
            origin: self.origin.clone(),
        };
        agreement.builder(nodes)
    }

    /// The TTL of locks that are made without one of their own.
    pub(crate) fn usual_ttl(&self) -> Duration {
        self.max_ttl.unwrap_or(USUAL_MAX_TTL).min(USUAL_TTL)
    }

    /// Whether servers vote at once that may have forgotten something.
    pub(crate) fn is_unguarded(&self) -> bool {
        self.restart_guard == Some(Guard::Off)
    }

    /// The longest TTL, where there is one.
    pub(crate) fn longest_ttl(&self) -> Option<Duration> {
        (!self.is_unguarded()).then(|| self.max_ttl.unwrap_or(USUAL_MAX_TTL))
    }
}

impl Guard {
    /// That of a file.
    const fn of(guard: RestartGuard) -> Self {
        match guard {
            RestartGuard::TrustAof => Self::TrustAof,
            RestartGuard::Off => Self::Off,
            _ => Self::Quarantine,
        }
    }
}

impl From<Guard> for RestartGuard {
    fn from(guard: Guard) -> Self {
        match guard {
            Guard::Quarantine => Self::Quarantine,
            Guard::TrustAof => Self::TrustAof,
            Guard::Off => Self::Off,
        }
    }
}

/// On each option, and not once above them all: it would stand above whatever comes behind them as well.
const HEADING: &str = "Options that all clients must share";

/// As in the library, which does not tell.
const USUAL_MAX_TTL: Duration = Duration::from_secs(30);
const USUAL_TTL: Duration = Duration::from_secs(10);
