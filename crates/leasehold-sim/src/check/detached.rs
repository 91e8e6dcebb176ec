//! What is told of a lease without a guard holds, whoever extends it.
//!
//! Who extends by owner alone knows neither until when the lease was valid nor who else extends it. So each is told a time
//! of its own, recomputed here from its messages alone, and none of these times is taken back: as long as one of them is
//! relied upon, a quorum of keys outlives it, whatever the others ask for, until somebody releases it. What a node may do is another checker's (`leftovers`).

use super::{Holder, Property, Violation};
use crate::{setting::Setting, time::MILLISECOND};
use leasehold_core::{Instant, Lease, NodeId, NodeSet, Owner, Request, Resource, Send, Tag, Vote};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Detached {
    needed: usize,
    setting: Setting,
    /// The extensions that are under way.
    votes: Vec<Votes>,
    /// Until when whom relies on what, by its clock.
    promises: Vec<(usize, Lease)>,
}

/// An extension by owner.
#[derive(Debug)]
pub(crate) struct Votes {
    holder: Holder,
    pub(crate) lease: Lease,
    /// Until when a lease may be relied upon that stands on these votes.
    limit: Instant,
    granted: NodeSet,
}

impl Detached {
    pub(crate) fn new(setting: &Setting) -> Self {
        Self {
            needed: setting.needed(),
            setting: setting.clone(),
            votes: Vec::new(),
            promises: Vec::new(),
        }
    }

    /// Somebody relies on the lease until its end.
    pub(crate) fn relies(&mut self, client: usize, lease: &Lease) {
        self.promises.push((client, lease.clone()));
    }

    pub(crate) fn begun(&mut self, holder: Holder, lease: &Lease) {
        self.votes.push(Votes {
            holder,
            lease: lease.clone(),
            limit: Instant::ORIGIN,
            granted: NodeSet::EMPTY,
        });
    }

    /// A request leaves.
    pub(crate) fn sent(&mut self, client: usize, now: Instant, send: &Send) {
        let Request::Extend { ttl, .. } = &send.request else {
            return;
        };
        let relied_on_ns = self.setting.relied_on_ns(ttl.as_millis() * MILLISECOND);
        if let Some(votes) = self.find(client, send.tag) {
            votes.limit = now.saturating_add(Duration::from_nanos(relied_on_ns));
        }
    }

    /// An answer reaches the client.
    pub(crate) fn heard(&mut self, client: usize, node: NodeId, tag: Tag, vote: &Vote) {
        if !vote.is_granted() {
            return;
        }
        if let Some(votes) = self.find(client, tag) {
            votes.granted.insert(node);
        }
    }

    /// The operation has ended; what it was, if it was such an extension.
    pub(crate) fn ended(&mut self, holder: Holder) -> Option<Votes> {
        let mut votes = self.votes.iter();
        let at = votes.position(|votes| votes.holder == holder)?;
        Some(self.votes.swap_remove(at))
    }

    /// The engine says at `now` that the lease is valid until then.
    pub(crate) fn extended(
        &mut self,
        client: usize,
        now: Instant,
        votes: &Votes,
        valid_until: Instant,
    ) -> Result<(), Violation> {
        let Votes { limit, granted, .. } = votes;
        if granted.len() < self.needed || valid_until > *limit || now >= valid_until {
            return Err(violation(format!(
                "c{client} relies on a lease until {valid_until:?}, the votes of {granted:?} carry to {limit:?}, it is \
                 {now:?}"
            )));
        }
        let mut lease = votes.lease.clone();
        lease.valid_until = valid_until;
        self.relies(client, &lease);
        Ok(())
    }

    /// On what of this resource somebody relies who says so of itself. What is over is forgotten.
    pub(crate) fn promises(
        &mut self,
        resource: &Resource,
        is_valid: impl Fn(usize, &Lease) -> bool,
    ) -> Vec<(usize, Lease)> {
        self.promises
            .retain(|(client, lease)| is_valid(*client, lease));
        let promises = self.promises.iter();
        let about = promises.filter(|(_, lease)| lease.resource == *resource);
        about.cloned().collect()
    }

    /// Somebody releases what has this owner: nobody relies on it any more.
    pub(crate) fn given_up(&mut self, owner: &Owner) {
        self.promises.retain(|(_, lease)| lease.owner != *owner);
    }

    pub(crate) fn died(&mut self, client: usize) {
        self.votes.retain(|votes| votes.holder.client != client);
        self.promises.retain(|(other, _)| *other != client);
    }

    fn find(&mut self, client: usize, tag: Tag) -> Option<&mut Votes> {
        let operation = tag.attempt.operation;
        let holder = Holder { client, operation };
        self.votes.iter_mut().find(|votes| votes.holder == holder)
    }
}

fn violation(what: String) -> Violation {
    Violation {
        property: Property::Validity,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check::lone, rng::Rng, time::SECOND};
    use leasehold_core::{AttemptId, OperationId, Ttl};

    const HOLDER: Holder = Holder {
        client: 1,
        operation: OperationId::new(5),
    };

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(1_000 + millis))
    }

    /// What becomes of an extension that left at 0 ms, was granted by so many nodes, and is told at `now`.
    fn told(grants: usize, now: u64, valid_until: u64) -> Result<(), Violation> {
        let setting = Setting {
            nodes: 3,
            ttl_ns: 10 * SECOND,
            ..Setting::draw(&mut Rng::new(1))
        };
        let (mut detached, lease) = (Detached::new(&setting), lone::lease());
        detached.begun(HOLDER, &lease);
        let attempt = AttemptId {
            operation: HOLDER.operation,
            number: 0,
        };
        let tag = Tag { attempt, step: 0 };
        let (resource, owner) = (lease.resource, lease.owner);
        let request = Request::Extend {
            resource: resource.clone(),
            owner: owner.clone(),
            ttl: Ttl::DEFAULT,
        };
        let nodes = NodeSet::first(3);
        let send = Send {
            nodes,
            tag,
            request,
        };
        detached.sent(HOLDER.client, at(0), &send);
        // The same node twice counts once.
        for node in nodes.iter().take(grants) {
            detached.heard(HOLDER.client, node, tag, &Vote::GRANTED);
            detached.heard(HOLDER.client, node, tag, &Vote::GRANTED);
        }
        let votes = detached.ended(HOLDER).expect("it was begun");
        let told = detached.extended(HOLDER.client, at(now), &votes, at(valid_until));
        let relies = |detached: &mut Detached| detached.promises(&resource, |_, _| true).len();
        assert_eq!(relies(&mut detached), usize::from(told.is_ok()));
        detached.given_up(&owner);
        assert_eq!(relies(&mut detached), 0);
        told
    }

    #[test]
    fn an_extension_by_owner_that_the_votes_do_not_carry_is_found() {
        assert_eq!(told(2, 5, 9_898), Ok(()));
        assert!(told(2, 5, 9_899).is_err(), "it counts from later");
        assert!(told(1, 5, 9_898).is_err(), "too few nodes");
        assert!(told(2, 9_898, 9_898).is_err(), "it was over");
    }
}
