//! Why a node does not vote, in words as well.

use core::{fmt, time::Duration};

/// Why a node does not vote for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AbstentionCause {
    /// It has no marker: it is new, was flushed, or has restarted without its data.
    Empty,
    /// Its marker is another process's: it has restarted, or was a replica.
    Changed,
    /// It has evicted keys, or could have done so a moment ago.
    Evicted,
    /// Those who use it agree on something else from then on.
    Reconfigured,
    /// It may evict keys: it has a memory limit, and a policy that evicts.
    MayEvict,
    /// It is a replica now.
    Replica,
    /// Clients trust its disk, and it does not write every change there before it answers, or has no whole log yet.
    NotDurable,
    /// Clients trust its disk, and it has replicas, one of which may take its place.
    HasReplicas,
}

impl AbstentionCause {
    /// Whether it is over when enough time has passed. Otherwise it lasts until somebody changes the node's settings.
    #[must_use]
    pub const fn ends_by_itself(self) -> bool {
        match self {
            Self::Empty | Self::Changed | Self::Evicted | Self::Reconfigured => true,
            Self::MayEvict | Self::Replica | Self::NotDurable | Self::HasReplicas => false,
        }
    }
}

/// A node that does not vote, because it may have forgotten votes, or may forget the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "links make it, field by field")]
pub struct Abstention {
    /// Why.
    pub cause: AbstentionCause,
    /// For how long still; if the cause does not [end by itself](AbstentionCause::ends_by_itself), for how long at most
    /// once it has ended.
    pub left: Duration,
}

impl fmt::Display for Abstention {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.left.as_millis().div_ceil(100);
        let (seconds, tenth) = (tenths / 10, tenths % 10);
        let why = match self.cause {
            AbstentionCause::Empty => {
                "it is new to these locks, was flushed, or has restarted without its data, and may have forgotten who \
                 holds what"
            }
            AbstentionCause::Changed => {
                "it has restarted, or was a replica, and may have forgotten who holds what"
            }
            AbstentionCause::Evicted => {
                "it has evicted keys, or could have (maxmemory-policy), and may have forgotten who holds what"
            }
            AbstentionCause::Reconfigured => {
                "it was reconfigured, and locks of before may still be held"
            }
            AbstentionCause::MayEvict => {
                return write!(
                    out,
                    "does not vote, since it may evict locks: it has a maxmemory, and a maxmemory-policy that evicts; \
                     CONFIG SET maxmemory-policy noeviction, and it votes {seconds}.{tenth} s after that"
                );
            }
            AbstentionCause::Replica => {
                return out.write_str(
                    "does not vote, since it is a replica now, and locks need a master",
                );
            }
            AbstentionCause::NotDurable => {
                return out.write_str(
                    "does not vote, since it does not have every vote on its disk before it answers, as restart guard \
                     trust-aof needs; CONFIG SET appendonly yes, appendfsync always and no-appendfsync-on-rewrite no; \
                     it votes when its log has been written",
                );
            }
            AbstentionCause::HasReplicas => {
                return out.write_str(
                    "does not vote, since it has replicas now, and restart guard trust-aof is not for nodes whose \
                     place another may take",
                );
            }
        };
        write!(out, "does not vote for {seconds}.{tenth} s more: {why}")
    }
}
