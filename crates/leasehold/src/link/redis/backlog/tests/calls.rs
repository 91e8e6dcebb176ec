//! Requests that leave together.

use super::*;
use crate::{
    configuration::RestartGuard,
    link::redis::{backlog::calls::Again, codec::Frame, heads::Call, texts::VOTES},
};
use leasehold_core::{FencingToken, Quorum};
use std::time::Duration;

pub(super) fn fenced() -> Encoder {
    let quorum = Quorum::majority(1).expect("one node");
    let (guard, skew) = (RestartGuard::Off, Duration::ZERO);
    Encoder::new(&Configuration::new(
        "ns",
        "n",
        quorum,
        guard,
        Ttl::DEFAULT,
        skew,
    ))
}

fn of(name: &str) -> Resource {
    Resource::new(name).expect("a name")
}

fn vote(name: &str) -> Request {
    Request::Acquire {
        resource: of(name),
        owner: owner("me"),
        ttl: Ttl::DEFAULT,
        proposal: FencingToken::new(7),
        place: None,
    }
}

fn release_of(name: &str) -> Request {
    Request::Release {
        resource: of(name),
        owner: owner("me"),
        keep: None,
    }
}

pub(super) fn met() -> ServerInfo {
    ServerInfo::new("met".to_owned(), Disk::Ignored)
}

/// Gives a request to the backlog as the link does.
pub(super) fn given(backlog: &mut Backlog, number: u64, request: &Request, encoder: &Encoder) {
    let mut draft = Draft::default();
    let mut message = Message::new(tag(number), request, Instant::ORIGIN, &mut draft);
    let asked = (tag(number), Kind::of(request), Instant::ORIGIN);
    if encoder.call_of(request) == Call::Set {
        backlog.make_way(request.resource(), encoder, &met());
        let (tag, kind, given) = asked;
        return backlog.push(tag, kind, given, |wire| {
            encoder.say_request(wire, request, &met());
        });
    }
    let words = encoder.words(&mut message);
    backlog.gather(asked, request, words, encoder, &met());
}

/// The commands that are ready to leave, in words.
pub(super) fn commands(backlog: &Backlog) -> Vec<Vec<String>> {
    let (mut rest, mut commands) = (backlog.ready(), Vec::new());
    while !rest.is_empty() {
        let (frame, length) = codec::decode(rest).expect("the protocol").expect("whole");
        let Frame::List(words) = frame else {
            panic!("{frame:?}");
        };
        let text = |word: &Frame<'_>| match word {
            Frame::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => panic!("{other:?}"),
        };
        commands.push(words.iter().map(text).collect());
        rest = &rest[length..];
    }
    commands
}

#[test]
fn releases_leave_in_one_call_and_the_votes_behind_them_in_another() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    let requests = [vote("a"), release_of("b"), vote("c"), release_of("d")];
    for (number, request) in (0..).zip(&requests) {
        given(&mut backlog, number, request, &encoder);
    }
    assert!(backlog.ready().is_empty(), "more may come");
    backlog.say_if_room(&encoder, &met());
    let [releases, votes] = &commands(&backlog)[..] else {
        panic!("{:?}", commands(&backlog));
    };
    assert_eq!(releases[2..], ["2", "b", "d", "me", "me"]);
    assert_eq!(votes[2..6], ["3", "a", "c", "ns:node"]);
    // The guard, the configuration, the disk, the process.
    assert_eq!((&*votes[6], &*votes[8], &*votes[9]), ("off", "0", "met"));
    assert_eq!(votes[10..12], ["me", "me"]);
    // Behind the counters, what both have in common.
    assert_eq!(votes[14..], ["10000", "7", "2"]);
    // Each is read back from the call, and the answers come in the order of the calls.
    backlog.sent(backlog.ready().len());
    for (number, behind) in [(1, 1), (3, 0), (0, 1), (2, 0)] {
        let Some(Pending::Request(waiting)) = backlog.answered() else {
            panic!("it has left");
        };
        assert_eq!(waiting.tag, tag(number));
        assert_eq!(waiting.behind, behind);
        let index = usize::try_from(number).expect("few");
        let recalled = backlog.recall(&waiting, &encoder);
        assert_eq!(recalled.as_ref(), Some(&requests[index]));
        let lock = backlog.lock(&waiting).expect("it has a key");
        let name = requests[index].resource().as_bytes().to_vec();
        assert_eq!(lock, (name, Some(b"me".to_vec())));
    }
}

#[test]
fn votes_of_one_call_may_want_different_things_and_each_is_read_back() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    let for_ms = |ms| Ttl::new(Duration::from_millis(ms)).expect("in range");
    let wanted = [(700, 7), (700, 7), (700, 9), (800, 9), (800, 9), (700, 7)];
    let requests = (0_u32..)
        .zip(wanted)
        .map(|(number, (ms, token))| Request::Acquire {
            resource: of(&number.to_string()),
            owner: owner(&format!("owner {number}")),
            ttl: for_ms(ms),
            proposal: FencingToken::new(token),
            place: None,
        });
    let requests: Vec<_> = requests.collect();
    for (number, request) in (0..).zip(&requests) {
        given(&mut backlog, number, request, &encoder);
    }
    backlog.say_gathered(&encoder, &met());
    let [call] = &commands(&backlog)[..] else {
        panic!("{:?}", commands(&backlog));
    };
    let runs = call[3 + 7 + 4 + 2 * 6..].join(" ");
    assert_eq!(runs, "700 7 2 700 9 3 800 9 5 700 7 6");
    backlog.sent(backlog.ready().len());
    for request in &requests {
        let Some(Pending::Request(waiting)) = backlog.answered() else {
            panic!("it has left");
        };
        assert_eq!(backlog.recall(&waiting, &encoder).as_ref(), Some(request));
    }
}

#[test]
fn a_release_leaves_behind_the_vote_that_it_takes_back() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    for (number, request) in [(0, vote("a")), (1, vote("b")), (1, release_of("b"))] {
        given(&mut backlog, number, &request, &encoder);
    }
    backlog.say_gathered(&encoder, &met());
    let [votes, release] = &commands(&backlog)[..] else {
        panic!("{:?}", commands(&backlog));
    };
    assert_eq!(votes[2..6], ["3", "a", "b", "ns:node"]);
    assert_eq!(release[2..], ["1", "b", "me"]);
}

#[test]
fn a_vote_leaves_behind_the_release_that_frees_its_lock() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    for (number, request) in [(0, vote("a")), (1, release_of("b")), (2, vote("b"))] {
        given(&mut backlog, number, &request, &encoder);
    }
    backlog.say_gathered(&encoder, &met());
    let calls = commands(&backlog);
    assert_eq!(calls[0][3], "b");
    assert_eq!(calls[1][3..5], ["a", "b"]);
}

#[test]
fn plain_votes_are_commands_that_leave_at_once_unless_a_release_of_the_lock_is_before_them() {
    let encoder = Encoder::new(&Configuration::plain());
    let mut backlog = Backlog::default();
    for (number, request) in [
        (0, vote("a")),
        (1, release_of("b")),
        (2, release_of("c")),
        (3, vote("d")),
        (4, vote("b")),
        (5, release_of("d")),
    ] {
        given(&mut backlog, number, &request, &encoder);
    }
    backlog.say_gathered(&encoder, &met());
    let calls = commands(&backlog);
    let set = |name| ["SET", name, "me", "NX", "PX", "10000"];
    assert_eq!(calls[0], set("a"));
    assert_eq!(calls[1], set("d"));
    assert_eq!(calls[2][2..], ["2", "b", "c", "me", "me"]);
    assert_eq!(calls[3], set("b"));
    assert_eq!(calls[4][2..], ["1", "d", "me"]);
    backlog.sent(backlog.ready().len());
    let told: Vec<_> = std::iter::from_fn(|| backlog.answered())
        .map(|pending| match pending {
            Pending::Request(waiting) => (waiting.tag.attempt.operation.number(), waiting.behind),
            Pending::Aside(aside) => panic!("{aside:?}"),
        })
        .collect();
    assert_eq!(told, [(0, 0), (3, 0), (1, 1), (2, 0), (4, 0), (5, 0)]);
}

#[test]
fn a_call_is_bounded_and_grows_while_nothing_can_leave() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    for number in 0..200 {
        given(&mut backlog, number, &vote(&number.to_string()), &encoder);
    }
    let locks = |backlog: &Backlog| {
        let calls = commands(backlog);
        let keys = calls.iter().map(|call| call[2].parse::<usize>());
        keys.map(|keys| keys.expect("a number") - 1)
            .collect::<Vec<_>>()
    };
    assert_eq!(locks(&backlog), [64, 64, 64], "full calls wait for nothing");
    backlog.say_if_room(&encoder, &met());
    assert_eq!(locks(&backlog), [64, 64, 64], "they leave first");
    backlog.sent(backlog.ready().len());
    backlog.say_if_room(&encoder, &met());
    assert_eq!(locks(&backlog), [8]);
    // Long names.
    let (mut backlog, name) = (Backlog::default(), "x".repeat(400));
    for number in 0..40 {
        given(
            &mut backlog,
            number,
            &vote(&format!("{name}{number}")),
            &encoder,
        );
    }
    assert_eq!(locks(&backlog)[0], 20, "some 8 KiB");
}

#[test]
fn what_was_not_said_has_not_left_when_the_connection_is_lost() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    for (number, request) in [(0, vote("a")), (1, vote("b"))] {
        given(&mut backlog, number, &request, &encoder);
    }
    backlog.say_gathered(&encoder, &met());
    backlog.sent(1);
    given(&mut backlog, 2, &release_of("c"), &encoder);
    given(&mut backlog, 3, &vote("d"), &encoder);
    assert_eq!(
        kinds(backlog.abandon(Loss::Lost("because"))),
        [
            (0, FaultKind::Disconnected),
            (1, FaultKind::Disconnected),
            (2, FaultKind::Down),
            (3, FaultKind::Down)
        ]
    );
    backlog.say_gathered(&encoder, &met());
    assert!(backlog.ready().is_empty(), "a new connection begins empty");
}

#[test]
fn a_call_without_its_script_is_given_again_with_it_and_the_others_together() {
    let (encoder, mut backlog) = (fenced(), Backlog::default());
    for (number, request) in [(0, vote("a")), (1, vote("b")), (2, vote("c"))] {
        given(&mut backlog, number, &request, &encoder);
    }
    backlog.say_gathered(&encoder, &met());
    backlog.sent(backlog.ready().len());
    for _ in 0..3 {
        let Some(Pending::Request(waiting)) = backlog.answered() else {
            panic!("it has left");
        };
        let said = backlog.repeat(waiting, Again::WithScript(3), &encoder, &met());
        assert_eq!(said, Ok(()));
    }
    let in_full = &commands(&backlog)[0];
    assert_eq!((&*in_full[0], &*in_full[3]), ("EVAL", "c"));
    assert_eq!(in_full[1], VOTES.text, "what the others need as well");
    backlog.sent(backlog.ready().len());
    backlog.say_if_room(&encoder, &met());
    let [others] = &commands(&backlog)[..] else {
        panic!("{:?}", commands(&backlog));
    };
    assert_eq!(others[0], "EVALSHA");
    assert_eq!(others[2..5], ["3", "a", "b"]);
}
