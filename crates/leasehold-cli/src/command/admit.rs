//! `leasehold admit`: the operator's word that servers may vote now.

use crate::{
    args::operator::AdmitArguments,
    exit_code,
    failure::Failure,
    hint,
    nodes::{self, misused},
    output, question, waiting,
};
use leasehold::{
    Abstention, AbstentionCause,
    operate::{Admission, NodeAnswer, Survey, Told},
};

/// Looks, asks, admits, and tells the code to exit with.
pub(crate) fn run(arguments: &AdmitArguments) -> Result<u8, Failure> {
    let nodes = nodes::servers(arguments.place.nodes.as_ref())?;
    let operator = arguments.place.agreement.builder(nodes).operator();
    let operator = operator.map_err(|error| misused(&error))?;
    let survey = waiting::for_it(operator.survey())?.map_err(|error| misused(&error))?;
    let addresses = Addresses::of(&survey);
    let abstaining = tell(&survey, &addresses);
    if abstaining
        .iter()
        .any(|abstention| abstention.cause == AbstentionCause::Reconfigured)
    {
        output::talk(
            "warning: some of them were reconfigured, and wait for the end of leases that are held under the old \
             configuration: admit them only if no job of before runs any more",
        );
    }
    if !abstaining.is_empty() {
        let question = format!(
            "Let {} of {} nodes vote at once? Two may hold a lock if any of them has forgotten one that is still held.",
            abstaining.len(),
            addresses.servers().count()
        );
        question::ask(&question, arguments.yes)?;
    }
    let told = waiting::for_it(operator.admit())?.map_err(|error| misused(&error))?;
    report(&told, &addresses)
}

/// Says what the servers say of themselves. The answer is why those do not vote that do not.
fn tell(survey: &[Told<Survey>], addresses: &Addresses) -> Vec<Abstention> {
    for (number, told) in survey.iter().enumerate() {
        match addresses.twin_of(number) {
            None => output::talk(format_args!("{}: {}", told.node, told.answer)),
            Some(first) => output::talk(format_args!(
                "{}: the same server as {}",
                told.node, survey[first].node
            )),
        }
    }
    let (nodes, servers) = (survey.len(), addresses.servers().count());
    if servers < nodes {
        let plural = if servers == 1 { "" } else { "s" };
        output::talk(format_args!(
            "warning: {nodes} addresses lead to {servers} server{plural}, and each server has one vote"
        ));
        output::hint("list each server once");
    }
    let abstention = |first: usize| match &survey[first].answer {
        NodeAnswer::Told(survey) => survey.abstains,
        _ => None,
    };
    addresses.servers().filter_map(abstention).collect()
}

/// Prints what became of the nodes, and tells the code to exit with.
fn report(told: &[Told<Admission>], addresses: &Addresses) -> Result<u8, Failure> {
    let line = |(number, node): (usize, &Told<Admission>)| match addresses.twin_of(number) {
        None => format!("{}\t{}", node.node, addresses.answer(told, number)),
        Some(first) => format!("{}\tthe same server as {}", node.node, told[first].node),
    };
    let lines: Vec<_> = told.iter().enumerate().map(line).collect();
    let (mut silent, mut disagree) = (0, 0);
    for first in addresses.servers() {
        match addresses.answer(told, first) {
            NodeAnswer::Silent(_) => silent += 1,
            NodeAnswer::Told(Admission::Disagrees { .. }) => disagree += 1,
            _ => {}
        }
    }
    let nodes = addresses.servers().count();
    let printed = output::report(lines.join("\n"));
    match (disagree, silent) {
        (0, 0) => printed.map(|()| exit_code::SUCCESS),
        (0, silent) => Err(Failure::new(
            exit_code::NO_QUORUM,
            if silent == nodes {
                "none of the nodes could be told".to_owned()
            } else {
                format!("{silent} of {nodes} nodes could not be told; the others vote")
            },
        )),
        (disagree, _) => Err(Failure::new(
            exit_code::USAGE,
            format!("{disagree} of {nodes} nodes are used with another configuration and were left as they are"),
        )
        .hint(hint::SAY_THE_SAME.to_owned())),
    }
}

/// Which addresses of the list lead to one server: for each its number, and for one too many that of the first.
struct Addresses(Vec<usize>);

impl Addresses {
    fn of(survey: &[Told<Survey>]) -> Self {
        let processes: Vec<_> = survey.iter().map(process).collect();
        let first = |(number, process): (usize, &Option<&str>)| {
            let same = processes.iter().position(|other| other == process);
            same.filter(|_| process.is_some()).unwrap_or(number)
        };
        Self(processes.iter().enumerate().map(first).collect())
    }

    /// The first address of the server that this one leads to, if that is another.
    fn twin_of(&self, number: usize) -> Option<usize> {
        Some(self.0[number]).filter(|first| *first != number)
    }

    /// The first address of each server.
    fn servers(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len()).filter(|number| self.twin_of(*number).is_none())
    }

    /// What became of a server: all its addresses were told, and the one that came first has changed something.
    fn answer<'a>(&self, told: &'a [Told<Admission>], first: usize) -> &'a NodeAnswer<Admission> {
        let of_server = self.0.iter().zip(told);
        let of_server = of_server.filter(|(number, _)| **number == first);
        let answers = of_server.map(|(_, told)| &told.answer);
        let rank = |answer: &&NodeAnswer<Admission>| match answer {
            NodeAnswer::Told(Admission::Admitted { was: Some(_) }) => 0,
            NodeAnswer::Silent(_) => 2,
            _ => 1,
        };
        answers.min_by_key(rank).unwrap_or(&told[first].answer)
    }
}

/// The process that runs there, if it tells.
fn process(told: &Told<Survey>) -> Option<&str> {
    let NodeAnswer::Told(survey) = &told.answer else {
        return None;
    };
    let process = survey.identity.split('/').next();
    process.filter(|process| !process.is_empty())
}
