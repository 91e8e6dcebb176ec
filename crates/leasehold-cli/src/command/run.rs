//! `leasehold run`: wait, run, keep, release.

use crate::{
    args::run::RunArguments,
    child::{self, Child},
    duration::Shown,
    exit_code,
    failure::Failure,
    nodes::Nodes,
    output,
    patience::Wait,
    signals::Signals,
    watch::{End, Watch},
};
use leasehold::{LeaseGuard, LockManager, clock::Clock};
use std::{io, time::Duration};
use tokio::{runtime, select, time::timeout};

/// Runs a command under a lock, and tells the code to exit with.
pub(crate) fn run(arguments: &RunArguments) -> Result<u8, Failure> {
    let nodes = Nodes::choose(arguments.nodes.as_ref());
    check_ttl(arguments, &nodes)?;
    let manager = nodes.manager(&arguments.agreement)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| cannot("start", &error))?;
    runtime.block_on(under_lock(&manager, &nodes, arguments))
}

/// Servers that may have forgotten locks wait for the longest TTL, so there must be one. Files do not forget.
fn check_ttl(arguments: &RunArguments, nodes: &Nodes) -> Result<(), Failure> {
    let longest = arguments.agreement.longest_ttl();
    let Some(longest) = longest.filter(|longest| arguments.ttl > *longest) else {
        return Ok(());
    };
    if let Nodes::ThisMachine(_) = nodes {
        return Ok(());
    }
    let text = format!(
        "the --ttl of {} is longer than the --max-ttl of {}, for which servers that may have forgotten a lock wait",
        Shown(arguments.ttl),
        Shown(longest)
    );
    let hint =
        "all who use these servers must say the same --max-ttl; `leasehold reconfigure` changes it";
    Err(Failure::new(exit_code::USAGE, text).hint(hint.to_owned()))
}

async fn under_lock(
    manager: &LockManager,
    nodes: &Nodes,
    arguments: &RunArguments,
) -> Result<u8, Failure> {
    let mut signals = Signals::listen().map_err(|error| cannot("listen to signals", &error))?;
    let wait = Wait::new(manager, nodes, arguments);
    let guard = select! {
        biased;
        signal = signals.next_end() => Err(Ok(exit_code::of_signal(signal.as_raw()))),
        guard = wait.acquire() => guard.map_err(Err),
    };
    let guard = match guard {
        Ok(guard) => guard,
        Err(end) => {
            // What the wait left on the nodes is taken back before the process goes.
            drop(timeout(RELEASE_LIMIT, manager.shutdown()).await);
            return end;
        }
    };
    let child = match Child::start(&arguments.command, variables(&guard, manager.clock())) {
        Ok(child) => child,
        Err(failure) => {
            release(guard).await;
            return Err(failure);
        }
    };
    let mut watch = Watch::new(
        &guard,
        arguments.ttl,
        arguments.max_hold,
        &mut signals,
        child,
    );
    match watch.until_the_end().await {
        Ok(End::Free(status)) => {
            release(guard).await;
            Ok(child::code(status))
        }
        Ok(End::Lost(why)) => {
            // What is still ours on a few nodes is in the way of others. That it was not ours to the end
            // is no news.
            drop(timeout(RELEASE_LIMIT, guard.release()).await);
            Err(Failure::new(exit_code::LEASE_LOST, why))
        }
        Err(error) => {
            if watch.has_group() {
                // It was killed and is still there, so the lock is left to its TTL.
                std::mem::forget(guard);
            } else {
                drop(timeout(RELEASE_LIMIT, guard.release()).await);
            }
            Err(cannot("wait for the command", &error))
        }
    }
}

/// What the command may know of its lock.
fn variables(guard: &LeaseGuard, clock: Clock) -> [(&'static str, String); 4] {
    // The wall clock is read first: what passes until the guard is asked makes the sum earlier, never
    // later.
    let until = clock.wall() + guard.remaining();
    let valid_until = format!("{}.{:03}", until.as_secs(), until.subsec_millis());
    [
        ("LEASEHOLD_RESOURCE", guard.resource().to_string()),
        ("LEASEHOLD_OWNER", guard.owner().to_string()),
        ("LEASEHOLD_VALID_UNTIL", valid_until),
        ("LEASEHOLD_FENCING_TOKEN", guard.fencing_token().to_string()),
    ]
}

/// Gives the lock back, and says so if that is not certain.
///
/// Once a quorum has confirmed, the other nodes are not waited for: their releases are on the wire, and a
/// node that hangs should cost no run anything.
async fn release(guard: LeaseGuard) {
    let resource = guard.resource().clone();
    let resource = resource.as_str();
    match timeout(RELEASE_LIMIT, guard.release()).await {
        Ok(outcome) if outcome.is_released() => {}
        Ok(outcome) => output::talk(format_args!("warning: {resource:?}: {outcome}")),
        Err(_) => output::talk(format_args!(
            "warning: {resource:?}: no answer to the release; the lock ends with its TTL"
        )),
    }
}

fn cannot(what: &str, error: &io::Error) -> Failure {
    Failure::own(format!("cannot {what}: {error}"))
}

/// How long the nodes have to answer to a release.
const RELEASE_LIMIT: Duration = Duration::from_secs(2);
