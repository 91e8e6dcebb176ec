//! Requests that leave together, as long as none of them has left.

use super::pending::PendingRequest;
use crate::link::redis::{heads::Call, scripts::Arguments};
use leasehold_core::{Request, Resource};

/// What was given and is not said.
#[derive(Debug, Default)]
pub(super) struct Unsaid {
    releases: Gathered,
    releases_of_parts: Gathered,
    votes: Gathered,
    votes_for_parts: Gathered,
}

/// The calls that requests are gathered for, in the order in which they leave: the releases before the votes, among which may
/// be those for the same locks.
pub(super) const CALLS: [Call; 4] = [
    Call::Release,
    Call::ReleaseParts,
    Call::Vote,
    Call::VoteParts,
];

impl Unsaid {
    /// What leaves in such a call.
    pub(super) const fn of(&mut self, call: Call) -> &mut Gathered {
        match call {
            Call::Release => &mut self.releases,
            Call::ReleaseParts => &mut self.releases_of_parts,
            Call::VoteParts => &mut self.votes_for_parts,
            _ => &mut self.votes,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.releases.is_empty()
            && self.releases_of_parts.is_empty()
            && self.votes.is_empty()
            && self.votes_for_parts.is_empty()
    }

    /// False if no vote is for this lock.
    #[inline]
    pub(super) fn may_have_vote(&self, lock: Mark) -> bool {
        self.votes.may_have(lock) || self.votes_for_parts.may_have(lock)
    }

    /// False if no release is of this lock.
    #[inline]
    pub(super) fn may_have_release(&self, lock: Mark) -> bool {
        self.releases.may_have(lock) || self.releases_of_parts.may_have(lock)
    }

    /// Takes them out, in the order in which they leave.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = PendingRequest> {
        let releases = self.releases.drain().chain(self.releases_of_parts.drain());
        releases
            .chain(self.votes.drain())
            .chain(self.votes_for_parts.drain())
    }
}

/// Requests of one sort in the order in which they were given: votes, or releases.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The keys of the call that they become.
    keys: Vec<u8>,
    /// What stands behind the keys.
    arguments: Arguments,
    asked: Vec<(Mark, PendingRequest)>,
    /// A bit for each mark, which may be that of others as well.
    bits: [u64; 4],
}

impl Gathered {
    /// Puts a request behind the others: its key, and its arguments. Parts of one name have the same key, which is said once.
    #[inline]
    pub(super) fn push(
        &mut self,
        waiting: PendingRequest,
        lock: Mark,
        key: &[u8],
        (call, arguments): (Call, &[u8]),
    ) {
        if !lock.is_of_a_part || self.asked.is_empty() {
            self.keys.extend_from_slice(key);
        }
        self.arguments.push(call, arguments);
        let (word, bit) = lock.bit();
        self.bits[word] |= bit;
        self.asked.push((lock, waiting));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Whether a request for this lock, with this key, can leave with them: parts of one name, or different locks.
    #[inline]
    pub(super) fn takes(&self, lock: Mark, key: &[u8]) -> bool {
        !lock.is_of_a_part || self.asked.is_empty() || self.keys == key
    }

    /// Whether another would make the call too long for a node that serves others as well, or for the window.
    pub(super) fn is_full(&self) -> bool {
        let is_of_parts = self
            .asked
            .first()
            .is_some_and(|(lock, _)| lock.is_of_a_part);
        let most = if is_of_parts { MOST_PARTS } else { MOST };
        self.asked.len() >= most || self.keys.len() + self.arguments.len() >= MOST_BYTES
    }

    /// False if none is for this lock.
    #[inline]
    pub(super) fn may_have(&self, lock: Mark) -> bool {
        let (word, bit) = lock.bit();
        let is_it = |(other, _): &(Mark, PendingRequest)| *other == lock;
        self.bits[word] & bit != 0 && self.asked.iter().any(is_it)
    }

    /// What they say: keys and arguments.
    pub(super) const fn words(&self) -> (&[u8], &Arguments) {
        (self.keys.as_slice(), &self.arguments)
    }

    /// Takes them out, in their order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = PendingRequest> {
        self.keys.clear();
        self.arguments.clear();
        self.bits = [0; 4];
        self.asked.drain(..).map(|(_, waiting)| waiting)
    }
}

/// What a lock is known by, which seldom is what another is known by as well. Each part of a name is a lock of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    hash: u64,
    is_of_a_part: bool,
}

impl Mark {
    pub(super) const fn of(resource: &Resource) -> Self {
        Self {
            hash: resource.fingerprint(),
            is_of_a_part: false,
        }
    }

    #[inline]
    pub(super) fn of_request(request: &Request) -> Self {
        let resource = request.resource();
        let mark = Self::of(resource);
        if !resource.is_part() {
            return mark;
        }
        let owner = request
            .owner()
            .and_then(|owner| owner.as_bytes().first_chunk());
        let owner = owner.map_or(0, |first: &[u8; 8]| u64::from_le_bytes(*first));
        Self {
            hash: mark.hash ^ owner.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            is_of_a_part: true,
        }
    }

    /// Which word it has a bit in, and which.
    fn bit(self) -> (usize, u64) {
        // The first bits of the hash depend little on the last letters of the name.
        let mixed = self.hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = usize::try_from(mixed >> 62).unwrap_or_default();
        (word, 1 << ((mixed >> 56) & 63))
    }
}

/// How many locks a call is for at most. With half as many, a lock and its release cost the nodes a tenth more; more would
/// seldom fit into the bytes.
const MOST: usize = 64;

/// How many shares or permits of one name, for each of which a node has more to do.
const MOST_PARTS: usize = 32;

/// How many bytes of keys and arguments a call has, but for those of the last that joined it. A quarter of the window.
const MOST_BYTES: usize = 8 * 1024;
