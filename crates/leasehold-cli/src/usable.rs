//! Whether a free lock can be acquired: for `status`, `list` and `wait`.

use crate::{
    agreement::Agreement,
    command::{
        doctor::{PATIENCE, patient},
        list::ANSWER,
    },
    departure,
    diagnosis::{
        Patient,
        facts::{NodeState, VoteFacts},
        findings,
    },
    failure::Failure,
    hint,
    judgement::Judgement,
    lock_view::{LockView, State},
    nodes::Nodes,
    waiting,
};
use leasehold::clock::Clock;
use std::time::Duration;

/// The nodes, as far as it decides whether they vote: for this lock, if one is named. A quorum that says so at once is
/// enough; the others are waited for only where they could change the judgement, and while there is `time`. A node that hangs
/// costs one answer's time in any case, and one that is far away is heard to the end.
pub(crate) fn examined(
    nodes: &Nodes,
    agreement: &Agreement,
    lock: Option<&str>,
    time: Option<Duration>,
) -> Result<Patient, Failure> {
    let patient = waiting::for_it(examine(nodes, agreement, lock, time))??;
    for (node, former) in &patient.replaced {
        departure::tell_once(node, former);
    }
    Ok(patient)
}

/// The same for those who wait already. Says nothing of nodes that have taken the places of others.
pub(crate) async fn examine(
    nodes: &Nodes,
    agreement: &Agreement,
    lock: Option<&str>,
    time: Option<Duration>,
) -> Result<Patient, Failure> {
    let mut operator = nodes.operator(agreement)?;
    if let Some(lock) = lock {
        operator = operator.about(lock).map_err(|error| nodes.wrong(&error))?;
    }
    let clock = Clock::system();
    let end = time.map(|time| clock.now().saturating_add(time));
    let with = async |limit, left: Option<Duration>| {
        let mut operator = operator.answer_within(limit);
        if let Some(left) = left {
            operator = operator.within(in_millis(left));
        }
        let told = operator.examine_votes().await;
        let told = told.map_err(|error| nodes.wrong(&error))?;
        Ok(patient(agreement, &operator, &told))
    };
    let soon = with(ANSWER, None).await?;
    let is_enough = matches!(soon.judgement(), Judgement::Now { .. });
    let left = end.map(|end| end.saturating_since(clock.now()));
    let has_time = left.is_none_or(|left| left > ANSWER);
    match is_enough || !has_time || hanging(&soon).next().is_none() {
        true => Ok(soon),
        false => with(PATIENCE, left).await,
    }
}

/// As people are told of it.
fn in_millis(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// The nodes of which it is not known whether they vote, since they are late: each by its name, and why.
pub(crate) fn hanging(patient: &Patient) -> impl Iterator<Item = (&str, &str)> {
    patient.parts().filter_map(|node| {
        let why = match &node.state {
            NodeState::Silent(why) => why,
            NodeState::Server(server) => match &server.vote {
                VoteFacts::NotTold(why) => why,
                _ => return None,
            },
            _ => return None,
        };
        findings::hangs(why).then_some((node.name.as_str(), why.as_str()))
    })
}

/// Doubts that nobody holds a lock, or a permit, where nodes without its key may have forgotten it.
pub(crate) fn doubt(view: &mut LockView, patient: &Patient) {
    view.doubt_where(|node| patient.may_have_forgotten(node));
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

/// The failure of a command on nodes where no lock can be acquired. A store has one reason for it, which is told here.
pub(crate) fn failure(patient: &Patient, text: String) -> Failure {
    let text = match patient.unusable_store() {
        Some((store, why)) => format!("{text}: {store}: {why}"),
        None => text,
    };
    Failure::new(patient.judgement().code(), text).hint(hint::not_usable(patient))
}
