//! `leasehold status`: who holds a lock.

use crate::{
    args::{nodes::NodesArguments, views::StatusArguments},
    failure::Failure,
    lock_view::{LockView, State},
    nodes::Nodes,
    output, readers, unheard, usable, waiting,
    whose::{Signer, Whose},
};
use leasehold::clock::Clock;
use std::time::Duration;

/// Looks, and tells the code to exit with.
pub(crate) fn run(arguments: &StatusArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let view = look(place, &arguments.resource, arguments.foreign)?;
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
    if matches!(view.state, State::Unusable { .. }) {
        output::hint("`leasehold doctor` tells why, and the way out");
    }
    Ok(view.code())
}

/// Who holds a lock and, if nobody does, whether it can be had.
fn look(place: &NodesArguments, resource: &str, foreign: bool) -> Result<LockView, Failure> {
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    let manager = nodes.onlooker(&place.agreement)?;
    let (agreement, whose) = (&place.agreement, Whose::with(foreign));
    let (seen, mut view) = waiting::for_it(async {
        let seen = manager.inspect(resource).await;
        let seen = seen.map_err(|error| Failure::own(format!("cannot {error}")))?;
        let seen = nodes.look_closer(agreement, seen).await?;
        let view = LockView::of(&seen, whose);
        let view = readers::named_one(&nodes, view).await;
        Ok::<_, Failure>((seen, view))
    })??;
    let mut known = None;
    if let Some(heard) = unheard::heard(&nodes, agreement, &seen, &view)? {
        view = LockView::of(&heard.seen, whose);
        view.refusals = heard.refusals;
        known = Some(heard.patient);
    }
    if view.state == State::Free || view.is_unheld_by_twins() {
        let patient = match known {
            Some(patient) => patient,
            None => usable::examined(&nodes, agreement, Some(resource), None)?,
        };
        for (node, why) in usable::hanging(&patient) {
            output::talk(format_args!(
                "{node}: does not tell whether it votes: {why}"
            ));
        }
        match usable::state(&patient) {
            // Its nodes vote, and are not at one: who is under way may win.
            State::Free if view.state != State::Free => {}
            state => view.state = state,
        }
    }
    Ok(view)
}
