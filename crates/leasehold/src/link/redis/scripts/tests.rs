use super::*;
use crate::link::{
    Draft,
    redis::{codec::Frame, texts::EXTEND},
};
use leasehold_core::{AttemptId, Instant, OperationId, Tag, Waiter};

fn encoded(encoder: &Encoder, request: &Request) -> String {
    let wire = encoder.said(request, &ServerInfo::nobody(Disk::Ignored));
    let whole = codec::decode(&wire).expect("it is the protocol");
    assert!(
        matches!(whole, Some((Frame::List(_), length)) if length == wire.len()),
        "a head says how many parts there are"
    );
    String::from_utf8(wire).expect("text")
}

#[test]
fn a_plain_request_is_a_call_with_one_key() {
    let request = Request::Extend {
        resource: Resource::new("r").expect("a name"),
        owner: Owner::from_bytes(b"o\r\n").expect("an owner"),
        ttl: Ttl::SHORTEST,
    };
    let expected = format!(
        "*6\r\n$7\r\nEVALSHA\r\n$40\r\n{}\r\n$1\r\n1\r\n$1\r\nr\r\n$3\r\no\r\n\r\n$2\r\n10\r\n",
        EXTEND.sha1
    );
    let plain = Encoder::new(&Configuration::plain());
    assert_eq!(encoded(&plain, &request), expected);
    let format = KeyFormat::php_lock_2();
    let formatted = Encoder::new(&Configuration::plain().with_key_format(format));
    let expected = expected.replace("$1\r\nr\r\n", "$6\r\nlock_r\r\n");
    assert_eq!(encoded(&formatted, &request), expected);
}

#[test]
fn only_a_fair_vote_names_a_queue_and_who_waits() {
    let quorum = leasehold_core::Quorum::majority(1).expect("one node");
    let (guard, skew) = (RestartGuard::Off, std::time::Duration::ZERO);
    let fenced = Configuration::new("leasehold", "n", quorum, guard, Ttl::DEFAULT, skew);
    let wire = |place: Option<Place>| {
        let request = Request::Acquire {
            resource: Resource::new("r").expect("a name"),
            owner: Owner::from_bytes(b"me").expect("an owner"),
            ttl: Ttl::SHORTEST,
            proposal: None,
            place,
        };
        encoded(&Encoder::new(&fenced), &request)
    };
    let usual = wire(None);
    assert!(usual.starts_with("*14\r\n"), "{usual}");
    assert!(!usual.contains("queue"), "{usual}");
    let place = |ticket| {
        let waiter = Waiter::new(0xab);
        Some(Place { waiter, ticket })
    };
    let fair = wire(place(leasehold_core::Ticket::new(7)));
    assert!(fair.starts_with("*17\r\n"), "{fair}");
    assert!(fair.contains("$17\r\nleasehold:queue:r\r\n"), "{fair}");
    assert!(
        fair.ends_with("$16\r\n00000000000000ab\r\n$1\r\n7\r\n"),
        "{fair}"
    );
    let new = wire(place(None));
    assert!(
        new.ends_with("$16\r\n00000000000000ab\r\n$0\r\n\r\n"),
        "{new}"
    );
}

#[test]
fn a_plain_acquire_is_redlocks_own_command() {
    let request = Request::Acquire {
        resource: Resource::new("r").expect("a name"),
        owner: Owner::from_bytes(b"me").expect("an owner"),
        ttl: Ttl::SHORTEST,
        proposal: None,
        place: None,
    };
    let plain = Encoder::new(&Configuration::plain());
    let expected = "*6\r\n$3\r\nSET\r\n$1\r\nr\r\n$2\r\nme\r\n$2\r\nNX\r\n$2\r\nPX\r\n$2\r\n10\r\n";
    assert_eq!(encoded(&plain, &request), expected);
    let mut in_full = Vec::new();
    plain.say_in_full(
        &mut in_full,
        &request,
        1,
        &ServerInfo::nobody(Disk::Ignored),
    );
    assert_eq!(in_full, expected.as_bytes());
}
#[test]
fn a_node_is_told_of_what_was_met_there_in_words_that_were_written_for_another() {
    let quorum = leasehold_core::Quorum::majority(1).expect("one node");
    let (guard, skew) = (RestartGuard::Off, std::time::Duration::ZERO);
    let fenced = Configuration::new("leasehold", "n", quorum, guard, Ttl::DEFAULT, skew);
    let encoder = Encoder::new(&fenced);
    let mets = ["one", "another"].map(|id| ServerInfo::new(id.to_owned(), Disk::Trusted));
    let attempt = AttemptId {
        operation: OperationId::new(0),
        number: 0,
    };
    let tag = Tag { attempt, step: 0 };
    for request in crate::link::redis::recall::tests::requests() {
        let mut draft = Draft::default();
        let mut message = Message::new(tag, &request, Instant::ORIGIN, &mut draft);
        for met in &mets {
            let mut wire = Vec::new();
            let other = encoder.clone();
            let (call, words) = (other.call_of(&request), other.words(&mut message));
            other.say(&mut wire, call, words, met);
            assert_eq!(wire, encoder.said(&request, met), "{request:?}");
        }
        // Another configuration may have other keys.
        let plain = Encoder::new(&Configuration::plain());
        let (mut wire, met) = (Vec::new(), &mets[0]);
        let (call, words) = (plain.call_of(&request), plain.words(&mut message));
        plain.say(&mut wire, call, words, met);
        assert_eq!(wire, plain.said(&request, met), "{request:?}");
    }
}
