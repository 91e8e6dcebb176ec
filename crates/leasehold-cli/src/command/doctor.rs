//! `leasehold doctor`: what is wrong, why it matters, what to do.

use crate::{
    agreement::{Agreement, Guard},
    args::views::DoctorArguments,
    command::list,
    departure,
    diagnosis::{
        Diagnosis, Options, Patient,
        facts::{NodeFacts, NodeState, VoteFacts, count_once},
        findings,
    },
    difference::{self, Difference},
    duration::Shown,
    failure::Failure,
    nodes::Nodes,
    output, waiting,
};
use leasehold::{
    ConfigError,
    operate::{Examination, NodeAnswer, Operator, Told},
};
use std::time::Duration;

/// Examines, and tells the code to exit with.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<u8, Failure> {
    let place = &arguments.place;
    let nodes = Nodes::choose(place.nodes.as_ref())?;
    let operator = nodes.to_look_at(&place.agreement)?.operator();
    let operator = operator.map_err(|error| nodes.wrong(&error))?;
    let told = waiting::for_it(examine(&operator))?.map_err(|error| nodes.wrong(&error))?;
    let diagnosis = Diagnosis::of(patient(&place.agreement, &operator, &told));
    match arguments.json {
        true => output::data(diagnosis.json()),
        false => output::data(diagnosis.text()),
    }?;
    Ok(diagnosis.code())
}

/// Briefly, and once more with more patience if a node does not answer: that node is named meanwhile.
async fn examine(operator: &Operator) -> Result<Vec<Told<Examination>>, ConfigError> {
    let told = operator.answer_within(list::ANSWER).examine().await?;
    let silent = told.iter().flat_map(hanging);
    let silent: Vec<_> = silent.collect();
    if silent.is_empty() {
        return Ok(told);
    }
    output::talk(format_args!(
        "no answer within {} from {}; waiting for {} more",
        Shown(list::ANSWER),
        silent.join(", "),
        Shown(PATIENCE)
    ));
    operator.answer_within(PATIENCE).examine().await
}

/// Those that do not answer in time: the node, or masters of it.
fn hanging(told: &Told<Examination>) -> Vec<String> {
    let cluster = match &told.answer {
        NodeAnswer::Told(seen) => seen.cluster.as_ref(),
        _ => None,
    };
    match cluster {
        Some(cluster) => { cluster.shards.iter() }
            .filter(|master| hangs(&master.answer))
            .map(|master| master.address.clone())
            .collect(),
        None => { hangs(&told.answer).then(|| told.node.to_string()) }
            .into_iter()
            .collect(),
    }
}

fn hangs(answer: &NodeAnswer<Examination>) -> bool {
    let is_late = |why: &String| findings::hangs(why);
    match answer {
        NodeAnswer::Silent(why) => is_late(why),
        NodeAnswer::Told(seen) => {
            matches!(&seen.survey, Some(NodeAnswer::Silent(why)) if is_late(why))
        }
        _ => false,
    }
}

/// The nodes as the rules see them.
pub(crate) fn patient(
    agreement: &Agreement,
    operator: &Operator,
    told: &[Told<Examination>],
) -> Patient {
    let is_plain = operator.is_plain();
    let mut nodes: Vec<_> = told.iter().map(NodeFacts::of).collect();
    count_once(&mut nodes);
    for node in &mut nodes {
        if let NodeState::Server(server) = &mut node.state
            && let VoteFacts::Others(theirs) = &mut server.vote
        {
            let differences = difference::between(operator.configuration(), theirs);
            if !differences.is_empty() {
                *theirs = Difference::told(&differences);
            }
        }
    }
    Patient {
        origin: agreement.origin.clone(),
        quorum: operator.quorum(),
        options: Options {
            ttl: agreement.usual_ttl(),
            clock_skew: agreement.clock_skew.unwrap_or(USUAL_SKEW),
            guard: match is_plain {
                true => Guard::Off,
                false => agreement.restart_guard.unwrap_or(Guard::Quarantine),
            },
            is_plain,
            replicated: agreement.replicated.map(|replicated| replicated.what),
            on_disk: agreement.on_disk.map(|on_disk| on_disk.what),
        },
        nodes,
        replaced: told.iter().filter_map(departure::replaced).collect(),
    }
}

/// How long a node has for each answer, once it is known to be late: four times what a vote may take at most.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// As in the library, which does not tell.
const USUAL_SKEW: Duration = Duration::from_secs(2);
