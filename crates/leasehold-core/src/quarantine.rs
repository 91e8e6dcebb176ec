//! The restart guard as a rule: who does not vote, and until when.
//!
//! A node that restarted without its data, was flushed, or was a replica until just now may have forgotten who
//! holds what. It must not vote until every lease that it may have forgotten has ended. Nobody outside can tell: a
//! proxy hides restarts, a promoted replica has been up for long, and a flush leaves no trace. But the data can: a
//! marker among them names the process that last vouched for them, and is lost or goes back in time together with
//! the keys.
//!
//! And a node that may lose the next vote must not give it: one that may evict keys, is a replica, or does not keep on
//! its disk what clients trust it to keep. All of that can be set while connections last (`CONFIG SET`, `REPLICAOF`), so
//! it is part of the same look at the process.

mod abstention;

pub use abstention::{Abstention, AbstentionCause};

use crate::time::Instant;
use alloc::sync::Arc;
use core::{fmt, time::Duration};

/// A process that serves a node, and the history of its data: another one after each restart, and after each change
/// between replica and master.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(Arc<str>);

impl Identity {
    /// The identity that is written so.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Identity({})", self.0)
    }
}

/// What a node has among its data about its own past.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "stores write it down and read it back"
)]
pub struct Marker {
    /// The process that last vouched for the data.
    pub id: Identity,
    /// Until when it does not vote, by the node's clock.
    pub until: Instant,
    /// Why it does not vote until then.
    pub cause: AbstentionCause,
    /// How long a reconfiguration made it wait, counted from the moment in which it wrote `until`. None if that was
    /// not noted, as by versions before.
    pub wait: Option<Duration>,
    /// The millisecond of the node's clock in which the process was last looked at, and was fit to vote. Not for
    /// replicas.
    pub seen_ms: Option<u64>,
    /// What the last look found about evictions; none if none has found out.
    pub evictions: Option<Evictions>,
    /// Whether the disk can be trusted with what was kept.
    pub durability: Durability,
    /// The number of the failover by which this is the master, as the last client was told that sentinels have sent here;
    /// none if there was no such client.
    pub failover: Option<u64>,
}

/// What a node has evicted, as far as it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "stores write it down")]
pub enum Evictions {
    /// So many keys in the life of its process, or since its statistics were reset.
    Counted(u64),
    /// It could evict any at any time.
    Possible,
}

/// Whether every vote of a node is known to be on its disk, if clients rely on that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "stores write it down")]
pub enum Durability {
    /// Nobody relies on it.
    #[default]
    Ignored,
    /// It is.
    Kept,
    /// It is not. A disk that says that it is may be an old one, so the node does not vote until it is.
    Lost,
}

/// What clients rely on the disk of a node for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "links and simulators choose")]
pub enum Disk {
    /// Nothing: whatever a restart leaves, the node waits.
    Ignored,
    /// A restart alone forgets nothing, because every vote was on the disk before it was told; so its settings say.
    Trusted,
    /// That it be as above, and its settings say that it is not.
    Distrusted,
    /// That it be as above, and nobody has asked for its settings yet.
    Unasked,
}

/// How a node is kept from voting when it may have forgotten votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_structs,
    reason = "links and simulators make it, field by field"
)]
pub struct Quarantine {
    /// For how long: at least as long as any lease may live that was forgotten.
    pub span: Duration,
    /// Whether a restart alone forgets something.
    pub disk: Disk,
}

/// The process that serves a node, as the node tells.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "links and simulators make it, field by field"
)]
pub struct Process {
    /// Its identity.
    pub id: Identity,
    /// Whether it has ever been a replica.
    pub was_replica: bool,
    /// Whether it is one now.
    pub is_replica: bool,
    /// Whether it has replicas.
    pub has_replicas: bool,
    /// Whether it may evict keys: it has a memory limit, and a policy that evicts.
    pub may_evict: bool,
    /// How many keys it has evicted.
    pub evicted: u64,
    /// Whether it writes its changes down.
    pub log: Log,
    /// Whether it has begun to write its log anew since it started, as it does when a log is turned on.
    pub has_rewritten: bool,
}

/// Whether a process writes every change to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "links and simulators tell")]
pub enum Log {
    /// It does not.
    Off,
    /// It does, and writes the file anew meanwhile: the only one that a restart would find may be older than the log.
    Rewriting,
    /// It does.
    On,
}

impl Process {
    /// One of this identity that was never anything but a master without limits, logs and replicas.
    #[must_use]
    pub const fn new(id: Identity) -> Self {
        Self {
            id,
            was_replica: false,
            is_replica: false,
            has_replicas: false,
            may_evict: false,
            evicted: 0,
            log: Log::Off,
            has_rewritten: false,
        }
    }
}

impl Quarantine {
    /// Whether the node may vote at `now`. Looks at `process` only if it must, and writes the marker that the node
    /// is to keep.
    ///
    /// `met` is the process that the client met when it opened its connection.
    ///
    /// # Errors
    /// The [`Abstention`], if the node may not vote yet.
    pub fn admit(
        &self,
        marker: &mut Option<Marker>,
        now: Instant,
        met: Option<&Identity>,
        process: impl FnOnce() -> Process,
    ) -> Result<(), Abstention> {
        self.attest(marker, now, met, process)?;
        let Some(marker) = marker else {
            return Ok(());
        };
        // A clock that was set back would make it wait for as long.
        marker.until = marker
            .until
            .min(now.saturating_add(self.longest_wait(marker)));
        let (left, cause) = (marker.until.saturating_since(now), marker.cause);
        // Argument S9: a node that may have forgotten a vote does not vote.
        if left.is_zero() {
            Ok(())
        } else {
            Err(Abstention { cause, left })
        }
    }

    /// Whether the node is still what it was admitted as, whatever it may have forgotten: asked for each vote and for
    /// each extension. As [`admit`](Self::admit) otherwise.
    ///
    /// # Errors
    /// The [`Abstention`], if a key on this node may vanish.
    pub fn attest(
        &self,
        marker: &mut Option<Marker>,
        now: Instant,
        met: Option<&Identity>,
        process: impl FnOnce() -> Process,
    ) -> Result<(), Abstention> {
        let now_ms = u64::try_from(now.since_origin().as_millis()).unwrap_or(u64::MAX);
        // Argument S9: no process dies, starts again, loads and serves within the millisecond in which it was
        // looked at; and one that a client meets under another identity is looked at in any case.
        let is_known = marker
            .as_ref()
            .is_some_and(|marker| marker.seen_ms == Some(now_ms) && met == Some(&marker.id));
        // A vote that has to be on the disk must not be given a moment after the log was turned off.
        if is_known && self.disk == Disk::Ignored {
            return Ok(());
        }
        self.look(marker, now, now_ms, met, &process())
    }

    /// A client has come that a majority of the sentinels has told that this is the master, by the failover of this number.
    /// If nobody has said so before, the quarantine begins now, whatever looks there were. To be asked after
    /// [`admit`](Self::admit).
    pub fn follow(&self, marker: &mut Option<Marker>, now: Instant, failover: u64) {
        let Some(marker) = marker else {
            return;
        };
        // Argument S9: whoever looked before may have been told of an earlier failover, and the last lease of the master
        // that was replaced may have been granted since.
        if marker.failover.replace(failover) == Some(failover) {
            return;
        }
        let anew = now.saturating_add(self.span);
        if marker.until < anew {
            (marker.until, marker.cause) = (anew, AbstentionCause::Changed);
        }
    }

    fn look(
        &self,
        marker: &mut Option<Marker>,
        now: Instant,
        now_ms: u64,
        met: Option<&Identity>,
        process: &Process,
    ) -> Result<(), Abstention> {
        let (until, cause) = self.wait(marker.as_ref(), now, met, process);
        let durability = self.durability(marker.as_ref(), process);
        let unfit = unfit(process, durability);
        *marker = Some(Marker {
            id: process.id.clone(),
            until,
            cause,
            wait: marker.as_ref().and_then(|marker| marker.wait),
            // The next caller has to look for itself.
            seen_ms: unfit.is_none().then_some(now_ms),
            evictions: Some(match process.may_evict {
                true => Evictions::Possible,
                false => Evictions::Counted(process.evicted),
            }),
            durability,
            failover: marker.as_ref().and_then(|marker| marker.failover),
        });
        // Argument S9: a node that may forget the next vote does not give it.
        match unfit {
            None => Ok(()),
            Some(cause) => Err(Abstention {
                cause,
                left: self.span,
            }),
        }
    }

    /// Until when the node has to wait by what it may have forgotten, and why.
    fn wait(
        &self,
        marker: Option<&Marker>,
        now: Instant,
        met: Option<&Identity>,
        process: &Process,
    ) -> (Instant, AbstentionCause) {
        let anew = now.saturating_add(self.span);
        let Some(marker) = marker else {
            return (anew, AbstentionCause::Empty);
        };
        // Argument S9: a process without a log has read something else, an old snapshot for instance. If its log was turned on
        // since, it has begun to write it anew.
        let has_read_log = process.log == Log::On && !process.has_rewritten;
        // What the disk kept is all there was, unless the disk was another's, or another process is met than asked.
        let kept_all = self.disk == Disk::Trusted
            && marker.durability == Durability::Kept
            && has_read_log
            && !process.was_replica
            && met == Some(&process.id);
        let forgot = if marker.id != process.id && !kept_all {
            Some(AbstentionCause::Changed)
        } else if has_evicted(marker, process) {
            Some(AbstentionCause::Evicted)
        } else {
            None
        };
        // What has to be waited for after a reconfiguration is not shortened by a restart.
        let waits_longer = marker.cause == AbstentionCause::Reconfigured && marker.until > anew;
        match forgot {
            Some(cause) if !waits_longer => (anew, cause),
            _ => (marker.until, marker.cause),
        }
    }

    /// Whether the disk can be trusted from now on.
    fn durability(&self, marker: Option<&Marker>, process: &Process) -> Durability {
        let was_kept = marker.is_some_and(|marker| marker.durability == Durability::Kept);
        match (self.disk, process.log) {
            (Disk::Ignored, _) => Durability::Ignored,
            // Argument S9: a replica copies what is written here, and may be a master of its own one day, with an old disk.
            _ if process.has_replicas => Durability::Lost,
            // A log that was turned on is whole when it has been rewritten.
            (Disk::Trusted, Log::On) => Durability::Kept,
            (Disk::Trusted | Disk::Unasked, Log::On | Log::Rewriting) if was_kept => {
                Durability::Kept
            }
            // Argument S9: whatever the marker says. A flush takes with it that the log was relied on, and leaves the old
            // log.
            _ => Durability::Lost,
        }
    }

    /// How long a node can have to wait that has this marker, whenever that was written.
    fn longest_wait(&self, marker: &Marker) -> Duration {
        match marker.cause {
            // The configuration before may have had a longer quarantine than ours. One that was not noted is not cut.
            AbstentionCause::Reconfigured => marker.wait.unwrap_or(Duration::MAX).max(self.span),
            _ => self.span,
        }
    }
}

/// Whether keys may have been evicted since the last look.
fn has_evicted(marker: &Marker, process: &Process) -> bool {
    match marker.evictions {
        None => false,
        Some(Evictions::Possible) => true,
        // A process begins to count at 0, and so do statistics that were reset.
        Some(Evictions::Counted(count)) => {
            let is_same = marker.id == process.id && count == process.evicted;
            process.evicted > 0 && !is_same
        }
    }
}

/// Why keys on the node may vanish from now on, if they may.
const fn unfit(process: &Process, durability: Durability) -> Option<AbstentionCause> {
    match durability {
        _ if process.is_replica => Some(AbstentionCause::Replica),
        _ if process.may_evict => Some(AbstentionCause::MayEvict),
        // A replica that takes over, and restarts before anybody votes on it, has another's disk.
        Durability::Lost if process.has_replicas => Some(AbstentionCause::HasReplicas),
        Durability::Lost => Some(AbstentionCause::NotDurable),
        Durability::Ignored | Durability::Kept => None,
    }
}

#[cfg(test)]
mod tests;
