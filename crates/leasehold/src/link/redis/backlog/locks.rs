//! How many requests wait for each lock, once a node has forgotten its scripts.
//!
//! Such a node says so to every request of a full backlog, and to look through all the others each time would be
//! quadratic. But it is rare, and the uncontended path does not pay for it: nothing is counted before the first
//! time.

use leasehold_core::{Owner, Request, Resource};
use std::collections::{HashMap, hash_map::Entry};

/// The counts, as long as they are needed.
#[derive(Debug, Default)]
pub(super) struct Locks(Option<HashMap<Lock, usize>>);

/// What two requests have in common if they act on one key of ours.
type Lock = (Resource, Option<Owner>);

impl Locks {
    /// Whether a request for the same lock is among those that wait.
    pub(super) fn has<'a>(
        &mut self,
        request: &Request,
        waiting: impl Iterator<Item = &'a Request>,
    ) -> bool {
        let counts = self.0.get_or_insert_with(|| {
            let mut counts = HashMap::new();
            for request in waiting {
                *counts.entry(lock(request)).or_default() += 1;
            }
            counts
        });
        counts.contains_key(&lock(request))
    }

    pub(super) fn push(&mut self, request: &Request) {
        if let Some(counts) = &mut self.0 {
            *counts.entry(lock(request)).or_default() += 1;
        }
    }

    pub(super) fn pop(&mut self, request: &Request) {
        let Some(counts) = &mut self.0 else {
            return;
        };
        if let Entry::Occupied(mut count) = counts.entry(lock(request)) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        if counts.is_empty() {
            self.0 = None;
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> Option<usize> {
        self.0.as_ref().map(HashMap::len)
    }
}

fn lock(request: &Request) -> Lock {
    (request.resource().clone(), request.owner().cloned())
}
