//! What all who lock on the same servers must agree on, as the command line has it.

use crate::{duration, node_list::NodeList};
use clap::{Args, ValueEnum};
use leasehold::{KeyFormat, LockManager, LockOptions, ManagerBuilder, RestartGuard};
use std::time::Duration;

/// Options that all who lock on the same servers must spell alike.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What all who use the servers must agree on")]
pub(crate) struct Agreement {
    /// How long any --ttl may be at most; a server that may have forgotten locks does not vote for so long
    #[arg(
        long,
        value_name = "DURATION",
        env = "LEASEHOLD_MAX_TTL",
        default_value = "30s",
        value_parser = duration::parse,
    )]
    pub(crate) max_ttl: Duration,

    /// What happens when a server may have forgotten locks
    #[arg(
        long,
        value_name = "GUARD",
        env = "LEASEHOLD_RESTART_GUARD",
        default_value = "quarantine"
    )]
    pub(crate) restart_guard: Guard,

    /// The name under which servers keep what they know of themselves [default: leasehold]
    #[arg(long, value_name = "NAME", env = "LEASEHOLD_NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// What the servers together are called, where not everybody reaches them under the same addresses
    #[arg(long, value_name = "NAME", env = "LEASEHOLD_CLUSTER")]
    pub(crate) cluster: Option<String>,

    /// Under which keys servers keep locks: {} is the resource's name [default: {}]
    ///
    /// For sharing locks with another library: redlock:{} as pottery and RedLock.net, lock_{} and
    /// php-malkusch-lock:{} as malkusch/lock 2 and 3 for PHP, lock:{} as python-redis-lock. A file on this machine has
    /// no keys.
    #[arg(long, value_name = "PATTERN", env = "LEASEHOLD_KEY_FORMAT")]
    pub(crate) key_format: Option<KeyFormat>,

    /// So many servers may forget, or have their clocks set, at the wrong moment: more must agree
    #[arg(
        long,
        value_name = "SERVERS",
        env = "LEASEHOLD_TOLERATE_FORGETFUL",
        default_value_t = 0
    )]
    pub(crate) tolerate_forgetful: u8,

    /// By how much the clocks of clients and servers may differ
    #[arg(
        long,
        value_name = "DURATION",
        env = "LEASEHOLD_CLOCK_SKEW",
        default_value = "2s",
        value_parser = duration::parse,
    )]
    pub(crate) clock_skew: Duration,
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
    /// A manager of these servers, that is not built yet.
    pub(crate) fn builder(&self, NodeList(urls): &NodeList) -> ManagerBuilder {
        let guard = match self.restart_guard {
            Guard::Quarantine => RestartGuard::Quarantine,
            Guard::TrustAof => RestartGuard::TrustAof,
            Guard::Off => RestartGuard::Off,
        };
        let mut builder = LockManager::builder()
            .nodes(urls)
            .max_ttl(self.max_ttl)
            .restart_guard(guard)
            .tolerate_forgetful(self.tolerate_forgetful.into())
            .clock_skew(self.clock_skew)
            // Each lock has a TTL of its own, and what nobody uses must not be above the maximum.
            .defaults(LockOptions::new().ttl(self.max_ttl.min(USUAL_TTL)));
        if let Some(namespace) = &self.namespace {
            builder = builder.namespace(namespace);
        }
        if let Some(cluster) = &self.cluster {
            builder = builder.cluster(cluster);
        }
        if let Some(format) = &self.key_format {
            builder = builder.key_format(format.clone());
        }
        builder
    }

    /// Whether servers vote at once that may have forgotten something.
    pub(crate) fn is_unguarded(&self) -> bool {
        self.restart_guard == Guard::Off
    }

    /// The longest TTL, where there is one.
    pub(crate) fn longest_ttl(&self) -> Option<Duration> {
        (self.restart_guard != Guard::Off).then_some(self.max_ttl)
    }
}

const USUAL_TTL: Duration = Duration::from_secs(10);
