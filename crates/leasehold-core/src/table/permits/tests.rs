use super::super::*;
use crate::{
    permit::{Permit, PermitCount, TakenPermits},
    queue::{Barrier, Place, Waiter},
    request::FaultKind,
};
use alloc::{boxed::Box, format, vec};
use core::time::Duration;

mod beside;
mod queueing;

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

fn ttl(millis: u64) -> Ttl {
    Ttl::new(Duration::from_millis(millis)).expect("a TTL")
}

fn token(number: u64) -> FencingToken {
    FencingToken::new(number).expect("a number")
}

fn count(of: u16) -> PermitCount {
    PermitCount::new(of).expect("in range")
}

fn whole() -> Resource {
    Resource::new("pool").expect("a name")
}

/// Who does something, and the part of the name that it wants.
#[derive(Clone, Debug)]
struct Actor {
    resource: Resource,
    owner: Owner,
}

/// One of so many that wants this slot. Those of different numbers are different owners.
fn permit(slot: u16, of: u16, number: u8) -> Actor {
    let by = Owner::from_bytes(format!("app{number}").as_bytes()).expect("a few bytes");
    let slot = Permit::new(slot, count(of)).expect("a slot");
    Actor {
        resource: Resource::permit("pool", count(of)).expect("a name"),
        owner: Owner::of_permit(&[number; 20], slot, &by),
    }
}

fn named(resource: Resource, name: &str) -> Actor {
    let owner = Owner::from_bytes(name.as_bytes()).expect("a few bytes");
    Actor { resource, owner }
}

fn reader(name: &str) -> Actor {
    named(Resource::shared("pool").expect("a name"), name)
}

fn writer(name: &str) -> Actor {
    named(whole(), name)
}

impl Actor {
    fn acquire(&self) -> Request {
        Request::Acquire {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            ttl: ttl(1_000),
            proposal: None,
            place: None,
        }
    }

    fn counted(&self, proposal: u64) -> Request {
        let mut request = self.acquire();
        if let Request::Acquire { proposal: of, .. } = &mut request {
            *of = Some(token(proposal));
        }
        request
    }

    fn in_queue(&self, waiter: u64) -> Request {
        let mut request = self.counted(1);
        if let Request::Acquire { place, .. } = &mut request {
            let waiter = Waiter::wanting(waiter, self.resource.wanted());
            let ticket = None;
            *place = Some(Place { waiter, ticket });
        }
        request
    }

    fn leave(&self, waiter: u64) -> Request {
        Request::Leave {
            resource: self.resource.clone(),
            waiter: Waiter::wanting(waiter, self.resource.wanted()),
        }
    }

    fn repair(&self, proposal: Option<u64>) -> Request {
        Request::Repair {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            ttl: ttl(1_000),
            proposal: proposal.map(token),
        }
    }

    fn extend(&self, millis: u64) -> Request {
        Request::Extend {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            ttl: ttl(millis),
        }
    }

    fn release(&self, keep: Option<u64>) -> Request {
        Request::Release {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            keep: keep.map(ttl),
        }
    }

    fn take_over(&self, from: &Self, proposal: Option<u64>) -> Request {
        Request::Transfer {
            resource: self.resource.clone(),
            from: from.owner.clone(),
            owner: self.owner.clone(),
            ttl: ttl(1_000),
            proposal: proposal.map(token),
        }
    }

    fn raise(&self, to: u64) -> Request {
        Request::Raise {
            resource: self.resource.clone(),
            owner: self.owner.clone(),
            token: token(to),
        }
    }

    fn inspect(&self) -> Request {
        Request::Inspect {
            resource: self.resource.clone(),
        }
    }
}

/// A node, and its clock in milliseconds.
#[derive(Clone, Default)]
struct Node {
    table: Table,
    millis: u64,
}

impl Node {
    fn ask(&mut self, request: &Request) -> Vote {
        self.table.apply(at(self.millis), request)
    }

    fn grants(&mut self, request: &Request) {
        let vote = self.ask(request);
        assert!(vote.is_granted(), "{request:?}: {vote:?}");
    }

    /// The counter that the grant tells.
    fn counts(&mut self, request: &Request) -> Option<u64> {
        match self.ask(request) {
            Vote::Granted { counter } => counter.map(FencingToken::get),
            other => panic!("{request:?}: {other:?}"),
        }
    }

    fn refuses(&mut self, request: &Request) -> Refusal {
        match self.ask(request) {
            Vote::Refused(refusal) => refusal,
            other => panic!("{request:?}: {other:?}"),
        }
    }

    /// The slots that are taken, and when each of them ends.
    fn slots(&self) -> Vec<(u16, u64)> {
        let name = whole();
        let parts = self.table.readers(at(self.millis), &name);
        let mut slots: Vec<_> = parts
            .map(|key| {
                let permit = key.owner.permit().expect("only permits are taken");
                (permit.slot(), key.expires_at.nanos() / 1_000_000)
            })
            .collect();
        slots.sort_unstable();
        slots
    }
}

/// A refusal that tells of these slots of so many, each with the milliseconds that are left.
fn taken(of: u16, slots: &[(u16, u64)]) -> Refusal {
    let slots = slots.iter();
    let slots: Vec<_> = slots
        .map(|(slot, left)| (*slot, Duration::from_millis(*left)))
        .collect();
    Refusal {
        remaining: slots.iter().map(|(_, left)| *left).min(),
        permits: Some(Box::new(TakenPermits {
            of: count(of),
            slots,
        })),
        ..Refusal::default()
    }
}

#[test]
fn a_slot_has_one_owner_at_a_time_and_the_others_are_told_which_are_taken() {
    let mut node = Node::default();
    node.grants(&permit(2, 3, 1).acquire());
    node.millis = 100;
    node.grants(&permit(0, 3, 2).acquire());
    let told = taken(3, &[(0, 1_000), (2, 900)]);
    assert_eq!(node.refuses(&permit(2, 3, 3).acquire()), told);
    assert_eq!(node.refuses(&permit(0, 3, 3).acquire()), told);
    node.grants(&permit(1, 3, 3).acquire());
    node.grants(&permit(2, 3, 1).release(None));
    assert_eq!(node.slots(), [(0, 1_100), (1, 1_100)]);
    node.grants(&permit(2, 3, 4).acquire());
    // A slot is told of by its number, in whatever order they were taken.
    let told = taken(3, &[(0, 1_000), (1, 1_000), (2, 1_000)]);
    assert_eq!(node.refuses(&permit(1, 3, 5).acquire()), told);
}

#[test]
fn who_says_that_there_are_more_or_fewer_is_refused_and_told_how_many_there_are() {
    let mut node = Node::default();
    node.grants(&permit(0, 3, 1).acquire());
    for of in [1, 2, 4, 256] {
        for slot in [0, of - 1] {
            let told = node.refuses(&permit(slot, of, 2).acquire());
            assert_eq!(told, taken(3, &[(0, 1_000)]), "{slot}/{of}");
        }
    }
    // The number ends with the last permit.
    node.grants(&permit(0, 3, 1).release(None));
    node.grants(&permit(1, 4, 2).acquire());
    assert_eq!(
        node.refuses(&permit(0, 3, 1).acquire()),
        taken(4, &[(1, 1_000)])
    );
}

#[test]
fn a_permit_ends_by_itself_alone_and_is_not_cut_short() {
    let mut node = Node::default();
    let (first, second) = (permit(0, 2, 1), permit(1, 2, 2));
    node.grants(&first.acquire());
    node.grants(&second.acquire());
    node.millis = 500;
    node.grants(&first.extend(5_000));
    node.grants(&first.extend(100));
    assert_eq!(node.slots(), [(0, 5_500), (1, 1_000)]);
    node.millis = 1_000;
    // Nobody comes back by an extension, and a slot that is over is free.
    let told = taken(2, &[(0, 4_500)]);
    assert_eq!(node.refuses(&second.extend(5_000)), told);
    assert_eq!(node.refuses(&second.release(None)), told);
    node.grants(&permit(1, 2, 3).acquire());
    // The last word of its owner counts, be it sooner.
    node.grants(&first.release(Some(50)));
    assert_eq!(node.slots(), [(0, 1_050), (1, 2_000)]);
    node.millis = 1_050;
    assert_eq!(
        node.refuses(&permit(0, 3, 4).acquire()),
        taken(2, &[(1, 950)])
    );
    node.millis = 2_000;
    node.grants(&writer("w").acquire());
}

#[test]
fn one_server_has_one_vote_of_a_permit() {
    let mut node = Node::default();
    let (ours, other) = (permit(0, 2, 1), permit(1, 2, 2));
    node.grants(&ours.acquire());
    node.grants(&other.acquire());
    for request in [ours.acquire(), ours.take_over(&other, None)] {
        let Vote::Unknown(fault) = node.ask(&request) else {
            panic!("granted twice: {request:?}");
        };
        assert_eq!(fault.kind(), FaultKind::SameNode);
    }
    assert_eq!(node.slots(), [(0, 1_000), (1, 1_000)]);
}

#[test]
fn a_repair_finds_its_permit_or_an_empty_slot_and_takes_nobodys() {
    let mut node = Node::default();
    let ours = permit(0, 2, 1);
    assert_eq!(node.counts(&ours.repair(Some(7))), Some(7));
    node.millis = 500;
    // Found: neither its end nor its counter changes.
    assert_eq!(node.counts(&ours.repair(Some(50))), Some(7));
    assert_eq!(node.counts(&ours.repair(None)), None);
    assert_eq!(node.slots(), [(0, 1_000)]);
    node.millis = 1_000;
    node.grants(&permit(0, 2, 2).acquire());
    let told = taken(2, &[(0, 1_000)]);
    assert_eq!(node.refuses(&ours.repair(Some(50))), told);
    node.grants(&permit(1, 2, 3).repair(None));
    node.millis = 2_000;
    node.grants(&writer("w").acquire());
    let told = node.refuses(&ours.repair(Some(50)));
    assert_eq!(told.holder, Some(writer("w").owner));
    assert_eq!(told.permits, None);
}

#[test]
fn a_permit_is_handed_over_in_its_slot_or_into_an_empty_one() {
    let mut node = Node::default();
    let (first, second) = (permit(0, 3, 1), permit(1, 3, 2));
    node.grants(&first.acquire());
    node.grants(&second.acquire());
    node.millis = 400;
    let heir = permit(0, 3, 3);
    node.grants(&heir.take_over(&first, None));
    assert_eq!(node.slots(), [(0, 1_400), (1, 1_000)]);
    // Who has handed it over has nothing any more, and nothing to hand over.
    let told = taken(3, &[(0, 1_000), (1, 600)]);
    assert_eq!(node.refuses(&first.extend(1_000)), told);
    assert_eq!(node.refuses(&permit(0, 3, 4).take_over(&first, None)), told);
    // A slot that another has is not had by handing over, and who would have left keeps its own.
    assert_eq!(node.refuses(&permit(1, 3, 5).take_over(&heir, None)), told);
    assert_eq!(node.refuses(&permit(0, 2, 5).take_over(&heir, None)), told);
    assert_eq!(node.refuses(&reader("r").take_over(&heir, None)), told);
    assert_eq!(node.slots(), [(0, 1_400), (1, 1_000)]);
    node.grants(&permit(2, 3, 5).take_over(&heir, None));
    assert_eq!(node.slots(), [(1, 1_000), (2, 1_400)]);
    // Who has it alone may go on with another number.
    node.grants(&second.release(None));
    node.grants(&permit(0, 1, 6).take_over(&permit(2, 3, 5), None));
    assert_eq!(node.slots(), [(0, 1_400)]);
}

#[test]
fn who_has_the_whole_name_goes_on_with_a_permit_in_one_step() {
    let mut node = Node::default();
    let ours = permit(1, 2, 1);
    node.grants(&writer("w").acquire());
    let told = node.refuses(&ours.take_over(&writer("x"), Some(5)));
    assert_eq!(told.holder, Some(writer("w").owner));
    assert_eq!(node.counts(&ours.take_over(&writer("w"), Some(5))), Some(5));
    assert_eq!(node.slots(), [(1, 1_000)]);
    assert_eq!(node.table.key(at(0), &whole()), None);
    let told = node.refuses(&writer("w").extend(1_000));
    assert_eq!(
        (told.holder, told.remaining),
        (None, Some(at(1_000).since_origin()))
    );
    // None makes the whole name of a permit.
    let up = writer("w").take_over(&ours, None);
    assert_eq!(node.refuses(&up).holder, None);
}

#[test]
fn each_slot_has_a_counter_of_its_own_that_only_grows() {
    let mut node = Node::default();
    let slot = |slot, number| permit(slot, 3, number);
    assert_eq!(node.counts(&slot(0, 1).counted(10)), Some(10));
    assert_eq!(node.counts(&slot(1, 2).counted(3)), Some(3));
    // Who wants no token is not counted.
    assert_eq!(node.counts(&slot(2, 3).acquire()), None);
    node.grants(&slot(0, 1).release(None));
    assert_eq!(node.counts(&slot(0, 4).counted(5)), Some(11));
    assert_eq!(
        node.counts(&slot(0, 5).take_over(&slot(0, 4), Some(5))),
        Some(12)
    );
    // Into another slot it is counted by that one's counter.
    node.grants(&slot(2, 3).release(None));
    assert_eq!(
        node.counts(&slot(2, 6).take_over(&slot(0, 5), Some(5))),
        Some(5)
    );
    // A refusal counts nothing, and the name itself has a counter of its own.
    node.refuses(&slot(1, 7).counted(100));
    assert_eq!(node.table.counter(&whole()), None);
    node.grants(&slot(1, 2).release(None));
    assert_eq!(node.counts(&slot(1, 8).counted(1)), Some(4));
    // Another number of permits does not begin anew.
    node.millis = 1_000;
    assert_eq!(node.counts(&permit(0, 8, 9).counted(1)), Some(13));
    // Who reads is counted by nobody.
    node.millis = 2_000;
    assert_eq!(node.counts(&reader("r").counted(70)), None);
    assert_eq!(node.table.counter(&whole()), None);
}

#[test]
fn only_who_has_a_permit_raises_its_counter() {
    let mut node = Node::default();
    let ours = permit(0, 2, 1);
    assert_eq!(node.counts(&ours.counted(10)), Some(10));
    node.grants(&ours.raise(15));
    node.grants(&ours.raise(15));
    let told = taken(2, &[(0, 1_000)]);
    assert_eq!(node.refuses(&permit(0, 2, 2).raise(99)), told);
    assert_eq!(node.refuses(&permit(1, 2, 2).raise(99)), told);
    // A counter that is beyond the token may be a later holder's.
    let Vote::Unknown(fault) = node.ask(&ours.raise(14)) else {
        panic!("lowered");
    };
    assert_eq!(fault.kind(), FaultKind::Rejected);
    node.grants(&ours.release(None));
    assert_eq!(node.counts(&permit(0, 2, 2).counted(1)), Some(16));
    assert_eq!(node.counts(&permit(1, 2, 3).counted(1)), Some(1));
}

#[test]
fn a_slot_whose_counter_has_come_to_its_end_is_not_given_away() {
    let mut node = Node::default();
    let last = FencingToken::LAST.get();
    let ours = permit(0, 2, 1);
    assert_eq!(node.counts(&ours.counted(last)), Some(last));
    node.grants(&ours.release(None));
    node.grants(&permit(1, 2, 2).acquire());
    for request in [
        permit(0, 2, 3).counted(1),
        permit(0, 2, 3).repair(Some(1)),
        permit(0, 2, 3).take_over(&permit(1, 2, 2), Some(1)),
    ] {
        let Vote::Unknown(fault) = node.ask(&request) else {
            panic!("counted: {request:?}");
        };
        assert_eq!(fault.kind(), FaultKind::Rejected);
    }
    assert_eq!(node.slots(), [(1, 1_000)]);
    node.grants(&permit(0, 2, 3).acquire());
    // Who has the whole name keeps it, if a permit cannot be had in its place.
    node.millis = 1_000;
    node.grants(&writer("w").acquire());
    let down = permit(0, 2, 4).take_over(&writer("w"), Some(1));
    assert!(matches!(node.ask(&down), Vote::Unknown(_)));
    let kept = node.table.key(at(1_000), &whole());
    assert_eq!(kept.map(|key| &key.owner), Some(&writer("w").owner));
}

#[test]
fn permits_are_swept_when_they_have_ended() {
    let mut node = Node::default();
    node.grants(&permit(0, 2, 1).acquire());
    node.grants(&permit(1, 2, 2).acquire());
    node.grants(&permit(1, 2, 2).extend(2_000));
    assert_eq!(node.table.locked(at(1_000)).count(), 1);
    node.table.sweep(at(1_000));
    assert_eq!(node.slots(), [(1, 2_000)]);
    node.table.sweep(at(2_000));
    assert_eq!(node.slots(), []);
    assert_eq!(node.table.locked(at(0)).count(), 0);
}
