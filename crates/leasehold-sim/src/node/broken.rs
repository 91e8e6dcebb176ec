//! Nodes that do not follow the rule: for controls.

use super::Node;
use crate::time::Moment;
use leasehold_core::{Instant, Owner, Refusal, Request, Ttl, Vote, table::Key};

/// What a node does with those who read a name, or have permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each has an end of its own, and all of them keep the name from others.
    EachAlone,
    /// The first that releases its share releases all.
    Together,
    /// They are kept where those who want the name itself do not look.
    Apart,
    /// So many have permits, whichever slots they say that these are.
    Counted,
    /// Permits of an odd number are kept where those of an even one do not look.
    ByNumber,
    /// Whoever releases a permit frees its slot, whoever has it.
    BySlot,
}

impl Node {
    /// The answer of a node that breaks the rule, if this one does.
    pub(super) fn breaks_rule(&mut self, now: Moment, request: &Request) -> Option<Vote> {
        let (resource, time) = (request.resource(), self.time(now));
        if self.divides && resource.is_several() {
            return Some(self.data.table.apply(time, &of_the_first(request)));
        }
        if self.extends_blindly && matches!(request, Request::Extend { .. }) {
            self.data.table.apply(time, request);
            return Some(Vote::GRANTED);
        }
        let permits = resource.permits();
        match self.sharing {
            Sharing::Apart if resource.is_shared() => Some(self.data.shares.apply(time, request)),
            Sharing::Together if resource.is_shared() => {
                let vote = self.data.table.apply(time, request);
                let is_release = matches!(request, Request::Release { .. });
                if is_release && vote.is_granted() {
                    self.delete(now, &resource.whole());
                }
                Some(vote)
            }
            Sharing::Counted if permits.is_some() => Some(self.count(time, request)),
            Sharing::ByNumber if permits.is_some_and(|of| of.get() % 2 == 1) => {
                Some(self.data.shares.apply(time, request))
            }
            Sharing::BySlot if matches!(request, Request::Release { .. }) => {
                self.empty_slot(time, request);
                None
            }
            _ => None,
        }
    }

    /// A semaphore as others have it: whoever comes while there are fewer than so many is let in.
    fn count(&mut self, now: Instant, request: &Request) -> Vote {
        let (name, of) = (request.resource().whole(), request.resource().permits());
        let (Some(of), Some(owner)) = (of, request.owner()) else {
            return Vote::Refused(Refusal::default());
        };
        let holders = self.data.counted.entry(name).or_default();
        holders.retain(|key| key.expires_at > now);
        let at = holders.iter().position(|key| key.owner == *owner);
        let expires_at = now.saturating_add(request.ttl().unwrap_or(Ttl::DEFAULT).as_duration());
        match (request, at) {
            (Request::Release { .. }, Some(at)) => drop(holders.remove(at)),
            (Request::Extend { .. }, Some(at)) => holders[at].expires_at = expires_at,
            (Request::Repair { .. }, Some(_)) => {}
            (Request::Acquire { .. } | Request::Repair { .. }, None)
                if holders.len() < of.get().into() =>
            {
                let owner = owner.clone();
                holders.push(Key { owner, expires_at });
            }
            _ => return Vote::Refused(Refusal::default()),
        }
        Vote::GRANTED
    }

    /// Takes the slot of this request from another who has it.
    fn empty_slot(&mut self, now: Instant, request: &Request) {
        let ours = request.owner();
        let Some(permit) = ours.and_then(Owner::permit) else {
            return;
        };
        let has_it = |key: &&Key| key.owner.permit() == Some(permit) && Some(&key.owner) != ours;
        let table = &mut self.data.table;
        let name = request.resource().whole();
        let others: Vec<_> = table.readers(now, &name).filter(has_it).cloned().collect();
        for other in others {
            table.apply(
                now,
                &super::keys::released(request.resource(), &other.owner),
            );
        }
    }
}

/// The request as a node takes it that does not know of several names.
fn of_the_first(request: &Request) -> Request {
    let mut request = request.clone();
    let (Request::Acquire { resource, .. }
    | Request::Repair { resource, .. }
    | Request::Raise { resource, .. }
    | Request::Extend { resource, .. }
    | Request::Transfer { resource, .. }
    | Request::Inspect { resource }
    | Request::Release { resource, .. }
    | Request::Leave { resource, .. }) = &mut request;
    let first = resource.each().next();
    *resource = first.expect("it has a name");
    request
}
