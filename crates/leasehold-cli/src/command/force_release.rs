//! `leasehold force-release`: the operator's way out.

use crate::{
    args::views::ForceReleaseArguments,
    exit_code,
    failure::Failure,
    lock_view::{self, KeyView, LockView, Signature, State, shown_left},
    manager::Manager,
    nodes::Nodes,
    output, question, readers, sight, usable, waiting,
    whose::{Signer, Whose},
};
use leasehold::{Eviction, Inspection, Key, Owner, ReleaseOutcome};

/// Looks, asks, releases, and tells the code to exit with.
pub(crate) fn run(arguments: &ForceReleaseArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    let manager = nodes.onlooker(&place.agreement)?;
    waiting::for_it(release(&manager, &nodes, arguments))?
}

async fn release(
    manager: &Manager,
    nodes: &Nodes,
    arguments: &ForceReleaseArguments,
) -> Result<u8, Failure> {
    let (name, whose) = (&arguments.resource, Whose::with(arguments.foreign));
    let (seen, view) = look(manager, nodes, arguments).await?;
    if let State::OtherType(kind) = &view.state {
        return Err(lock_view::no_lock(name, kind));
    }
    if let State::Held(held) = &view.state
        && held.is_of_readers()
    {
        return Err(read(name, held, nodes));
    }
    let is_wanted = |owner: &Owner| arguments.owner.as_ref().is_none_or(|only| only == owner);
    // What is not named is somebody's data, and stays.
    let named = seen
        .clone()
        .only(|owner| is_wanted(owner) && Signer::of(owner.as_bytes(), whose).is_shown());
    let has = |is_so: fn(&Key) -> bool| named.nodes().iter().any(|node| is_so(&node.key));
    let is_foreign = has(|key| matches!(key, Key::Foreign { .. }));
    if arguments.owner.is_none() && is_foreign && !has(|key| key.holder().is_some()) {
        return Err(not_ours(&seen, whose));
    }
    let is_found = match &arguments.owner {
        Some(owner) => view.signature_of(owner.as_bytes()).is_some() || view.silent() == 0,
        None => !view.left_over().is_empty(),
    };
    if view.state == State::Unclear && !is_found {
        return Err(unclear(&view));
    }
    let question = match &arguments.owner {
        Some(owner) => question_of_one(&view, owner),
        None => question_of(&view),
    };
    let Some(question) = question else {
        output::talk(match &arguments.owner {
            Some(_) => format!("{name:?} has no key of this owner; nothing was changed"),
            None => format!("{name:?} is free; nothing was changed"),
        });
        return Ok(exit_code::SUCCESS);
    };
    question::ask(question, arguments.yes)?;
    let eviction = manager.evict(named).await;
    let printed = output::report(lines(&eviction, whose).join("\n"));
    // What is under way to a slow node gets its time.
    manager.shutdown().await;
    let mut outcomes = eviction.evicted.iter().map(|(_, outcome)| outcome);
    match outcomes.any(|outcome| matches!(outcome, ReleaseOutcome::Unknown { .. })) {
        false => printed.map(|()| exit_code::SUCCESS),
        true => Err(Failure::new(
            exit_code::NO_QUORUM,
            "too few nodes confirmed it; what is left ends with its TTL",
        )),
    }
}

/// What the nodes have, and what that means.
async fn look(
    manager: &Manager,
    nodes: &Nodes,
    arguments: &ForceReleaseArguments,
) -> Result<(Inspection, LockView), Failure> {
    let (name, agreement) = (&arguments.resource, &arguments.place.agreement);
    let seen = sight::inspect(manager, nodes, agreement, name).await?;
    let view = LockView::of(&seen, Whose::with(arguments.foreign));
    let mut view = readers::named_one(nodes, view).await;
    if view.can_be_doubted() {
        let patient = usable::examine(nodes, agreement, Some(name.as_str()), None).await?;
        usable::doubt(&mut view, &patient);
    }
    Ok((seen, view))
}

/// What became of whose keys, a line each.
fn lines(eviction: &Eviction, whose: Whose) -> Vec<String> {
    let line = |(owner, outcome): &(Owner, ReleaseOutcome)| {
        let holder = Signer::of(owner.as_bytes(), whose);
        let slot = owner
            .permit()
            .map(|permit| format!("slot {}: ", permit.slot()));
        let mark = owner.done_until().map(|_| "mark of ");
        let what = slot.as_deref().or(mark).unwrap_or_default();
        format!("{what}{holder}\t{}", told(outcome))
    };
    eviction.evicted.iter().map(line).collect()
}

/// Says what this owner would lose. The question that is left; none if there is nothing.
fn question_of_one(view: &LockView, owner: &Owner) -> Option<&'static str> {
    let lock = view.signature_of(owner.as_bytes())?;
    let slot = owner
        .permit()
        .map(|permit| format!("slot {} of ", permit.slot()));
    output::talk(format_args!(
        "{}{:?} is {}, left: {}",
        slot.unwrap_or_default(),
        view.resource,
        lock.how(),
        shown_left(lock.left)
    ));
    Some(take_away(lock))
}

/// Says who would lose the lock. The question that is left; none if there is nobody.
fn question_of(view: &LockView) -> Option<&'static str> {
    let (name, left_over) = (&view.resource, view.left_over());
    let question = match (&view.state, left_over.len()) {
        (State::Free, 0) => return None,
        (State::Held(held), _) if held.is_shown() => {
            output::talk(format_args!(
                "{name:?} is {}, left: {}",
                held.how(),
                shown_left(held.left)
            ));
            take_away(held)
        }
        (State::Permits(permits), _) => {
            output::talk(format_args!("{name:?}: {}", permits.sentence()));
            for (slot, held) in &permits.taken {
                let left = shown_left(held.left);
                output::talk(format_args!("slot {slot}: {}, left: {left}", held.holder));
            }
            "Take all of them away? Their holders do not notice before their next extension, and until then two may hold one."
        }
        _ if left_over.iter().any(|lock| view.may_hold(lock)) => TAKE_AWAY,
        _ => "Delete that? Whoever is under way to hold the lock does not get it.",
    };
    let held = match &view.state {
        State::Held(held) => Some(held),
        _ => None,
    };
    let mut all = held.into_iter().chain(left_over.iter().copied());
    if all.any(|lock| matches!(lock.holder, Signer::Peer { .. })) {
        output::talk(format_args!(
            "a key of {name:?} was written by another program; it may be no lock but other data, which would be lost"
        ));
    }
    for lock in &left_over {
        let (holder, left) = (lock.who(), shown_left(lock.left));
        let how = match view.may_hold(lock) {
            true => "may be held, has keys",
            false => "left over or under way",
        };
        output::talk(format_args!(
            "{name:?}: {how} on some nodes: {holder}, left: {left}"
        ));
    }
    Some(question)
}

/// The end where it is not known whether there is anybody. The nodes that did not say so are named.
fn unclear(view: &LockView) -> Failure {
    for (node, key) in &view.keys {
        if let KeyView::Silent(why) = key {
            output::talk(format_args!("{node}: {why}"));
        }
    }
    let text = format!("{}; nothing was changed", view.doubt());
    Failure::new(exit_code::NO_QUORUM, text)
}

/// Servers tell no owners of those who share a lock, and what is not known to be somebody's is not deleted. A store would
/// delete nothing for the owner that it tells: that has no lock alone.
fn read(name: &str, readers: &Signature, nodes: &Nodes) -> Failure {
    let whom = match nodes {
        Nodes::Servers(_) => ", whom servers do not name",
        Nodes::ThisMachine(_) => "",
    };
    let text = format!(
        "{name:?} is held by {}{whom}; nothing was changed",
        readers.holder
    );
    let hint = format!(
        "end the processes that share it; what is left of them ends by itself, in {}",
        shown_left(readers.left)
    );
    Failure::new(exit_code::USAGE, text).hint(hint)
}

fn not_ours(seen: &Inspection, whose: Whose) -> Failure {
    let has = |is_so: fn(&Key) -> bool| seen.nodes().iter().any(|node| is_so(&node.key));
    let is_peer = |key: &Key| {
        key.holder()
            .is_some_and(|owner| Signer::has_more(owner.as_bytes()))
    };
    let is_redisson = |key: &Key| {
        let Key::Foreign { redisson, .. } = key else {
            return false;
        };
        redisson.is_some()
    };
    let hint = if whose == Whose::Ours && has(is_peer) {
        "--foreign deletes another library's lock, or other data that look like one: look at it first with \
         `leasehold status --foreign`"
    } else if has(is_redisson) {
        "it is a lock of Redisson, which only Redisson can release: its `forceUnlock` does"
    } else {
        "it is no text that a known lock library writes: only its own program can say what it is"
    };
    let name = seen.resource().as_str();
    let text = format!("the key {name:?} is not a leasehold lock; nothing was changed");
    Failure::new(exit_code::USAGE, text).hint(hint.to_owned())
}

fn told(outcome: &ReleaseOutcome) -> String {
    match outcome {
        ReleaseOutcome::Released => "released by force".to_owned(),
        // Leftovers, a lease that was just ending, and one whose other votes were forgotten.
        ReleaseOutcome::AlreadyExpired => "deleted; no quorum of nodes had it".to_owned(),
        other => other.to_string(),
    }
}

/// The question to somebody who is to be told first who has it.
fn take_away(lock: &Signature) -> &'static str {
    match lock.is_done() {
        true => TAKE_MARK,
        false => TAKE_AWAY,
    }
}

const TAKE_MARK: &str = "Remove the mark? Then the work may be done again in this period.";

const TAKE_AWAY: &str = "Take the lock away? The holder may not notice before its next extension, and until then two may hold the lock.";
