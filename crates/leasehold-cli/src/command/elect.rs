//! `leasehold elect`: campaign, lead, and campaign again; or look on.

mod observation;

use crate::{
    args::elect::ElectArguments,
    exit::Exit,
    exit_code,
    failure::Failure,
    lock,
    manager::Manager,
    nodes::Nodes,
    output,
    signals::Signals,
    supervised_run::{Ended, SupervisedRun},
    wait::Wait,
};

/// Leads or looks on, and tells how to end.
pub(crate) fn run(arguments: &ElectArguments) -> Result<Exit, Failure> {
    let ElectArguments {
        lock,
        span,
        loss,
        command,
        ..
    } = arguments;
    let nodes = Nodes::choose(lock.place.nodes.as_ref())?;
    let supervised_run = SupervisedRun::new(&nodes, lock, span, loss, command)?.of_leader();
    if arguments.observe {
        return lock::runtime()?.block_on(observation::run(&nodes, arguments));
    }
    let manager = lock::manager(lock, &nodes)?;
    lock::runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        campaign(&manager, &nodes, arguments, &supervised_run, &mut signals).await
    })
}

async fn campaign(
    manager: &Manager,
    nodes: &Nodes,
    arguments: &ElectArguments,
    supervised_run: &SupervisedRun<'_>,
    signals: &mut Signals,
) -> Result<Exit, Failure> {
    let options = lock::options(&arguments.lock, Some(&arguments.span));
    let wait = Wait::new(manager, nodes, &arguments.lock, options, None);
    loop {
        let guard = match wait.acquire_or_end(signals).await {
            Ok(guard) => guard,
            Err(end) => return end,
        };
        if arguments.lock.verbose {
            let resource = arguments.lock.resource().quoted();
            let term = guard.token().expect("a leader's lease is a writer's");
            output::talk(format_args!("leading {resource}: term {term}"));
        }
        match supervised_run.serve(guard, manager, signals).await? {
            Ended::Free(exit) => return Ok(exit),
            Ended::Lost(why, _) if arguments.once => {
                return Err(Failure::new(exit_code::LEASE_LOST, why));
            }
            // Who was told to end has no reason to lead again.
            Ended::Lost(why, Some(signal)) => {
                output::error(why);
                return Ok(Exit::by(signal));
            }
            Ended::Lost(why, None) => output::error(format_args!("{why}; campaigning again")),
        }
    }
}
