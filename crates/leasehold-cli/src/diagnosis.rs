//! What `doctor` makes of what the nodes tell: findings, and a verdict.
//!
//! [`facts`] is what was told, in a form that tests can write down; [`findings`] has the rules, which are the reason
//! for all of this; [`mode`] is which lock results; [`report`] shows it.

pub(crate) mod cluster;
pub(crate) mod facts;
pub(crate) mod findings;
mod mode;
mod report;

use crate::{
    agreement::Guard,
    exit_code, hint,
    judgement::{Judgement, Prospect},
};
use facts::{NodeFacts, NodeState, ServerFacts, VoteFacts};
use leasehold::Disks;
use std::{collections::BTreeSet, time::Duration};

/// Everything that the rules look at.
#[derive(Clone, Debug)]
pub(crate) struct Patient {
    /// Which configuration file said so, if any.
    pub(crate) origin: Option<String>,
    pub(crate) quorum: usize,
    pub(crate) options: Options,
    pub(crate) nodes: Vec<NodeFacts>,
    /// Of those that are not on the list themselves: their names, and those of the nodes whose places they have taken.
    pub(crate) replaced: Vec<(String, String)>,
}

/// What all agree on, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Of locks that are made without a TTL of their own.
    pub(crate) ttl: Duration,
    pub(crate) clock_skew: Duration,
    pub(crate) guard: Guard,
    /// Whether locks are plain, as on a Redis Cluster: without tokens and guard.
    pub(crate) is_plain: bool,
    /// How many replicas must have heard of a vote, and on which disks it must be, before it counts.
    pub(crate) replicated: Option<u32>,
    pub(crate) on_disk: Option<Disks>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Good to know.
    Note,
    /// Locks work, but less well than they should.
    Warning,
    /// This node cannot be used for locks as it is.
    Problem,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) weight: Weight,
    /// The nodes that it is about; none for all of them together.
    pub(crate) nodes: Vec<String>,
    pub(crate) what: String,
    pub(crate) why: &'static str,
    pub(crate) remedy: String,
}

/// Whether locks work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Sound,
    Weakened,
    /// Nobody can have a lock now, or none whose name is in some slots of clusters.
    Broken,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(crate) struct Diagnosis {
    pub(crate) patient: Patient,
    pub(crate) findings: Vec<Finding>,
}

impl Diagnosis {
    pub(crate) fn of(patient: Patient) -> Self {
        let findings = findings::all(&patient);
        Self { patient, findings }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let is_bad = |finding: &Finding| finding.weight > Weight::Note;
        if !matches!(self.patient.judgement(), Judgement::Now { .. }) {
            Verdict::Broken
        } else if self.findings.iter().any(is_bad) {
            Verdict::Weakened
        } else {
            Verdict::Sound
        }
    }

    pub(crate) fn code(&self) -> u8 {
        match self.verdict() {
            Verdict::Weakened => exit_code::WEAKENED,
            Verdict::Sound | Verdict::Broken => self.patient.judgement().code(),
        }
    }
}

impl Patient {
    /// Whether this server would vote for us now.
    pub(crate) fn has_vote(&self, server: &ServerFacts) -> bool {
        findings::votes(server, &self.options)
    }

    /// Whether this node, if it has no key, may have forgotten one that was set there with a configuration like ours. Of a node that
    /// is not known here, nobody knows.
    pub(crate) fn may_have_forgotten(&self, node: &str) -> bool {
        let told = self.nodes.iter().find(|told| told.name == node);
        told.is_none_or(|told| match &told.state {
            NodeState::Server(server) => !self.remembers(server),
            NodeState::Silent(_) => true,
            // Its masters may forget too, which plain locks take for granted.
            NodeState::Cluster(_) | NodeState::File(_) | NodeState::InProcess => false,
        })
    }

    fn remembers(&self, server: &ServerFacts) -> bool {
        match server.surveyed {
            VoteFacts::Votes => true,
            // Nobody asks it for its past.
            VoteFacts::NotTold(_) => self.options.guard == Guard::Off,
            _ => false,
        }
    }

    /// Whether it answers later than a vote waits.
    pub(crate) fn is_late(&self, server: &ServerFacts) -> bool {
        findings::lateness::is_late(server, &self.options)
    }

    /// The store on this machine, if there is one in which no lock can be set, and why.
    pub(crate) fn unusable_store(&self) -> Option<(&str, &str)> {
        let mut nodes = self.nodes.iter();
        nodes.find_map(|node| match &node.state {
            NodeState::File(file) => Some((&*node.name, file.unusable.as_deref()?)),
            _ => None,
        })
    }

    /// How many nodes would vote for us now, whatever the lock's name.
    pub(crate) fn voting(&self) -> usize {
        let votes_now = |node: &&NodeFacts| self.votes_in(node) == Some(true);
        self.nodes.iter().filter(votes_now).count()
    }

    /// Whether a node would vote for us now; none if for some names, of a cluster whose masters do not all vote.
    pub(crate) fn votes_in(&self, node: &NodeFacts) -> Option<bool> {
        let now = |(slot, _)| self.prospect(node, slot) == Prospect::After(Duration::ZERO);
        let votes: BTreeSet<_> = cluster::stretches(&self.nodes)
            .into_iter()
            .map(now)
            .collect();
        match votes.len() {
            1 => votes.first().copied(),
            _ => None,
        }
    }

    /// Whether a lock can be had.
    pub(crate) fn judgement(&self) -> Judgement {
        let judged = |(slot, size): (u16, u16)| {
            let nodes = self.nodes.iter().map(|node| self.prospect(node, slot));
            let nodes: Vec<_> = nodes.collect();
            (Judgement::of_nodes(&nodes, self.quorum), size)
        };
        let stretches = cluster::stretches(&self.nodes).into_iter();
        Judgement::of_slots(&stretches.map(judged).collect::<Vec<_>>())
    }

    /// How many vote, and how many must.
    pub(crate) fn count(&self) -> String {
        let (voting, nodes, quorum) = (self.voting(), self.nodes.len(), self.quorum);
        let is_partial = |node: &NodeFacts| self.votes_in(node).is_none();
        let for_all = match self.nodes.iter().any(is_partial) {
            true => " for all names",
            false => "",
        };
        match voting < quorum {
            true => format!("{voting} of {nodes} nodes vote{for_all}, {quorum} must"),
            false => format!("{voting} of {nodes} nodes vote{for_all}"),
        }
    }

    /// What answers for itself: nodes, and the masters of those that are clusters, each cluster once.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &NodeFacts> {
        let is_first = |node: &&NodeFacts| match &node.state {
            NodeState::Cluster(cluster) => cluster.same_as.is_none(),
            _ => true,
        };
        let nodes = self.nodes.iter().filter(is_first);
        nodes.flat_map(NodeFacts::parts)
    }

    /// Whether a node waits for the end of leases that there may well be: nobody's word may shorten that.
    pub(crate) fn must_wait(&self) -> bool {
        self.nodes.iter().any(|node| match &node.state {
            NodeState::Server(server) => match server.vote {
                VoteFacts::Abstains(abstention) => hint::is_for_leases(abstention.cause),
                _ => false,
            },
            _ => false,
        })
    }

    /// Whether and when this node would vote for us, for a name in this slot of clusters.
    fn prospect(&self, node: &NodeFacts, slot: u16) -> Prospect {
        let votes = match &node.state {
            NodeState::Cluster(cluster) => match (&cluster.same_as, cluster.keeper(slot)) {
                (None, Some(master)) => return self.prospect(&master.node, slot),
                _ => false,
            },
            NodeState::Server(server) if self.is_late(server) => false,
            NodeState::Server(server) => match &server.vote {
                VoteFacts::Abstains(abstention) if !self.lacks_votes(server) => {
                    return Prospect::After(abstention.left);
                }
                VoteFacts::Others(_) | VoteFacts::Unfinished(_) if !self.lacks_votes(server) => {
                    return Prospect::OtherConfiguration;
                }
                _ => self.has_vote(server),
            },
            NodeState::File(file) => file.unusable.is_none(),
            NodeState::InProcess => true,
            NodeState::Silent(_) => false,
        };
        match votes {
            true => Prospect::After(Duration::ZERO),
            false => Prospect::Never,
        }
    }

    fn lacks_votes(&self, server: &ServerFacts) -> bool {
        findings::lacks_votes(server, self.options.guard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use findings::tests::{abstains, patient, server};
    use leasehold::AbstentionCause;

    #[test]
    fn a_server_that_does_not_vote_for_us_may_have_forgotten_what_it_has_not() {
        let why = || "x".to_owned();
        let abstains = abstains(AbstentionCause::Changed);
        for (surveyed, is_guarded, unguarded) in [
            (VoteFacts::Votes, false, false),
            (abstains, true, true),
            (VoteFacts::NotTold(why()), true, false),
            (VoteFacts::Others(why()), true, true),
            (VoteFacts::Unfinished(why()), true, true),
            (VoteFacts::Unsuitable(why()), true, true),
        ] {
            for refuses_writes in [false, true] {
                let vote = match refuses_writes {
                    false => surveyed.clone(),
                    true => VoteFacts::RefusesWrites(why()),
                };
                let server = ServerFacts {
                    vote,
                    surveyed: surveyed.clone(),
                    ..server()
                };
                let mut patient = patient(vec![server]);
                assert_eq!(
                    patient.may_have_forgotten("db0"),
                    is_guarded,
                    "{surveyed:?}"
                );
                patient.options.guard = Guard::Off;
                assert_eq!(patient.may_have_forgotten("db0"), unguarded, "{surveyed:?}");
            }
        }
        let mut patient = patient(vec![server()]);
        assert!(patient.may_have_forgotten("db1"), "nobody knows it");
        patient.nodes[0].state = NodeState::Silent(why());
        assert!(patient.may_have_forgotten("db0"));
    }
}
