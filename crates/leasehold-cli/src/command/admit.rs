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
    AbstentionCause,
    operate::{Admission, NodeAnswer},
};

/// Looks, asks, admits, and tells the code to exit with.
pub(crate) fn run(arguments: &AdmitArguments) -> Result<u8, Failure> {
    let nodes = nodes::servers(arguments.place.nodes.as_ref())?;
    let operator = arguments.place.agreement.builder(nodes).operator();
    let operator = operator.map_err(|error| misused(&error))?;
    let survey = waiting::for_it(operator.survey())?.map_err(|error| misused(&error))?;
    let (mut abstaining, mut is_reconfigured) = (0, false);
    for told in &survey {
        output::talk(format_args!("{}: {}", told.node, told.answer));
        let abstention = match &told.answer {
            NodeAnswer::Told(survey) => survey.abstains,
            _ => None,
        };
        abstaining += usize::from(abstention.is_some());
        is_reconfigured |=
            abstention.is_some_and(|abstention| abstention.cause == AbstentionCause::Reconfigured);
    }
    if is_reconfigured {
        output::talk(
            "warning: some of them were reconfigured, and wait for the end of leases that are held under the old \
             configuration: admit them only if no job of before runs any more",
        );
    }
    if abstaining > 0 {
        let question = format!(
            "Let {abstaining} of {} nodes vote at once? Two may hold a lock if any of them has forgotten one that is \
             still held.",
            survey.len()
        );
        question::ask(&question, arguments.yes)?;
    }
    let told = waiting::for_it(operator.admit())?.map_err(|error| misused(&error))?;
    let (mut silent, mut disagree, mut lines) = (0, 0, Vec::new());
    for told in &told {
        lines.push(format!("{}\t{}", told.node, told.answer));
        match &told.answer {
            NodeAnswer::Silent(_) => silent += 1,
            NodeAnswer::Told(Admission::Disagrees { .. }) => disagree += 1,
            _ => {}
        }
    }
    let nodes = told.len();
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
