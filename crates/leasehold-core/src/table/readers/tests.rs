use super::super::*;
use crate::{
    queue::{Barrier, Place, Waiter},
    request::FaultKind,
};
use core::time::Duration;

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

fn owner(name: &str) -> Owner {
    Owner::from_bytes(name.as_bytes()).expect("a few bytes")
}

fn ttl(millis: u64) -> Ttl {
    Ttl::new(Duration::from_millis(millis)).expect("a TTL")
}

fn share() -> Resource {
    Resource::shared("doc").expect("a name")
}

/// A vote for the resource by this owner, for one second.
fn acquire(resource: Resource, name: &str) -> Request {
    Request::Acquire {
        resource,
        owner: owner(name),
        ttl: ttl(1_000),
        proposal: None,
        place: None,
    }
}

fn read(name: &str) -> Request {
    acquire(share(), name)
}

fn write(name: &str) -> Request {
    acquire(share().whole(), name)
}

fn extend(resource: Resource, name: &str, millis: u64) -> Request {
    Request::Extend {
        resource,
        owner: owner(name),
        ttl: ttl(millis),
    }
}

fn release(resource: Resource, name: &str, keep: Option<u64>) -> Request {
    Request::Release {
        resource,
        owner: owner(name),
        keep: keep.map(ttl),
    }
}

fn transfer(from: &str, name: &str) -> Request {
    Request::Transfer {
        resource: share(),
        from: owner(from),
        owner: owner(name),
        ttl: ttl(1_000),
        proposal: None,
    }
}

fn repair(name: &str) -> Request {
    Request::Repair {
        resource: share(),
        owner: owner(name),
        ttl: ttl(1_000),
        proposal: None,
    }
}

/// For how many milliseconds it is refused, and by whom.
fn refused(vote: &Vote) -> (Option<u64>, Option<Owner>) {
    let Vote::Refused(refusal) = vote else {
        panic!("{vote:?}");
    };
    let millis = |left: Duration| u64::try_from(left.as_millis()).expect("a few seconds");
    let left = refusal.remaining.map(millis);
    (left, refusal.holder.clone())
}

fn readers(table: &Table, now: Instant) -> Vec<(Owner, u64)> {
    let doc = share().whole();
    let readers = table.readers(now, &doc);
    readers
        .map(|key| (key.owner.clone(), key.expires_at.nanos() / 1_000_000))
        .collect()
}

#[test]
fn any_number_read_and_nobody_writes_beside_them() {
    let mut table = Table::new();
    assert!(table.apply(at(0), &read("a")).is_granted());
    assert!(table.apply(at(300), &read("b")).is_granted());
    let vote = table.apply(at(400), &write("w"));
    assert_eq!(refused(&vote), (Some(900), None));
    assert!(
        table
            .apply(at(400), &release(share(), "b", None))
            .is_granted()
    );
    let vote = table.apply(at(400), &write("w"));
    assert_eq!(refused(&vote), (Some(600), None));
    assert_eq!(table.locked(at(400)).count(), 1);
    assert!(table.apply(at(1_000), &write("w")).is_granted());
    let vote = table.apply(at(1_000), &read("c"));
    assert_eq!(refused(&vote), (Some(1_000), Some(owner("w"))));
    assert_eq!(readers(&table, at(1_000)), []);
    assert!(table.apply(at(2_000), &read("c")).is_granted());
    assert_eq!(table.key(at(2_000), &share().whole()), None);
}

#[test]
fn each_reader_has_an_end_of_its_own() {
    let mut table = Table::new();
    assert!(table.apply(at(0), &read("a")).is_granted());
    assert!(table.apply(at(0), &read("b")).is_granted());
    let later = extend(share(), "b", 5_000);
    assert!(table.apply(at(500), &later).is_granted());
    assert_eq!(readers(&table, at(1_000)), [(owner("b"), 5_500)]);
    // Nobody comes back by an extension.
    let vote = table.apply(at(1_000), &extend(share(), "a", 5_000));
    assert_eq!(refused(&vote), (Some(4_500), None));
    // What lives longer is not cut short, but by a last time.
    assert!(
        table
            .apply(at(1_000), &extend(share(), "b", 100))
            .is_granted()
    );
    assert_eq!(readers(&table, at(1_000)), [(owner("b"), 5_500)]);
    let last = release(share(), "b", Some(50));
    assert!(table.apply(at(1_000), &last).is_granted());
    assert_eq!(readers(&table, at(1_049)), [(owner("b"), 1_050)]);
    assert!(table.apply(at(1_050), &write("w")).is_granted());
}

#[test]
fn one_server_has_one_vote_of_a_reader() {
    let mut table = Table::new();
    assert!(table.apply(at(0), &read("a")).is_granted());
    let Vote::Unknown(fault) = table.apply(at(1), &read("a")) else {
        panic!("granted twice");
    };
    assert_eq!(fault.kind(), FaultKind::SameNode);
    // A repair may find its share, whose end stays, or none.
    assert!(table.apply(at(500), &repair("a")).is_granted());
    assert_eq!(readers(&table, at(500)), [(owner("a"), 1_000)]);
    assert!(table.apply(at(1_000), &repair("a")).is_granted());
    assert_eq!(readers(&table, at(1_000)), [(owner("a"), 2_000)]);
    assert!(table.apply(at(2_000), &write("w")).is_granted());
    let vote = table.apply(at(2_000), &repair("a"));
    assert_eq!(refused(&vote), (Some(1_000), Some(owner("w"))));
}

#[test]
fn a_writer_goes_on_as_a_reader_in_one_step_and_no_reader_as_a_writer() {
    let mut table = Table::new();
    assert!(table.apply(at(0), &write("w")).is_granted());
    let vote = table.apply(at(0), &transfer("x", "r"));
    assert_eq!(refused(&vote), (Some(1_000), Some(owner("w"))));
    assert!(table.apply(at(500), &transfer("w", "r")).is_granted());
    assert_eq!(readers(&table, at(500)), [(owner("r"), 1_500)]);
    assert_eq!(table.key(at(500), &share().whole()), None);
    assert!(table.apply(at(500), &read("a")).is_granted());
    // A share can be handed over.
    assert!(table.apply(at(600), &transfer("r", "s")).is_granted());
    let both = [(owner("s"), 1_600), (owner("a"), 1_500)];
    assert_eq!(readers(&table, at(600)), both);
    let vote = table.apply(at(600), &transfer("r", "t"));
    assert_eq!(refused(&vote), (Some(1_000), None));
    let Request::Transfer { ttl, proposal, .. } = transfer("a", "w") else {
        unreachable!("it is one");
    };
    let upgrade = Request::Transfer {
        resource: share().whole(),
        from: owner("a"),
        owner: owner("w"),
        ttl,
        proposal,
    };
    assert_eq!(
        refused(&table.apply(at(600), &upgrade)),
        (Some(1_000), None)
    );
}

#[test]
fn who_writes_sees_those_who_read_whatever_it_asks() {
    let mut table = Table::new();
    let whole = || share().whole();
    let (look, raise) = (
        |resource| Request::Inspect { resource },
        |resource| Request::Raise {
            resource,
            owner: owner("a"),
            token: FencingToken::new(7).expect("a number"),
        },
    );
    assert!(table.apply(at(0), &look(share())).is_granted());
    assert!(table.apply(at(0), &read("a")).is_granted());
    for request in [
        look(whole()),
        look(share()),
        raise(whole()),
        raise(share()),
        extend(whole(), "a", 1_000),
        release(whole(), "a", None),
    ] {
        let vote = table.apply(at(0), &request);
        assert_eq!(refused(&vote), (Some(1_000), None), "{request:?}");
    }
    assert_eq!(table.counter(&whole()), None);
    table.sweep(at(999));
    assert_eq!(readers(&table, at(0)).len(), 1);
    table.sweep(at(1_000));
    assert_eq!(readers(&table, at(0)).len(), 0);
}

#[test]
fn several_names_are_not_had_while_one_is_read() {
    let mut table = Table::new();
    assert!(table.apply(at(0), &read("a")).is_granted());
    let both = Resource::several(["doc", "other"]).expect("names");
    let vote = table.apply(at(0), &acquire(both.clone(), "b"));
    assert_eq!(refused(&vote), (Some(1_000), None));
    assert!(table.apply(at(1_000), &acquire(both, "b")).is_granted());
    assert_eq!(refused(&table.apply(at(1_000), &read("c"))).0, Some(1_000));
}

fn in_queue(request: Request, waiter: u64) -> Request {
    let Request::Acquire {
        resource,
        owner,
        ttl,
        ..
    } = request
    else {
        unreachable!("it is one");
    };
    Request::Acquire {
        place: Some(Place {
            waiter: Waiter::wanting(waiter, resource.wanted()),
            ticket: None,
        }),
        resource,
        owner,
        ttl,
        proposal: FencingToken::new(1),
    }
}

/// How many come before it, and what it waits for.
fn queued(vote: &Vote) -> (u32, Barrier) {
    let Vote::Refused(Refusal {
        queued: Some(queued),
        ..
    }) = vote
    else {
        panic!("{vote:?}");
    };
    (queued.ahead, queued.barrier)
}

#[test]
fn neither_who_writes_nor_who_reads_is_passed_by_for_ever() {
    let mut table = Table::new();
    let mut ask =
        |millis, request: Request, waiter| table.apply(at(millis), &in_queue(request, waiter));
    assert!(ask(0, read("a"), 1).is_granted());
    assert_eq!(queued(&ask(10, write("w"), 2)), (0, Barrier::Key));
    // A reader behind a waiting writer waits, although others read.
    assert_eq!(queued(&ask(20, read("b"), 3)), (1, Barrier::Key));
    assert_eq!(queued(&ask(20, read("c"), 4)), (1, Barrier::Key));
    assert_eq!(queued(&ask(30, write("x"), 5)), (3, Barrier::Key));
    assert_eq!(queued(&ask(1_000, read("b"), 3)), (1, Barrier::Queue));
    assert!(ask(1_000, write("w"), 2).is_granted());
    assert_eq!(queued(&ask(1_500, write("x"), 5)), (2, Barrier::Key));
    // Those that waited read together, before the next who writes.
    assert_eq!(queued(&ask(2_000, write("x"), 5)), (2, Barrier::Queue));
    assert!(ask(2_000, read("c"), 4).is_granted());
    assert!(ask(2_001, read("b"), 3).is_granted());
    assert_eq!(queued(&ask(2_002, write("x"), 5)), (0, Barrier::Key));
}
