//! `leasehold force-release`: the operator's way out.

use crate::{
    args::views::ForceReleaseArguments,
    exit_code,
    failure::Failure,
    lock_view::{LockView, State, shown_left},
    nodes::Nodes,
    output, question, waiting,
};
use leasehold::{Holder, LockManager, ReleaseOutcome};

/// Looks, asks, releases, and tells the code to exit with.
pub(crate) fn run(arguments: &ForceReleaseArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref());
    let manager = nodes.to_look_at(&place.agreement)?.build();
    let manager = manager.map_err(|error| nodes.wrong(&error))?;
    waiting::for_it(release(&manager, arguments))?
}

async fn release(manager: &LockManager, arguments: &ForceReleaseArguments) -> Result<u8, Failure> {
    let name = &arguments.resource;
    let seen = manager.inspect(name).await;
    let seen = seen.map_err(|error| Failure::own(format!("cannot {error}")))?;
    let view = LockView::of(&seen);
    let left_over = view.left_over();
    let question = match (&view.state, left_over.len()) {
        (State::Free, 0) => {
            output::talk(format_args!("{name:?} is free; nothing was changed"));
            return Ok(exit_code::SUCCESS);
        }
        (State::Unclear | State::Unusable { .. }, 0) => {
            return Err(Failure::new(exit_code::NO_QUORUM, view.doubt()));
        }
        (State::Held(held), _) => {
            output::talk(format_args!(
                "{name:?} is held by {}, left: {}",
                held.holder,
                shown_left(held.left)
            ));
            "Put it out? It does not know of it before its next extension, and until then two may hold the lock."
        }
        (State::Free | State::Unclear | State::Unusable { .. }, _) => {
            "Delete that? Whoever is under way to hold the lock does not get it."
        }
    };
    for lock in &left_over {
        let (holder, left) = (&lock.holder, shown_left(lock.left));
        output::talk(format_args!(
            "{name:?}: left over or under way on some nodes: {holder}, left: {left}"
        ));
    }
    question::ask(question, arguments.yes)?;
    let eviction = manager.evict(seen).await;
    let (mut unclear, mut lines) = (0, Vec::new());
    for (owner, outcome) in &eviction.evicted {
        let holder = Holder::of(owner);
        lines.push(format!("{holder}\t{}", told(outcome)));
        unclear += usize::from(matches!(outcome, ReleaseOutcome::Unknown { .. }));
    }
    let printed = output::report(lines.join("\n"));
    // What is under way to a slow node gets its time.
    manager.shutdown().await;
    match unclear {
        0 => printed.map(|()| exit_code::SUCCESS),
        _ => Err(Failure::new(
            exit_code::NO_QUORUM,
            "too few nodes confirmed it; what is left ends with its TTL",
        )),
    }
}

fn told(outcome: &ReleaseOutcome) -> String {
    match outcome {
        ReleaseOutcome::Released => "put out".to_owned(),
        // Of leftovers, and of whoever was just ending, there is no quorum to be put out of.
        ReleaseOutcome::AlreadyExpired => "deleted; it held no quorum any more".to_owned(),
        other => other.to_string(),
    }
}
