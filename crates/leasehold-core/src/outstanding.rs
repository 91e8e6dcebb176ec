//! The requests that were given to a node which is many servers, a Redis Cluster, and are not answered yet: in which order they may
//! act, and what becomes of one that a server has not carried out.

use crate::{
    owner::Owner,
    request::{AttemptId, OperationId, Request, Tag},
    time::Instant,
};
use alloc::{collections::BTreeMap, string::String, vec::Vec};
use core::time::Duration;

/// A request without an answer.
#[derive(Debug)]
pub struct OutstandingRequest {
    /// What the engine calls it.
    pub tag: Tag,
    /// What is asked for.
    pub request: Request,
    /// In which slot its keys are.
    pub slot: u16,
    /// When it was given to the first link.
    pub given: Instant,
    /// Which server has it; none if it waits for its time.
    pub at: Option<usize>,
    /// To how many servers it was given so far.
    pub tries: u32,
    /// Why the last of them did not carry it out, if that was told.
    pub why: Option<String>,
    /// Whether a later request of the same owner for the same lock was given since.
    pub is_overtaken: bool,
    number: u64,
    /// Those for the same lock between which it was given.
    before: Option<u64>,
    behind: Option<u64>,
}

/// What a server says of a request that it has not carried out: servers are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "servers say no more")]
pub enum Redirected {
    /// This server keeps the slot.
    Moved(usize),
    /// The slot is moving, and the keys are at this server, if anywhere.
    Ask(usize),
    /// Nobody can tell at this moment.
    Later,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no more to be done")]
pub enum Course {
    /// It is given to this server, which is told that it is `asked` because the slot is about to come there.
    Give {
        /// The server.
        to: usize,
        /// Whether it is told so.
        asked: bool,
    },
    /// It is given again after a pause, to the server that keeps the slot then.
    Rest,
    /// It is not given again: a later request of the same owner for the same lock was given since.
    Overtaken,
    /// It was given as often, or as long ago, as it is given again at most.
    Spent,
}

/// All of them, by numbers of their own: a place among them, and behind it a count, so that none has the number of another
/// that was in its place.
#[derive(Debug, Default)]
pub struct Outstanding {
    count: u64,
    all: Vec<Option<OutstandingRequest>>,
    free: Vec<usize>,
    /// The last one for each lock.
    last: BTreeMap<u64, u64>,
}

impl Outstanding {
    /// Adds a request, which is for a key of this slot. Tells its number, and which server has an earlier one of the same owner
    /// for the same lock.
    ///
    /// Argument S5: a release must not act before the acquire that it takes back. Where that is on its way, it goes the same
    /// way, behind it; and an acquire that has not acted until then never does.
    pub fn add(
        &mut self,
        tag: Tag,
        (request, slot): (&Request, u16),
        given: Instant,
    ) -> (u64, Option<usize>) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len().saturating_sub(1)
        });
        let number = ((place as u64) << COUNTED) | (self.count & COUNTS);
        self.count = self.count.wrapping_add(1);
        let before = self.last.insert(request.resource().fingerprint(), number);
        let (mut way, mut next) = (None, before);
        while let Some(earlier) = next.and_then(|earlier| self.get(earlier)) {
            if are_of_one_owner(&earlier.request, request) {
                earlier.is_overtaken = true;
                way = way.or(earlier.at);
            }
            next = earlier.before;
        }
        if let Some(before) = before.and_then(|before| self.get(before)) {
            before.behind = Some(number);
        }
        let given = OutstandingRequest {
            tag,
            request: request.clone(),
            slot,
            given,
            at: None,
            tries: 0,
            why: None,
            is_overtaken: false,
            number,
            before,
            behind: None,
        };
        if let Some(free) = self.all.get_mut(place) {
            *free = Some(given);
        }
        (number, way)
    }

    /// Whether all are answered.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.all.len() == self.free.len()
    }

    /// A request; none if it is answered.
    pub fn get(&mut self, number: u64) -> Option<&mut OutstandingRequest> {
        let given = self.all.get_mut(place_of(number))?.as_mut();
        given.filter(|given| given.number == number)
    }

    /// Takes a request out, which is answered.
    pub fn take(&mut self, number: u64) -> Option<OutstandingRequest> {
        let place = place_of(number);
        let given = self.all.get_mut(place)?;
        let given = given.take_if(|given| given.number == number)?;
        self.free.push(place);
        if let Some(before) = given.before.and_then(|before| self.get(before)) {
            before.behind = given.behind;
        }
        match given.behind {
            Some(behind) => {
                if let Some(behind) = self.get(behind) {
                    behind.before = given.before;
                }
            }
            None => {
                let lock = given.request.resource().fingerprint();
                match given.before {
                    Some(before) => self.last.insert(lock, before),
                    None => self.last.remove(&lock),
                };
            }
        }
        Some(given)
    }

    /// The numbers of those that a server has, or of all, in the order in which they were given.
    #[must_use]
    pub fn numbers(&self, at: Option<usize>) -> Vec<u64> {
        let those = self.all.iter().flatten();
        let those = those.filter(|given| at.is_none() || given.at == at);
        let mut numbers: Vec<_> = those.map(|given| given.number).collect();
        numbers.sort_unstable_by_key(|number| number & COUNTS);
        numbers
    }

    /// Whether a request may be given again, of which it is known that it has not taken effect; none if it is answered.
    ///
    /// Argument S5: what was given behind it may have acted by now, a release that takes it back among it.
    pub fn again(&mut self, number: u64, now: Instant) -> Option<Course> {
        let given = self.get(number)?;
        if given.is_overtaken {
            return Some(Course::Overtaken);
        }
        let is_spent = given.tries >= MOST_TRIES || now.saturating_since(given.given) >= LONGEST;
        Some(if is_spent {
            Course::Spent
        } else {
            Course::Rest
        })
    }

    /// What becomes of a request that the server `at` has not carried out; none if it is answered.
    ///
    /// Argument S8: it has not taken effect, and is the same request of the same attempt.
    pub fn redirected(
        &mut self,
        number: u64,
        (at, told): (usize, Redirected),
        now: Instant,
    ) -> Option<Course> {
        let course = self.again(number, now)?;
        let tries = self.get(number)?.tries;
        Some(match (course, told) {
            (Course::Rest, Redirected::Ask(to)) => Course::Give { to, asked: true },
            // Two servers that name each other are asked again when they may have heard more.
            (Course::Rest, Redirected::Moved(to)) if to != at && tries < MOST_AT_ONCE => {
                Course::Give { to, asked: false }
            }
            (course, _) => course,
        })
    }

    /// When the first of those was given that a server has.
    #[must_use]
    pub fn oldest(&self, at: usize) -> Option<Instant> {
        let those = self.all.iter().flatten();
        let those = those.filter(|given| given.at == Some(at));
        those.map(|given| given.given).min()
    }
}

/// How long a request is given again: as long as a vote is waited for at most, unless that was chosen otherwise.
const LONGEST: Duration = Duration::from_millis(500);
const MOST_TRIES: u32 = 64;

/// How often it is given at once to a server that is named.
const MOST_AT_ONCE: u32 = 8;

/// A number ends in so many bits of the count: more requests than a process makes.
const COUNTED: u32 = 44;
const COUNTS: u64 = (1 << COUNTED) - 1;

fn place_of(number: u64) -> usize {
    usize::try_from(number >> COUNTED).unwrap_or(usize::MAX)
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
#[must_use]
pub const fn tag_of(number: u64) -> Tag {
    let operation = OperationId::new(number);
    let attempt = AttemptId {
        operation,
        number: 0,
    };
    Tag { attempt, step: 0 }
}

/// Which request a link means.
#[must_use]
pub const fn number_of(tag: Tag) -> u64 {
    tag.attempt.operation.number()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{resource::Resource, timing::Ttl};

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
        outstanding.add(tag_of(9), (request, 0), Instant::ORIGIN)
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
        assert!(all.last.is_empty() && all.numbers(None).is_empty());
        assert!(all.is_empty());
    }

    #[test]
    fn a_place_that_is_taken_again_has_another_number_and_its_order() {
        let mut all = Outstanding::default();
        let [first, second] = [(); 2].map(|()| add(&mut all, &acquire("us")).0);
        assert!(all.take(first).is_some());
        let (third, _) = add(&mut all, &acquire("us"));
        assert_eq!(place_of(third), place_of(first));
        assert!(all.get(first).is_none() && all.take(first).is_none());
        assert_eq!(all.numbers(None), [second, third]);
    }

    #[test]
    fn each_that_is_answered_leaves_the_others_of_its_lock_in_their_order() {
        for answered in 0..3 {
            let mut all = Outstanding::default();
            let names = ["a", "b", "c"];
            let numbers = names.map(|name| add(&mut all, &acquire(name)).0);
            for (number, at) in numbers.into_iter().zip([10, 11, 12]) {
                all.get(number).expect("it is there").at = Some(at);
            }
            assert!(all.take(numbers[answered]).is_some());
            for (place, name) in names.into_iter().enumerate() {
                let way = (place != answered).then_some(10 + place);
                let (number, found) = add(&mut all, &release(name));
                assert_eq!(found, way, "{name}, when {answered} was answered");
                assert!(all.take(number).is_some());
            }
        }
    }

    #[test]
    fn what_was_not_carried_out_goes_where_it_is_sent_unless_it_is_overtaken_or_spent() {
        let later = |millis| Instant::ORIGIN.saturating_add(Duration::from_millis(millis));
        let mut all = Outstanding::default();
        let (number, _) = add(&mut all, &acquire("us"));
        let course =
            |all: &mut Outstanding, told, millis| all.redirected(number, (3, told), later(millis));
        let give = |to, asked| Some(Course::Give { to, asked });
        assert_eq!(course(&mut all, Redirected::Moved(5), 9), give(5, false));
        assert_eq!(course(&mut all, Redirected::Ask(5), 9), give(5, true));
        // It names itself.
        for told in [Redirected::Moved(3), Redirected::Later] {
            assert_eq!(course(&mut all, told, 9), Some(Course::Rest));
        }
        all.get(number).expect("it is there").tries = MOST_AT_ONCE;
        assert_eq!(
            course(&mut all, Redirected::Moved(5), 9),
            Some(Course::Rest)
        );
        assert_eq!(course(&mut all, Redirected::Ask(5), 9), give(5, true));
        assert_eq!(
            course(&mut all, Redirected::Ask(5), 500),
            Some(Course::Spent)
        );
        all.get(number).expect("it is there").tries = MOST_TRIES;
        assert_eq!(course(&mut all, Redirected::Ask(5), 9), Some(Course::Spent));
        add(&mut all, &release("us"));
        assert_eq!(
            course(&mut all, Redirected::Ask(5), 9),
            Some(Course::Overtaken)
        );
        assert!(all.take(number).is_some());
        assert_eq!(course(&mut all, Redirected::Ask(5), 9), None);
    }
}
