//! What the nodes say about a lock.

mod permits;
mod sentence;

use crate::{
    error::{InspectError, NodeFault, name_faults},
    handle::Handle,
    link::NodeName,
    manager::LockManager,
    mode::Mode,
    outcome::ReleaseOutcome,
};
use leasehold_core::{
    FencingToken, NodeId, Owner, Permit, PermitCount, Quorum, Refusal, Resource, Vote,
};
use std::time::Duration;

pub use permits::{HeldPermit, HeldPermits};

/// What each node said about a lock, at about the same time. It may be over already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    resource: Resource,
    quorum: Quorum,
    nodes: Vec<NodeKey>,
}

/// What one node said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeKey {
    /// The node.
    pub node: NodeName,
    /// What it has under the resource's name.
    pub key: Key,
    /// How far it has counted grants for fencing tokens, of this resource and of others that share its counter. None if
    /// it was not asked for it, as by `look_on` of [operators](crate::ManagerBuilder::operator), or has none.
    pub counter: Option<FencingToken>,
}

/// What a node has under a resource's name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Key {
    /// Nothing.
    Free,
    /// A lock.
    Held {
        /// Whose.
        holder: Owner,
        /// How long it lives if nobody extends it; none if for ever.
        remaining: Option<Duration>,
    },
    /// A lock of those who [read](crate::RwLock). Only where the node was asked for the type, as by
    /// [`look`](crate::operate::Operator::look) of operators; elsewhere it is [`Foreign`](Self::Foreign).
    Read {
        /// How long the last of them lives if nobody extends it.
        remaining: Duration,
    },
    /// Permits. Only where the node was asked for the type, as with [`Read`](Self::Read).
    Permits(HeldPermits),
    /// A key that is no lock of this kind, or one of those who read or have permits where the type is not known.
    Foreign {
        /// Of which type it is, as the server calls it: `hash`, `list`; `string` for a text that is longer than any owner.
        /// None where the server was not asked, as by [`inspect`](LockManager::inspect), or does not tell.
        kind: Option<String>,
        /// Who has the lock, where it is a hash in which Redisson keeps one: `UUID:thread`.
        redisson: Option<String>,
        /// How long it lives; none if for ever.
        remaining: Option<Duration>,
    },
    /// Not known: the node did not answer, or is another address of one that did.
    Unknown(NodeFault),
}

impl Inspection {
    /// Of what the nodes said to somebody else than a manager.
    #[cfg(feature = "redis")]
    pub(crate) const fn of(resource: Resource, quorum: Quorum, nodes: Vec<NodeKey>) -> Self {
        Self {
            resource,
            quorum,
            nodes,
        }
    }

    /// What the nodes say to this manager now; none if it has ended.
    pub(crate) async fn by(handle: &Handle, resource: &Resource, limit: Duration) -> Option<Self> {
        let mut names = handle.nodes();
        let mut votes = handle.inspect(resource.clone(), limit).await?;
        // Meanwhile the manager may learn that a node was replaced: what it has from the former one says nothing of the new one.
        while names != handle.nodes() {
            names = handle.nodes();
            votes = handle.inspect(resource.clone(), limit).await?;
        }
        let node_key = |(node, vote): (NodeId, Vote)| NodeKey {
            node: names[node.index()].clone(),
            key: Key::from_core(&names, node, vote),
            counter: None,
        };
        Some(Self {
            resource: resource.clone(),
            quorum: handle.quorum(),
            nodes: votes.into_iter().map(node_key).collect(),
        })
    }

    /// What a node said since.
    #[cfg(feature = "redis")]
    pub(crate) fn note(
        &mut self,
        number: usize,
        key: Result<Key, String>,
        counter: Option<FencingToken>,
    ) {
        if let Some(node) = self.nodes.get_mut(number) {
            node.counter = counter;
            node.key =
                key.unwrap_or_else(|why| Key::Unknown(NodeFault::down(node.node.clone(), &why)));
        }
    }

    /// Whether so many nodes are silent that the others cannot tell whether the lock is free or held.
    #[must_use]
    pub fn is_unclear(&self) -> bool {
        let silent = self.count(|key| matches!(key, Key::Unknown(_)));
        self.nodes.len() - silent < self.quorum.needed()
    }

    /// How many nodes are enough to decide who holds the lock.
    #[must_use]
    pub const fn quorum(&self) -> usize {
        self.quorum.needed()
    }

    /// What was looked at.
    #[must_use]
    pub const fn resource(&self) -> &Resource {
        &self.resource
    }

    /// Every node's word, in the order of the manager's nodes.
    #[must_use]
    pub fn nodes(&self) -> &[NodeKey] {
        &self.nodes
    }

    /// Who holds the lock, by the word of a quorum. None if nobody does, or too few nodes agree.
    #[must_use]
    pub fn holder(&self) -> Option<&Owner> {
        let needed = self.quorum.needed();
        self.holders()
            .find(|holder| self.count(|key| key.holder() == Some(*holder)) >= needed)
    }

    /// Whether a quorum of nodes has nothing under the name: a caller that tries now may win. A node that has restarted or was
    /// flushed has nothing either: while it does not vote, somebody may hold a lock that it has forgotten.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.count(|key| *key == Key::Free) >= self.quorum.needed()
    }

    /// Whether those who [read](crate::RwLock) have the lock, by the word of a quorum. Only where the nodes were asked for the type of
    /// the key, as by [`look`](crate::operate::Operator::look).
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.count(|key| matches!(key, Key::Read { .. })) >= self.quorum.needed()
    }

    /// The type of the key (`hash`, `list` …), if on so many nodes it is neither a text nor another library's lock that nobody
    /// can have the lock before somebody deletes it. Only where the nodes were asked for the type, as by
    /// [`look`](crate::operate::Operator::look).
    #[must_use]
    pub fn other_type(&self) -> Option<&str> {
        let others: Vec<_> = self
            .nodes
            .iter()
            .filter_map(|node| node.key.other_type())
            .collect();
        let is_blocked = self.nodes.len() - others.len() < self.quorum.needed();
        others.first().copied().filter(|_| is_blocked)
    }

    /// How long the holder's lock lives at least, on a quorum of nodes, if nobody extends it. None if nobody
    /// holds it, or if it lives for ever.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let holder = self.holder()?;
        let times = self.nodes.iter().filter_map(|node| match &node.key {
            Key::Held {
                holder: other,
                remaining,
            } if other == holder => Some(remaining.unwrap_or(Duration::MAX)),
            _ => None,
        });
        let mut times: Vec<_> = times.collect();
        // The quorum that lasts longest is as strong as its weakest member.
        times.sort_unstable_by(|one, other| other.cmp(one));
        let quorums = times.get(self.quorum.needed() - 1).copied();
        quorums.filter(|time| *time < Duration::MAX)
    }

    /// What the holder's fencing token is at most, where nodes were asked for their counters: as soon as it holds the lock,
    /// every node that has its key has counted that far. The token itself is known to the holder alone, since resources
    /// share counters. None if nobody holds it.
    #[must_use]
    pub fn token_at_most(&self) -> Option<FencingToken> {
        let holder = self.holder()?;
        let theirs = |node: &&NodeKey| node.key.holder() == Some(holder);
        let counters = self.nodes.iter().filter(theirs).map(|node| node.counter);
        // The largest: while the holder is about to be told, some are below it.
        counters.flatten().max()
    }

    /// The nodes that do not say what a quorum says: leftovers of others, keys that were lost, nodes that
    /// did not answer. Where no quorum says the same, these are the nodes that did not answer.
    pub fn differing(&self) -> impl Iterator<Item = &NodeKey> {
        let holder = self.holder();
        self.nodes.iter().filter(move |node| match holder {
            Some(_) => node.key.holder() != holder,
            None if self.is_free() => node.key != Key::Free,
            None => matches!(node.key, Key::Unknown(_)),
        })
    }

    /// What was seen, with nothing in it of the owners that are not `wanted`: for [`evict`](LockManager::evict), which then
    /// leaves them alone.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&Owner) -> bool) -> Self {
        for node in &mut self.nodes {
            if let Key::Held { holder, remaining } = &node.key
                && !wanted(holder)
            {
                node.key = Key::Foreign {
                    kind: None,
                    redisson: None,
                    remaining: *remaining,
                };
            }
            if let Key::Permits(permits) = &mut node.key {
                permits.held.retain(|permit| wanted(&permit.holder));
            }
        }
        self
    }

    /// Everybody who has a key on some node, or a permit, of so many.
    fn owners(&self) -> impl Iterator<Item = (&Owner, Option<PermitCount>)> {
        self.nodes.iter().flat_map(|node| {
            let holder = node.key.holder().map(|holder| (holder, None));
            let held = node.key.permits().map(|permits| &permits.held);
            let permits = held.into_iter().flatten().map(|permit| {
                let owner = &permit.holder;
                (owner, owner.permit().map(Permit::of))
            });
            holder.into_iter().chain(permits)
        })
    }

    /// Everybody who has a key on some node.
    fn holders(&self) -> impl Iterator<Item = &Owner> {
        self.nodes.iter().filter_map(|node| node.key.holder())
    }

    fn count(&self, is_so: impl Fn(&Key) -> bool) -> usize {
        self.nodes.iter().filter(|node| is_so(&node.key)).count()
    }
}

impl Key {
    /// Whose lock it is.
    #[must_use]
    pub const fn holder(&self) -> Option<&Owner> {
        match self {
            Self::Held { holder, .. } => Some(holder),
            _ => None,
        }
    }

    /// The type of a key that is no text, and no lock that another library keeps.
    fn other_type(&self) -> Option<&str> {
        match self {
            Self::Foreign {
                kind: Some(kind),
                redisson: None,
                ..
            } if kind != "string" => Some(kind),
            _ => None,
        }
    }

    fn from_core(names: &[NodeName], node: NodeId, vote: Vote) -> Self {
        match vote {
            Vote::Granted { .. } => Self::Free,
            Vote::Refused(Refusal {
                holder: Some(holder),
                remaining,
                ..
            }) => Self::Held { holder, remaining },
            Vote::Refused(Refusal {
                holder: None,
                remaining,
                ..
            }) => Self::Foreign {
                kind: None,
                redisson: None,
                remaining,
            },
            Vote::Unknown(fault) => {
                let mut named = name_faults(names, vec![(node, fault)]);
                Self::Unknown(named.remove(0))
            }
        }
    }
}

/// Whom a forced release put out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Eviction {
    /// What the nodes said before.
    pub before: Inspection,
    /// Everybody whose keys were deleted, and what became of that. The first is the holder, if a quorum
    /// had one.
    pub evicted: Vec<(Owner, ReleaseOutcome)>,
}

impl<M: Mode> LockManager<M> {
    /// Asks every node what it has under the resource's name. Changes nothing.
    ///
    /// Waits for all nodes, for the time limit of the manager's default options at most.
    ///
    /// # Errors
    /// [`InspectError`] if the name cannot be used, or the manager's thread has ended. Nodes that do not
    /// answer are part of the result.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    ///
    /// # Examples
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let manager = leasehold::LockManager::builder().memory(3).build()?;
    /// assert!(manager.inspect("report").await?.is_free());
    /// let guard = manager.mutex("report")?.acquire().await?;
    /// let seen = manager.inspect("report").await?;
    /// assert_eq!(seen.holder(), Some(guard.owner()));
    /// assert_eq!(seen.differing().count(), 0);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn inspect(&self, resource: &str) -> Result<Inspection, InspectError> {
        let resource = Resource::new(resource).map_err(InspectError::Resource)?;
        let limit = self.timing().node_limit();
        let seen = Inspection::by(self.handle(), &resource, limit).await;
        seen.ok_or(InspectError::ShutDown)
    }

    /// Releases the lock, whoever holds it, and the leftovers of others, on every node that answers: the
    /// operator's way out. **Two may hold the lock afterwards**: the one who is put out may not know it
    /// before the next extension.
    ///
    /// Each key is deleted only if it still is as it was seen: a lock that changes hands meanwhile stays.
    /// Keys that are no locks stay as well, and so do those who read or have permits, whom nodes do not name here; permits that
    /// an operator has [looked](crate::operate::Operator::look) at can be [evicted](Self::evict). Waits for the nodes' time limit
    /// twice at most.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect).
    ///
    /// # Cancel safety
    /// Dropping the future stops before the next owner's keys; what was begun goes on in the background.
    pub async fn force_release(&self, resource: &str) -> Result<Eviction, InspectError> {
        let before = self.inspect(resource).await?;
        Ok(self.evict(before).await)
    }

    /// As [`force_release`](Self::force_release), but only those are put out who were seen: an operator who was asked
    /// about them has said nothing about holders that came meanwhile.
    ///
    /// Waits for the nodes' time limit, for each owner that was seen.
    ///
    /// # Cancel safety
    /// As [`force_release`](Self::force_release).
    pub async fn evict(&self, before: Inspection) -> Eviction {
        let timing = *self.timing();
        let mut owners: Vec<(Owner, Resource)> = Vec::new();
        let holder = before.holder().map(|holder| (holder, None));
        for (owner, of) in holder.into_iter().chain(before.owners()) {
            if owners.iter().all(|(known, _)| known != owner) {
                let permit = of.and_then(|of| Resource::permit(before.resource.as_str(), of).ok());
                let resource = permit.unwrap_or_else(|| before.resource.clone());
                owners.push((owner.clone(), resource));
            }
        }
        let mut evicted = Vec::new();
        for (owner, resource) in owners {
            let outcome = self.handle().evict(resource, owner.clone(), timing).await;
            let outcome = ReleaseOutcome::from_core(outcome, || self.handle().nodes());
            evicted.push((owner, outcome));
        }
        Eviction { before, evicted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{Fault, FaultKind};

    fn inspection(keys: &[(&str, u64)]) -> Inspection {
        let key = |(holder, left): &(&str, u64)| match Owner::from_bytes(holder.as_bytes()) {
            None => Key::Free,
            Some(holder) => Key::Held {
                holder,
                remaining: Some(Duration::from_secs(*left)),
            },
        };
        let named = |key| NodeKey {
            node: NodeName::new("n"),
            key,
            counter: None,
        };
        Inspection {
            resource: Resource::new("r").expect("a name"),
            quorum: Quorum::majority(keys.len()).expect("a few nodes"),
            nodes: keys.iter().map(key).map(named).collect(),
        }
    }

    #[test]
    fn a_lock_is_held_by_whom_a_quorum_names() {
        let held = inspection(&[("a", 9), ("", 0), ("a", 4), ("b", 99), ("a", 7)]);
        assert_eq!(held.holder().map(Owner::as_bytes), Some(&b"a"[..]));
        assert_eq!(held.remaining(), Some(Duration::from_secs(4)));
        assert!(!held.is_free());
        assert_eq!(held.differing().count(), 2);
        let said = "lock \"r\": held by another program on 3 of 5 nodes (quorum 3); n: free; \
            n: held by another program (for at most 1 min 39 s unless extended)";
        assert_eq!(held.to_string(), said);
    }

    #[test]
    fn an_owner_that_is_not_wanted_is_no_holder() {
        let seen = inspection(&[("a", 9), ("b", 4), ("a", 9)]);
        let only = seen.clone().only(|owner| owner.as_bytes() == b"b");
        assert_eq!(only.holder(), None);
        let holders: Vec<_> = only.holders().map(Owner::as_bytes).collect();
        assert_eq!(holders, [b"b"]);
        assert!(!only.is_free(), "what is there is there");
        assert_eq!(seen.clone().only(|_| true), seen);
    }

    #[test]
    fn a_token_is_no_larger_than_what_the_holders_nodes_have_counted() {
        let mut held = inspection(&[("a", 9), ("a", 4), ("b", 99)]);
        assert_eq!(held.token_at_most(), None, "nobody was asked");
        for (node, counter) in held.nodes.iter_mut().zip([7, 5, 9]) {
            node.counter = FencingToken::new(counter);
        }
        assert_eq!(held.token_at_most(), FencingToken::new(7));
        let free = inspection(&[("", 0), ("b", 99), ("", 0)]);
        assert_eq!(free.token_at_most(), None);
    }

    #[test]
    fn a_lock_is_free_where_a_quorum_has_nothing() {
        let free = inspection(&[("", 0), ("a", 4), ("", 0)]);
        assert!(free.is_free());
        assert_eq!(free.holder(), None);
        assert_eq!(free.differing().count(), 1);
        let split = inspection(&[("a", 1), ("b", 1), ("", 0)]);
        assert!(!split.is_free());
        assert_eq!((split.holder(), split.remaining()), (None, None));
        let said = "lock \"r\": no quorum (2 of 3 nodes) says the same; \
            n: held by another program (for at most 1 s unless extended); n: held by another program (for at most 1 s unless extended); n: free";
        assert_eq!(split.to_string(), said);
        assert_eq!(
            split.differing().count(),
            0,
            "there is nothing to differ from"
        );
        let mut silent = inspection(&[("a", 9), ("a", 4), ("a", 7)]);
        for number in [0, 2] {
            let fault = Fault::new(FaultKind::Down, &"silent");
            let node = NodeId::new(0).expect("a node");
            silent.nodes[number].key =
                Key::from_core(&[NodeName::new("n")], node, Vote::Unknown(fault));
        }
        assert!(silent.is_unclear());
        assert_eq!(silent.differing().count(), 2);
    }
}
