//! Where else votes of servers must be before they count.

use super::ManagerBuilder;
#[cfg(doc)]
use crate::RestartGuard;
use crate::{disks::Disks, error::ConfigError};
use std::time::Duration;

/// Where else a vote must be before it counts, and for how long that is waited for.
#[derive(Clone, Copy, Default)]
pub(super) struct CopyOptions {
    /// In the memory of so many replicas.
    pub(super) replicas: Option<(u32, Duration)>,
    pub(super) disks: Option<(Disks, Duration)>,
}

impl CopyOptions {
    /// # Errors
    /// [`ConfigError`] if a vote would be late in any case, or nothing is asked for. A node is waited for up to `limit`.
    pub(super) fn check(self, limit: Duration) -> Result<(), ConfigError> {
        let least = Duration::from_millis(1);
        let of_disks = self.disks.map_or(Duration::ZERO, |(_, within)| within);
        if let Some((disks, within)) = self.disks
            && (!disks.are_some() || within < least || within > limit)
        {
            return Err(ConfigError::Disks {
                disks,
                within,
                limit,
            });
        }
        // One question follows the other.
        let limit = limit.saturating_sub(of_disks);
        match self.replicas {
            Some((replicas, within)) if replicas == 0 || within < least || within > limit => {
                Err(ConfigError::Replicas {
                    replicas,
                    within,
                    limit,
                })
            }
            _ => Ok(()),
        }
    }
}

impl ManagerBuilder {
    /// Votes of servers count only when so many replicas of the server have heard of them (`WAIT`), for which the
    /// server waits `within` this time; off by default. An acquisition costs a round trip more then.
    ///
    /// For servers that a replica may take the place of. It makes it less likely that a failover loses a lock, and
    /// does not exclude it: the replica that takes over need not be one that had heard. While a server waits, all other
    /// requests of this manager to it wait too, releases among them, so `within` may be no longer than the node limit of
    /// the default options; locks with a shorter one of their own give up sooner. Nodes in memory and in files
    /// have no replicas, and take no part.
    pub fn replicated(mut self, replicas: u32, within: Duration) -> Self {
        self.copies.replicas = Some((replicas, within));
        self
    }

    /// Votes of servers count only when they are on these disks (`WAITAOF`), for which the server waits `within` this time;
    /// off by default. An acquisition costs a round trip more then, and what the disks take. Beside
    /// [`replicated`](Self::replicated) a vote needs both, one question after the other.
    ///
    /// **What it promises**: a vote that counted is in the append-only file of each of these disks. A server that dies and
    /// starts again with its own disk has it; so has a replica that restarts before it takes over.
    ///
    /// **What it does not**: it is no guard. With the restart guard, a node that restarted abstains in any case, and nobody
    /// believes its disk for this option ([`TrustAof`](RestartGuard::TrustAof) does that, for servers without replicas); what
    /// is won is that counters of fencing tokens and leases outlive the restart. With [`RestartGuard::Off`] and plain locks
    /// it keeps restarts from losing leases, and makes it less likely that a failover does: the replica that takes over need
    /// not be one of those that have the vote. A disk that lies, or is lost, is not seen.
    ///
    /// It needs Redis 7.2 or Valkey 7.2, and `appendonly yes` for the server's own disk; before Redis 8.0, and with Valkey,
    /// also `appendfsync always` and `no-appendfsync-on-rewrite no`, since these servers (Valkey 8.1 and 9.1 were tried) call
    /// a vote written up to a second too early otherwise. The settings are asked for at connection and once a second; a node
    /// that does not meet them is not used, and the error says why. Those of replicas nobody can ask for: set `appendfsync
    /// always` there. A server that writes once a second (`everysec`) keeps a vote waiting for up to a second, which is
    /// longer than the usual node limit.
    ///
    /// While a server waits, all other requests of this manager to it wait too, releases among them, so `within`, together
    /// with that of `replicated`, may be no longer than the node limit of the default options. Nodes in memory and in files
    /// take no part.
    ///
    /// # Examples
    /// ```no_run
    /// use leasehold::{Disks, LockManager};
    /// use std::time::Duration;
    ///
    /// let nodes = ["redis://db1", "redis://db2", "redis://db3"];
    /// let builder = LockManager::builder().nodes(nodes);
    /// let manager = builder.on_disk(Disks::Server, Duration::from_millis(100)).build()?;
    /// # let _ = manager;
    /// # Ok::<(), leasehold::ConfigError>(())
    /// ```
    pub fn on_disk(mut self, disks: Disks, within: Duration) -> Self {
        self.copies.disks = Some((disks, within));
        self
    }
}
