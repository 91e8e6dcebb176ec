//! `leasehold doctor`: what is wrong, why it matters, what to do.

use crate::{
    agreement::{Agreement, Guard},
    args::views::DoctorArguments,
    diagnosis::{
        Diagnosis, Options, Patient,
        facts::{NodeFacts, NodeState, VoteFacts, count_once},
    },
    difference::{self, Difference},
    failure::Failure,
    nodes::Nodes,
    output, waiting,
};
use leasehold::operate::{Examination, Told};
use std::time::Duration;

/// Examines, and tells the code to exit with.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    let operator = nodes.to_look_at(&place.agreement)?.operator();
    let operator = operator.map_err(|error| nodes.wrong(&error))?;
    let quorum = operator.quorum();
    let told = waiting::for_it(operator.examine())?.map_err(|error| nodes.wrong(&error))?;
    let diagnosis = Diagnosis::of(patient(&place.agreement, quorum, &told));
    match arguments.json {
        true => output::data(diagnosis.json()),
        false => output::data(diagnosis.text()),
    }?;
    Ok(diagnosis.code())
}

/// The nodes as the rules see them.
pub(crate) fn patient(agreement: &Agreement, quorum: usize, told: &[Told<Examination>]) -> Patient {
    let mut nodes: Vec<_> = told.iter().map(NodeFacts::of).collect();
    count_once(&mut nodes);
    for node in &mut nodes {
        if let NodeState::Server(server) = &mut node.state
            && let VoteFacts::Others(theirs) = &mut server.vote
        {
            let differences = difference::between(&agreement.words(), theirs);
            if !differences.is_empty() {
                *theirs = Difference::told(&differences);
            }
        }
    }
    Patient {
        origin: agreement.origin.clone(),
        quorum,
        options: Options {
            ttl: agreement.usual_ttl(),
            clock_skew: agreement.clock_skew.unwrap_or(USUAL_SKEW),
            guard: agreement.restart_guard.unwrap_or(Guard::Quarantine),
        },
        nodes,
    }
}

/// As in the library, which does not tell.
const USUAL_SKEW: Duration = Duration::from_secs(2);
