//! The link to a real server, request by request.

use crate::support::driven::{
    Driven, MINUTE, acquire, by, extend, fault, release, repair, transfer,
};
use leasehold::{clock::Clock, configuration::Configuration, link::LinkEvent};
use leasehold_core::{FaultKind, Instant, Refusal, Request, Table, Vote};
use leasehold_servers::{Certificates, Keeper, Server, StartError, require_server, skip};
use proptest::prelude::*;
use std::{cell::RefCell, collections::HashMap, time::Duration};

fn server() -> Server {
    require_server();
    Server::start().expect("the server starts")
}

#[test]
fn a_key_without_ttl_and_one_of_another_type_belong_to_others() {
    let server = server();
    let mut link = Driven::up(&server.url());
    server
        .command(&["SET", "for ever", "them"])
        .expect("it answers");
    server.command(&["SADD", "a set", "x"]).expect("it answers");
    server
        .command(&["PEXPIRE", "a set", "60000"])
        .expect("it answers");
    let for_ever = Refusal {
        holder: Some(by("them")),
        remaining: None,
        queued: None,
        permits: None,
    };
    for request in [acquire("for ever", "us", MINUTE), release("for ever", "us")] {
        assert_eq!(link.ask(&request), Vote::Refused(for_ever.clone()));
    }
    for request in [
        acquire("a set", "us", MINUTE),
        extend("a set", "us", MINUTE),
        release("a set", "us"),
    ] {
        let Vote::Refused(refusal) = link.ask(&request) else {
            panic!("{request:?}")
        };
        assert_eq!(refusal.holder, None);
        assert!(
            refusal
                .remaining
                .is_some_and(|remaining| remaining <= MINUTE)
        );
    }
}

#[test]
fn a_plain_server_gives_the_key_of_the_one_who_is_named_and_once() {
    let server = server();
    let mut link = Driven::with(&server.url(), &Configuration::plain());
    let life = || {
        let life = server.command(&["PTTL", "r"]).expect("it answers");
        life.integer().expect("a time in ms")
    };
    assert_eq!(link.ask(&acquire("r", "present", MINUTE)), Vote::GRANTED);
    let Vote::Refused(refusal) = link.ask(&transfer("r", "former", "us", MINUTE)) else {
        panic!("the text of a former holder takes nothing")
    };
    assert_eq!(refusal.holder, Some(by("present")));
    let given = transfer("r", "present", "us", MINUTE / 2);
    assert_eq!(link.ask(&given), Vote::GRANTED);
    assert!(life() <= 30_000, "the TTL is that of the transfer");
    let again = transfer("r", "present", "us", MINUTE);
    assert_eq!(fault(&link.ask(&again)).0, FaultKind::SameNode);
    assert!(life() <= 30_000, "it has changed nothing");
}

#[test]
fn a_plain_server_has_one_vote_under_two_addresses_and_names_nobody_else() {
    let server = server();
    let [mut one, mut two] = [0, 1].map(|_| Driven::with(&server.url(), &Configuration::plain()));
    assert_eq!(one.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    let again = two.ask(&acquire("r", "us", MINUTE));
    assert_eq!(fault(&again).0, FaultKind::SameNode);
    let others = two.ask(&acquire("r", "them", MINUTE));
    assert_eq!(others, Vote::Refused(Refusal::default()));
    assert_eq!(two.ask(&repair("r", "us", MINUTE)), Vote::GRANTED);
    let foreign = two.ask(&repair("r", "them", MINUTE));
    assert_eq!(foreign, Vote::Refused(Refusal::default()));
}

#[test]
fn a_server_that_forgot_the_scripts_is_told_them_again() {
    let server = server();
    let mut link = Driven::up(&server.url());
    let requests = [
        acquire("r", "us", MINUTE),
        extend("r", "us", MINUTE),
        release("r", "us"),
    ];
    for request in &requests {
        server.command(&["SCRIPT", "FLUSH"]).expect("it answers");
        assert_eq!(link.ask(request), Vote::GRANTED, "{request:?}");
    }
}

#[test]
fn an_acquire_that_its_release_has_overtaken_is_not_said_again() {
    let server = server();
    let mut link = Driven::up(&server.url());
    server.command(&["SCRIPT", "FLUSH"]).expect("it answers");
    let acquired = link.send(&acquire("r", "us", MINUTE));
    let released = link.send(&release("r", "us"));
    let (answered, vote) = link.reply();
    assert_eq!(answered, acquired);
    assert_eq!(fault(&vote).0, FaultKind::Rejected);
    assert_eq!(link.reply(), (released, Vote::Refused(Refusal::default())));
    let keys = server.command(&["DBSIZE"]).expect("it answers");
    assert_eq!(
        keys.integer(),
        Some(1),
        "no ghost beside the node's own key"
    );
}

#[test]
fn a_stopped_server_keeps_requests_in_order_and_only_so_many() {
    let server = server();
    let mut link = Driven::up(&server.url());
    server.pause().expect("it can be stopped");
    link.send(&acquire("r", "us", MINUTE));
    link.send(&release("r", "us"));
    link.flush();
    for _ in 2..=4096 {
        link.send(&acquire("s", "us", MINUTE));
    }
    let refused = link.send(&acquire("s", "us", MINUTE));
    let (answered, vote) = link.reply();
    assert_eq!(answered, refused);
    assert_eq!(
        fault(&vote),
        (
            FaultKind::Busy,
            "4096 requests wait for this node already".into()
        )
    );
    // What was set must be taken back, however full it is.
    let last = link.send(&release("s", "us"));
    server.resume().expect("it can be continued");
    for expected in (1..=4097).chain([last]) {
        let (answered, vote) = link.reply();
        assert_eq!(answered, expected);
        // The first two and the first of `s`; then the node has voted for this owner.
        if expected <= 3 || expected == last {
            assert_eq!(vote, Vote::GRANTED, "{expected}");
        } else {
            assert_eq!(fault(&vote).0, FaultKind::SameNode, "{expected}");
        }
    }
    let keys = server.command(&["DBSIZE"]).expect("it answers");
    assert_eq!(keys.integer(), Some(1), "the node's own");
}

#[test]
fn a_killed_server_is_down_at_once_and_up_when_it_is_back() {
    let server = server();
    let mut link = Driven::up(&server.url());
    server.pause().expect("it can be stopped");
    let sent = link.send(&acquire("r", "us", MINUTE));
    link.flush();
    server.kill().expect("it can be killed");
    let (answered, vote) = link.reply();
    assert_eq!(answered, sent);
    let (kind, text) = fault(&vote);
    assert_eq!(kind, FaultKind::Disconnected);
    assert!(
        text.starts_with("lost the connection after the request was sent: "),
        "{text}"
    );
    link.down();
    let vote = link.ask(&acquire("r", "us", MINUTE));
    assert_eq!(fault(&vote).0, FaultKind::Down);
    server.restart_empty().expect("it starts again");
    loop {
        match link.event() {
            LinkEvent::Up(_) => break,
            LinkEvent::Down(why) => {
                assert!(why.contains("refused") || why.contains("LOADING"), "{why}");
            }
            other => panic!("nothing was asked: {other:?}"),
        }
    }
    assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
}

#[test]
fn a_password_that_is_missing_is_asked_for() {
    require_server();
    let server = Server::builder()
        .password("hush")
        .start()
        .expect("it starts");
    let LinkEvent::Down(why) = Driven::new(&format!("127.0.0.1:{}", server.port())).event() else {
        panic!("no way in")
    };
    assert!(why.starts_with("needs a password: NOAUTH"), "{why}");
    let url = format!("redis://:hush@127.0.0.1:{}/3", server.port());
    assert_eq!(
        Driven::up(&url).ask(&acquire("r", "us", MINUTE)),
        Vote::GRANTED
    );
    let LinkEvent::Down(why) = Driven::new(&format!("{url}99")).event() else {
        panic!("no such")
    };
    assert!(
        why.starts_with("database 399 cannot be selected: ERR"),
        "{why}"
    );
}

#[test]
fn a_server_without_the_newer_protocol_is_spoken_to_in_the_older() {
    let server = server();
    let user = [
        "ACL", "SETUSER", "old", "on", ">pw", "~*", "+@all", "-hello",
    ];
    server.command(&user).expect("it answers");
    let mut link = Driven::up(&format!("redis://old:pw@127.0.0.1:{}", server.port()));
    assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    let Vote::Refused(refusal) = link.ask(&acquire("r", "them", MINUTE)) else {
        panic!("held")
    };
    assert_eq!(refusal.holder, Some(by("us")));
    let refused = roughly(link.ask(&release("r", "them")));
    assert_eq!(refused, roughly(link.ask(&extend("r", "them", MINUTE))));
    assert_eq!(refused, roughly(Vote::Refused(refusal)));
    assert_eq!(link.ask(&release("r", "us")), Vote::GRANTED);
    assert_eq!(
        link.ask(&release("r", "us")),
        Vote::Refused(Refusal::default())
    );
}

#[test]
fn a_greeting_that_an_older_server_did_not_understand_is_said_again() {
    let server = server();
    let hello = ["ACL", "SETUSER", "default", "-hello"];
    server.command(&hello).expect("it answers");
    let mut link = Driven::up(&server.url());
    assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    assert_eq!(link.ask(&release("r", "us")), Vote::GRANTED);
}

#[test]
fn who_is_not_let_in_to_what_was_meant_leaves_nothing_elsewhere() {
    let server = server();
    let port = server.port();
    // The default user may do everything without a password, and there are 16 databases.
    let [stranger, beyond] = ["nobody:wrong@127.0.0.1", "127.0.0.1"];
    for url in [
        format!("redis://{stranger}:{port}"),
        format!("redis://{beyond}:{port}/399"),
    ] {
        let event = Driven::new(&url).event();
        assert!(matches!(event, LinkEvent::Down(_)), "{event:?}");
        let size = server.command(&["DBSIZE"]).expect("it answers");
        assert_eq!(size.integer(), Some(0), "{url}");
    }
}

#[test]
fn a_unix_socket_is_an_address_too() {
    require_server();
    let server = Server::builder().unix_socket().start().expect("it starts");
    let path = server.unix_socket().expect("it was asked for");
    let mut link = Driven::up(&format!("unix://{}", path.display()));
    assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
}

#[cfg(feature = "tls")]
#[test]
fn tls_trusts_whom_it_is_told_to_trust() {
    require_server();
    let certificates = match Certificates::generate() {
        Ok(certificates) => certificates,
        Err(error) => return skip(&format!("no certificates can be made: {error}")),
    };
    let server = match Server::builder().tls(&certificates).start() {
        Ok(server) => server,
        Err(error @ StartError::NoTls) => return skip(&format!("no TLS: {error}")),
        Err(error) => panic!("the server starts: {error}"),
    };
    let url = server.tls_url().expect("it was asked for");
    let trusting = format!("{url}?ca={}", certificates.authority().display());
    let mut link = Driven::up(&trusting);
    assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    let other = Certificates::generate().expect("as before");
    let strange = format!("{url}?ca={}", other.authority().display());
    let LinkEvent::Down(why) = Driven::new(&strange).event() else {
        panic!("not to be trusted")
    };
    assert!(why.starts_with("TLS failed: "), "{why}");
    let nowhere = format!("{url}?ca=/nowhere.pem");
    let LinkEvent::Down(why) = Driven::new(&nowhere).event() else {
        panic!("no such file")
    };
    assert!(
        why.starts_with("the root certificates in /nowhere.pem: "),
        "{why}"
    );
}

#[test]
fn a_user_who_may_not_load_scripts_brings_them_along() {
    let server = server();
    let user = [
        "ACL", "SETUSER", "modest", "on", ">pw", "~*", "+@all", "-script",
    ];
    server.command(&user).expect("it answers");
    let mut link = Driven::up(&format!("redis://modest:pw@127.0.0.1:{}", server.port()));
    for request in [
        acquire("r", "us", MINUTE),
        extend("r", "us", MINUTE),
        release("r", "us"),
    ] {
        assert_eq!(link.ask(&request), Vote::GRANTED, "{request:?}");
    }
}

#[test]
fn a_full_server_still_extends_and_releases() {
    let server = server();
    let mut link = Driven::up(&server.url());
    assert_eq!(link.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    server
        .command(&["CONFIG", "SET", "maxmemory", "1"])
        .expect("it answers");
    let (kind, text) = fault(&link.ask(&acquire("s", "us", MINUTE)));
    assert!(
        kind == FaultKind::Rejected && text.starts_with("OOM "),
        "{text}"
    );
    assert_eq!(link.ask(&extend("r", "us", MINUTE)), Vote::GRANTED);
    assert_eq!(link.ask(&release("r", "us")), Vote::GRANTED);
}

/// Requests on few keys by few owners, with TTLs that do not end meanwhile.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let words = (
        prop::sample::select(vec!["a", "b"]),
        prop::sample::select(vec!["x", "y", "z"]),
    );
    let request = (0..3_u8, words, 60_u64..600).prop_map(|(kind, (key, owner), seconds)| {
        let ttl = Duration::from_secs(seconds);
        match kind {
            0 => acquire(key, owner, ttl),
            1 => extend(key, owner, ttl),
            _ => release(key, owner),
        }
    });
    prop::collection::vec(request, 1..40)
}

/// The vote, with the time left in whole seconds: the two clocks are read one after the other.
fn roughly(vote: Vote) -> Vote {
    match vote {
        Vote::Refused(Refusal {
            holder,
            remaining,
            queued: None,
            permits: None,
        }) => {
            let seconds = |left: Duration| (left + Duration::from_millis(500)).as_secs();
            let remaining = remaining.map(seconds).map(Duration::from_secs);
            Vote::Refused(Refusal {
                holder,
                remaining,
                queued: None,
                permits: None,
            })
        }
        other => other,
    }
}

#[test]
fn a_server_votes_as_the_table_does() {
    let server = server();
    let link = RefCell::new(Driven::up(&server.url()));
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    };
    proptest!(config, |(requests in requests())| {
        server.command(&["FLUSHALL"]).expect("it answers");
        let mut link = link.borrow_mut();
        let mut table = Table::new();
        let started = Clock::system().now();
        let table_now = |clock: Instant| Instant::from_origin(clock.saturating_since(started));
        // All at once, as they would be pipelined.
        let sent: Vec<u32> = requests.iter().map(|request| link.send(request)).collect();
        // Requests for one lock keep their order, and so do their answers.
        let mut votes: HashMap<u32, Vote> = sent.iter().map(|_| link.reply()).collect();
        for (request, sent) in requests.iter().zip(sent) {
            let vote = votes.remove(&sent).expect("each is answered once");
            let expected = table.apply(table_now(Clock::system().now()), request);
            prop_assert_eq!(roughly(vote), roughly(expected), "{:?} of {:?}", request, requests);
        }
    });
}

#[test]
fn a_proxy_that_hangs_up_at_what_it_does_not_know_is_spoken_to_in_few_words() {
    let server = server();
    let keeper = Keeper::start(server.port()).expect("a free port");
    let url = format!("redis://127.0.0.1:{}", keeper.port());
    let mut link = Driven::up(&url);
    for request in [
        acquire("r", "us", MINUTE),
        extend("r", "us", MINUTE),
        release("r", "us"),
    ] {
        assert!(link.ask(&request).is_granted(), "{request:?}");
    }
    // The server forgets, and the connection does not tell.
    server.restart().expect("it starts again");
    assert!(link.ask(&acquire("r", "us", MINUTE)).is_granted());
    assert_eq!(keeper.hidden(), 1);
}

#[test]
fn whoever_hangs_up_at_everything_is_no_node() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it has one").port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            drop(connection);
        }
    });
    let mut link = Driven::new(&format!("redis://127.0.0.1:{port}"));
    let event = link.event();
    assert!(matches!(event, LinkEvent::Down(_)), "{event:?}");
}
