//! The end of a lease.

use crate::{
    duration::Shown, held_lease::HeldLease, manager::Manager, nodes::Nodes, output,
    signals::Signals,
};
use rustix::process::Signal;
use std::time::Duration;
use tokio::{
    select,
    time::{Instant, sleep_until, timeout},
};

/// Gives the lock back, and says so if that is not certain.
///
/// Once a quorum has confirmed, the other nodes are not waited for: their releases are on the wire, and a
/// node that hangs should cost no run anything.
pub(crate) async fn release(guard: HeldLease, verbose: bool) {
    let resource = guard.resource().clone();
    let resource = resource.quoted();
    match timeout(LIMIT, guard.release()).await {
        Ok(outcome) if outcome.is_released() => {
            if verbose {
                output::talk(format_args!("released {resource}"));
            }
        }
        Ok(outcome) => output::talk(format_args!("warning: {resource}: {outcome}")),
        Err(_) => output::talk(format_args!(
            "warning: {resource}: no answer to the release; the lock ends with its TTL"
        )),
    }
}

/// The same after work that may be done: then nobody has the lock before the next period, if there are periods.
pub(crate) async fn after(is_done: bool, guard: HeldLease, manager: &Manager, verbose: bool) {
    let turn = match guard {
        HeldLease::Once(turn) if is_done => turn,
        guard => return release(guard, verbose).await,
    };
    let resource = turn.resource().clone();
    let resource = resource.quoted();
    match timeout(LIMIT, turn.done()).await {
        Ok(Ok(())) => {
            if verbose {
                output::talk(format_args!("{resource} is kept until the period ends"));
            }
            return;
        }
        Ok(Err(error)) => output::talk(format_args!("warning: {error}")),
        Err(_) => output::talk(format_args!(
            "warning: {resource}: no answer; the command may be run again in this period"
        )),
    }
    // What did not come about is taken back.
    clean_up(manager).await;
}

/// Keeps a lock in a file on this machine that is to be held for longer, which servers do by themselves: there it
/// would end with this process. A signal ends the wait, and is what is returned.
pub(crate) async fn linger(
    guard: &HeldLease,
    nodes: &Nodes,
    min_hold: Option<Duration>,
    begun: Instant,
    signals: &mut Signals,
) -> Option<Signal> {
    let (Nodes::ThisMachine(_), Some(least)) = (nodes, min_hold) else {
        return None;
    };
    let rest = least.saturating_sub(begun.elapsed());
    if rest >= MOMENT {
        let (resource, rest) = (guard.resource().quoted(), Shown(rest));
        output::talk(format_args!(
            "keeping {resource} for {rest} more (--min-hold); Ctrl-C releases it"
        ));
    }
    select! {
        biased;
        signal = signals.next_end() => Some(signal),
        () = sleep_until(begun + least) => None,
    }
}

/// Gives back what is left of a lease that was lost: what is still ours on a few nodes is in the way of others. That
/// it was not ours to the end is no news.
pub(crate) async fn give_up(guard: HeldLease) {
    drop(timeout(LIMIT, guard.release()).await);
}

/// Waits until what a wait left on the nodes is taken back.
pub(crate) async fn clean_up(manager: &Manager) {
    drop(timeout(LIMIT, manager.shutdown()).await);
}

/// A wait that is shorter is no news.
const MOMENT: Duration = Duration::from_secs(1);

/// How long the nodes have to answer to a release.
const LIMIT: Duration = Duration::from_secs(2);
