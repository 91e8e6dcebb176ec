use crate::{
    fence::{FencingToken, counter_of},
    owner::Owner,
    request::{FaultKind, Refusal, Request, Vote},
    resource::Resource,
    table::Table,
    time::Instant,
    timing::Ttl,
};
use alloc::{format, vec::Vec};
use core::time::Duration;

fn at(millis: u64) -> Instant {
    Instant::from_origin(Duration::from_millis(millis))
}

fn owner(name: &str) -> Owner {
    Owner::from_bytes(name.as_bytes()).expect("not empty")
}

fn ttl(millis: u64) -> Ttl {
    Ttl::new(Duration::from_millis(millis)).expect("in range")
}

fn named(names: &[&str]) -> Resource {
    Resource::several(names.iter().copied()).expect("good names")
}

fn acquire(names: &[&str], name: &str, millis: u64, proposal: Option<u64>) -> Request {
    Request::Acquire {
        resource: named(names),
        owner: owner(name),
        ttl: ttl(millis),
        proposal: proposal.and_then(FencingToken::new),
        place: None,
    }
}

fn repair(names: &[&str], name: &str, millis: u64, proposal: Option<u64>) -> Request {
    Request::Repair {
        resource: named(names),
        owner: owner(name),
        ttl: ttl(millis),
        proposal: proposal.and_then(FencingToken::new),
    }
}

fn extend(names: &[&str], name: &str, millis: u64) -> Request {
    Request::Extend {
        resource: named(names),
        owner: owner(name),
        ttl: ttl(millis),
    }
}

fn release(names: &[&str], name: &str, keep: Option<u64>) -> Request {
    Request::Release {
        resource: named(names),
        owner: owner(name),
        keep: keep.map(ttl),
    }
}

fn held(by: &str, millis: u64) -> Vote {
    Vote::Refused(Refusal {
        holder: Some(owner(by)),
        remaining: Some(Duration::from_millis(millis)),
        queued: None,
        permits: None,
    })
}

/// Whose each of these names is, and for how long.
fn keys(table: &Table, now: u64, names: &str) -> Vec<Option<(Owner, u64)>> {
    let of = |name| {
        let key = table.key(at(now), &named(&[name]))?;
        let left = key.expires_at.saturating_since(at(now));
        Some((key.owner.clone(), u64::try_from(left.as_millis()).ok()?))
    };
    names.split(' ').map(of).collect()
}

#[test]
fn all_names_are_granted_or_none() {
    let mut table = Table::new();
    assert!(
        table
            .apply(at(0), &acquire(&["b"], "x", 100, None))
            .is_granted()
    );
    assert!(
        table
            .apply(at(0), &acquire(&["c"], "y", 300, None))
            .is_granted()
    );
    // Told by the first that is in the way, and for as long as any is.
    let all = acquire(&["a", "b", "c"], "me", 1_000, None);
    assert_eq!(table.apply(at(10), &all), held("x", 290));
    assert_eq!(keys(&table, 10, "a"), [None]);
    assert_eq!(table.apply(at(100), &all), held("y", 200));
    assert!(table.apply(at(300), &all).is_granted());
    let mine = || Some((owner("me"), 1_000));
    assert_eq!(keys(&table, 300, "a b c"), [mine(), mine(), mine()]);
    // And it is in the way of each.
    for name in ["a", "b", "c"] {
        let alone = acquire(&[name], "z", 100, None);
        assert_eq!(table.apply(at(300), &alone), held("me", 1_000));
    }
    assert_eq!(
        table.apply(at(300), &acquire(&["c", "d"], "z", 100, None)),
        held("me", 1_000)
    );
    assert_eq!(keys(&table, 300, "d"), [None]);
}

#[test]
fn a_second_vote_under_one_owner_is_one_under_another_address() {
    let mut table = Table::new();
    let all = acquire(&["a", "b"], "me", 1_000, None);
    assert!(table.apply(at(0), &all).is_granted());
    // Even if somebody has taken the other name by now.
    assert!(
        table
            .apply(at(0), &release(&["a"], "me", None))
            .is_granted()
    );
    assert!(
        table
            .apply(at(0), &acquire(&["a"], "x", 500, None))
            .is_granted()
    );
    let again = table.apply(at(0), &all);
    let Vote::Unknown(fault) = again else {
        panic!("{again:?}");
    };
    assert_eq!(fault.kind(), FaultKind::SameNode);
}

#[test]
fn an_extension_is_for_all_names_or_none_and_cuts_none_short() {
    let mut table = Table::new();
    assert!(
        table
            .apply(at(0), &acquire(&["a", "b"], "me", 500, None))
            .is_granted()
    );
    assert!(table.apply(at(0), &extend(&["a"], "me", 900)).is_granted());
    assert!(
        table
            .apply(at(0), &extend(&["a", "b"], "me", 700))
            .is_granted()
    );
    assert_eq!(
        keys(&table, 0, "a b"),
        [Some((owner("me"), 900)), Some((owner("me"), 700))]
    );
    assert!(
        table
            .apply(at(0), &release(&["b"], "me", None))
            .is_granted()
    );
    let refused = table.apply(at(0), &extend(&["a", "b"], "me", 2_000));
    assert_eq!(refused, Vote::Refused(Refusal::default()));
    assert_eq!(keys(&table, 0, "a"), [Some((owner("me"), 900))]);
}

#[test]
fn a_repair_sets_what_is_missing_and_lets_all_live_as_long() {
    let mut table = Table::new();
    assert!(
        table
            .apply(at(0), &acquire(&["a", "b"], "me", 500, Some(7)))
            .is_granted()
    );
    assert!(
        table
            .apply(at(0), &release(&["b"], "me", None))
            .is_granted()
    );
    let vote = table.apply(at(100), &repair(&["a", "b"], "me", 500, Some(7)));
    let counter = FencingToken::new(8);
    assert_eq!(vote, Vote::Granted { counter }, "a vote anew");
    let mine = || Some((owner("me"), 500));
    assert_eq!(keys(&table, 100, "a b"), [mine(), mine()]);
    // One whose answer was lost does not count again.
    let again = table.apply(at(100), &repair(&["a", "b"], "me", 400, Some(7)));
    assert_eq!(again, Vote::Granted { counter });
    assert_eq!(keys(&table, 100, "a b"), [mine(), mine()]);
    assert!(
        table
            .apply(at(100), &release(&["a"], "me", None))
            .is_granted()
    );
    assert!(
        table
            .apply(at(100), &acquire(&["a"], "x", 200, None))
            .is_granted()
    );
    let refused = table.apply(at(100), &repair(&["a", "b"], "me", 900, Some(7)));
    assert_eq!(refused, held("x", 200));
    assert_eq!(keys(&table, 100, "b"), [mine()]);
}

#[test]
fn a_release_takes_back_what_is_ours_and_tells_if_it_was_not_all() {
    let mut table = Table::new();
    let all = ["a", "b"];
    assert!(
        table
            .apply(at(0), &acquire(&all, "me", 500, None))
            .is_granted()
    );
    assert!(
        table
            .apply(at(0), &release(&all, "me", Some(50)))
            .is_granted()
    );
    let left = || Some((owner("me"), 50));
    assert_eq!(keys(&table, 0, "a b"), [left(), left()]);
    assert!(table.apply(at(0), &release(&all, "me", None)).is_granted());
    assert_eq!(keys(&table, 0, "a b"), [None, None]);
    assert!(
        table
            .apply(at(0), &acquire(&all, "me", 500, None))
            .is_granted()
    );
    assert!(
        table
            .apply(at(0), &release(&["a"], "me", None))
            .is_granted()
    );
    assert!(
        table
            .apply(at(0), &acquire(&["a"], "x", 500, None))
            .is_granted()
    );
    assert_eq!(
        table.apply(at(0), &release(&all, "me", None)),
        held("x", 500)
    );
    assert_eq!(keys(&table, 0, "a b"), [Some((owner("x"), 500)), None]);
}

#[test]
fn a_transfer_wants_all_names_from_one_owner() {
    let mut table = Table::new();
    let transfer = |names: &[&str]| Request::Transfer {
        resource: named(names),
        from: owner("me"),
        owner: owner("heir"),
        ttl: ttl(300),
        proposal: None,
    };
    assert!(
        table
            .apply(at(0), &acquire(&["a", "b"], "me", 500, None))
            .is_granted()
    );
    let more = table.apply(at(0), &transfer(&["a", "b", "c"]));
    assert_eq!(more, Vote::Refused(Refusal::default()));
    assert_eq!(keys(&table, 0, "a"), [Some((owner("me"), 500))]);
    assert!(table.apply(at(0), &transfer(&["a", "b"])).is_granted());
    let heirs = || Some((owner("heir"), 300));
    assert_eq!(keys(&table, 0, "a b"), [heirs(), heirs()]);
}

#[test]
fn one_token_is_larger_than_each_names_last() {
    let mut table = Table::new();
    let token = |table: &Table, name| table.counter(&named(&[name])).map(FencingToken::get);
    assert_ne!(counter_of(&named(&["a"])), counter_of(&named(&["b"])));
    assert!(
        table
            .apply(at(0), &acquire(&["a"], "x", 10, Some(5)))
            .is_granted()
    );
    assert!(
        table
            .apply(at(0), &acquire(&["b"], "y", 10, Some(9)))
            .is_granted()
    );
    let vote = table.apply(at(10), &acquire(&["a", "b"], "me", 500, Some(3)));
    assert_eq!(
        vote,
        Vote::Granted {
            counter: FencingToken::new(10)
        }
    );
    assert_eq!([token(&table, "a"), token(&table, "b")], [Some(10); 2]);
    let raise = |number| Request::Raise {
        resource: named(&["a", "b"]),
        owner: owner("me"),
        token: FencingToken::new(number).expect("in range"),
    };
    assert!(table.apply(at(10), &raise(20)).is_granted());
    assert_eq!([token(&table, "a"), token(&table, "b")], [Some(20); 2]);
    // Argument S4: beyond one of them is beyond.
    assert!(
        table
            .apply(at(10), &release(&["b"], "me", None))
            .is_granted()
    );
    assert!(
        table
            .apply(at(10), &acquire(&["b"], "y", 10, Some(25)))
            .is_granted()
    );
    assert_eq!(table.apply(at(10), &raise(30)), held("y", 10));
    assert!(
        table
            .apply(at(20), &repair(&["a", "b"], "me", 500, Some(20)))
            .is_granted()
    );
    assert_eq!([token(&table, "a"), token(&table, "b")], [Some(26); 2]);
    let beyond = table.apply(at(20), &raise(22));
    assert!(
        format!("{beyond:?}").contains("beyond the token"),
        "{beyond:?}"
    );
}

#[test]
fn with_the_numbers_used_up_nothing_is_set() {
    let mut table = Table::new();
    let last = FencingToken::LAST.get();
    assert!(
        table
            .apply(at(20), &acquire(&["c"], "x", 10, Some(last)))
            .is_granted()
    );
    let over = table.apply(at(40), &acquire(&["c", "d"], "x", 10, Some(1)));
    assert!(format!("{over:?}").contains("come to its end"), "{over:?}");
    assert_eq!(keys(&table, 40, "c d"), [None, None]);
    // Nobody who wants no token is told one.
    let plain = table.apply(at(40), &acquire(&["c", "d"], "x", 10, None));
    assert_eq!(plain, Vote::GRANTED);
}

#[test]
fn all_are_free_or_somebody_has_all_or_nobody_is_told() {
    let mut table = Table::new();
    let inspect = Request::Inspect {
        resource: named(&["a", "b", "c"]),
    };
    assert_eq!(table.apply(at(0), &inspect), Vote::GRANTED);
    assert!(
        table
            .apply(at(0), &acquire(&["b", "c"], "x", 10, None))
            .is_granted()
    );
    let Vote::Refused(refusal) = table.apply(at(0), &inspect) else {
        panic!("two are held");
    };
    assert_eq!(refusal.holder, None, "nobody has all of them");
    let both = Request::Inspect {
        resource: named(&["b", "c"]),
    };
    assert_eq!(table.apply(at(0), &both), held("x", 10));
    assert_eq!(table.apply(at(10), &inspect), Vote::GRANTED);
}
