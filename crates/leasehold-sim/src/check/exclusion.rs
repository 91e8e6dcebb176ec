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
