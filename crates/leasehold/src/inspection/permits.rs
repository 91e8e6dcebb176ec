//! Which permits of a name are taken, and by whom.

use super::{Inspection, Key};
use leasehold_core::Owner;
use std::{collections::BTreeMap, fmt, time::Duration};

/// The permits of a name that are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldPermits {
    /// How many permits there are, as those say who have them.
    pub of: u16,
    /// Those that are taken, in the order of their slots.
    pub held: Vec<HeldPermit>,
}

/// A permit that somebody has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldPermit {
    /// Which, from 0.
    pub slot: u16,
    /// Who has it.
    pub holder: Owner,
    /// How long it lives if nobody extends it.
    pub remaining: Duration,
}

impl HeldPermits {
    /// The permits of these owners, each with the time until it ends; none if none of them has one.
    #[cfg(feature = "redis")]
    pub(crate) fn of(owners: impl IntoIterator<Item = (Owner, Duration)>) -> Option<Self> {
        let (mut of, mut held) = (None, Vec::new());
        for (holder, remaining) in owners {
            let Some(permit) = holder.permit() else {
                continue;
            };
            of.get_or_insert(permit.of().get());
            held.push(HeldPermit {
                slot: permit.slot(),
                holder,
                remaining,
            });
        }
        held.sort_by_key(|permit| permit.slot);
        Some(Self { of: of?, held })
    }

    /// When the first of them ends, if nobody extends it.
    pub(super) fn first_end(&self) -> Option<Duration> {
        self.held.iter().map(|permit| permit.remaining).min()
    }
}

/// `3 of 8 permits are taken`.
impl fmt::Display for HeldPermits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.held.len() == 1 { "is" } else { "are" };
        write!(
            out,
            "{} of {} permits {verb} taken",
            self.held.len(),
            self.of
        )
    }
}

impl Inspection {
    /// The permits that are taken, each by the word of a quorum, with the least time that it lives there. None if no quorum has
    /// permits under the name. Only where the nodes were asked for the type of the key, as by
    /// [`look`](crate::operate::Operator::look).
    #[must_use]
    pub fn permits(&self) -> Option<HeldPermits> {
        let needed = self.quorum.needed();
        let told = || self.nodes.iter().filter_map(|node| node.key.permits());
        let is_so = |of| told().filter(|permits| permits.of == of).count() >= needed;
        let of = told().map(|permits| permits.of).find(|of| is_so(*of))?;
        let mut times: BTreeMap<(u16, &[u8]), Vec<&HeldPermit>> = BTreeMap::new();
        for permit in told().flat_map(|permits| &permits.held) {
            let place = (permit.slot, permit.holder.as_bytes());
            times.entry(place).or_default().push(permit);
        }
        let held = times.into_values().filter_map(|mut told| {
            // The quorum that lasts longest is as strong as its weakest member.
            told.sort_by_key(|permit| std::cmp::Reverse(permit.remaining));
            told.get(needed - 1).copied().cloned()
        });
        let held = held.collect();
        Some(HeldPermits { of, held })
    }

    /// How many of so many permits can be had: those of which a quorum of nodes says that nobody has them, where all who have any
    /// have one of so many. Only where the nodes were asked for the type of the key, as with [`permits`](Self::permits).
    #[must_use]
    pub fn free_permits(&self, of: u16) -> usize {
        let is_free_on = |key: &Key, slot: u16| match key {
            Key::Free => true,
            Key::Permits(permits) => {
                let mut held = permits.held.iter();
                permits.of == of && held.all(|permit| permit.slot != slot)
            }
            _ => false,
        };
        let is_free = |slot: &u16| self.count(|key| is_free_on(key, *slot)) >= self.quorum();
        (0..of).filter(is_free).count()
    }
}

impl Key {
    /// The permits that are taken, if it has permits.
    #[must_use]
    pub const fn permits(&self) -> Option<&HeldPermits> {
        match self {
            Self::Permits(permits) => Some(permits),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{inspection::NodeKey, link::NodeName};
    use leasehold_core::{Permit, PermitCount, Quorum, Resource};

    fn seen(nodes: &[&[(u16, u8, u64)]]) -> Inspection {
        let of = PermitCount::new(3).expect("in range");
        let by = Owner::from_bytes(b"us").expect("a few bytes");
        let owner = |(slot, digits, left): &(u16, u8, u64)| {
            let permit = Permit::new(*slot, of).expect("a slot");
            let owner = Owner::of_permit(&[*digits; 20], permit, &by);
            (owner, Duration::from_secs(*left))
        };
        let key = |owners: &&[_]| {
            let permits = HeldPermits::of(owners.iter().map(owner));
            permits.map_or(Key::Free, Key::Permits)
        };
        let named = |key| NodeKey {
            node: NodeName::new("n"),
            key,
            counter: None,
        };
        Inspection {
            resource: Resource::new("r").expect("a name"),
            quorum: Quorum::majority(nodes.len()).expect("a few nodes"),
            nodes: nodes.iter().map(key).map(named).collect(),
        }
    }

    #[test]
    fn a_permit_is_taken_by_whom_a_quorum_names() {
        let three = seen(&[
            &[(2, 1, 9), (0, 2, 5)],
            &[(0, 2, 4), (2, 3, 9)],
            &[(2, 1, 7), (1, 4, 3)],
        ]);
        let permits = three.permits().expect("all have permits");
        let told = permits.held.iter();
        let told: Vec<_> = told
            .map(|permit| (permit.slot, permit.remaining.as_secs()))
            .collect();
        assert_eq!((permits.of, &told[..]), (3, &[(0, 4), (2, 7)][..]));
        assert!(!three.is_free() && three.holder().is_none());
        let said = "lock \"r\": 2 of 3 permits are taken on 3 of 3 nodes (quorum 2)";
        assert_eq!(three.to_string(), said);
        // The second is under way to somebody on one of them.
        assert_eq!((three.free_permits(3), three.free_permits(4)), (1, 0));
    }

    #[test]
    fn what_one_node_has_left_over_is_no_permit_of_a_quorum() {
        let left = seen(&[&[], &[(0, 1, 5)], &[]]);
        assert_eq!(left.permits(), None);
        assert!(left.is_free());
        assert_eq!((left.free_permits(3), left.free_permits(4)), (3, 4));
        let said = "lock \"r\": free on 2 of 3 nodes (quorum 2); n: 1 of 3 permits is taken \
            (the first of them for at most 5 s unless extended)";
        assert_eq!(left.to_string(), said);
    }
}
