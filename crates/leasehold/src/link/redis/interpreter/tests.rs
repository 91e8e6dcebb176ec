use super::*;
use crate::{
    clock::Clock,
    configuration::{Configuration, RestartGuard},
    disks::Disks,
    link::{
        Draft, Message,
        redis::{backlog::Loss, copies::OwnDisk, url::Sentinels},
    },
};
use leasehold_core::{
    AttemptId, Instant, OperationId, Owner, Quorum, Resource, Ttl, discovery::Rule,
    quarantine::Disk,
};
use std::time::Duration;

fn tag(step: u32) -> Tag {
    Tag {
        attempt: AttemptId {
            operation: OperationId::new(0),
            number: 0,
        },
        step,
    }
}

/// Something that has all of its bytes left.
fn pushed(backlog: &mut Backlog, interpreter: &Interpreter, step: u32, request: &Request) {
    let (encoder, met) = (&interpreter.encoder, &interpreter.met);
    backlog.push(tag(step), Kind::of(request), Instant::ORIGIN, |wire| {
        encoder.say_request(wire, request, met);
    });
    backlog.sent(backlog.ready().len());
}

fn owner() -> Owner {
    Owner::from_bytes(b"me").expect("an owner")
}

fn resource() -> Resource {
    Resource::new("r").expect("a name")
}

fn release() -> Request {
    Request::Release {
        resource: resource(),
        owner: owner(),
        keep: None,
    }
}

fn acquire() -> Request {
    Request::Acquire {
        resource: resource(),
        owner: owner(),
        ttl: Ttl::DEFAULT,
        proposal: None,
        place: None,
    }
}

fn interpreter(configuration: &Configuration) -> Interpreter {
    let (encoder, met) = (
        Encoder::new(configuration),
        ServerInfo::nobody(Disk::Ignored),
    );
    Interpreter::new(encoder, met, Hints::Refused)
}

/// Of locks with a restart guard, behind sentinels that have said nothing yet.
fn watching() -> Interpreter {
    let sentinels = Sentinels {
        hosts: Vec::new(),
        master: "locks".to_owned(),
        login: None,
        tls: None,
        server_tls: None,
        rule: Rule::DEFAULT,
    };
    let quorum = Quorum::majority(1).expect("one node");
    let guard = RestartGuard::Quarantine;
    let guarded = Configuration::new("ns", "db1", quorum, guard, Ttl::DEFAULT, Duration::ZERO);
    let mut interpreter = interpreter(&guarded);
    interpreter.obey(SentinelWatch::begin(&sentinels, Clock::system()));
    interpreter
}

#[test]
fn an_extension_that_replicas_have_heard_of_waits_for_no_later_word_of_sentinels() {
    let mut interpreter = watching();
    let copies = Copies::heard_by(1, Duration::from_millis(1));
    interpreter.encoder = interpreter.encoder.copied(copies);
    let mut events = Vec::new();
    for (step, need) in [(0, Need::Later), (1, Need::Recent(None))] {
        let mut backlog = Backlog::default();
        backlog.wait(tag(step), Vote::GRANTED, need, (0, copies));
        backlog.sent(backlog.ready().len());
        let heard = interpreter.hear(&Frame::Integer(1), &mut backlog, &mut events);
        heard.expect("it is what was asked");
    }
    assert_eq!(events.len(), 1, "{events:?}");
    let told = events.pop();
    assert!(
        matches!(&told, Some(LinkEvent::Reply(of, vote)) if *of == tag(1) && vote.is_granted()),
        "{told:?}"
    );
}

#[test]
fn a_vote_is_told_when_every_question_about_its_copies_has_a_good_answer() {
    let mut interpreter = interpreter(&Configuration::plain());
    let within = Duration::from_millis(1);
    let all = [
        Copies::heard_by(1, within),
        Copies::written_to(Disks::Server, within),
    ];
    for copies in all {
        interpreter.encoder = interpreter.encoder.copied(copies);
    }
    interpreter.met.own_disk = OwnDisk::Exact;
    let disks = |own| Frame::List(vec![Frame::Integer(own), Frame::Integer(0)]);
    for (own, is_granted) in [(1, true), (0, false)] {
        let (mut events, mut backlog) = (Vec::new(), Backlog::default());
        backlog.wait(tag(0), Vote::GRANTED, Need::Nothing, (0, all[0]));
        backlog.sent(backlog.ready().len());
        let heard = interpreter.hear(&Frame::Integer(1), &mut backlog, &mut events);
        heard.expect("it is what was asked");
        assert!(
            events.is_empty(),
            "the disk was not asked about: {events:?}"
        );
        assert!(backlog.ready().starts_with(b"*4\r\n$7\r\nWAITAOF\r\n"));
        backlog.sent(backlog.ready().len());
        let heard = interpreter.hear(&disks(own), &mut backlog, &mut events);
        heard.expect("it is what was asked");
        let Some(LinkEvent::Reply(_, vote)) = events.pop() else {
            panic!("nothing else is asked");
        };
        assert_eq!(vote.is_granted(), is_granted, "{vote:?}");
    }
}

#[test]
fn the_release_of_a_grant_that_is_not_confirmed_is_told_behind_it() {
    let mut interpreter = watching();
    let (mut backlog, mut events) = (Backlog::default(), Vec::new());
    for (step, request) in [(0, acquire()), (1, release())] {
        pushed(&mut backlog, &interpreter, step, &request);
    }
    for answer in [&b"granted - 1 1"[..], b"granted"] {
        let heard = interpreter.hear(&Frame::Text(answer), &mut backlog, &mut events);
        heard.expect("it is an answer");
    }
    let is_reply = |event: &LinkEvent| matches!(event, LinkEvent::Reply(..));
    assert!(!events.iter().any(is_reply), "{events:?}");
    let told: Vec<_> = backlog.abandon(Loss::Lost("it is over")).collect();
    assert!(
        matches!(&told[..], [(first, Vote::Unknown(_)), (second, vote)]
            if *first == tag(0) && *second == tag(1) && vote.is_granted()),
        "{told:?}"
    );
}

#[test]
fn a_grant_that_later_word_will_confirm_is_not_refused_for_the_age_of_the_last() {
    let mut interpreter = watching();
    let (mut backlog, mut events) = (Backlog::default(), Vec::new());
    pushed(&mut backlog, &interpreter, 0, &acquire());
    let grant = Frame::Text(b"granted - 1 1");
    let heard = interpreter.hear(&grant, &mut backlog, &mut events);
    heard.expect("it is an answer");
    let is_reply = |event: &LinkEvent| matches!(event, LinkEvent::Reply(..));
    assert!(!events.iter().any(is_reply), "{events:?}");
}

#[test]
fn an_error_that_a_proxy_may_give_ends_the_connection_and_leaves_the_request_in_doubt() {
    let mut backlog = Backlog::default();
    let mut events = Vec::new();
    let words = "ERR upstream closed the connection";
    let mut interpreter = interpreter(&Configuration::plain());
    pushed(&mut backlog, &interpreter, 0, &release());
    let frame = Frame::Error(words.as_bytes());
    let ended = interpreter.hear(&frame, &mut backlog, &mut events);
    assert_eq!(ended, Err(words.to_owned()));
    let Some(LinkEvent::Reply(answered, Vote::Unknown(fault))) = events.pop() else {
        panic!("not in doubt");
    };
    assert_eq!(answered, tag(0));
    assert!(fault.may_have_happened());
    assert_eq!(fault.to_string(), words);
}

/// Takes these answers, all of them.
fn taken(
    interpreter: &mut Interpreter,
    bytes: &[u8],
    backlog: &mut Backlog,
    events: &mut Vec<LinkEvent>,
) {
    let mut received = ReceiveBuffer::default();
    received.space()[..bytes.len()].copy_from_slice(bytes);
    received.filled(bytes.len());
    let taken = interpreter.take(&mut received, backlog, events, usize::MAX);
    assert_eq!(taken, Ok(Drained::All));
    assert!(received.bytes().is_empty(), "{bytes:?}");
}

#[test]
fn behind_an_extension_the_key_is_looked_at_and_what_has_changed_is_told() {
    let extend = Request::Extend {
        resource: resource(),
        owner: owner(),
        ttl: Ttl::DEFAULT,
    };
    let mut interpreter = interpreter(&Configuration::plain());
    interpreter.hints = Hints::Given;
    for (value, is_told) in [
        ("$2\r\nme\r\n", false),
        ("$3\r\nyou\r\n", true),
        ("_\r\n", true),
        ("-WRONGTYPE No\r\n", true),
        ("-NOPERM No\r\n", false),
    ] {
        let (mut backlog, mut events) = (Backlog::default(), Vec::new());
        // Asked twice, so that the look is found behind what was answered before.
        for step in 0..2 {
            pushed(&mut backlog, &interpreter, step, &extend);
            let grant = b"$7\r\ngranted\r\n";
            taken(&mut interpreter, grant, &mut backlog, &mut events);
            assert_eq!(
                backlog.ready(),
                [look::WATCH, b"*2\r\n$3\r\nGET\r\n$1\r\nr\r\n"].concat()
            );
            backlog.sent(backlog.ready().len());
            events.clear();
            for answer in ["+OK\r\n", value] {
                taken(
                    &mut interpreter,
                    answer.as_bytes(),
                    &mut backlog,
                    &mut events,
                );
            }
            let told = format!("{events:?}");
            assert_eq!(
                told == r#"[Changed(Some(Resource("r")))]"#,
                is_told,
                "{told}"
            );
        }
    }
}

#[test]
fn whose_a_key_is_that_has_moved_meanwhile_is_asked_anew() {
    for (is_sharded, words) in [
        (true, "ASK 1 h:7"),
        (true, "MOVED 1 h:7"),
        (true, "OOM"),
        (false, "ASK 1 h:7"),
    ] {
        let mut interpreter = interpreter(&Configuration::plain());
        if is_sharded {
            interpreter.encoder = interpreter.encoder.sharded();
        }
        let (mut backlog, mut events) = (Backlog::default(), Vec::new());
        pushed(&mut backlog, &interpreter, 0, &acquire());
        let found = interpreter.hear(&Frame::Null, &mut backlog, &mut events);
        assert!(found.is_ok() && events.is_empty(), "{events:?}");
        backlog.sent(backlog.ready().len());
        let told = Frame::Error(words.as_bytes());
        let heard = interpreter.hear(&told, &mut backlog, &mut events);
        assert!(heard.is_ok(), "{words}");
        let is_redirected = match &events[..] {
            [LinkEvent::Reply(of, Vote::Unknown(fault))] => {
                assert_eq!((*of, fault.kind()), (tag(0), FaultKind::Rejected));
                fault.to_string() == words
            }
            [LinkEvent::Reply(_, Vote::Refused(_))] => false,
            other => panic!("{other:?}"),
        };
        assert_eq!(is_redirected, is_sharded && words != "OOM", "{words}");
    }
}

mod calls;
