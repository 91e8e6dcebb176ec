use super::*;
use leasehold_core::{FaultKind, Resource, Ttl};

const NATIVES: [Native; 2] = [Native::DelIfEq, Native::DelEx];

fn by(owner: &str) -> Owner {
    Owner::from_bytes(owner.as_bytes()).expect("an owner")
}

fn name() -> Resource {
    Resource::new("r").expect("a name")
}

fn acquire() -> Request {
    Request::Acquire {
        resource: name(),
        owner: by("us"),
        ttl: Ttl::SHORTEST,
        proposal: None,
        place: None,
    }
}

fn repair() -> Request {
    Request::Repair {
        resource: name(),
        owner: by("us"),
        ttl: Ttl::SHORTEST,
        proposal: None,
    }
}

fn extend() -> Request {
    Request::Extend {
        resource: name(),
        owner: by("us"),
        ttl: Ttl::SHORTEST,
    }
}

fn transfer() -> Request {
    Request::Transfer {
        resource: name(),
        from: by("them"),
        owner: by("us"),
        ttl: Ttl::SHORTEST,
        proposal: None,
    }
}

fn release(keep: Option<Ttl>) -> Request {
    Request::Release {
        resource: name(),
        owner: by("us"),
        keep,
    }
}

fn inspect() -> Request {
    Request::Inspect { resource: name() }
}

/// The command that changes the key, in words.
fn change(native: Native, request: &Request) -> Option<String> {
    let mut wire = Vec::new();
    let changes = native.change(&mut wire, request, b"k", 70);
    assert_eq!(changes, !wire.is_empty());
    let (frame, length) = codec::decode(&wire).ok().flatten()?;
    assert_eq!(length, wire.len(), "one command");
    let Frame::List(parts) = frame else {
        panic!("{frame:?}");
    };
    let words = parts.iter().map(|part| match part {
        Frame::Text(word) => String::from_utf8_lossy(word).into_owned(),
        part => panic!("{part:?}"),
    });
    Some(words.collect::<Vec<_>>().join(" "))
}

#[test]
fn a_key_is_changed_only_by_comparison() {
    let told = |native, request| change(native, &request).expect("a change");
    for native in NATIVES {
        assert_eq!(told(native, acquire()), "SET k us NX PX 70");
        assert_eq!(told(native, repair()), "SET k us NX PX 70");
        assert_eq!(told(native, extend()), "SET k us IFEQ us PX 70");
        assert_eq!(told(native, transfer()), "SET k us IFEQ them PX 70");
        let keep = release(Some(Ttl::SHORTEST));
        assert_eq!(told(native, keep), "SET k us IFEQ us PX 70");
        assert_eq!(change(native, &inspect()), None);
    }
    assert_eq!(told(Native::DelIfEq, release(None)), "DELIFEQ k us");
    assert_eq!(told(Native::DelEx, release(None)), "DELEX k IFEQ us");
}

/// What three answers say to a request; the first is left out for one that changes nothing.
fn verdict(
    request: &Request,
    change: Option<Frame<'_>>,
    key: &Frame<'_>,
    life: &Frame<'_>,
) -> Option<Verdict> {
    let mut heard = NativeReplies::NOTHING;
    if let Some(change) = change {
        heard.change(&change)?;
    }
    heard.key(key)?;
    let reply = heard.reply(request, life)?;
    assert!(
        heard.change.is_none() && heard.key.is_none(),
        "it begins anew"
    );
    Some(reply.verdict)
}

fn refused(holder: Option<&str>, remaining_ms: Option<u64>) -> Vote {
    Vote::Refused(Refusal {
        holder: holder.map(by),
        remaining: remaining_ms.map(Duration::from_millis),
        queued: None,
        permits: None,
    })
}

#[test]
fn the_change_is_the_vote_and_what_follows_says_why_not() {
    let (ok, nil) = (Frame::Text(b"OK"), Frame::Null);
    let (ours, theirs) = (Frame::Text(b"us"), Frame::Text(b"them"));
    let (life, none) = (Frame::Integer(70), Frame::Integer(-2));
    let held = refused(Some("them"), Some(70));
    let absent = refused(None, None);
    let twin = Vote::Unknown(Fault::same_node());
    for (request, change, key, life, vote) in [
        (acquire(), &ok, &ours, &life, Vote::GRANTED),
        (acquire(), &nil, &theirs, &life, held.clone()),
        (acquire(), &nil, &ours, &life, twin.clone()),
        (repair(), &nil, &ours, &life, Vote::GRANTED),
        (repair(), &nil, &theirs, &life, held.clone()),
        (acquire(), &nil, &ours, &none, absent.clone()),
        (acquire(), &nil, &nil, &none, absent.clone()),
        (extend(), &ok, &theirs, &life, Vote::GRANTED),
        (extend(), &nil, &theirs, &life, held.clone()),
        (extend(), &nil, &ours, &life, refused(Some("us"), Some(70))),
        (
            extend(),
            &nil,
            &theirs,
            &Frame::Integer(-1),
            refused(Some("them"), None),
        ),
        (transfer(), &nil, &ours, &life, twin),
        (transfer(), &nil, &theirs, &life, held.clone()),
        (
            release(None),
            &Frame::Integer(1),
            &nil,
            &none,
            Vote::GRANTED,
        ),
        (
            release(None),
            &Frame::Integer(0),
            &nil,
            &none,
            absent.clone(),
        ),
        (
            release(None),
            &Frame::Integer(0),
            &theirs,
            &life,
            held.clone(),
        ),
    ] {
        let told = verdict(&request, Some(change.clone()), key, life);
        assert_eq!(
            told,
            Some(Verdict::Vote(vote)),
            "{request:?}: {change:?} {key:?}"
        );
    }
}

#[test]
fn what_a_plain_set_has_found_is_a_refusal_unless_it_is_our_own() {
    let refused = || Some(Vote::Refused(Refusal::default()));
    let twin = Some(Vote::Unknown(Fault::same_node()));
    let ours = Frame::Text(b"us");
    assert_eq!(found(&acquire(), &ours), twin);
    assert_eq!(found(&repair(), &ours), Some(Vote::GRANTED));
    for frame in [
        Frame::Text(b"them"),
        Frame::Null,
        Frame::Error(b"WRONGTYPE"),
    ] {
        assert_eq!(found(&acquire(), &frame), refused());
        assert_eq!(found(&repair(), &frame), refused());
    }
    assert_eq!(found(&acquire(), &Frame::Integer(1)), None);
}

#[test]
fn a_look_is_granted_where_there_is_no_key() {
    let (nil, theirs) = (Frame::Null, Frame::Text(b"them"));
    let (life, none) = (Frame::Integer(70), Frame::Integer(-2));
    let held = refused(Some("them"), Some(70));
    for (key, life, vote) in [
        (&nil, &none, Vote::GRANTED),
        (&theirs, &none, Vote::GRANTED),
        (&theirs, &life, held),
    ] {
        assert_eq!(
            verdict(&inspect(), None, key, life),
            Some(Verdict::Vote(vote))
        );
    }
}

#[test]
fn a_key_of_another_type_belongs_to_others() {
    let life = Frame::Integer(70);
    let wrong = Frame::Error(b"WRONGTYPE Operation against a key");
    // As Redis 8.6 says it.
    let of_redis = Frame::Error(b"ERR Key should be of string type if conditions are specified");
    for (request, change) in [
        (acquire(), Frame::Null),
        (extend(), wrong.clone()),
        (release(None), of_redis),
    ] {
        let told = verdict(&request, Some(change), &wrong, &life);
        let foreign = refused(None, Some(70));
        assert_eq!(told, Some(Verdict::Vote(foreign)), "{request:?}");
    }
}

#[test]
fn an_error_is_no_vote_and_what_is_no_answer_is_none() {
    let (nil, life) = (Frame::Null, Frame::Integer(70));
    let full = Frame::Error(b"OOM command not allowed");
    let odd = Frame::List(vec![]);
    let no_script = Frame::Error(b"NOSCRIPT No matching script.");
    assert_eq!(verdict(&extend(), Some(no_script), &nil, &life), None);
    for (change, key, life) in [
        (&full, &Frame::Text(b"us"), &life),
        (&nil, &full, &life),
        (&nil, &Frame::Text(b"them"), &full),
    ] {
        let told = verdict(&extend(), Some(change.clone()), key, life);
        let Some(Verdict::Vote(Vote::Unknown(fault))) = told else {
            panic!("{told:?}");
        };
        assert_eq!(fault.kind(), FaultKind::Rejected);
    }
    let lost = Frame::Error(b"ERR upstream closed the connection");
    let told = verdict(&extend(), Some(lost), &nil, &life);
    assert!(matches!(told, Some(Verdict::Unclear(_))), "{told:?}");
    for (change, key, life) in [(&odd, &nil, &life), (&nil, &odd, &life), (&nil, &nil, &odd)] {
        assert_eq!(verdict(&extend(), Some(change.clone()), key, life), None);
    }
}
