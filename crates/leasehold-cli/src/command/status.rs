//! `leasehold status`: who holds a lock.

use crate::{
    args::views::StatusArguments,
    failure::Failure,
    lock_view::State,
    nodes::Nodes,
    output,
    sight::Sight,
    usable,
    whose::{Signer, Whose},
};
use leasehold::clock::Clock;
use std::time::Duration;

/// Looks, and tells the code to exit with.
pub(crate) fn run(arguments: &StatusArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    let whose = Whose::with(arguments.foreign);
    let Sight { view, patient, .. } =
        Sight::of(&nodes, &place.agreement, &arguments.resource, whose, None)?;
    for (node, why) in patient.iter().flat_map(usable::hanging) {
        output::talk(format_args!(
            "{node}: does not tell whether it votes: {why}"
        ));
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
    if matches!(view.state, State::Unusable { .. }) || !view.forgetful.is_empty() {
        output::hint("`leasehold doctor` tells why, and the way out");
    }
    Ok(view.code())
}
