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
    output, readers,
    sight::Sight,
    usable, waiting,
    whose::Whose,
};
use leasehold::{Inspection, clock::Clock, operate::Operator};
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
    let mut tell = |why: &str, hint: Option<String>| {
        if !is_told {
            output::talk(format_args!("waiting: {why}"));
            hint.iter().for_each(output::hint);
            is_told = true;
        }
    };
    loop {
        let mut end = waiting::for_it(until_free(arguments, nodes, &operator, left()))??;
        if !end.is_free {
            return Ok(end);
        }
        let patient = usable::examined(nodes, agreement, Some(name), left())?;
        end = end.with(arguments, patient);
        if !end.view.forgetful.is_empty() && !end.is_free {
            end = until_known(arguments, nodes, left, |why| tell(why, None))?;
        }
        let is_over = left() == Some(Duration::ZERO);
        match (&end.view.state, &end.patient) {
            (State::Unusable { judgement, count }, Some(patient)) => {
                let Judgement::Later(time) = *judgement else {
                    return Ok(end);
                };
                if left().is_some_and(|left| left < time) {
                    return Ok(end);
                }
                let why = end.view.unusable(*judgement, count);
                tell(&why, hint::not_usable(patient));
                wait_for_votes(arguments, nodes, time)?;
            }
            _ if end.is_free || is_over => return Ok(end),
            // Somebody has it. Servers push its end, but one that has taken another's place is not on our list, and is not heard.
            _ => pause(left())?,
        }
    }
}

/// Waits until a quorum seems to have no key.
async fn until_free(
    arguments: &WaitArguments,
    nodes: &Nodes,
    operator: &Operator,
    left: Option<Duration>,
) -> Result<WaitEnd, Failure> {
    let name = &arguments.resource;
    let seen = match arguments.permits {
        Some(permits) => operator.until_permit(name, permits, left).await,
        None => operator.until_free(name, left).await,
    };
    let seen = seen.map_err(|error| nodes.wrong(&error))?;
    let view = readers::named_one(nodes, LockView::of(&seen, Whose::Ours)).await;
    let patient = None;
    Ok(WaitEnd::of(
        arguments,
        Sight {
            seen,
            view,
            patient,
        },
    ))
}

/// Looks again and again while nodes without a key may have forgotten one: none of them tells when it remembers again.
fn until_known(
    arguments: &WaitArguments,
    nodes: &Nodes,
    left: impl Fn() -> Option<Duration>,
    mut tell: impl FnMut(&str),
) -> Result<WaitEnd, Failure> {
    let agreement = &arguments.place.agreement;
    // The quarantine of a server begins when a manager connects. Clusters have none, and such a manager cannot be built for them.
    let manager = nodes.quiet_builder(agreement).build().ok();
    let end = loop {
        let end = WaitEnd::of(
            arguments,
            Sight::of(nodes, agreement, &arguments.resource, Whose::Ours, left())?,
        );
        let is_known = end.view.state != State::Unclear && end.view.forgetful.is_empty();
        let rest = left();
        if end.is_free || is_known || end.seen.is_unclear() || rest == Some(Duration::ZERO) {
            break end;
        }
        tell(&end.view.doubt());
        pause(rest)?;
    };
    waiting::for_it(async { drop(manager) })?;
    Ok(end)
}

/// Waits before the next look, but no longer than there is time.
fn pause(left: Option<Duration>) -> Result<(), Failure> {
    let time = left.map_or(AGAIN, |left| left.min(AGAIN));
    waiting::for_it(async { sleep(time).await })
}

impl WaitEnd {
    fn of(arguments: &WaitArguments, sight: Sight) -> Self {
        let Sight {
            seen,
            view,
            patient,
        } = sight;
        let has_permit = has_permit(arguments, &seen, &view);
        Self {
            is_free: view.state == State::Free || has_permit,
            seen,
            view,
            patient,
        }
    }

    /// The same, where it is known which nodes vote and remember. Permits that others have are there all the same.
    fn with(self, arguments: &WaitArguments, patient: Patient) -> Self {
        let (seen, mut view) = (self.seen, self.view);
        match usable::state(&patient) {
            State::Free => usable::doubt(&mut view, &patient),
            unusable => view.state = unusable,
        }
        let patient = Some(patient);
        Self::of(
            arguments,
            Sight {
                seen,
                view,
                patient,
            },
        )
    }
}

/// Whether one of the permits can be had that are asked for.
fn has_permit(arguments: &WaitArguments, seen: &Inspection, view: &LockView) -> bool {
    let of = arguments.permits.and_then(|of| u16::try_from(of).ok());
    let is_sure = |of| view.forgetful.is_empty() || view.has_free_permit(of);
    of.is_some_and(|of| seen.free_permits(of) > 0 && is_sure(of))
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
        _ if !view.forgetful.is_empty() => view.doubt(),
        _ => format!("{name:?} is still not free on a quorum of nodes"),
    };
    let after = arguments
        .wait
        .map(|wait| format!("after {}, ", Shown(wait)));
    let text = format!("{}{still}", after.unwrap_or_default());
    Failure::new(exit_code::WAIT_TIMED_OUT, text)
}

/// The time between two looks at nodes that do not push what changes.
const AGAIN: Duration = Duration::from_secs(1);
