//! Fencing tokens order the holders of a resource.
//!
//! No two leases of a resource, or of one slot of its permits, have the same token. And whoever began to ask when a lease had been decided
//! gets a larger token than that lease has. Nothing is said about attempts that overlap, but that they differ.

use super::{Property, Violation};
use leasehold_core::{
    AttemptId, FencingToken, Lease, OperationId, Owner, Permit, Request, Resource, Send,
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct Tokens {
    told: BTreeMap<Counted, BTreeSet<FencingToken>>,
    asking: Vec<Asking>,
}

/// What has an order of holders of its own: a name, or a slot of its permits.
pub(crate) type Counted = (Resource, Option<u16>);

/// What is counted when a resource is locked by this owner.
pub(crate) fn counted(resource: &Resource, owner: &Owner) -> Vec<Counted> {
    let slot = resource.permits().and(owner.permit()).map(Permit::slot);
    resource.each().map(|name| (name, slot)).collect()
}

/// An attempt, and the largest token that was decided when it began.
#[derive(Debug)]
struct Asking {
    client: usize,
    attempt: AttemptId,
    floor: Option<FencingToken>,
}

impl Tokens {
    /// A request leaves.
    pub(crate) fn sent(&mut self, client: usize, send: &Send) {
        let (Request::Acquire {
            resource, owner, ..
        }
        | Request::Transfer {
            resource, owner, ..
        }) = &send.request
        else {
            return;
        };
        if send.tag.step != 0 {
            return;
        }
        let attempt = send.tag.attempt;
        let is_this = |asking: &Asking| asking.client == client && asking.attempt == attempt;
        // An attempt that asks one node first, and the others later, has begun with the first.
        if self.asking.iter().any(is_this) {
            return;
        }
        let counted = counted(resource, owner);
        let told = { counted.iter() }.filter_map(|counted| self.told.get(counted)?.last());
        let floor = told.max().copied();
        self.forget(client, attempt.operation);
        self.asking.push(Asking {
            client,
            attempt,
            floor,
        });
    }

    /// The engine says that the lease was won.
    pub(crate) fn acquired(
        &mut self,
        client: usize,
        operation: OperationId,
        lease: &Lease,
        is_fenced: bool,
    ) -> Result<(), Violation> {
        let mut asking = self.asking.iter();
        let asking =
            asking.find(|asking| asking.client == client && asking.attempt.operation == operation);
        let floor = asking.and_then(|asking| asking.floor);
        self.forget(client, operation);
        let resource = &lease.resource;
        if resource.is_shared() && lease.token.is_some() {
            return Err(violation(format!(
                "c{client} reads {resource} with a token"
            )));
        }
        let Some(token) = lease.token else {
            return if is_fenced {
                Err(violation(format!(
                    "c{client} got {resource} without a token"
                )))
            } else {
                Ok(())
            };
        };
        if floor.is_some_and(|floor| token <= floor) {
            return Err(violation(format!(
                "c{client} got {resource} with token {token}, but {floor:?} was told before it asked"
            )));
        }
        for counted in counted(resource, &lease.owner) {
            if !self.told.entry(counted).or_default().insert(token) {
                return Err(violation(format!(
                    "c{client} got {resource} with token {token}, which another had"
                )));
            }
        }
        Ok(())
    }

    /// So many servers have counted up to the token of a lease that was won, and so many must have.
    pub(crate) fn stands(
        &self,
        client: usize,
        lease: &Lease,
        count: usize,
        needed: usize,
    ) -> Result<(), Violation> {
        if count >= needed {
            return Ok(());
        }
        Err(violation(format!(
            "c{client} got {} with token {:?}, to which {count} servers have counted and not {needed}",
            lease.resource, lease.token
        )))
    }

    /// Nothing will come of this acquisition any more.
    pub(crate) fn forget(&mut self, client: usize, operation: OperationId) {
        self.asking
            .retain(|asking| asking.client != client || asking.attempt.operation != operation);
    }

    /// What a dead process was told has been told.
    pub(crate) fn died(&mut self, client: usize) {
        self.asking.retain(|asking| asking.client != client);
    }
}

fn violation(what: String) -> Violation {
    Violation {
        property: Property::Tokens,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::lone::{self, acquire};

    const OPERATIONS: [OperationId; 2] = [OperationId::new(0), OperationId::new(1)];

    fn acquired(tokens: &mut Tokens, client: usize, token: u64) -> Result<(), Violation> {
        let mut lease = lone::lease();
        lease.token = FencingToken::new(token);
        tokens.acquired(client, OPERATIONS[client], &lease, true)
    }

    #[test]
    fn a_token_that_was_told_twice_is_found() {
        let mut tokens = Tokens::default();
        tokens.sent(0, &acquire(OPERATIONS[0]));
        tokens.sent(1, &acquire(OPERATIONS[1]));
        assert_eq!(acquired(&mut tokens, 0, 7), Ok(()));
        assert!(acquired(&mut tokens, 1, 7).is_err());
    }

    #[test]
    fn a_later_holder_with_a_smaller_token_is_found() {
        let mut tokens = Tokens::default();
        tokens.sent(0, &acquire(OPERATIONS[0]));
        assert_eq!(acquired(&mut tokens, 0, 7), Ok(()));
        tokens.sent(1, &acquire(OPERATIONS[1]));
        assert!(acquired(&mut tokens, 1, 6).is_err());
        // Who asked before that was told may be either before or after it.
        let mut tokens = Tokens::default();
        tokens.sent(0, &acquire(OPERATIONS[0]));
        tokens.sent(1, &acquire(OPERATIONS[1]));
        assert_eq!(acquired(&mut tokens, 0, 7), Ok(()));
        assert_eq!(acquired(&mut tokens, 1, 6), Ok(()));
    }

    #[test]
    fn a_token_on_too_few_servers_is_found() {
        let (tokens, lease) = (Tokens::default(), lone::lease());
        assert_eq!(tokens.stands(0, &lease, 2, 2), Ok(()));
        assert!(tokens.stands(0, &lease, 1, 2).is_err());
    }

    #[test]
    fn an_attempt_begins_with_the_first_node_that_it_asks() {
        let mut tokens = Tokens::default();
        tokens.sent(0, &acquire(OPERATIONS[0]));
        tokens.sent(1, &acquire(OPERATIONS[1]));
        assert_eq!(acquired(&mut tokens, 1, 7), Ok(()));
        // The other nodes, when the first has granted.
        tokens.sent(0, &acquire(OPERATIONS[0]));
        assert_eq!(acquired(&mut tokens, 0, 6), Ok(()));
    }

    #[test]
    fn a_lease_without_the_token_that_was_asked_for_is_found() {
        let mut tokens = Tokens::default();
        tokens.sent(0, &acquire(OPERATIONS[0]));
        assert!(acquired(&mut tokens, 0, 0).is_err());
    }
}
