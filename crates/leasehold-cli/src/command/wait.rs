//! `leasehold wait`: until a lock is free.

use crate::{
    args::views::WaitArguments,
    diagnosis::Patient,
    duration::Shown,
    exit_code,
    failure::Failure,
    hint,
    judgement::Judgement,
    lock_view::{self, KeyView, LockView, State},
    nodes::Nodes,
    output, readers, usable, waiting,
    whose::Whose,
};
use leasehold::{Inspection, clock::Clock};
use std::time::Duration;
use tokio::time::sleep;

/// Waits, and tells the code to exit with.
pub(crate) fn run(arguments: &WaitArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    // Says what there is to say of the nodes.
    drop(nodes.to_look_at(&place.agreement)?);
    let end = wait(arguments, &nodes)?;
    if arguments.json {
        output::data(end.view.json())?;
    }
    match (&end.patient, &end.view.state) {
        (Some(patient), State::Unusable { judgement, count }) => {
            let why = end.view.unusable(*judgement, count);
            Err(usable::failure(patient, why))
        }
        _ if end.is_free => Ok(exit_code::SUCCESS),
        _ => Err(not_free(arguments, &nodes, &end)),
    }
}

/// What was seen last.
struct WaitEnd {
    seen: Inspection,
    view: LockView,
    /// Whether nobody holds the lock as far as the nodes know.
    is_free: bool,
    /// The nodes, if it is free, where there is more to ask.
    patient: Option<Patient>,
}

/// Waits until the lock is free, or will not be in time.
fn wait(arguments: &WaitArguments, nodes: &Nodes) -> Result<WaitEnd, Failure> {
    let (name, agreement) = (&arguments.resource, &arguments.place.agreement);
    let operator = nodes.operator(agreement)?;
    let clock = Clock::system();
    let end = arguments.wait.map(|wait| clock.now().saturating_add(wait));
    let left = || end.map(|end| end.saturating_since(clock.now()));
    let mut is_told = false;
    loop {
        let (seen, mut view) = waiting::for_it(async {
            let seen = match arguments.permits {
                Some(permits) => operator.until_permit(name, permits, left()).await,
                None => operator.until_free(name, left()).await,
            };
            let seen = seen.map_err(|error| nodes.wrong(&error))?;
            let view = readers::named_one(nodes, LockView::of(&seen, Whose::Ours)).await;
            Ok::<_, Failure>((seen, view))
        })??;
        let mut patient = None;
        let is_free = view.state == State::Free || has_permit(arguments, &seen);
        if is_free {
            let examined = usable::examined(nodes, agreement, Some(name), left())?;
            match usable::state(&examined) {
                // Permits that others have are there all the same.
                State::Free => {}
                unusable => view.state = unusable,
            }
            if let State::Unusable { judgement, count } = &view.state
                && let Judgement::Later(time) = *judgement
                && left().is_none_or(|left| time <= left)
            {
                if !is_told {
                    let why = view.unusable(*judgement, count);
                    output::talk(format_args!("waiting: {why}"));
                    hint::not_usable(&examined).iter().for_each(output::hint);
                    is_told = true;
                }
                wait_for_votes(arguments, nodes, time)?;
                continue;
            }
            patient = Some(examined);
        }
        return Ok(WaitEnd {
            seen,
            view,
            is_free,
            patient,
        });
    }
}

/// Whether one of the permits can be had that are asked for.
fn has_permit(arguments: &WaitArguments, seen: &Inspection) -> bool {
    let of = arguments.permits.and_then(|of| u16::try_from(of).ok());
    of.is_some_and(|of| seen.free_permits(of) > 0)
}

/// Waits until nodes vote that have restarted.
fn wait_for_votes(arguments: &WaitArguments, nodes: &Nodes, time: Duration) -> Result<(), Failure> {
    // Their time begins when somebody comes who may want a lock: a manager, as soon as it is built. Who only examines them
    // lets nothing begin.
    let manager = nodes.quiet_builder(&arguments.place.agreement).build();
    let manager = manager.map_err(|error| nodes.wrong(&error))?;
    waiting::for_it(async {
        sleep(time).await;
        drop(manager);
    })
}

/// Why the lock is not known to be free.
fn not_free(arguments: &WaitArguments, nodes: &Nodes, end: &WaitEnd) -> Failure {
    let (view, name) = (&end.view, &arguments.resource);
    if let State::OtherType(kind) = &view.state {
        return lock_view::no_lock(name, kind);
    }
    if end.seen.is_unclear() {
        let silent = view.keys.iter().filter_map(|(node, key)| match key {
            KeyView::Silent(why) => Some(format!("{node}: {why}")),
            _ => None,
        });
        let silent: Vec<_> = silent.collect();
        let text = format!(
            "cannot tell whether {name:?} is free: too few nodes answer: {}",
            silent.join("; ")
        );
        let hint = match nodes {
            Nodes::Servers(_) => None,
            Nodes::ThisMachine(_) => hint::by_store(&text).map(str::to_owned),
        };
        return Failure::new(exit_code::NO_QUORUM, text).hint(hint);
    }
    if let (State::Permits(permits), Some(of)) = (&view.state, arguments.permits)
        && permits.of != of
    {
        let text = format!("{name:?} has not {of} permits: {}", permits.sentence());
        let hint = hint::SAY_ONE_NUMBER.to_owned();
        return Failure::new(exit_code::USAGE, text).hint(Some(hint));
    }
    let still = match &view.state {
        State::Held(held) => format!("{name:?} is still {}", held.how()),
        State::Permits(permits) => format!("{name:?}: {}", permits.how("still taken")),
        _ => format!("{name:?} is still not free on a quorum of nodes"),
    };
    let after = arguments
        .wait
        .map(|wait| format!("after {}, ", Shown(wait)));
    let text = format!("{}{still}", after.unwrap_or_default());
    Failure::new(exit_code::WAIT_TIMED_OUT, text)
}
