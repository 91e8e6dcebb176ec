//! At most one guard of a resource answers "valid" at any true instant, whatever the clients believe.
//!
//! Exact without watching every instant: a guard becomes valid only when it is handed out or extended, so
//! two that overlap also overlap at the later one of these moments. That clocks never step back for the
//! holder (assumption A4) makes it so; a clock that stands still only keeps a guard valid for longer.

use super::{Holder, Property, Violation};
use leasehold_core::{Instant, Owner, Resource};
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(crate) struct Exclusion {
    guards: Vec<Guarded>,
}

#[derive(Debug)]
struct Guarded {
    holder: Holder,
    resource: Resource,
    owner: Owner,
    valid_until: Instant,
}

impl Exclusion {
    /// A guard was handed out or extended, or a lease without one. Those who act for one owner are one. `time` tells what a client's clock shows now.
    pub(crate) fn says(
        &mut self,
        holder: Holder,
        (resource, owner): (&Resource, &Owner),
        valid_until: Instant,
        time: impl Fn(usize) -> Instant,
    ) -> Result<(), Violation> {
        match self.guards.iter_mut().find(|guard| guard.holder == holder) {
            Some(guard) => guard.valid_until = valid_until,
            None => self.guards.push(Guarded {
                holder,
                resource: resource.clone(),
                owner: owner.clone(),
                valid_until,
            }),
        }
        if time(holder.client) >= valid_until {
            return Ok(());
        }
        let another = self.guards.iter().find(|guard| {
            guard.holder != holder
                && excludes((&guard.resource, &guard.owner), (resource, owner))
                && guard.owner != *owner
                && time(guard.holder.client) < guard.valid_until
        });
        let Some(another) = another else {
            return Ok(());
        };
        let (other, mine) = (another.holder, holder);
        let left = another.valid_until.saturating_since(time(other.client));
        Err(Violation {
            property: Property::Exclusion,
            what: format!(
                "c{} (op {}) and c{} (op {}) both hold {resource}, the former for another {left:?}",
                other.client,
                other.operation.number(),
                mine.client,
                mine.operation.number(),
            ),
        })
    }

    /// Counts who holds permits of the resource, if it is one: by their number alone, whatever they say of their slots.
    pub(crate) fn count(
        &self,
        resource: &Resource,
        time: impl Fn(usize) -> Instant,
    ) -> Result<(), Violation> {
        let Some(of) = resource.permits() else {
            return Ok(());
        };
        let valid = self.guards.iter().filter(|guard| {
            guard.resource == *resource && time(guard.holder.client) < guard.valid_until
        });
        let owners: BTreeSet<_> = valid.map(|guard| &guard.owner).collect();
        if owners.len() <= of.get().into() {
            return Ok(());
        }
        Err(Violation {
            property: Property::Count,
            what: format!("{} hold permits of {resource}, of {of}", owners.len()),
        })
    }

    /// The guard is out of everybody's hands.
    pub(crate) fn ends(&mut self, holder: Holder) {
        self.guards.retain(|guard| guard.holder != holder);
    }

    /// Somebody releases what has this owner.
    pub(crate) fn given_up(&mut self, owner: &Owner) {
        self.guards.retain(|guard| guard.owner != *owner);
    }

    pub(crate) fn died(&mut self, client: usize) {
        self.guards.retain(|guard| guard.holder.client != client);
    }
}

/// Whether nobody has one of these while another has the other: they have a name in common, and are not both shares, nor permits
/// of as many in two slots.
fn excludes(one: (&Resource, &Owner), other: (&Resource, &Owner)) -> bool {
    let slot = |owner: &Owner| owner.permit().map(|permit| (permit.of(), permit.slot()));
    let are_beside = match (one.0.permits(), other.0.permits()) {
        (None, None) => one.0.is_shared() && other.0.is_shared(),
        (Some(of), Some(other_of)) => of == other_of && slot(one.1) != slot(other.1),
        _ => false,
    };
    !are_beside && { one.0.names() }.any(|name| other.0.names().any(|other| other == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::{OperationId, Permit, PermitCount};
    use std::time::Duration;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn resource() -> Resource {
        Resource::new("r").expect("a name")
    }

    fn owner(client: usize) -> Owner {
        Owner::from_bytes(format!("owner {client}").as_bytes()).expect("a few bytes")
    }

    fn holder(client: usize) -> Holder {
        let operation = OperationId::new(7);
        Holder { client, operation }
    }

    /// Client 0 holds until 100 ms by its clock, client 1 wants to when the clocks show these times.
    fn second(times: [u64; 2]) -> Result<(), Violation> {
        let resource = resource();
        let mut exclusion = Exclusion::default();
        let first = exclusion.says(holder(0), (&resource, &owner(0)), at(100), |_| at(0));
        assert_eq!(first, Ok(()));
        exclusion.says(holder(1), (&resource, &owner(1)), at(900), |client| {
            at(times[client])
        })
    }

    #[test]
    fn two_guards_that_are_valid_at_once_are_found() {
        assert!(second([99, 500]).is_err());
        assert_eq!(second([100, 500]), Ok(()));
        // The second guard is not valid itself: it was told too late.
        assert_eq!(second([99, 900]), Ok(()));
    }

    #[test]
    fn a_guard_that_comes_to_life_again_is_found() {
        let resource = resource();
        let mut exclusion = Exclusion::default();
        let mut says = |client, until, now| {
            exclusion.says(
                holder(client),
                (&resource, &owner(client)),
                at(until),
                |_| at(now),
            )
        };
        assert_eq!(says(0, 100, 0), Ok(()));
        assert_eq!(says(1, 300, 200), Ok(()));
        assert!(says(0, 400, 210).is_err());
    }

    #[test]
    fn a_guard_that_was_given_up_disturbs_nobody() {
        let resource = resource();
        let mut exclusion = Exclusion::default();
        let now = |_| at(0);
        assert_eq!(
            exclusion.says(holder(0), (&resource, &owner(0)), at(100), now),
            Ok(())
        );
        exclusion.ends(holder(0));
        assert_eq!(
            exclusion.says(holder(1), (&resource, &owner(1)), at(100), now),
            Ok(())
        );
        exclusion.died(1);
        assert_eq!(
            exclusion.says(holder(2), (&resource, &owner(2)), at(100), now),
            Ok(())
        );
    }

    #[test]
    fn readers_disturb_writers_and_not_each_other() {
        let (whole, share) = (resource(), Resource::shared("r").expect("a name"));
        let mut exclusion = Exclusion::default();
        let mut says = |client, resource| {
            exclusion
                .says(holder(client), (resource, &owner(client)), at(100), |_| {
                    at(0)
                })
                .is_ok()
        };
        assert!(says(0, &share) && says(1, &share));
        assert!(!says(2, &whole));
        let mut exclusion = Exclusion::default();
        let mut says = |client, resource| {
            let says = (resource, &owner(client));
            { exclusion.says(holder(client), says, at(100), |_| at(0)) }.is_ok()
        };
        assert!(says(0, &whole));
        assert!(!says(1, &share));
    }

    /// Three want permits of two, in these slots. Says whether each may hold, and whether they are not too many.
    fn permits(slots: [(u16, u16); 3]) -> [(bool, bool); 3] {
        let mut exclusion = Exclusion::default();
        let mut client = 0;
        slots.map(|(slot, of)| {
            let of = PermitCount::new(of).expect("in range");
            let permit = Permit::new(slot, of).expect("a slot");
            client += 1;
            let owner = Owner::of_permit(&[9; 20], permit, &owner(client));
            let resource = Resource::permit("r", of).expect("a name");
            let says = exclusion.says(holder(client), (&resource, &owner), at(100), |_| at(0));
            (says.is_ok(), exclusion.count(&resource, |_| at(0)).is_ok())
        })
    }

    #[test]
    fn two_in_one_slot_are_found_and_more_than_there_are_permits() {
        let fine = (true, true);
        assert_eq!(permits([(0, 3), (1, 3), (2, 3)]), [fine; 3]);
        assert_eq!(
            permits([(0, 2), (1, 2), (1, 2)]),
            [fine, fine, (false, false)]
        );
        assert_eq!(permits([(0, 3), (0, 3), (2, 3)])[1], (false, true));
        assert_eq!(
            permits([(0, 3), (1, 2), (2, 3)])[1],
            (false, true),
            "of two, and of three"
        );
    }

    #[test]
    fn a_permit_disturbs_who_reads_and_who_has_the_name() {
        let of = PermitCount::new(2).expect("in range");
        let permit = Owner::of_permit(&[9; 20], Permit::new(0, of).expect("a slot"), &owner(0));
        for other in [resource(), Resource::shared("r").expect("a name")] {
            let mut exclusion = Exclusion::default();
            let wanted = Resource::permit("r", of).expect("a name");
            let mut says =
                |client, says| { exclusion.says(holder(client), says, at(100), |_| at(0)) }.is_ok();
            assert!(says(0, (&wanted, &permit)));
            assert!(!says(1, (&other, &owner(1))));
        }
    }

    #[test]
    fn those_who_act_for_one_owner_are_one_until_it_is_given_up() {
        let (resource, one, two) = (resource(), owner(0), owner(1));
        let mut exclusion = Exclusion::default();
        let now = |_| at(0);
        let mut says = |client, of| {
            exclusion
                .says(holder(client), (&resource, of), at(100), now)
                .is_ok()
        };
        assert!(says(0, &one) && says(1, &one));
        assert!(!says(2, &two));
        exclusion.ends(holder(2));
        exclusion.given_up(&one);
        let next = exclusion.says(holder(2), (&resource, &two), at(100), now);
        assert_eq!(next, Ok(()));
    }
}
