//! What must hold between a library and leasehold.

mod exclude;
mod extend;
mod late;
mod readers;
mod several;
mod take_over;
mod versions;
mod wake;

use crate::{
    Fallible,
    ours::Kind,
    peer::{Means, Nodes, Peer},
    scene::Scene,
};

/// One thing that must hold.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) scenario: Scenario,
    /// A sentence, with hyphens.
    pub(crate) name: &'static str,
    pub(crate) run: fn(&mut Scene<'_>) -> Fallible<()>,
}

/// What a check is about; a column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scenario {
    Exclude,
    TakeOver,
    Wake,
    LateRelease,
    OneDown,
    OneNode,
    FiveNodes,
    Extend,
    Several,
    Readers,
    Versions,
    Mix,
}

impl Scenario {
    pub(crate) const ALL: [Self; 12] = [
        Self::Exclude,
        Self::TakeOver,
        Self::Wake,
        Self::LateRelease,
        Self::OneDown,
        Self::OneNode,
        Self::FiveNodes,
        Self::Extend,
        Self::Several,
        Self::Readers,
        Self::Versions,
        Self::Mix,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Exclude => "exclude",
            Self::TakeOver => "take-over",
            Self::Wake => "wake",
            Self::LateRelease => "late-release",
            Self::OneDown => "one-down",
            Self::OneNode => "one-node",
            Self::FiveNodes => "five-nodes",
            Self::Extend => "extend",
            Self::Several => "several",
            Self::Readers => "readers",
            Self::Versions => "versions",
            Self::Mix => "mix",
        }
    }

    /// Itself, if it has nodes of its own.
    pub(crate) const fn place(self) -> Option<Self> {
        match self {
            Self::OneDown | Self::OneNode | Self::FiveNodes => Some(self),
            _ => None,
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Exclude => {
                "what they hold we are refused, and are told by whose value and for how long; \
                 what we hold they are refused, and their try leaves it whole"
            }
            Self::TakeOver => {
                "a holder is killed with `kill -9`; the other side gets the lock once the TTL has ended, not before"
            }
            Self::Wake => {
                "we wait for what they hold, and have it at once when they release it, without asking again and again"
            }
            Self::LateRelease => {
                "a release that comes when the lease is over and the other side has the lock frees nothing"
            }
            Self::OneDown => {
                "`exclude` and the taking of what is free, with one of three nodes dead"
            }
            Self::OneNode => {
                "`exclude` and a short `mix` of those who lock by quorum, on one node, and `several` there"
            }
            Self::FiveNodes => {
                "`exclude` and a short `mix` of those who lock by quorum, on five nodes"
            }
            Self::Extend => {
                "an extended lease goes on keeping the other side out, and an extension that comes too late changes nothing"
            }
            Self::Several => {
                "names that are locked together, all or none, by those who can: who has some of them keeps out all who want \
                 one of these, and leaves nothing where it is refused; a short `mix` of sets with one name in common"
            }
            Self::Readers => {
                "while any of ours reads they are refused, and their try takes nothing away; what they hold ours do not read"
            }
            Self::Versions => {
                "of leasehold's own versions: each is woken by the other's release, goes on with what the other left, and has \
                 larger tokens than the other had before; many locks at once, by calls of several"
            }
            Self::Mix => {
                "two of theirs and two of ours increment a counter by reading and writing it; no increment is lost, and \
                 both sides have their turns"
            }
        }
    }
}

impl Check {
    /// How it is called where a difference is expected.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.scenario.name(), self.name)
    }

    /// Whether it makes sense for a peer.
    pub(crate) fn is_for(&self, peer: &Peer) -> bool {
        if self.is_about_several() && !peer.several {
            return false;
        }
        match self.scenario {
            Scenario::OneDown | Scenario::OneNode | Scenario::FiveNodes => {
                peer.nodes == Nodes::Quorum
            }
            Scenario::Versions => match peer.means {
                Means::Earlier(kind) => kind == Kind::Fenced || !self.name.starts_with("fenced-"),
                _ => false,
            },
            Scenario::Extend => peer.extends || !self.name.starts_with("their-"),
            _ => true,
        }
    }
}

impl Check {
    fn is_about_several(&self) -> bool {
        self.scenario == Scenario::Several || self.name.starts_with("several-")
    }
}

/// Everything that is tried, in this order.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        scenario: Scenario::Exclude,
        name: "theirs-keeps-us-out",
        run: exclude::theirs_keeps_us_out,
    },
    Check {
        scenario: Scenario::Exclude,
        name: "ours-keeps-them-out",
        run: exclude::ours_keeps_them_out,
    },
    Check {
        scenario: Scenario::TakeOver,
        name: "we-follow-their-death",
        run: take_over::we_follow_their_death,
    },
    Check {
        scenario: Scenario::TakeOver,
        name: "they-follow-our-death",
        run: take_over::they_follow_our_death,
    },
    Check {
        scenario: Scenario::Wake,
        name: "their-release-wakes-us",
        run: wake::their_release_wakes_us,
    },
    Check {
        scenario: Scenario::LateRelease,
        name: "their-late-release-spares-ours",
        run: late::their_late_release_spares_ours,
    },
    Check {
        scenario: Scenario::LateRelease,
        name: "our-late-release-spares-theirs",
        run: late::our_late_release_spares_theirs,
    },
    Check {
        scenario: Scenario::OneDown,
        name: "theirs-keeps-us-out",
        run: exclude::theirs_keeps_us_out,
    },
    Check {
        scenario: Scenario::OneDown,
        name: "ours-keeps-them-out",
        run: exclude::ours_keeps_them_out,
    },
    Check {
        scenario: Scenario::OneNode,
        name: "theirs-keeps-us-out",
        run: exclude::theirs_keeps_us_out,
    },
    Check {
        scenario: Scenario::OneNode,
        name: "ours-keeps-them-out",
        run: exclude::ours_keeps_them_out,
    },
    Check {
        scenario: Scenario::OneNode,
        name: "no-increment-is-lost",
        run: |scene| scene.short_mix(),
    },
    Check {
        scenario: Scenario::OneNode,
        name: "several-theirs-keeps-us-out",
        run: several::theirs_keeps_us_out,
    },
    Check {
        scenario: Scenario::OneNode,
        name: "several-ours-keeps-them-out",
        run: several::ours_keeps_them_out,
    },
    Check {
        scenario: Scenario::OneNode,
        name: "several-no-increment-is-lost",
        run: several::no_increment_is_lost,
    },
    Check {
        scenario: Scenario::FiveNodes,
        name: "theirs-keeps-us-out",
        run: exclude::theirs_keeps_us_out,
    },
    Check {
        scenario: Scenario::FiveNodes,
        name: "ours-keeps-them-out",
        run: exclude::ours_keeps_them_out,
    },
    Check {
        scenario: Scenario::FiveNodes,
        name: "no-increment-is-lost",
        run: |scene| scene.short_mix(),
    },
    Check {
        scenario: Scenario::Extend,
        name: "their-extended-lease-keeps-us-out",
        run: extend::their_extended_lease_keeps_us_out,
    },
    Check {
        scenario: Scenario::Extend,
        name: "our-extended-lease-keeps-them-out",
        run: extend::our_extended_lease_keeps_them_out,
    },
    Check {
        scenario: Scenario::Extend,
        name: "their-late-extension-spares-ours",
        run: extend::their_late_extension_spares_ours,
    },
    Check {
        scenario: Scenario::Extend,
        name: "our-late-extension-spares-theirs",
        run: extend::our_late_extension_spares_theirs,
    },
    Check {
        scenario: Scenario::Several,
        name: "theirs-keeps-us-out",
        run: several::theirs_keeps_us_out,
    },
    Check {
        scenario: Scenario::Several,
        name: "ours-keeps-them-out",
        run: several::ours_keeps_them_out,
    },
    Check {
        scenario: Scenario::Several,
        name: "no-increment-is-lost",
        run: several::no_increment_is_lost,
    },
    Check {
        scenario: Scenario::Readers,
        name: "our-readers-keep-them-out",
        run: readers::our_readers_keep_them_out,
    },
    Check {
        scenario: Scenario::Readers,
        name: "theirs-keeps-our-readers-out",
        run: readers::theirs_keeps_our_readers_out,
    },
    Check {
        scenario: Scenario::Versions,
        name: "our-release-wakes-them",
        run: versions::our_release_wakes_them,
    },
    Check {
        scenario: Scenario::Versions,
        name: "each-releases-what-the-other-handed-over",
        run: versions::each_releases_what_the_other_handed_over,
    },
    Check {
        scenario: Scenario::Versions,
        name: "fenced-each-releases-what-the-other-left-to-all",
        run: versions::each_releases_what_the_other_left_to_all,
    },
    Check {
        scenario: Scenario::Versions,
        name: "fenced-tokens-grow-across-both",
        run: versions::tokens_grow_across_both,
    },
    Check {
        scenario: Scenario::Versions,
        name: "many-locks-at-once",
        run: versions::many_locks_at_once,
    },
    Check {
        scenario: Scenario::Mix,
        name: "no-increment-is-lost",
        run: |scene| scene.mix(),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{CONTROLS, PEERS};
    use std::collections::HashSet;

    #[test]
    fn every_scenario_has_checks_with_names_of_their_own() {
        let paths: HashSet<_> = CHECKS.iter().map(Check::path).collect();
        assert_eq!(paths.len(), CHECKS.len());
        for scenario in Scenario::ALL {
            assert!(CHECKS.iter().any(|check| check.scenario == scenario));
        }
    }

    #[test]
    fn only_what_a_peer_cannot_do_is_left_out() {
        let count = |name: &str| {
            let mut peers = PEERS.iter().chain(CONTROLS);
            let peer = peers.find(|peer| peer.name == name).unwrap();
            CHECKS.iter().filter(|check| check.is_for(peer)).count()
        };
        let of_versions = |check: &&Check| check.scenario == Scenario::Versions;
        let others = CHECKS.len() - CHECKS.iter().filter(of_versions).count();
        assert_eq!(count("node-redlock4"), others);
        assert_eq!(count("node-redlock5"), others);
        let of_several = 6;
        assert_eq!(count("redsync"), others - of_several);
        // On one node only.
        let of_quorums = 8 + of_several;
        assert_eq!(count("redis-py"), others - of_quorums);
        assert_eq!(count("redlock-py"), others - of_several - 2);
        assert_eq!(count("php-lock"), others - of_quorums - 2);
        assert_eq!(count("earlier-fenced"), CHECKS.len() - of_quorums);
        assert_eq!(count("earlier-plain-one"), CHECKS.len() - of_quorums - 2);
    }
}
