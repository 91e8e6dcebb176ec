//! `leasehold wait`: until a lock is free.

use crate::{
    args::views::WaitArguments,
    duration::Shown,
    exit_code,
    failure::Failure,
    lock_view::{self, KeyView, LockView, State},
    nodes::Nodes,
    output, usable, waiting,
    whose::Whose,
};

/// Waits, and tells the code to exit with.
pub(crate) fn run(arguments: &WaitArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    let operator = nodes.to_look_at(&place.agreement)?.operator();
    let operator = operator.map_err(|error| nodes.wrong(&error))?;
    let seen = waiting::for_it(operator.until_free(&arguments.resource, arguments.wait))?
        .map_err(|error| nodes.wrong(&error))?;
    let (mut view, name) = (LockView::of(&seen, Whose::Ours), &arguments.resource);
    if view.state == State::Free {
        view.state = usable::state(&usable::examined(&nodes, &place.agreement)?);
    }
    if arguments.json {
        output::data(view.json())?;
    }
    if view.state == State::Free {
        return Ok(exit_code::SUCCESS);
    }
    if let State::Unusable { judgement, count } = &view.state {
        return Err(usable::failure(
            *judgement,
            view.unusable(*judgement, count),
        ));
    }
    if let State::OtherType(kind) = &view.state {
        return Err(lock_view::no_lock(name, kind));
    }
    if seen.is_unclear() {
        let silent = view.keys.iter().filter_map(|(node, key)| match key {
            KeyView::Silent(why) => Some(format!("{node}: {why}")),
            _ => None,
        });
        let silent: Vec<_> = silent.collect();
        let text = format!(
            "cannot tell whether {name:?} is free: too few nodes answer: {}",
            silent.join("; ")
        );
        return Err(Failure::new(exit_code::NO_QUORUM, text));
    }
    let by = match &view.state {
        State::Held(held) => format!("held by {}", held.holder),
        _ => "not free on a quorum of nodes".to_owned(),
    };
    let after = arguments
        .wait
        .map(|wait| format!("after {}, ", Shown(wait)));
    let text = format!("{}{name:?} is still {by}", after.unwrap_or_default());
    Err(Failure::new(exit_code::WAIT_TIMED_OUT, text))
}
