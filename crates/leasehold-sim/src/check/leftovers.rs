//! No key outlives its TTL, and none that could be taken back is left.

use super::{Property, Violation};
use crate::{node::Node, time::Moment};
use leasehold_core::{Owner, Request, Resource, Vote, table::Key};
use std::time::Duration;

/// What a granted request has left on the node: a key that is its owner's, for its TTL at most. `before`
/// is the key that stood there.
pub(crate) fn after_grant(
    now: Moment,
    node: &Node,
    before: Option<&Key>,
    request: &Request,
) -> Result<(), Violation> {
    let key = node.key(now, request.resource());
    let ttl = match request {
        Request::Release { .. } if key.is_some() => {
            return Err(violation("a released key is still there".to_owned()));
        }
        Request::Release { .. } => return Ok(()),
        Request::Acquire { ttl, .. } | Request::Extend { ttl, .. } => ttl.as_duration(),
    };
    let ours = key.filter(|key| key.owner == *request.owner());
    let Some(key) = ours else {
        return Err(violation("a granted key is not there".to_owned()));
    };
    let left = key.expires_at.saturating_since(node.time(now));
    let repeated = matches!(request, Request::Acquire { .. }) && before.is_some();
    if left > ttl || (repeated && before != Some(key)) {
        let what = format!("a key lives for {left:?}, its TTL is {ttl:?}");
        return Err(violation(what));
    }
    Ok(())
}

/// A release was reported as done: a quorum must be free of the key. A node that is down counts as free;
/// it was asked before.
pub(crate) fn after_release(
    now: Moment,
    nodes: &[Node],
    needed: usize,
    resource: &Resource,
    owner: &Owner,
) -> Result<(), Violation> {
    let carries = |node: &&Node| {
        node.key(now, resource)
            .is_some_and(|key| key.owner == *owner)
    };
    let free = nodes.len() - nodes.iter().filter(carries).count();
    if free >= needed {
        return Ok(());
    }
    Err(violation(format!(
        "{resource} is told to be released, but {free} nodes are free of it, not {needed}"
    )))
}

/// A key that stands on a node that its owner, who has let go of everything, could have reached.
pub(crate) fn left(node: usize, resource: &Resource, remaining: Duration) -> Violation {
    violation(format!(
        "a key of {resource} is left on n{node} for another {remaining:?}, though its owner has let go"
    ))
}

/// Whether a vote is one that leaves a key or takes it away.
pub(crate) fn acts(vote: &Vote) -> bool {
    *vote == Vote::Granted
}

fn violation(what: String) -> Violation {
    Violation {
        property: Property::Leftovers,
        what,
    }
}
