//! `leasehold hold`: a lock for as long as somebody keeps our standard input open.

use crate::{
    args::hold::HoldArguments,
    exit::Exit,
    exit_code,
    failure::Failure,
    giving_back,
    held_lease::HeldLease,
    hold_policy::HoldPolicy,
    lock,
    manager::Manager,
    nodes::Nodes,
    output,
    signals::Signals,
    told_lease::ToldLease,
    wait::Wait,
    watch::{Ending, Story},
};
use std::io::{self, stdin};
use tokio::{
    select,
    sync::oneshot,
    time::{Instant, sleep},
};

/// Holds a lock, and tells how to end.
pub(crate) fn run(arguments: &HoldArguments) -> Result<Exit, Failure> {
    let nodes = Nodes::choose(arguments.lock.place.nodes.as_ref())?;
    let manager = lock::manager_of_mode(arguments.mode, &arguments.part, &arguments.lock, &nodes)?;
    lock::runtime()?.block_on(hold(&manager, &nodes, arguments))
}

async fn hold(
    manager: &Manager,
    nodes: &Nodes,
    arguments: &HoldArguments,
) -> Result<Exit, Failure> {
    output::check()?;
    let mut signals = Signals::listen()?;
    let (lock, span) = (&arguments.lock, &arguments.span);
    let options = lock::options(lock, Some(span));
    let wait = Wait::new(manager, nodes, lock, options, Some(&arguments.wait));
    let wait = wait.of_part(&arguments.part);
    let guard = match wait.acquire_or_end(&mut signals).await {
        Ok(guard) => guard,
        Err(end) => return end,
    };
    let begun = Instant::now();
    let end_of_input = watch_input()?;
    let told = ToldLease::of(&guard, manager.clock());
    if let Err(unread) = told.print(arguments.json) {
        giving_back::release(guard, lock.verbose).await;
        return Err(unread);
    }
    let policy = HoldPolicy::new(lock.ttl, span.max_hold);
    let ending = Ending::NoCommand;
    let mut story = Story::new(&guard, policy, span.max_hold, lock.verbose, ending);
    let mut exit = select! {
        biased;
        signal = signals.next_end() => Exit::by(signal),
        why = until_lost(&guard, &mut story, policy) => {
            giving_back::give_up(guard).await;
            return Err(Failure::new(exit_code::LEASE_LOST, why));
        }
        _ = end_of_input => Exit::Code(exit_code::SUCCESS),
    };
    // Who was told to end does not stay.
    let min_hold = span.min_hold.filter(|_| matches!(exit, Exit::Code(_)));
    if let Some(signal) = giving_back::linger(&guard, nodes, min_hold, begun, &mut signals).await {
        exit = Exit::by(signal);
    }
    giving_back::release(guard, lock.verbose).await;
    Ok(exit)
}

/// Waits for the loss, and tells the user of whatever comes before it.
async fn until_lost(guard: &HeldLease, story: &mut Story, policy: HoldPolicy) -> String {
    loop {
        if story.note(guard) {
            return story.why_held(guard);
        }
        select! {
            _ = guard.changed() => {}
            () = sleep(policy.rest(guard.remaining())) => {}
        }
    }
}

/// Tells when standard input ends. What comes before is read and dropped.
///
/// A thread of its own, which the end of the process ends: a read from a terminal or a pipe cannot be called off.
fn watch_input() -> Result<oneshot::Receiver<()>, Failure> {
    let (ended, end) = oneshot::channel();
    let watch = move || {
        drop(io::copy(&mut stdin().lock(), &mut io::sink()));
        let _ = ended.send(());
    };
    std::thread::Builder::new()
        .name("leasehold-input".into())
        .spawn(watch)
        .map_err(|error| Failure::own(format!("cannot watch standard input: {error}")))?;
    Ok(end)
}
