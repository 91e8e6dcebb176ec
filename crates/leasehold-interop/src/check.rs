//! What must hold between a library and leasehold.

mod exclude;
mod extend;
mod late;
mod own;
mod readers;
mod several;
mod take_over;
mod wake;

use crate::{
    Fallible,
    ours::Kind,
    peer::{Nodes, Peer},
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
    Own,
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
        Self::Own,
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
            Self::Own => "own",
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
                "`exclude` and a short `mix` of those who lock by quorum, on one node, and `several` there; of leasehold's \
                 packages, tokens and many locks at once"
            }
            Self::FiveNodes => {
                "`exclude` and a short `mix` of those who lock by quorum, on five nodes; of leasehold's packages, tokens and many \
                 locks at once"
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
            Self::Own => {
                "of leasehold itself, of another version or in another language: each is woken by the other's release, goes on \
                 with what the other left, and has larger tokens than the other had before; many locks at once, by calls of several"
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
        if self.is_among_our_own() {
            let is_enough = |kind| kind == Kind::Fenced || !self.name.contains("fenced-");
            if !peer.own_kind().is_some_and(is_enough) {
                return false;
            }
        }
        match self.scenario {
            Scenario::OneDown | Scenario::OneNode | Scenario::FiveNodes => {
                peer.nodes == Nodes::Quorum
            }
            Scenario::Extend => peer.extends || !self.name.starts_with("their-"),
            _ => true,
        }
    }
}

impl Check {
    /// Whether it makes sense for a peer beside this kind of our locks. What only leasehold can do needs two of one kind.
    pub(crate) fn is_for_both(&self, peer: &Peer, kind: Kind) -> bool {
        self.is_for(peer) && (!self.is_among_our_own() || peer.own_kind() == Some(kind))
    }

    fn is_about_several(&self) -> bool {
        self.scenario == Scenario::Several || self.name.starts_with("several-")
    }

    fn is_among_our_own(&self) -> bool {
        self.scenario == Scenario::Own || self.name.starts_with("own-")
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
        scenario: Scenario::OneNode,
        name: "own-fenced-tokens-grow-across-both",
        run: own::tokens_grow_across_both,
    },
    Check {
        scenario: Scenario::OneNode,
        name: "own-many-locks-at-once",
        run: own::many_locks_at_once_in_short,
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
        scenario: Scenario::FiveNodes,
        name: "own-fenced-tokens-grow-across-both",
        run: own::tokens_grow_across_both,
    },
    Check {
        scenario: Scenario::FiveNodes,
        name: "own-many-locks-at-once",
        run: own::many_locks_at_once_in_short,
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
        scenario: Scenario::Own,
        name: "our-release-wakes-them",
        run: own::our_release_wakes_them,
    },
    Check {
        scenario: Scenario::Own,
        name: "each-releases-what-the-other-handed-over",
        run: own::each_releases_what_the_other_handed_over,
    },
    Check {
        scenario: Scenario::Own,
        name: "fenced-each-releases-what-the-other-left-to-all",
        run: own::each_releases_what_the_other_left_to_all,
    },
    Check {
        scenario: Scenario::Own,
        name: "fenced-tokens-grow-across-both",
        run: own::tokens_grow_across_both,
    },
    Check {
        scenario: Scenario::Own,
        name: "many-locks-at-once",
        run: own::many_locks_at_once,
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
        let of_our_own = |check: &&Check| check.is_among_our_own();
        let others = CHECKS.len() - CHECKS.iter().filter(of_our_own).count();
        assert_eq!(count("node-redlock4"), others);
        assert_eq!(count("node-redlock5"), others);
        let of_several = 6;
        assert_eq!(count("redsync"), others - of_several);
        // On one node only.
        let of_quorums = 8 + of_several;
        assert_eq!(count("redis-py"), others - of_quorums);
        assert_eq!(count("redlock-py"), others - of_several - 2);
        assert_eq!(count("php-lock"), others - of_quorums - 2);
        // Of our own too, on one node and on five.
        let of_quorums = of_quorums + 4;
        assert_eq!(count("earlier-fenced"), CHECKS.len() - of_quorums);
        assert_eq!(count("earlier-plain-one"), CHECKS.len() - of_quorums - 2);
        assert_eq!(count("leasehold-node-fenced"), CHECKS.len());
        // Without tokens, of which there are three checks, and without leaving to all.
        assert_eq!(count("leasehold-python-plain"), CHECKS.len() - 4);
    }

    #[test]
    fn what_only_leasehold_can_do_is_done_by_two_of_one_kind() {
        let peer = |name: &str| PEERS.iter().find(|peer| peer.name == name).unwrap();
        let fenced = peer("leasehold-node-fenced");
        for check in CHECKS {
            assert!(check.is_for_both(fenced, Kind::Fenced));
            let is_general = !check.is_among_our_own();
            assert_eq!(check.is_for_both(fenced, Kind::Plain), is_general);
            let others = peer("node-redlock5");
            assert_eq!(check.is_for_both(others, Kind::Plain), is_general);
        }
    }
}
