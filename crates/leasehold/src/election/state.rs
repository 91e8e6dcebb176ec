//! What is known of who leads.

use crate::{holder::Holder, inspection::Inspection};
use leasehold_core::{FencingToken, Owner};
use std::{fmt, time::Duration};

/// Who leads, by the word of a quorum of nodes.
///
/// **It is old when it is read.** The leader may have lost its leadership since, another one may have been elected, and a
/// leader may believe that it leads after others have seen its successor: it is told in time, but it may be paused. So this
/// is for showing, and for finding the leader. What the leader writes is protected by its [term](crate::Leadership::term)
/// alone.
///
/// Its text is `led by pid 4711 on db1`, with `, term 1767225600125 at most` where that is known, `led by nobody`, or `not
/// known`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElectionState {
    /// A quorum names this leader.
    Led(Leader),
    /// A quorum has nobody. Nodes that have lost their data name nobody either, while a leader may still lead.
    NoLeader,
    /// Too few nodes answer, or they do not agree: somebody may be about to lead.
    Unknown,
}

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The value that signs its keys: another one for each leadership. Compare it with
    /// [`Leadership::owner`](crate::Leadership::owner) to find out whether it is oneself.
    pub owner: Owner,
    /// What its term is at most. The term itself is known to the leader alone, since the counters of nodes are shared. None
    /// if the nodes were not asked for their counters, or have none.
    pub term_at_most: Option<FencingToken>,
    /// How long a quorum of nodes kept its keys at that moment: it does not lead for longer, unless it extends, as a leader
    /// usually does every third of its TTL. None if for ever, as of keys that somebody else has set.
    pub remaining: Option<Duration>,
}

impl Leader {
    /// Which program it is, on which machine, as far as it tells.
    #[must_use]
    pub fn holder(&self) -> Holder {
        Holder::of(&self.owner)
    }

    /// What it tells of itself: by [`Election::labelled`](crate::Election::labelled), `--label` of the command, or
    /// [`LockOptions::label`](crate::LockOptions::label).
    #[must_use]
    pub fn label(&self) -> Option<String> {
        match self.holder() {
            Holder::Process { label, .. } => label,
            Holder::Named { name } => Some(name),
            Holder::Nameless { .. } | Holder::Stranger => None,
        }
    }
}

impl ElectionState {
    /// What these answers come to.
    pub(crate) fn of(seen: &Inspection) -> Self {
        match seen.holder() {
            Some(owner) => Self::Led(Leader {
                owner: owner.clone(),
                term_at_most: seen.token_at_most(),
                remaining: seen.remaining(),
            }),
            None if seen.is_free() => Self::NoLeader,
            None => Self::Unknown,
        }
    }

    /// The leader, if one is known.
    #[must_use]
    pub const fn leader(&self) -> Option<&Leader> {
        match self {
            Self::Led(leader) => Some(leader),
            Self::NoLeader | Self::Unknown => None,
        }
    }

    /// Whether there is nothing new in it: how long keys live changes with each extension.
    pub(super) fn is_told_by(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Led(leader), Self::Led(other)) => {
                (&leader.owner, leader.term_at_most) == (&other.owner, other.term_at_most)
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for ElectionState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Led(leader) => {
                write!(out, "led by {}", leader.holder())?;
                match leader.term_at_most {
                    Some(term) => write!(out, ", term {term} at most"),
                    None => Ok(()),
                }
            }
            Self::NoLeader => out.write_str("led by nobody"),
            Self::Unknown => out.write_str("not known"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(owner: &str, term: Option<u64>) -> ElectionState {
        ElectionState::Led(Leader {
            owner: Owner::from_bytes(owner.as_bytes()).expect("a few bytes"),
            term_at_most: term.and_then(FencingToken::new),
            remaining: Some(Duration::from_secs(9)),
        })
    }

    #[test]
    fn a_state_is_told_in_a_few_words() {
        let owner = format!("{}.db1.7@1767225600", "a7".repeat(20));
        for (state, told) in [
            (led(&owner, Some(9)), "led by pid 7 on db1, term 9 at most"),
            (led(&owner, None), "led by pid 7 on db1"),
            (led("hunter2", None), "led by another program"),
            (ElectionState::NoLeader, "led by nobody"),
            (ElectionState::Unknown, "not known"),
        ] {
            assert_eq!(state.to_string(), told);
        }
    }

    #[test]
    fn a_leader_tells_its_label() {
        let digits = "a7".repeat(20);
        for (owner, label) in [
            (format!("{digits}.db1.7@1767225600.a:80"), Some("a:80")),
            (format!("{digits}.db1.7@1767225600"), None),
            (format!("{digits}.scheduler"), Some("scheduler")),
            (digits, None),
            ("hunter2".to_owned(), None),
        ] {
            let state = led(&owner, None);
            let leader = state.leader().expect("somebody leads");
            assert_eq!(leader.label().as_deref(), label, "{owner}");
        }
    }
}
