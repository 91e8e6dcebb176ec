//! What nodes have under a lock's name that answer, and do not vote: a manager is not told of their keys.

use crate::{
    agreement::Agreement,
    diagnosis::{
        Patient,
        facts::{NodeFacts, NodeState, VoteFacts},
        findings,
    },
    failure::Failure,
    lock_view::{KeyView, LockView},
    nodes::Nodes,
    usable, waiting,
};
use leasehold::Inspection;
use std::collections::BTreeMap;

/// What was seen once these nodes were asked otherwise.
pub(crate) struct Disclosure {
    pub(crate) seen: Inspection,
    /// Why nodes do not vote of which a manager heard nothing else.
    pub(crate) refusals: BTreeMap<String, String>,
    pub(crate) patient: Patient,
}

/// Asks the nodes of which a manager heard no more than why they do not vote. None if there are none.
pub(crate) fn heard(
    nodes: &Nodes,
    agreement: &Agreement,
    seen: &Inspection,
    view: &LockView,
) -> Result<Option<Disclosure>, Failure> {
    let mute: BTreeMap<_, _> = view.keys.iter().filter_map(mute).collect();
    if nodes.folder().is_some() || mute.is_empty() {
        return Ok(None);
    }
    let resource = seen.resource().as_str();
    let patient = usable::examined(nodes, agreement, Some(resource), None)?;
    let answering = patient.nodes.iter().filter(|node| answers(node));
    let wanted: Vec<_> = { answering }
        .filter(|node| mute.contains_key(&node.name))
        .collect();
    let operator = nodes.operator(agreement)?;
    let looked = waiting::for_it(operator.look_at_these(seen.clone(), |name| {
        wanted.iter().any(|node| node.name == name.to_string())
    }))?;
    let seen = looked.map_err(|error| nodes.wrong(&error))?;
    let refuses = |node: &&&NodeFacts| patient.votes_in(node) == Some(false);
    let why = |node: &&NodeFacts| Some((node.name.clone(), mute.get(&node.name)?.clone()));
    let refusals = wanted.iter().filter(refuses).filter_map(why).collect();
    Ok(Some(Disclosure {
        seen,
        refusals,
        patient,
    }))
}

/// The nodes that may have answered, since they are neither late nor away.
fn mute((node, key): &(String, KeyView)) -> Option<(String, String)> {
    match key {
        KeyView::Silent(why) if !findings::hangs(why) && !why.ends_with("connection refused") => {
            Some((node.clone(), why.clone()))
        }
        _ => None,
    }
}

/// Whether it has answered, and is no server that has done so under another address.
fn answers(node: &NodeFacts) -> bool {
    match &node.state {
        NodeState::Server(server) => !matches!(server.vote, VoteFacts::SameAs(_)),
        NodeState::Cluster(cluster) => cluster.same_as.is_none(),
        _ => false,
    }
}
