//! What the library says that the nodes have, as it is shown.

use super::{KeyView, PermitsView, Signature};
use crate::whose::Whose;
use leasehold::{FaultKind, Inspection, Key, NodeKey};
use std::time::Duration;

/// Who keeps others from having the lock, if no owner does: Redisson, whose lock is a hash, or somebody with a text that
/// is none.
pub(super) fn of_stranger(seen: &Inspection) -> Option<(String, Option<Duration>)> {
    let foreign = seen.nodes().iter().filter_map(|node| match &node.key {
        Key::Foreign {
            redisson,
            remaining,
            ..
        } => Some((redisson.clone().unwrap_or_default(), *remaining)),
        _ => None,
    });
    let foreign: Vec<_> = foreign.collect();
    let is_blocked = seen.nodes().len() - foreign.len() < seen.quorum();
    foreign.into_iter().next().filter(|_| is_blocked)
}

/// When the last of those who share it ends, if nobody extends.
pub(super) fn read_for(seen: &Inspection) -> Duration {
    let ends = seen.nodes().iter().filter_map(|node| match node.key {
        Key::Read { remaining } => Some(remaining),
        _ => None,
    });
    ends.max().unwrap_or_default()
}

pub(super) fn key_view(node: &NodeKey, whose: Whose) -> (String, KeyView) {
    let name = node.node.to_string();
    let sign = |owner: &[u8], left| KeyView::Lock(Signature::new(owner, left, whose));
    let key = match &node.key {
        Key::Free => KeyView::Nothing,
        Key::Held { holder, remaining } => sign(holder.as_bytes(), *remaining),
        Key::Read { remaining } => KeyView::Lock(Signature::of_readers(*remaining)),
        Key::Permits(permits) => KeyView::Permits(PermitsView::new(permits, whose).taken),
        Key::Foreign {
            redisson: Some(thread),
            remaining,
            ..
        } => sign(thread.as_bytes(), *remaining),
        Key::Foreign { kind, .. } => KeyView::Other(kind.clone()),
        Key::Unknown(fault) if fault.kind() == FaultKind::SameNode => KeyView::Twin,
        Key::Unknown(fault) => {
            let said = fault.to_string();
            let why = said.strip_prefix(&format!("{name}: ")).unwrap_or(&said);
            KeyView::Silent(why.to_owned())
        }
        _ => KeyView::Other(None),
    };
    (name, key)
}
