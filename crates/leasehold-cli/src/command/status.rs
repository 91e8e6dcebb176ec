//! `leasehold status`: who holds a lock.

use super::doctor::patient;
use crate::{
    args::views::StatusArguments,
    failure::Failure,
    judgement::Judgement,
    lock_view::{LockView, State},
    nodes::Nodes,
    output, waiting,
    whose::{Signer, Whose},
};
use leasehold::clock::Clock;
use std::time::Duration;

/// Looks, and tells the code to exit with.
pub(crate) fn run(arguments: &StatusArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    let manager = nodes.to_look_at(&place.agreement)?.build();
    let manager = manager.map_err(|error| nodes.wrong(&error))?;
    let seen = waiting::for_it(async {
        let seen = manager.inspect(&arguments.resource).await;
        let seen = seen.map_err(|error| Failure::own(format!("cannot {error}")))?;
        nodes.look_closer(&place.agreement, seen).await
    })??;
    let mut view = LockView::of(&seen, Whose::with(arguments.foreign));
    if view.state == State::Free {
        view.state = free(&nodes, arguments)?;
    }
    let longest = place.agreement.longest_ttl().unwrap_or(Duration::MAX);
    match arguments.json {
        true => output::data(view.json()),
        false => output::data(view.text(Clock::system().wall(), longest)),
    }?;
    if matches!(&view.state, State::Held(held) if Signer::has_more(&held.value))
        && !arguments.foreign
    {
        output::hint("--foreign tells more of another library's lock");
    }
    Ok(view.code())
}

/// A lock that nobody holds is free if it can be had.
fn free(nodes: &Nodes, arguments: &StatusArguments) -> Result<State, Failure> {
    let agreement = &arguments.place.agreement;
    let operator = nodes.operator(agreement)?.within(LIMIT);
    let quorum = operator.quorum();
    let told = waiting::for_it(operator.examine_votes())?;
    let told = told.map_err(|error| nodes.wrong(&error))?;
    let patient = patient(agreement, quorum, &told);
    Ok(match patient.judgement() {
        Judgement::Now { .. } => State::Free,
        judgement => State::Unusable {
            judgement,
            count: patient.count(),
        },
    })
}

/// How long each node has to tell of itself: one that hangs is away. It takes eight round trips, and from a quarter of a
/// second for each a first vote comes too late as well.
const LIMIT: Duration = Duration::from_secs(3);
