//! `leasehold acquire`: a lock that no process keeps.

use crate::{
    args::hold::AcquireArguments, exit::Exit, exit_code, failure::Failure, giving_back, lock,
    manager::Manager, nodes::Nodes, output, signals::Signals, told_lease::ToldLease, wait::Wait,
};
use std::time::Duration;
use tokio::time::timeout;

/// Acquires a lock, prints it, and tells how to end.
pub(crate) fn run(arguments: &AcquireArguments) -> Result<Exit, Failure> {
    let nodes = on_servers(Nodes::choose(arguments.lock.place.nodes.as_ref())?)?;
    let manager = lock::manager_of_part(&arguments.part, &arguments.lock, &nodes)?;
    lock::runtime()?.block_on(acquire(&manager, &nodes, arguments))
}

/// Refuses the store of this machine, where no lock outlives its process.
pub(super) fn on_servers(nodes: Nodes) -> Result<Nodes, Failure> {
    match nodes {
        Nodes::Servers(_) => Ok(nodes),
        Nodes::ThisMachine(_) => {
            let text = "in a file on this machine, a lock ends with its process";
            let hint =
                "give --nodes, or use `leasehold hold` or `leasehold run`, which keep a process";
            Err(Failure::new(exit_code::USAGE, text).hint(hint.to_owned()))
        }
    }
}

async fn acquire(
    manager: &Manager,
    nodes: &Nodes,
    arguments: &AcquireArguments,
) -> Result<Exit, Failure> {
    // A lock of which nobody knows the owner is in everybody's way and of use to nobody.
    output::check()?;
    let mut signals = Signals::listen()?;
    // It lives for a TTL, and nobody is there to extend it.
    let options = lock::options(&arguments.lock, None).no_renewal();
    let wait = Wait::new(
        manager,
        nodes,
        &arguments.lock,
        options,
        Some(&arguments.wait),
    )
    .of_part(&arguments.part);
    let guard = match wait.acquire_or_end(&mut signals).await {
        Ok(guard) => guard,
        Err(end) => return end,
    };
    let told = ToldLease::of(&guard, manager.clock());
    if let Err(unread) = told.print(arguments.json) {
        giving_back::give_up(guard).await;
        return Err(unread);
    }
    // A quorum has granted it. The other nodes are asked as well before this process ends, since nobody repairs the lock
    // later: what answers a look has answered the request before it.
    let first = arguments.lock.resource().names().next().unwrap_or_default();
    let look = manager.inspect(first);
    let _ = timeout(STRAGGLERS, look).await;
    guard
        .detach()
        .await
        .map_err(|lost| Failure::new(exit_code::LEASE_LOST, lost.to_string()))?;
    Ok(Exit::Code(exit_code::SUCCESS))
}

/// How long nodes have that are slower than a quorum.
const STRAGGLERS: Duration = Duration::from_millis(250);
