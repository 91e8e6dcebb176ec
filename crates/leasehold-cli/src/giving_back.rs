//! The end of a lease.

use crate::{duration::Shown, held_lease::HeldLease, nodes::Nodes, output, signals::Signals};
use leasehold::LockManager;
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
    end(guard, false, verbose).await;
}

/// The same after work that is done: where there are periods, nobody has the lock before the next one.
pub(crate) async fn done(guard: HeldLease, verbose: bool) {
    end(guard, true, verbose).await;
}

async fn end(guard: HeldLease, is_done: bool, verbose: bool) {
    let resource = guard.resource().clone();
    let resource = resource.quoted();
    let is_kept = is_done && matches!(guard, HeldLease::Once(_));
    let end = async {
        match is_done {
            true => guard.done().await,
            false => Ok(guard.release().await),
        }
    };
    match timeout(LIMIT, end).await {
        Ok(Ok(outcome)) if outcome.is_released() => {
            let how = if is_kept { "kept" } else { "released" };
            if verbose {
                output::talk(format_args!("{how} {resource}"));
            }
        }
        Ok(Ok(outcome)) => output::talk(format_args!("warning: {resource}: {outcome}")),
        Ok(Err(error)) => output::talk(format_args!("warning: cannot {error}")),
        Err(_) if is_kept => output::talk(format_args!(
            "warning: {resource}: no answer; the command may be run again in this period"
        )),
        Err(_) => output::talk(format_args!(
            "warning: {resource}: no answer to the release; the lock ends with its TTL"
        )),
    }
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
pub(crate) async fn clean_up(manager: &LockManager) {
    drop(timeout(LIMIT, manager.shutdown()).await);
}

/// A wait that is shorter is no news.
const MOMENT: Duration = Duration::from_secs(1);

/// How long the nodes have to answer to a release.
const LIMIT: Duration = Duration::from_secs(2);
