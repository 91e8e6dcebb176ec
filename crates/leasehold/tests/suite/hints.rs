//! That real servers tell who waits, and who holds, of what others do to a key.

use crate::support::driven::{
    Driven, MINUTE, acquire, by, extend, impostor, inspect, name, release, unguarded,
};
use crate::support::{begin, eventually};
use leasehold::{
    LockManager, Observation, configuration::Configuration, link::LinkEvent, observe::RequestKind,
};
use leasehold_core::{Refusal, Vote};
use leasehold_servers::{Keeper, Server, require_server};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

fn server() -> Server {
    require_server();
    Server::start().expect("the server starts")
}

/// A link whose first hint has come.
fn link(server: &Server) -> Driven {
    let mut link = Driven::up(&server.url());
    assert_eq!(link.hint(), None, "some may have been missed");
    link
}

/// Holds `r` over one link, and waits for it over another.
fn rivals(server: &Server) -> [Driven; 2] {
    let [mut holder, mut waiter] = [link(server), link(server)];
    assert_eq!(holder.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
    refuse(&mut waiter);
    [holder, waiter]
}

fn refuse(waiter: &mut Driven) {
    let vote = waiter.ask(&acquire("r", "them", MINUTE));
    assert!(matches!(vote, Vote::Refused(_)), "{vote:?}");
}

#[test]
fn a_release_is_told_and_votes_for_other_locks_are_not() {
    let server = server();
    let [mut holder, mut waiter] = rivals(&server);
    // Each of these writes the node's own hash, which the waiter's vote has read.
    for key in ["s", "t", "u"] {
        assert_eq!(holder.ask(&acquire(key, "us", MINUTE)), Vote::GRANTED);
    }
    assert_eq!(holder.ask(&release("r", "us")), Vote::GRANTED);
    assert_eq!(waiter.hint(), Some(name("r")));
}

#[test]
fn an_extension_and_what_any_program_does_to_a_key_is_told() {
    let server = server();
    let [mut holder, mut waiter] = rivals(&server);
    assert_eq!(holder.ask(&extend("r", "us", 2 * MINUTE)), Vote::GRANTED);
    assert_eq!(waiter.hint(), Some(name("r")));
    for command in [
        &["PEXPIRE", "r", "50000"][..],
        &["SET", "r", "x"],
        &["DEL", "r"],
    ] {
        refuse(&mut waiter);
        server.command(command).expect("it answers");
        assert_eq!(waiter.hint(), Some(name("r")), "{command:?}");
        // The holder has extended, so it was told as well, of the first of them.
        if command[0] == "PEXPIRE" {
            assert_eq!(holder.hint(), Some(name("r")));
        }
    }
}

#[test]
fn a_flush_is_told_for_all_keys() {
    let server = server();
    let [_, mut waiter] = rivals(&server);
    server.command(&["FLUSHALL"]).expect("it answers");
    assert_eq!(waiter.hint(), None);
}

#[test]
fn an_expiry_that_somebody_comes_upon_is_told() {
    let server = server();
    let mut waiter = link(&server);
    let set = ["SET", "r", "us", "PX", "50"];
    server.command(&set).expect("it answers");
    refuse(&mut waiter);
    while server
        .command(&["EXISTS", "r"])
        .expect("it answers")
        .integer()
        != Some(0)
    {
        std::thread::yield_now();
    }
    assert_eq!(waiter.hint(), Some(name("r")));
}

#[test]
fn a_holder_that_has_extended_is_told_when_its_key_ends_and_somebody_takes_it() {
    let server = server();
    let [mut holder, mut thief] = [link(&server), link(&server)];
    let short = Duration::from_millis(100);
    assert_eq!(holder.ask(&acquire("r", "us", short)), Vote::GRANTED);
    assert_eq!(holder.ask(&extend("r", "us", short)), Vote::GRANTED);
    while !thief.ask(&acquire("r", "them", MINUTE)).is_granted() {}
    assert_eq!(holder.hint(), Some(name("r")));
}

#[test]
fn a_plain_waiter_is_told_too_and_a_look_is_enough() {
    let server = server();
    let mut holder = link(&server);
    let mut waiter = Driven::with(&server.url(), &Configuration::plain());
    assert_eq!(waiter.hint(), None);
    for request in [acquire("r", "them", MINUTE), inspect("r")] {
        assert_eq!(holder.ask(&acquire("r", "us", MINUTE)), Vote::GRANTED);
        assert!(!waiter.ask(&request).is_granted());
        assert_eq!(holder.ask(&release("r", "us")), Vote::GRANTED);
        assert_eq!(waiter.hint(), Some(name("r")), "{request:?}");
    }
}

#[test]
fn questions_of_a_plain_waiter_are_no_attempts() {
    let server = server();
    let builder = || LockManager::builder().nodes([server.url()]);
    let plain = builder().build_plain().expect("an address").blocking();
    let guard = plain.mutex("r").expect("a name").acquire();
    let (questions, attempts) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (asked, acquired) = (Arc::clone(&questions), Arc::clone(&attempts));
    let observed = builder().observer(move |told: &Observation<'_>| match told {
        Observation::Asked { request, .. } if *request == RequestKind::Inspect => {
            asked.fetch_add(1, Ordering::Relaxed);
        }
        Observation::Acquired { attempts, .. } => acquired.store(*attempts, Ordering::Relaxed),
        _ => {}
    });
    let observed = observed.build_plain().expect("an address");
    let mutex = observed.mutex("r").expect("a name");
    let mut waiting = Box::pin(mutex.acquire());
    begin(&mut waiting);
    // A server does not say who refuses a plain lock.
    eventually("it asks", || questions.load(Ordering::Relaxed) > 0);
    drop(guard);
    eventually("it has it", || attempts.load(Ordering::Relaxed) > 0);
    let attempts = attempts.load(Ordering::Relaxed);
    assert!((2..100).contains(&attempts), "{attempts}");
}

#[test]
fn a_new_connection_begins_with_a_hint_about_all_keys() {
    let server = server();
    let [_, mut waiter] = rivals(&server);
    let kill = ["CLIENT", "KILL", "TYPE", "normal"];
    server.command(&kill).expect("it answers");
    waiter.down();
    assert!(matches!(waiter.event(), LinkEvent::Up(_)));
    assert_eq!(waiter.hint(), None);
    refuse(&mut waiter);
    server.command(&["DEL", "r"]).expect("it answers");
    assert_eq!(waiter.hint(), Some(name("r")));
}

/// What a server says to an introduction that it likes, with what it tells of itself; that `r` is held; and that
/// somebody else has it by now.
const TURNOVER: [&str; 3] = [
    "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n*0\r\n\
     *5\r\n$0\r\n\r\n$1\r\nc\r\n$1\r\nt\r\n:0\r\n_\r\n",
    "*4\r\n:0\r\n$2\r\nus\r\n:60000\r\n:5\r\n",
    "+OK\r\n$4\r\nthey\r\n",
];

#[test]
fn a_change_between_the_answer_and_the_look_is_not_missed() {
    let mut waiter = Driven::with(&impostor(&TURNOVER), &unguarded());
    assert_eq!(waiter.hint(), None);
    let held = Refusal {
        holder: Some(by("us")),
        remaining: Some(MINUTE),
        queued: None,
        permits: None,
    };
    let vote = waiter.ask(&acquire("r", "them", MINUTE));
    assert_eq!(vote, Vote::Refused(held));
    assert_eq!(waiter.hint(), Some(name("r")));
}

#[test]
fn a_server_that_does_not_let_us_ask_for_hints_votes_all_the_same() {
    let server = server();
    // A proxy that knows only the older protocol, in which there are no hints.
    let keeper = Keeper::start(server.port()).expect("a free port");
    for (user, without) in [
        ("a", "-client|tracking"),
        ("b", "-client|caching"),
        ("c", "-client"),
        ("d", "HELLO"),
    ] {
        let words = ["ACL", "SETUSER", user, "on", ">pw", "~*", "+@all", without];
        let url = match without {
            "HELLO" => format!("redis://127.0.0.1:{}", keeper.port()),
            _ => {
                server.command(&words).expect("it answers");
                format!("redis://{user}:pw@127.0.0.1:{}", server.port())
            }
        };
        let mut link = Driven::up(&url);
        let sent = link.send(&acquire(user, "us", MINUTE));
        // The first that is told is the answer: nobody is made to believe that hints will come.
        let told = loop {
            match link.event() {
                LinkEvent::Clock(_) => {}
                other => break other,
            }
        };
        let LinkEvent::Reply(tag, Vote::GRANTED) = told else {
            panic!("{without}: {told:?}")
        };
        assert_eq!(tag.step, sent);
        let refused = link.ask(&acquire(user, "them", MINUTE));
        assert!(matches!(refused, Vote::Refused(_)), "{without}");
        assert_eq!(link.ask(&release(user, "us")), Vote::GRANTED, "{without}");
    }
}
