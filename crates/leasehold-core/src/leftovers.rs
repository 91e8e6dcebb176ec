//! Keys that stand on nodes although the resource can be had: those of a holder that is gone, on so few nodes that they
//! are in nobody's way.

use crate::{
    node_set::{NodeId, NodeSet},
    resource::Resource,
    time::Instant,
};
use alloc::vec::Vec;
use core::time::Duration;

/// On which nodes such keys stand, and until when.
///
/// All who want a resource meet on one node. They would be refused there until the TTL of such a key has ended, while a
/// quorum of others is free, so they meet on another. No safety rests on it: it only says who is asked first.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Leftovers(Vec<Leftover>);

#[derive(Clone, Debug, Hash)]
struct Leftover {
    /// The resource's fingerprint: who takes one for another asks another node first, and no more.
    wanted: u64,
    node: NodeId,
    until: Instant,
}

impl Leftovers {
    /// The resource can be had, and this node's key is another's until `ends`.
    pub(crate) fn note(&mut self, now: Instant, resource: &Resource, node: NodeId, ends: Instant) {
        let wanted = resource.fingerprint();
        self.0
            .retain(|it| it.until > now && (it.wanted, it.node) != (wanted, node));
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        let until = ends.min(now.saturating_add(LONGEST));
        self.0.push(Leftover {
            wanted,
            node,
            until,
        });
    }

    /// A node's key may have changed; any key, if no resource is named.
    #[inline]
    pub(crate) fn forget(&mut self, node: NodeId, resource: Option<&Resource>) {
        if !self.0.is_empty() {
            let wanted = resource.map(Resource::fingerprint);
            let is_it = |it: &Leftover| wanted.is_none_or(|wanted| it.wanted == wanted);
            self.0.retain(|it| it.node != node || !is_it(it));
        }
    }

    /// The nodes with such a key.
    pub(crate) fn nodes(&self, now: Instant, resource: &Resource) -> NodeSet {
        let wanted = resource.fingerprint();
        let known = self.0.iter();
        known
            .filter(|it| it.wanted == wanted && it.until > now)
            .map(|it| it.node)
            .collect()
    }
}

/// How many are kept in mind; the oldest is forgotten first.
const MOST: usize = 64;

/// For how long one is kept in mind: others who do not know of it, or no longer, meet elsewhere meanwhile.
const LONGEST: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    fn at(secs: u64) -> Instant {
        Instant::from_origin(Duration::from_secs(secs))
    }

    fn node(index: usize) -> NodeId {
        NodeId::new(index).expect("a node")
    }

    fn named(name: &str) -> Resource {
        Resource::new(name).expect("a name")
    }

    #[test]
    fn a_leftover_is_known_until_it_ends_or_changes_and_not_for_too_long() {
        let (mut leftovers, resource) = (Leftovers::default(), named("r"));
        let known = |it: &Leftovers, secs| it.nodes(at(secs), &resource);
        leftovers.note(at(0), &resource, node(0), at(3));
        leftovers.note(at(0), &resource, node(1), Instant::NEVER);
        assert_eq!(known(&leftovers, 2).len(), 2);
        assert_eq!(known(&leftovers, 3), NodeSet::of(node(1)), "its TTL ended");
        assert_eq!(known(&leftovers, 10), NodeSet::EMPTY, "forgotten");
        assert_eq!(leftovers.nodes(at(2), &named("s")), NodeSet::EMPTY);
        leftovers.forget(node(1), Some(&named("s")));
        assert_eq!(known(&leftovers, 2).len(), 2, "another's key");
        leftovers.forget(node(1), Some(&resource));
        assert_eq!(known(&leftovers, 2), NodeSet::of(node(0)));
        leftovers.forget(node(0), None);
        assert_eq!(known(&leftovers, 2), NodeSet::EMPTY);
    }

    #[test]
    fn no_more_are_kept_in_mind_than_there_is_room_for() {
        let mut leftovers = Leftovers::default();
        for number in 0..MOST + 5 {
            let resource = named(&format!("r/{number}"));
            leftovers.note(at(0), &resource, node(0), Instant::NEVER);
        }
        assert_eq!(leftovers.0.len(), MOST);
        assert!(leftovers.nodes(at(1), &named("r/4")).is_empty());
        assert!(!leftovers.nodes(at(1), &named("r/5")).is_empty());
        leftovers.note(at(11), &named("r"), node(0), Instant::NEVER);
        assert_eq!(leftovers.0.len(), 1, "what has ended makes room");
    }
}
