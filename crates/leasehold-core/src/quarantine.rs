//! The restart guard as a rule: who does not vote, and until when.
//!
//! A node that restarted without its data, was flushed, or was a replica until just now may have forgotten who
//! holds what. It must not vote until every lease that it may have forgotten has ended. Nobody outside can tell: a
//! proxy hides restarts, a promoted replica has been up for long, and a flush leaves no trace. But the data can: a
//! marker among them names the process that last vouched for them, and is lost or goes back in time together with
//! the keys.

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
    /// The millisecond of the node's clock in which the identity was last looked at. Not for replicas.
    pub seen_ms: Option<u64>,
}

/// Why a node does not vote for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AbstentionCause {
    /// It has no marker: it is new, was flushed, or has restarted without its data.
    Empty,
    /// Its marker is another process's: it has restarted, or was a replica.
    Changed,
    /// Those who use it agree on something else from then on.
    Reconfigured,
}

/// A node that does not vote, because it may have forgotten votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "links make it, field by field")]
pub struct Abstention {
    /// Why.
    pub cause: AbstentionCause,
    /// For how long still.
    pub left: Duration,
}

impl fmt::Display for Abstention {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.cause {
            AbstentionCause::Empty => {
                "it is new to these locks, was flushed, or has restarted without its data, and may have forgotten who \
                 holds what"
            }
            AbstentionCause::Changed => {
                "it has restarted, or was a replica, and may have forgotten who holds what"
            }
            AbstentionCause::Reconfigured => {
                "it was reconfigured, and locks of before may still be held"
            }
        };
        let tenths = self.left.as_millis().div_ceil(100);
        let (seconds, tenth) = (tenths / 10, tenths % 10);
        write!(out, "does not vote for {seconds}.{tenth} s more: {why}")
    }
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
    /// Whether a restart alone forgets nothing, because every vote was on the disk before it was told.
    pub trusts_disk: bool,
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
        let now_ms = u64::try_from(now.since_origin().as_millis()).unwrap_or(u64::MAX);
        // Argument S9: no process dies, starts again, loads and serves within the millisecond in which it was
        // looked at; and one that a client meets under another identity is looked at in any case.
        let is_known = marker
            .as_ref()
            .is_some_and(|marker| marker.seen_ms == Some(now_ms) && met == Some(&marker.id));
        if !is_known {
            self.look(marker, now, now_ms, &process());
        }
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

    /// How long a node can have to wait that has this marker, whenever that was written.
    fn longest_wait(&self, marker: &Marker) -> Duration {
        match marker.cause {
            // The configuration before may have had a longer quarantine than ours. One that was not noted is not cut.
            AbstentionCause::Reconfigured => marker.wait.unwrap_or(Duration::MAX).max(self.span),
            _ => self.span,
        }
    }

    fn look(&self, marker: &mut Option<Marker>, now: Instant, now_ms: u64, process: &Process) {
        let (until, cause) = match marker {
            Some(marker) if marker.id == process.id => (marker.until, marker.cause),
            // What the disk kept is all there was, unless the disk was another's.
            Some(marker) if self.trusts_disk && !process.was_replica => {
                (marker.until, marker.cause)
            }
            // What has to be waited for after a reconfiguration is not shortened by a restart.
            Some(marker)
                if marker.cause == AbstentionCause::Reconfigured
                    && marker.until > now.saturating_add(self.span) =>
            {
                (marker.until, marker.cause)
            }
            Some(_) => (now.saturating_add(self.span), AbstentionCause::Changed),
            None => (now.saturating_add(self.span), AbstentionCause::Empty),
        };
        *marker = Some(Marker {
            id: process.id.clone(),
            until,
            cause,
            wait: marker.as_ref().and_then(|marker| marker.wait),
            seen_ms: Some(now_ms),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn process(id: &str) -> Process {
        Process {
            id: Identity::new(id),
            was_replica: false,
        }
    }

    const GUARD: Quarantine = Quarantine {
        span: Duration::from_secs(1),
        trusts_disk: false,
    };

    fn left(cause: AbstentionCause, millis: u64) -> Result<(), Abstention> {
        let left = Duration::from_millis(millis);
        Err(Abstention { cause, left })
    }

    // Argument S9, row by row.

    #[test]
    fn a_node_without_a_marker_votes_when_the_quarantine_is_over() {
        let mut marker = None;
        let mut admit = |millis| GUARD.admit(&mut marker, at(millis), None, || process("a"));
        assert_eq!(admit(50), left(AbstentionCause::Empty, 1_000));
        assert_eq!(admit(1_049), left(AbstentionCause::Empty, 1));
        assert_eq!(admit(1_050), Ok(()));
        assert_eq!(admit(9_000), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_lengthens_the_quarantine_by_once_its_span_at_most() {
        let mut marker = None;
        let mut admit = |millis| GUARD.admit(&mut marker, at(millis), None, || process("a"));
        assert_eq!(admit(90_000), left(AbstentionCause::Empty, 1_000));
        assert_eq!(admit(500), left(AbstentionCause::Empty, 1_000));
        assert_eq!(admit(1_500), Ok(()));
    }

    #[test]
    fn another_process_begins_the_quarantine_anew() {
        let mut marker = None;
        let mut admit = |millis, id| {
            GUARD
                .admit(&mut marker, at(millis), None, || process(id))
                .is_ok()
        };
        assert!(!admit(0, "a"));
        assert!(admit(2_000, "a"));
        assert!(!admit(2_500, "b"));
        assert!(!admit(3_499, "b"));
        assert!(admit(3_500, "b"));
        // Back to the first: it is a replica that was promoted once more.
        assert!(!admit(3_501, "a"));
    }

    #[test]
    fn the_process_is_looked_at_once_in_a_millisecond_unless_the_client_met_another() {
        let mut marker = None;
        let met = Identity::new("a");
        let mut looks = 0;
        let mut admit = |micros, met: Option<&Identity>| {
            let now = Instant::from_origin(Duration::from_micros(micros));
            let _ = GUARD.admit(&mut marker, now, met, || {
                looks += 1;
                process("a")
            });
        };
        admit(1_000, Some(&met));
        admit(1_001, Some(&met));
        admit(1_999, Some(&met));
        admit(2_000, Some(&met));
        admit(2_001, None);
        admit(2_002, Some(&Identity::new("b")));
        // The clock was set back.
        admit(1_500, Some(&met));
        assert_eq!(looks, 5);
    }

    #[test]
    fn a_disk_that_kept_everything_is_trusted_with_its_own_data_only() {
        let trusting = Quarantine {
            trusts_disk: true,
            ..GUARD
        };
        let mut marker = None;
        let mut admit = |millis, id, was_replica| {
            let id = Identity::new(id);
            trusting
                .admit(&mut marker, at(millis), None, || Process {
                    id,
                    was_replica,
                })
                .is_ok()
        };
        assert!(!admit(0, "a", false), "without a marker nothing was kept");
        assert!(
            !admit(500, "b", false),
            "a restart does not end a quarantine"
        );
        assert!(admit(1_000, "b", false));
        assert!(admit(1_001, "c", false));
        assert!(!admit(1_002, "d", true));
    }

    #[test]
    fn a_restart_does_not_shorten_what_a_reconfiguration_has_to_wait_for() {
        let mut marker = Some(Marker {
            id: Identity::new("a"),
            until: at(60_000),
            cause: AbstentionCause::Reconfigured,
            wait: Some(Duration::from_mins(1)),
            seen_ms: None,
        });
        let mut admit = |millis| GUARD.admit(&mut marker, at(millis), None, || process("b"));
        assert_eq!(admit(0), left(AbstentionCause::Reconfigured, 60_000));
        assert_eq!(admit(59_000), left(AbstentionCause::Reconfigured, 1_000));
        assert_eq!(admit(60_000), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_lengthens_a_reconfiguration_by_once_what_was_written_at_most() {
        const DAYS: u64 = 3 * 24 * 3_600_000;
        let marker = |wait: Option<u64>| {
            Some(Marker {
                id: Identity::new("a"),
                until: at(DAYS),
                cause: AbstentionCause::Reconfigured,
                wait: wait.map(Duration::from_millis),
                seen_ms: None,
            })
        };
        // A restart changes nothing of it; a wait that is shorter than the quarantine does not shorten that; and what
        // nobody noted stands.
        for (process_id, wait, expected) in [
            ("a", Some(60_000), 60_000),
            ("b", Some(60_000), 60_000),
            ("a", Some(400), 1_000),
            ("a", None, DAYS),
        ] {
            let mut marker = marker(wait);
            let mut admit =
                |millis| GUARD.admit(&mut marker, at(millis), None, || process(process_id));
            assert_eq!(admit(0), left(AbstentionCause::Reconfigured, expected));
            assert_eq!(
                admit(100),
                left(AbstentionCause::Reconfigured, expected - 100)
            );
            assert_eq!(admit(expected), Ok(()));
        }
    }

    #[test]
    fn an_abstention_says_why_and_for_how_long() {
        use alloc::string::ToString;
        let abstention = Abstention {
            cause: AbstentionCause::Empty,
            left: Duration::from_millis(12_301),
        };
        assert_eq!(
            abstention.to_string(),
            "does not vote for 12.4 s more: it is new to these locks, was flushed, or has restarted without \
             its data, and may have forgotten who holds what"
        );
    }
}
