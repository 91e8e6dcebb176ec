//! Who waits is served: in turn, and as soon as there is something to have.

use super::{Property, Violation, seconds};
use crate::time::Moment;
use leasehold_core::{OperationId, PermitCount, Resource};

/// A caller that waits.
#[derive(Clone, Debug)]
struct Caller {
    client: usize,
    operation: OperationId,
    resource: Resource,
    began: Moment,
    manner: Manner,
    /// Whether it could have the resource, but for those who may come before.
    is_able: bool,
    /// Since when it could have the resource, as far as that has lasted.
    free_since: Option<Moment>,
}

/// How a caller waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Whether it waits for those of its client that came before.
    pub(crate) queues: bool,
    /// Whether it waits for as long as it takes. Others may ask out of turn before they give up.
    pub(crate) is_patient: bool,
    /// Whether it has a place on the nodes, which is kept for a while if it cannot come.
    pub(crate) has_place: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// In the order in which they began.
    callers: Vec<Caller>,
}

impl Waiting {
    pub(crate) fn began(
        &mut self,
        client: usize,
        operation: OperationId,
        resource: &Resource,
        now: Moment,
        manner: Manner,
    ) {
        self.callers.push(Caller {
            client,
            operation,
            resource: resource.clone(),
            began: now,
            manner,
            is_able: false,
            free_since: None,
        });
    }

    /// It has ended, with or without a lease.
    pub(crate) fn ended(&mut self, client: usize, operation: OperationId) {
        self.callers
            .retain(|it| it.client != client || it.operation != operation);
    }

    pub(crate) fn died(&mut self, client: usize) {
        self.keeps_places(|caller| caller.client == client);
        self.callers.retain(|caller| caller.client != client);
    }

    /// These could have come and cannot any more: those behind them wait from now on until their places have run out.
    fn keeps_places(&mut self, is_gone: impl Fn(&Caller) -> bool) {
        // Who wants to read and has come before who does not keeps that one waiting by its place as well.
        let gone = self
            .callers
            .iter()
            .filter(|caller| caller.manner.has_place && caller.is_able && is_gone(caller));
        let resources: Vec<_> = gone.map(|caller| caller.resource.whole()).collect();
        for caller in &mut self.callers {
            if resources.contains(&caller.resource.whole()) {
                caller.free_since = None;
            }
        }
    }

    /// Whether whoever asks or has won had its turn.
    pub(crate) fn has_turn(&self, client: usize, operation: OperationId) -> Result<(), Violation> {
        let is_it = |it: &&Caller| it.client == client && it.operation == operation;
        let Some(caller) = self.callers.iter().find(is_it) else {
            return Ok(());
        };
        if !caller.manner.queues || !caller.manner.is_patient {
            return Ok(());
        }
        let before = self.callers.iter().take_while(|it| !is_it(it));
        let mut before = before
            .filter(|it| it.client == client && it.resource == caller.resource && it.manner.queues);
        // As many as there are permits have their turn at once.
        let at_once = caller.resource.permits().map_or(1, PermitCount::get);
        match before.nth(usize::from(at_once) - 1) {
            None => Ok(()),
            Some(first) => Err(violation(format!(
                "op {} of c{client} goes for {} before op {}, which began earlier",
                operation.number(),
                caller.resource,
                first.operation.number()
            ))),
        }
    }

    /// Looks at everybody: `could` says whether the client could have the resource now. Nobody may wait for
    /// longer than `served_ns` for what it could have, or for longer than `longest_ns` for anything.
    pub(crate) fn look(
        &mut self,
        now: Moment,
        served_ns: u64,
        longest_ns: Option<u64>,
        could: impl Fn(usize, &Resource) -> bool,
    ) -> Result<(), Violation> {
        self.keeps_places(|caller| !could(caller.client, &caller.resource));
        // Who wants a part of a name waits for those who came before it and want it all, or parts of another kind; and who wants it
        // all waits for all who have parts.
        let wanted = self.callers.iter().map(|caller| caller.resource.clone());
        let wanted: Vec<_> = wanted.collect();
        for caller in &mut self.callers {
            let resource = &caller.resource;
            let mut others = wanted.iter().filter(|other| *other != resource);
            let is_behind =
                resource.is_part() && others.any(|other| other.whole() == resource.whole());
            caller.is_able = could(caller.client, resource);
            caller.free_since = match caller.is_able && !is_behind {
                true => Some(caller.free_since.unwrap_or(now)),
                false => None,
            };
            let number = caller.operation.number();
            let Caller {
                client, resource, ..
            } = caller;
            if let Some(since) = caller.free_since
                && now.since_ns(since) > served_ns
            {
                return Err(violation(format!(
                    "op {number} of c{client} waits for {resource}, which it could have had since {}",
                    seconds(since)
                )));
            }
            if longest_ns.is_some_and(|longest_ns| now.since_ns(caller.began) > longest_ns)
                && caller.manner.is_patient
            {
                return Err(violation(format!(
                    "op {number} of c{client} waits for {resource} since {}",
                    seconds(caller.began)
                )));
            }
        }
        Ok(())
    }
}

fn violation(what: String) -> Violation {
    Violation {
        property: Property::Waiting,
        what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;

    const PATIENT: Manner = Manner {
        queues: true,
        is_patient: true,
        has_place: false,
    };

    fn at(seconds: u64) -> Moment {
        Moment::from_ns(seconds * SECOND)
    }

    #[test]
    fn whoever_goes_out_of_turn_is_found() {
        let resource = Resource::new("r").expect("a name");
        let [a, b] = [1, 2].map(OperationId::new);
        let mut waiting = Waiting::default();
        waiting.began(0, a, &resource, at(0), PATIENT);
        waiting.began(0, b, &resource, at(0), PATIENT);
        assert_eq!(waiting.has_turn(0, a), Ok(()));
        assert!(waiting.has_turn(0, b).is_err());
        assert_eq!(waiting.has_turn(1, b), Ok(()), "another client");
        waiting.ended(0, a);
        assert_eq!(waiting.has_turn(0, b), Ok(()));
    }

    #[test]
    fn who_is_behind_a_place_that_is_kept_waits_until_it_has_run_out() {
        let resource = Resource::new("r").expect("a name");
        let look = |has_place, goes: fn(&mut Waiting)| {
            let mut waiting = Waiting::default();
            let manner = Manner {
                has_place,
                ..PATIENT
            };
            for client in [0, 1] {
                waiting.began(client, OperationId::new(1), &resource, at(0), manner);
            }
            let could_all = |_, _: &Resource| true;
            assert!(waiting.look(at(1), SECOND, None, could_all).is_ok());
            goes(&mut waiting);
            let others = |client, _: &Resource| client == 1;
            assert!(waiting.look(at(2), SECOND, None, others).is_ok());
            let in_time = waiting.look(at(3), SECOND, None, others).is_ok();
            assert!(waiting.look(at(4), SECOND, None, others).is_err());
            in_time
        };
        assert!(look(true, |_| ()), "it is cut off");
        assert!(look(true, |waiting| waiting.died(0)));
        assert!(!look(false, |_| ()), "nobody waits for one without a place");
        assert!(!look(false, |waiting| waiting.died(0)));
    }

    #[test]
    fn who_wants_to_read_waits_for_who_does_not() {
        let share = Resource::shared("r").expect("a name");
        let op = OperationId::new(1);
        let mut waiting = Waiting::default();
        waiting.began(0, op, &share, at(0), PATIENT);
        waiting.began(1, op, &share.whole(), at(0), PATIENT);
        let look = |waiting: &mut Waiting, seconds| {
            let could = |_, resource: &Resource| resource.is_shared();
            waiting.look(at(seconds), SECOND, None, could).is_ok()
        };
        assert!(look(&mut waiting, 1) && look(&mut waiting, 9));
        waiting.ended(1, op);
        assert!(look(&mut waiting, 10) && !look(&mut waiting, 12));
    }

    #[test]
    fn as_many_as_there_are_permits_have_their_turn_at_once() {
        let two = PermitCount::new(2).expect("in range");
        let permit = Resource::permit("r", two).expect("a name");
        let [a, b, c] = [1, 2, 3].map(OperationId::new);
        let mut waiting = Waiting::default();
        for operation in [a, b, c] {
            waiting.began(0, operation, &permit, at(0), PATIENT);
        }
        assert_eq!(waiting.has_turn(0, b), Ok(()));
        assert!(waiting.has_turn(0, c).is_err());
        waiting.ended(0, b);
        assert_eq!(waiting.has_turn(0, c), Ok(()));
    }

    #[test]
    fn who_is_behind_the_place_of_a_dead_reader_waits_until_it_has_run_out() {
        let share = Resource::shared("r").expect("a name");
        let op = OperationId::new(1);
        let look = |has_place| {
            let mut waiting = Waiting::default();
            let manner = Manner {
                has_place,
                ..PATIENT
            };
            waiting.began(0, op, &share, at(0), manner);
            waiting.began(1, op, &share.whole(), at(0), manner);
            let mut at_once = |seconds| {
                let found = waiting.look(at(seconds), SECOND, None, |_, _| true);
                if seconds == 1 {
                    waiting.died(0);
                }
                found.is_ok()
            };
            [1, 2, 3, 4].map(&mut at_once)
        };
        assert_eq!(look(true), [true, true, true, false]);
        assert_eq!(look(false), [true, true, false, false]);
    }

    #[test]
    fn whoever_waits_for_what_it_could_have_is_found() {
        let resource = Resource::new("r").expect("a name");
        let mut waiting = Waiting::default();
        waiting.began(0, OperationId::new(1), &resource, at(0), PATIENT);
        let mut look = |seconds, longest_ns, free| {
            waiting
                .look(at(seconds), SECOND, longest_ns, |_, _| free)
                .is_ok()
        };
        assert!(look(1, None, true));
        assert!(look(2, None, true));
        assert!(look(3, None, false), "it was taken in time");
        assert!(look(4, None, true));
        assert!(!look(6, None, true));
        assert!(look(7, Some(7 * SECOND), false));
        assert!(!look(8, Some(7 * SECOND), false), "it starves");
    }
}
