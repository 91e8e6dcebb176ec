//! Whether a lock that nobody holds can be had, for those who found none: `status`, `list` and `wait`.

use crate::{
    agreement::Agreement,
    command::{doctor::patient, list::ANSWER},
    diagnosis::{Patient, facts::NodeState, findings},
    failure::Failure,
    judgement::Judgement,
    lock_view::State,
    nodes::Nodes,
    waiting,
};
use std::time::Duration;

/// The nodes, as far as it decides whether they vote. A quorum that says so at once is enough; the others are waited for
/// only where they could change the judgement.
pub(crate) fn examined(nodes: &Nodes, agreement: &Agreement) -> Result<Patient, Failure> {
    let operator = nodes.operator(agreement)?;
    let within = |limit| {
        let told = waiting::for_it(operator.within(limit).examine_votes())?;
        let told = told.map_err(|error| nodes.wrong(&error))?;
        Ok(patient(agreement, operator.quorum(), &told))
    };
    let soon = within(ANSWER)?;
    let is_enough = matches!(soon.judgement(), Judgement::Now { .. });
    match is_enough || hanging(&soon).next().is_none() {
        true => Ok(soon),
        false => within(LIMIT),
    }
}

/// The nodes of which it is not known whether they vote, since they are late: each by its name, and why.
pub(crate) fn hanging(patient: &Patient) -> impl Iterator<Item = (&str, &str)> {
    let nodes = patient.nodes.iter();
    nodes.filter_map(|node| match &node.state {
        NodeState::Silent(why) if findings::hangs(why) => Some((node.name.as_str(), why.as_str())),
        _ => None,
    })
}

/// What a lock is that nobody holds on these nodes: free if it can be had.
pub(crate) fn state(patient: &Patient) -> State {
    match patient.judgement() {
        Judgement::Now { .. } => State::Free,
        judgement => State::Unusable {
            judgement,
            count: patient.count(),
        },
    }
}

/// The end of whoever looked for a lock where none can be had.
pub(crate) fn failure(judgement: Judgement, text: String) -> Failure {
    let hint = "`leasehold doctor` says what is wrong with each node";
    Failure::new(judgement.code(), text).hint(hint.to_owned())
}

/// How long each node has to tell of itself where too few are known to vote: one that hangs is away. It takes eight round trips, and from a quarter of a
/// second for each a first vote comes too late as well.
const LIMIT: Duration = Duration::from_secs(3);
