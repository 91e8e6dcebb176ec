//! Whether a lock that nobody holds can be had, for those who found none: `status`, `list` and `wait`.

use crate::{
    agreement::Agreement, command::doctor::patient, diagnosis::Patient, failure::Failure,
    judgement::Judgement, lock_view::State, nodes::Nodes, waiting,
};
use std::time::Duration;

/// The nodes, as far as it decides whether they vote.
pub(crate) fn examined(nodes: &Nodes, agreement: &Agreement) -> Result<Patient, Failure> {
    let operator = nodes.operator(agreement)?.within(LIMIT);
    let quorum = operator.quorum();
    let told = waiting::for_it(operator.examine_votes())?;
    let told = told.map_err(|error| nodes.wrong(&error))?;
    Ok(patient(agreement, quorum, &told))
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

/// How long each node has to tell of itself: one that hangs is away. It takes eight round trips, and from a quarter of a
/// second for each a first vote comes too late as well.
const LIMIT: Duration = Duration::from_secs(3);
