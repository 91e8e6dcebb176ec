//! A node that has forgotten what somebody may still rely on grants nothing to anybody.
//!
//! The checker keeps its own books: what each node has granted, and until when, by true time, a client could
//! rely on it at most. What the node does not have any more when it is back from a fault is forgotten. Until all
//! of that has ended, the node must not grant, whatever resource is asked for.

use super::{Property, Violation, seconds};
use crate::time::Moment;
use leasehold_core::{Instant, Owner, Request, Resource, table::Key};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) struct Guard {
    nodes: Vec<Books>,
}

/// What one node has granted.
#[derive(Clone, Debug, Default)]
struct Books {
    /// Of a share or a permit, each of those who have one.
    promises: BTreeMap<Promised, Promise>,
    /// What was forgotten. A log of before may bring it back.
    forgotten: Vec<(Promised, Promise)>,
}

/// What is promised, and to whom, where that is to several.
type Promised = (Resource, Option<Owner>);

#[derive(Clone, Debug)]
struct Promise {
    owner: Owner,
    /// When the key ends, by the node's clock.
    expires_at: Instant,
    /// Until when somebody may rely on it.
    ends: Moment,
}

impl Guard {
    pub(crate) fn new(nodes: usize) -> Self {
        let nodes = vec![Books::default(); nodes];
        Self { nodes }
    }

    /// The node has granted the request, and has this key now. Whoever asked may rely on it until `ends`.
    pub(crate) fn granted(
        &mut self,
        now: Moment,
        node: usize,
        request: &Request,
        key: Option<&Key>,
        ends: Moment,
    ) -> Result<(), Violation> {
        let books = &mut self.nodes[node];
        let resource = request.resource();
        let reader = request.owner().filter(|_| resource.is_part());
        let promised = (resource.clone(), reader.cloned());
        if let Request::Transfer { from, .. } = request {
            books.promises.retain(|_, promise| promise.owner != *from);
        }
        let (is_vote, is_kept) = match request {
            Request::Acquire { .. } | Request::Repair { .. } | Request::Transfer { .. } => {
                (true, true)
            }
            Request::Extend { .. } => (false, true),
            Request::Release { .. } => {
                books.promises.remove(&promised);
                (false, false)
            }
            Request::Raise { .. } | Request::Inspect { .. } | Request::Leave { .. } => {
                (false, false)
            }
        };
        if is_kept && let Some(key) = key {
            let before = books.promises.get(&promised);
            let same = before.filter(|promise| promise.owner == key.owner);
            let promise = Promise {
                owner: key.owner.clone(),
                expires_at: key.expires_at,
                ends: same.map_or(ends, |promise| promise.ends.max(ends)),
            };
            books.promises.insert(promised, promise);
        }
        let ends = books.forgotten.iter().map(|(_, promise)| promise.ends);
        match ends.max() {
            Some(until) if is_vote && now < until => Err(Violation {
                property: Property::Guard,
                what: format!(
                    "n{node} grants {resource}, but has forgotten what may be relied upon until {}",
                    seconds(until)
                ),
            }),
            _ => Ok(()),
        }
    }

    /// The node has nothing any more but the keys that `has` tells.
    pub(crate) fn forgot(
        &mut self,
        now: Moment,
        node: usize,
        has: impl Fn(&Resource, &Owner) -> Option<Key>,
    ) {
        let books = &mut self.nodes[node];
        let forgotten = std::mem::take(&mut books.forgotten);
        // What is newer replaces what is older.
        let all = forgotten
            .into_iter()
            .chain(std::mem::take(&mut books.promises));
        for (promised, promise) in all {
            if promise.ends <= now {
                continue;
            }
            let key = has(&promised.0, &promise.owner);
            let kept = key.is_some_and(|key| {
                key.owner == promise.owner && key.expires_at >= promise.expires_at
            });
            if kept {
                books.promises.insert(promised, promise);
            } else {
                books.forgotten.push((promised, promise));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::lone::{self, acquire};
    use leasehold_core::{OperationId, Table};
    use std::time::Duration;

    fn key(millis: u64) -> Key {
        Key {
            owner: lone::lease().owner,
            expires_at: Instant::from_origin(Duration::from_millis(millis)),
        }
    }

    /// A key is granted at 0 that is relied upon until 50, the node goes back to `table` at 10, and grants
    /// once more at `at`.
    fn second(table: &Table, at: u64) -> Result<(), Violation> {
        after(&[table], at)
    }

    /// As `second`, but it goes back to each of the tables in turn.
    fn after(tables: &[&Table], at: u64) -> Result<(), Violation> {
        let mut guard = Guard::new(2);
        let request = acquire(OperationId::new(0)).request;
        let grant = |guard: &mut Guard, node, at, ends| {
            let at = Moment::from_ns(at);
            guard.granted(at, node, &request, Some(&key(70)), Moment::from_ns(ends))
        };
        assert_eq!(grant(&mut guard, 0, 0, 50), Ok(()));
        for table in tables {
            let has =
                |resource: &Resource, _: &Owner| table.key(Instant::ORIGIN, resource).cloned();
            guard.forgot(Moment::from_ns(10), 0, has);
        }
        assert_eq!(grant(&mut guard, 1, 20, 60), Ok(()), "the other node");
        grant(&mut guard, 0, at, 90)
    }

    #[test]
    fn a_vote_of_a_node_that_has_forgotten_is_found() {
        let empty = Table::new();
        assert!(second(&empty, 49).is_err());
        assert_eq!(second(&empty, 50), Ok(()));
    }

    #[test]
    fn a_node_that_still_has_the_key_may_vote() {
        let request = acquire(OperationId::new(0)).request;
        let kept = |from| {
            let mut table = Table::new();
            table.apply(Instant::from_origin(Duration::from_millis(from)), &request);
            table
        };
        // The key of `lone` lives for 10 seconds.
        assert_eq!(second(&kept(0), 49), Ok(()));
        // It was flushed, and restarts with a log that knows nothing of that; or the other way round.
        let empty = Table::new();
        assert_eq!(after(&[&empty, &kept(0)], 49), Ok(()));
        assert!(after(&[&kept(0), &empty], 49).is_err());
    }
}
