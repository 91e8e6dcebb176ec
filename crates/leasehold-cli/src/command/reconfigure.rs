//! `leasehold reconfigure`: another configuration for servers that are in use.

use crate::{
    args::operator::ReconfigureArguments, duration::Shown, exit_code, failure::Failure, nodes,
    output, question, resolve::warn_of_password, waiting,
};
use leasehold::{
    ReconfigureError,
    operate::{Former, Reconfiguration},
};

/// Looks, asks, changes, and tells the code to exit with.
pub(crate) fn run(arguments: &ReconfigureArguments) -> Result<u8, Failure> {
    let nodes = nodes::servers(arguments.place.nodes.as_ref())?;
    warn_of_password("--from", arguments.from.as_ref());
    let operator = arguments.place.agreement.builder(nodes).operator();
    let operator = operator.map_err(|error| failure(&error.into()))?;
    let former = || match &arguments.from {
        Some(nodes) => Former::nodes(nodes.urls()),
        None => Former::same(),
    };
    let plan = waiting::for_it(operator.rehearse(former()))?.map_err(|error| failure(&error))?;
    tell_lists(&plan);
    if arguments.place.agreement.is_unguarded() && !plan.is_complete() {
        output::talk(
            "this takes two runs: without a restart guard the nodes cannot wait by themselves for the leases of before",
        );
    }
    if arguments.dry_run {
        // Nothing has been done that somebody could take for undone.
        output::data(lines(&plan))?;
        if !plan.is_complete() {
            let span = Shown(plan.quarantine);
            match plan.goes_on {
                true => output::talk(format_args!(
                    "one node would be replaced: locks would go on, and the new node would vote in {span}"
                )),
                false => output::talk(format_args!(
                    "whoever locks the old way would lose the lock, and nobody could have one for {span}"
                )),
            }
        }
        return Ok(exit_code::SUCCESS);
    }
    if !plan.is_complete() {
        question::ask(&question(&plan), arguments.yes)?;
    }
    let done = waiting::for_it(operator.reconfigure(former()))?.map_err(|error| failure(&error))?;
    let told = output::report(lines(&done));
    if let Some(left) = done.waits() {
        let left = Shown(left);
        return Err(Failure::new(
            exit_code::NO_QUORUM,
            format!("half done: the nodes vote for nobody until this is run again, in {left}"),
        ));
    } else if !done.is_complete() {
        output::talk(
            "not every node was told: run this again when they are back; those that never come back harm nobody",
        );
    }
    told.map(|()| exit_code::SUCCESS)
}

/// What is ended, and what comes.
fn tell_lists(plan: &Reconfiguration) {
    for from in &plan.from {
        output::talk(format_args!("from: {from}"));
        if from.contains(" guard=off ") {
            output::talk(
                "warning: with restart guard off nothing limits a TTL; wait for the longest one that was in use before \
                 you start anything new",
            );
        }
    }
    if plan.from.is_empty() {
        output::talk("from: nothing that these nodes know, with this namespace and database");
    }
    output::talk(format_args!("to:   {}", plan.to));
}

/// What it will cost.
fn question(plan: &Reconfiguration) -> String {
    let span = Shown(plan.quarantine);
    match plan.goes_on {
        true => format!(
            "Replace the node? Locks go on, and programs learn the new list; the new node votes in {span}."
        ),
        false => format!(
            "Change it? Whoever still locks the old way loses the lock; nobody can have one for {span}."
        ),
    }
}

fn lines(reconfiguration: &Reconfiguration) -> String {
    let nodes = reconfiguration.nodes.iter();
    let lines = nodes.map(|node| format!("{}\t{}", node.node, node.outcome));
    lines.collect::<Vec<_>>().join("\n")
}

fn failure(error: &ReconfigureError) -> Failure {
    let code = match error {
        ReconfigureError::OutOfReach { .. } | ReconfigureError::Unfinished { .. } => {
            exit_code::NO_QUORUM
        }
        ReconfigureError::Config(error) => return nodes::misused(error),
        _ => exit_code::USAGE,
    };
    let hint = match error {
        ReconfigureError::FormerNodes { .. } => {
            Some("--from gives the list that is in use".to_owned())
        }
        _ => None,
    };
    Failure::new(code, format!("cannot {error}")).hint(hint)
}
