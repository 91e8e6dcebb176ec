//! At most one guard of a resource answers "valid" at any true instant, whatever the clients believe.
//!
//! Exact without watching every instant: a guard becomes valid only when it is handed out or extended, so
//! two that overlap also overlap at the later one of these moments. That clocks never step back for the
//! holder (assumption A4) makes it so; a clock that stands still only keeps a guard valid for longer.

use super::{Holder, Property, Violation};
use leasehold_core::{Instant, Resource};

#[derive(Debug, Default)]
pub(crate) struct Exclusion {
    guards: Vec<Guarded>,
}

#[derive(Debug)]
struct Guarded {
    holder: Holder,
    resource: Resource,
    valid_until: Instant,
}

impl Exclusion {
    /// A guard was handed out or extended. `time` tells what a client's clock shows now.
    pub(crate) fn says(
        &mut self,
        holder: Holder,
        resource: &Resource,
        valid_until: Instant,
        time: impl Fn(usize) -> Instant,
    ) -> Result<(), Violation> {
        match self.guards.iter_mut().find(|guard| guard.holder == holder) {
            Some(guard) => guard.valid_until = valid_until,
            None => self.guards.push(Guarded {
                holder,
                resource: resource.clone(),
                valid_until,
            }),
        }
        if time(holder.client) >= valid_until {
            return Ok(());
        }
        let another = self.guards.iter().find(|guard| {
            guard.holder != holder
                && guard.resource == *resource
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

    /// The guard is out of everybody's hands.
    pub(crate) fn ends(&mut self, holder: Holder) {
        self.guards.retain(|guard| guard.holder != holder);
    }

    pub(crate) fn died(&mut self, client: usize) {
        self.guards.retain(|guard| guard.holder.client != client);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_core::OperationId;
    use std::time::Duration;

    fn at(millis: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(millis))
    }

    fn holder(client: usize) -> Holder {
        let operation = OperationId::new(7);
        Holder { client, operation }
    }

    /// Client 0 holds until 100 ms by its clock, client 1 wants to when the clocks show these times.
    fn second(times: [u64; 2]) -> Result<(), Violation> {
        let resource = Resource::new("r").expect("a name");
        let mut exclusion = Exclusion::default();
        let first = exclusion.says(holder(0), &resource, at(100), |_| at(0));
        assert_eq!(first, Ok(()));
        exclusion.says(holder(1), &resource, at(900), |client| at(times[client]))
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
        let resource = Resource::new("r").expect("a name");
        let mut exclusion = Exclusion::default();
        let mut says =
            |client, until, now| exclusion.says(holder(client), &resource, at(until), |_| at(now));
        assert_eq!(says(0, 100, 0), Ok(()));
        assert_eq!(says(1, 300, 200), Ok(()));
        assert!(says(0, 400, 210).is_err());
    }

    #[test]
    fn a_guard_that_was_given_up_disturbs_nobody() {
        let resource = Resource::new("r").expect("a name");
        let mut exclusion = Exclusion::default();
        let now = |_| at(0);
        assert_eq!(exclusion.says(holder(0), &resource, at(100), now), Ok(()));
        exclusion.ends(holder(0));
        assert_eq!(exclusion.says(holder(1), &resource, at(100), now), Ok(()));
        exclusion.died(1);
        assert_eq!(exclusion.says(holder(2), &resource, at(100), now), Ok(()));
    }
}
