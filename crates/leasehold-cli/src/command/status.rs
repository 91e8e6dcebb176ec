//! `leasehold status`: who holds a lock.

use crate::{
    args::views::StatusArguments, failure::Failure, lock_view::LockView, nodes::Nodes, output,
    waiting,
};
use leasehold::clock::Clock;

/// Looks, and tells the code to exit with.
pub(crate) fn run(arguments: &StatusArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref());
    let manager = nodes.to_look_at(&place.agreement)?.build();
    let manager = manager.map_err(|error| nodes.wrong(&error))?;
    let seen = waiting::for_it(manager.inspect(&arguments.resource))?
        .map_err(|error| Failure::own(format!("cannot {error}")))?;
    let view = LockView::of(&seen);
    match arguments.json {
        true => output::data(view.json()),
        false => output::data(view.text(Clock::system().wall())),
    }
    Ok(view.code())
}
