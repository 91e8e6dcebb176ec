//! The replies to calls of several requests.

use super::*;
use leasehold_core::FencingToken;

/// Votes for locks of these names, and releases of theirs, in one call each.
fn asked(interpreter: &Interpreter, names: &[&str]) -> Backlog {
    let (encoder, met) = (&interpreter.encoder, &interpreter.met);
    let mut backlog = Backlog::default();
    for (step, &name) in (0..).zip(names) {
        gather(&mut backlog, step, &vote(name), encoder, met);
    }
    backlog.say_gathered(encoder, met);
    backlog.sent(backlog.ready().len());
    backlog
}

/// A vote for the lock of this name.
fn vote(name: &str) -> Request {
    Request::Acquire {
        resource: Resource::new(name).expect("a name"),
        owner: Owner::from_bytes(b"me").expect("an owner"),
        ttl: Ttl::DEFAULT,
        proposal: FencingToken::new(7),
        place: None,
    }
}

fn release(name: &str) -> Request {
    Request::Release {
        resource: Resource::new(name).expect("a name"),
        owner: Owner::from_bytes(b"me").expect("an owner"),
        keep: None,
    }
}

fn gather(
    backlog: &mut Backlog,
    step: u32,
    request: &Request,
    encoder: &Encoder,
    met: &ServerInfo,
) {
    let mut draft = Draft::default();
    let mut message = Message::new(tag(step), request, Instant::ORIGIN, &mut draft);
    let words = encoder.words(&mut message);
    let asked = (tag(step), Kind::of(request), Instant::ORIGIN);
    backlog.gather(asked, request, words, encoder, met);
}

fn guarded() -> Interpreter {
    let quorum = Quorum::majority(1).expect("one node");
    let guard = RestartGuard::Quarantine;
    let guarded = Configuration::new("ns", "db1", quorum, guard, Ttl::DEFAULT, Duration::ZERO);
    interpreter(&guarded)
}

/// Takes these bytes in pieces of this size.
fn in_pieces(
    interpreter: &mut Interpreter,
    bytes: &[u8],
    size: usize,
    backlog: &mut Backlog,
) -> Vec<LinkEvent> {
    let (mut received, mut events) = (ReceiveBuffer::default(), Vec::new());
    for piece in bytes.chunks(size) {
        received.space()[..piece.len()].copy_from_slice(piece);
        received.filled(piece.len());
        let taken = interpreter.take(&mut received, backlog, &mut events, usize::MAX);
        assert_eq!(taken, Ok(Drained::All));
    }
    assert!(received.bytes().is_empty());
    events
}

/// What each was told: its step, and the vote in words.
fn told(events: &[LinkEvent]) -> Vec<(u32, String)> {
    let reply = |event: &LinkEvent| match event {
        LinkEvent::Reply(tag, vote) => Some((tag.step, format!("{vote:?}"))),
        _ => None,
    };
    events.iter().filter_map(reply).collect()
}

#[test]
fn each_request_of_a_call_is_told_its_own_reply_however_the_bytes_come() {
    let replies = "*4\r\n$24\r\ngranted 123 1700000000 5\r\n*4\r\n:0\r\n$3\r\nyou\r\n:70\r\n:1700000000000005\r\n\
                   -EXHAUSTED it is\r\n*2\r\n:-3\r\n:1700000000000005\r\n";
    let mut first = None;
    for size in 1..=replies.len() {
        let mut interpreter = guarded();
        let mut backlog = asked(&interpreter, &["a", "b", "c", "d"]);
        let events = in_pieces(&mut interpreter, replies.as_bytes(), size, &mut backlog);
        let told = told(&events);
        let steps: Vec<_> = told.iter().map(|(step, _)| *step).collect();
        assert_eq!(steps, [0, 1, 2, 3], "pieces of {size}");
        assert!(
            told[0].1.contains("123") && told[1].1.contains("70"),
            "{told:?}"
        );
        assert!(told[2].1.contains("EXHAUSTED"), "{told:?}");
        assert_eq!(first.get_or_insert_with(|| told.clone()), &told);
        assert!(backlog.first().is_none(), "all of them are answered");
    }
}

#[test]
fn one_reply_to_a_call_is_told_to_each_of_its_requests() {
    for (reply, says, times) in [
        (
            "*4\r\n:-1\r\n$5\r\nempty\r\n:700\r\n:1700000000000005\r\n",
            "vote",
            4,
        ),
        ("-OOM command not allowed\r\n", "OOM", 0),
        // Most calls get this, so their time is told once.
        ("$24\r\ngranted 123 1700000000 5\r\n", "123", 1),
    ] {
        let mut interpreter = guarded();
        let names = ["a", "b", "c", "d"];
        let mut backlog = asked(&interpreter, &names);
        let events = in_pieces(&mut interpreter, reply.as_bytes(), 3, &mut backlog);
        let told = told(&events);
        let is_clock = |event: &&LinkEvent| matches!(event, LinkEvent::Clock(_));
        assert_eq!(events.iter().filter(is_clock).count(), times, "{events:?}");
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told.iter().all(|(_, vote)| vote.contains(says)), "{told:?}");
        assert!(backlog.first().is_none(), "all of them are answered");
        // What comes next is not taken for more of it.
        let mut backlog = asked(&interpreter, &["e"]);
        let grant = b"$24\r\ngranted 123 1700000000 5\r\n";
        let events = in_pieces(&mut interpreter, grant, 5, &mut backlog);
        assert_eq!(self::told(&events).len(), 1);
    }
}

#[test]
fn one_grant_for_a_call_is_told_to_nobody_before_it_is_confirmed() {
    let mut interpreter = watching();
    let mut backlog = asked(&interpreter, &["a", "b"]);
    let grant = b"$24\r\ngranted 123 1700000000 5\r\n";
    let events = in_pieces(&mut interpreter, grant, 100, &mut backlog);
    assert_eq!(told(&events), [], "nobody has said that this is the node");
    assert!(backlog.first().is_none(), "both are answered");
}

#[test]
fn one_grant_is_told_to_each_release_of_a_call_and_to_nothing_else() {
    let grant = b"$7\r\ngranted\r\n";
    for size in 1..=grant.len() {
        let mut interpreter = guarded();
        let (encoder, met) = (&interpreter.encoder, &interpreter.met);
        let mut backlog = Backlog::default();
        for (step, name) in (0..).zip(["a", "b", "c"]) {
            gather(&mut backlog, step, &release(name), encoder, met);
        }
        gather(&mut backlog, 3, &vote("d"), encoder, met);
        backlog.say_gathered(encoder, met);
        backlog.sent(backlog.ready().len());
        let events = in_pieces(&mut interpreter, grant, size, &mut backlog);
        let granted = format!("{:?}", Vote::GRANTED);
        let each = [0, 1, 2].map(|step| (step, granted.clone()));
        assert_eq!(told(&events), each, "pieces of {size}");
        assert!(
            backlog.first().is_some(),
            "the vote is still to be answered"
        );
    }
}

#[test]
fn a_call_for_locks_of_several_slots_is_given_again_one_by_one() {
    let mut interpreter = guarded();
    let mut backlog = asked(&interpreter, &["a", "b"]);
    let refusal = b"-CROSSSLOT Keys in request don't hash to the same slot\r\n";
    let events = in_pieces(&mut interpreter, refusal, 100, &mut backlog);
    assert!(events.is_empty(), "{events:?}");
    let said = String::from_utf8_lossy(backlog.ready()).into_owned();
    assert_eq!(said.matches("EVALSHA").count(), 2, "{said}");
    backlog.sent(backlog.ready().len());
    // The lock and the node's own key are of two slots as well: that is an answer, and no reason to hang up.
    let events = in_pieces(&mut interpreter, &refusal.repeat(2), 100, &mut backlog);
    let told = told(&events);
    assert!(
        told.iter().all(|(_, vote)| vote.contains("CROSSSLOT")),
        "{told:?}"
    );
    assert_eq!(told.len(), 2);
}

#[test]
fn behind_a_proxy_each_lock_is_asked_for_alone() {
    let mut interpreter = guarded();
    interpreter.met.is_proxied = true;
    let (encoder, met) = (&interpreter.encoder, &interpreter.met);
    let mut backlog = Backlog::default();
    for (step, name) in [(0, "a"), (1, "b")] {
        gather(&mut backlog, step, &vote(name), encoder, met);
    }
    backlog.say_gathered(encoder, met);
    let said = String::from_utf8_lossy(backlog.ready()).into_owned();
    assert_eq!(said.matches("EVALSHA").count(), 2, "{said}");
}

#[test]
fn a_call_that_is_forbidden_as_a_whole_is_given_again_one_by_one() {
    let mut interpreter = guarded();
    let mut backlog = asked(&interpreter, &["a", "b"]);
    let refusal = b"-NOPERM No permissions to access a key\r\n";
    let events = in_pieces(&mut interpreter, refusal, 100, &mut backlog);
    assert!(events.is_empty(), "{events:?}");
    let said = String::from_utf8_lossy(backlog.ready()).into_owned();
    assert_eq!(said.matches("EVALSHA").count(), 2, "{said}");
    backlog.sent(backlog.ready().len());
    // Who asks for that key alone is told of it, once it was asked what is lacking.
    let replies = b"$24\r\ngranted 123 1700000000 5\r\n-NOPERM No permissions to access a key\r\n";
    let events = in_pieces(&mut interpreter, replies, 100, &mut backlog);
    assert_eq!(told(&events).len(), 1, "{events:?}");
    backlog.sent(backlog.ready().len());
    let events = in_pieces(&mut interpreter, b"*0\r\n", 100, &mut backlog);
    let told = told(&events);
    assert!(told[0].0 == 1 && told[0].1.contains("NOPERM"), "{told:?}");
}

#[test]
fn the_key_of_each_refused_vote_of_a_call_is_watched() {
    let mut interpreter = guarded();
    interpreter.hints = Hints::Given;
    let mut backlog = asked(&interpreter, &["a", "b", "c"]);
    let refused = "*4\r\n:0\r\n$3\r\nyou\r\n:70\r\n:1700000000000005\r\n";
    let replies = format!("*3\r\n$24\r\ngranted 123 1700000000 5\r\n{refused}{refused}");
    in_pieces(&mut interpreter, replies.as_bytes(), 1_000, &mut backlog);
    let said = String::from_utf8_lossy(backlog.ready()).into_owned();
    let keys: Vec<_> = said
        .split("$3\r\nGET\r\n$1\r\n")
        .skip(1)
        .map(|rest| &rest[..1])
        .collect();
    assert_eq!(keys, ["b", "c"], "{said}");
}
