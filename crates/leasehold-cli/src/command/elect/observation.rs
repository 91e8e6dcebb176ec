//! Who leads, told with every change.
//!
//! A server that has forgotten its keys names nobody, and so does one that is asked for keys of another format, while a leader
//! leads. That nobody does is told only by the word of nodes that would know.

use crate::{
    args::elect::ElectArguments,
    exit::Exit,
    failure::Failure,
    judgement::Judgement,
    lock_view::{LockView, State},
    nodes::Nodes,
    output,
    told_lease::json_text,
    usable,
    whose::Whose,
};
use leasehold::{ElectionState, Inspection, Leaders};
use std::time::Duration;
use tokio::{select, time::sleep};

/// Looks on until a signal ends the process: there is nothing to give back.
pub(super) async fn run(nodes: &Nodes, arguments: &ElectArguments) -> Result<Exit, Failure> {
    let lock = &arguments.lock;
    let resource = lock.resource().as_str();
    let builder = nodes.to_look_at(&lock.place.agreement)?;
    let leaders = builder.operator();
    let leaders = leaders.and_then(|operator| operator.observe(resource));
    let mut leaders = leaders.map_err(|error| nodes.wrong(&error))?;
    let (mut told, mut seen) = (None, next(&mut leaders).await?);
    loop {
        let is_doubted = seen == ElectionState::NoLeader
            && is_doubted(nodes, arguments, leaders.inspection(), told.as_ref()).await?;
        let known = match is_doubted {
            true => ElectionState::Unknown,
            false => seen.clone(),
        };
        if told.as_ref() != Some(&known) {
            match arguments.json {
                true => output::data(json(resource, &known))?,
                false => output::data(&known)?,
            }
        }
        told = Some(known);
        seen = select! {
            biased;
            state = next(&mut leaders) => state?,
            () = sleep(AGAIN), if is_doubted => seen,
        };
    }
}

async fn next(leaders: &mut Leaders) -> Result<ElectionState, Failure> {
    let state = leaders.next().await;
    state.ok_or_else(|| Failure::own("cannot look on: the thread behind it has ended"))
}

/// Whether somebody may lead whom the nodes that were seen do not name. The reason is told once.
async fn is_doubted(
    nodes: &Nodes,
    arguments: &ElectArguments,
    seen: Option<&Inspection>,
    told: Option<&ElectionState>,
) -> Result<bool, Failure> {
    // A file on this machine forgets nothing, and has no options to agree upon.
    let (None, Some(seen)) = (nodes.folder(), seen) else {
        return Ok(false);
    };
    let (resource, agreement) = (arguments.lock.resource(), &arguments.lock.place.agreement);
    let patient = usable::examine(nodes, agreement, Some(resource.as_str()), None).await?;
    let mut view = LockView::of(seen, Whose::Ours);
    usable::doubt(&mut view, &patient);
    let why = || {
        let judgement = patient.judgement().sentence(patient.nodes.len());
        format!(
            "no leader of {} was found; {judgement}: {}",
            resource.quoted(),
            patient.count()
        )
    };
    match patient.judgement() {
        Judgement::OtherConfiguration => return Err(usable::failure(&patient, why())),
        _ if view.state == State::Free => return Ok(false),
        Judgement::Now { .. } => {}
        _ if told == Some(&ElectionState::Unknown) => {}
        _ => output::talk(why()),
    }
    Ok(true)
}

/// How long it is left alone whether the nodes know more by now.
const AGAIN: Duration = Duration::from_secs(1);

fn json(resource: &str, state: &ElectionState) -> String {
    let resource = json_text(resource);
    let word = match state {
        ElectionState::Led(_) => "led",
        ElectionState::NoLeader => "free",
        _ => "unknown",
    };
    let or_null = |text: Option<String>| text.unwrap_or_else(|| "null".to_owned());
    // Another program's value may be anything.
    let owner = state.leader().map(|leader| &leader.owner);
    let owner = owner.filter(|owner| owner.is_usual());
    let owner = or_null(owner.map(|owner| json_text(&owner.to_string())));
    let term = state.leader().and_then(|leader| leader.term_at_most);
    let term = or_null(term.map(|term| term.to_string()));
    format!(
        "{{\"resource\":{resource},\"state\":\"{word}\",\"owner\":{owner},\"term_at_most\":{term}}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_led_has_no_owner_and_no_term() {
        for (state, word) in [
            (ElectionState::NoLeader, "free"),
            (ElectionState::Unknown, "unknown"),
        ] {
            assert_eq!(
                json("s\"", &state),
                format!(
                    "{{\"resource\":\"s\\\"\",\"state\":\"{word}\",\"owner\":null,\"term_at_most\":null}}"
                )
            );
        }
    }
}
