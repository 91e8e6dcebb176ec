//! Requests that leave together, as long as none of them has left.

use super::pending::PendingRequest;
use leasehold_core::Resource;

/// Requests of one sort in the order in which they were given: votes, or releases.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The keys of the call that they become.
    keys: Vec<u8>,
    /// What stands behind the keys.
    arguments: Vec<u8>,
    asked: Vec<(Mark, PendingRequest)>,
    /// A bit for each mark, which may be that of others as well.
    bits: [u64; 4],
}

impl Gathered {
    /// Puts a request behind the others: its key, and its arguments; or all of it.
    #[inline]
    pub(super) fn push(
        &mut self,
        waiting: PendingRequest,
        lock: Mark,
        key: &[u8],
        arguments: &[u8],
    ) {
        self.keys.extend_from_slice(key);
        self.arguments.extend_from_slice(arguments);
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

    /// Whether another would make the call too long for a node that serves others as well, or for the window.
    pub(super) fn is_full(&self) -> bool {
        self.asked.len() >= MOST || self.keys.len() + self.arguments.len() >= MOST_BYTES
    }

    /// False if none is for this lock.
    #[inline]
    pub(super) fn may_have(&self, lock: Mark) -> bool {
        let (word, bit) = lock.bit();
        let is_it = |(other, _): &(Mark, PendingRequest)| *other == lock;
        self.bits[word] & bit != 0 && self.asked.iter().any(is_it)
    }

    /// What they say: keys and arguments.
    pub(super) fn words(&self) -> (&[u8], &[u8]) {
        (&self.keys, &self.arguments)
    }

    /// Takes them out, in their order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = PendingRequest> {
        self.keys.clear();
        self.arguments.clear();
        self.bits = [0; 4];
        self.asked.drain(..).map(|(_, waiting)| waiting)
    }
}

/// What a lock is known by, which seldom is what another is known by as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u64);

impl Mark {
    pub(super) const fn of(resource: &Resource) -> Self {
        Self(resource.fingerprint())
    }

    /// Which word it has a bit in, and which.
    fn bit(self) -> (usize, u64) {
        // The first bits of the hash depend little on the last letters of the name.
        let mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = usize::try_from(mixed >> 62).unwrap_or_default();
        (word, 1 << ((mixed >> 56) & 63))
    }
}

/// How many locks a call is for at most. With twice as many each would cost a node a twentieth less.
const MOST: usize = 32;

/// How many bytes of keys and arguments a call has, but for those of the last that joined it. A quarter of the window.
const MOST_BYTES: usize = 8 * 1024;
