//! Permits of a name as a server keeps them.

use crate::support::driven::{Driven, acquire, by, extend, fault, release, transfer};
use leasehold::{LockManager, RestartGuard, configuration::Configuration};
use leasehold_core::{
    FaultKind, FencingToken, Owner, Permit, PermitCount, Refusal, Request, Resource, Vote,
};
use leasehold_servers::{Server, require_server};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn server() -> Server {
    require_server();
    Server::start().expect("it starts")
}

fn permit(slot: u16, of: u16) -> Permit {
    let of = PermitCount::new(of).expect("in range");
    Permit::new(slot, of).expect("one of the slots")
}

fn owner_of(permit: Permit, name: &str) -> Owner {
    let digits = name.as_bytes()[0];
    Owner::of_permit(&[digits; 20], permit, &by(name))
}

/// The request, but about this permit.
fn about(permit: Permit, mut request: Request) -> Request {
    match &mut request {
        Request::Acquire {
            resource, owner, ..
        }
        | Request::Repair {
            resource, owner, ..
        }
        | Request::Extend {
            resource, owner, ..
        }
        | Request::Transfer {
            resource, owner, ..
        }
        | Request::Raise {
            resource, owner, ..
        }
        | Request::Release {
            resource, owner, ..
        } => {
            *resource = Resource::permit(resource.as_str(), permit.of()).expect("a good name");
            let name = String::from_utf8_lossy(owner.as_bytes()).into_owned();
            *owner = owner_of(permit, &name);
        }
        other => panic!("{other:?}"),
    }
    request
}

fn take(permit: Permit, name: &str) -> Request {
    about(permit, acquire("pool", name, SECOND * 60))
}

fn counted(mut request: Request, token: u64) -> Request {
    if let Request::Acquire { proposal, .. } | Request::Transfer { proposal, .. } = &mut request {
        *proposal = FencingToken::new(token);
    }
    request
}

fn hand_over(permit: Permit, from: (Permit, &str), name: &str) -> Request {
    let mut request = about(permit, transfer("pool", "x", name, SECOND * 60));
    if let Request::Transfer { from: former, .. } = &mut request {
        *former = owner_of(from.0, from.1);
    }
    request
}

/// The owners that the server has under the name, in the order of their ends.
fn owners(server: &Server) -> Vec<String> {
    let told = server.command(&["ZRANGE", "pool", "0", "-1"]);
    let told = told.expect("it answers");
    told.texts()
        .iter()
        .map(|owner| (*owner).to_string())
        .collect()
}

fn counter(server: &Server, request: &Request) -> Option<String> {
    let field = format!("f{}", request.counter());
    let told = server.command(&["HGET", "leasehold:node", &field]);
    told.expect("it answers").text().map(str::to_owned)
}

#[test]
fn a_permit_stands_in_the_names_own_key_and_its_grants_are_counted_in_its_slots_own_field() {
    let server = server();
    let mut link = Driven::up(&server.url());
    let [first, second] = [0, 7].map(|slot| permit(slot, 8));
    let request = counted(take(first, "a"), 70);
    let token = |number| Vote::Granted {
        counter: FencingToken::new(number),
    };
    assert_eq!(link.ask(&request), token(70));
    let other = counted(take(second, "b"), 5);
    assert_eq!(link.ask(&other), token(5));
    let digits = |letter: &str| letter.repeat(20);
    let (a, b) = (digits("61"), digits("62"));
    let expected = [format!("{a}+permit0/8.a"), format!("{b}+permit7/8.b")];
    let mut found = owners(&server);
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(counter(&server, &request).as_deref(), Some("70"));
    assert_eq!(counter(&server, &other).as_deref(), Some("5"));
    assert_ne!(request.counter(), other.counter());
    let whole = acquire("pool", "w", SECOND);
    assert_ne!(request.counter(), whole.counter());
    assert_eq!(counter(&server, &whole), None);
    let set = server.command(&["SET", "pool", "foreign", "NX", "PX", "60000"]);
    assert_eq!(set.expect("it answers").text(), None, "others are kept out");
    let Vote::Refused(Refusal {
        permits: Some(taken),
        remaining,
        ..
    }) = link.ask(&take(permit(0, 8), "c"))
    else {
        panic!("the slot is taken");
    };
    let slots: Vec<_> = taken.slots.iter().map(|(slot, _)| *slot).collect();
    assert_eq!((taken.of.get(), &slots[..]), (8, &[0, 7][..]));
    assert_eq!(remaining, taken.slots.iter().map(|(_, left)| *left).min());
    for (permit, name) in [(first, "a"), (second, "b")] {
        assert!(link.ask(&about(permit, release("pool", name))).is_granted());
    }
    assert_eq!(owners(&server), [""; 0]);
    assert_eq!(link.ask(&counted(take(first, "d"), 1)), token(71));
}

#[test]
fn a_token_of_all_digits_is_counted_on_to_the_last_digit() {
    let server = server();
    let mut link = Driven::up(&server.url());
    let token = 1_700_000_000_000_123;
    let of = permit(3, 4);
    for more in 0..3 {
        let told = link.ask(&counted(take(of, "a"), token));
        let counter = FencingToken::new(token + more);
        assert_eq!(told, Vote::Granted { counter });
        assert!(link.ask(&about(of, release("pool", "a"))).is_granted());
    }
}

/// A link of a user that may not use this command.
fn without(server: &Server, command: &str) -> Driven {
    let forbidden = format!("-{command}");
    let user = [
        "ACL", "SETUSER", "u", "reset", "on", ">p", "~*", "&*", "+@all",
    ];
    let told = server.command(&[&user[..], &[&forbidden]].concat());
    assert_eq!(told.expect("it answers").text(), Some("OK"));
    Driven::up(&format!("redis://u:p@127.0.0.1:{}", server.port()))
}

/// Argument S4.
#[test]
fn a_grant_is_counted_before_the_permit_is_there() {
    let server = server();
    for command in ["zadd", "pexpireat"] {
        let mut link = without(&server, command);
        let request = counted(take(permit(0, 2), "a"), 70);
        let (kind, words) = fault(&link.ask(&request));
        assert_eq!(kind, FaultKind::Rejected, "{command}: {words}");
        assert_eq!(
            owners(&server),
            [""; 0],
            "{command}: nothing is left behind"
        );
        let counted = counter(&server, &request);
        assert!(
            counted.is_some(),
            "{command}: a number is lost, and no more"
        );
    }
}

#[test]
fn who_may_not_take_a_permit_away_puts_none_beside_it() {
    let server = server();
    let mut link = Driven::up(&server.url());
    let ours = permit(0, 2);
    assert!(link.ask(&take(ours, "a")).is_granted());
    let before = owners(&server);
    for slot in [0, 1] {
        let heir = hand_over(permit(slot, 2), (ours, "a"), "b");
        let (kind, words) = fault(&without(&server, "zrem").ask(&heir));
        assert_eq!(kind, FaultKind::Rejected, "{words}");
        assert_eq!(owners(&server), before, "who has it has it alone");
    }
    // Who may not look at those who have permits is given none.
    let next = permit(1, 2);
    let vote = without(&server, "zrange").ask(&take(next, "b"));
    assert!(!vote.is_granted(), "{vote:?}");
    assert_eq!(owners(&server), before);
    assert!(link.ask(&hand_over(next, (ours, "a"), "b")).is_granted());
    assert!(
        link.ask(&about(next, extend("pool", "b", SECOND * 90)))
            .is_granted()
    );
    assert_eq!(owners(&server).len(), 1);
}

#[test]
fn a_counter_that_is_no_number_or_at_its_end_gives_nothing_away() {
    let server = server();
    let mut link = Driven::up(&server.url());
    let ours = permit(0, 2);
    let request = counted(take(ours, "a"), 70);
    let field = format!("f{}", request.counter());
    for counted in ["9007199254740991", "nan", "inf", "x"] {
        let set = ["HSET", "leasehold:node", &field, counted];
        server.command(&set).expect("it answers");
        let vote = link.ask(&request);
        assert_eq!(fault(&vote).0, FaultKind::Rejected, "{counted}: {vote:?}");
        assert_eq!(owners(&server), [""; 0], "{counted}");
    }
    // Another slot counts by itself.
    assert!(link.ask(&counted(take(permit(1, 2), "b"), 70)).is_granted());
}

#[test]
fn a_server_that_has_forgotten_its_scripts_is_told_them_again() {
    let server = server();
    let mut link = Driven::up(&server.url());
    let ours = permit(5, 256);
    for flushed in [true, false, true] {
        if flushed {
            server.command(&["SCRIPT", "FLUSH"]).expect("it answers");
        }
        assert!(link.ask(&counted(take(ours, "a"), 7)).is_granted());
        if flushed {
            server.command(&["SCRIPT", "FLUSH"]).expect("it answers");
        }
        assert!(link.ask(&about(ours, release("pool", "a"))).is_granted());
    }
}

#[test]
fn all_permits_of_the_largest_number_can_be_taken() {
    let server = server();
    let mut link = Driven::up(&server.url());
    for slot in 0..256 {
        let request = counted(take(permit(slot, 256), "a"), 1);
        assert!(link.ask(&request).is_granted(), "{slot}");
    }
    let Vote::Refused(refusal) = link.ask(&take(permit(99, 256), "b")) else {
        panic!("all are taken");
    };
    let taken = refusal.permits.expect("it is told which");
    let slots = taken.slots.iter().map(|(slot, _)| *slot);
    assert!(slots.eq(0..256), "in the order of the slots");
}

#[test]
fn an_owner_that_only_looks_like_a_permits_is_a_readers() {
    let server = server();
    let mut link = Driven::up(&server.url());
    let digits = "61".repeat(20);
    let read = |owner: &str| Request::Acquire {
        resource: Resource::shared("pool").expect("a good name"),
        owner: by(owner),
        ttl: leasehold_core::Ttl::new(SECOND * 60).expect("a TTL"),
        proposal: None,
        place: None,
    };
    for behind in [
        "+permit2/2.x",
        "+permit02/3.x",
        "+permit2/03.x",
        "+permit0/257.x",
        "+permit0/1000.x",
        "+permit0/0.x",
        "+permit0/2",
        "+permit/2.x",
        ".+permit0/2.x",
    ] {
        let owner = format!("{digits}{behind}");
        assert_eq!(by(&owner).permit(), None, "{owner}");
        assert!(link.ask(&read(&owner)).is_granted(), "{owner}");
    }
    assert!(
        link.ask(&read(&format!("g{}+permit0/2.x", &digits[1..])))
            .is_granted()
    );
    let refused = link.ask(&take(permit(0, 2), "a"));
    assert!(matches!(
        refused,
        Vote::Refused(Refusal { permits: None, .. })
    ));
}

#[test]
fn operators_are_told_who_has_which_permit() {
    let server = server();
    let mut link = Driven::up(&server.url());
    for (slot, name, seconds) in [(2, "a", 60), (0, "b", 30)] {
        let request = about(permit(slot, 3), acquire("pool", name, SECOND * seconds));
        assert!(link.ask(&request).is_granted());
    }
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().expect("a runtime");
    let builder = LockManager::builder().nodes([server.url()]);
    let operator = builder.operator().expect("a good address");
    let seen = runtime.block_on(operator.look("pool")).expect("a name");
    let told = "lock \"pool\": 2 of 3 permits are taken on 1 of 1 nodes (quorum 1)";
    assert_eq!(seen.to_string(), told);
    let permits = seen.permits().expect("there are some");
    let [first, second] = &permits.held[..] else {
        panic!("{permits:?}");
    };
    assert_eq!((permits.of, first.slot, second.slot), (3, 0, 2));
    assert_eq!(first.holder, owner_of(permit(0, 3), "b"));
    assert_eq!(second.holder, owner_of(permit(2, 3), "a"));
    assert!(first.remaining <= SECOND * 30 && second.remaining > SECOND * 30);
    let all = runtime.block_on(operator.list("", 9)).expect("a prefix");
    let names: Vec<_> = all
        .locks
        .iter()
        .map(|lock| lock.resource().as_str())
        .collect();
    assert_eq!(names, ["pool"]);
    assert_eq!(
        all.locks[0].permits(),
        all.locks[0].nodes()[0].key.permits().cloned()
    );
    assert!(!seen.is_free() && !seen.is_read() && seen.holder().is_none());
}

#[test]
fn permits_that_were_seen_are_put_out_and_those_that_are_not_wanted_stay() {
    let server = server();
    let mut link = Driven::up(&server.url());
    for (slot, name) in [(2, "a"), (0, "b"), (1, "c")] {
        assert!(link.ask(&take(permit(slot, 3), name)).is_granted());
    }
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().expect("a runtime");
    let builder = || LockManager::builder().nodes([server.url()]);
    let operator = builder().operator().expect("a good address");
    let manager = builder().restart_guard(RestartGuard::Off);
    let look = || runtime.block_on(operator.look("pool")).expect("a name");
    let slots = || {
        let permits = look().permits();
        let held = permits.map(|permits| permits.held).unwrap_or_default();
        held.iter().map(|held| held.slot).collect::<Vec<_>>()
    };
    let manager = manager.build().expect("a good address");
    let one = owner_of(permit(0, 3), "b");
    let seen = look().only(|owner| *owner == one);
    let eviction = runtime.block_on(manager.evict(seen));
    let evicted: Vec<_> = eviction.evicted.iter().map(|(owner, _)| owner).collect();
    assert_eq!((evicted, slots()), (vec![&one], vec![1, 2]));
    let eviction = runtime.block_on(manager.evict(look()));
    assert!(
        eviction
            .evicted
            .iter()
            .all(|(_, ended)| ended.is_released())
    );
    assert_eq!((eviction.evicted.len(), slots().len()), (2, 0));
    assert!(look().is_free());
}

#[test]
fn plain_locks_have_no_permits() {
    let server = server();
    let mut link = Driven::with(&server.url(), &Configuration::plain());
    let (kind, words) = fault(&link.ask(&take(permit(0, 2), "a")));
    assert_eq!(kind, FaultKind::Rejected);
    assert!(words.contains("fenced"), "{words}");
}
