//! Numbers that order the holders of a resource.

use crate::{node_set::NodeId, node_set::NodeSet, quorum::Quorum, resource::Resource};
use alloc::vec::Vec;
use core::{fmt, num::NonZeroU64, time::Duration};

/// A number that is larger for every later holder of a resource, whatever clocks and networks do: what a
/// resource checks to reject a holder whose time was up without its knowing (argument S4).
///
/// From 1 to 2^53 − 1, so that languages that have but doubles keep it exactly. It looks like the time in
/// microseconds since 1970, and is nothing but a number.
///
/// # Examples
/// ```
/// # use leasehold_core::FencingToken;
/// let (earlier, later) = (FencingToken::new(7), FencingToken::new(8));
/// assert!(earlier < later);
/// assert_eq!(FencingToken::new(0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(NonZeroU64);

impl FencingToken {
    /// The smallest token.
    pub const FIRST: Self = Self(NonZeroU64::MIN);
    /// The largest token: the last whole number that a double keeps apart from its neighbours.
    pub const LAST: Self = Self(NonZeroU64::MIN.saturating_add((1 << 53) - 2));

    /// The token of this number; none if it is 0 or beyond [`LAST`](Self::LAST).
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) if number.get() <= Self::LAST.get() => Some(Self(number)),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The microseconds of a wall clock as a token: what a client proposes. Holders are ordered without it; it
    /// lets all nodes answer alike most of the time, and orders holders where a node has lost its counters.
    #[must_use]
    pub fn of_time(wall: Duration) -> Self {
        let micros = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        Self::new(micros.max(1)).unwrap_or(Self::LAST)
    }

    /// This proposal as a node with this wall clock takes it: not more than [`LEAD`](Self::LEAD) ahead, so that
    /// one client with a wild clock cannot use up the numbers.
    #[must_use]
    pub fn as_seen_at(self, wall: Duration) -> Self {
        self.min(Self::of_time(wall.saturating_add(Self::LEAD)))
    }

    /// How far ahead of a node's clock a proposal may be. Little, since counters keep the lead: where a node has
    /// lost its counters, only what is less than its quarantine orders the holders still.
    pub const LEAD: Duration = Duration::from_secs(1);
}

impl fmt::Display for FencingToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// How many counters a node keeps.
pub const COUNTERS: u16 = 1024;

/// Which of a node's counters counts the grants of `resource`. Resources share counters: a counter that is
/// larger than need be does no harm, and a counter for each resource could never be deleted.
///
/// 64-bit FNV-1a of the name, its upper half xored into its lower, modulo [`COUNTERS`]. All clients of a node
/// must agree on it.
#[must_use]
pub fn counter_of(resource: &Resource) -> u16 {
    counter_at(resource.fingerprint())
}

/// Likewise, of what has this fingerprint.
pub(crate) fn counter_at(fingerprint: u64) -> u16 {
    let folded = (fingerprint ^ (fingerprint >> 32)) & u64::from(COUNTERS - 1);
    u16::try_from(folded).unwrap_or_default()
}

/// What the counter becomes with a grant; none if the numbers are used up.
#[must_use]
pub fn grown(counter: Option<FencingToken>, proposal: FencingToken) -> Option<FencingToken> {
    // Argument S4: a grant is larger than every grant before it on this node, and than every token that this
    // node was raised to.
    let next = counter.map_or(1, |counter| counter.get().saturating_add(1));
    FencingToken::new(next.max(proposal.get()))
}

/// The token of one attempt, while the nodes agree on it.
///
/// Each node that grants tells its counter. The token is the largest of the counters that were told when a quorum
/// had granted; it may be used once a quorum of nodes is known to have had a counter as large while it carried our
/// key. Nodes below it are raised, each only if it still carries our key.
#[derive(Clone, Debug, Hash)]
pub struct Settling {
    quorum: Quorum,
    token: FencingToken,
    /// Where the counter was as large as the token while the key was ours.
    confirmed: NodeSet,
    /// Where it was smaller.
    below: NodeSet,
}

impl Settling {
    /// The token of the nodes that have granted, each with its counter; none if nobody told a counter.
    #[must_use]
    pub fn new(quorum: Quorum, grants: &[(NodeId, FencingToken)]) -> Option<Self> {
        // Argument S4: the largest of them, so that no node of the quorum had granted a larger one before.
        let token = grants.iter().map(|(_, counter)| *counter).max()?;
        let mut settling = Self {
            quorum,
            token,
            confirmed: NodeSet::EMPTY,
            below: NodeSet::EMPTY,
        };
        for (node, counter) in grants {
            settling.granted(*node, *counter);
        }
        Some(settling)
    }

    /// One more node has granted. Says whether it must be raised.
    pub fn granted(&mut self, node: NodeId, counter: FencingToken) -> bool {
        match counter.cmp(&self.token) {
            core::cmp::Ordering::Equal => {
                self.confirmed.insert(node);
            }
            core::cmp::Ordering::Less => {
                self.below.insert(node);
                return true;
            }
            // It has granted more than our token before: it can stand for nothing.
            core::cmp::Ordering::Greater => {}
        }
        false
    }

    /// A node has raised its counter, and carried our key when it did.
    pub fn raised(&mut self, node: NodeId) {
        if self.below.remove(node) {
            self.confirmed.insert(node);
        }
    }

    /// A node cannot be relied upon any more.
    pub fn doubted(&mut self, node: NodeId) {
        self.confirmed.remove(node);
        self.below.remove(node);
    }

    /// The nodes whose counters are to be raised.
    #[must_use]
    pub const fn below(&self) -> NodeSet {
        self.below
    }

    /// The nodes that stand for the token.
    #[must_use]
    pub const fn confirmed(&self) -> NodeSet {
        self.confirmed
    }

    /// What the counters are to be raised to.
    #[must_use]
    pub const fn token(&self) -> FencingToken {
        self.token
    }

    /// The token, if it may be used.
    #[must_use]
    pub fn settled(&self) -> Option<FencingToken> {
        // Argument S4: any two quorums share a node, and there the later owner's grant was larger.
        (self.confirmed.len() >= self.quorum.needed()).then_some(self.token)
    }
}

/// The counters of nodes that have granted.
pub type Grants = Vec<(NodeId, FencingToken)>;

#[cfg(test)]
mod tests {
    use super::*;

    fn token(number: u64) -> FencingToken {
        FencingToken::new(number).expect("in range")
    }

    fn node(index: usize) -> NodeId {
        NodeId::new(index).expect("below 32")
    }

    #[test]
    fn a_grant_is_larger_than_all_before_it_and_not_below_the_proposal() {
        for (counter, proposal, expected) in [
            (None, 5, Some(5)),
            (Some(4), 5, Some(5)),
            (Some(5), 5, Some(6)),
            (Some(9), 5, Some(10)),
            (
                Some(FencingToken::LAST.get() - 1),
                5,
                Some(FencingToken::LAST.get()),
            ),
            (Some(FencingToken::LAST.get()), 5, None),
        ] {
            assert_eq!(
                grown(counter.map(token), token(proposal)),
                expected.map(token),
                "{counter:?} {proposal}"
            );
        }
    }

    #[test]
    fn a_time_is_a_token_of_as_many_microseconds_within_the_range() {
        assert_eq!(FencingToken::of_time(Duration::ZERO), FencingToken::FIRST);
        assert_eq!(
            FencingToken::of_time(Duration::from_millis(3)),
            token(3_000)
        );
        assert_eq!(FencingToken::of_time(Duration::MAX), FencingToken::LAST);
        let (wild, wall) = (FencingToken::LAST, Duration::from_secs(1));
        assert_eq!(wild.as_seen_at(wall), token(2_000_000));
        assert_eq!(token(7).as_seen_at(wall), token(7));
    }

    #[test]
    fn the_counter_of_a_resource_is_agreed_on_for_ever() {
        let counter = |name| counter_of(&Resource::new(name).expect("a name"));
        assert_eq!(
            ["a", "orders/42", "orders/43", "é"].map(counter),
            [192, 41, 218, 262]
        );
    }

    #[test]
    fn a_token_stands_on_a_quorum_that_had_it() {
        let quorum = Quorum::majority(3).expect("three nodes");
        let grants = [(node(0), token(7)), (node(1), token(9))];
        let mut settling = Settling::new(quorum, &grants).expect("two grants");
        assert_eq!(settling.token(), token(9));
        assert_eq!(settling.settled(), None);
        assert_eq!(settling.below(), NodeSet::from_iter([node(0)]));
        let mut late = settling.clone();
        assert!(!late.granted(node(2), token(9)));
        assert_eq!(late.settled(), Some(token(9)));
        assert!(
            !settling.granted(node(2), token(10)),
            "it stands for nothing"
        );
        settling.raised(node(2));
        assert_eq!(settling.settled(), None);
        settling.raised(node(0));
        assert_eq!(settling.settled(), Some(token(9)));
    }
}
