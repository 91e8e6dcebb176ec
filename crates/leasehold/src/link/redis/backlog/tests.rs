use super::*;
use crate::{
    configuration::Configuration,
    link::{Draft, Message},
};
use leasehold_core::{AttemptId, Instant, OperationId, Owner, Resource, Ttl, Waiter};
use leasehold_core::{discovery::Heard, quarantine::Disk};

fn tag(number: u64) -> Tag {
    Tag {
        attempt: AttemptId {
            operation: OperationId::new(number),
            number: 0,
        },
        step: 0,
    }
}

fn ten_bytes(wire: &mut Vec<u8>) {
    wire.extend_from_slice(b"0123456789");
}

fn owner(name: &str) -> Owner {
    Owner::from_bytes(name.as_bytes()).expect("an owner")
}

fn resource() -> Resource {
    Resource::new("r").expect("a name")
}

fn acquire(name: &str) -> Request {
    Request::Acquire {
        resource: resource(),
        owner: owner(name),
        ttl: Ttl::DEFAULT,
        proposal: None,
        place: None,
    }
}

fn extend(name: &str) -> Request {
    Request::Extend {
        resource: resource(),
        owner: owner(name),
        ttl: Ttl::DEFAULT,
    }
}

fn release(name: &str) -> Request {
    Request::Release {
        resource: resource(),
        owner: owner(name),
        keep: None,
    }
}

fn leave(waiter: u64) -> Request {
    Request::Leave {
        resource: resource(),
        waiter: Waiter::new(waiter),
    }
}

fn inspect() -> Request {
    Request::Inspect {
        resource: resource(),
    }
}

fn encoded(backlog: &mut Backlog, tag: Tag, request: &Request) {
    let encoder = Encoder::new(&Configuration::plain());
    backlog.push(tag, Kind::of(request), Instant::ORIGIN, |wire| {
        encoder.say_request(wire, request, &ServerInfo::nobody(Disk::Ignored));
    });
}

/// A backlog of which everything has left.
fn sent(requests: &[Request]) -> Backlog {
    let mut backlog = Backlog::default();
    for (number, request) in (0..).zip(requests) {
        encoded(&mut backlog, tag(number), request);
    }
    backlog.sent(backlog.ready().len());
    backlog
}

fn kinds(votes: impl Iterator<Item = (Tag, Vote)>) -> Vec<(u64, FaultKind)> {
    votes
        .map(|(tag, vote)| match vote {
            Vote::Unknown(fault) => (tag.attempt.operation.number(), fault.kind()),
            vote => panic!("{vote:?}"),
        })
        .collect()
}

#[test]
fn a_lost_request_is_disconnected_if_a_byte_of_it_has_left_and_down_otherwise() {
    let mut backlog = Backlog::default();
    for number in 0..4 {
        backlog.push(tag(number), Kind::Acquire, Instant::ORIGIN, ten_bytes);
    }
    backlog.sent(11);
    assert!(backlog.answered().is_some());
    assert!(
        backlog.answered().is_none(),
        "one byte of a request is not the request"
    );
    assert_eq!(
        kinds(backlog.abandon(Loss::Lost("because"))),
        [
            (1, FaultKind::Disconnected),
            (2, FaultKind::Down),
            (3, FaultKind::Down)
        ]
    );
    assert!(backlog.ready().is_empty(), "a new connection begins empty");
}

#[test]
fn a_grant_that_replicas_have_not_confirmed_is_in_doubt_when_the_connection_is_lost() {
    let mut backlog = sent(&[acquire("me")]);
    let Some(Pending::Request(waiting)) = backlog.answered() else {
        panic!("it has left");
    };
    let copies = Copies::heard_by(1, std::time::Duration::from_millis(7));
    backlog.wait(waiting.tag, Vote::GRANTED, Need::Later, (0, copies));
    let wait = b"*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n7\r\n";
    assert_eq!(backlog.ready(), wait);
    // Whether or not the question has left: the grant was given before.
    assert_eq!(
        kinds(backlog.abandon(Loss::Lost("because"))),
        [(0, FaultKind::Disconnected)]
    );
}

/// A backlog of a node that runs no scripts, and how many bytes its only request has.
fn native() -> (Backlog, usize) {
    let mut backlog = Backlog::default();
    let encoder = Encoder::new(&Configuration::plain());
    let said = backlog.push_native(
        tag(0),
        acquire("me"),
        Instant::ORIGIN,
        &encoder,
        Native::DelIfEq,
    );
    assert_eq!(said, Ok(()));
    let length = backlog.ready().len();
    (backlog, length)
}

#[test]
fn a_request_of_several_commands_is_in_doubt_from_its_first_byte_to_its_last_answer() {
    let (backlog, length) = native();
    let set = "*6\r\n$3\r\nSET\r\n$1\r\nr\r\n$2\r\nme\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n";
    let look = "*2\r\n$3\r\nGET\r\n$1\r\nr\r\n*2\r\n$4\r\nPTTL\r\n$1\r\nr\r\n";
    assert_eq!(backlog.ready(), [set, look].concat().as_bytes());
    for (sent, answers, kind) in [
        (0, 0, FaultKind::Down),
        (1, 0, FaultKind::Disconnected),
        (set.len(), 1, FaultKind::Disconnected),
        (length - 1, 2, FaultKind::Disconnected),
        (length, 2, FaultKind::Disconnected),
    ] {
        let (mut backlog, _) = native();
        backlog.sent(sent);
        for _ in 0..answers {
            assert!(matches!(
                backlog.answered(),
                Some(Pending::Aside(Aside::Change | Aside::Key))
            ));
        }
        if sent < length {
            assert!(
                backlog.answered().is_none(),
                "the next has not left in full"
            );
        }
        assert_eq!(kinds(backlog.abandon(Loss::Lost("because"))), [(0, kind)]);
    }
}

#[test]
fn an_extension_that_was_lost_is_remembered_over_the_connection() {
    let encoder = Encoder::new(&Configuration::plain());
    let longer = Request::Extend {
        resource: resource(),
        owner: owner("me"),
        ttl: Ttl::new(2 * Ttl::DEFAULT.as_duration()).expect("in range"),
    };
    let push = |backlog: &mut Backlog, request: &Request| {
        let (request, native) = (request.clone(), Native::DelIfEq);
        let said = backlog.push_native(tag(0), request, Instant::ORIGIN, &encoder, native);
        said.map_err(|fault| fault.kind())
    };
    for (settles, outcome) in [(false, Err(FaultKind::Rejected)), (true, Ok(()))] {
        let mut backlog = Backlog::default();
        assert_eq!(push(&mut backlog, &extend("me")), Ok(()));
        if settles {
            backlog.settled(&extend("me"));
        }
        assert_eq!(backlog.abandon(Loss::Lost("because")).count(), 1);
        assert_eq!(push(&mut backlog, &longer), outcome);
    }
}

#[test]
fn what_was_put_into_words_before_the_node_was_known_is_said_again_without_scripts() {
    let mut backlog = Backlog::default();
    for (number, request) in [(0, acquire("me")), (1, release("me"))] {
        encoded(&mut backlog, tag(number), &request);
    }
    let encoder = Encoder::new(&Configuration::plain());
    assert_eq!(backlog.say_natively(&encoder, Native::DelEx), []);
    let told = String::from_utf8_lossy(backlog.ready()).into_owned();
    assert!(told.starts_with("*6\r\n$3\r\nSET\r\n") && told.contains("DELEX"));
    backlog.sent(told.len());
    let answers: Vec<_> = std::iter::from_fn(|| backlog.answered()).collect();
    assert_eq!(answers.len(), 6);
    assert_eq!((backlog.votes, backlog.releases), (0, 0));
}

#[test]
fn no_more_leaves_than_a_stopped_node_can_take() {
    let mut backlog = Backlog::default();
    for number in 0..4 {
        backlog.push(tag(number), Kind::Release, Instant::ORIGIN, |wire| {
            wire.extend_from_slice(&[b'x'; WINDOW / 2]);
        });
    }
    assert_eq!(backlog.ready().len(), WINDOW);
    backlog.sent(WINDOW);
    assert_eq!(backlog.ready().len(), 0);
    assert!(backlog.answered().is_some());
    assert_eq!(backlog.ready().len(), WINDOW / 2);
    backlog.sent(WINDOW / 2);
    assert_eq!(backlog.ready().len(), 0);
    for _ in 0..2 {
        assert!(backlog.answered().is_some());
    }
    assert_eq!(backlog.ready().len(), WINDOW / 2);
    backlog.sent(WINDOW / 2);
    assert!(backlog.answered().is_some());
    assert!(backlog.answered().is_none());
}

#[test]
fn the_room_that_a_rush_has_needed_is_given_back_when_all_is_answered() {
    let mut backlog = Backlog::default();
    // What is said later is found where it is all the same.
    for _ in 0..2 {
        for number in 0..3 {
            backlog.push(tag(number), Kind::Release, Instant::ORIGIN, |wire| {
                wire.extend_from_slice(&[b'x'; WINDOW / 2]);
            });
        }
        for number in 0..3 {
            backlog.rest();
            assert!(backlog.bytes.capacity() > WINDOW, "not all is answered");
            backlog.sent(backlog.ready().len());
            let Some(Pending::Request(waiting)) = backlog.answered() else {
                panic!("it was sent");
            };
            assert_eq!(waiting.tag, tag(number));
        }
        backlog.rest();
        assert_eq!((backlog.bytes.capacity(), backlog.asked.capacity()), (0, 0));
    }
}

#[test]
fn acquires_do_not_take_the_room_of_releases() {
    let mut backlog = Backlog::default();
    for _ in 0..MOST_VOTES {
        assert_eq!(backlog.refuse(Kind::Acquire), None);
        backlog.push(tag(0), Kind::Acquire, Instant::ORIGIN, |_| ());
    }
    let fault = backlog.refuse(Kind::Extend).expect("full");
    assert_eq!(fault.kind(), FaultKind::Busy);
    assert_eq!(
        fault.to_string(),
        "4096 requests wait for this node already"
    );
    for _ in 0..MOST_RELEASES {
        assert_eq!(backlog.refuse(Kind::Release), None);
        backlog.push(tag(0), Kind::Release, Instant::ORIGIN, |_| ());
    }
    assert!(backlog.refuse(Kind::Release).is_some());
    assert!(backlog.answered().is_some());
    assert_eq!(backlog.refuse(Kind::Acquire), None);
}

#[test]
fn a_request_without_a_script_is_given_again_unless_another_of_its_owner_is_behind_it() {
    for (first, behind, again) in [
        (acquire("me"), None, true),
        (acquire("me"), Some(release("me")), false),
        (acquire("me"), Some(release("you")), true),
        (extend("me"), Some(extend("me")), false),
        (extend("me"), Some(release("me")), false),
        (release("me"), Some(acquire("you")), true),
        (release("me"), None, true),
        (leave(1), Some(leave(2)), true),
        (leave(1), Some(leave(1)), false),
        (inspect(), Some(inspect()), true),
    ] {
        let requests: Vec<_> = [first.clone()].into_iter().chain(behind.clone()).collect();
        let mut backlog = sent(&requests);
        let Some(Pending::Request(waiting)) = backlog.answered() else {
            panic!("it has left");
        };
        let outcome = backlog.repeat(
            waiting,
            Again::WithScript(1),
            &Encoder::new(&Configuration::plain()),
            &ServerInfo::nobody(Disk::Ignored),
        );
        assert_eq!(outcome.is_ok(), again, "{first:?}, then {behind:?}");
        assert_eq!(backlog.ready().starts_with(b"*"), again);
    }
}

#[test]
fn a_request_that_never_had_a_connection_is_told_the_bare_reason() {
    for (loss, expected) in [
        (Loss::NeverUp("because"), "because"),
        (
            Loss::Lost("because"),
            "lost the connection before the request was sent: because",
        ),
    ] {
        let mut backlog = Backlog::default();
        backlog.push(tag(0), Kind::Acquire, Instant::ORIGIN, ten_bytes);
        let votes: Vec<_> = backlog.abandon(loss).collect();
        let [(_, Vote::Unknown(fault))] = &votes[..] else {
            panic!("{votes:?}");
        };
        assert_eq!(
            (fault.kind(), fault.to_string()),
            (FaultKind::Down, expected.to_owned())
        );
    }
}

#[test]
fn locks_are_counted_from_the_first_lack_of_a_script_until_none_waits() {
    let mut backlog = sent(&[acquire("me"), extend("me"), release("you"), release("her")]);
    let encoder = Encoder::new(&Configuration::plain());
    assert_eq!(backlog.locks.len(), None);
    let Some(Pending::Request(first)) = backlog.answered() else {
        panic!("it was sent");
    };
    assert!(
        backlog
            .repeat(
                first,
                Again::WithScript(1),
                &encoder,
                &ServerInfo::nobody(Disk::Ignored)
            )
            .is_err()
    );
    assert_eq!(backlog.locks.len(), Some(3));
    for locks in [Some(2), Some(1), None] {
        assert!(backlog.answered().is_some());
        assert_eq!(backlog.locks.len(), locks);
    }
}

#[test]
fn what_is_answered_and_not_told_counts_against_the_limit() {
    let mut backlog = Backlog::default();
    for _ in 0..MOST_VOTES {
        assert!(backlog.refuse(Kind::Acquire).is_none());
        let (need, heard) = (Need::Later, Instant::ORIGIN);
        let heard = backlog.unconfirmed.hear(need, heard, tag(0), Vote::GRANTED);
        assert_eq!(heard, Heard::Asks);
    }
    assert!(backlog.refuse(Kind::Acquire).is_some());
    assert!(backlog.refuse(Kind::Release).is_none(), "it is a reserve");
}

#[test]
fn releases_among_grants_give_their_room_back() {
    let mut backlog = sent(&[acquire("a"), release("b"), release("c")]);
    assert_eq!(backlog.releases, 2);
    let (mut told, mut events) = (None, Vec::new());
    let answers = b"+OK\r\n$7\r\ngranted\r\n";
    let is_set = |kind| Some(kind == Kind::Acquire);
    let taken = backlog.take_grants(answers, (0, &mut told), is_set, &mut events, 9);
    assert_eq!((taken, events.len()), ((2, answers.len()), 2));
    assert_eq!(backlog.releases, 1);
}

mod calls;
mod parts;
