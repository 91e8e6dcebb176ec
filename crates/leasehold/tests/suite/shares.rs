//! Shares of a name as a server keeps them.

use crate::support::driven::{Driven, acquire, by, extend, release};
use leasehold::configuration::Configuration;
use leasehold_core::{FaultKind, Refusal, Request, Resource, Ttl, Vote};
use leasehold_servers::{Server, require_server};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn server() -> Server {
    require_server();
    Server::start().expect("it starts")
}

/// The request, but about a share of its name.
fn shared(mut request: Request) -> Request {
    match &mut request {
        Request::Acquire { resource, .. }
        | Request::Extend { resource, .. }
        | Request::Transfer { resource, .. }
        | Request::Release { resource, .. } => {
            *resource = Resource::shared(resource.as_str()).expect("a good name");
        }
        other => panic!("{other:?}"),
    }
    request
}

fn read(owner: &str, ttl: Duration) -> Request {
    shared(acquire("doc", owner, ttl))
}

/// The writer goes on as a reader.
fn downgrade(from: &str, owner: &str) -> Request {
    shared(Request::Transfer {
        resource: Resource::new("doc").expect("a good name"),
        from: by(from),
        owner: by(owner),
        ttl: Ttl::new(SECOND * 60).expect("a TTL"),
        proposal: None,
    })
}

fn left(server: &Server) -> i64 {
    let told = server.command(&["PTTL", "doc"]).expect("it answers");
    told.integer().expect("a number")
}

#[test]
fn a_name_that_is_read_is_there_for_every_program_until_the_last_share_ends() {
    let server = server();
    let mut link = Driven::up(&server.url());
    assert!(link.ask(&read("a", SECOND * 30)).is_granted());
    assert!(link.ask(&read("b", SECOND * 60)).is_granted());
    let set = || {
        let told = server.command(&["SET", "doc", "foreign", "NX", "PX", "60000"]);
        told.expect("it answers").text() == Some("OK")
    };
    assert!(!set(), "readers keep other programs out");
    assert!((30_001..=60_000).contains(&left(&server)));
    assert!(link.ask(&shared(release("doc", "b"))).is_granted());
    assert!(!set(), "so does the last of them");
    assert!((1..=30_000).contains(&left(&server)), "{}", left(&server));
    let longer = shared(extend("doc", "a", SECOND * 90));
    assert!(link.ask(&longer).is_granted());
    assert!((60_001..=90_000).contains(&left(&server)));
    assert!(link.ask(&shared(release("doc", "a"))).is_granted());
    assert!(set(), "nobody reads any more");
    let Vote::Refused(refusal) = link.ask(&read("c", SECOND)) else {
        panic!("another program has the name");
    };
    assert_eq!(refusal.holder, Some(by("foreign")));
}

#[test]
fn another_programs_set_is_left_as_it_is() {
    let server = server();
    let mut link = Driven::up(&server.url());
    let clock = server.command(&["TIME"]).expect("it answers");
    let now: u64 = clock.texts()[0].parse().expect("seconds");
    let [soon, later] = [60_000, 90_000].map(|ms| (now * 1_000 + ms).to_string());
    // Scores in the past, in a time to come, and so too, but with a TTL of its own.
    for (one, other, px) in [
        ("5", "1700000000", None),
        ("5", &*later, None),
        (&*soon, &*later, Some("30000")),
        (&*soon, "inf", None),
    ] {
        server.command(&["DEL", "doc"]).expect("it answers");
        for (score, owner) in [(one, "x"), (other, "y")] {
            let added = server.command(&["ZADD", "doc", score, owner]);
            added.expect("it answers");
        }
        if let Some(px) = px {
            let ends = server.command(&["PEXPIRE", "doc", px]);
            ends.expect("it answers");
        }
        let before = left(&server);
        for request in [
            read("a", SECOND),
            acquire("doc", "a", SECOND),
            shared(extend("doc", "a", SECOND)),
            shared(release("doc", "a")),
            downgrade("b", "a"),
        ] {
            let vote = link.ask(&request);
            let Vote::Refused(Refusal { holder: None, .. }) = vote else {
                panic!("{request:?}: {vote:?}");
            };
        }
        let there = server.command(&["ZRANGE", "doc", "0", "-1"]);
        assert_eq!(there.expect("it answers").texts(), ["x", "y"]);
        let (before, after) = (before.min(30_000), left(&server));
        assert!(after <= before && after > before - 20_000, "{after}");
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

#[test]
fn who_may_not_write_shares_or_end_them_leaves_none_and_loses_nothing() {
    let server = server();
    for command in ["pexpireat", "zadd"] {
        let mut link = without(&server, command);
        let Vote::Unknown(fault) = link.ask(&read("a", SECOND)) else {
            panic!("granted without {command}");
        };
        assert_eq!(fault.kind(), FaultKind::Rejected, "{command}: {fault}");
        assert_eq!(left(&server), -2, "{command}: nothing is left behind");
    }
    // Who may not look for its share has no second one.
    let mut reader = Driven::up(&server.url());
    assert!(reader.ask(&read("a", SECOND * 60)).is_granted());
    for command in ["zscore", "zrange"] {
        let mut link = without(&server, command);
        for request in [
            read("a", SECOND),
            read("b", SECOND),
            shared(release("doc", "a")),
        ] {
            let vote = link.ask(&request);
            let is_rejected =
                matches!(&vote, Vote::Unknown(fault) if fault.kind() == FaultKind::Rejected);
            assert!(
                is_rejected || command == "zrange",
                "{command}, {request:?}: {vote:?}"
            );
            assert!(!vote.is_granted() || matches!(request, Request::Release { .. }));
        }
    }
    let _ = reader.ask(&shared(release("doc", "a")));
    let mut writer = Driven::up(&server.url());
    assert!(writer.ask(&acquire("doc", "w", SECOND * 60)).is_granted());
    for command in ["pexpireat", "zadd"] {
        let mut link = without(&server, command);
        let Vote::Unknown(fault) = link.ask(&downgrade("w", "a")) else {
            panic!("granted without {command}");
        };
        assert_eq!(fault.kind(), FaultKind::Rejected, "{command}: {fault}");
        let there = server.command(&["GET", "doc"]).expect("it answers");
        assert_eq!(there.text(), Some("w"), "{command}: the writer has it");
    }
    assert!(writer.ask(&downgrade("w", "a")).is_granted());
    assert!((1..=60_000).contains(&left(&server)));
}

#[test]
fn a_server_that_has_forgotten_its_scripts_is_told_them_again() {
    let server = server();
    let mut link = Driven::up(&server.url());
    for flushed in [true, false, true] {
        if flushed {
            server.command(&["SCRIPT", "FLUSH"]).expect("it answers");
        }
        assert!(link.ask(&read("a", SECOND * 60)).is_granted());
        if flushed {
            server.command(&["SCRIPT", "FLUSH"]).expect("it answers");
        }
        assert!(link.ask(&shared(release("doc", "a"))).is_granted());
    }
}

#[test]
fn plain_locks_have_no_shares() {
    let server = server();
    let mut link = Driven::with(&server.url(), &Configuration::plain());
    let Vote::Unknown(fault) = link.ask(&read("a", SECOND)) else {
        panic!("nobody keeps the readers of plain locks in order");
    };
    assert_eq!(fault.kind(), FaultKind::Rejected);
    assert!(fault.to_string().contains("fenced"), "{fault}");
}
