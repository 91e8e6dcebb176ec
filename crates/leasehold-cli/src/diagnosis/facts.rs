//! What the nodes told, as far as the rules look at it.

use super::cluster::ClusterFacts;
use leasehold::{
    Abstention,
    operate::{Examination, FileExamination, Membership, NodeAnswer, Survey, Told},
};
use std::{collections::BTreeMap, time::Duration};

/// A node, and what it told.
#[derive(Clone, Debug)]
pub(crate) struct NodeFacts {
    pub(crate) name: String,
    pub(crate) state: NodeState,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeState {
    /// Why it could not be asked.
    Silent(String),
    Server(Box<ServerFacts>),
    Cluster(ClusterFacts),
    File(FileFacts),
    /// In the memory of a process.
    InProcess,
}

/// What is none was not told.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerFacts {
    pub(crate) round_trip: Duration,
    pub(crate) slowest: Duration,
    pub(crate) version: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) run_id: Option<String>,
    /// The history of its data.
    pub(crate) replication_id: Option<String>,
    /// The other processes to which its address leads.
    pub(crate) others: Vec<String>,
    /// Whether a proxy stands before it that hangs up at what it does not know.
    pub(crate) is_proxied: bool,
    pub(crate) uptime: Option<Duration>,
    pub(crate) replicas: Option<u64>,
    /// Whether it is ahead of ours, by how much, and how uncertain that is.
    pub(crate) clock: Option<(bool, Duration, Duration)>,
    pub(crate) memory_used: Option<u64>,
    pub(crate) memory_limit: Option<u64>,
    /// What happens at that limit.
    pub(crate) memory_policy: Option<String>,
    pub(crate) has_log: Option<bool>,
    pub(crate) fsync: Option<String>,
    pub(crate) fsync_on_rewrite: Option<bool>,
    /// What it could not write the last time.
    pub(crate) failed_write: Option<String>,
    pub(crate) lacking: Option<Vec<String>>,
    /// Beside those, for fair locks, readers and permits.
    pub(crate) lacking_for_fair: Option<Vec<String>>,
    /// The key of a lock that nobody has, if its user may not use it.
    pub(crate) out_of_reach: Option<String>,
    pub(crate) vote: VoteFacts,
    /// Whether it would vote, but for what it is: the server of another address, or one that refuses writes.
    pub(crate) surveyed: VoteFacts,
}

/// A server's clock beside the one here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockFacts {
    NotTold,
    /// As good as equal.
    AsHere,
    Ahead(Duration),
    Behind(Duration),
}

/// Whether it votes for us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum VoteFacts {
    #[default]
    Votes,
    /// It cannot keep locks: why.
    Unsuitable(String),
    /// Not now.
    Abstains(Abstention),
    /// It refuses every write: why.
    RefusesWrites(String),
    /// It votes for this configuration.
    Others(String),
    /// A change of configuration is not finished.
    Unfinished(String),
    /// It is the server that this other address of the list leads to, and that has one vote.
    SameAs(String),
    /// It does not say, for this reason.
    NotTold(String),
}

/// A store on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) path: String,
    pub(crate) used: u64,
    pub(crate) room: u64,
    /// Process and resource.
    pub(crate) holders: Vec<(u32, String)>,
    /// Why no lock could be set in it.
    pub(crate) unusable: Option<String>,
}

/// Takes the votes of servers that are on the list under another address before. As the engine counts: the first of
/// them has the vote, whether or not it may use it.
pub(crate) fn count_once(nodes: &mut [NodeFacts]) {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for node in nodes {
        let identities = node.identities();
        let other = identities.iter().find_map(|identity| known.get(identity));
        match (other.cloned(), &mut node.state) {
            (Some(other), NodeState::Server(server)) => server.vote = VoteFacts::SameAs(other),
            (Some(other), NodeState::Cluster(cluster)) => cluster.same_as = Some(other),
            _ => {
                let own = identities.into_iter();
                known.extend(own.map(|identity| (identity, node.name.clone())));
            }
        }
    }
}

impl NodeFacts {
    pub(crate) fn of(told: &Told<Examination>) -> Self {
        Self {
            name: told.node.to_string(),
            state: NodeState::of(&told.answer),
        }
    }

    /// What answers for itself: the masters of a cluster, or else the node.
    pub(crate) fn parts(&self) -> Vec<&Self> {
        match &self.state {
            NodeState::Cluster(cluster) => { cluster.masters.iter() }
                .map(|master| &master.node)
                .collect(),
            _ => vec![self],
        }
    }

    /// Which servers answer for it, as far as they tell.
    pub(crate) fn identities(&self) -> Vec<String> {
        let identity = |node: &Self| match &node.state {
            NodeState::Server(server) => server.identity(),
            _ => None,
        };
        self.parts().into_iter().filter_map(identity).collect()
    }
}

impl NodeState {
    pub(super) fn of(answer: &NodeAnswer<Examination>) -> Self {
        match answer {
            NodeAnswer::Silent(why) => Self::Silent(without_advice(why).to_owned()),
            NodeAnswer::Told(seen) => match (&seen.file, &seen.cluster) {
                (Some(file), _) => Self::File(FileFacts::of(file)),
                (_, Some(cluster)) => Self::Cluster(ClusterFacts::of(cluster)),
                _ => Self::Server(Box::new(ServerFacts::of(seen))),
            },
            _ => Self::InProcess,
        }
    }
}

/// A server that wants a password also explains its protocol, in many words.
fn without_advice(why: &str) -> &str {
    why.split(": NOAUTH").next().unwrap_or(why)
}

impl ServerFacts {
    /// Which server it is, if it tells. Services may show the same run id for all of theirs.
    pub(crate) fn identity(&self) -> Option<String> {
        let run_id = self.run_id.as_ref()?;
        let history = self.replication_id.as_deref().unwrap_or_default();
        Some(format!("{run_id}/{history}"))
    }

    /// Its clock, for people: what differs by no more than it is uncertain, or by little, is no difference.
    pub(crate) fn clock_beside_ours(&self) -> ClockFacts {
        match self.clock {
            None => ClockFacts::NotTold,
            Some((_, by, uncertainty)) if by <= uncertainty + AS_GOOD_AS_EQUAL => {
                ClockFacts::AsHere
            }
            Some((true, by, _)) => ClockFacts::Ahead(by),
            Some((false, by, _)) => ClockFacts::Behind(by),
        }
    }

    fn of(seen: &Examination) -> Self {
        let memory = seen.memory.as_ref();
        Self {
            round_trip: seen.round_trip().unwrap_or_default(),
            slowest: seen.round_trips.last().copied().unwrap_or_default(),
            version: seen.version.clone(),
            role: seen.role.clone(),
            run_id: seen.run_id.clone(),
            replication_id: seen.replication_id.clone(),
            others: seen.others.clone(),
            is_proxied: seen.is_proxied,
            uptime: seen.uptime,
            replicas: seen.replicas,
            clock: seen
                .clock
                .map(|clock| (clock.is_ahead, clock.by, clock.uncertainty)),
            memory_used: memory.map(|memory| memory.used),
            memory_limit: memory.and_then(|memory| memory.limit),
            memory_policy: memory.map(|memory| memory.policy.clone()),
            has_log: seen.persistence.has_log,
            fsync: seen.persistence.fsync.clone(),
            fsync_on_rewrite: seen.persistence.fsync_on_rewrite,
            failed_write: seen.persistence.failed.clone(),
            lacking: seen.lacking.clone(),
            lacking_for_fair: seen.lacking_for_fair.clone(),
            out_of_reach: seen.out_of_reach.clone(),
            vote: VoteFacts::of(seen),
            surveyed: VoteFacts::of_answer(seen),
        }
    }
}

impl VoteFacts {
    fn of(seen: &Examination) -> Self {
        match (Self::of_answer(seen), &seen.refuses_writes) {
            (Self::Unsuitable(why), _) => Self::Unsuitable(why),
            // The server finds this before the script of a vote sees anything else.
            (_, Some(why)) => Self::RefusesWrites(why.clone()),
            (vote, None) => vote,
        }
    }

    fn of_answer(seen: &Examination) -> Self {
        match &seen.survey {
            Some(NodeAnswer::Told(survey)) => Self::of_survey(survey),
            Some(NodeAnswer::Silent(why)) => Self::NotTold(why.clone()),
            None if seen.role.as_deref() == Some("slave") => {
                Self::Unsuitable("is a replica".to_owned())
            }
            _ => Self::Votes,
        }
    }

    fn of_survey(survey: &Survey) -> Self {
        if let Some(why) = &survey.unsuitable {
            return Self::Unsuitable(why.clone());
        }
        match &survey.membership {
            Membership::Others { configuration } => return Self::Others(configuration.clone()),
            Membership::Unfinished { change } => return Self::Unfinished(change.clone()),
            _ => {}
        }
        match survey.abstains {
            Some(abstention) => Self::Abstains(abstention),
            None => Self::Votes,
        }
    }
}

impl FileFacts {
    fn of(file: &FileExamination) -> Self {
        Self {
            path: file.path.display().to_string(),
            used: file.used,
            room: file.room,
            holders: file.holders.clone(),
            unusable: file.unusable.clone(),
        }
    }
}

/// Clocks that differ by less are as well kept as any two.
const AS_GOOD_AS_EQUAL: Duration = Duration::from_millis(10);
