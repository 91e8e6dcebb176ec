//! `leasehold run`: wait, run, keep, release.

use crate::{
    args::run::RunArguments,
    exit::Exit,
    exit_code,
    failure::Failure,
    lock,
    manager::Manager,
    nodes::Nodes,
    signals::Signals,
    supervised_run::{Ended, SupervisedRun},
    wait::Wait,
};

/// Runs a command under a lock, and tells how to end.
pub(crate) fn run(arguments: &RunArguments) -> Result<Exit, Failure> {
    let RunArguments {
        lock,
        mode,
        part,
        span,
        once,
        loss,
        command,
        ..
    } = arguments;
    let nodes = Nodes::choose(lock.place.nodes.as_ref())?;
    lock::outlives(*once, lock.resource(), &nodes)?;
    let supervised_run = SupervisedRun::new(&nodes, lock, span, loss, command)?;
    let manager = lock::manager_of_mode(*mode, part, lock, &nodes)?;
    lock::runtime()?.block_on(under_lock(&manager, &nodes, arguments, &supervised_run))
}

async fn under_lock(
    manager: &Manager,
    nodes: &Nodes,
    arguments: &RunArguments,
    supervised_run: &SupervisedRun<'_>,
) -> Result<Exit, Failure> {
    let mut signals = Signals::listen()?;
    let options = lock::options(&arguments.lock, Some(&arguments.span));
    let wait = Wait::new(
        manager,
        nodes,
        &arguments.lock,
        options,
        Some(&arguments.wait),
    )
    .of_part(&arguments.part)
    .once(arguments.once);
    let guard = match wait.acquire_or_end(&mut signals).await {
        Ok(guard) => guard,
        Err(end) => return end,
    };
    match supervised_run.serve(guard, manager, &mut signals).await? {
        Ended::Free(exit) => Ok(exit),
        Ended::Lost(why, _) => Err(Failure::new(exit_code::LEASE_LOST, why)),
    }
}
