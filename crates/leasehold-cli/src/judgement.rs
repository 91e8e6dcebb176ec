//! Whether a lock can be had: the one judgement of all commands that ask.
//!
//! `run` learns it by trying; `status`, `wait`, `list`, `doctor` and `watch` by examining the nodes. What they tell and the
//! code they end with is derived from it here, so that none of them calls a set of nodes usable on which another finds no
//! lock to be had.

use crate::{duration::Shown, exit_code};
use leasehold::AcquireError;
use std::time::Duration;

/// Whether a lock that nobody holds can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It can, and so many nodes more may be away.
    Now { spare: usize },
    /// Not before this time has passed.
    Later(Duration),
    /// Not by who says what we say: too many nodes are used with another configuration.
    OtherConfiguration,
    /// Not if its name is in one of so many slots, for which too few clusters have a master that votes.
    NotInSlots(u16),
    /// Not before something is mended.
    No,
}

/// Whether a node votes for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prospect {
    /// It does after this time, which may be none.
    After(Duration),
    /// It votes for another configuration, or for none until a change of it is finished.
    OtherConfiguration,
    /// It does not, whatever time passes.
    Never,
}

impl Judgement {
    /// The judgement of nodes of which so many must vote. The caller counts each server once, whatever it is called.
    pub(crate) fn of_nodes(nodes: &[Prospect], quorum: usize) -> Self {
        let of_others = |node: &&Prospect| **node == Prospect::OtherConfiguration;
        // As an attempt counts: then the configuration alone is in the way, and neither time nor other nodes help.
        if nodes.iter().filter(of_others).count() > nodes.len().saturating_sub(quorum) {
            return Self::OtherConfiguration;
        }
        let time = |node: &Prospect| match node {
            Prospect::After(time) => Some(*time),
            Prospect::OtherConfiguration | Prospect::Never => None,
        };
        let mut times: Vec<_> = nodes.iter().filter_map(time).collect();
        times.sort_unstable();
        let voting = times.iter().filter(|time| time.is_zero()).count();
        match quorum.checked_sub(1).and_then(|last| times.get(last)) {
            Some(&Duration::ZERO) => Self::Now {
                spare: voting - quorum,
            },
            Some(&time) => Self::Later(time),
            None => Self::No,
        }
    }

    /// The judgement of all slots of clusters, by that of each stretch of them and how many slots it has.
    pub(crate) fn of_slots(stretches: &[(Self, u16)]) -> Self {
        let is_now = |judgement: &Self| matches!(judgement, Self::Now { .. });
        let without = || stretches.iter().filter(|(judgement, _)| !is_now(judgement));
        let slots = without().map(|(_, slots)| slots).sum();
        let spare = |(judgement, _): &(Self, u16)| match judgement {
            Self::Now { spare } => Some(*spare),
            _ => None,
        };
        match (without().next(), stretches.iter().filter_map(spare).min()) {
            (None, Some(spare)) => Self::Now { spare },
            (Some((judgement, _)), None) => *judgement,
            (Some(_), Some(_)) => Self::NotInSlots(slots),
            (None, None) => Self::No,
        }
    }

    /// What an attempt that failed says of the nodes; none if they voted, or it failed of something else.
    pub(crate) fn of_failure(error: &AcquireError) -> Option<Self> {
        match error {
            AcquireError::TimedOut { last, .. } => Self::of_failure(last),
            AcquireError::Disagreement { .. } => Some(Self::OtherConfiguration),
            error => match error.abstains() {
                Some(time) => Some(Self::Later(time)),
                None if matches!(error, AcquireError::TooLate { .. }) => Some(Self::No),
                None => error.is_unreachable().then_some(Self::No),
            },
        }
    }

    /// The code to exit with, where nobody holds a lock.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Now { .. } => exit_code::SUCCESS,
            Self::OtherConfiguration => exit_code::USAGE,
            Self::Later(_) | Self::NotInSlots(_) | Self::No => exit_code::NO_QUORUM,
        }
    }

    /// For people; of nodes in the plural, unless there is only one.
    pub(crate) fn sentence(self, nodes: usize) -> String {
        match (self, nodes) {
            (Self::Now { .. }, 1) => "locks work".to_owned(),
            (Self::Now { spare: 0 }, _) => "locks work, but no other node may fail".to_owned(),
            (Self::Now { spare: 1 }, _) => "locks work, and 1 other node may fail".to_owned(),
            (Self::Now { spare }, _) => format!("locks work, and {spare} other nodes may fail"),
            (Self::Later(time), _) => format!("no lock can be acquired for {}", Shown(time)),
            (Self::OtherConfiguration, _) => {
                "no lock can be acquired with this configuration".to_owned()
            }
            (Self::NotInSlots(slots), _) => {
                format!("no lock can be acquired whose name is in {slots} of the 16384 slots")
            }
            (Self::No, _) => "no lock can be acquired".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every mix of three nodes that vote now, vote after one or two seconds, vote for others, or never.
    #[test]
    fn a_lock_can_be_had_as_soon_as_a_quorum_votes() {
        let after = |seconds| Prospect::After(Duration::from_secs(seconds));
        let (others, never) = (Prospect::OtherConfiguration, Prospect::Never);
        let kinds = [after(0), after(1), after(2), others, never];
        for first in kinds {
            for second in kinds {
                for third in kinds {
                    let nodes = [first, second, third];
                    let by = |time| {
                        let is_by =
                            |node: &&Prospect| matches!(node, Prospect::After(at) if *at <= time);
                        nodes.iter().filter(is_by).count()
                    };
                    let seconds = Duration::from_secs;
                    let of_others = nodes.iter().filter(|node| **node == others).count();
                    let expected = match (by(seconds(0)), by(seconds(1)), by(seconds(2))) {
                        (voting @ 2.., ..) => Judgement::Now { spare: voting - 2 },
                        (_, 2.., _) => Judgement::Later(seconds(1)),
                        (.., 2..) => Judgement::Later(seconds(2)),
                        _ if of_others >= 2 => Judgement::OtherConfiguration,
                        _ => Judgement::No,
                    };
                    assert_eq!(Judgement::of_nodes(&nodes, 2), expected, "{nodes:?}");
                }
            }
        }
    }

    #[test]
    fn slots_are_judged_together_by_what_is_missing() {
        let (now, spare) = (Judgement::Now { spare: 0 }, Judgement::Now { spare: 1 });
        let of = Judgement::of_slots;
        assert_eq!(of(&[(spare, 9)]), spare);
        assert_eq!(of(&[(spare, 5), (now, 1), (spare, 3)]), now);
        assert_eq!(of(&[(Judgement::No, 5), (Judgement::No, 4)]), Judgement::No);
        let mixed = [(Judgement::No, 5), (spare, 1), (Judgement::No, 3)];
        assert_eq!(of(&mixed), Judgement::NotInSlots(8));
    }
}
