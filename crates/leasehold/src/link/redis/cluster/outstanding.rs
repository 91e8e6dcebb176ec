//! The requests that were given to a cluster and are not answered yet.

use leasehold_core::{AttemptId, Instant, OperationId, Owner, Request, Tag};
use std::collections::HashMap;

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) tag: Tag,
    pub(super) request: Request,
    /// When it was given to the first link.
    pub(super) given: Instant,
    /// Which server has it; none if it waits for its time.
    pub(super) at: Option<usize>,
    /// To how many servers it was given so far.
    pub(super) tries: u32,
    /// Why the last of them did not carry it out, if that was told.
    pub(super) why: Option<String>,
    /// Whether a later request of the same owner for the same lock was given since.
    pub(super) is_overtaken: bool,
}

/// All of them, by numbers of their own.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    next: u64,
    all: HashMap<u64, Given>,
    /// Those for one lock, in the order in which they were given.
    by_lock: HashMap<u64, Vec<u64>>,
}

impl Outstanding {
    /// Adds a request. Tells its number, and which server has an earlier one of the same owner for the same lock.
    ///
    /// Argument S5: a release must not act before the acquire that it takes back. Where that is on its way, it goes the same
    /// way, behind it; and an acquire that has not acted until then never does.
    pub(super) fn add(
        &mut self,
        tag: Tag,
        request: &Request,
        given: Instant,
    ) -> (u64, Option<usize>) {
        let number = self.next;
        self.next += 1;
        let mut way = None;
        let line = self
            .by_lock
            .entry(request.resource().fingerprint())
            .or_default();
        for earlier in line.iter() {
            if let Some(earlier) = self.all.get_mut(earlier)
                && are_of_one_owner(&earlier.request, request)
            {
                earlier.is_overtaken = true;
                way = earlier.at.or(way);
            }
        }
        line.push(number);
        self.all.insert(
            number,
            Given {
                tag,
                request: request.clone(),
                given,
                at: None,
                tries: 0,
                why: None,
                is_overtaken: false,
            },
        );
        (number, way)
    }

    pub(super) fn get(&mut self, number: u64) -> Option<&mut Given> {
        self.all.get_mut(&number)
    }

    /// Takes a request out, which is answered.
    pub(super) fn take(&mut self, number: u64) -> Option<Given> {
        let given = self.all.remove(&number)?;
        let lock = given.request.resource().fingerprint();
        if let Some(line) = self.by_lock.get_mut(&lock) {
            line.retain(|other| *other != number);
            if line.is_empty() {
                self.by_lock.remove(&lock);
            }
        }
        Some(given)
    }

    /// The numbers of those that a server has, or of all, in the order in which they were given.
    pub(super) fn numbers(&self, at: Option<usize>) -> Vec<u64> {
        let those = self
            .all
            .iter()
            .filter(|(_, given)| at.is_none() || given.at == at);
        let mut numbers: Vec<_> = those.map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// When the first of those was given that a server has.
    pub(super) fn oldest(&self, at: usize) -> Option<Instant> {
        let those = self.all.values().filter(|given| given.at == Some(at));
        those.map(|given| given.given).min()
    }
}

/// Whether both may act on the same key of the same lock.
fn are_of_one_owner(one: &Request, other: &Request) -> bool {
    fn owners(request: &Request) -> impl Iterator<Item = &Owner> {
        let former = match request {
            Request::Transfer { from, .. } => Some(from),
            _ => None,
        };
        request.owner().into_iter().chain(former)
    }
    owners(one).any(|owner| owners(other).any(|other| other == owner))
}

/// What the links to the servers call a request.
pub(super) const fn tag_of(number: u64) -> Tag {
    let operation = OperationId::new(number);
    let attempt = AttemptId {
        operation,
        number: 0,
    };
    Tag { attempt, step: 0 }
}

/// Which request a link means.
pub(super) const fn number_of(tag: Tag) -> u64 {
    tag.attempt.operation.number()
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{Resource, Ttl};

    fn owner(name: &str) -> Owner {
        Owner::from_bytes(name.as_bytes()).expect("an owner")
    }

    fn resource() -> Resource {
        Resource::new("r").expect("a name")
    }

    fn acquire(name: &str) -> Request {
        Request::Acquire {
            resource: resource(),
            owner: owner(name),
            ttl: Ttl::DEFAULT,
            proposal: None,
            place: None,
        }
    }

    fn release(name: &str) -> Request {
        Request::Release {
            resource: resource(),
            owner: owner(name),
            keep: None,
        }
    }

    fn add(outstanding: &mut Outstanding, request: &Request) -> (u64, Option<usize>) {
        outstanding.add(tag_of(9), request, Instant::ORIGIN)
    }

    #[test]
    fn a_release_goes_the_way_of_its_acquire_which_is_overtaken() {
        let mut all = Outstanding::default();
        let (first, way) = add(&mut all, &acquire("us"));
        assert_eq!(way, None);
        all.get(first).expect("it is there").at = Some(2);
        for (request, way, overtakes) in [
            (
                Request::Inspect {
                    resource: resource(),
                },
                None,
                false,
            ),
            (release("them"), None, false),
            (release("us"), Some(2), true),
        ] {
            assert_eq!(add(&mut all, &request).1, way, "{request:?}");
            assert_eq!(all.get(first).expect("it is there").is_overtaken, overtakes);
        }
        let transfer = Request::Transfer {
            resource: resource(),
            from: owner("us"),
            owner: owner("me"),
            ttl: Ttl::DEFAULT,
            proposal: None,
        };
        assert_eq!(add(&mut all, &transfer).1, Some(2));
    }

    #[test]
    fn what_is_answered_leaves_nothing_behind() {
        let mut all = Outstanding::default();
        let numbers: Vec<_> = (0..3)
            .map(|_| {
                let (number, _) = add(&mut all, &acquire("us"));
                all.get(number).expect("it is there").at = Some(1);
                number
            })
            .collect();
        assert_eq!(all.numbers(Some(1)), numbers);
        assert_eq!(all.numbers(Some(0)), [0_u64; 0]);
        assert_eq!(all.oldest(1), Some(Instant::ORIGIN));
        for number in numbers {
            assert_eq!(number_of(tag_of(number)), number);
            assert!(all.take(number).is_some() && all.take(number).is_none());
        }
        assert!(all.by_lock.is_empty() && all.numbers(None).is_empty());
    }
}
