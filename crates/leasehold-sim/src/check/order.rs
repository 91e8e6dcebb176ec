//! Whoever wants a fair lock is served in the order of its ticket, as well as nodes can know it.

use super::{Property, Violation};
use crate::time::Moment;
use leasehold_core::{OperationId, PermitCount, Request, Resource, Send, Ticket, Waiter};

/// Somebody who has shown a ticket.
#[derive(Clone, Debug)]
struct Standing {
    client: usize,
    operation: OperationId,
    resource: Resource,
    turn: (Ticket, Waiter),
    /// When it was shown first.
    shown: Moment,
    /// Whether all nodes could be asked when it was shown last. Otherwise it may have a place on fewer than a quorum of them
    /// until it asks again, as one of those that hear of it may grant it what it does not get.
    is_heard: bool,
    /// How often others with larger tickets had the resource since.
    overtaken: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Order {
    waiting: Vec<Standing>,
}

impl Order {
    /// A request leaves, when all nodes can be asked or not: it may show a ticket.
    pub(crate) fn sent(&mut self, client: usize, at: Moment, send: &Send, is_heard: bool) {
        let Request::Acquire {
            resource,
            place: Some(place),
            ..
        } = &send.request
        else {
            return;
        };
        let operation = send.tag.attempt.operation;
        let Some(ticket) = place.ticket else {
            return;
        };
        let mut waiting = self.waiting.iter_mut();
        match waiting.find(|it| it.is(client, operation)) {
            Some(standing) => standing.is_heard = is_heard,
            None => self.waiting.push(Standing {
                client,
                operation,
                resource: resource.clone(),
                turn: (ticket, place.waiter),
                shown: at,
                is_heard,
                overtaken: 0,
            }),
        }
    }

    /// Somebody has won, and so many permits of the resource are left. Nobody who waits may be overtaken more than `most` times by
    /// those who came later, from `settled_ns` on after it had shown its ticket.
    pub(crate) fn acquired(
        &mut self,
        client: usize,
        operation: OperationId,
        resource: &Resource,
        (now, left): (Moment, usize),
        (most, settled_ns): (u32, u64),
    ) -> Result<(), Violation> {
        let mut waiting = self.waiting.iter();
        let won = waiting.find(|it| it.is(client, operation));
        // Whoever had no ticket yet came after all who have one.
        let won = won.map(|it| it.turn);
        self.forget(client, operation);
        // For these there is something left.
        let alike = self.waiting.iter().filter(|it| it.resource == *resource);
        let mut turns: Vec<_> = alike.map(|it| it.turn).collect();
        turns.sort_unstable();
        let first_behind = turns.get(left).copied();
        for other in &mut self.waiting {
            let is_behind =
                other.resource != *resource || first_behind.is_some_and(|turn| other.turn >= turn);
            let is_settled = now.since_ns(other.shown) > settled_ns;
            let is_later = won.is_none_or(|won| won > other.turn);
            let is_judged = other.is_heard && is_settled;
            if is_in_the_way(&other.resource, resource) && is_judged && is_later && is_behind {
                other.overtaken += 1;
            }
            // When several permits are left at once, each may go to one that asks while another is on its way.
            let permits = other.resource.permits().map_or(0, PermitCount::get);
            if other.overtaken > most.saturating_add(permits.into()) {
                return Err(Violation {
                    property: Property::Order,
                    what: format!(
                        "op {} of c{client} has {resource} before op {} of c{}, which has the ticket {} and was \
                         overtaken {} times",
                        operation.number(),
                        other.operation.number(),
                        other.client,
                        other.turn.0,
                        other.overtaken
                    ),
                });
            }
        }
        Ok(())
    }

    /// It waits no longer.
    pub(crate) fn forget(&mut self, client: usize, operation: OperationId) {
        self.waiting.retain(|it| !it.is(client, operation));
    }

    pub(crate) fn died(&mut self, client: usize) {
        self.waiting.retain(|it| it.client != client);
    }
}

/// Whether who has the latter keeps another waiting for the former.
fn is_in_the_way(one: &Resource, other: &Resource) -> bool {
    let both_read = one.is_shared() && other.is_shared();
    // Who says that there are more or fewer permits is refused, and told how many there are: it has no place among the others.
    let are_other_permits =
        one.permits().is_some() && other.permits().is_some() && one.permits() != other.permits();
    let is_the_same = |name| other.names().any(|other| other == name);
    !both_read && !are_other_permits && one.names().any(is_the_same)
}

impl Standing {
    fn is(&self, client: usize, operation: OperationId) -> bool {
        self.client == client && self.operation == operation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MILLISECOND;
    use leasehold_core::{AttemptId, NodeSet, Owner, PermitCount, Place, Tag, Ttl};

    fn resource() -> Resource {
        Resource::new("r").expect("a name")
    }

    fn at(millis: u64) -> Moment {
        Moment::from_ns(millis * MILLISECOND)
    }

    /// A request of that operation that shows this ticket.
    fn shows(operation: u64, ticket: Option<u64>) -> Send {
        let operation = OperationId::new(operation);
        let attempt = AttemptId {
            operation,
            number: 1,
        };
        Send {
            nodes: NodeSet::first(3),
            tag: Tag { attempt, step: 0 },
            request: Request::Acquire {
                resource: resource(),
                owner: Owner::from_bytes(b"o").expect("an owner"),
                ttl: Ttl::DEFAULT,
                proposal: None,
                place: Some(Place {
                    waiter: Waiter::new(1),
                    ticket: ticket.and_then(Ticket::new),
                }),
            },
        }
    }

    #[test]
    fn whoever_is_overtaken_too_often_is_found() {
        let mut order = Order::default();
        order.sent(0, at(0), &shows(0, Some(5)), true);
        order.sent(1, at(0), &shows(0, Some(6)), true);
        order.sent(2, at(0), &shows(0, None), true);
        let law = (1, MILLISECOND);
        let mut wins = |client, millis| {
            order.acquired(
                client,
                OperationId::new(0),
                &resource(),
                (at(millis), 0),
                law,
            )
        };
        assert_eq!(wins(1, 1), Ok(()), "nodes may not have heard of it");
        assert_eq!(wins(2, 2), Ok(()), "once");
        let found = wins(2, 3).expect_err("twice");
        assert_eq!(found.property, Property::Order);
    }

    #[test]
    fn whoever_could_not_ask_all_nodes_is_judged_when_it_has() {
        let mut order = Order::default();
        let law = (0, MILLISECOND);
        for (is_heard, millis) in [(false, 2), (true, 3)] {
            order.sent(0, at(0), &shows(0, Some(5)), is_heard);
            let op = OperationId::new(0);
            let won = order.acquired(1, op, &resource(), (at(millis), 0), law);
            assert_eq!(won.is_err(), is_heard);
        }
    }

    #[test]
    fn readers_overtake_writers_and_not_each_other() {
        let share = Resource::shared("r").expect("a name");
        let (op, law) = (OperationId::new(0), (0, MILLISECOND));
        let wins = |order: &mut Order, resource| order.acquired(2, op, resource, (at(9), 0), law);
        let mut order = Order::default();
        order.sent(0, at(0), &shows(0, Some(5)), true);
        assert!(wins(&mut order, &share).is_err());
        let mut reads = shows(0, Some(5));
        if let Request::Acquire { resource, .. } = &mut reads.request {
            resource.clone_from(&share);
        }
        let mut order = Order::default();
        order.sent(0, at(0), &reads, true);
        assert_eq!(wins(&mut order, &share), Ok(()));
        assert!(wins(&mut order, &resource()).is_err());
    }

    #[test]
    fn nobody_is_overtaken_for_whom_a_permit_is_left() {
        let of = PermitCount::new(3).expect("in range");
        let permit = Resource::permit("r", of).expect("a name");
        let overtaken = |times, left| {
            let mut order = Order::default();
            for (client, ticket) in [(0, 5), (1, 6)] {
                let mut shows = shows(0, Some(ticket));
                if let Request::Acquire { resource, .. } = &mut shows.request {
                    resource.clone_from(&permit);
                }
                order.sent(client, at(0), &shows, true);
            }
            let (op, law) = (OperationId::new(0), (0, MILLISECOND));
            let mut wins = || order.acquired(2, op, &permit, (at(9), left), law).is_err();
            (0..times).any(|_| wins())
        };
        // Once for each of the permits is not too often.
        assert_eq!([0, 1, 2].map(|left| overtaken(3, left)), [false; 3]);
        assert_eq!(
            [0, 1, 2].map(|left| overtaken(4, left)),
            [true, true, false]
        );
    }

    #[test]
    fn whoever_says_that_there_are_more_permits_has_no_place_among_the_others() {
        let [two, three] = [2, 3].map(|of| {
            let of = PermitCount::new(of).expect("in range");
            Resource::permit("r", of).expect("a name")
        });
        assert!(is_in_the_way(&two, &two) && !is_in_the_way(&two, &three));
        let (whole, share) = (resource(), Resource::shared("r").expect("a name"));
        for other in [&whole, &share] {
            assert!(is_in_the_way(other, &two) && is_in_the_way(&two, other));
        }
    }

    #[test]
    fn whoever_came_before_may_win_before() {
        let mut order = Order::default();
        order.sent(0, at(0), &shows(0, Some(5)), true);
        order.sent(1, at(0), &shows(0, Some(4)), true);
        let (op, law) = (OperationId::new(0), (0, MILLISECOND));
        assert_eq!(order.acquired(1, op, &resource(), (at(9), 0), law), Ok(()));
        assert!(order.acquired(1, op, &resource(), (at(9), 0), law).is_err());
        order.died(0);
        assert_eq!(order.acquired(1, op, &resource(), (at(9), 0), law), Ok(()));
    }
}
